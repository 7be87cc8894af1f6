//! `approve`, `deny`, `answer`: what somebody owes a session.

use holdover_core::ids::{InboxSeq, SessionId, SessionKey};
use holdover_core::message::{ClientAnswer, Decision, Message, ResultStatus};
use holdover_core::store::{Delivery, INBOX_PAGE, ItemKind, PendingCall, PendingKind, StateStore};
use holdover_runtime_local::{Approval, Denial};
use serde_json::{Value, json};

use super::run::left_to_workers;
use crate::args::{Answer, Approve, Common, Deny, Drive};
use crate::exit::{Exit, Failure};
use crate::follow::follow;
use crate::front::{Front, text_of};
use crate::print::{instant, one_line};
use crate::store::IfMissing;

/// Lets a call run.
pub(crate) async fn approve(common: &Common, args: &Approve) -> Result<Exit, Failure> {
    if let Some(text) = &args.arguments
        && let Err(error) = serde_json::from_str::<Value>(text)
    {
        return Err(Failure::wrong_use(format!("--arguments: is no JSON: {error}")));
    }
    let decide = &args.decide;
    let word = Word::Approve(Approval {
        by: decide.by.clone(),
        reason: decide.reason.clone(),
        arguments: args.arguments.clone(),
    });
    give(common, &decide.session, decide.call.as_deref(), word, decide.detach, &decide.drive).await
}

/// Refuses a call.
pub(crate) async fn deny(common: &Common, args: &Deny) -> Result<Exit, Failure> {
    let decide = &args.decide;
    let word = Word::Deny(Denial { by: decide.by.clone(), reason: decide.reason.clone() });
    give(common, &decide.session, decide.call.as_deref(), word, decide.detach, &decide.drive).await
}

/// Hands in the result of a call.
pub(crate) async fn answer(common: &Common, args: &Answer) -> Result<Exit, Failure> {
    let (call, text) = args.call_and_text();
    let word = Word::Answer(ClientAnswer { is_error: args.error, content: text_of(text)? });
    give(common, &args.session, call, word, args.detach, &args.drive).await
}

/// What is said about a call.
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

    /// Whether a decision that was taken says the same.
    fn agrees_with(&self, decision: &Decision) -> bool {
        match self {
            Self::Approve(approval) => decision.approve && decision.arguments == approval.arguments,
            Self::Deny(_) => !decision.approve,
            Self::Answer(_) => false,
        }
    }
}

async fn give(
    common: &Common,
    session: &SessionId,
    call: Option<&str>,
    word: Word,
    detach: bool,
    drive: &Drive,
) -> Result<Exit, Failure> {
    let mut front = Front::open(common, Some(drive), IfMissing::Refuse).await?;
    let stored = front.session(session).await?;
    let key = stored.key.clone();
    let call = match call {
        Some(call) => call.to_owned(),
        None => only_call(&front, &key, word.kind()).await?,
    };
    let delivered = match word.clone() {
        Word::Approve(approval) => front.runtime.approve(&key, &call, approval).await?,
        Word::Deny(denial) => front.runtime.deny(&key, &call, denial).await?,
        Word::Answer(answer) => front.runtime.answer(&key, &call, answer).await?,
    };
    match delivered {
        Delivery::Accepted { .. } | Delivery::Duplicate { .. } => {}
        Delivery::AlreadyAnswered | Delivery::NotPending | Delivery::Conflict { .. } => {
            match answered_before(&front, &key, &call, &word).await? {
                Before::Same => return Ok(said_before(front, &key, &call, &word).await),
                Before::Otherwise(how) => {
                    return Err(Failure::failed(format!("session {session}: call {call}: {how}")));
                }
            }
        }
        Delivery::Aborted => return Err(Failure::failed(format!("session {session}: it is aborted"))),
        Delivery::NotFound => return Err(Failure::unknown(session)),
    }
    front.out.line(format!("session {session}: call {call} {}", word.done()));
    front.out.object(&json!({ "session": session, "call": call, "delivered": "accepted" }));
    if detach {
        return Ok(left_to_workers(front, &key, "accepted").await);
    }
    front.can_run(&stored, &format!("call {call} is {}", word.done()))?;
    let runtime = front.runtime.clone();
    let exit = follow(&mut front, &key, Some(&stored), runtime.wait(&key)).await;
    front.close().await;
    exit
}

/// The one call that waits for such an answer.
async fn only_call(front: &Front, key: &SessionKey, kind: PendingKind) -> Result<String, Failure> {
    let open = front.runtime.pending(key).await?;
    let waiting: Vec<&PendingCall> =
        open.iter().filter(|pending| pending.answered < pending.needed).collect();
    let fitting: Vec<&str> =
        waiting.iter().filter(|pending| pending.kind == kind).map(|pending| pending.call.as_str()).collect();
    let what = match kind {
        PendingKind::Approval => "approval",
        PendingKind::ClientTool => "an answer",
    };
    let why = match (fitting.as_slice(), waiting.first()) {
        ([call], _) => return Ok((*call).to_owned()),
        ([], None) => format!("no call waits for {what}"),
        ([], Some(other)) => match other.kind {
            PendingKind::Approval => {
                format!("no call waits for {what}; call {} waits for approval", other.call)
            }
            PendingKind::ClientTool => {
                format!("no call waits for {what}; call {} waits for an answer", other.call)
            }
        },
        (calls, _) => format!("{} calls wait for {what}, name one: {}", calls.len(), calls.join(", ")),
    };
    Err(Failure::failed(format!("session {}: {why}", key.id)))
}

/// How a call that takes no answer any more came to that.
enum Before {
    /// By this very answer.
    Same,
    /// In another way, in these words.
    Otherwise(String),
}

async fn answered_before(
    front: &Front,
    key: &SessionKey,
    call: &str,
    word: &Word,
) -> Result<Before, Failure> {
    if let Some(before) = in_inbox(front, key, call, word).await? {
        return Ok(before);
    }
    // Newest first: a call that was asked about twice counts as it was decided last.
    let mut result = None;
    for entry in front.runtime.messages(key).await?.into_iter().rev() {
        match entry.message {
            Message::Decision(record) if record.call.as_str() == call => {
                return Ok(if word.agrees_with(&record.decision) {
                    Before::Same
                } else {
                    Before::Otherwise(decided(&record.decision))
                });
            }
            Message::Tool(found) if found.call.as_str() == call => result = result.or(Some(found)),
            Message::Assistant(said) if said.calls().any(|asked| asked.id.as_str() == call) => break,
            Message::Assistant(_)
            | Message::Decision(_)
            | Message::Tool(_)
            | Message::User(_)
            | Message::Notice(_) => {}
        }
    }
    Ok(match (result, word) {
        (Some(result), Word::Answer(answer)) => {
            let status = if answer.is_error { ResultStatus::Error } else { ResultStatus::Done };
            if result.status == status && result.content == answer.content {
                Before::Same
            } else {
                Before::Otherwise("is not pending: it has its result already".to_owned())
            }
        }
        (Some(result), Word::Approve(_) | Word::Deny(_)) => {
            let content: String = one_line(&result.content).chars().take(80).collect();
            Before::Otherwise(format!("is not pending: it has ended ({content})"))
        }
        (None, _) => Before::Otherwise(expired(front, key, call).await?),
    })
}

/// Why a call without a result takes no answer.
async fn expired(front: &Front, key: &SessionKey, call: &str) -> Result<String, Failure> {
    let open = front.runtime.pending(key).await?;
    let deadline = open.iter().find(|pending| names(pending, call)).and_then(|pending| pending.deadline);
    Ok(match deadline {
        Some(at) => format!("is not pending: its deadline passed at {}", instant(at)),
        None => "is not pending".to_owned(),
    })
}

/// Whether `call` names what waits, by the call or by the question.
fn names(pending: &PendingCall, call: &str) -> bool {
    pending.call.as_str() == call || pending.id.as_str() == call
}

/// An answer that lies in the inbox and has not been read yet.
async fn in_inbox(
    front: &Front,
    key: &SessionKey,
    call: &str,
    word: &Word,
) -> Result<Option<Before>, Failure> {
    let open = front.runtime.pending(key).await?;
    let Some(asked) = open.iter().find(|pending| names(pending, call)) else { return Ok(None) };
    let mut after = InboxSeq(0);
    loop {
        let page = front.store.read_inbox(key, after, INBOX_PAGE).await?;
        for item in &page {
            match &item.kind {
                ItemKind::Answer { pending, .. } if *pending == asked.id => {
                    let unreadable = |error: serde_json::Error| {
                        Failure::failed(format!("session {}: answer {}: {error}", key.id, item.seq))
                    };
                    return Ok(Some(match word {
                        Word::Approve(_) | Word::Deny(_) => {
                            let decision: Decision = item.payload.parse().map_err(unreadable)?;
                            if word.agrees_with(&decision) {
                                Before::Same
                            } else {
                                Before::Otherwise(decided(&decision))
                            }
                        }
                        Word::Answer(answer) => {
                            let given: ClientAnswer = item.payload.parse().map_err(unreadable)?;
                            if given == *answer {
                                Before::Same
                            } else {
                                Before::Otherwise("was answered already, otherwise".to_owned())
                            }
                        }
                    }));
                }
                ItemKind::Answer { .. } | ItemKind::Message { .. } | ItemKind::Signal { .. } => {}
            }
        }
        match page.last() {
            Some(last) if page.len() >= INBOX_PAGE as usize => after = last.seq,
            Some(_) | None => return Ok(None),
        }
    }
}

fn decided(decision: &Decision) -> String {
    let word = match (decision.approve, &decision.arguments) {
        (true, Some(_)) => "approved already, with other arguments",
        (true, None) => "approved already",
        (false, _) => "denied already",
    };
    match &decision.by {
        Some(by) => format!("was {word}, by {by}"),
        None => format!("was {word}"),
    }
}

async fn said_before(front: Front, key: &SessionKey, call: &str, word: &Word) -> Exit {
    let done = word.done();
    front.out.line(format!("session {}: call {call} was {done} so already; nothing was changed", key.id));
    front.out.object(&json!({
        "session": key.id, "call": call, "delivered": "duplicate", "outcome": Value::Null,
    }));
    front.close().await;
    Exit::Completed
}
