//! Finds out if an answer has come to its end.

use holdover_core::children::ChildNames;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{InboxSeq, SessionId, SessionKey};
use holdover_core::store::{EventCursor, PendingKind, Session, SessionStatus};
use holdover_core::suspension::{Owed, OwedKind};
use holdover_runtime_local::{PendingEntry, Runtime, RuntimeError, is_due};

use super::moment::{End, Question};

/// The most children of one call that are looked through.
const CHILDREN_MAX: u32 = 1_000;

/// The end of an answer, with the questions of children that no event of the session tells.
pub(super) struct Ended {
    pub(super) end: End,
    pub(super) questions: Vec<Question>,
}

impl From<End> for Ended {
    fn from(end: End) -> Self {
        Self { end, questions: Vec::new() }
    }
}

/// Returns the end of an answer, if the session rests or waits for people and has no events after `cursor`. `awaited` is the
/// message for which the answer is, if no turn has taken it yet.
pub(super) async fn end_at(
    runtime: &Runtime,
    key: &SessionKey,
    cursor: EventCursor,
    awaited: Option<InboxSeq>,
) -> Result<Option<Ended>, RuntimeError> {
    let session = runtime.session(key).await?;
    let session = session.ok_or_else(|| RuntimeError::NotFound { key: key.clone() })?;
    let read = cursor.place_in(session.incarnation);
    let read = read.ok_or_else(|| RuntimeError::Gone { key: key.clone() })?;
    if runs(runtime, &session) || read.after < session.last_event {
        return Ok(None);
    }
    let outcome = runtime.outcome(&session)?;
    if awaited.is_some() {
        let gone = session.unread == 0 || session.status == SessionStatus::Aborted;
        // The message waits behind a question, and so does the page.
        let queued = matches!(&outcome, Some(RunOutcome::Suspended(it)) if it.owed.iter().any(is_for_people));
        return Ok(if gone { Some(End::Withdrawn.into()) } else { queued.then(|| End::Waits.into()) });
    }
    Ok(match outcome {
        Some(RunOutcome::Suspended(suspension)) if suspension.owed.iter().any(is_for_people) => {
            Some(End::Waits.into())
        }
        Some(RunOutcome::Suspended(suspension)) => {
            let open = match suspension.owed.iter().any(is_for_children) {
                true => runtime.pending(key).await?,
                false => Vec::new(),
            };
            let questions = questions_of_children(key, &suspension.owed, open);
            (!questions.is_empty()).then_some(Ended { end: End::Waits, questions })
        }
        Some(RunOutcome::Ended(ending)) => Some(End::Done(Some(ending)).into()),
        // The turn goes on by itself.
        Some(RunOutcome::BackingOff { .. }) => None,
        Some(RunOutcome::Released | RunOutcome::Lost) | None => {
            session.status.at_rest().then(|| End::Done(None).into())
        }
    })
}

/// Returns true if a run holds the session, or is due.
pub(crate) fn runs(runtime: &Runtime, session: &Session) -> bool {
    // The store's clock may be ahead of that of this process.
    let now = runtime.now().max(session.updated_at);
    session.status == SessionStatus::Active || is_due(session, now)
}

fn is_for_people(owed: &Owed) -> bool {
    matches!(owed.kind, OwedKind::Approval | OwedKind::ClientTool)
}

fn is_for_children(owed: &Owed) -> bool {
    owed.kind == OwedKind::Child
}

/// Returns the approvals that children wait for, as questions about the calls of this session for which they work. The ids of
/// calls are unique in one session only, so a call of a child is never taken for one of this session.
pub(crate) fn questions_of_children(
    key: &SessionKey,
    owed: &[Owed],
    open: Vec<PendingEntry>,
) -> Vec<Question> {
    let works: Vec<&Owed> = owed.iter().filter(|owed| is_for_children(owed)).collect();
    let Some(first) = works.first() else { return Vec::new() };
    let asks = open.into_iter().filter(|entry| {
        entry.call.key != *key && entry.answered.is_none() && entry.call.kind == PendingKind::Approval
    });
    let question = |entry: PendingEntry| {
        let works_for = works.iter().find(|owed| began(owed, &entry.call.key.id)).unwrap_or(first);
        Question::of_a_child(entry, works_for.call.clone())
    };
    asks.map(question).collect()
}

/// Returns true if the call that is owed began this child.
fn began(owed: &Owed, child: &SessionId) -> bool {
    let Some(pending) = &owed.pending else { return false };
    let mut named = (0..CHILDREN_MAX).map_while(|at| ChildNames::of(pending, at).ok());
    named.any(|names| names.id == *child)
}
