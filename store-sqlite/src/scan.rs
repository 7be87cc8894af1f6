//! Lists of sessions and pending calls, along their indexes.

mod labels;

use holdover_store::ids::{Epoch, MessageSeq, SessionKey, Version};
use holdover_store::rows::{PendingPlace, Scanned, SessionPlace};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Labels, PendingCall, PendingQuery, RetentionRule, SessionQuery, SessionStatus, SessionSummary,
};
use rusqlite::types::Value;
use rusqlite::{Connection, Row, params_from_iter};

use crate::columns::Columns;
use crate::error::Fault;
use crate::read;
use crate::session::{self, COLUMNS};

macro_rules! list_sessions {
    () => {
        "SELECT sid, tenant, id, incarnation, status, version, epoch, queue, last_message, unread, alarm, created_at, \
         updated_at FROM session AS s"
    };
}
use list_sessions;

const DEAD: &str = "SELECT tenant, id FROM tombstone WHERE at < ? ORDER BY at LIMIT ?";

/// Lists sessions of a tenant, newest first.
pub(crate) fn sessions(
    conn: &Connection,
    query: &SessionQuery,
    after: Option<&SessionPlace>,
    limit: usize,
) -> Result<Scanned<SessionSummary, SessionPlace>, Fault> {
    if query.life.is_none() && !query.labels.0.is_empty() {
        return labels::sessions(conn, query, after, limit);
    }
    let mut sql = list_sessions!().to_owned();
    let mut values = vec![Value::from(query.tenant.as_str().to_owned())];
    match query.life {
        None => sql.push_str(" WHERE tenant = ?"),
        Some(life) => {
            sql.push_str(" INDEXED BY session_life WHERE tenant = ? AND incarnation = ?");
            values.push(Value::from(life.0.as_bytes().to_vec()));
        }
    }
    if !query.status.is_empty() {
        let names: Vec<&str> = query.status.iter().map(|_| "?").collect();
        sql.push_str(&format!(" AND status IN ({})", names.join(", ")));
        values.extend(query.status.iter().map(|status| Value::from(status.as_str().to_owned())));
    }
    if let Some(queue) = &query.queue {
        sql.push_str(" AND queue = ?");
        values.push(Value::from(queue.as_str().to_owned()));
    }
    // The bounds of the creation time also bound the walk along `session_newest`.
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
    // There is no LIMIT, because rows that cannot be read do not count.
    sql.push_str(" ORDER BY created_at DESC, id DESC");
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows: Vec<SessionSummary> = Vec::new();
    while rows.len() < limit {
        let Some(row) = found.next()? else { return Ok(Scanned { rows, next: None }) };
        rows.extend(readable(labelled(conn, row))?);
    }
    let next = rows.last().map(SessionPlace::listed);
    Ok(Scanned { rows, next })
}

/// Returns what was read for a list, or `None` if it cannot be read.
fn readable<T>(read: Result<T, Fault>) -> Result<Option<T>, Fault> {
    match read {
        Err(Fault::Corrupt(detail)) => {
            tracing::warn!(detail, "a list leaves out what cannot be read");
            Ok(None)
        }
        read => read.map(Some),
    }
}

fn labelled(conn: &Connection, row: &Row<'_>) -> Result<SessionSummary, Fault> {
    let (sid, mut summary) = summary(&mut Columns::of(row))?;
    summary.labels = labels::of(conn, sid, &summary)?;
    Ok(summary)
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

/// Lists open pending calls of a tenant, soonest deadline first.
pub(crate) fn pending(
    conn: &Connection,
    query: &PendingQuery,
    after: Option<&PendingPlace>,
    limit: usize,
    bytes: usize,
) -> Result<Scanned<PendingCall, PendingPlace>, Fault> {
    let mut sql =
        "SELECT tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless, \
         deadline, opened_at, digest, payload FROM pending"
            .to_owned();
    let mut values = vec![Value::from(query.tenant.as_str().to_owned())];
    match &query.kind {
        None => sql.push_str(" WHERE tenant = ?"),
        Some(kind) => {
            sql.push_str(" INDEXED BY pending_kind WHERE tenant = ? AND kind = ?");
            values.push(Value::from(kind.as_str().to_owned()));
        }
    }
    if let Some(session) = &query.session {
        sql.push_str(" AND session = ?");
        values.push(Value::from(session.as_str().to_owned()));
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
    // There is no LIMIT, because rows that cannot be read do not count.
    sql.push_str(" ORDER BY endless, deadline, session, id");
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let (mut rows, mut read) = (Vec::new(), 0);
    while rows.len() < limit && read < bytes {
        let Some(row) = found.next()? else { return Ok(Scanned { rows, next: None }) };
        if let Some(call) = readable(pending_call(&mut Columns::of(row)))? {
            read += call.body.len();
            rows.push(call);
        }
    }
    let next = rows.last().map(PendingPlace::of);
    Ok(Scanned { rows, next })
}

fn pending_call(c: &mut Columns<'_>) -> Result<PendingCall, Fault> {
    let key = SessionKey::new(c.id()?, c.id()?);
    read::pending(c, key, false)
}

/// Lists sessions that are at rest without an alarm, an unread item or an interrupt, longest unchanged first.
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
    // There is no LIMIT, because rows that cannot be read do not count. One more row shows whether there is another page.
    sql.push_str(" ORDER BY updated_at, tenant, id");
    let mut statement = conn.prepare(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows = Vec::new();
    while rows.len() <= limit {
        let Some(row) = found.next()? else { break };
        rows.extend(readable(session::decode(row))?.and_then(|slot| slot.row));
    }
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| more).map(SessionPlace::changed);
    Ok(Scanned { rows, next })
}

/// Returns at most `limit` keys with an incarnation that was deleted before `before`, earliest deletion first.
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

#[cfg(test)]
mod tests;
