//! The walk along sessions that are due.

use holdover_store::Queues;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{DueQuery, Found, SessionPlace, Want};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;

use super::read::{SESSION, all_found, select};
use super::scan::bind_place;
use super::session::SLOT_ALARM;
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::sql::{Sql, int, push};

/// Sessions that are due after this place, with rows of each.
pub(super) struct Due {
    pub(super) query: DueQuery,
    pub(super) wants: Vec<Want>,
    pub(super) after: Option<SessionPlace>,
    pub(super) limit: usize,
}

/// What was found due. `last`: the place of the last of a full page.
pub(super) struct FoundDue {
    pub(super) found: Vec<Result<Found, Fault>>,
    pub(super) now: Timestamp,
    pub(super) last: Option<SessionPlace>,
}

impl Call for Due {
    type Outcome = FoundDue;

    fn operation(&self) -> &'static str {
        "due"
    }

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    /// One walk along an index for each queue, and one for sessions with an interrupt waiting, which are due in every
    /// queue. All queues: found by one step along the index for each.
    fn statement(&self, sql: &mut Sql<'_>) {
        let (schema, clock) = (&sql.names.schema, &sql.names.clock);
        let format = sql.bind(i64::from(self.query.newest_format.0));
        let tenant = sql.bind(self.query.tenant.as_ref().map(|tenant| tenant.as_str()));
        let limit = sql.bind(int(self.limit as u64));
        let (at, after_tenant, after_id) = bind_place(sql, self.after.as_ref(), i64::MIN);
        push!(sql, "WITH RECURSIVE c AS MATERIALIZED (SELECT {clock} AS now), ");
        match &self.query.queues {
            Queues::Named(queues) => {
                let queues = sql.bind(queues.iter().map(|queue| queue.as_str()).collect::<Vec<_>>());
                push!(sql, "served (queue) AS (SELECT DISTINCT q.queue FROM unnest({queues}) AS q (queue))");
            }
            Queues::All => push!(
                sql,
                "served (queue) AS ( \
                     (SELECT s.queue FROM {schema}session s WHERE s.alarm IS NOT NULL ORDER BY s.queue LIMIT 1) \
                     UNION ALL \
                     SELECT (SELECT s.queue FROM {schema}session s WHERE s.alarm IS NOT NULL AND s.queue > w.queue \
                         ORDER BY s.queue LIMIT 1) FROM served w WHERE w.queue IS NOT NULL)"
            ),
        }
        let due = format!(
            "s.alarm IS NOT NULL AND s.alarm <= c.now AND (s.alarm, s.tenant, s.id) > ({at}, {after_tenant}, {after_id}) \
             AND s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= c.now) \
             AND ({tenant} IS NULL OR s.tenant = {tenant})"
        );
        push!(
            sql,
            ", d AS MATERIALIZED (SELECT d.sid, d.alarm, d.tenant, d.id FROM c CROSS JOIN served q CROSS JOIN LATERAL ( \
                     SELECT s.sid, s.alarm, s.tenant, s.id FROM {schema}session s \
                     WHERE s.queue = q.queue AND {due} AND s.format <= {format} \
                     ORDER BY s.alarm, s.tenant, s.id LIMIT {limit}) d \
                 UNION \
                 SELECT d.sid, d.alarm, d.tenant, d.id FROM c CROSS JOIN LATERAL ( \
                     SELECT s.sid, s.alarm, s.tenant, s.id FROM {schema}session s \
                     WHERE s.interrupt_id IS NOT NULL AND {due} \
                     ORDER BY s.alarm, s.tenant, s.id LIMIT {limit}) d \
                 ORDER BY 2, 3, 4 LIMIT {limit}), \
             s AS MATERIALIZED (SELECT row_number() OVER (ORDER BY d.alarm, d.tenant, d.id) AS nth, t.* \
                 FROM d JOIN {schema}session t ON t.sid = d.sid)"
        );
        select(sql, &self.wants);
    }

    fn answer(&self, rows: &[PgRow]) -> Result<FoundDue, Fault> {
        let (now, found) = all_found(rows, &self.wants)?;
        // Behind one that cannot be read the walk goes on, so its place is read by itself.
        let last = if found.len() < self.limit { None } else { last_place(rows)? };
        Ok(FoundDue { found, now, last })
    }
}

/// The place of the last session of an answer.
fn last_place(rows: &[PgRow]) -> Result<Option<SessionPlace>, Fault> {
    let mut last: Option<(i64, SessionPlace)> = None;
    for row in rows {
        let mut c = Columns::of(row);
        let (nth, want): (i64, i32) = (c.take()?, c.take()?);
        if want != SESSION || last.as_ref().is_some_and(|(last, _)| *last >= nth) {
            continue;
        }
        let (n, t): (Vec<Option<i64>>, Vec<Option<String>>) = (c.take()?, c.take()?);
        let alarm = n.get(SLOT_ALARM).copied().flatten();
        let mut names = t.into_iter().flatten();
        let place = || {
            let key = SessionKey::new(names.next()?.parse().ok()?, names.next()?.parse().ok()?);
            Some(SessionPlace { at: Timestamp::from_ms(alarm?), key })
        };
        let mut place = place;
        if let Some(place) = place() {
            last = Some((nth, place));
        }
    }
    Ok(last.map(|(_, place)| place))
}
