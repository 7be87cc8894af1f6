//! A request to a store, as a value.

use std::sync::Arc;
use std::time::Duration;

use super::Answer;
use crate::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use crate::{
    CheckpointQuery, ClaimDue, ClaimOne, Commit, Deletion, DeltaBatch, EventCursor, InboxItem, Interrupt,
    MessageRange, NewFork, NewSession, PageRequest, PendingQuery, RetentionRule, SessionQuery, Staging,
    StateStore, StatusCas, StoreError, Watch,
};

/// A call of a [`StateStore`] with its arguments: one variant for each method. A clone is the same request
/// again.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Request {
    /// `create_session`.
    Create(NewSession),
    /// `load_session`.
    Load(SessionKey),
    /// `list_sessions`.
    ListSessions(SessionQuery),
    /// `delete_session`.
    Delete(SessionKey, Deletion),
    /// `claim_session`.
    Claim(SessionKey, ClaimOne),
    /// `claim_due`.
    ClaimDue(ClaimDue),
    /// `compare_and_set_status`.
    Move(SessionKey, StatusCas),
    /// `renew_lease`.
    Renew(Fence, Duration),
    /// `stage_result`.
    Stage(Fence, Staging),
    /// `commit`.
    Commit(Fence, Commit),
    /// `append_deltas`.
    Stream(Fence, DeltaBatch),
    /// `take_interrupt`.
    TakeInterrupt(Fence),
    /// `deliver`.
    Deliver(SessionKey, InboxItem),
    /// `request_interrupt`.
    Interrupt(SessionKey, Interrupt),
    /// `read_messages`.
    ReadMessages(SessionKey, Vec<MessageRange>),
    /// `read_inbox`.
    ReadInbox(SessionKey, InboxSeq, u32),
    /// `read_events`.
    ReadEvents(SessionKey, EventCursor, u32),
    /// `list_runs`.
    ListRuns(SessionKey, PageRequest),
    /// `list_pending`.
    ListPending(PendingQuery),
    /// `list_checkpoints`.
    ListCheckpoints(CheckpointQuery),
    /// `wait_for_change`.
    Wait(Watch, Duration),
    /// `fork_session`.
    Fork(SessionKey, CheckpointId, NewFork),
    /// `purge`.
    Purge(RetentionRule),
}

impl Request {
    /// Sends the request to `store`.
    pub async fn perform(self, store: &Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        Ok(match self {
            Self::Create(new) => store.create_session(new).await?.into(),
            Self::Load(key) => store.load_session(&key).await?.into(),
            Self::ListSessions(query) => store.list_sessions(&query).await?.into(),
            Self::Delete(key, deletion) => store.delete_session(&key, deletion).await?.into(),
            Self::Claim(key, claim) => store.claim_session(&key, claim).await?.into(),
            Self::ClaimDue(claim) => store.claim_due(claim).await?.into(),
            Self::Move(key, cas) => store.compare_and_set_status(&key, cas).await?.into(),
            Self::Renew(fence, lease) => store.renew_lease(&fence, lease).await?.into(),
            Self::Stage(fence, staging) => store.stage_result(&fence, staging).await?.into(),
            Self::Commit(fence, commit) => store.commit(&fence, commit).await?.into(),
            Self::Stream(fence, batch) => store.append_deltas(&fence, batch).await?.into(),
            Self::TakeInterrupt(fence) => store.take_interrupt(&fence).await?.into(),
            Self::Deliver(key, item) => store.deliver(&key, item).await?.into(),
            Self::Interrupt(key, interrupt) => store.request_interrupt(&key, interrupt).await?.into(),
            Self::ReadMessages(key, ranges) => store.read_messages(&key, &ranges).await?.into(),
            Self::ReadInbox(key, after, limit) => store.read_inbox(&key, after, limit).await?.into(),
            Self::ReadEvents(key, after, limit) => store.read_events(&key, &after, limit).await?.into(),
            Self::ListRuns(key, page) => store.list_runs(&key, page).await?.into(),
            Self::ListPending(query) => store.list_pending(&query).await?.into(),
            Self::ListCheckpoints(query) => store.list_checkpoints(&query).await?.into(),
            Self::Wait(watch, at_most) => store.wait_for_change(watch, at_most).await?.into(),
            Self::Fork(from, at, to) => store.fork_session(&from, at, to).await?.into(),
            Self::Purge(rule) => store.purge(&rule).await?.into(),
        })
    }

    /// The name of the method in the trait.
    pub fn operation(&self) -> &'static str {
        match self {
            Self::Create(_) => "create_session",
            Self::Load(_) => "load_session",
            Self::ListSessions(_) => "list_sessions",
            Self::Delete(..) => "delete_session",
            Self::Claim(..) => "claim_session",
            Self::ClaimDue(_) => "claim_due",
            Self::Move(..) => "compare_and_set_status",
            Self::Renew(..) => "renew_lease",
            Self::Stage(..) => "stage_result",
            Self::Commit(..) => "commit",
            Self::Stream(..) => "append_deltas",
            Self::TakeInterrupt(_) => "take_interrupt",
            Self::Deliver(..) => "deliver",
            Self::Interrupt(..) => "request_interrupt",
            Self::ReadMessages(..) => "read_messages",
            Self::ReadInbox(..) => "read_inbox",
            Self::ReadEvents(..) => "read_events",
            Self::ListRuns(..) => "list_runs",
            Self::ListPending(_) => "list_pending",
            Self::ListCheckpoints(_) => "list_checkpoints",
            Self::Wait(..) => "wait_for_change",
            Self::Fork(..) => "fork_session",
            Self::Purge(_) => "purge",
        }
    }

    /// The session of the request; for a fork, its source. None if the request is about several.
    pub fn key(&self) -> Option<&SessionKey> {
        match self {
            Self::Create(new) => Some(&new.key),
            Self::Renew(fence, _)
            | Self::Stage(fence, _)
            | Self::Commit(fence, _)
            | Self::Stream(fence, _)
            | Self::TakeInterrupt(fence) => Some(&fence.key),
            Self::Load(key)
            | Self::Delete(key, _)
            | Self::Claim(key, _)
            | Self::Move(key, _)
            | Self::Deliver(key, _)
            | Self::Interrupt(key, _)
            | Self::ReadMessages(key, _)
            | Self::ReadInbox(key, ..)
            | Self::ReadEvents(key, ..)
            | Self::ListRuns(key, _)
            | Self::Fork(key, ..)
            | Self::Wait(Watch::Session(key) | Watch::News(key), _) => Some(key),
            Self::ListCheckpoints(query) => Some(&query.key),
            Self::ListSessions(_)
            | Self::ClaimDue(_)
            | Self::ListPending(_)
            | Self::Wait(Watch::Due, _)
            | Self::Purge(_) => None,
        }
    }

    /// Whether the request may change stored data.
    pub fn writes(&self) -> bool {
        match self {
            Self::Create(_)
            | Self::Delete(..)
            | Self::Claim(..)
            | Self::ClaimDue(_)
            | Self::Move(..)
            | Self::Renew(..)
            | Self::Stage(..)
            | Self::Commit(..)
            | Self::Stream(..)
            | Self::TakeInterrupt(_)
            | Self::Deliver(..)
            | Self::Interrupt(..)
            | Self::Fork(..)
            | Self::Purge(_) => true,
            Self::Load(_)
            | Self::ListSessions(_)
            | Self::ReadMessages(..)
            | Self::ReadInbox(..)
            | Self::ReadEvents(..)
            | Self::ListRuns(..)
            | Self::ListPending(_)
            | Self::ListCheckpoints(_)
            | Self::Wait(..) => false,
        }
    }
}
