//! The rules for deletions and tombstones.

use super::SessionRow;
use crate::ids::OperationId;
use crate::time::Timestamp;
use crate::{DeleteMode, DeleteOutcome, Deletion, SessionStatus, Tombstone};

/// Returns true if the outcome of a creation or fork by `operation` is that its session was deleted. `there` is the
/// present session of the key, if there is one. `named` says whether a tombstone of the key
/// [names](super::super::Tombstone::names) the operation or the new incarnation. If this returns false, the creation
/// or fork continues, with the present session or by making one.
pub fn was_deleted(operation: &OperationId, there: Option<&SessionRow>, named: bool) -> bool {
    named && there.is_none_or(|row| row.created_by != *operation)
}

impl SessionRow {
    /// Decides a deletion. If it returns `Err`, delete nothing and return that outcome.
    pub fn delete(&self, deletion: Deletion, now: Timestamp) -> Result<Tombstone, DeleteOutcome> {
        if deletion.incarnation.is_some_and(|named| named != self.incarnation) {
            return Err(DeleteOutcome::NotFound);
        }
        if deletion.mode == DeleteMode::UnlessActive && self.status == SessionStatus::Active {
            return Err(DeleteOutcome::Active);
        }
        match deletion.expected_version {
            Some(expected) if expected != self.version => {
                Err(DeleteOutcome::VersionConflict { expected, actual: self.version })
            }
            Some(_) | None => Ok(self.tombstone(now)),
        }
    }

    /// Returns the tombstone to write when the session's rows are removed.
    pub fn tombstone(&self, now: Timestamp) -> Tombstone {
        Tombstone {
            key: self.key.clone(),
            incarnation: self.incarnation,
            operation: self.created_by.clone(),
            at: now,
        }
    }
}
