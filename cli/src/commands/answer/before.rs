//! Finds the reason why a call no longer takes an answer.

use holdover_core::ids::{InboxSeq, PendingId};
use holdover_core::message::{ClientAnswer, Decision, Message, ResultStatus};
use holdover_core::store::{INBOX_PAGE, ItemKind, PendingCall};

use super::Word;
use super::which::Asked;
use crate::exit::Failure;
use crate::front::Front;
use crate::owed::all_pending;
use crate::print::{instant, one_line};

/// The reason why a call no longer takes an answer.
pub(super) enum Before {
    /// The call was answered with the same answer.
    Same,
    /// The call was closed in another way, which the text describes.
    Otherwise(String),
}

impl Before {
    /// Returns the reason for a call with this decision.
    fn decided(decision: &Decision, word: &Word) -> Self {
        if word.agrees_with(decision) { Self::Same } else { Self::Otherwise(decided(decision)) }
    }
}

/// Finds the reason why a call no longer takes an answer.
pub(super) async fn answered_before(front: &Front, asked: &Asked, word: &Word) -> Result<Before, Failure> {
    let (key, call) = (&asked.asker, asked.call.as_str());
    let open = all_pending(front, Some(&key.id)).await?;
    let asking = open.iter().find(|open| asked.pending.as_ref() == Some(&open.id));
    if let Some(asking) = asking
        && let Some(before) = in_inbox(front, asking, word).await?
    {
        return Ok(before);
    }
    let is_meant = |pending: &PendingId| asked.pending.as_ref().is_none_or(|asked| asked == pending);
    // The newest decision comes first: it counts if a call was decided twice.
    let mut result = None;
    for entry in front.runtime.messages(key).await?.into_iter().rev() {
        match entry.message {
            Message::Decision(record) if record.call.as_str() == call && is_meant(&record.pending) => {
                return Ok(Before::decided(&record.decision, word));
            }
            Message::Tool(found) if found.call.as_str() == call => result = result.or(Some(found)),
            Message::Assistant(said) if said.calls().any(|asked| asked.id.as_str() == call) => break,
            Message::Assistant(_)
            | Message::Decision(_)
            | Message::Tool(_)
            | Message::User(_)
            | Message::Notice(_)
            | Message::Summary(_) => {}
        }
    }
    Ok(match (result, word) {
        (Some(result), Word::Answer(answer)) => {
            let status = if answer.is_error { ResultStatus::Error } else { ResultStatus::Done };
            // The result of a fallback begins with a line about the tool that could not be run.
            let of_fallback = |content: &str| {
                content.strip_suffix(&*answer.content).is_some_and(|line| line.ends_with("]\n"))
            };
            let is_said = match result.instead_of.is_empty() {
                true => result.content == answer.content,
                false => of_fallback(&result.content),
            };
            let is_same = is_said && result.images == answer.images && result.changes == answer.changes;
            if result.status == status && is_same {
                Before::Same
            } else {
                Before::Otherwise("is not pending: it has its result already".to_owned())
            }
        }
        (Some(result), Word::Approve(_) | Word::Deny(_)) => {
            let content: String = one_line(&result.content).chars().take(80).collect();
            Before::Otherwise(format!("is not pending: it has ended ({content})"))
        }
        (None, _) => Before::Otherwise(expired(asking)),
    })
}

/// Describes the reason why a call without a result takes no answer.
fn expired(asking: Option<&PendingCall>) -> String {
    match asking.and_then(|asking| asking.deadline) {
        Some(at) => format!("is not pending: its deadline passed at {}", instant(at)),
        None => "is not pending".to_owned(),
    }
}

/// Looks for an unread answer to this pending call in the inbox, and compares it with `word`.
async fn in_inbox(front: &Front, asking: &PendingCall, word: &Word) -> Result<Option<Before>, Failure> {
    let key = &asking.key;
    let mut after = Some(InboxSeq(0));
    while let Some(place) = after {
        let page = front.store.read_inbox(key, place, INBOX_PAGE).await?;
        for item in &page.items {
            match &item.kind {
                ItemKind::Answer { pending, .. } if *pending == asking.id => {
                    let unreadable = |error: serde_json::Error| {
                        Failure::failed(format!("session {}: answer {}: {error}", key.id, item.seq))
                    };
                    return Ok(Some(match word {
                        Word::Approve(_) | Word::Deny(_) => {
                            let decision: Decision = item.payload.parse().map_err(unreadable)?;
                            Before::decided(&decision, word)
                        }
                        Word::Answer(answer) => {
                            let given: ClientAnswer = item.payload.parse().map_err(unreadable)?;
                            if given == *answer {
                                Before::Same
                            } else {
                                Before::Otherwise("was answered already, with another answer".to_owned())
                            }
                        }
                    }));
                }
                ItemKind::Answer { .. }
                | ItemKind::Message { .. }
                | ItemKind::Signal { .. }
                | ItemKind::Other { .. } => {}
            }
        }
        after = page.next;
    }
    Ok(None)
}

fn decided(decision: &Decision) -> String {
    let word = match (decision.approve, &decision.arguments) {
        (true, Some(_)) => "approved already, with other arguments",
        (true, None) if decision.always => "approved already, for the rest of the session",
        (true, None) => "approved already",
        (false, _) => "denied already",
    };
    let by = decision.by.as_ref().map(|by| format!(", by {by}")).unwrap_or_default();
    let why = decision.reason.as_ref().map(|why| format!(": {}", one_line(why))).unwrap_or_default();
    format!("was {word}{by}{why}")
}
