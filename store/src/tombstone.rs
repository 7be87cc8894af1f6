//! Tombstones: records of deleted sessions. They prevent a late write from creating a deleted session again.

use std::time::Duration;

use crate::ids::{Incarnation, OperationId, SessionKey};
use crate::time::Timestamp;

/// The minimum time for which a tombstone is kept, by the store's clock. A creation that is delayed for
/// longer may not be recognised as a repeat.
pub const TOMBSTONE_STANDS: Duration = Duration::from_secs(24 * 60 * 60);

/// The record of a deletion, made in the same write that removes the session. Each deleted incarnation has
/// its own tombstone.
///
/// A creation or a fork of `key` that names `incarnation` or `operation` is a late duplicate of the one that
/// made the deleted session. Its outcome is `Deleted`, and it changes nothing. Otherwise the session would
/// begin again at epoch 0 under its old incarnation, and old fences could become valid again (INV-22,
/// INV-23). A creation of `key` with a new incarnation and a new operation is not affected.
///
/// A tombstone is kept for at least [`TOMBSTONE_STANDS`]. Deletions and purges also remove old tombstones: each call
/// up to a bounded number, which is at least the number of tombstones that the call can create. Tombstones therefore
/// do not accumulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Tenant and id of the session that was deleted.
    pub key: SessionKey,
    /// The incarnation of the deleted session.
    pub incarnation: Incarnation,
    /// The operation that created the deleted session.
    pub operation: OperationId,
    /// The instant at which the session was deleted.
    pub at: Timestamp,
}

impl Tombstone {
    /// Returns true if the deleted session had this incarnation or was created by this operation.
    pub fn names(&self, incarnation: Incarnation, operation: &OperationId) -> bool {
        self.incarnation == incarnation || self.operation == *operation
    }

    /// Returns true if the tombstone is old enough to be removed.
    pub fn is_old(&self, now: Timestamp) -> bool {
        self.at.until(now) > TOMBSTONE_STANDS
    }
}
