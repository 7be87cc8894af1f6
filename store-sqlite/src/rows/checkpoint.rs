//! Checkpoints.

use holdover_store::Checkpoint;
use holdover_store::ids::{CheckpointId, Epoch, EventSeq, Incarnation, MessageSeq, StateFormat};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::Sid;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::job::Tx;

/// In the write transaction that has written the session row which the checkpoint keeps.
const APPEND: &str = "INSERT INTO checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, \
     payload) VALUES (?,?,?,?,?,?,?,?,?)";
/// In a transaction that has found the session.
const READ: &str = "SELECT id, epoch, last_message, last_event, at, format, digest, payload FROM checkpoint \
     WHERE sid = ? AND id = ?";

pub(crate) async fn append_checkpoint(
    tx: &mut Tx<'_>,
    sid: Sid,
    checkpoint: &Checkpoint,
) -> Result<(), Fault> {
    let query = sqlx::query(APPEND)
        .bind(sid.0)
        .bind(int(checkpoint.id.0))
        .bind(int(checkpoint.epoch.0))
        .bind(int(checkpoint.last_message.0))
        .bind(int(checkpoint.last_event.0))
        .bind(checkpoint.at.as_ms())
        .bind(i64::from(checkpoint.format.0))
        .bind(checkpoint.state.digest().0.to_vec())
        .bind(checkpoint.state.bytes().to_vec());
    tx.write(query).await?;
    Ok(())
}

/// One checkpoint of the session.
pub(crate) async fn read_checkpoint(
    conn: &mut SqliteConnection,
    sid: Sid,
    incarnation: Incarnation,
    id: CheckpointId,
) -> Result<Option<Checkpoint>, Fault> {
    let row = sqlx::query(READ).bind(sid.0).bind(int(id.0)).fetch_optional(conn).await?;
    row.as_ref().map(|row| checkpoint(row, incarnation)).transpose()
}

/// A row with the columns of [`READ`].
pub(crate) fn checkpoint(row: &SqliteRow, incarnation: Incarnation) -> Result<Checkpoint, Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    Ok(Checkpoint {
        id: CheckpointId(c.count()?),
        incarnation,
        epoch: Epoch(c.count()?),
        last_message: MessageSeq(c.count()?),
        last_event: EventSeq(c.count()?),
        at: c.at()?,
        format: StateFormat(c.count()?),
        state: c.payload()?,
    })
}
