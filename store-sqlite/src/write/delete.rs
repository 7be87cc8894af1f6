//! Removes every row of a session.

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::store::{DeleteMode, DeleteOutcome};

use crate::error::Fault;
use crate::hints::Change;
use crate::job::{Tx, Write};
use crate::rows::{self, Sid};

/// In one write transaction, so that no reader sees a part.
const DELETE: [&str; 14] = [
    "DELETE FROM label WHERE sid = ?",
    "DELETE FROM definition WHERE sid = ?",
    "DELETE FROM state WHERE sid = ?",
    "DELETE FROM message WHERE sid = ?",
    "DELETE FROM event WHERE sid = ?",
    "DELETE FROM delta WHERE sid = ?",
    "DELETE FROM checkpoint WHERE sid = ?",
    "DELETE FROM item WHERE sid = ?",
    "DELETE FROM staged WHERE sid = ?",
    "DELETE FROM start_mark WHERE sid = ?",
    "DELETE FROM pending WHERE sid = ?",
    "DELETE FROM opened WHERE sid = ?",
    "DELETE FROM run WHERE sid = ?",
    "DELETE FROM session WHERE sid = ?",
];

pub(crate) struct DeleteSession {
    pub(crate) key: SessionKey,
    pub(crate) mode: DeleteMode,
}

#[async_trait]
impl Write for DeleteSession {
    type Outcome = DeleteOutcome;
    const OPERATION: &'static str = "delete_session";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<DeleteOutcome, Fault> {
        let sid = match self.mode {
            // Also of a session whose row cannot be read any more.
            DeleteMode::Force => rows::find_sid(tx.conn(), &self.key).await?,
            DeleteMode::UnlessActive => match rows::find(tx.conn(), &self.key).await? {
                Some((_, row)) if !row.deletable(self.mode) => return Ok(DeleteOutcome::Active),
                Some((sid, _)) => Some(sid),
                None => None,
            },
        };
        let Some(sid) = sid else { return Ok(DeleteOutcome::NotFound) };
        delete_rows(tx, sid, self.key.clone()).await?;
        Ok(DeleteOutcome::Deleted)
    }
}

/// Removes every row of a session.
pub(super) async fn delete_rows(tx: &mut Tx<'_>, sid: Sid, key: SessionKey) -> Result<(), Fault> {
    for sql in DELETE {
        tx.write(sqlx::query(sql).bind(sid.0)).await?;
    }
    tx.changes.push(Change { key, due: false });
    Ok(())
}
