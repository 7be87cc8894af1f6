//! Removes every row of a session.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{DeleteMode, DeleteOutcome, Deletion};

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
    pub(crate) deletion: Deletion,
}

#[async_trait]
impl Write for DeleteSession {
    type Outcome = DeleteOutcome;
    const OPERATION: &'static str = "delete_session";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<DeleteOutcome, Fault> {
        let sid = match self.deletion.mode {
            // Also of a session whose row cannot be read any more.
            DeleteMode::Force => rows::find_life(tx.conn(), &self.key, self.deletion.incarnation).await?,
            DeleteMode::UnlessActive => match rows::find(tx.conn(), &self.key).await? {
                Some((sid, row)) => match row.delete(self.deletion, tx.now()) {
                    Ok(_) => Some(sid),
                    Err(refused) => return Ok(refused),
                },
                None => None,
            },
        };
        let Some(sid) = sid else { return Ok(DeleteOutcome::NotFound) };
        delete_rows(tx, sid, self.key.clone()).await?;
        Ok(DeleteOutcome::Deleted)
    }
}

/// Removes every row of a session, and leaves its tombstone.
pub(super) async fn delete_rows(tx: &mut Tx<'_>, sid: Sid, key: SessionKey) -> Result<(), Fault> {
    rows::set_tombstone(tx, sid).await?;
    for sql in DELETE {
        tx.write(sqlx::query(sql).bind(sid.0)).await?;
    }
    tx.changes.push(Change { key, due: false });
    Ok(())
}
