//! Reads and writes the row of a session as columns.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, MessageSeq, SessionId, SessionKey, StateFormat, TenantId, Version,
};
use holdover_store::rows::{Slot, Token};
use holdover_store::rules::{SessionRow, Stream, Unseen};
use holdover_store::{Lease, SessionStatus, StreamId, Tombstone};
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params_from_iter};

use crate::columns::{Columns, int};
use crate::error::Fault;

/// The columns that every write replaces, and as many placeholders. Of the indexes, only `session_resting` uses any
/// of these columns, and it holds only sessions at rest.
macro_rules! replaced {
    () => {
        "token, status, version, epoch, lease_worker, lease_ends, lease_granted_ms, last_claim, found, \
         last_commit, run_open, attempts, interrupt_handed_to, last_message, last_event, last_item, unread, \
         inbox_seen, unseen_counted, unseen_urgent, wake_on, stream_run, stream_number, stream_last, \
         stream_open, updated_at"
    };
    (?) => {
        "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"
    };
}

/// The columns that decide when and for whom a session is due, and `last_interrupt`, which changes only together with
/// `interrupt`.
macro_rules! due {
    () => {
        "alarm, format, interrupt, last_interrupt"
    };
}

/// The columns that do not change while the session exists.
macro_rules! fixed {
    () => {
        "tenant, id, incarnation, operation, queue, created_at"
    };
}

/// The columns of a session row that [`decode`] reads, in this order.
pub(crate) const COLUMNS: &str = concat!("sid, ", fixed!(), ", ", replaced!(), ", ", due!());

const FIND: &str = concat!(
    "SELECT sid, ",
    fixed!(),
    ", ",
    replaced!(),
    ", ",
    due!(),
    " FROM session WHERE tenant = ? AND id = ?"
);
const READ_LIVES: &str =
    "SELECT token, incarnation, operation, at FROM tombstone WHERE tenant = ? AND id = ? ORDER BY tid";
/// Sets the columns of `replaced!` if the row's token is the expected one. Of the indexes, only `session_resting` uses
/// any of these columns.
const UPDATE: &str =
    concat!("UPDATE session SET (", replaced!(), ") = (", replaced!(?), ") WHERE sid = ? AND token = ?");
/// Runs after [`UPDATE`] if one of these columns changed.
const UPDATE_DUE: &str = concat!("UPDATE session SET (", due!(), ") = (?,?,?,?) WHERE sid = ?");
/// Inserts a row under a row id that no [removed](crate::remains) session with remaining rows has.
const INSERT: &str = concat!(
    "INSERT INTO session (sid, ",
    fixed!(),
    ", ",
    replaced!(),
    ", ",
    due!(),
    ") VALUES ((SELECT max(sid) + 1 FROM holdover_removed \
     WHERE sid > coalesce((SELECT max(sid) FROM session), 0)), ?,?,?,?,?,?, ",
    replaced!(?),
    ", ?,?,?,?)"
);

/// Returns the slot under `key`.
pub(crate) fn find(conn: &Connection, key: &SessionKey) -> Result<Option<Slot>, Fault> {
    let names = (key.tenant.as_str(), key.id.as_str());
    let mut slot =
        conn.prepare_cached(FIND)?.query_row(names, |row| Ok(decode(row))).optional()?.transpose()?;
    let mut lives = conn.prepare_cached(READ_LIVES)?;
    let mut rows = lives.query(names)?;
    while let Some(row) = rows.next()? {
        let mut c = Columns::of(row);
        let token = Token(c.int()?.cast_unsigned());
        let life =
            Tombstone { key: key.clone(), incarnation: c.incarnation()?, operation: c.id()?, at: c.at()? };
        let slot = slot.get_or_insert_with(|| Slot { token, place: 0, row: None, lives: Vec::new() });
        if slot.row.is_none() {
            slot.token = token;
        }
        slot.lives.push(life);
    }
    Ok(slot)
}

/// Decodes the slot of a row that was read as [`COLUMNS`], without earlier incarnations.
pub(crate) fn decode(row: &Row<'_>) -> Result<Slot, Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let place = c.count()?;
    let key = SessionKey::new(c.id::<TenantId>()?, c.id::<SessionId>()?);
    let (incarnation, created_by, queue, created_at) = (c.incarnation()?, c.id()?, c.id()?, c.at()?);
    let token = Token(c.int()?.cast_unsigned());
    let row = SessionRow {
        key,
        incarnation,
        created_by,
        queue,
        created_at,
        status: c.word(SessionStatus::from_wire)?,
        version: Version(c.count()?),
        epoch: Epoch(c.count()?),
        lease: lease(c)?,
        last_claim: c.id_or_null()?,
        found: c.word(SessionStatus::from_wire)?,
        last_commit: c.record_or_null()?,
        run_open: c.flag()?,
        attempts: c.count()?,
        interrupt_handed_to: c.count_or_null()?.map(Epoch),
        last_message: MessageSeq(c.count()?),
        last_event: EventSeq(c.count()?),
        last_item: InboxSeq(c.count()?),
        unread: c.count()?,
        inbox_seen: InboxSeq(c.count()?),
        unseen: Unseen { counted: c.count()?, urgent: c.flag()? },
        wake_on: c.count()?,
        stream: Stream {
            id: StreamId { run: Epoch(c.count()?), number: c.count()? },
            last: c.count()?,
            open: c.flag()?,
        },
        updated_at: c.at()?,
        alarm: c.at_or_null()?,
        format: StateFormat(c.count()?),
        interrupt: c.record_or_null()?,
        last_interrupt: c.id_or_null()?,
    };
    Ok(Slot { token, place, row: Some(row), lives: Vec::new() })
}

fn lease(c: &mut Columns<'_>) -> Result<Option<Lease>, Fault> {
    match (c.id_or_null()?, c.at_or_null()?, c.int_or_null()?) {
        (Some(worker), Some(ends), Some(ms)) => {
            Ok(Some(Lease { worker, ends, granted_ms: ms.cast_unsigned() }))
        }
        (None, None, None) => Ok(None),
        (_, _, _) => Err(Fault::Corrupt("lease: its columns do not go together".into())),
    }
}

/// Writes the row if its token is `expected`. Returns true if it was written.
pub(crate) fn update(
    conn: &Connection,
    sid: i64,
    expected: Token,
    token: Token,
    before: &SessionRow,
    row: &SessionRow,
) -> Result<bool, Fault> {
    let which: [&dyn ToSql; 2] = [&sid, &expected.0.cast_signed()];
    let mut update = conn.prepare_cached(UPDATE)?;
    let changed = with_replaced(token, row, |replaced| {
        Ok(update.execute(params_from_iter(replaced.iter().chain(&which)))?)
    })?;
    if changed == 0 {
        return Ok(false);
    }
    let due = |row: &SessionRow| (row.alarm, row.format);
    if due(before) != due(row) || before.interrupt != row.interrupt {
        let mut update = conn.prepare_cached(UPDATE_DUE)?;
        with_due(row, |due| Ok(update.execute(params_from_iter(due.iter().chain(&which[..1])))?))?;
    }
    Ok(true)
}

/// Writes the row of a new incarnation. Returns its row id.
pub(crate) fn insert(conn: &Connection, token: Token, row: &SessionRow) -> Result<i64, Fault> {
    let fixed: [&dyn ToSql; 6] = [
        &row.key.tenant.as_str(),
        &row.key.id.as_str(),
        &row.incarnation.0.as_bytes().as_slice(),
        &row.created_by.as_str(),
        &row.queue.as_str(),
        &row.created_at.as_ms(),
    ];
    let mut insert = conn.prepare_cached(INSERT)?;
    with_replaced(token, row, |replaced| {
        with_due(row, |due| Ok(insert.execute(params_from_iter(fixed.iter().chain(replaced).chain(due)))?))
    })?;
    Ok(conn.last_insert_rowid())
}

/// Calls `done` with the values of the columns that every write replaces.
fn with_replaced<T>(
    token: Token,
    row: &SessionRow,
    done: impl FnOnce(&[&dyn ToSql; 26]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    let lease = row.lease.as_ref();
    done(&[
        &token.0.cast_signed(),
        &row.status.as_str(),
        &int(row.version.0),
        &int(row.epoch.0),
        &lease.map(|lease| lease.worker.as_str()),
        &lease.map(|lease| lease.ends.as_ms()),
        // Stored bit by bit, so that every `u64` can be stored.
        &lease.map(|lease| lease.granted_ms.cast_signed()),
        &row.last_claim.as_ref().map(|run| run.as_str()),
        &row.found.as_str(),
        &json(row.last_commit.as_ref())?,
        &row.run_open,
        &row.attempts,
        &row.interrupt_handed_to.map(|epoch| int(epoch.0)),
        &int(row.last_message.0),
        &int(row.last_event.0),
        &int(row.last_item.0),
        &int(row.unread),
        &int(row.inbox_seen.0),
        &int(row.unseen.counted),
        &row.unseen.urgent,
        &row.wake_on,
        &int(row.stream.id.run.0),
        &row.stream.id.number,
        &int(row.stream.last),
        &row.stream.open,
        &row.updated_at.as_ms(),
    ])
}

/// Calls `done` with the values of the columns of `due!`.
fn with_due<T>(
    row: &SessionRow,
    done: impl FnOnce(&[&dyn ToSql; 4]) -> Result<T, Fault>,
) -> Result<T, Fault> {
    done(&[
        &row.alarm.map(|at| at.as_ms()),
        &row.format.0,
        &json(row.interrupt.as_ref())?,
        &row.last_interrupt.as_ref().map(|id| id.as_str()),
    ])
}

/// Converts a small record of the contract to JSON.
fn json<T: serde::Serialize>(record: Option<&T>) -> Result<Option<String>, Fault> {
    let json = record.map(serde_json::to_string).transpose();
    json.map_err(|error| Fault::Invalid(error.to_string()))
}
