//! The list of sessions of a tenant: along the index of all sessions, by incarnation, or by label.

use std::collections::BTreeMap;

use holdover_store::ids::{SessionId, SessionKey};
use holdover_store::rows::{Kind, Scanned, SessionPlace};
use holdover_store::time::Timestamp;
use holdover_store::{Labels, SessionQuery, SessionSummary};
use sqlx::postgres::PgRow;

use super::kinds::{label, table};
use super::scan::{LOOKED_AT_MAX, readable};
use super::session::{SLOT, slot};
use crate::call::Call;
use crate::columns::{Columns, Packed};
use crate::error::Fault;
use crate::sql::{Param, Sql, int, push};

/// A call that lists sessions of a tenant, newest first.
pub(super) struct Sessions {
    pub(super) query: SessionQuery,
    pub(super) after: Option<SessionPlace>,
    pub(super) limit: usize,
}

impl Sessions {
    /// Returns true if the walk may meet sessions that do not match. A walk along labels meets only sessions with
    /// these labels.
    fn picks(&self) -> bool {
        let query = &self.query;
        !query.status.is_empty()
            || query.queue.is_some()
            || query.life.is_some()
            || query.changed.since.is_some()
            || query.changed.before.is_some()
    }

    fn looked_at(&self) -> i64 {
        if self.picks() { LOOKED_AT_MAX } else { int(self.limit as u64) }
    }

    fn place(&self, packed: &mut Packed) -> Result<SessionPlace, Fault> {
        let (at, id) = (packed.at("created_at")?, packed.id::<SessionId>("id")?);
        Ok(SessionPlace { at, key: SessionKey::new(self.query.tenant.clone(), id) })
    }
}

impl Call for Sessions {
    type Outcome = Scanned<SessionSummary, SessionPlace>;

    fn operation(&self) -> &'static str {
        "sessions"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (schema, query) = (&sql.names.schema, &self.query);
        let tenant = sql.bind(query.tenant.as_str());
        // No id is empty, so the empty id of an instant comes before all ids of that instant.
        let first = query.created.before.map_or((i64::MAX, "\u{10ffff}"), |before| (before.as_ms(), ""));
        let (at, id) = self.after.as_ref().map_or(first, |place| (place.at.as_ms(), place.key.id.as_str()));
        let (at, id) = (sql.bind(at), sql.bind(id));
        let since = sql.bind(query.created.since.map_or(i64::MIN, Timestamp::as_ms));
        let walk = sql.bind(self.looked_at());
        let limit = sql.bind(int(self.limit as u64));
        let status: Vec<&str> = query.status.iter().map(|status| status.as_str()).collect();
        let status = sql.bind((!status.is_empty()).then_some(status));
        let queue = sql.bind(query.queue.as_ref().map(|queue| queue.as_str()));
        let changed_since = sql.bind(query.changed.since.map(Timestamp::as_ms));
        let changed_before = sql.bind(query.changed.before.map(Timestamp::as_ms));
        let names = sql.bind(query.labels.0.keys().map(|name| name.as_bytes()).collect::<Vec<_>>());
        let values = sql.bind(query.labels.0.values().map(|value| value.as_bytes()).collect::<Vec<_>>());
        let bounds = Bounds { tenant, at, id, since, walk };
        let life = query.life.map(|life| sql.bind(life.0.as_bytes().as_slice()));
        push!(sql, "WITH ");
        let ends = match (life, query.labels.0.len()) {
            (Some(life), _) => {
                // A query for one incarnation uses its own index.
                let of_life = format!(
                    "(SELECT l.* FROM {schema}session l WHERE l.tenant = {tenant} AND l.incarnation = {life} AND l.sid > 0 OFFSET 0)"
                );
                along_sessions(sql, &of_life, bounds)
            }
            (None, 0) => along_sessions(sql, &format!("{schema}session"), bounds),
            (None, 1) => along_label(sql, names, values, bounds),
            (None, _) => along_labels(sql, names, values, bounds),
        };
        // Sessions that were found along labels have them.
        let labelled = life.map_or_else(String::new, |_| format!(
            " AND NOT EXISTS (SELECT FROM unnest({names}, {values}) AS n (name, value) WHERE NOT EXISTS ( \
                 SELECT FROM {schema}label l WHERE l.sid = w.sid AND l.name = n.name AND l.value = n.value))"
        ));
        let labels = table(Kind::Labels).bytes;
        push!(
            sql,
            ", f AS MATERIALIZED ( \
                 SELECT w.sid, w.nth FROM w \
                 WHERE ({status} IS NULL OR w.status = ANY ({status})) AND ({queue} IS NULL OR w.queue = {queue}) \
                     AND ({changed_since} IS NULL OR w.updated_at >= {changed_since}) \
                     AND ({changed_before} IS NULL OR w.updated_at < {changed_before}){labelled} \
                 ORDER BY w.nth LIMIT {limit}), \
             s AS MATERIALIZED (SELECT f.nth, t.* FROM f JOIN {schema}session t ON t.sid = f.sid) \
             SELECT s.nth, -1 AS want, {SLOT} FROM s \
             UNION ALL (SELECT s.nth, 0, NULL, NULL, {labels}, NULL, NULL FROM s CROSS JOIN LATERAL ( \
                 SELECT x.* FROM {schema}label x WHERE x.sid = s.sid) x) \
             UNION ALL SELECT s.nth, 2, ARRAY[s.created_at], ARRAY[s.id], NULL, NULL, NULL FROM s \
             UNION ALL SELECT 0, 1, ARRAY[e.created_at], ARRAY[e.id], NULL, NULL, NULL FROM ({ends}) e"
        );
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Self::Outcome, Fault> {
        let mut found: BTreeMap<i64, Result<SessionSummary, Fault>> = BTreeMap::new();
        let (mut met, mut last, mut looked_at) = (0, None, None);
        for row in rows {
            let mut c = Columns::of(row);
            let (nth, want): (i64, i32) = (c.take()?, c.take()?);
            let of = if want == 0 { "label" } else { "" };
            let mut packed = Packed::read(&mut c, of)?;
            match want {
                0 => {
                    if let Some(summary) = found.get_mut(&nth) {
                        match (label(packed), &mut *summary) {
                            (Ok((name, value)), Ok(summary)) => drop(summary.labels.0.insert(name, value)),
                            (Err(fault), _) => *summary = Err(fault),
                            (Ok(_), Err(_)) => {}
                        }
                    }
                }
                1 => looked_at = Some(self.place(&mut packed)?),
                2 => {
                    met += 1;
                    // If a place cannot be read, the next page continues behind the place before it.
                    last = last.max(self.place(&mut packed).ok().map(|place| (nth, place)));
                }
                _ => match slot(packed).map(|slot| slot.row) {
                    Ok(None) => {}
                    Ok(Some(row)) => drop(found.insert(nth, Ok(row.summary(Labels::default())))),
                    Err(fault) => drop(found.insert(nth, Err(fault))),
                },
            }
        }
        // A full page ends at its last session, any other page where the walk has ended.
        let next = if met >= self.limit { last.map(|(_, place)| place) } else { looked_at };
        if met >= self.limit && next.is_none() {
            return Err(Fault::Corrupt("sessions: where these sessions stand cannot be read".into()));
        }
        Ok(Scanned { rows: readable(found.into_values())?, next })
    }
}

/// The bounds of a walk: the tenant, the place after which it begins, the earliest instant, and how many sessions
/// it looks at.
#[derive(Clone, Copy)]
struct Bounds {
    tenant: Param,
    at: Param,
    id: Param,
    since: Param,
    walk: Param,
}

// Each walk is a member `w` of the statement: the sessions that the walk met, numbered from the newest on. Each of
// the next functions returns the query for the place where the walk stopped, if that was before the end of the list.

/// Adds a walk along all sessions, or those in `of`.
fn along_sessions(sql: &mut Sql<'_>, of: &str, bounds: Bounds) -> String {
    let Bounds { tenant, at, id, since, walk } = bounds;
    push!(
        sql,
        "w AS MATERIALIZED ( \
             SELECT o.sid, o.created_at, o.id, o.status, o.queue, o.updated_at, row_number() OVER ( \
                 ORDER BY o.created_at DESC, o.id DESC) AS nth FROM ( \
                 SELECT o.* FROM {of} o \
                 WHERE o.tenant = {tenant} AND o.dead_since IS NULL AND (o.created_at, o.id) < ({at}, {id}) \
                     AND o.created_at >= {since} \
                 ORDER BY o.created_at DESC, o.id DESC LIMIT {walk}) o)"
    );
    format!("SELECT w.created_at, w.id FROM w WHERE w.nth = {walk}")
}

/// Adds a walk along one label.
fn along_label(sql: &mut Sql<'_>, names: Param, values: Param, bounds: Bounds) -> String {
    let Bounds { tenant, at, id, since, walk } = bounds;
    let schema = &sql.names.schema;
    let found = format!(
        "SELECT l.sid, l.created_at, l.id FROM {schema}label l \
         WHERE l.tenant = {tenant} AND l.name = ({names})[1] AND l.value = ({values})[1] \
             AND (l.created_at, l.id) < ({at}, {id}) AND l.created_at >= {since} \
         ORDER BY l.created_at DESC, l.id DESC LIMIT {walk}"
    );
    with_sessions(sql, &found);
    format!("SELECT w.created_at, w.id FROM w WHERE w.nth = {walk}")
}

/// Adds a walk along several labels at once. All label lists have the same order. Each step asks every list for
/// its first entry from a place on, and the furthest of these entries is the next place. It is a hit if all lists
/// agree. So the shortest list bounds the number of steps.
fn along_labels(sql: &mut Sql<'_>, names: Param, values: Param, bounds: Bounds) -> String {
    let Bounds { tenant, at, id, since, walk } = bounds;
    let steps = sql.bind(LOOKED_AT_MAX);
    let schema = &sql.names.schema;
    // After a hit, the next step begins behind that place. After a miss, it begins at the place itself, because that
    // may be a hit. Ids contain no control character, so no id lies between an id and the same id with `chr(1)`
    // appended.
    push!(
        sql,
        "RECURSIVE leap AS ( \
             SELECT NULL::bigint AS sid, {at}::bigint AS created_at, NULL::text COLLATE \"C\" AS id, \
                 {id}::text COLLATE \"C\" AS before, false AS hit, 0::bigint AS hits, 0::bigint AS step \
             UNION ALL \
             SELECT m.sid, m.created_at, m.id, CASE WHEN m.hit THEN m.id ELSE m.id || chr(1) END, m.hit, \
                 p.hits + m.hit::int, p.step + 1 \
             FROM leap p CROSS JOIN LATERAL ( \
                 SELECT e.*, count(*) OVER (PARTITION BY e.created_at, e.id) = cardinality({names}) AS hit \
                 FROM unnest({names}, {values}) AS n (name, value) LEFT JOIN LATERAL ( \
                     SELECT l.sid, l.created_at, l.id FROM {schema}label l \
                     WHERE l.tenant = {tenant} AND l.name = n.name AND l.value = n.value \
                         AND (l.created_at, l.id) < (p.created_at, p.before) AND l.created_at >= {since} \
                     ORDER BY l.created_at DESC, l.id DESC LIMIT 1) e ON true \
                 ORDER BY e.created_at NULLS FIRST, e.id LIMIT 1) m \
             WHERE m.sid IS NOT NULL AND p.hits < {walk} AND p.step < {steps}), "
    );
    with_sessions(sql, "SELECT l.sid, l.created_at, l.id FROM leap l WHERE l.hit");
    // The next page continues behind the last step if that was a hit, otherwise behind the step before it, so that no
    // session is skipped.
    format!(
        "SELECT l.created_at, l.id FROM leap l WHERE l.step = ( \
             SELECT o.step - (NOT o.hit)::int FROM leap o WHERE o.step = {steps} OR (o.hit AND o.hits = {walk}))"
    )
}

/// Adds the sessions that were found, with their numbers in the list.
fn with_sessions(sql: &mut Sql<'_>, found: &str) {
    let schema = &sql.names.schema;
    push!(
        sql,
        "w AS MATERIALIZED ( \
             SELECT l.sid, l.created_at, l.id, t.status, t.queue, t.updated_at, row_number() OVER ( \
                 ORDER BY l.created_at DESC, l.id DESC) AS nth \
             FROM ({found}) l LEFT JOIN LATERAL ( \
                 SELECT t.status, t.queue, t.updated_at FROM {schema}session t WHERE t.sid = l.sid OFFSET 0) t ON true)"
    );
}
