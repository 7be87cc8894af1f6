//! Removes every row of a session.

use holdover_store::ids::SessionKey;
use holdover_store::{DeleteMode, DeleteOutcome, Deletion};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;

pub(crate) struct DeleteSession {
    pub(crate) key: SessionKey,
    pub(crate) deletion: Deletion,
}

impl Call for DeleteSession {
    type Outcome = DeleteOutcome;
    const OPERATION: &'static str = "delete_session";
    const PARAMETERS: usize = 5;
    const COLUMNS: &'static str = "a.outcome";
    const WRITES: bool = true;
    const IS_LONG: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let deletion = &self.deletion;
        to.key(&self.key)
            .add(deletion.incarnation.as_ref().map(|incarnation| incarnation.0.as_bytes().as_slice()))
            .add(deletion.mode == DeleteMode::Force)
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<DeleteOutcome, Fault> {
        match Columns::first(rows)?.text()?.as_str() {
            "deleted" => Ok(DeleteOutcome::Deleted),
            "active" => Ok(DeleteOutcome::Active),
            "not_found" => Ok(DeleteOutcome::NotFound),
            other => Err(unknown_outcome(other)),
        }
    }
}
