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
use holdover_store::{
    CheckpointQuery, ClaimDue, PageRequest, PendingQuery, Retry, StateStore, StoreError, StoreErrorKind,
};

use super::{Event, Heard};
use crate::bench::Handle;
use crate::failure::CaseResult;
use crate::script::{Answer, Request};

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
        if let Request::ClaimDue(due) = request {
            return Ok(Some(Answer::of(store.claim_due(due.clone()).await, Answer::ClaimDue)?));
        }
        if let Request::Purge(rule) = request {
            return Ok(Some(Answer::of(store.purge(rule).await, Answer::Purge)?));
        }
        if let Request::ListSessions(query) = request {
            let page = store.list_sessions(query).await;
            return whole(page.map(|page| (page.next.is_none(), page.items)), Answer::ListSessions);
        }
        if let Request::ListPending(tenant) = request {
            let page = store.list_pending(&PendingQuery::all(tenant.clone())).await;
            return whole(page.map(|page| (page.next.is_none(), page.items)), Answer::ListPending);
        }
        if let Request::ReadMessages(key, range) = request {
            let page = store.read_messages(key, &[*range]).await;
            return whole(page.map(|page| (page.rest.is_empty(), page.messages)), Answer::ReadMessages);
        }
        if let Request::ReadInbox(key, after, limit) = request {
            let page = store.read_inbox(key, *after, *limit).await;
            let full = |rows: usize| rows >= *limit as usize;
            let page = page.map(|page| (page.next.is_none() || full(page.items.len()), page.items));
            return whole(page, Answer::ReadInbox);
        }
        if let Request::ListRuns(key) = request {
            let page = store.list_runs(key, PageRequest::default()).await;
            return whole(page.map(|page| (page.next.is_none(), page.items)), Answer::ListRuns);
        }
        if let Request::ListCheckpoints(key) = request {
            let page = store.list_checkpoints(&CheckpointQuery::all(key.clone())).await;
            return whole(page.map(|page| (page.next.is_none(), page.items)), Answer::ListCheckpoints);
        }
        if let Request::ReadEvents(key, after, limit) = request {
            let page = Answer::of(store.read_events(key, after, *limit).await, Answer::read_events)?;
            return Ok(Some(page).filter(|page| !page.ends_before(*limit)));
        }
        request.ask(store).await.map(Some)
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

fn whole<T>(
    page: Result<(bool, Vec<T>), StoreError>,
    answer: impl FnOnce(Vec<T>) -> Answer,
) -> CaseResult<Option<Answer>> {
    match page {
        Ok((false, _)) => Ok(None),
        Ok((true, rows)) => Ok(Some(answer(rows))),
        Err(error) => Answer::of(Err::<Vec<T>, _>(error), answer).map(Some),
    }
}

/// What they say about the session, in the order in which they were asked.
pub(crate) fn project(all: &[Asked], key: &SessionKey) -> Vec<Event> {
    all.iter().filter_map(|asked| heard(asked, all, key)).collect()
}

fn heard(asked: &Asked, all: &[Asked], key: &SessionKey) -> Option<Event> {
    let of_key = asked.request.session().is_none_or(|of| of == key);
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
    match answer {
        Answer::ClaimDue(claims) if claims.is_empty() => alone().then(|| exactly(Answer::ClaimDue(claims))),
        Answer::ClaimDue(claims) => {
            let claim = claims.into_iter().find(|claim| claim.fence.key == *key)?;
            let Request::ClaimDue(due) = &asked.request else { return None };
            let due = ClaimDue { runs: vec![claim.run.clone()], ..due.clone() };
            let answer = Box::new(Answer::ClaimDue(vec![claim]));
            Some(event(answered, Heard::Answer(Box::new(Request::ClaimDue(due)), answer)))
        }
        Answer::Purge(report) if report.sessions + report.checkpoints == 0 => {
            (report.next.is_none() && alone()).then(|| exactly(Answer::Purge(report)))
        }
        Answer::Purge(_) => Some(event(answered, Heard::Somewhere(request()))),
        Answer::ListSessions(mut rows) => {
            rows.retain(|row| row.key == *key);
            (!rows.is_empty() || alone()).then(|| exactly(Answer::ListSessions(rows)))
        }
        Answer::ListPending(mut rows) => {
            rows.retain(|row| row.key == *key);
            alone().then(|| exactly(Answer::ListPending(rows)))
        }
        Answer::Refused(..)
        | Answer::Create(_)
        | Answer::Delete(_)
        | Answer::Claim(_)
        | Answer::CompareAndSet(_)
        | Answer::Renew(_)
        | Answer::Stage(_)
        | Answer::Commit(_)
        | Answer::AppendDeltas(_)
        | Answer::TakeInterrupt(_)
        | Answer::Deliver(_)
        | Answer::Interrupt(_)
        | Answer::Fork(_)
        | Answer::Load(_)
        | Answer::ReadMessages(_)
        | Answer::ReadInbox(_)
        | Answer::ReadEvents(_)
        | Answer::ListRuns(_)
        | Answer::ListCheckpoints(_) => Some(exactly(answer)),
    }
}
