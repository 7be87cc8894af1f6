//! Tombstones: records of deleted sessions, so that no late write brings a session back.

use std::time::Duration;

use crate::ids::{Incarnation, OperationId, SessionKey};
use crate::time::Timestamp;

/// How long a tombstone stands at least, by the store's clock. Longer than any request is on its way.
pub const TOMBSTONE_STANDS: Duration = Duration::from_secs(24 * 60 * 60);

/// The mark that a deletion leaves, in the write that removes the session: one for each life.
///
/// A creation or a fork of `key` that names `incarnation` or `operation` is a late duplicate of the one
/// that made the deleted session: it answers `Deleted` and changes nothing. Else the session would begin
/// again at epoch 0 under its old incarnation, and the fences of the dead life's runs would be its own
/// (INV-22, INV-23). Another creation of `key`, with an incarnation and an operation of its own, is not
/// held up.
///
/// It stands for [`TOMBSTONE_STANDS`]. Whatever deletes sessions later removes some of those that stood
/// so long: a bounded number per call, and more than the call leaves, so that they never pile up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Tenant and id of the session that was deleted.
    pub key: SessionKey,
    /// The life that it had.
    pub incarnation: Incarnation,
    /// The creation or fork that made it.
    pub operation: OperationId,
    /// When it was deleted.
    pub at: Timestamp,
}

impl Tombstone {
    /// Whether a creation or fork of its key under these names is the one that made the deleted session.
    pub fn names(&self, incarnation: Incarnation, operation: &OperationId) -> bool {
        self.incarnation == incarnation || self.operation == *operation
    }

    /// Whether it has stood long enough to be removed.
    pub fn is_old(&self, now: Timestamp) -> bool {
        self.at.until(now) > TOMBSTONE_STANDS
    }
}
