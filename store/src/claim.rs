//! Types for taking ownership of a session: claims and leases.

use std::time::Duration;

use super::{Delivery, InboxItem, Interrupt, PendingCall, Session, SessionStatus, StoredItem};
use crate::ids::{Epoch, Fence, InboxSeq, QueueLabel, RunId, StateFormat, TenantId, Version, WorkerId};
use crate::time::Timestamp;

/// The longest lease: ten years. Some stores cannot represent the instant at which a longer lease would end.
/// A claim or a renewal for longer fails with [`InvalidArgument`](super::StoreErrorKind::InvalidArgument) and
/// changes nothing.
pub const LEASE_MAX: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

/// A claim of one named session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimOne {
    /// The caller's id of the run that begins. The store uses it to recognise a repeat of the claim.
    pub run: RunId,
    /// The worker that claims.
    pub worker: WorkerId,
    /// The length of the lease; at most [`LEASE_MAX`].
    pub lease: Duration,
    /// The version that the session must have; any version if none.
    pub expected_version: Option<Version>,
    /// Messages and signals to deliver with the claim. Either all are accepted with the claim, or nothing is
    /// claimed.
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
    /// Returns true if these queues include `queue`.
    pub fn serves(&self, queue: &QueueLabel) -> bool {
        match self {
            Self::All => true,
            Self::Named(named) => named.contains(queue),
        }
    }
}

/// A claim of due sessions in the queues that a worker serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimDue {
    /// The run ids, one for each session to claim. Their number limits the number of claims (INV-32).
    pub runs: Vec<RunId>,
    /// The worker that claims.
    pub worker: WorkerId,
    /// The length of the lease; at most [`LEASE_MAX`].
    pub lease: Duration,
    /// The queues that the worker serves. Once the alarm of a session with a waiting interrupt has rung, the session is
    /// due in every queue.
    pub queues: Queues,
    /// The newest state format that the worker can read. A session with a newer format is claimed only if an
    /// interrupt waits for it.
    pub newest_format: StateFormat,
    /// The tenant whose sessions are claimed; all tenants if none.
    pub tenant: Option<TenantId>,
}

/// A claimed session with everything that its run needs to begin, as of one instant.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// The fence that every write of this run must carry.
    pub fence: Fence,
    /// The caller's id of this run.
    pub run: RunId,
    /// The status that the claim found. [`SessionStatus::Active`] means a takeover: an earlier run left the session
    /// active, and its lease had ended or was given back.
    pub found: SessionStatus,
    /// The session after the claim, with its state, staged results, interrupt and attempts.
    pub session: Session,
    /// The open pending calls, in the order in which they were opened.
    pub pending: Vec<PendingCall>,
    /// The first page of the items that are not consumed, in order: at most [`INBOX_PAGE`](super::INBOX_PAGE)
    /// items and [`PAGE_BYTES_MAX`](super::PAGE_BYTES_MAX), but at least the first item if there is one.
    /// [`more_inbox_after`](Self::more_inbox_after) shows whether the inbox holds more.
    pub inbox: Vec<StoredItem>,
    /// The store's clock when this answer was made: at the claim or, for a repeated claim, at the repeat. The lease
    /// runs for the time from `now` to `lease_ends`. The worker must count that time from the moment just before it
    /// sent the request.
    pub now: Timestamp,
    /// The instant at which the lease ends.
    pub lease_ends: Timestamp,
}

impl Claim {
    /// Returns the waiting interrupt, if there is one.
    pub fn interrupt(&self) -> Option<&Interrupt> {
        self.session.interrupt.as_ref()
    }

    /// Returns the place of the last item of this page if the inbox holds more items. Pass it to
    /// [`read_inbox`](super::StateStore::read_inbox) to read the rest.
    pub fn more_inbox_after(&self) -> Option<InboxSeq> {
        let last = self.inbox.last()?.seq;
        (self.session.unread > self.inbox.len() as u64).then_some(last)
    }
}

/// The answer to [`claim_session`](super::StateStore::claim_session).
#[derive(Debug, Clone, PartialEq)]
pub enum ClaimOutcome {
    /// The session is claimed. While the lease runs, a repeat with the same run id returns this claim again,
    /// with current data.
    Claimed(Box<Claim>),
    /// Another run holds the session. Nothing was changed.
    Held {
        /// The worker of that run.
        worker: WorkerId,
        /// The number of that run.
        epoch: Epoch,
        /// The version of the session.
        version: Version,
        /// The instant at which the lease of that run ends.
        lease_ends: Timestamp,
    },
    /// The session has another version. Nothing was changed.
    VersionConflict {
        /// The version that the claim expected.
        expected: Version,
        /// The version that the session has.
        actual: Version,
        /// The status that the session has.
        status: SessionStatus,
    },
    /// The claim is a repeat, and its lease has ended or was released. Nothing was changed. A new claim also has this
    /// outcome if its lease ended before the answer was made; that claim took place.
    LeaseEnded,
    /// An item was not accepted, so nothing was claimed.
    ItemRefused {
        /// The index of that item in the request.
        index: usize,
        /// The reason why the item was not accepted.
        refusal: Delivery,
    },
    /// The session is aborted, which is final.
    Aborted,
    /// There is no such session.
    NotFound,
}

/// The answer to [`renew_lease`](super::StateStore::renew_lease).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The lease now ends at the receipt's `lease_ends`, never earlier than before.
    Renewed(super::Receipt),
    /// Another run owns the session now, or the session was released or deleted.
    StaleFence,
}
