//! Tombstones: records of deleted sessions, so that no late write brings a session back.

use std::time::Duration;

use crate::ids::{Incarnation, OperationId, SessionKey};
use crate::time::Timestamp;

/// The minimum time for which a tombstone is kept, by the store's clock. No request may be delayed for
/// longer.
pub const TOMBSTONE_STANDS: Duration = Duration::from_secs(24 * 60 * 60);

/// The record of a deletion, made in the same write that removes the session. Each deleted incarnation has
/// one.
///
/// A creation or a fork of `key` that names `incarnation` or `operation` is a late duplicate of the one that
/// made the deleted session. It answers `Deleted` and changes nothing. Otherwise the session would begin
/// again at epoch 0 under its old incarnation, and old fences could become valid again (INV-22, INV-23).
/// Another creation of `key`, with an incarnation and an operation of its own, is not affected.
///
/// A tombstone stands for [`TOMBSTONE_STANDS`]. Later deletions remove some older tombstones: each call
/// removes a bounded number, greater than the number that it creates, so tombstones do not accumulate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Tenant and id of the session that was deleted.
    pub key: SessionKey,
    /// The incarnation of the deleted session.
    pub incarnation: Incarnation,
    /// The creation or fork that made the session.
    pub operation: OperationId,
    /// When the session was deleted.
    pub at: Timestamp,
}

impl Tombstone {
    /// Whether the deleted session had this incarnation or was made by this operation.
    pub fn names(&self, incarnation: Incarnation, operation: &OperationId) -> bool {
        self.incarnation == incarnation || self.operation == *operation
    }

    /// Whether the tombstone is old enough to be removed.
    pub fn is_old(&self, now: Timestamp) -> bool {
        self.at.until(now) > TOMBSTONE_STANDS
    }
}
