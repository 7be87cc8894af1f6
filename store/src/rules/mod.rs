//! The decisions of a store, as pure functions over one session row.
//!
//! `RowStore` of the feature `rows` calls these functions for all stores that are built on it. Another store that can
//! run Rust inside its transaction locks the row, lets these functions decide, writes the row back, and then writes
//! the rows that the decision names. A store that decides in SQL or in a script must follow the same rules; the
//! conformance suite checks this.
//!
//! The argument `now` is the store's clock, read after any wait. A function changes the row only if its
//! result says that the write is applied.

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

/// The row of a session. A store checks every write against the row first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionRow {
    /// The key of the session.
    pub key: SessionKey,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The operation that created the session.
    pub created_by: OperationId,
    /// The status of the session.
    pub status: SessionStatus,
    /// The version, raised by claims, commits and compare-and-sets.
    pub version: Version,
    /// The number of the newest run.
    pub epoch: Epoch,
    /// The queue label. Workers use it to choose the sessions that they claim.
    pub queue: QueueLabel,
    /// The format of the state.
    pub format: StateFormat,
    /// The lease. None while no run holds the session. An active session has none if a takeover was given back.
    pub lease: Option<Lease>,
    /// The run id of the newest claim.
    pub last_claim: Option<RunId>,
    /// The status that the newest claim found.
    pub found: SessionStatus,
    /// The newest commit of any run.
    pub last_commit: Option<LastCommit>,
    /// True if the record of run `epoch` is open.
    pub run_open: bool,
    /// The instant at which the session wants a worker; none if it wants none.
    pub alarm: Option<Timestamp>,
    /// The number of takeovers since the last commit of any kind.
    pub attempts: u32,
    /// The waiting interrupt, if there is one.
    pub interrupt: Option<Interrupt>,
    /// The run to which the waiting interrupt was handed, if any.
    pub interrupt_handed_to: Option<Epoch>,
    /// The id of the newest interrupt that no longer waits. A repeated request for it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_interrupt: Option<InterruptId>,
    /// The stream whose deltas are kept, or were kept last.
    pub stream: Stream,
    /// The place of the newest message; 0 if there is none.
    pub last_message: MessageSeq,
    /// The place of the newest event; 0 if there is none.
    pub last_event: EventSeq,
    /// The place of the newest inbox item; 0 if there is none.
    pub last_item: InboxSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// The place of the newest item that a run has declared read; 0 if there is none. Only later items count towards
    /// waking.
    pub inbox_seen: InboxSeq,
    /// A summary of the items after `inbox_seen` that can wake the session.
    pub unseen: Unseen,
    /// The number of unseen counted items that wake the session while it is suspended. If 0, counted items do
    /// not wake it.
    pub wake_on: u32,
    /// The instant at which the session was created.
    pub created_at: Timestamp,
    /// The instant at which this row last changed, apart from `stream` and `interrupt_handed_to`.
    pub updated_at: Timestamp,
}

/// The newest commit of a session. A repeat of it returns the first outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastCommit {
    /// The operation id of the commit.
    pub operation: OperationId,
    /// The run that made the commit.
    pub epoch: Epoch,
    /// The receipt that the commit returned.
    pub receipt: Receipt,
}

impl SessionRow {
    /// Returns the row of a new session: idle, version 1, epoch 0, no items. In the same write, call
    /// [`SessionRow::accept`] for each item, then [`SessionRow::set_start`], then [`SessionRow::claim`] if
    /// the creation asks for a claim.
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

    /// Sets the alarm that the creation names. It replaces the alarm that the items have set.
    pub fn set_start(&mut self, start: &Start) {
        match start {
            Start::At(at) => self.alarm = Some(*at),
            Start::WithItems | Start::Claimed(_) => {}
        }
    }

    /// Returns the fence of the newest run.
    pub fn fence(&self) -> Fence {
        Fence { key: self.key.clone(), incarnation: self.incarnation, epoch: self.epoch }
    }

    /// Returns true if `fence` may write: it has the session's incarnation and the newest epoch, and it was
    /// not released (INV-22). The lease may have ended.
    pub fn admits(&self, fence: &Fence) -> bool {
        self.incarnation == fence.incarnation
            && self.epoch == fence.epoch
            && self.status == SessionStatus::Active
            && self.lease.is_some()
    }

    /// Decides whether `commit` was applied, for a fence that may no longer write. The row holds only the newest
    /// commit of the session, so the answer may be unknown.
    pub fn was_applied(&self, fence: &Fence, commit: &Commit) -> Applied {
        if self.incarnation != fence.incarnation {
            return Applied::Unknown;
        }
        let Some(last) = &self.last_commit else { return Applied::No };
        match last.epoch.cmp(&fence.epoch) {
            Ordering::Less => Applied::No,
            Ordering::Greater => Applied::Unknown,
            Ordering::Equal if last.operation == commit.operation => Applied::Yes,
            // The commit expects the version that the newest commit made, or a later one, so it is a later commit.
            Ordering::Equal if commit.expected_version >= Some(last.receipt.version) => Applied::No,
            Ordering::Equal => Applied::Unknown,
        }
    }

    /// Returns the receipt as of `now`.
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
