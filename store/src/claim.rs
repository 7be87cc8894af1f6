//! Taking ownership of a session.

use std::time::Duration;

use super::{Delivery, InboxItem, Interrupt, PendingCall, Session, SessionStatus, StoredItem};
use crate::ids::{Epoch, Fence, InboxSeq, QueueLabel, RunId, StateFormat, TenantId, Version, WorkerId};
use crate::time::Timestamp;

/// The longest lease: ten years. Some stores cannot keep the instant at which a longer lease would end. A
/// claim or a renewal for longer is an [`InvalidArgument`](super::StoreErrorKind::InvalidArgument) and
/// changes nothing.
pub const LEASE_MAX: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// A claim of one named session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOne {
    /// The caller's id of the run that begins. The store recognises a repeat of the claim by it.
    pub run: RunId,
    /// The worker that claims.
    pub worker: WorkerId,
    /// The length of the lease; at most [`LEASE_MAX`].
    pub lease: Duration,
    /// If set, claim only at this version.
    pub expected_version: Option<Version>,
    /// Messages and signals that are accepted with the claim or not at all.
    pub items: Vec<InboxItem>,
}

/// The queues that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Queues {
    /// All queues.
    All,
    /// Only these queues.
    Named(Vec<QueueLabel>),
}

impl Queues {
    /// Whether `queue` is served.
    pub fn serves(&self, queue: &QueueLabel) -> bool {
        match self {
            Self::All => true,
            Self::Named(named) => named.contains(queue),
        }
    }
}

/// A claim of due sessions in the queues that are served.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDue {
    /// One run id for each session that is wanted. Their number is the limit (INV-32).
    pub runs: Vec<RunId>,
    /// The worker that claims.
    pub worker: WorkerId,
    /// The length of the lease; at most [`LEASE_MAX`].
    pub lease: Duration,
    /// The queues that are served. A session that nobody runs and that has an interrupt waiting is due in
    /// every queue.
    pub queues: Queues,
    /// The newest format that the worker reads. Sessions with a newer one are not claimed, except one that
    /// nobody runs and that has an interrupt waiting.
    pub newest_format: StateFormat,
    /// Only sessions of this tenant; of all tenants if none.
    pub tenant: Option<TenantId>,
}

/// A claimed session with everything that the run needs to begin, read at one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The fence that every write of this run must carry.
    pub fence: Fence,
    /// The caller's id of this run.
    pub run: RunId,
    /// The status that the claim found. [`SessionStatus::Active`] means a takeover: an earlier run left the
    /// session active, and its lease is over.
    pub found: SessionStatus,
    /// The session after the claim: its state, what is staged, its interrupt, its attempts.
    pub session: Session,
    /// The open pending calls, in the order in which they were opened.
    pub pending: Vec<PendingCall>,
    /// The first page of the items that are not consumed, in order: at most [`INBOX_PAGE`](super::INBOX_PAGE)
    /// items and [`PAGE_BYTES_MAX`](super::PAGE_BYTES_MAX), but at least the first item if there is one.
    /// [`more_inbox_after`](Self::more_inbox_after) says whether there is more.
    pub inbox: Vec<StoredItem>,
    /// The store's clock when the claim was made, or in the answer to a repeat, when it was repeated. The
    /// lease still runs for the time from `now` to `lease_ends`. The worker must count that time from before
    /// it sent the request.
    pub now: Timestamp,
    /// When the lease ends.
    pub lease_ends: Timestamp,
}

impl Claim {
    /// The interrupt that waits, if any.
    pub fn interrupt(&self) -> Option<&Interrupt> {
        self.session.interrupt.as_ref()
    }

    /// The last item of this page, if the inbox holds more: pass it to
    /// [`read_inbox`](super::StateStore::read_inbox) to read the rest.
    pub fn more_inbox_after(&self) -> Option<InboxSeq> {
        let last = self.inbox.last()?.seq;
        (self.session.unread > self.inbox.len() as u64).then_some(last)
    }
}

/// The answer to [`claim_session`](super::StateStore::claim_session).
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimOutcome {
    /// Claimed. A repeat with the same run id answers the same claim as it is now, while the lease runs.
    Claimed(Box<Claim>),
    /// Another run holds the session. Nothing was changed.
    Held {
        /// The worker of that run.
        worker: WorkerId,
        /// The number of that run.
        epoch: Epoch,
        /// The version of the session.
        version: Version,
        /// When the lease of that run ends.
        lease_ends: Timestamp,
    },
    /// The session has another version. Nothing was changed.
    VersionConflict {
        /// The version that was named.
        expected: Version,
        /// The version that the session has.
        actual: Version,
        /// The status that the session has.
        status: SessionStatus,
    },
    /// A repeat of a claim whose lease has ended or was released. Nothing was changed.
    LeaseEnded,
    /// An item was not accepted, so nothing was claimed.
    ItemRefused {
        /// The index of the item.
        index: usize,
        /// Why the item was not accepted.
        refusal: Delivery,
    },
    /// The session is aborted, for ever.
    Aborted,
    /// There is no such session.
    NotFound,
}

/// The answer to [`renew_lease`](super::StateStore::renew_lease).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The lease now ends at the receipt's `lease_ends`, never earlier than before.
    Renewed(super::Receipt),
    /// Another run owns the session now, or it was released or deleted.
    StaleFence,
}
