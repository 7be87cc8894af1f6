//! Requests to a store, or to the model in its place.

use std::time::Duration;

use holdover_store::ids::{CheckpointId, Fence, InboxSeq, Incarnation, SessionKey, TenantId};
use holdover_store::{
    Capabilities, ClaimDue, ClaimOne, Commit, CommitSurvives, Deletion, DeltaBatch, EventCursor, EventPage,
    InboxItem, Interrupt, ItemKind, MessageRange, NewFork, NewSession, PendingQuery, RetentionRule,
    SessionQuery, SharedBy, Staging, Start, StateStore, StatusCas, StoreError, StoreErrorKind,
};

use super::Answer;
use crate::bench::Handle;
use crate::failure::CaseResult;
use crate::model::Model;
use crate::reader::up_to;
use crate::snapshot::{all_checkpoints, all_runs, walk_items, walk_messages, walk_pending, walk_sessions};
use crate::sweep::{as_many_due, try_swept};

/// One call of one method. Lists are walked to their end.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    Create(NewSession),
    Delete(SessionKey, Deletion),
    Claim(SessionKey, ClaimOne),
    ClaimDue(ClaimDue),
    CompareAndSet(SessionKey, StatusCas),
    Renew(Fence, Duration),
    Stage(Fence, Staging),
    Commit(Fence, Box<Commit>),
    AppendDeltas(Fence, DeltaBatch),
    TakeInterrupt(Fence),
    Deliver(SessionKey, InboxItem),
    Interrupt(SessionKey, Interrupt),
    Fork { from: SessionKey, at: CheckpointId, new: Box<NewFork> },
    Purge(RetentionRule),
    Load(SessionKey),
    ListSessions(SessionQuery),
    ListPending(TenantId),
    ReadMessages(SessionKey, MessageRange),
    ReadInbox(SessionKey, InboxSeq, u32),
    ReadEvents(SessionKey, EventCursor, u32),
    ListRuns(SessionKey),
    ListCheckpoints(SessionKey),
}

impl Request {
    /// The method that it asks.
    pub(crate) fn operation(&self) -> &'static str {
        match self {
            Self::Create(_) => "create_session",
            Self::Delete(..) => "delete_session",
            Self::Claim(..) => "claim_session",
            Self::ClaimDue(_) => "claim_due",
            Self::CompareAndSet(..) => "compare_and_set_status",
            Self::Renew(..) => "renew_lease",
            Self::Stage(..) => "stage_result",
            Self::Commit(..) => "commit",
            Self::AppendDeltas(..) => "append_deltas",
            Self::TakeInterrupt(_) => "take_interrupt",
            Self::Deliver(..) => "deliver",
            Self::Interrupt(..) => "request_interrupt",
            Self::Fork { .. } => "fork_session",
            Self::Purge(_) => "purge",
            Self::Load(_) => "load_session",
            Self::ListSessions(_) => "list_sessions",
            Self::ListPending(_) => "list_pending",
            Self::ReadMessages(..) => "read_messages",
            Self::ReadInbox(..) => "read_inbox",
            Self::ReadEvents(..) => "read_events",
            Self::ListRuns(_) => "list_runs",
            Self::ListCheckpoints(_) => "list_checkpoints",
        }
    }

    /// The session that it creates, and in which life.
    pub(crate) fn creates(&self) -> Option<(&SessionKey, Incarnation)> {
        if let Self::Create(new) = self {
            return Some((&new.key, new.incarnation));
        }
        if let Self::Fork { new, .. } = self { Some((&new.key, new.incarnation)) } else { None }
    }

    /// Whether it would make a fork.
    pub(crate) fn forks(&self) -> bool {
        matches!(self, Self::Fork { .. })
    }

    /// The session that it is about: the source of a fork. None: it is about many.
    pub(crate) fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Create(new) => Some(&new.key),
            Self::Fork { from: key, .. }
            | Self::Delete(key, _)
            | Self::Claim(key, _)
            | Self::CompareAndSet(key, _)
            | Self::Deliver(key, _)
            | Self::Interrupt(key, _)
            | Self::Load(key)
            | Self::ReadMessages(key, _)
            | Self::ReadInbox(key, ..)
            | Self::ReadEvents(key, ..)
            | Self::ListRuns(key)
            | Self::ListCheckpoints(key) => Some(key),
            Self::Renew(fence, _)
            | Self::Stage(fence, _)
            | Self::Commit(fence, _)
            | Self::AppendDeltas(fence, _)
            | Self::TakeInterrupt(fence) => Some(&fence.key),
            Self::ClaimDue(_) | Self::Purge(_) | Self::ListSessions(_) | Self::ListPending(_) => None,
        }
    }

    /// The tenant that it is about, if it is about the many sessions of one.
    pub(crate) fn tenant(&self) -> Option<&TenantId> {
        if let Self::ListSessions(SessionQuery { tenant, .. }) | Self::ListPending(tenant) = self {
            return Some(tenant);
        }
        if let Self::ClaimDue(due) = self {
            return due.tenant.as_ref();
        }
        if let Self::Purge(rule) = self { rule.tenant.as_ref() } else { None }
    }

    /// Whether it may change something.
    pub(crate) fn writes(&self) -> bool {
        !["load_", "list_", "read_"].iter().any(|reads| self.operation().starts_with(reads))
    }

    /// Whether it may change this session.
    pub(crate) fn is_about(&self, key: &SessionKey) -> bool {
        let makes = self.creates().is_some_and(|(made, _)| made == key);
        self.writes() && (makes || self.session().is_none_or(|of| of == key))
    }

    /// Asks a store. `Err`: it does not have the operation, or a walk had no end or was refused in the middle.
    pub(crate) async fn ask(&self, store: &Handle) -> CaseResult<Answer> {
        match self.clone() {
            Self::Create(new) => Answer::of(store.create_session(new).await, Answer::Create),
            Self::Delete(key, deletion) => {
                Answer::of(store.delete_session(&key, deletion).await, Answer::Delete)
            }
            Self::Claim(key, one) => Answer::of(store.claim_session(&key, one).await, Answer::Claim),
            Self::ClaimDue(due) => Answer::of(as_many_due(store, due).await, Answer::ClaimDue),
            Self::CompareAndSet(key, cas) => {
                Answer::of(store.compare_and_set_status(&key, cas).await, Answer::CompareAndSet)
            }
            Self::Renew(fence, lease) => Answer::of(store.renew_lease(&fence, lease).await, Answer::Renew),
            Self::Stage(fence, staging) => {
                Answer::of(store.stage_result(&fence, staging).await, Answer::Stage)
            }
            Self::Commit(fence, commit) => {
                let outcome = store.commit(&fence, *commit).await;
                Answer::of(outcome, Answer::Commit)
            }
            Self::AppendDeltas(fence, batch) => {
                Answer::of(store.append_deltas(&fence, batch).await, Answer::AppendDeltas)
            }
            Self::TakeInterrupt(fence) => {
                Answer::of(store.take_interrupt(&fence).await, Answer::TakeInterrupt)
            }
            Self::Deliver(key, item) => Answer::of(store.deliver(&key, item).await, Answer::Deliver),
            Self::Interrupt(key, interrupt) => {
                Answer::of(store.request_interrupt(&key, interrupt).await, Answer::Interrupt)
            }
            Self::Fork { from, at, new } => {
                Answer::of(store.fork_session(&from, at, *new).await, Answer::Fork)
            }
            Self::Purge(rule) => match rule.check() {
                // What has no meaning is refused; the rest is walked to its end.
                Err(_) => Answer::of(store.purge(&rule).await, Answer::Purge),
                Ok(_) => Answer::of(try_swept(store, rule).await?, |(report, _)| Answer::Purge(report)),
            },
            Self::Load(key) => {
                Answer::of(store.load_session(&key).await, |session| Answer::Load(session.map(Box::new)))
            }
            Self::ListSessions(mut query) => {
                query.page.limit = std::num::NonZeroU32::new(2);
                Ok(Answer::ListSessions(walk_sessions(store, query).await?))
            }
            Self::ListPending(tenant) => {
                Ok(Answer::ListPending(walk_pending(store, PendingQuery::all(tenant)).await?))
            }
            Self::ReadMessages(key, range) => match store.read_messages(&key, &[range]).await {
                Err(error) => Ok(Answer::refused(&error)),
                Ok(_) => Ok(Answer::ReadMessages(walk_messages(store, &key, &[range]).await?)),
            },
            Self::ReadInbox(key, after, limit) => match store.read_inbox(&key, after, limit).await {
                Err(error) => Ok(Answer::refused(&error)),
                Ok(_) => {
                    let mut items = walk_items(store, &key, after, limit).await?;
                    items.truncate(limit as usize);
                    Ok(Answer::ReadInbox(items))
                }
            },
            Self::ReadEvents(key, after, limit) => {
                Answer::of(up_to(store, &key, &after, limit).await, Answer::read_events)
            }
            Self::ListRuns(key) => match store.list_runs(&key, Default::default()).await {
                Err(error) => Ok(Answer::refused(&error)),
                Ok(_) => Ok(Answer::ListRuns(all_runs(store, &key).await?)),
            },
            Self::ListCheckpoints(key) => {
                let query = holdover_store::CheckpointQuery::all(key.clone());
                match store.list_checkpoints(&query).await {
                    Err(error) => Ok(Answer::refused(&error)),
                    Ok(_) => Ok(Answer::ListCheckpoints(all_checkpoints(store, &key).await?)),
                }
            }
        }
    }

    /// Asks the model: what has no meaning is refused before anything is looked at.
    pub(crate) fn ask_model(&self, model: &mut Model) -> Answer {
        if let Err(error) = self.check(model) {
            return Answer::refused(&error);
        }
        let snapshot = |key: &SessionKey| model.snapshot(key);
        match self {
            Self::Create(new) => Answer::Create(model.create(new)),
            Self::Delete(key, deletion) => Answer::Delete(model.delete(key, *deletion)),
            Self::Claim(key, one) => Answer::Claim(model.claim(key, one)),
            Self::ClaimDue(due) => Answer::ClaimDue(model.claim_due(due)),
            Self::CompareAndSet(key, cas) => Answer::CompareAndSet(model.compare_and_set(key, cas)),
            Self::Renew(fence, lease) => Answer::Renew(model.renew(fence, *lease)),
            Self::Stage(fence, staging) => Answer::Stage(model.stage(fence, staging)),
            Self::Commit(fence, commit) => Answer::Commit(model.commit(fence, commit)),
            Self::AppendDeltas(fence, batch) => Answer::AppendDeltas(model.append_deltas(fence, batch)),
            Self::TakeInterrupt(fence) => Answer::TakeInterrupt(model.take_interrupt(fence)),
            Self::Deliver(key, item) => Answer::Deliver(model.deliver(key, item)),
            Self::Interrupt(key, interrupt) => Answer::Interrupt(model.interrupt(key, interrupt)),
            Self::Fork { from, at, new } => Answer::Fork(model.fork(from, *at, new)),
            Self::Purge(rule) => Answer::Purge(model.purge(rule)),
            Self::Load(key) => Answer::Load(snapshot(key).session.map(Box::new)),
            Self::ListSessions(query) => Answer::ListSessions(model.list_sessions(query)),
            Self::ListPending(tenant) => Answer::ListPending(model.list_pending(tenant)),
            Self::ReadMessages(key, range) => {
                let mut messages = snapshot(key).messages;
                messages.retain(|message| range.contains(message.seq));
                Answer::ReadMessages(messages)
            }
            Self::ReadInbox(key, after, limit) => {
                let mut inbox = snapshot(key).inbox;
                inbox.retain(|item| item.seq > *after);
                inbox.truncate(*limit as usize);
                Answer::ReadInbox(inbox)
            }
            Self::ReadEvents(key, after, limit) => {
                Answer::read_events(read_events(model, key, after, *limit))
            }
            Self::ListRuns(key) => Answer::ListRuns(snapshot(key).runs),
            Self::ListCheckpoints(key) => Answer::ListCheckpoints(snapshot(key).checkpoints),
        }
    }

    /// Refuses what has no meaning, and reads of a session that is not there.
    fn check(&self, model: &Model) -> Result<(), StoreError> {
        let operation = self.operation();
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
        match self {
            Self::Create(new) => {
                if let Start::Claimed(one) = &new.start {
                    carried(&one.items)?;
                }
                let other = |item: &InboxItem| item.incarnation.is_some_and(|named| named != new.incarnation);
                if new.items.iter().any(other) {
                    return Err(StoreError::invalid(operation, "items"));
                }
                carried(&new.items)
            }
            Self::Claim(_, one) => carried(&one.items),
            Self::CompareAndSet(_, cas) => carried(&cas.items),
            Self::Commit(_, commit) => commit.check(&unbounded()),
            Self::AppendDeltas(_, batch) => batch.check(&unbounded()),
            Self::Fork { from, new, .. } => new.check(from),
            Self::Purge(rule) => rule.check().map(drop),
            Self::ReadInbox(key, _, rows) => limit(*rows).and_then(|()| known(key)),
            Self::ReadEvents(_, _, rows) => limit(*rows),
            Self::ReadMessages(key, _) | Self::ListRuns(key) | Self::ListCheckpoints(key) => known(key),
            Self::Delete(..)
            | Self::ClaimDue(_)
            | Self::Renew(..)
            | Self::Stage(..)
            | Self::TakeInterrupt(_)
            | Self::Deliver(..)
            | Self::Interrupt(..)
            | Self::Load(_)
            | Self::ListSessions(_)
            | Self::ListPending(_) => Ok(()),
        }
    }
}

/// Sizes are for cases of their own.
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
