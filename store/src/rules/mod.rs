//! The decisions of a store, as pure functions over one session row.
//!
//! A store that can run Rust inside its transaction (memory, SQLite, an embedded key-value store) locks the
//! row, lets these functions decide, writes the row back, and then writes the rows that the decision names.
//! Stores that decide in SQL or in a script follow the same rules; the conformance suite compares.
//!
//! Every function takes `now`, the store's clock read after any wait. It changes the row only if its answer
//! says that the write is applied.

mod commit;
mod creation;
mod delivery;
mod delta;
mod fork;
mod limits;
mod list;
mod ownership;
mod page;
mod retention;
mod staging;
mod tombstone;
mod turns;
mod view;

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

pub use commit::{CommitFacts, Unseen};
pub use delivery::{Arrival, PendingFacts};
pub use delta::{Stream, Streamed};
pub use limits::Limits;
pub use ownership::Claimed;
pub use page::PageRoom;
pub use tombstone::was_deleted;
pub use turns::in_turn;

use super::{Applied, Commit, Interrupt, InterruptKind, Lease, NewSession, Receipt, SessionStatus, Start};
use crate::ids::{
    Epoch, EventSeq, Fence, InboxSeq, Incarnation, InterruptId, MessageSeq, OperationId, QueueLabel, RunId,
    SessionKey, StateFormat, Version,
};
use crate::time::Timestamp;

/// The row of a session. Every write is checked against it first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// Tenant and id.
    pub key: SessionKey,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The operation that created it.
    pub created_by: OperationId,
    /// The status of the session.
    pub status: SessionStatus,
    /// The version, raised by claims, commits and compare-and-sets.
    pub version: Version,
    /// The number of the newest run.
    pub epoch: Epoch,
    /// The queue label, by which workers choose the session.
    pub queue: QueueLabel,
    /// The format of the state.
    pub format: StateFormat,
    /// The lease. None while nobody holds the session, even if an active session was given back.
    pub lease: Option<Lease>,
    /// The run id of the newest claim.
    pub last_claim: Option<RunId>,
    /// The status that the newest claim found.
    pub found: SessionStatus,
    /// The newest commit of any run.
    pub last_commit: Option<LastCommit>,
    /// Whether the record of run `epoch` is open.
    pub run_open: bool,
    /// The instant at which the session wants a worker.
    pub alarm: Option<Timestamp>,
    /// The number of takeovers of an ended lease since the last commit of any kind.
    pub attempts: u32,
    /// The interrupt that waits, if any.
    pub interrupt: Option<Interrupt>,
    /// The run to which the waiting interrupt was handed.
    pub interrupt_handed_to: Option<Epoch>,
    /// The newest interrupt that no longer waits. A repeated request for it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_interrupt: Option<InterruptId>,
    /// The stream whose deltas are kept, or were kept last.
    pub stream: Stream,
    /// The newest message.
    pub last_message: MessageSeq,
    /// The newest event.
    pub last_event: EventSeq,
    /// The newest inbox item.
    pub last_item: InboxSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// The newest item that a run has declared read. Only later items count towards waking.
    pub inbox_seen: InboxSeq,
    /// The items after `inbox_seen`.
    pub unseen: Unseen,
    /// The number of unseen counted items that wake the session while it is suspended; 0 = none do.
    pub wake_on: u32,
    /// When the session was created.
    pub created_at: Timestamp,
    /// When this row last changed.
    pub updated_at: Timestamp,
}

/// The newest commit, kept so that a repeat answers the first outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCommit {
    /// The operation id of the commit.
    pub operation: OperationId,
    /// The run that made the commit.
    pub epoch: Epoch,
    /// The receipt that the commit answered.
    pub receipt: Receipt,
}

impl SessionRow {
    /// The row of a new session: idle, version 1, epoch 0, no items yet. Items and a claim follow with
    /// [`SessionRow::accept`] and [`SessionRow::claim`] in the same write; then [`SessionRow::set_start`].
    pub fn create(new: &NewSession, now: Timestamp) -> Self {
        Self {
            key: new.key.clone(),
            incarnation: new.incarnation,
            created_by: new.operation.clone(),
            status: SessionStatus::Idle,
            version: Version(1),
            epoch: Epoch(0),
            queue: new.queue.clone(),
            format: new.format,
            lease: None,
            last_claim: None,
            found: SessionStatus::Idle,
            last_commit: None,
            run_open: false,
            alarm: None,
            attempts: 0,
            interrupt: None,
            interrupt_handed_to: None,
            last_interrupt: None,
            stream: Stream::default(),
            last_message: MessageSeq(0),
            last_event: EventSeq(0),
            last_item: InboxSeq(0),
            unread: 0,
            inbox_seen: InboxSeq(0),
            unseen: Unseen::default(),
            wake_on: 0,
            created_at: now,
            updated_at: now,
        }
    }

    /// Sets the alarm that the creation named, in place of the one that its items asked for.
    pub fn set_start(&mut self, start: &Start) {
        match start {
            Start::At(at) => self.alarm = Some(*at),
            Start::WithItems | Start::Claimed(_) => {}
        }
    }

    /// The fence of the newest run.
    pub fn fence(&self) -> Fence {
        Fence { key: self.key.clone(), incarnation: self.incarnation, epoch: self.epoch }
    }

    /// Whether `fence` may write: it has the session's incarnation and the newest epoch, and was not released
    /// (INV-22). The lease need not still run.
    pub fn admits(&self, fence: &Fence) -> bool {
        self.incarnation == fence.incarnation
            && self.epoch == fence.epoch
            && self.status == SessionStatus::Active
            && self.lease.is_some()
    }

    /// Whether `commit` was applied, for a fence that may no longer write. Only the newest commit of the
    /// session is remembered.
    pub fn was_applied(&self, fence: &Fence, commit: &Commit) -> Applied {
        if self.incarnation != fence.incarnation {
            return Applied::Unknown;
        }
        let Some(last) = &self.last_commit else { return Applied::No };
        match last.epoch.cmp(&fence.epoch) {
            Ordering::Less => Applied::No,
            Ordering::Greater => Applied::Unknown,
            Ordering::Equal if last.operation == commit.operation => Applied::Yes,
            // It was decided on a version that the newest commit made, so it came later.
            Ordering::Equal if commit.expected_version >= Some(last.receipt.version) => Applied::No,
            Ordering::Equal => Applied::Unknown,
        }
    }

    /// The receipt as of `now`.
    pub fn receipt(&self, now: Timestamp) -> Receipt {
        Receipt {
            version: self.version,
            last_message: self.last_message,
            last_item: self.last_item,
            unread: self.unread,
            interrupt: self.interrupt.is_some(),
            now,
            lease_ends: self.lease.as_ref().map_or(now, |lease| lease.ends),
        }
    }

    fn ring_at(&mut self, at: Timestamp) {
        self.alarm = Some(self.alarm.map_or(at, |alarm| alarm.min(at)));
    }

    fn abort_waits(&self) -> bool {
        self.interrupt.as_ref().is_some_and(|interrupt| interrupt.kind == InterruptKind::Abort)
    }
}

#[cfg(test)]
mod tests;
