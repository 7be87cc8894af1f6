//! Projects the operations of all peers to one session.
//!
//! Most operations are on one session, and their answer is checked as it is. Operations over several sessions are not
//! atomic over them, as the contract says. So each proves only the following about one session:
//! | operation | what it proves about a session |
//! |---|---|
//! | `claim_due` | each claim in the answer is a claim of that session alone |
//! | `claim_due` with an empty answer and no concurrent write | the session is not due |
//! | `purge` that removed something | the session was removed or not: the report does not name sessions |
//! | `purge` that removed nothing, at the end of its walk, with no concurrent write | there is nothing to remove |
//! | `fork_session` into a new key | like a read of the source: whether it has the checkpoint |
//! | `list_sessions` | the session's row, or, with no concurrent write, that there is none |
//! | `list_pending` | the session's rows, with no concurrent write |
//!
//! A page that ends early proves nothing.

use holdover_store::ids::SessionKey;
use holdover_store::{Answer as Answered, ClaimDue, Page, Request, Retry, StoreErrorKind};

use super::{Event, Heard};
use crate::bench::Handle;
use crate::failure::CaseResult;
use crate::script::{Answer, Asking};

/// An operation of a peer, and its answer.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) by: usize,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    pub(crate) request: Request,
    /// The answer. `None` if it proves nothing.
    pub(crate) answer: Option<Answer>,
}

impl Asked {
    /// Makes one call of one method, without walking pages. The answer is `None` if the page ended early.
    pub(crate) async fn ask(request: &Request, store: &Handle) -> CaseResult<Option<Answer>> {
        Ok(request.once(store).await?.whole(request))
    }

    /// Returns true if the other operation is a write that overlaps this one.
    fn is_beside(&self, other: &Self) -> bool {
        let ends = |asked: &Self| if asked.is_unknown() { u64::MAX } else { asked.answered };
        other.request.writes() && self.asked < ends(other) && other.asked < ends(self)
    }

    fn is_unknown(&self) -> bool {
        matches!(self.answer, Some(Answer::Refused(_, Retry::OutcomeUnknown)))
    }

    /// Returns true if the store refused the operation for now and did nothing. Such an answer proves nothing.
    fn is_put_off(&self) -> bool {
        matches!(self.answer, Some(Answer::Refused(StoreErrorKind::Unavailable, Retry::Later)))
    }
}

/// Returns the events of one session, in the order in which the operations began.
pub(crate) fn project(all: &[Asked], key: &SessionKey) -> Vec<Event> {
    all.iter().filter_map(|asked| heard(asked, all, key)).collect()
}

fn heard(asked: &Asked, all: &[Asked], key: &SessionKey) -> Option<Event> {
    let of_key = asked.request.key().is_none_or(|of| of == key);
    let of_tenant = asked.request.tenant().is_none_or(|of| *of == key.tenant);
    if !of_key || !of_tenant || asked.is_put_off() {
        return None;
    }
    let request = || Box::new(asked.request.clone());
    let answered = Some(asked.answered);
    let event = |answered, heard| Event { by: asked.by, asked: asked.asked, answered, heard };
    if asked.is_unknown() {
        return asked.request.writes().then(|| event(None, Heard::Nothing(request())));
    }
    let answer = asked.answer.clone()?;
    let alone = || !all.iter().any(|other| other.asked != asked.asked && asked.is_beside(other));
    let exactly = |answer| event(answered, Heard::Answer(request(), Box::new(answer)));
    match answer.answered() {
        Some(Answered::ClaimedDue(claims)) if claims.is_empty() => alone().then(|| exactly(answer)),
        Some(Answered::ClaimedDue(claims)) => {
            let claim = claims.iter().find(|claim| claim.fence.key == *key)?;
            let Request::ClaimDue(due) = &asked.request else { return None };
            let due = ClaimDue { runs: vec![claim.run.clone()], ..due.clone() };
            let heard = Heard::Answer(Box::new(Request::ClaimDue(due)), Box::new(vec![claim.clone()].into()));
            Some(event(answered, heard))
        }
        Some(Answered::Purged(report)) if report.sessions + report.checkpoints == 0 => {
            (report.next.is_none() && alone()).then(|| exactly(answer))
        }
        Some(Answered::Purged(_)) => Some(event(answered, Heard::Somewhere(request()))),
        Some(Answered::Sessions(page)) => {
            let page = rows_of(page, |row| row.key == *key);
            (!page.items.is_empty() || alone()).then(|| exactly(page.into()))
        }
        Some(Answered::Pending(page)) => {
            alone().then(|| exactly(rows_of(page, |row| row.key == *key).into()))
        }
        _ => Some(exactly(answer)),
    }
}

/// Returns the rows of a page that belong to one session.
fn rows_of<T: Clone>(page: &Page<T>, is_of: impl Fn(&T) -> bool) -> Page<T> {
    Page { items: page.items.iter().filter(|row| is_of(row)).cloned().collect(), next: None }
}
