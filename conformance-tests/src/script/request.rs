//! Requests to a store or to the model.

use std::sync::Arc;

use holdover_store::ids::{Incarnation, SessionKey, TenantId};
use holdover_store::{
    Capabilities, CommitSurvives, EventCursor, EventPage, InboxItem, InboxPage, ItemKind, MessagePage, Page,
    Request, SessionQuery, SharedBy, Start, StateStore, StoreError, StoreErrorKind,
};

use super::Answer;
use crate::bench::Handle;
use crate::failure::CaseResult;
use crate::model::Model;
use crate::reader::up_to;
use crate::snapshot::{all_checkpoints, all_runs, walk_items, walk_messages, walk_pending, walk_sessions};
use crate::sweep::{as_many_due, try_swept};

/// The properties of a request that scripts use, and ways to send it to a store or to the model.
pub(crate) trait Asking {
    /// Returns the session that the request creates, and its life.
    fn creates(&self) -> Option<(&SessionKey, Incarnation)>;
    /// Returns true if the request makes a fork.
    fn forks(&self) -> bool;
    /// Returns the tenant whose sessions the request is about, if it is about many sessions of one tenant.
    fn tenant(&self) -> Option<&TenantId>;
    /// Returns true if the request may change this session.
    fn is_about(&self, key: &SessionKey) -> bool;
    /// Sends the request to a store once. Fails if the store does not support the operation.
    fn once(&self, store: &Handle) -> impl Future<Output = CaseResult<Answer>> + Send;
    /// Sends the request to a store and walks lists to their end. Fails if the store does not support the operation, or
    /// if the walk of a list does not end or is refused.
    fn ask(&self, store: &Handle) -> impl Future<Output = CaseResult<Answer>> + Send;
    /// Sends the request to the model, unless it is refused as invalid first.
    fn ask_model(&self, model: &mut Model) -> Answer;
}

impl Asking for Request {
    fn creates(&self) -> Option<(&SessionKey, Incarnation)> {
        if let Self::Create(new) = self {
            return Some((&new.key, new.incarnation));
        }
        if let Self::Fork(_, _, new) = self { Some((&new.key, new.incarnation)) } else { None }
    }

    fn forks(&self) -> bool {
        matches!(self, Self::Fork(..))
    }

    fn tenant(&self) -> Option<&TenantId> {
        if let Self::ListSessions(SessionQuery { tenant, .. }) = self {
            return Some(tenant);
        }
        if let Self::ListPending(query) = self {
            return Some(&query.tenant);
        }
        if let Self::ClaimDue(due) = self {
            return due.tenant.as_ref();
        }
        if let Self::Purge(rule) = self { rule.tenant.as_ref() } else { None }
    }

    fn is_about(&self, key: &SessionKey) -> bool {
        let makes = self.creates().is_some_and(|(made, _)| made == key);
        self.writes() && (makes || self.key().is_none_or(|of| of == key))
    }

    async fn once(&self, store: &Handle) -> CaseResult<Answer> {
        let store: Arc<dyn StateStore> = Arc::new(store.clone());
        Answer::of(self.clone().perform(&store).await)
    }

    #[allow(clippy::wildcard_enum_match_arm, reason = "what is no list is asked once")]
    async fn ask(&self, store: &Handle) -> CaseResult<Answer> {
        match self.clone() {
            Self::ClaimDue(due) => return Answer::of(as_many_due(store, due).await),
            // An invalid rule is refused. A valid one is walked to its end.
            Self::Purge(rule) if rule.check().is_ok() => {
                return Answer::of(try_swept(store, rule).await?.map(|(report, _)| report));
            }
            Self::ListSessions(mut query) => {
                query.page.limit = std::num::NonZeroU32::new(2);
                return Ok(whole(walk_sessions(store, query).await?));
            }
            Self::ListPending(query) => return Ok(whole(walk_pending(store, query).await?)),
            Self::ReadEvents(key, after, limit) => {
                return Answer::of(up_to(store, &key, &after, limit).await);
            }
            _ => {}
        }
        let first = self.once(store).await?;
        if let Answer::Refused(..) = first {
            return Ok(first);
        }
        Ok(match self {
            Self::ReadMessages(key, ranges) => {
                Answer::from(MessagePage::whole(walk_messages(store, key, ranges).await?))
            }
            Self::ReadInbox(key, after, limit) => {
                let mut items = walk_items(store, key, *after, *limit).await?;
                items.truncate(*limit as usize);
                Answer::from(InboxPage::new(items, false))
            }
            Self::ListRuns(key, _) => whole(all_runs(store, key).await?),
            Self::ListCheckpoints(query) => whole(all_checkpoints(store, &query.key).await?),
            _ => first,
        })
    }

    fn ask_model(&self, model: &mut Model) -> Answer {
        if let Err(error) = check(self, model) {
            return Answer::refused(&error);
        }
        let snapshot = |key: &SessionKey| model.snapshot(key);
        match self {
            Self::Create(new) => model.create(new).into(),
            Self::Delete(key, deletion) => model.delete(key, *deletion).into(),
            Self::Claim(key, one) => model.claim(key, one).into(),
            Self::ClaimDue(due) => model.claim_due(due).into(),
            Self::Move(key, cas) => model.compare_and_set(key, cas).into(),
            Self::Renew(fence, lease) => model.renew(fence, *lease).into(),
            Self::Stage(fence, staging) => model.stage(fence, staging).into(),
            Self::Commit(fence, commit) => model.commit(fence, commit).into(),
            Self::Stream(fence, batch) => model.append_deltas(fence, batch).into(),
            Self::TakeInterrupt(fence) => model.take_interrupt(fence).into(),
            Self::Deliver(key, item) => model.deliver(key, item).into(),
            Self::Interrupt(key, interrupt) => model.interrupt(key, interrupt).into(),
            Self::Fork(from, at, new) => model.fork(from, *at, new).into(),
            Self::Purge(rule) => model.purge(rule).into(),
            Self::Load(key) => snapshot(key).session.into(),
            Self::ListSessions(query) => whole(model.list_sessions(query)),
            Self::ListPending(query) => whole(model.list_pending(&query.tenant)),
            Self::ReadMessages(key, ranges) => {
                let mut messages = snapshot(key).messages;
                messages.retain(|message| ranges.iter().any(|range| range.contains(message.seq)));
                MessagePage::whole(messages).into()
            }
            Self::ReadInbox(key, after, limit) => {
                let mut inbox = snapshot(key).inbox;
                inbox.retain(|item| item.seq > *after);
                inbox.truncate(*limit as usize);
                InboxPage::new(inbox, false).into()
            }
            Self::ReadEvents(key, after, limit) => read_events(model, key, after, *limit).into(),
            Self::ListRuns(key, _) => whole(snapshot(key).runs),
            Self::ListCheckpoints(query) => whole(snapshot(&query.key).checkpoints),
            Self::Wait(..) => ().into(),
            _ => panic!("the model does not know {}", self.operation()),
        }
    }
}

fn whole<T>(items: Vec<T>) -> Answer
where
    Answer: From<Page<T>>,
{
    Page { items, next: None }.into()
}

/// Refuses invalid requests, and those reads that the contract refuses if the session does not exist.
#[allow(clippy::wildcard_enum_match_arm, reason = "whatever else is asked has a meaning")]
fn check(request: &Request, model: &Model) -> Result<(), StoreError> {
    let operation = request.operation();
    let limit = |limit: u32| match limit {
        0 => Err(StoreError::invalid(operation, "limit")),
        _ => Ok(()),
    };
    let known = |key: &SessionKey| match model.life(key) {
        None => Err(StoreError::new(StoreErrorKind::NotFound, operation, "")),
        Some(_) => Ok(()),
    };
    let carried = |items: &[InboxItem]| {
        let is_answer = |item: &InboxItem| matches!(item.kind, ItemKind::Answer { .. });
        if items.iter().any(is_answer) { Err(StoreError::invalid(operation, "items")) } else { Ok(()) }
    };
    match request {
        Request::Create(new) => {
            if let Start::Claimed(one) = &new.start {
                carried(&one.items)?;
            }
            let other = |item: &InboxItem| item.incarnation.is_some_and(|named| named != new.incarnation);
            if new.items.iter().any(other) {
                return Err(StoreError::invalid(operation, "items"));
            }
            carried(&new.items)
        }
        Request::Claim(_, one) => carried(&one.items),
        Request::Move(_, cas) => carried(&cas.items),
        Request::Commit(_, commit) => commit.check(&unbounded()),
        Request::Stream(_, batch) => batch.check(&unbounded()),
        Request::Fork(from, _, new) => new.check(from),
        Request::Purge(rule) => rule.check().map(drop),
        Request::ReadInbox(key, _, rows) => limit(*rows).and_then(|()| known(key)),
        Request::ReadEvents(_, _, rows) => limit(*rows),
        Request::ReadMessages(key, _) | Request::ListRuns(key, _) => known(key),
        Request::ListCheckpoints(query) => known(&query.key),
        _ => Ok(()),
    }
}

/// Returns capabilities without size limits. Sizes have their own cases.
fn unbounded() -> Capabilities {
    Capabilities {
        backend: String::new(),
        commit_survives: CommitSurvives::Nothing,
        shared_by: SharedBy::Process,
        change_hints_across_processes: false,
        forks: true,
        retention: true,
        payload_bytes_max: usize::MAX,
        commit_bytes_max: usize::MAX,
        settings: Vec::new(),
    }
}

fn read_events(model: &Model, key: &SessionKey, after: &EventCursor, limit: u32) -> EventPage {
    let Some(life) = model.life(key) else { return EventPage::NotFound };
    let Some(place) = after.place_in(life.row.incarnation) else { return EventPage::Gone };
    let limit = limit as usize;
    let events = life.events.iter().filter(|event| event.seq > place.after).take(limit);
    let events: Vec<_> = events.cloned().collect();
    let last = events.last().map_or(place.after, |last| last.seq);
    let read = life.row.deltas_after(&place, last);
    let deltas = life.deltas.iter().filter(|delta| read.is_some_and(|read| delta.place > read));
    let deltas = deltas.take(limit - events.len()).cloned().collect();
    life.row.event_page(after, events, deltas)
}
