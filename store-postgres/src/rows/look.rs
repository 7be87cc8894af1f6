//! One look for due sessions. It is one statement, and so one snapshot and one exchange.
//!
//! Sessions with an alarm are in groups: those of one queue with one format, and those with an interrupt waiting.
//! Each group is one range in an index by alarm and one in an index by tenant. The statement reads both step by
//! step, and only the first rows of each step, so the cost does not grow with the tables. For each step, only one
//! index has the rows in order and is bounded by everything that the step names, so no statistics can make another
//! index look cheaper.

use holdover_store::Queues;
use holdover_store::ids::TenantId;
use holdover_store::rows::{DueQuery, Found, Want};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;

use super::read::{SESSION, all_found, select};
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::sql::{Names, Param, Sql, int, push};

/// The most sessions that one look is asked for.
pub(super) const PAGE: usize = 256;

/// The most tenants that have an alarm but nothing due that one look steps over. The next look continues behind
/// them.
const PASSED_OVER_MAX: i64 = 100;
/// The most probes of an index by tenant in one look: one for each group and tenant.
const PROBES_MAX: i64 = 8192;

/// The want number of the row that lists the turns taken.
const TURNS: i32 = -3;

/// The conditions of sessions in a queue and of sessions with a waiting interrupt, as in their indexes.
const IN_QUEUE: &str = "s.alarm IS NOT NULL AND s.interrupt_id IS NULL";
const INTERRUPTED: &str = "s.alarm IS NOT NULL AND s.interrupt_id IS NOT NULL";
/// A condition that holds for every session. The indexes by alarm are partial on it, so a step without it cannot
/// use them.
const BY_ALARM: &str = "s.sid > 0";
/// The condition of sessions of one group in a queue.
const OF_GROUP: &str = "s.queue = g.queue AND s.format = g.format";

/// A call that looks for due sessions. The query's limit is the number that is still asked for.
#[derive(Clone)]
pub(super) struct Look {
    pub(super) query: DueQuery,
    pub(super) wants: Vec<Want>,
    /// True if tenants take turns when more sessions are due than asked for.
    pub(super) turns: bool,
    /// The number of extra sessions to return, by alarm.
    pub(super) spare: usize,
    /// The numbers of sessions to leave out.
    pub(super) left_out: Vec<i64>,
}

/// The result of one look.
pub(super) struct Looked {
    pub(super) now: Timestamp,
    pub(super) seen: Vec<Seen>,
    /// The last tenant that had a turn or was passed over.
    pub(super) after: Option<TenantId>,
}

/// A session that is due.
pub(super) struct Seen {
    pub(super) number: i64,
    /// True if it was found in its tenant's turn.
    pub(super) in_turn: bool,
    pub(super) found: Result<Found, Fault>,
}

impl Look {
    /// Returns how many sessions this look is asked for.
    pub(super) fn asked_for(&self) -> usize {
        self.query.limit.min(PAGE)
    }

    /// Returns how many sessions the look finds if enough are due.
    pub(super) fn brings(&self) -> usize {
        self.asked_for() + self.spare
    }
}

impl Call for Look {
    type Outcome = Looked;

    fn operation(&self) -> &'static str {
        "due"
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let names = sql.names;
        let bound = Bound {
            newest: sql.bind(i64::from(self.query.newest_format.0)),
            tenant: self.query.tenant.as_ref().map(|tenant| sql.bind(tenant.as_str())),
            left_out: sql.bind(self.left_out.as_slice()),
            brings: sql.bind(int(self.brings() as u64)),
            more: sql.bind(int(self.query.limit.max(self.brings()) as u64).saturating_add(1)),
        };
        push!(sql, "WITH RECURSIVE c AS MATERIALIZED (SELECT {} AS now), ", names.clock);
        groups(sql, &self.query.queues, bound.newest);
        by_alarm(sql, &bound);
        if self.turns {
            let after = sql.bind(self.query.after.as_ref().map(|after| after.as_str()));
            let limit = sql.bind(int(self.query.limit as u64));
            let asked_for = sql.bind(int(self.asked_for() as u64));
            in_turn(sql, &bound, after, limit, asked_for);
        } else {
            push!(sql, ", k AS (SELECT 0 AS step, b.* FROM b)");
        }
        push!(
            sql,
            ", d AS MATERIALIZED (SELECT row_number() OVER (ORDER BY k.step, k.alarm, k.tenant, k.id) AS nth, k.sid \
                 FROM k ORDER BY k.step, k.alarm, k.tenant, k.id LIMIT {brings}), \
             s AS MATERIALIZED (SELECT d.nth, t.* FROM d JOIN {schema}session t ON t.sid = d.sid)",
            brings = bound.brings,
            schema = names.schema,
        );
        select(sql, &self.wants);
        if self.turns {
            push!(
                sql,
                " UNION ALL SELECT 0, {TURNS}, ARRAY(SELECT t.sid FROM turn t WHERE t.sid IS NOT NULL), \
                     ARRAY(SELECT t.tenant FROM turn t ORDER BY t.step)::text[], NULL, NULL, NULL"
            );
        }
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Looked, Fault> {
        let (now, mut found) = all_found(rows, &self.wants)?;
        let (mut numbers, mut in_turn, mut after) = (Vec::new(), Vec::new(), None);
        for row in rows {
            let mut c = Columns::of(row);
            let (nth, want): (i64, i32) = (c.take()?, c.take()?);
            if want == SESSION {
                // The number is read even if nothing else of the session can be.
                let n: Vec<Option<i64>> = c.take()?;
                numbers.push((nth, n.first().copied().flatten()));
            } else if want == TURNS {
                in_turn = c.take()?;
                let tenants: Vec<String> = c.take()?;
                // A stored tenant that is not a valid name takes no turn.
                after = tenants.into_iter().rev().find_map(|tenant| tenant.parse().ok());
            }
        }
        numbers.sort_unstable();
        let seen = numbers.into_iter().filter_map(|(nth, number)| {
            let (found, number) = (found.remove(&nth)?, number?);
            Some(Seen { number, in_turn: in_turn.contains(&number), found })
        });
        Ok(Looked { now, seen: seen.collect(), after: after.or_else(|| self.query.after.clone()) })
    }
}

/// Bound values that several parts of the statement use.
struct Bound {
    newest: Param,
    tenant: Option<Param>,
    left_out: Param,
    brings: Param,
    /// One more than the greater of the query's limit and the number that the look brings.
    more: Param,
}

impl Bound {
    /// Returns the condition under which a session whose alarm has rung can be claimed. Few such sessions cannot be
    /// claimed.
    fn can_be_claimed(&self) -> String {
        format!(
            "s.status <> 'aborted' AND (s.lease_ends IS NULL OR s.lease_ends <= c.now) AND s.sid <> ALL ({})",
            self.left_out
        )
    }

    /// Returns a query for the first due sessions of a group, soonest alarm first.
    fn due(&self, names: &Names, group: &str) -> String {
        let (can_be_claimed, more, schema) = (self.can_be_claimed(), self.more, &names.schema);
        let which = match self.tenant {
            None => BY_ALARM.to_owned(),
            Some(tenant) => format!("s.tenant = {tenant}"),
        };
        format!(
            "SELECT s.sid, s.alarm, s.tenant, s.id FROM {schema}session s \
             WHERE {group} AND {which} AND s.alarm <= c.now AND {can_be_claimed} \
             ORDER BY s.alarm, s.tenant, s.id LIMIT {more}"
        )
    }

    /// Returns a query for the next tenant after `t.tenant` with an alarm in the group, and its soonest session,
    /// whether or not the alarm has rung.
    fn next(&self, names: &Names, group: &str) -> String {
        let (can_be_claimed, schema) = (self.can_be_claimed(), &names.schema);
        format!(
            "SELECT s.sid, s.tenant, s.alarm, s.id FROM {schema}session s \
             WHERE {group} AND s.tenant > t.tenant AND (s.alarm > c.now OR ({can_be_claimed})) \
             ORDER BY s.tenant, s.alarm, s.id LIMIT 1"
        )
    }
}

/// Adds the groups of the queues as `g`. Each group is found by one step along the index from the group before. After
/// the newest format that the worker knows, the step leads to the next queue.
fn groups(sql: &mut Sql<'_>, queues: &Queues, newest: Param) {
    let schema = &sql.names.schema;
    match queues {
        Queues::Named(queues) => {
            let queues = sql.bind(queues.iter().map(|queue| queue.as_str()).collect::<Vec<_>>());
            let next = |queue: &str, more: &str| {
                format!(
                    "CROSS JOIN LATERAL (SELECT s.queue, s.format FROM {schema}session s \
                     WHERE {IN_QUEUE} AND s.queue = {queue} AND s.format <= {newest}{more} \
                     ORDER BY s.queue, s.format LIMIT 1) n"
                )
            };
            let (first, next) = (next("q.queue", ""), next("w.queue", " AND s.format > w.format"));
            push!(
                sql,
                "w (queue, format) AS ( \
                     SELECT n.queue, n.format FROM (SELECT DISTINCT q.queue FROM unnest({queues}) AS q (queue)) q {first} \
                     UNION ALL SELECT n.queue, n.format FROM w {next})"
            );
        }
        Queues::All => push!(
            sql,
            "w (queue, format) AS ( \
                 (SELECT s.queue, s.format FROM {schema}session s WHERE {IN_QUEUE} ORDER BY s.queue, s.format LIMIT 1) \
                 UNION ALL \
                 SELECT n.queue, n.format FROM w CROSS JOIN LATERAL ( \
                     SELECT s.queue, s.format FROM {schema}session s WHERE {IN_QUEUE} AND (s.queue, s.format) \
                         > (w.queue, CASE WHEN w.format < {newest} THEN w.format ELSE {newest_of_all} END) \
                     ORDER BY s.queue, s.format LIMIT 1) n)",
            newest_of_all = i64::MAX,
        ),
    }
    push!(sql, ", g AS MATERIALIZED (SELECT w.queue, w.format FROM w WHERE w.format <= {newest})");
}

/// Adds the soonest due sessions of all groups as `b`.
fn by_alarm(sql: &mut Sql<'_>, bound: &Bound) {
    let in_queue = bound.due(sql.names, &format!("{OF_GROUP} AND {IN_QUEUE}"));
    let interrupted = bound.due(sql.names, INTERRUPTED);
    push!(
        sql,
        ", b AS MATERIALIZED (SELECT b.* FROM ( \
             SELECT d.* FROM c CROSS JOIN g CROSS JOIN LATERAL ({in_queue}) d \
             UNION ALL SELECT d.* FROM c CROSS JOIN LATERAL ({interrupted}) d) b \
             ORDER BY b.alarm, b.tenant, b.id LIMIT {more})",
        more = bound.more,
    );
}

/// Adds `turn` and `k`. If more than `limit` sessions are due, `turn` holds the soonest session of each tenant
/// behind `after` and then of those up to it. Each tenant takes one step, and the return from the last tenant to
/// the first takes a step of its own. `k` holds all chosen sessions: those in turn, then the others by alarm.
fn in_turn(sql: &mut Sql<'_>, bound: &Bound, after: Param, limit: Param, asked_for: Param) {
    let in_queue = bound.next(sql.names, &format!("{OF_GROUP} AND {IN_QUEUE}"));
    let interrupted = bound.next(sql.names, INTERRUPTED);
    push!(
        sql,
        ", turn (step, steps, taken, wrapped, tenant, sid) AS ( \
             SELECT 0::bigint, least({asked_for} + {PASSED_OVER_MAX}, {PROBES_MAX} / (1 + (SELECT count(*) FROM g))), 0::bigint, \
                 {after} IS NULL, coalesce({after}, '') COLLATE \"C\", NULL::bigint \
             WHERE (SELECT count(*) FROM b) > {limit} \
             UNION ALL \
             SELECT t.step + 1, t.steps, t.taken + (n.sid IS NOT NULL)::int, t.wrapped OR n.tenant IS NULL, \
                 coalesce(n.tenant, ''), n.sid \
             FROM c CROSS JOIN turn t LEFT JOIN LATERAL ( \
                 SELECT p.tenant, CASE WHEN p.alarm <= c.now THEN p.sid END AS sid FROM ( \
                     SELECT p.* FROM g CROSS JOIN LATERAL ({in_queue}) p \
                     UNION ALL SELECT p.* FROM ({interrupted}) p) p \
                 ORDER BY p.tenant, p.alarm, p.id LIMIT 1) n ON true \
             WHERE t.taken < {asked_for} AND t.step <= t.steps \
                 AND (NOT t.wrapped OR n.tenant <= coalesce({after}, n.tenant))), \
         k AS ( \
             SELECT t.step, t.sid, NULL::bigint AS alarm, NULL::text AS tenant, NULL::text AS id \
                 FROM turn t WHERE t.sid IS NOT NULL \
             UNION ALL SELECT {last}, b.* FROM b WHERE NOT EXISTS (SELECT FROM turn t WHERE t.sid = b.sid))",
        last = i64::MAX,
    );
}
