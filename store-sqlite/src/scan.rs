//! Walks along the indexes over sessions and pending calls.

use std::sync::Arc;

use holdover_store::ids::{Epoch, MessageSeq, QueueLabel, SessionKey, Version};
use holdover_store::rows::{DueQuery, Found, Kind, PendingPlace, Row, Scanned, SessionPlace, Want};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Labels, PendingCall, PendingQuery, Queues, RetentionRule, SessionQuery, SessionStatus, SessionSummary,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::columns::Columns;
use crate::error::Fault;
use crate::read;
use crate::session::{self, COLUMNS};

/// A loose scan of the index: one step per queue, however many sessions are in it.
const QUEUES_WITH_ALARMS: &str = "WITH RECURSIVE q (queue) AS ( \
     SELECT min(queue) FROM session WHERE alarm IS NOT NULL \
     UNION ALL \
     SELECT (SELECT min(queue) FROM session WHERE alarm IS NOT NULL AND queue > q.queue) \
     FROM q WHERE q.queue IS NOT NULL) \
     SELECT CAST(queue AS BLOB) FROM q WHERE queue IS NOT NULL";

macro_rules! due {
    ($where:literal, $index:literal) => {
        concat!(
            "SELECT sid, alarm, CAST(tenant AS BLOB), CAST(id AS BLOB) FROM session INDEXED BY ",
            $index,
            " WHERE ",
            $where,
            " AND alarm IS NOT NULL AND alarm <= ?2 AND status <> 'aborted' \
             AND (lease_ends IS NULL OR lease_ends <= ?2) AND (?3 IS NULL OR tenant = ?3) \
             ORDER BY alarm, tenant, id LIMIT ?4"
        )
    };
}

/// In one queue, with a format that the worker reads.
const DUE_IN_QUEUE: &str = due!("queue = CAST(?1 AS TEXT) AND format <= ?5", "session_due");
/// With an interrupt waiting, in whatever queue.
const DUE_INTERRUPTED: &str = due!("?1 IS NULL AND interrupt IS NOT NULL", "session_due_interrupted");

const LIST_SESSIONS: &str = "SELECT sid, tenant, id, incarnation, status, version, epoch, queue, last_message, \
     unread, alarm, created_at, updated_at FROM session AS s WHERE tenant = ?";
const DEAD: &str = "SELECT tenant, id FROM tombstone WHERE at < ? ORDER BY at LIMIT ?";

/// Names of a session, which may be no texts.
struct Due {
    sid: i64,
    alarm: i64,
    tenant: Vec<u8>,
    id: Vec<u8>,
}

/// The sessions that are due, each with what is wanted of it, at the instant of one read transaction.
pub(crate) fn due(
    conn: &Connection,
    query: &DueQuery,
    wants: &[Want],
    now: Timestamp,
) -> Result<Vec<Result<Found, Fault>>, Fault> {
    let mut found = Vec::new();
    // A record that cannot be read is passed over, so that it holds up nobody else.
    let mut broken = 0;
    let mut passed = 0;
    loop {
        let wanted = query.limit.saturating_add(broken);
        let due = rung(conn, query, now, wanted)?;
        let all = due.len() < wanted;
        for due in due.into_iter().skip(passed) {
            passed += 1;
            match one(conn, &due, query, wants, now) {
                Ok(Some(one)) => found.push(Ok(one)),
                Ok(None) => broken += 1,
                Err(Fault::Corrupt(detail)) => {
                    broken += 1;
                    let (tenant, id) =
                        (String::from_utf8_lossy(&due.tenant), String::from_utf8_lossy(&due.id));
                    found.push(Err(Fault::Corrupt(format!("session {tenant}/{id}: {detail}"))));
                }
                Err(fault) => return Err(fault),
            }
        }
        if all || found.iter().filter(|one| one.is_ok()).count() >= query.limit {
            return Ok(found);
        }
    }
}

fn one(
    conn: &Connection,
    due: &Due,
    query: &DueQuery,
    wants: &[Want],
    now: Timestamp,
) -> Result<Option<Found>, Fault> {
    let name = |bytes: &[u8]| {
        String::from_utf8(bytes.to_vec()).map_err(|_| Fault::Corrupt("a name is no text".to_owned()))
    };
    let corrupt = |why: holdover_store::ids::InvalidId| Fault::Corrupt(why.to_string());
    let (tenant, id) = (name(&due.tenant)?, name(&due.id)?);
    let key = SessionKey::new(tenant.try_into().map_err(corrupt)?, id.try_into().map_err(corrupt)?);
    let slot = session::find(conn, &key)?;
    let Some(row) = slot.as_ref().and_then(|slot| slot.row.as_ref()) else { return Ok(None) };
    if !row.is_due(&query.queues, query.newest_format, query.tenant.as_ref(), now) {
        return Ok(None);
    }
    let rows = read::wanted(conn, due.sid, &key, row.incarnation, wants)?;
    Ok(Some(Found { now, slot: slot.map(Arc::new), rows }))
}

/// What has rung, soonest first.
fn rung(conn: &Connection, query: &DueQuery, now: Timestamp, limit: usize) -> Result<Vec<Due>, Fault> {
    let mut due = in_queue(conn, query, now, limit, None)?;
    for queue in queues(conn, &query.queues)? {
        due.extend(in_queue(conn, query, now, limit, Some(queue))?);
    }
    due.sort_by(|a, b| (a.alarm, &a.tenant, &a.id).cmp(&(b.alarm, &b.tenant, &b.id)));
    due.dedup_by_key(|due| due.sid);
    due.truncate(limit);
    Ok(due)
}

/// The names of the queues that are served, which may be no texts.
fn queues(conn: &Connection, queues: &Queues) -> Result<Vec<Vec<u8>>, Fault> {
    match queues {
        Queues::Named(these) => {
            let mut these: Vec<&QueueLabel> = these.iter().collect();
            these.sort();
            these.dedup();
            Ok(these.into_iter().map(|queue| queue.as_str().as_bytes().to_vec()).collect())
        }
        Queues::All => {
            let mut all = conn.prepare_cached(QUEUES_WITH_ALARMS)?;
            let names = all.query_map([], |row| row.get(0))?;
            Ok(names.collect::<Result<_, _>>()?)
        }
    }
}

fn in_queue(
    conn: &Connection,
    query: &DueQuery,
    now: Timestamp,
    limit: usize,
    queue: Option<Vec<u8>>,
) -> Result<Vec<Due>, Fault> {
    let sql = if queue.is_some() { DUE_IN_QUEUE } else { DUE_INTERRUPTED };
    let mut values = vec![
        queue.clone().map_or(Value::Null, Value::from),
        Value::from(now.as_ms()),
        query.tenant.as_ref().map_or(Value::Null, |tenant| Value::from(tenant.as_str().to_owned())),
        Value::from(i64::try_from(limit).unwrap_or(i64::MAX)),
    ];
    if queue.is_some() {
        values.push(Value::from(i64::from(query.newest_format.0)));
    }
    let mut due = conn.prepare_cached(sql)?;
    let found = due.query_map(params_from_iter(values), |row| {
        Ok(Due { sid: row.get(0)?, alarm: row.get(1)?, tenant: row.get(2)?, id: row.get(3)? })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Sessions of a tenant, newest first.
pub(crate) fn sessions(
    conn: &Connection,
    query: &SessionQuery,
    after: Option<&SessionPlace>,
    limit: usize,
) -> Result<Scanned<SessionSummary, SessionPlace>, Fault> {
    let mut sql = LIST_SESSIONS.to_owned();
    let mut values = vec![Value::from(query.tenant.as_str().to_owned())];
    if !query.status.is_empty() {
        let names: Vec<&str> = query.status.iter().map(|_| "?").collect();
        sql.push_str(&format!(" AND status IN ({})", names.join(", ")));
        values.extend(query.status.iter().map(|status| Value::from(status.as_str().to_owned())));
    }
    if let Some(queue) = &query.queue {
        sql.push_str(" AND queue = ?");
        values.push(Value::from(queue.as_str().to_owned()));
    }
    // What bounds the creation bounds the walk along `session_newest`.
    let times = [
        (" AND created_at >= ?", query.created.since),
        (" AND created_at < ?", query.created.before),
        (" AND updated_at >= ?", query.changed.since),
        (" AND updated_at < ?", query.changed.before),
    ];
    for (condition, bound) in times {
        if let Some(bound) = bound {
            sql.push_str(condition);
            values.push(Value::from(bound.as_ms()));
        }
    }
    for (name, value) in &query.labels.0 {
        sql.push_str(" AND EXISTS (SELECT 1 FROM label WHERE label.sid = s.sid AND name = ? AND value = ?)");
        values.extend([Value::from(name.clone()), Value::from(value.clone())]);
    }
    if let Some(place) = after {
        sql.push_str(" AND (created_at, id) < (?, ?)");
        values.extend([Value::from(place.at.as_ms()), Value::from(place.key.id.as_str().to_owned())]);
    }
    sql.push_str(" ORDER BY created_at DESC, id DESC LIMIT ?");
    values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX)));
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows: Vec<SessionSummary> = Vec::new();
    while let Some(row) = found.next()? {
        let (sid, mut summary) = summary(&mut Columns::of(row))?;
        let labels = read::wanted(conn, sid, &summary.key, summary.incarnation, &[Want::all(Kind::Labels)])?;
        if let Some(Row::Labels(labels)) = labels.into_iter().flatten().next() {
            summary.labels = labels;
        }
        rows.push(summary);
    }
    let last = rows.last().filter(|_| rows.len() == limit);
    let next = last.map(SessionPlace::listed);
    Ok(Scanned { rows, next })
}

fn summary(c: &mut Columns<'_>) -> Result<(i64, SessionSummary), Fault> {
    let sid = c.int()?;
    let summary = SessionSummary {
        key: SessionKey::new(c.id()?, c.id()?),
        incarnation: c.incarnation()?,
        status: c.word(SessionStatus::from_wire)?,
        version: Version(c.count()?),
        epoch: Epoch(c.count()?),
        queue: c.id()?,
        labels: Labels::default(),
        last_message: MessageSeq(c.count()?),
        unread: c.count()?,
        alarm: c.at_or_null()?,
        created_at: c.at()?,
        updated_at: c.at()?,
    };
    Ok((sid, summary))
}

/// Open pending calls of a tenant, soonest deadline first.
pub(crate) fn pending(
    conn: &Connection,
    query: &PendingQuery,
    after: Option<&PendingPlace>,
    limit: usize,
    bytes: usize,
) -> Result<Scanned<PendingCall, PendingPlace>, Fault> {
    let mut sql =
        "SELECT tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless, \
         deadline, opened_at, digest, payload FROM pending WHERE tenant = ?"
            .to_owned();
    let mut values = vec![Value::from(query.tenant.as_str().to_owned())];
    if let Some(session) = &query.session {
        sql.push_str(" AND session = ?");
        values.push(Value::from(session.as_str().to_owned()));
    }
    if let Some(kind) = &query.kind {
        sql.push_str(" AND kind = ?");
        values.push(Value::from(kind.as_str().to_owned()));
    }
    if let Some(place) = after {
        sql.push_str(" AND (endless, deadline, session, id) > (?, ?, ?, ?)");
        values.extend([
            Value::from(place.endless),
            Value::from(place.deadline.as_ms()),
            Value::from(place.session.as_str().to_owned()),
            Value::from(place.id.as_str().to_owned()),
        ]);
    }
    // Without a limit: which rows count is known once they are read.
    sql.push_str(" ORDER BY endless, deadline, session, id");
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let (mut rows, mut read) = (Vec::new(), 0);
    while rows.len() < limit && read < bytes {
        let Some(row) = found.next()? else { return Ok(Scanned { rows, next: None }) };
        match pending_call(&mut Columns::of(row)) {
            Ok(call) => {
                read += call.body.len();
                rows.push(call);
            }
            Err(Fault::Corrupt(detail)) => tracing::warn!(detail, "a list leaves out what cannot be read"),
            Err(fault) => return Err(fault),
        }
    }
    let next = rows.last().map(PendingPlace::of);
    Ok(Scanned { rows, next })
}

fn pending_call(c: &mut Columns<'_>) -> Result<PendingCall, Fault> {
    let key = SessionKey::new(c.id()?, c.id()?);
    read::pending(c, key, false)
}

/// Sessions that rest and in which nothing waits, longest unchanged first.
pub(crate) fn resting(
    conn: &Connection,
    rule: &RetentionRule,
    after: Option<&SessionPlace>,
    limit: usize,
) -> Result<Scanned<SessionRow, SessionPlace>, Fault> {
    let mut sql = format!(
        "SELECT {COLUMNS} FROM session INDEXED BY session_resting WHERE alarm IS NULL \
         AND status IN ('idle', 'interrupted', 'failed', 'aborted') AND unread = 0 AND interrupt IS NULL \
         AND updated_at < ?"
    );
    let mut values = vec![Value::from(rule.unchanged_since.as_ms())];
    if !rule.status.is_empty() {
        let names: Vec<&str> = rule.status.iter().map(|_| "?").collect();
        sql.push_str(&format!(" AND status IN ({})", names.join(", ")));
        values.extend(rule.status.iter().map(|status| Value::from(status.as_str().to_owned())));
    }
    if let Some(tenant) = &rule.tenant {
        sql.push_str(" AND tenant = ?");
        values.push(Value::from(tenant.as_str().to_owned()));
    }
    if let Some(place) = after {
        sql.push_str(" AND (updated_at, tenant, id) > (?, ?, ?)");
        values.extend([
            Value::from(place.at.as_ms()),
            Value::from(place.key.tenant.as_str().to_owned()),
            Value::from(place.key.id.as_str().to_owned()),
        ]);
    }
    sql.push_str(" ORDER BY updated_at, tenant, id LIMIT ?");
    values.push(Value::from(i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)));
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while let Some(row) = found.next()? {
        rows.extend(session::decode(row)?.row);
    }
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(SessionPlace::changed);
    Ok(Scanned { rows, next })
}

/// Keys with a life that ended before `before`.
pub(crate) fn dead(conn: &Connection, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, Fault> {
    let mut statement = conn.prepare_cached(DEAD)?;
    let mut found = statement.query((before.as_ms(), i64::try_from(limit).unwrap_or(i64::MAX)))?;
    let mut keys: Vec<SessionKey> = Vec::new();
    while let Some(row) = found.next()? {
        let mut c = Columns::of(row);
        let key = SessionKey::new(c.id()?, c.id()?);
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    Ok(keys)
}
