//! Writes several sessions with one statement, so that they share its start, its exchange and its sync.
//!
//! The members are those of a [write to one session](super::write). A row that another transaction holds is skipped, so
//! that no write waits for that of another session.

use std::sync::Arc;
use std::time::Duration;

use holdover_store::hints::Change;
use holdover_store::rows::{Kind, Op, Slot, Write};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;

use super::ops::{Part, rows};
use super::values::bind_sessions;
use super::write::keys_of;
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::sql::{Sql, int, push};

/// A write to an existing session that goes on to exist.
struct Sharing<'w> {
    write: &'w Write,
    before: &'w Slot,
    after: &'w Slot,
    row: &'w SessionRow,
}

impl<'w> Sharing<'w> {
    /// Returns none if the write must be made alone: it creates, copies or removes a session, compares keys, skips held
    /// rows, or notifies others with its statement.
    fn of(write: &'w Write) -> Option<Self> {
        let (before, after) = (write.before.as_deref()?, write.after.as_deref()?);
        let row = after.row.as_ref().filter(|_| before.row.is_some())?;
        let labels = |op: &Op| matches!(op, Op::Put(row) | Op::Insert(row) if row.key().kind == Kind::Labels);
        let alone = write.is_long()
            || write.skip_held
            || !keys_of(write).is_empty()
            || write.change(write.from).as_ref().is_some_and(Change::is_urgent)
            || write.ops.iter().any(labels);
        (!alone).then_some(Self { write, before, after, row })
    }

    fn place(&self) -> i64 {
        int(self.before.place)
    }

    fn part(&self) -> Part<'w> {
        Part { place: Some(self.place()), session: self.row, ops: &self.write.ops }
    }
}

/// Returns true if the write can share a statement with writes to other sessions.
pub(super) fn can_share(write: &Write) -> bool {
    Sharing::of(write).is_some()
}

/// A call that applies several writes that [can share](can_share) a statement, each to another session. For each of them,
/// the outcome has the store's clock if it was applied. One that was not, because its session was held or has another
/// token, has changed nothing.
pub(super) struct ApplyMany {
    writes: Vec<Arc<Write>>,
    within: Duration,
}

impl ApplyMany {
    /// Returns the call, with the time that it has.
    pub(super) fn new(writes: Vec<Arc<Write>>, within: Duration) -> Self {
        Self { writes, within }
    }

    fn sharing(&self) -> Vec<Sharing<'_>> {
        self.writes.iter().filter_map(|write| Sharing::of(write)).collect()
    }
}

impl Call for ApplyMany {
    type Outcome = Vec<Option<Timestamp>>;

    fn operation(&self) -> &'static str {
        "apply"
    }

    fn writes(&self) -> bool {
        true
    }

    fn within(&self) -> Option<Duration> {
        Some(self.within)
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let sharing = self.sharing();
        let places: Vec<i64> = sharing.iter().map(Sharing::place).collect();
        held(sql, &sharing, &places);
        let (values, source) = bind_sessions(sql, sharing.iter().map(|one| (one.place(), one.after)));
        let (schema, set) = (&sql.names.schema, values.assignments());
        push!(
            sql,
            ", s AS (UPDATE {schema}session t SET {set} FROM ok JOIN {source} ON v.sid = ok.sid WHERE t.sid = ok.sid \
             RETURNING t.sid, ok.at)"
        );
        let parts: Vec<Part<'_>> = sharing.iter().map(Sharing::part).collect();
        rows(sql, &parts);
        push!(sql, " SELECT s.sid, s.at FROM s");
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Vec<Option<Timestamp>>, Fault> {
        let mut applied = vec![None; self.writes.len()];
        let sharing = self.sharing();
        for row in rows {
            let mut c = Columns::of(row);
            let (place, at): (i64, i64) = (c.take()?, c.take()?);
            let of = sharing.iter().position(|one| one.place() == place);
            let of = of.ok_or_else(|| Fault::Corrupt(format!("sid: {place} was not to be written")))?;
            applied[of] = Some(Timestamp::from_ms(at));
        }
        Ok(applied)
    }
}

/// Adds the rows that are free and have the token on which their write was decided, locked, with the clock as read
/// under the lock.
fn held(sql: &mut Sql<'_>, sharing: &[Sharing<'_>], places: &[i64]) {
    let (schema, clock) = (&sql.names.schema, &sql.names.clock);
    let tokens: Vec<i64> = sharing.iter().map(|one| one.before.token.0.cast_signed()).collect();
    let from: Vec<i64> = sharing.iter().map(|one| one.write.from.as_ms()).collect();
    let until: Vec<i64> = sharing.iter().map(|one| one.write.until.as_ms()).collect();
    let (places, tokens) = (sql.bind(places.to_vec()), sql.bind(tokens));
    let (from, until) = (sql.bind(from), sql.bind(until));
    push!(
        sql,
        "WITH held AS MATERIALIZED (SELECT h.sid, {clock} AS at, h.begins, h.ends FROM ( \
             SELECT s.sid, w.begins, w.ends \
             FROM unnest({places}, {tokens}, {from}, {until}) AS w (sid, token, begins, ends) \
             JOIN {schema}session s ON s.sid = w.sid AND s.token = w.token \
             FOR NO KEY UPDATE OF s SKIP LOCKED) h), \
         ok AS MATERIALIZED (SELECT h.sid, h.at FROM held h WHERE h.at >= h.begins AND h.at < h.ends)"
    );
}
