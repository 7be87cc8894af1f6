//! The session row: all that a write decides on.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, SessionId, SessionKey, StateFormat, TenantId, Version,
};
use holdover_store::rules::{SessionRow, Stream, Unseen};
use holdover_store::{Lease, SessionStatus, StreamId};
use sqlx::SqliteConnection;
use sqlx::sqlite::SqliteRow;

use super::Sid;
use crate::columns::{Columns, int};
use crate::error::Fault;
use crate::hints::Change;
use crate::job::Tx;

macro_rules! row_columns {
    () => {
        "sid, tenant, id, incarnation, created_by, queue, created_at, status, version, epoch, format, \
         lease_worker, lease_ends, lease_granted_ms, last_claim, found, last_commit, run_open, attempts, \
         interrupt_handed_to, last_message, last_event, last_item, unread, inbox_seen, unseen_counted, \
         unseen_urgent, wake_on, stream_run, stream_number, stream_last, stream_open, updated_at, alarm, \
         interrupt"
    };
}

macro_rules! changing_columns {
    () => {
        "status = ?, version = ?, epoch = ?, format = ?, lease_worker = ?, lease_ends = ?, \
         lease_granted_ms = ?, last_claim = ?, found = ?, last_commit = ?, run_open = ?, attempts = ?, \
         interrupt_handed_to = ?, last_message = ?, last_event = ?, last_item = ?, unread = ?, \
         inbox_seen = ?, unseen_counted = ?, unseen_urgent = ?, wake_on = ?, stream_run = ?, \
         stream_number = ?, stream_last = ?, stream_open = ?, updated_at = ?"
    };
}

/// In a write transaction: the row as the last commit of any process left it. In a read transaction: at
/// that transaction's instant.
const FIND: &str = concat!("SELECT ", row_columns!(), " FROM session WHERE tenant = ? AND id = ?");
/// As [`FIND`].
const READ_BY_SID: &str = concat!("SELECT ", row_columns!(), " FROM session WHERE sid = ?");
/// As [`FIND`], without reading what could be corrupt.
const FIND_SID: &str = "SELECT sid FROM session WHERE tenant = ? AND id = ?";
/// As [`FIND_SID`], of one life alone if one is named.
const FIND_LIFE: &str =
    "SELECT sid FROM session WHERE tenant = ?1 AND id = ?2 AND (?3 IS NULL OR incarnation = ?3)";
/// In a write transaction, after [`FIND_SID`] found none there.
const INSERT: &str = "INSERT INTO session (tenant, id, incarnation, created_by, queue, created_at, \
     status, version, epoch, format, lease_worker, lease_ends, lease_granted_ms, last_claim, found, \
     last_commit, run_open, attempts, interrupt_handed_to, last_message, last_event, last_item, unread, \
     inbox_seen, unseen_counted, unseen_urgent, wake_on, stream_run, stream_number, stream_last, \
     stream_open, updated_at, alarm, interrupt) \
     VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
/// In the write transaction that read and decided on the row. Leaves the indexed columns, and so the
/// indexes, alone.
const UPDATE: &str = concat!("UPDATE session SET ", changing_columns!(), " WHERE sid = ?");
/// As [`UPDATE`], when the alarm or the interrupt moved.
const UPDATE_ALARM: &str =
    concat!("UPDATE session SET ", changing_columns!(), ", alarm = ?, interrupt = ? WHERE sid = ?");

/// With the update that ends their stream.
const DROP_DELTAS: &str = "DELETE FROM delta WHERE sid = ?";

/// The row of `key`, if there is such a session.
pub(crate) async fn find(
    conn: &mut SqliteConnection,
    key: &SessionKey,
) -> Result<Option<(Sid, SessionRow)>, Fault> {
    let row = sqlx::query(FIND).bind(key.tenant.as_str()).bind(key.id.as_str()).fetch_optional(conn).await?;
    row.as_ref().map(decode).transpose()
}

/// The row with this row id, as found by an index in the same transaction.
pub(crate) async fn read_by_sid(conn: &mut SqliteConnection, sid: Sid) -> Result<Option<SessionRow>, Fault> {
    let row = sqlx::query(READ_BY_SID).bind(sid.0).fetch_optional(conn).await?;
    Ok(row.as_ref().map(decode).transpose()?.map(|(_, row)| row))
}

/// Whether there is such a session, whatever its row holds.
pub(crate) async fn find_sid(conn: &mut SqliteConnection, key: &SessionKey) -> Result<Option<Sid>, Fault> {
    let row =
        sqlx::query(FIND_SID).bind(key.tenant.as_str()).bind(key.id.as_str()).fetch_optional(conn).await?;
    row.map(|row| Columns::of(&row).int().map(Sid)).transpose()
}

/// As [`find_sid`], if it is the life that is named.
pub(crate) async fn find_life(
    conn: &mut SqliteConnection,
    key: &SessionKey,
    named: Option<Incarnation>,
) -> Result<Option<Sid>, Fault> {
    let query = sqlx::query(FIND_LIFE)
        .bind(key.tenant.as_str())
        .bind(key.id.as_str())
        .bind(named.map(|named| named.0.as_bytes().to_vec()));
    query.fetch_optional(conn).await?.map(|row| Columns::of(&row).int().map(Sid)).transpose()
}

fn decode(row: &SqliteRow) -> Result<(Sid, SessionRow), Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let sid = Sid(c.int()?);
    let key = SessionKey::new(c.id::<TenantId>()?, c.id::<SessionId>()?);
    let (incarnation, created_by, queue, created_at) = (c.incarnation()?, c.id()?, c.id()?, c.at()?);
    let status = c.word(SessionStatus::from_wire)?;
    let (version, epoch, format) = (Version(c.count()?), Epoch(c.count()?), StateFormat(c.count()?));
    let lease = match (c.id_or_null()?, c.at_or_null()?, c.int_or_null()?) {
        (Some(worker), Some(ends), Some(ms)) => Some(Lease { worker, ends, granted_ms: ms.cast_unsigned() }),
        (None, None, None) => None,
        (_, _, _) => return Err(Fault::Corrupt("lease: its columns do not go together".into())),
    };
    let last_claim = c.id_or_null()?;
    let found = c.word(SessionStatus::from_wire)?;
    let last_commit = c.record_or_null()?;
    let (run_open, attempts) = (c.flag()?, c.count()?);
    let interrupt_handed_to = c.count_or_null()?.map(Epoch);
    let (last_message, last_event) = (MessageSeq(c.count()?), EventSeq(c.count()?));
    let (last_item, unread, inbox_seen) = (InboxSeq(c.count()?), c.count()?, InboxSeq(c.count()?));
    let unseen = Unseen { counted: c.count()?, urgent: c.flag()? };
    let wake_on = c.count()?;
    let stream = StreamId { run: Epoch(c.count()?), number: c.count()? };
    let stream = Stream { id: stream, last: c.count()?, open: c.flag()? };
    let updated_at = c.at()?;
    let (alarm, interrupt) = (c.at_or_null()?, c.record_or_null()?);
    let row = SessionRow {
        key,
        incarnation,
        created_by,
        status,
        version,
        epoch,
        queue,
        format,
        lease,
        last_claim,
        found,
        last_commit,
        run_open,
        alarm,
        attempts,
        interrupt,
        interrupt_handed_to,
        stream,
        last_message,
        last_event,
        last_item,
        unread,
        inbox_seen,
        unseen,
        wake_on,
        created_at,
        updated_at,
    };
    Ok((sid, row))
}

type Query<'q> = sqlx::query::Query<'q, sqlx::Sqlite, sqlx::sqlite::SqliteArguments>;

fn bind_changing<'q>(query: Query<'q>, row: &SessionRow) -> Result<Query<'q>, Fault> {
    let lease = row.lease.as_ref();
    Ok(query
        .bind(row.status.as_str())
        .bind(int(row.version.0))
        .bind(int(row.epoch.0))
        .bind(i64::from(row.format.0))
        .bind(lease.map(|lease| lease.worker.as_str().to_owned()))
        .bind(lease.map(|lease| lease.ends.as_ms()))
        // The longest lease there is has all bits set: kept bit by bit.
        .bind(lease.map(|lease| lease.granted_ms.cast_signed()))
        .bind(row.last_claim.as_ref().map(|run| run.as_str().to_owned()))
        .bind(row.found.as_str())
        .bind(json(&row.last_commit)?)
        .bind(row.run_open)
        .bind(i64::from(row.attempts))
        .bind(row.interrupt_handed_to.map(|epoch| int(epoch.0)))
        .bind(int(row.last_message.0))
        .bind(int(row.last_event.0))
        .bind(int(row.last_item.0))
        .bind(int(row.unread))
        .bind(int(row.inbox_seen.0))
        .bind(int(row.unseen.counted))
        .bind(row.unseen.urgent)
        .bind(i64::from(row.wake_on))
        .bind(int(row.stream.id.run.0))
        .bind(i64::from(row.stream.id.number))
        .bind(int(row.stream.last))
        .bind(row.stream.open)
        .bind(row.updated_at.as_ms()))
}

fn bind_alarm<'q>(query: Query<'q>, row: &SessionRow) -> Result<Query<'q>, Fault> {
    Ok(query.bind(row.alarm.map(|alarm| alarm.as_ms())).bind(json(&row.interrupt)?))
}

/// A small record of the contract's own as JSON.
fn json<T: serde::Serialize>(record: &Option<T>) -> Result<Option<String>, Fault> {
    let json = record.as_ref().map(serde_json::to_string).transpose();
    json.map_err(|error| Fault::Invalid(error.to_string()))
}

/// Writes the row of a new session.
pub(crate) async fn insert(tx: &mut Tx<'_>, row: &SessionRow) -> Result<Sid, Fault> {
    let query = sqlx::query(INSERT)
        .bind(row.key.tenant.as_str().to_owned())
        .bind(row.key.id.as_str().to_owned())
        .bind(row.incarnation.0.as_bytes().to_vec())
        .bind(row.created_by.as_str().to_owned())
        .bind(row.queue.as_str().to_owned())
        .bind(row.created_at.as_ms());
    let query = bind_alarm(bind_changing(query, row)?, row)?;
    tx.write(query).await?;
    changed(tx, None, row);
    match find_sid(tx.conn(), &row.key).await? {
        Some(sid) => Ok(sid),
        None => Err(Fault::Corrupt("session: the row that was just written is not there".into())),
    }
}

/// Writes a row back after a decision changed it; writes nothing if it did not. The deltas of a stream that
/// is over go with it.
pub(crate) async fn save(
    tx: &mut Tx<'_>,
    sid: Sid,
    before: &SessionRow,
    after: &SessionRow,
) -> Result<(), Fault> {
    if before == after {
        return Ok(());
    }
    let moved = before.alarm != after.alarm || before.interrupt != after.interrupt;
    let query = if moved {
        bind_alarm(bind_changing(sqlx::query(UPDATE_ALARM), after)?, after)?
    } else {
        bind_changing(sqlx::query(UPDATE), after)?
    };
    let rows = tx.write(query.bind(sid.0)).await?;
    if rows != 1 {
        return Err(Fault::Corrupt(format!("session: {rows} rows were updated instead of 1")));
    }
    if before.stream.open && !after.stream.open {
        tx.write(sqlx::query(DROP_DELTAS).bind(sid.0)).await?;
    }
    changed(tx, Some(before), after);
    Ok(())
}

fn changed(tx: &mut Tx<'_>, before: Option<&SessionRow>, after: &SessionRow) {
    let rings = after.alarm.is_some_and(|alarm| alarm <= tx.now());
    let moved = before.is_none_or(|before| before.alarm != after.alarm);
    tx.changes.push(Change { key: after.key.clone(), due: rings && moved });
}
