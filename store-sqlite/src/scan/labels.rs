//! Lists sessions by their labels, along the index `label_newest`.

use std::ops::Bound;

use holdover_store::ids::SessionKey;
use holdover_store::rows::{Kind, Row, Scanned, SessionPlace, Want, with_labels};
use holdover_store::{Labels, SessionQuery, SessionSummary};
use rusqlite::{Connection, OptionalExtension, Params};

use super::{list_sessions, readable, summary};
use crate::columns::Columns;
use crate::error::Fault;
use crate::read;

macro_rules! newest {
    () => {
        "SELECT created_at, id FROM label INDEXED BY label_newest WHERE tenant = ?1 AND name = ?2 AND value = ?3"
    };
}

/// Finds the newest session that has a label. [`AT_ONCE`] finds the next one that was created at the same instant,
/// and [`BEFORE`] the newest one that was created before that instant. Each statement has one bound: with a bound
/// over several columns, SQLite would step over every row before it.
const NEWEST: &str = concat!(newest!(), " ORDER BY created_at DESC, id DESC LIMIT 1");
const AT_ONCE: &str =
    concat!(newest!(), " AND created_at = ?4 AND id < ?5 ORDER BY created_at DESC, id DESC LIMIT 1");
const BEFORE: &str = concat!(newest!(), " AND created_at < ?4 ORDER BY created_at DESC, id DESC LIMIT 1");
const ONE: &str = concat!(list_sessions!(), " WHERE tenant = ? AND id = ?");

/// The most sessions that one page looks at. The next page continues after them.
const LOOKED_AT_MAX: usize = 10_000;

/// Lists sessions of a tenant that have all labels of the query, newest first.
pub(super) fn sessions(
    conn: &Connection,
    query: &SessionQuery,
    after: Option<&SessionPlace>,
    limit: usize,
) -> Result<Scanned<SessionSummary, SessionPlace>, Fault> {
    let seek = |name: &str, value: &str, from: Bound<&SessionPlace>| seek(conn, query, name, value, from);
    let mut rows = Vec::new();
    for (nth, place) in (1..).zip(with_labels(&query.labels, after, seek)) {
        let place = place?;
        rows.extend(readable(one(conn, query, &place.key))?.flatten());
        if rows.len() == limit || nth == LOOKED_AT_MAX {
            return Ok(Scanned { rows, next: Some(place) });
        }
    }
    Ok(Scanned { rows, next: None })
}

/// Returns the labels of a session.
pub(super) fn of(conn: &Connection, sid: i64, summary: &SessionSummary) -> Result<Labels, Fault> {
    let rows = read::wanted(conn, sid, &summary.key, summary.incarnation, &[Want::all(Kind::Labels)])?;
    let labels = rows.into_iter().flatten().next();
    Ok(if let Some(Row::Labels(labels)) = labels { labels } else { Labels::default() })
}

/// Returns a session that has the labels of the query, if it matches the rest of the query too.
fn one(conn: &Connection, query: &SessionQuery, key: &SessionKey) -> Result<Option<SessionSummary>, Fault> {
    let mut find = conn.prepare_cached(ONE)?;
    let names = (key.tenant.as_str(), key.id.as_str());
    let found = find.query_row(names, |row| Ok(summary(&mut Columns::of(row)))).optional()?.transpose()?;
    let Some((sid, mut found)) = found else { return Ok(None) };
    found.labels = query.labels.clone();
    if !found.listed(query) {
        return Ok(None);
    }
    found.labels = of(conn, sid, &found)?;
    Ok(Some(found))
}

/// Returns the first place in the list of one label, from the bound `from` on and within the query's bounds of the
/// creation time.
fn seek(
    conn: &Connection,
    query: &SessionQuery,
    name: &str,
    value: &str,
    from: Bound<&SessionPlace>,
) -> Result<Option<SessionPlace>, Fault> {
    let found = match (from, query.created.before) {
        (Bound::Unbounded, None) => first(conn, query, NEWEST, (query.tenant.as_str(), name, value)),
        (Bound::Unbounded, Some(end)) => {
            first(conn, query, BEFORE, (query.tenant.as_str(), name, value, end.as_ms()))
        }
        (Bound::Excluded(place), _) => before(conn, query, name, value, place, place.key.id.as_str()),
        // Ids contain no control character, so no id lies between the two.
        (Bound::Included(place), _) => {
            before(conn, query, name, value, place, &format!("{}\u{1}", place.key.id))
        }
    };
    Ok(found?.filter(|place| query.created.since.is_none_or(|since| place.at >= since)))
}

/// Returns the first place with a smaller id at the same instant, or else the first place of an earlier instant.
fn before(
    conn: &Connection,
    query: &SessionQuery,
    name: &str,
    value: &str,
    SessionPlace { at, .. }: &SessionPlace,
    id: &str,
) -> Result<Option<SessionPlace>, Fault> {
    let (tenant, at) = (query.tenant.as_str(), at.as_ms());
    match first(conn, query, AT_ONCE, (tenant, name, value, at, id))? {
        None => first(conn, query, BEFORE, (tenant, name, value, at)),
        found => Ok(found),
    }
}

fn first(
    conn: &Connection,
    query: &SessionQuery,
    sql: &str,
    values: impl Params,
) -> Result<Option<SessionPlace>, Fault> {
    let mut find = conn.prepare_cached(sql)?;
    let place = |row: &rusqlite::Row<'_>| {
        let mut c = Columns::of(row);
        let (at, id) = (c.at()?, c.id()?);
        Ok(SessionPlace { at, key: SessionKey::new(query.tenant.clone(), id) })
    };
    find.query_row(values, |row| Ok(place(row))).optional()?.transpose()
}
