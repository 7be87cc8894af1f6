//! The session row as columns.

use holdover_store::ids::{
    Epoch, EventSeq, InboxSeq, MessageSeq, SessionId, SessionKey, StateFormat, TenantId, Version,
};
use holdover_store::rows::{Slot, Token};
use holdover_store::rules::{SessionRow, Stream, Unseen};
use holdover_store::{Lease, SessionStatus, StreamId, Tombstone};
use rusqlite::{Connection, OptionalExtension, Row, named_params};

use crate::columns::{Columns, int};
use crate::error::Fault;

macro_rules! columns {
    () => {
        "sid, token, tenant, id, incarnation, operation, queue, created_at, status, version, epoch, format, \
         lease_worker, lease_ends, lease_granted_ms, last_claim, found, last_commit, run_open, attempts, \
         interrupt_handed_to, last_message, last_event, last_item, unread, inbox_seen, unseen_counted, \
         unseen_urgent, wake_on, stream_run, stream_number, stream_last, stream_open, updated_at, alarm, \
         interrupt, last_interrupt"
    };
}

/// What [`decode`] reads of a session row, in this order.
pub(crate) const COLUMNS: &str = columns!();

const FIND: &str = concat!("SELECT ", columns!(), " FROM session WHERE tenant = ? AND id = ?");
const READ_LIVES: &str =
    "SELECT token, incarnation, operation, at FROM tombstone WHERE tenant = ? AND id = ? ORDER BY tid";
/// Compares the token in the write that replaces it. Leaves the indexed columns, and so the indexes, alone.
const UPDATE: &str = "UPDATE session SET token = :token, status = :status, version = :version, epoch = :epoch, \
     lease_worker = :lease_worker, lease_ends = :lease_ends, \
     lease_granted_ms = :lease_granted_ms, last_claim = :last_claim, found = :found, \
     last_commit = :last_commit, run_open = :run_open, attempts = :attempts, \
     interrupt_handed_to = :interrupt_handed_to, last_message = :last_message, last_event = :last_event, \
     last_item = :last_item, unread = :unread, inbox_seen = :inbox_seen, unseen_counted = :unseen_counted, \
     unseen_urgent = :unseen_urgent, wake_on = :wake_on, stream_run = :stream_run, \
     stream_number = :stream_number, stream_last = :stream_last, stream_open = :stream_open, \
     updated_at = :updated_at WHERE sid = :sid AND token = :expected";
/// After [`UPDATE`], when one of these moved.
const UPDATE_DUE: &str = "UPDATE session SET alarm = ?, interrupt = ?, last_interrupt = ?, format = ? \
     WHERE sid = ?";
/// Under no number by which rows of a [removed](crate::remains) session may still be found.
const INSERT: &str = "INSERT INTO session (sid, token, tenant, id, incarnation, operation, queue, created_at, \
     status, version, epoch, format, lease_worker, lease_ends, lease_granted_ms, last_claim, found, \
     last_commit, run_open, attempts, interrupt_handed_to, last_message, last_event, last_item, unread, \
     inbox_seen, unseen_counted, unseen_urgent, wake_on, stream_run, stream_number, stream_last, stream_open, \
     updated_at, alarm, interrupt, last_interrupt) VALUES ( \
     (SELECT max(sid) + 1 FROM holdover_removed WHERE sid > coalesce((SELECT max(sid) FROM session), 0)), \
     :token, :tenant, :id, :incarnation, :operation, :queue, \
     :created_at, :status, :version, :epoch, :format, :lease_worker, :lease_ends, :lease_granted_ms, \
     :last_claim, :found, :last_commit, :run_open, :attempts, :interrupt_handed_to, :last_message, \
     :last_event, :last_item, :unread, :inbox_seen, :unseen_counted, :unseen_urgent, :wake_on, :stream_run, \
     :stream_number, :stream_last, :stream_open, :updated_at, :alarm, :interrupt, :last_interrupt)";

/// What stands under `key`.
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

/// The slot of a row that was read as [`COLUMNS`], without earlier lives.
pub(crate) fn decode(row: &Row<'_>) -> Result<Slot, Fault> {
    let mut columns = Columns::of(row);
    let c = &mut columns;
    let (place, token) = (c.count()?, Token(c.int()?.cast_unsigned()));
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
    let (alarm, interrupt, last_interrupt) = (c.at_or_null()?, c.record_or_null()?, c.id_or_null()?);
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
        last_interrupt,
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
    Ok(Slot { token, place, row: Some(row), lives: Vec::new() })
}

/// Writes the row if its token is `expected`. Answers whether it was.
pub(crate) fn update(
    conn: &Connection,
    sid: i64,
    expected: Token,
    token: Token,
    before: &SessionRow,
    row: &SessionRow,
) -> Result<bool, Fault> {
    let lease = row.lease.as_ref();
    let changed = conn.prepare_cached(UPDATE)?.execute(named_params! {
        ":sid": sid,
        ":expected": expected.0.cast_signed(),
        ":token": token.0.cast_signed(),
        ":status": row.status.as_str(),
        ":version": int(row.version.0),
        ":epoch": int(row.epoch.0),
        ":lease_worker": lease.map(|lease| lease.worker.as_str()),
        ":lease_ends": lease.map(|lease| lease.ends.as_ms()),
        // The longest lease there is has all bits set: kept bit by bit.
        ":lease_granted_ms": lease.map(|lease| lease.granted_ms.cast_signed()),
        ":last_claim": row.last_claim.as_ref().map(|run| run.as_str()),
        ":found": row.found.as_str(),
        ":last_commit": json(row.last_commit.as_ref())?,
        ":run_open": row.run_open,
        ":attempts": row.attempts,
        ":interrupt_handed_to": row.interrupt_handed_to.map(|epoch| int(epoch.0)),
        ":last_message": int(row.last_message.0),
        ":last_event": int(row.last_event.0),
        ":last_item": int(row.last_item.0),
        ":unread": int(row.unread),
        ":inbox_seen": int(row.inbox_seen.0),
        ":unseen_counted": int(row.unseen.counted),
        ":unseen_urgent": row.unseen.urgent,
        ":wake_on": row.wake_on,
        ":stream_run": int(row.stream.id.run.0),
        ":stream_number": row.stream.id.number,
        ":stream_last": int(row.stream.last),
        ":stream_open": row.stream.open,
        ":updated_at": row.updated_at.as_ms(),
    })?;
    if changed == 0 {
        return Ok(false);
    }
    let due = |row: &SessionRow| (row.alarm, row.format);
    if due(before) != due(row) || before.interrupt != row.interrupt {
        let (alarm, interrupt) = (row.alarm.map(|at| at.as_ms()), json(row.interrupt.as_ref())?);
        let last = row.last_interrupt.as_ref().map(|id| id.as_str());
        conn.prepare_cached(UPDATE_DUE)?.execute((alarm, interrupt, last, row.format.0, sid))?;
    }
    Ok(true)
}

/// Writes the row of a new life. Answers its row id.
pub(crate) fn insert(conn: &Connection, token: Token, row: &SessionRow) -> Result<i64, Fault> {
    let lease = row.lease.as_ref();
    conn.prepare_cached(INSERT)?.execute(named_params! {
        ":token": token.0.cast_signed(),
        ":tenant": row.key.tenant.as_str(),
        ":id": row.key.id.as_str(),
        ":incarnation": row.incarnation.0.as_bytes().as_slice(),
        ":operation": row.created_by.as_str(),
        ":queue": row.queue.as_str(),
        ":created_at": row.created_at.as_ms(),
        ":status": row.status.as_str(),
        ":version": int(row.version.0),
        ":epoch": int(row.epoch.0),
        ":format": row.format.0,
        ":lease_worker": lease.map(|lease| lease.worker.as_str()),
        ":lease_ends": lease.map(|lease| lease.ends.as_ms()),
        ":lease_granted_ms": lease.map(|lease| lease.granted_ms.cast_signed()),
        ":last_claim": row.last_claim.as_ref().map(|run| run.as_str()),
        ":found": row.found.as_str(),
        ":last_commit": json(row.last_commit.as_ref())?,
        ":run_open": row.run_open,
        ":attempts": row.attempts,
        ":interrupt_handed_to": row.interrupt_handed_to.map(|epoch| int(epoch.0)),
        ":last_message": int(row.last_message.0),
        ":last_event": int(row.last_event.0),
        ":last_item": int(row.last_item.0),
        ":unread": int(row.unread),
        ":inbox_seen": int(row.inbox_seen.0),
        ":unseen_counted": int(row.unseen.counted),
        ":unseen_urgent": row.unseen.urgent,
        ":wake_on": row.wake_on,
        ":stream_run": int(row.stream.id.run.0),
        ":stream_number": row.stream.id.number,
        ":stream_last": int(row.stream.last),
        ":stream_open": row.stream.open,
        ":updated_at": row.updated_at.as_ms(),
        ":alarm": row.alarm.map(|at| at.as_ms()),
        ":interrupt": json(row.interrupt.as_ref())?,
        ":last_interrupt": row.last_interrupt.as_ref().map(|id| id.as_str()),
    })?;
    Ok(conn.last_insert_rowid())
}

/// A small record of the contract's own as JSON.
fn json<T: serde::Serialize>(record: Option<&T>) -> Result<Option<String>, Fault> {
    let json = record.map(serde_json::to_string).transpose();
    json.map_err(|error| Fault::Invalid(error.to_string()))
}
