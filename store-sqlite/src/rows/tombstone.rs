//! What is left of sessions that were deleted.

use holdover_store::TOMBSTONE_STANDS;
use holdover_store::ids::{Incarnation, OperationId, SessionKey};
use holdover_store::time::Timestamp;
use sqlx::SqliteConnection;

use super::Sid;
use crate::columns::int;
use crate::error::Fault;
use crate::job::Tx;

/// In the write transaction that removes the session's rows, before it does. Copies what may be unreadable.
const SET: &str = "INSERT INTO tombstone (tenant, id, incarnation, operation, at) \
     SELECT tenant, id, incarnation, created_by, ?2 FROM session WHERE sid = ?1";
/// In the write transaction that would create the session.
const NAMES: &str = "SELECT 1 FROM tombstone \
     WHERE tenant = ? AND id = ? AND (incarnation = ? OR operation = ?) LIMIT 1";
/// Looks at the oldest alone: whether they are old enough does not depend on those after them.
const CLEAR: &str = "DELETE FROM tombstone WHERE at < ?2 AND tid IN \
     (SELECT tid FROM tombstone ORDER BY tid LIMIT ?1)";

/// How many old ones each new one clears away. More than one, so that they never pile up.
const CLEARED_BY_EACH: u64 = 2;

/// Sets the tombstone of a session that is about to be removed, and clears away old ones.
pub(crate) async fn set_tombstone(tx: &mut Tx<'_>, sid: Sid) -> Result<(), Fault> {
    clear_tombstones(tx, CLEARED_BY_EACH).await?;
    let now = tx.now();
    tx.write(sqlx::query(SET).bind(sid.0).bind(now.as_ms())).await?;
    Ok(())
}

/// Clears away those of the oldest `most` that have stood long enough.
pub(crate) async fn clear_tombstones(tx: &mut Tx<'_>, most: u64) -> Result<(), Fault> {
    let stands = i64::try_from(TOMBSTONE_STANDS.as_millis()).unwrap_or(i64::MAX);
    let old = Timestamp::from_ms(tx.now().as_ms().saturating_sub(stands));
    tx.write(sqlx::query(CLEAR).bind(int(most)).bind(old.as_ms())).await?;
    Ok(())
}

/// Whether a tombstone of `key` names the incarnation or the operation.
pub(crate) async fn tombstone_names(
    conn: &mut SqliteConnection,
    key: &SessionKey,
    incarnation: Incarnation,
    operation: &OperationId,
) -> Result<bool, Fault> {
    let query = sqlx::query(NAMES)
        .bind(key.tenant.as_str())
        .bind(key.id.as_str())
        .bind(incarnation.0.as_bytes().as_slice())
        .bind(operation.as_str());
    Ok(query.fetch_optional(conn).await?.is_some())
}
