//! Answers to calls that wait, as pages give them.

use holdover_core::ids::{CallId, PendingId, SessionKey};
use holdover_core::message::ClientAnswer;
use holdover_core::payload::Digest;
use holdover_core::store::{PendingCall, PendingKind};
use holdover_runtime_local::{Approval, Denial, PendingEntry};

use crate::access::{Caller, May};
use crate::desk::Desk;
use crate::problem::Problem;

/// An answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// The decision of a person about the arguments with this digest.
    Decision {
        pending: PendingId,
        saw: Digest,
        approved: bool,
        reason: Option<String>,
        arguments: Option<String>,
    },
    /// The result of a tool that the page ran with the arguments with this digest.
    Answer { pending: PendingId, saw: Digest, content: String },
    /// The result of a tool that the page ran, by the call.
    Result { call: CallId, content: String, is_error: bool },
}

/// Delivers answers. A repeat changes nothing, and neither does an answer to a call that is closed: a page repeats what it
/// knows.
pub(crate) async fn deliver_replies(
    desk: &Desk,
    caller: &Caller,
    key: &SessionKey,
    replies: Vec<Reply>,
) -> Result<(), Problem> {
    if replies.is_empty() {
        return Ok(());
    }
    if replies.iter().any(|reply| matches!(reply, Reply::Decision { .. })) {
        caller.needs(May::Decide)?;
    }
    let open = desk.runtime.pending(key).await?;
    for reply in replies {
        deliver(desk, caller, key, &open, reply).await?;
    }
    Ok(())
}

async fn deliver(
    desk: &Desk,
    caller: &Caller,
    key: &SessionKey,
    open: &[PendingEntry],
    reply: Reply,
) -> Result<(), Problem> {
    let found = |pending: &PendingId, saw: Digest| {
        let found = open.iter().find(|entry| entry.id() == pending);
        if found.is_some_and(|entry| entry.body.digest != saw) {
            let detail = format!("call {pending}: these are not the arguments that wait for an answer");
            return Err(Problem::conflict("not_seen", detail));
        }
        Ok(found)
    };
    match reply {
        Reply::Decision { pending, saw, approved, reason, arguments } => {
            if found(&pending, saw)?.is_none() {
                return Ok(());
            }
            let by = caller.name().map(str::to_owned);
            if approved {
                let approval = Approval::from(by).reason(reason).arguments(arguments);
                desk.runtime.approve(key, &pending, approval).await?;
            } else {
                desk.runtime.deny(key, &pending, Denial::from(by).reason(reason)).await?;
            }
        }
        Reply::Answer { pending, saw, content } => {
            if found(&pending, saw)?.is_some() {
                desk.runtime.answer(key, &pending, ClientAnswer::done(content)).await?;
            }
        }
        Reply::Result { call, content, is_error } => {
            let is_asked = |entry: &&PendingEntry| {
                let PendingCall { key: of, call: asked, kind, .. } = &entry.call;
                of == key && *asked == call && *kind == PendingKind::ClientTool
            };
            if let Some(asked) = open.iter().find(is_asked) {
                let answer =
                    if is_error { ClientAnswer::failed(content) } else { ClientAnswer::done(content) };
                desk.runtime.answer(key, asked.id(), answer).await?;
            }
        }
    }
    Ok(())
}
