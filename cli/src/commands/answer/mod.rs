//! `approve`, `deny`, `answer`, `settle`: answers to calls that wait for a person or a client, or that ended in doubt.

mod after;
mod before;
pub(crate) mod settle;
mod which;

pub(crate) use which::session_of;

use holdover_core::message::{ClientAnswer, Decision};
use holdover_core::phrases;
use holdover_core::store::{PendingCall, PendingKind};
use holdover_runtime_local::{Approval, Delivered, Denial, RuntimeError, check_arguments};
use serde_json::{Value, json};

use self::after::denied_all_the_same;
use self::before::{Before, answered_before};
use self::which::{Asked, asked};
use super::run::left_to_workers;
use crate::args::{Answer, Approve, Common, Decide, Deny, Drive};
use crate::exit::{Exit, Failure};
use crate::follow::{Following, Known, follow};
use crate::front::Front;
use crate::input::{images_of, text_of, text_or_file};
use crate::owed::all_pending;
use crate::print::note;
use crate::store::IfMissing;

/// Approves calls, so that they run.
pub(crate) async fn approve(common: &Common, args: &Approve) -> Result<Exit, Failure> {
    let Approve { decide, edit, always, only } = args;
    let arguments = edit.as_deref().map(arguments).transpose()?;
    let given = Approval::from(decide.by.clone()).reason(decide.reason.clone()).arguments(arguments);
    let only = only.iter().cloned().collect();
    let word = Word::Approve(if *always { given.always_where(only) } else { given });
    give_all(common, decide, &word).await
}

/// Denies calls.
pub(crate) async fn deny(common: &Common, args: &Deny) -> Result<Exit, Failure> {
    let decide = &args.decide;
    let denial = Denial::from(decide.by.clone()).reason(decide.reason.clone());
    let word = Word::Deny(denial.aborting(args.abort));
    give_all(common, decide, &word).await
}

/// Delivers the result of a call.
pub(crate) async fn answer(common: &Common, args: &Answer) -> Result<Exit, Failure> {
    let (call, text) = args.call_and_text();
    let (content, images) = (text_of(text)?, images_of(&args.images)?);
    let said = if args.error { ClientAnswer::failed(content) } else { ClientAnswer::done(content) };
    let word = Word::Answer(said.showing(images).changing(args.changes.clone()));
    let which: Vec<String> = [args.which.as_str()].into_iter().chain(call).map(str::to_owned).collect();
    give(common, &which, &word, args.detach, &args.drive).await
}

async fn give_all(common: &Common, decide: &Decide, word: &Word) -> Result<Exit, Failure> {
    give(common, &decide.which, word, decide.detach, &decide.drive).await
}

/// Reads and checks the arguments that replace those of the call.
fn arguments(word: &str) -> Result<String, Failure> {
    let text = text_or_file(word)?;
    if text.trim().is_empty() {
        return Err(Failure::wrong_use("--edit: it is empty; write {} for no arguments"));
    }
    check_arguments(&text).map_err(|why| Failure::wrong_use(format!("--edit: {why}")))?;
    Ok(text)
}

/// A decision on a call, or an answer to it.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Word {
    Approve(Approval),
    Deny(Denial),
    Answer(ClientAnswer),
}

impl Word {
    fn kind(&self) -> PendingKind {
        match self {
            Self::Approve(_) | Self::Deny(_) => PendingKind::Approval,
            Self::Answer(_) => PendingKind::ClientTool,
        }
    }

    fn done(&self) -> &'static str {
        match self {
            Self::Approve(_) => "approved",
            Self::Deny(_) => "denied",
            Self::Answer(_) => "answered",
        }
    }

    /// Returns true if the same word can be given for several calls.
    fn fits_several(&self) -> bool {
        match self {
            Self::Approve(approval) => approval.arguments.is_none(),
            Self::Deny(_) => true,
            Self::Answer(_) => false,
        }
    }

    /// Returns true if an earlier decision has the same content, so that nothing of this word would be lost.
    fn agrees_with(&self, decision: &Decision) -> bool {
        let is_kept = |reason: &Option<String>| reason.is_none() || *reason == decision.reason;
        match self {
            Self::Approve(Approval { arguments, always, only, reason, .. }) => {
                // An earlier approval of the whole tool includes an approval of one call.
                let lasts = !*always || decision.always && decision.only == *only;
                let alike = decision.arguments == *arguments && lasts;
                decision.approve && alike && is_kept(reason)
            }
            Self::Deny(Denial { reason, aborts, .. }) => {
                !decision.approve && is_kept(reason) && (!aborts || decision.aborts)
            }
            Self::Answer(_) => false,
        }
    }
}

/// Gives `word` for all calls that `which` names, then continues their sessions one after the other or, with `detach`,
/// leaves them to workers. Returns the exit of the first session that did not complete. If all completed but an
/// approved call was not run, returns a failure.
async fn give(
    common: &Common,
    which: &[String],
    word: &Word,
    detach: bool,
    drive: &Drive,
) -> Result<Exit, Failure> {
    let mut front = Front::open(common, Some(drive), IfMissing::Refuse).await?;
    let mut to_follow: Vec<Known> = Vec::new();
    let mut approved: Vec<Asked> = Vec::new();
    let asked = asked(&front, which, word.kind()).await?;
    if asked.len() > 1 {
        if !word.fits_several() {
            return Err(Failure::wrong_use("--edit: edited arguments fit one call: name one"));
        }
        for one in &asked {
            check(&front, one, word).await?;
        }
    }
    for one in &asked {
        front.can_run_with(drive, &one.session)?;
    }
    for one in asked {
        let known = Known::of(&front, one.session.clone()).await?;
        match deliver(&front, &one, word).await? {
            Said::Before => say_again(&front, &one, word),
            Said::Now => {
                let id = &one.asker.id;
                front.out.passing(format!("session {id}: call {} {}", one.call, word.done()));
                front.out.object(&json!({
                    "session": id, "call": one.call, "pending": one.pending, "delivered": "accepted",
                }));
                if !to_follow.iter().any(|known| known.session.key == one.session.key) {
                    to_follow.push(known);
                }
                if matches!(word, Word::Approve(_)) {
                    approved.push(one);
                }
            }
        }
    }
    let mut exit = Exit::Completed;
    for known in &to_follow {
        let Known { session, .. } = known;
        let key = &session.key;
        if detach {
            left_to_workers(&front, key, "accepted").await?;
            continue;
        }
        front.can_run(session, &format!("it is {}", word.done()))?;
        let runtime = front.runtime.clone();
        let ended = follow(&mut front, Following::since(known), runtime.wait(key)).await?;
        exit = if exit == Exit::Completed { ended } else { exit };
        for one in approved.iter().filter(|one| one.session.key == *key) {
            if let Some(why) = denied_all_the_same(&front, one).await? {
                note(&format!("error: session {}: call {}: {why}", key.id, one.call));
                exit = if exit == Exit::Completed { Exit::Failed } else { exit };
            }
        }
    }
    front.close().await;
    Ok(exit)
}

/// Fails for a call that would not accept `word`, before any word is given.
async fn check(front: &Front, asked: &Asked, word: &Word) -> Result<(), Failure> {
    let open = all_pending(front, Some(&asked.asker.id)).await?;
    let waits = |pending: &PendingCall| {
        let is_meant = asked.pending.as_ref() == Some(&pending.id);
        is_meant && pending.kind == word.kind() && pending.answered < pending.needed
    };
    if open.iter().any(waits) {
        if let (Some(pending), Word::Approve(approval)) = (&asked.pending, word) {
            front.runtime.would_approve(&asked.asker, pending, approval).await?;
        }
        return Ok(());
    }
    match answered_before(front, asked, word).await? {
        Before::Same => Ok(()),
        Before::Otherwise(how) => Err(refused(asked, &how)),
    }
}

/// The time at which a word was accepted: now or earlier.
enum Said {
    Now,
    Before,
}

async fn deliver(front: &Front, asked: &Asked, word: &Word) -> Result<Said, Failure> {
    let key = &asked.asker;
    let delivered = match (&asked.pending, word.clone()) {
        (None, _) => None,
        (Some(id), Word::Approve(approval)) => Some(front.runtime.approve(key, id, approval).await),
        (Some(id), Word::Deny(denial)) => Some(front.runtime.deny(key, id, denial).await),
        (Some(id), Word::Answer(answer)) => Some(front.runtime.answer(key, id, answer).await),
    };
    match delivered {
        Some(Ok(Delivered::Accepted)) => Ok(Said::Now),
        Some(Ok(Delivered::Duplicate)) => Ok(Said::Before),
        None | Some(Err(RuntimeError::AlreadyAnswered { .. } | RuntimeError::NotPending { .. })) => {
            match answered_before(front, asked, word).await? {
                Before::Same => Ok(Said::Before),
                Before::Otherwise(how) => Err(refused(asked, &how)),
            }
        }
        Some(Err(RuntimeError::OtherAnswer { found, asked: given, .. })) => Err(refused(
            asked,
            &format!("waits for {}, not for {}", phrases::pending(&found), phrases::pending(&given)),
        )),
        Some(Err(error)) => Err(error.into()),
    }
}

fn refused(asked: &Asked, how: &str) -> Failure {
    Failure::failed(format!("session {}: call {}: {how}", asked.asker.id, asked.call))
}

fn say_again(front: &Front, asked: &Asked, word: &Word) {
    let (id, call, done) = (&asked.asker.id, &asked.call, word.done());
    front.out.line(format!("session {id}: call {call} was {done} already; nothing was changed"));
    front.out.object(&json!({
        "session": id, "call": call, "pending": asked.pending, "delivered": "duplicate",
        "outcome": Value::Null,
    }));
}
