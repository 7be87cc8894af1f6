//! Walks along indexes, across sessions.

use std::collections::BTreeMap;

use holdover_store::ids::SessionKey;
use holdover_store::rows::{Kind, PendingPlace, Row, Scanned, SessionPlace};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{PendingCall, PendingQuery, RetentionRule};
use sqlx::postgres::PgRow;

use super::kinds::{pending, table};
use super::session::{SLOT, slot};
use crate::call::Call;
use crate::columns::{Columns, Packed};
use crate::error::Fault;
use crate::sql::{Param, Sql, int, push};

/// The most rows that one statement looks at if some of them may not match. The next page continues behind them.
pub(super) const LOOKED_AT_MAX: i64 = 10_000;

/// Binds instant, tenant and id of a place. Without a place, binds the instant `from` and empty names.
fn bind_place(sql: &mut Sql<'_>, place: Option<&SessionPlace>, from: i64) -> (Param, Param, Param) {
    (
        sql.bind(place.map_or(from, |place| place.at.as_ms())),
        sql.bind(place.map_or("", |place| place.key.tenant.as_str())),
        sql.bind(place.map_or("", |place| place.key.id.as_str())),
    )
}

/// A call that lists open pending calls of a tenant, soonest deadline first.
pub(super) struct Pending {
    pub(super) query: PendingQuery,
    pub(super) after: Option<PendingPlace>,
    pub(super) limit: usize,
    pub(super) bytes: usize,
}

impl Call for Pending {
    type Outcome = Scanned<PendingCall, PendingPlace>;

    fn operation(&self) -> &'static str {
        "pending"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (schema, query) = (&sql.names.schema, &self.query);
        let after = self.after.as_ref();
        let endless = sql.bind(after.is_some_and(|place| place.endless));
        // A call without a deadline is stored with the deadline 0.
        let deadline = after.map_or(i64::MIN, |place| if place.endless { 0 } else { place.deadline.as_ms() });
        let deadline = sql.bind(deadline);
        let after_session = sql.bind(after.map_or("", |place| place.session.as_str()));
        let after_id = sql.bind(after.map_or("", |place| place.id.as_str()));
        let kind = query.kind.as_ref().map(|kind| kind.as_str());
        let (limit, bytes) = (sql.bind(int(self.limit as u64)), sql.bind(int(self.bytes as u64)));
        let order = "p.endless, p.deadline, p.session, p.id";
        let whose = match (&query.session, kind) {
            (None, None) => format!("p.tenant = {}", sql.bind(query.tenant.as_str())),
            // Only the index by kind serves this, so the plan does not depend on the server's statistics: with
            // `kind = …`, it could also walk along the index of all calls and skip those of other kinds.
            (None, Some(kind)) => {
                let of_kind = sql.bind(format!("{kind} {}", query.tenant));
                format!("p.kind || ' ' || p.tenant = {of_kind}")
            }
            (Some(session), kind) => {
                let (tenant, session) = (sql.bind(query.tenant.as_str()), sql.bind(session.as_str()));
                let kind = kind.map(|kind| format!(" AND p.kind = {}", sql.bind(kind)));
                let kind = kind.unwrap_or_default();
                format!(
                    "p.sid = (SELECT s.sid FROM {schema}session s WHERE s.tenant = {tenant} AND s.id = {session}){kind}"
                )
            }
        };
        let t = table(Kind::Pending);
        push!(
            sql,
            "WITH w AS MATERIALIZED ( \
                 SELECT p.*, row_number() OVER (ORDER BY {order}) AS nth FROM ( \
                     SELECT p.sid, p.endless, p.deadline, p.session, p.id, p.kind, octet_length(p.payload) AS size \
                     FROM {schema}pending p WHERE {whose} \
                         AND ({order}) > ({endless}, {deadline}, {after_session}, {after_id}) \
                     ORDER BY {order} LIMIT {limit}) p), \
             f AS MATERIALIZED ( \
                 SELECT w.sid, w.id, w.nth, coalesce(sum(w.size) OVER (ORDER BY w.nth \
                     ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before FROM w) \
             SELECT f.nth, 0 AS want, {numbers} AS n, {texts} || ARRAY[x.session]::text[] AS t, {bytes_} AS b, x.digest, \
                 x.payload FROM f JOIN {schema}pending x ON x.sid = f.sid AND x.id = f.id WHERE f.before < {bytes} \
             UNION ALL \
             SELECT w.nth, 1, ARRAY[w.endless::int::bigint, w.deadline], ARRAY[w.session, w.id]::text[], NULL, NULL, NULL \
                 FROM w WHERE w.nth IN (SELECT f.nth FROM f WHERE f.before < {bytes}) \
             UNION ALL \
             SELECT min(f.nth), 2, NULL, NULL, NULL, NULL, NULL FROM f WHERE f.before >= {bytes} HAVING count(*) > 0",
            numbers = t.numbers,
            texts = t.texts,
            bytes_ = t.bytes,
        );
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault> {
        let (mut found, mut places) = (BTreeMap::new(), BTreeMap::new());
        let (mut last, mut is_cut) = (None, false);
        for row in rows {
            let mut c = Columns::of(row);
            let (nth, want): (i64, i32) = (c.take()?, c.take()?);
            match want {
                0 => {
                    last = last.max(Some(nth));
                    found.insert(nth, self.call(&mut c));
                }
                1 => drop(place(&mut c).map(|place| places.insert(nth, place))),
                _ => is_cut = true,
            }
        }
        // A full page ends at its last row. After any other page nothing follows.
        let ends_at = last.filter(|_| is_cut || found.len() >= self.limit);
        // If a place cannot be read, the next page continues behind the place before it.
        let next = ends_at.map(|nth| places.range(..=nth).next_back().map(|(_, place)| place.clone()));
        if next == Some(None) {
            return Err(Fault::Corrupt("pending: where these calls stand cannot be read".into()));
        }
        Ok(Scanned { rows: readable(found.into_values())?, next: next.flatten() })
    }
}

/// Leaves out of a list what cannot be read.
pub(super) fn readable<T>(found: impl Iterator<Item = Result<T, Fault>>) -> Result<Vec<T>, Fault> {
    let mut rows = Vec::new();
    for row in found {
        match row {
            Ok(row) => rows.push(row),
            Err(Fault::Corrupt(detail)) => tracing::warn!(detail, "a list leaves out what cannot be read"),
            Err(fault) => return Err(fault),
        }
    }
    Ok(rows)
}

impl Pending {
    fn call(&self, c: &mut Columns<'_>) -> Result<PendingCall, Fault> {
        let mut packed = Packed::read(c, "pending")?;
        let key = SessionKey::new(self.query.tenant.clone(), packed.last_id("session")?);
        if let Row::Pending { call, .. } = pending(key, packed)? {
            Ok(call)
        } else {
            Err(Fault::Corrupt("pending: it is another row".into()))
        }
    }
}

/// Reads the place of a call in the list of its tenant.
fn place(c: &mut Columns<'_>) -> Result<PendingPlace, Fault> {
    let mut packed = Packed::read(c, "pending")?;
    let (endless, deadline) = (packed.flag("endless")?, packed.at("deadline")?);
    Ok(PendingPlace { endless, deadline, session: packed.id("session")?, id: packed.id("id")? })
}

/// A call that lists quiet sessions, longest unchanged first: those at rest without an alarm, an unread item or an
/// interrupt.
pub(super) struct Resting {
    pub(super) rule: RetentionRule,
    pub(super) after: Option<SessionPlace>,
    pub(super) limit: usize,
}

impl Call for Resting {
    type Outcome = Scanned<SessionRow, SessionPlace>;

    fn operation(&self) -> &'static str {
        "resting"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (schema, rule) = (&sql.names.schema, &self.rule);
        let unchanged_since = sql.bind(rule.unchanged_since.as_ms());
        let tenant = sql.bind(rule.tenant.as_ref().map(|tenant| tenant.as_str()));
        let status: Vec<&str> = rule.status.iter().map(|status| status.as_str()).collect();
        let picks = rule.tenant.is_some() || !status.is_empty();
        let status = sql.bind((!status.is_empty()).then_some(status));
        let (at, after_tenant, after_id) = bind_place(sql, self.after.as_ref(), i64::MIN);
        // One more row shows whether there is another page.
        let limit = int(self.limit as u64).saturating_add(1);
        let walk = sql.bind(if picks { LOOKED_AT_MAX.max(limit) } else { limit });
        let limit = sql.bind(limit);
        push!(
            sql,
            "WITH w AS MATERIALIZED ( \
                 SELECT s.*, row_number() OVER (ORDER BY s.at, s.tenant, s.id) AS nth FROM ( \
                     SELECT s.sid, s.resting_since AS at, s.tenant, s.id, s.status FROM {schema}session s \
                     WHERE s.resting_since IS NOT NULL AND s.resting_since < {unchanged_since} \
                         AND (s.resting_since, s.tenant, s.id) > ({at}, {after_tenant}, {after_id}) \
                     ORDER BY s.resting_since, s.tenant, s.id LIMIT {walk}) s), \
             f AS MATERIALIZED ( \
                 SELECT w.sid, w.nth FROM w WHERE ({tenant} IS NULL OR w.tenant = {tenant}) \
                     AND ({status} IS NULL OR w.status = ANY ({status})) ORDER BY w.nth LIMIT {limit}), \
             s AS MATERIALIZED (SELECT f.nth, t.* FROM f JOIN {schema}session t ON t.sid = f.sid) \
             SELECT s.nth, -1 AS want, {SLOT} FROM s \
             UNION ALL SELECT s.nth, 2, ARRAY[s.resting_since], ARRAY[s.tenant, s.id]::text[], NULL, NULL, NULL FROM s \
             UNION ALL SELECT w.nth, 1, ARRAY[w.at], ARRAY[w.tenant, w.id]::text[], NULL, NULL, NULL FROM w \
                 WHERE w.nth = {walk}"
        );
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault> {
        let (mut found, mut places) = (BTreeMap::new(), BTreeMap::new());
        let mut looked_at = None;
        for row in rows {
            let mut c = Columns::of(row);
            let (nth, want): (i64, i32) = (c.take()?, c.take()?);
            let mut packed = Packed::read(&mut c, "")?;
            match want {
                1 => looked_at = Some(changed(&mut packed)?),
                2 => drop(places.insert(nth, changed(&mut packed))),
                _ => drop(found.insert(nth, slot(packed))),
            }
        }
        if places.len() <= self.limit {
            let rows = readable(found.into_values())?.into_iter().filter_map(|slot| slot.row).collect();
            return Ok(Scanned { rows, next: looked_at });
        }
        // The row after the last one of the page only shows that there is another page.
        found.pop_last();
        places.pop_last();
        // If a place cannot be read, the next page continues behind the place before it.
        let next = places.into_values().rev().find_map(Result::ok);
        if next.is_none() {
            return Err(Fault::Corrupt("resting: where these sessions stand cannot be read".into()));
        }
        let rows = readable(found.into_values())?.into_iter().filter_map(|slot| slot.row).collect();
        Ok(Scanned { rows, next })
    }
}

/// Reads the place of a session in the list of quiet sessions.
fn changed(packed: &mut Packed) -> Result<SessionPlace, Fault> {
    let at = packed.at("resting_since")?;
    Ok(SessionPlace { at, key: SessionKey::new(packed.id("tenant")?, packed.id("id")?) })
}

/// A call that lists keys that have no session now and whose newest session was deleted before `before`.
pub(super) struct Dead {
    pub(super) before: Timestamp,
    pub(super) limit: usize,
}

impl Call for Dead {
    type Outcome = Vec<SessionKey>;

    fn operation(&self) -> &'static str {
        "dead"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let schema = &sql.names.schema;
        let (before, limit) = (sql.bind(self.before.as_ms()), sql.bind(int(self.limit as u64)));
        push!(
            sql,
            "SELECT s.tenant, s.id FROM {schema}session s WHERE s.dead_since IS NOT NULL AND s.dead_since < {before} \
             ORDER BY s.dead_since, s.tenant, s.id LIMIT {limit}"
        );
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Vec<SessionKey>, Fault> {
        let key = |row| {
            let mut c = Columns::of(row);
            let (tenant, id): (String, String) = (c.take()?, c.take()?);
            let wrong = |why: holdover_store::ids::InvalidId| Fault::Corrupt(format!("an id: {why}"));
            Ok(SessionKey::new(tenant.parse().map_err(wrong)?, id.parse().map_err(wrong)?))
        };
        rows.iter().map(key).collect()
    }
}
