//! Applies one write of one session, in the transaction of a group or of a caller.

use holdover_store::ids::{Incarnation, PendingId, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::rows::{
    EventBatch, Kind, Op, Prefix, Row, RowKey, Slot, Verdict, Write, answer_columns, wake_name,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{OutcomeKind, PendingCall, RunRecord, StoredItem, Tombstone, Wake};
use rusqlite::{Connection, OptionalExtension, params};

use crate::columns::int;
use crate::error::Fault;
use crate::read::{self, From, source};
use crate::remains;
use crate::session;

// All of these run in a write transaction, so they see the newest commit of any process.
const TOKEN_OF: &str = "SELECT token FROM session WHERE sid = ?";
const IS_THERE: &str = "SELECT 1 FROM session WHERE tenant = ? AND id = ?";
const TOKEN_OF_DEAD: &str =
    "SELECT token FROM tombstone WHERE tenant = ? AND id = ? ORDER BY tid DESC LIMIT 1";
const IS_SOURCE: &str = "SELECT 1 FROM session AS s JOIN checkpoint AS c ON c.sid = s.sid AND c.id = ? \
     WHERE s.sid = ? AND s.tenant = ? AND s.id = ? AND s.incarnation = ?";

const PUT_LABEL: &str =
    "INSERT OR REPLACE INTO label (sid, name, value, tenant, created_at, id) VALUES (?,?,?,?,?,?)";
const PUT_DEFINITION: &str = "INSERT OR REPLACE INTO definition (sid, digest, payload) VALUES (?,?,?)";
const PUT_STATE: &str = "INSERT INTO state (sid, digest, payload) VALUES (?,?,?) \
     ON CONFLICT (sid) DO UPDATE SET digest = excluded.digest, payload = excluded.payload";
const PUT_MESSAGE: &str = "INSERT INTO message (sid, seq, at, digest, payload) VALUES (?,?,?,?,?)";
const PUT_EVENTS: &str = "INSERT INTO event (sid, seq, at, digest, payload, sizes) VALUES (?,?,?,?,?,?)";
const PUT_ITEM: &str = "INSERT INTO item (sid, seq, key, content, kind, wake, pending, settles, at, digest, \
     payload) VALUES (?,?,?,?,?,?,?,?,?,?,?)";
const PUT_STAGED: &str = "INSERT INTO staged (sid, call, digest, payload) VALUES (?,?,?,?) \
     ON CONFLICT (sid, call) DO UPDATE SET digest = excluded.digest, payload = excluded.payload";
const PUT_START: &str = "INSERT OR IGNORE INTO start_mark (sid, call) VALUES (?,?)";
const PUT_PENDING: &str = "INSERT INTO pending (sid, tenant, session, incarnation, id, call, kind, needed, \
     answered, last_answer, endless, deadline, opened_at, digest, payload) \
     VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) \
     ON CONFLICT (sid, id) DO UPDATE SET answered = excluded.answered, last_answer = excluded.last_answer";
const PUT_OPENED: &str = "INSERT INTO opened (sid, id) VALUES (?,?)";
const PUT_RUN: &str = "INSERT INTO run (sid, epoch, run, worker, found, parent, started_at, ended_at, outcome, \
     digest, detail) VALUES (?,?,?,?,?,?,?,?,?,?,?) \
     ON CONFLICT (sid, epoch) DO UPDATE SET ended_at = excluded.ended_at, outcome = excluded.outcome, \
     digest = excluded.digest, detail = excluded.detail";
const PUT_CHECKPOINT: &str = "INSERT INTO checkpoint (sid, id, epoch, last_message, last_event, at, format, \
     digest, payload) VALUES (?,?,?,?,?,?,?,?,?)";
const PUT_DELTA: &str = "INSERT OR REPLACE INTO delta (sid, place, digest, payload) VALUES (?,?,?,?)";
/// Clears the payload of a consumed item and the payload's digest. The item's key and the digest `content`, with which
/// repeats are recognised, stay.
const CONSUME: &str = "UPDATE item SET digest = NULL, payload = NULL WHERE sid = ? AND seq = ? \
     AND payload IS NOT NULL";
const DROP_LIVES: &str = "DELETE FROM tombstone WHERE tenant = ? AND id = ?";
const ADD_LIFE: &str =
    "INSERT INTO tombstone (tenant, id, incarnation, operation, at, token) VALUES (?,?,?,?,?,?)";
const COPY: [&str; 3] = [
    "INSERT INTO message (sid, seq, at, digest, payload) SELECT ?1, seq, at, digest, payload \
     FROM message WHERE sid = ?2 AND seq <= ?3 ORDER BY seq",
    "INSERT INTO event (sid, seq, at, digest, payload, sizes) SELECT ?1, seq, at, digest, payload, sizes \
     FROM event WHERE sid = ?2 AND seq <= ?3 ORDER BY seq",
    "INSERT INTO checkpoint (sid, id, epoch, last_message, last_event, at, format, digest, payload) \
     SELECT ?1, id, epoch, last_message, last_event, at, format, digest, payload \
     FROM checkpoint WHERE sid = ?2 AND id <= ?3 ORDER BY id",
];

/// Applies a write, or changes nothing. After an error the transaction must be rolled back.
pub(crate) fn apply(conn: &Connection, clock: &dyn Clock, write: &Write) -> Result<Verdict, Fault> {
    let before = write.before.as_deref();
    let conditional = write.ops.iter().any(|op| matches!(op, Op::Insert(_)));
    let updates = before.is_some_and(|slot| slot.row.is_some()) && write.row_after().is_some();
    // An update compares the token itself.
    if (!updates || conditional || write.copy.is_some()) && !stands(conn, write)? {
        return Ok(Verdict::Lost);
    }
    let now = clock.now();
    if now < write.from || now >= write.until {
        return Ok(Verdict::Lost);
    }
    if let Some(row) = taken(conn, write)? {
        return Ok(Verdict::Taken { now, row });
    }
    if let Some(prefix) = &write.copy
        && !is_source(conn, prefix)?
    {
        return Ok(Verdict::NoSource);
    }
    let Some(sid) = put_slot(conn, write)? else { return Ok(Verdict::Lost) };
    if let Some(prefix) = &write.copy {
        copy(conn, sid, prefix)?;
    }
    if let Some(row) = write.row_after() {
        write.ops.iter().try_for_each(|op| perform(conn, sid, row, op))?;
    }
    Ok(Verdict::Applied { now, place: sid.cast_unsigned() })
}

/// Returns true if the slot still has the token on which the write was decided.
fn stands(conn: &Connection, write: &Write) -> Result<bool, Fault> {
    let names = (write.key.tenant.as_str(), write.key.id.as_str());
    let is_there = || conn.prepare_cached(IS_THERE)?.exists(names);
    let dead = || conn.prepare_cached(TOKEN_OF_DEAD)?.query_row(names, |row| row.get::<_, i64>(0)).optional();
    let found = match write.before.as_deref() {
        Some(slot) if slot.row.is_some() => {
            let mut token = conn.prepare_cached(TOKEN_OF)?;
            token.query_row([slot.place.cast_signed()], |row| row.get::<_, i64>(0)).optional()?
        }
        Some(_) | None if is_there()? => return Ok(false),
        Some(_) | None => dead()?,
    };
    Ok(found.map(i64::cast_unsigned) == write.expect().map(|token| token.0))
}

/// Returns the first row to insert that already exists, if there is one.
fn taken(conn: &Connection, write: &Write) -> Result<Option<Row>, Fault> {
    let Some(slot) = write.before.as_deref().filter(|slot| slot.row.is_some()) else { return Ok(None) };
    for op in &write.ops {
        if let Op::Insert(row) = op
            && let Some(there) = read::one(conn, slot.place.cast_signed(), &write.key, &row.key())?
        {
            return Ok(Some(there));
        }
    }
    Ok(None)
}

/// Writes the slot that the write leaves under its key. Returns the row id of the session, or 0 if there is no
/// session after the write. Returns none if an update found another token.
fn put_slot(conn: &Connection, write: &Write) -> Result<Option<i64>, Fault> {
    let (before, after) = (write.before.as_deref(), write.after.as_deref());
    let sid = before.map_or(0, |slot| slot.place.cast_signed());
    let sid = match (write.row_before(), after.and_then(|slot| Some((slot.token, slot.row.as_ref()?)))) {
        (Some(row), Some((token, next))) => {
            let expected = write.expect().unwrap_or(token);
            if !session::update(conn, sid, expected, token, row, next)? {
                return Ok(None);
            }
            sid
        }
        (Some(_), None) => {
            delete(conn, sid)?;
            0
        }
        (None, Some((token, next))) => session::insert(conn, token, next)?,
        (None, None) => 0,
    };
    let lives = |slot: Option<&Slot>| slot.map(|slot| slot.lives.clone()).unwrap_or_default();
    if lives(before) != lives(after) {
        put_lives(conn, &write.key, after)?;
    }
    Ok(Some(sid))
}

fn put_lives(conn: &Connection, key: &SessionKey, slot: Option<&Slot>) -> Result<(), Fault> {
    conn.prepare_cached(DROP_LIVES)?.execute((key.tenant.as_str(), key.id.as_str()))?;
    let Some(slot) = slot else { return Ok(()) };
    for life in &slot.lives {
        let Tombstone { incarnation, operation, at, .. } = life;
        let incarnation = incarnation.0.as_bytes().as_slice();
        let (tenant, id, token) = (key.tenant.as_str(), key.id.as_str(), slot.token.0.cast_signed());
        let mut add = conn.prepare_cached(ADD_LIFE)?;
        add.execute((tenant, id, incarnation, operation.as_str(), at.as_ms(), token))?;
    }
    Ok(())
}

/// Removes a session: its row, labels, definition, state and pending calls, and as many of its other rows as one
/// transaction may remove.
pub(crate) fn delete(conn: &Connection, sid: i64) -> Result<(), Fault> {
    for kind in [Kind::Labels, Kind::Definition, Kind::State, Kind::Pending] {
        clear(conn, sid, kind)?;
    }
    conn.prepare_cached("DELETE FROM session WHERE sid = ?")?.execute([sid])?;
    remains::begin(conn, sid)
}

fn is_source(conn: &Connection, prefix: &Prefix) -> Result<bool, Fault> {
    let (tenant, id) = (prefix.from.tenant.as_str(), prefix.from.id.as_str());
    let (place, life) = (prefix.place.cast_signed(), prefix.life.0.as_bytes().as_slice());
    let source = (int(prefix.last_checkpoint), place, tenant, id, life);
    Ok(conn.prepare_cached(IS_SOURCE)?.exists(source)?)
}

fn copy(conn: &Connection, sid: i64, prefix: &Prefix) -> Result<(), Fault> {
    let last = [prefix.last_message.0, prefix.last_event.0, prefix.last_checkpoint];
    for (sql, last) in COPY.into_iter().zip(last) {
        conn.prepare_cached(sql)?.execute((sid, prefix.place.cast_signed(), int(last)))?;
    }
    Ok(())
}

fn perform(conn: &Connection, sid: i64, session: &SessionRow, op: &Op) -> Result<(), Fault> {
    match op {
        // A `Row::Key` is stored in its item's own row.
        Op::Put(row) | Op::Insert(row) => put(conn, sid, session, row),
        Op::Delete(key) => remove(conn, sid, key),
        Op::DeleteUpTo(kind, last) => match place_of(*kind) {
            Some((table, column)) => {
                let sql = format!("DELETE FROM {table} WHERE sid = ? AND {column} <= ?");
                conn.prepare_cached(&sql)?.execute((sid, int(*last)))?;
                Ok(())
            }
            None => Ok(()),
        },
        Op::Clear(kind) => clear(conn, sid, *kind),
    }
}

fn put(conn: &Connection, sid: i64, session: &SessionRow, row: &Row) -> Result<(), Fault> {
    match row {
        Row::Labels(labels) => {
            let mut put = conn.prepare_cached(PUT_LABEL)?;
            let (tenant, id) = (session.key.tenant.as_str(), session.key.id.as_str());
            for (name, value) in &labels.0 {
                put.execute((sid, name, value, tenant, session.created_at.as_ms(), id))?;
            }
        }
        Row::Definition(payload) => put_payload(conn, PUT_DEFINITION, sid, payload)?,
        Row::State(payload) => put_payload(conn, PUT_STATE, sid, payload)?,
        Row::Message(message) => {
            let (digest, bytes) = parts(&message.payload);
            let at = message.at.as_ms();
            conn.prepare_cached(PUT_MESSAGE)?.execute((sid, int(message.seq.0), at, digest, bytes))?;
        }
        Row::Events(batch) => put_events(conn, sid, batch)?,
        Row::Item { item, wake, content } => put_item(conn, sid, item, *wake, &content.0)?,
        Row::Key { .. } => {}
        Row::Staged(result) => {
            let (digest, bytes) = parts(&result.payload);
            conn.prepare_cached(PUT_STAGED)?.execute((sid, result.call.as_str(), digest, bytes))?;
        }
        Row::Start(call) => {
            conn.prepare_cached(PUT_START)?.execute((sid, call.as_str()))?;
        }
        Row::Pending { call, .. } => put_pending(conn, sid, call)?,
        Row::Opened(id) => {
            conn.prepare_cached(PUT_OPENED)?.execute((sid, id.as_str()))?;
        }
        Row::Run(run) => put_run(conn, sid, run)?,
        Row::Checkpoint(at) => {
            let (digest, bytes) = parts(&at.state);
            conn.prepare_cached(PUT_CHECKPOINT)?.execute(params![
                sid,
                int(at.id.0),
                int(at.epoch.0),
                int(at.last_message.0),
                int(at.last_event.0),
                at.at.as_ms(),
                at.format.0,
                digest,
                bytes,
            ])?;
        }
        Row::Delta(delta) => {
            let (digest, bytes) = parts(&delta.payload);
            conn.prepare_cached(PUT_DELTA)?.execute((sid, int(delta.place), digest, bytes))?;
        }
    }
    Ok(())
}

fn put_payload(conn: &Connection, sql: &str, sid: i64, payload: &Payload) -> Result<(), Fault> {
    let (digest, bytes) = parts(payload);
    conn.prepare_cached(sql)?.execute((sid, digest, bytes))?;
    Ok(())
}

/// Writes the events of one commit or fork as one row, which holds their bytes one after another.
fn put_events(conn: &Connection, sid: i64, batch: &EventBatch) -> Result<(), Fault> {
    let (whole, sizes) = batch.join();
    let sizes = sizes.map(|sizes| serde_json::to_string(&sizes)).transpose();
    let sizes = sizes.map_err(|error| Fault::Invalid(error.to_string()))?;
    let (digest, bytes) = parts(&whole);
    let (seq, at) = (int(batch.last.0), batch.at.as_ms());
    conn.prepare_cached(PUT_EVENTS)?.execute((sid, seq, at, digest, bytes, sizes))?;
    Ok(())
}

fn put_item(conn: &Connection, sid: i64, item: &StoredItem, wake: Wake, content: &[u8]) -> Result<(), Fault> {
    let (pending, settles) = answer_columns(&item.kind);
    let (digest, bytes) = parts(&item.payload);
    conn.prepare_cached(PUT_ITEM)?.execute(params![
        sid,
        int(item.seq.0),
        item.key.as_str(),
        content,
        item.kind.as_str(),
        wake_name(wake),
        pending.map(PendingId::as_str),
        settles,
        item.at.as_ms(),
        digest,
        bytes,
    ])?;
    Ok(())
}

fn put_pending(conn: &Connection, sid: i64, call: &PendingCall) -> Result<(), Fault> {
    let (digest, bytes) = parts(&call.body);
    conn.prepare_cached(PUT_PENDING)?.execute(params![
        sid,
        call.key.tenant.as_str(),
        call.key.id.as_str(),
        call.incarnation.0.as_bytes().as_slice(),
        call.id.as_str(),
        call.call.as_str(),
        call.kind.as_str(),
        call.needed,
        call.answered,
        int(call.last_answer.0),
        call.deadline.is_none(),
        call.deadline.unwrap_or_default().as_ms(),
        call.opened_at.as_ms(),
        digest,
        bytes,
    ])?;
    Ok(())
}

fn put_run(conn: &Connection, sid: i64, run: &RunRecord) -> Result<(), Fault> {
    let end = run.end.as_ref();
    let detail = end.and_then(|end| end.detail.as_ref());
    conn.prepare_cached(PUT_RUN)?.execute(params![
        sid,
        int(run.epoch.0),
        run.run.as_str(),
        run.worker.as_str(),
        run.found.as_str(),
        run.parent.map(|epoch| int(epoch.0)),
        run.started_at.as_ms(),
        end.map(|end| Timestamp::as_ms(end.at)),
        end.map(|end| OutcomeKind::as_str(end.outcome)),
        detail.map(|detail| detail.digest().0),
        detail.map(|detail| detail.bytes().as_ref()),
    ])?;
    Ok(())
}

fn remove(conn: &Connection, sid: i64, key: &RowKey) -> Result<(), Fault> {
    if key.kind == Kind::Item {
        conn.prepare_cached(CONSUME)?.execute((sid, int(key.as_number())))?;
        return Ok(());
    }
    let Some((table, column)) = place_of(key.kind) else { return clear(conn, sid, key.kind) };
    let sql = format!("DELETE FROM {table} WHERE sid = ? AND {column} = ?");
    let mut delete = conn.prepare_cached(&sql)?;
    match key.as_name() {
        "" => delete.execute((sid, int(key.as_number())))?,
        name => delete.execute((sid, name))?,
    };
    Ok(())
}

fn clear(conn: &Connection, sid: i64, kind: Kind) -> Result<(), Fault> {
    // Items are not cleared, because their rows also hold the keys. Only the removal of the session removes these.
    if !matches!(kind, Kind::Item | Kind::Key) {
        let table = source(kind).table;
        conn.prepare_cached(&format!("DELETE FROM {table} WHERE sid = ?"))?.execute([sid])?;
    }
    Ok(())
}

/// Returns the table and the place column of a kind, or none if its rows are not removed by place.
fn place_of(kind: Kind) -> Option<(&'static str, &'static str)> {
    let has_places = !matches!(kind, Kind::Labels | Kind::Definition | Kind::State | Kind::Item | Kind::Key);
    let From { table, place, .. } = source(kind);
    has_places.then_some((table, place))
}

fn parts(payload: &Payload) -> ([u8; 32], &[u8]) {
    (payload.digest().0, payload.bytes().as_ref())
}

/// Makes a tombstone of a session, in the write transaction that removes the session. The copied values may be
/// unreadable.
const BURY: &str = "INSERT INTO tombstone (tenant, id, incarnation, operation, at, token) \
     SELECT tenant, id, incarnation, operation, ?2, abs(random()) FROM session WHERE sid = ?1";
const FIND_LIFE: &str =
    "SELECT sid FROM session WHERE tenant = ?1 AND id = ?2 AND (?3 IS NULL OR incarnation = ?3)";

/// Removes a session, even if its row cannot be read. Returns `Lost` if there is no such session or if it has
/// another incarnation.
pub(crate) fn remove_unreadable(
    conn: &Connection,
    clock: &dyn Clock,
    key: &SessionKey,
    life: Option<Incarnation>,
) -> Result<Verdict, Fault> {
    let life = life.map(|life| life.0.as_bytes().to_vec());
    let names = (key.tenant.as_str(), key.id.as_str(), life);
    let sid = conn.prepare_cached(FIND_LIFE)?.query_row(names, |row| row.get::<_, i64>(0)).optional()?;
    let Some(sid) = sid else { return Ok(Verdict::Lost) };
    let now = clock.now();
    conn.prepare_cached(BURY)?.execute((sid, now.as_ms()))?;
    delete(conn, sid)?;
    Ok(Verdict::Applied { now, place: 0 })
}
