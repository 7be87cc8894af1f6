//! Answers to calls that wait, as pages give them.

use holdover_core::ids::{CallId, PendingId, SessionKey};
use holdover_core::message::ClientAnswer;
use holdover_core::payload::Digest;
use holdover_core::store::PendingKind;
use holdover_runtime_local::{Approval, Denial, PendingEntry, RuntimeError};
use serde_json::Value;

use crate::access::{Caller, May};
use crate::desk::Desk;
use crate::problem::Problem;

/// An answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Reply {
    /// The decision of a person about the arguments with this digest.
    Decision { pending: PendingId, saw: Digest, decision: Decision },
    /// The result of a tool that the page ran, by the call.
    Result { call: CallId, content: String, is_error: bool },
    /// An answer whose meaning depends on the kind of the call. `None` gives the call up.
    Either { pending: PendingId, saw: Digest, payload: Option<Value> },
}

/// The decision of a person.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Decision {
    pub(crate) approved: bool,
    pub(crate) reason: Option<String>,
    /// Arguments with which the call runs instead.
    pub(crate) arguments: Option<String>,
}

/// An answer that fits the call.
enum Fit {
    Decision(PendingId, Decision),
    Answer(PendingId, ClientAnswer),
}

/// Delivers answers. All are checked before the first is delivered. A repeat changes nothing, and neither does an answer to a
/// call that is closed: a page repeats what it knows.
pub(crate) async fn deliver_replies(
    desk: &Desk,
    caller: &Caller,
    key: &SessionKey,
    replies: Vec<Reply>,
) -> Result<(), Problem> {
    if replies.is_empty() {
        return Ok(());
    }
    let open = desk.runtime.pending(key).await?;
    let fitting = replies.into_iter().map(|reply| fit(key, &open, reply));
    let fitting: Vec<Fit> = fitting.filter_map(Result::transpose).collect::<Result<_, _>>()?;
    if fitting.iter().any(|fit| matches!(fit, Fit::Decision(..))) {
        caller.needs(May::Decide)?;
    }
    for fit in fitting {
        deliver(desk, caller, key, fit).await?;
    }
    Ok(())
}

/// Finds out which answer is meant. Returns none if the call is closed.
fn fit(key: &SessionKey, open: &[PendingEntry], reply: Reply) -> Result<Option<Fit>, Problem> {
    let found = |pending: &PendingId, saw: Digest| {
        let found = open.iter().find(|entry| entry.id() == pending);
        if found.is_some_and(|entry| entry.body.digest != saw) {
            let detail =
                format!("call {pending}: digest: these are not the arguments that wait for an answer");
            return Err(Problem::conflict("not_seen", detail));
        }
        Ok(found.map(|entry| entry.call.kind.clone()))
    };
    let other = |pending: &PendingId, kind: &PendingKind| {
        let detail = format!("call {pending}: it waits for another answer: {}", kind.as_str());
        Err(Problem::conflict("other_answer", detail))
    };
    match reply {
        Reply::Decision { pending, saw, decision } => match found(&pending, saw)? {
            Some(PendingKind::Approval) => Ok(Some(Fit::Decision(pending, decision))),
            Some(kind) => other(&pending, &kind),
            None => Ok(None),
        },
        Reply::Result { call, content, is_error } => {
            let is_asked = |entry: &&PendingEntry| {
                let of = &entry.call;
                of.key == *key && of.call == call && of.kind == PendingKind::ClientTool
            };
            let answer = if is_error { ClientAnswer::failed(content) } else { ClientAnswer::done(content) };
            Ok(open.iter().find(is_asked).map(|asked| Fit::Answer(asked.id().clone(), answer)))
        }
        Reply::Either { pending, saw, payload } => match found(&pending, saw)? {
            Some(PendingKind::Approval) => Ok(Some(Fit::Decision(pending, decision(payload)?))),
            Some(PendingKind::ClientTool) => {
                let answer = match payload {
                    Some(result) => ClientAnswer::done(text_of(&result)),
                    None => ClientAnswer::failed("the page gave the call up"),
                };
                Ok(Some(Fit::Answer(pending, answer)))
            }
            Some(kind) => other(&pending, &kind),
            None => Ok(None),
        },
    }
}

/// Reads a decision: true or false, or an object with `approved` and perhaps `reason` and `arguments`.
fn decision(payload: Option<Value>) -> Result<Decision, Problem> {
    let Some(payload) = payload else {
        return Ok(Decision { reason: Some("cancelled".to_owned()), ..Decision::default() });
    };
    let approved = payload.as_bool().or_else(|| payload["approved"].as_bool());
    let approved = approved.ok_or_else(|| Problem::invalid("payload: approved: is missing"))?;
    let arguments = payload.get("arguments").filter(|arguments| !arguments.is_null()).map(text_of);
    Ok(Decision { approved, reason: payload["reason"].as_str().map(str::to_owned), arguments })
}

/// Returns a value as the text that a model reads.
pub(crate) fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

async fn deliver(desk: &Desk, caller: &Caller, key: &SessionKey, fit: Fit) -> Result<(), RuntimeError> {
    let by = caller.name().map(str::to_owned);
    match fit {
        Fit::Decision(pending, Decision { approved: true, reason, arguments }) => {
            let approval = Approval::from(by).reason(reason).arguments(arguments);
            desk.runtime.approve(key, &pending, approval).await?;
        }
        Fit::Decision(pending, Decision { approved: false, reason, .. }) => {
            desk.runtime.deny(key, &pending, Denial::from(by).reason(reason)).await?;
        }
        Fit::Answer(pending, answer) => {
            desk.runtime.answer(key, &pending, answer).await?;
        }
    }
    Ok(())
}
