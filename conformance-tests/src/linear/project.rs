//! Projects the operations of all peers to one session.
//!
//! Most operations are on one session, and their answer is checked as it is. Operations over several sessions
//! are not atomic over them, as the contract says. So each says only the following of one session:
//! | operation | says of a session |
//! |---|---|
//! | `claim_due` | each claim in the answer is that of this session, alone |
//! | `claim_due` that answers nothing, with no write beside it | that it is not due |
//! | `purge` that removed something | that it was removed, or was not: the report does not say of whom |
//! | `purge` that removed nothing and is at its end, with no write beside it | that there is nothing to remove |
//! | `fork_session` into a key of its own | as a read of the source: whether it has the checkpoint |
//! | `list_sessions` | its row; that there is none, with no write beside it |
//! | `list_pending` | its rows, with no write beside it |
//!
//! A page that ends before it has to says nothing.

use holdover_store::ids::SessionKey;
use holdover_store::{Answer as Answered, ClaimDue, Page, Request, Retry, StoreErrorKind};

use super::{Event, Heard};
use crate::bench::Handle;
use crate::failure::CaseResult;
use crate::script::{Answer, Asking};

/// An operation of a peer, and what came of it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) by: usize,
    pub(crate) asked: u64,
    pub(crate) answered: u64,
    pub(crate) request: Request,
    /// None: the answer says nothing.
    pub(crate) answer: Option<Answer>,
}

impl Asked {
    /// Asks once: one call of one method, and not a walk. None: a page that ended before it had to.
    pub(crate) async fn ask(request: &Request, store: &Handle) -> CaseResult<Option<Answer>> {
        Ok(request.once(store).await?.whole(request))
    }

    /// Whether a write of one and the other were under way at one time.
    fn is_beside(&self, other: &Self) -> bool {
        let ends = |asked: &Self| if asked.is_unknown() { u64::MAX } else { asked.answered };
        other.request.writes() && self.asked < ends(other) && other.asked < ends(self)
    }

    fn is_unknown(&self) -> bool {
        matches!(self.answer, Some(Answer::Refused(_, Retry::OutcomeUnknown)))
    }

    /// Whether the store said that it did nothing, and that it may later: that says nothing of the session.
    fn is_put_off(&self) -> bool {
        matches!(self.answer, Some(Answer::Refused(StoreErrorKind::Unavailable, Retry::Later)))
    }
}

/// What they say about the session, in the order in which they were asked.
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

/// The rows of a page that are of one session.
fn rows_of<T: Clone>(page: &Page<T>, is_of: impl Fn(&T) -> bool) -> Page<T> {
    Page { items: page.items.iter().filter(|row| is_of(row)).cloned().collect(), next: None }
}
