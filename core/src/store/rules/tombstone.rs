//! What deleting leaves behind.

use super::SessionRow;
use crate::ids::OperationId;
use crate::store::{DeleteMode, DeleteOutcome, Deletion, SessionStatus, Tombstone};
use crate::time::Timestamp;

/// What a creation or a fork finds under its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnderKey {
    /// Nothing: it may be made.
    Nothing,
    /// The session that the same operation made: answer what it answered.
    Own,
    /// A tombstone of the session that it made, or of another one with its incarnation.
    Deleted,
    /// Another session.
    Another,
}

impl UnderKey {
    /// What `operation` finds, where `there` is the session of the key, if there is one, and `buried` says
    /// whether a tombstone of the key [names](super::super::Tombstone::names) the operation or its
    /// incarnation.
    pub fn of(operation: &OperationId, there: Option<&SessionRow>, buried: bool) -> Self {
        match there {
            Some(row) if row.created_by == *operation => Self::Own,
            Some(_) | None if buried => Self::Deleted,
            Some(_) => Self::Another,
            None => Self::Nothing,
        }
    }
}

impl SessionRow {
    /// Decides a deletion. `Err`: nothing is deleted; answer so.
    pub fn delete(&self, deletion: Deletion, now: Timestamp) -> Result<Tombstone, DeleteOutcome> {
        if deletion.incarnation.is_some_and(|named| named != self.incarnation) {
            return Err(DeleteOutcome::NotFound);
        }
        match deletion.mode {
            DeleteMode::UnlessActive if self.status == SessionStatus::Active => Err(DeleteOutcome::Active),
            DeleteMode::UnlessActive | DeleteMode::Force => Ok(self.tombstone(now)),
        }
    }

    /// What is left of the session when its rows are removed.
    pub fn tombstone(&self, now: Timestamp) -> Tombstone {
        Tombstone {
            key: self.key.clone(),
            incarnation: self.incarnation,
            operation: self.created_by.clone(),
            at: now,
        }
    }
}
