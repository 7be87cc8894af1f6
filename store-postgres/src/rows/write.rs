//! Writes one session with one statement.
//!
//! The statement consists of members (common table expressions). The member `held` locks the row of the session if it
//! has the token on which the write was decided. If another transaction has changed the row meanwhile, the changed
//! row is compared. The clock is read once the lock is held. The member `s` writes the row. All other members that
//! write depend on it, so they do nothing if it wrote nothing. They see the data as it was when the statement began.
//! While the token is the same, that is the data on which the write was decided, because every write of the session
//! replaces the token.

use std::sync::Arc;
use std::time::Duration;

use holdover_store::hints::Change;
use holdover_store::ids::{InboxSeq, ItemKey, SessionKey};
use holdover_store::payload::Digest;
use holdover_store::rows::{Kind, Op, Prefix, Row, RowKey, Verdict, Write};
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;

use super::kinds::table;
use super::ops::{Part, rows};
use super::values::{Values, bind_slot};
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::hints;
use crate::sql::{Param, Sql, int, push};

/// The wait for the row's lock, in milliseconds, from which on a write is not applied but decided again.
const WAITED_MS: i64 = 10;

/// A call that applies a write.
pub(super) struct Apply {
    write: Arc<Write>,
    /// True if all existing rows of the session are removed.
    clears: bool,
    within: Option<Duration>,
}

impl Apply {
    pub(super) fn new(write: Arc<Write>) -> Self {
        let (clears, within) = (write.ends_life(), write.within);
        Self { write, clears, within }
    }

    /// Returns a call that has this much time left.
    pub(super) fn within(write: Arc<Write>, left: Duration) -> Self {
        Self { within: Some(left), ..Self::new(write) }
    }

    /// Returns the call that removes a session whose write does not contain its row.
    pub(super) fn removal(write: Arc<Write>) -> Self {
        Self { clears: true, ..Self::new(write) }
    }
}

impl Call for Apply {
    type Outcome = Verdict;

    fn operation(&self) -> &'static str {
        "apply"
    }

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.write.key)
    }

    fn writes(&self) -> bool {
        true
    }

    fn within(&self) -> Option<Duration> {
        self.within
    }

    fn is_long(&self) -> bool {
        self.write.copy.is_some() || self.clears
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let write = &*self.write;
        let times = (sql.bind(write.from.as_ms()), sql.bind(write.until.as_ms()));
        push!(sql, "WITH ");
        if let Some(prefix) = &write.copy {
            source(sql, prefix);
        }
        let taken = taken(sql, write);
        match (&write.before, &write.after) {
            (Some(before), after) => {
                let (place, token) = (sql.bind(int(before.place)), sql.bind(before.token.0.cast_signed()));
                held(sql, self.clears, write.skip_held, place, token, times);
                let only = if taken { " AND NOT EXISTS (SELECT FROM taken)" } else { "" };
                let only = format!(
                    "{only}{}",
                    if write.copy.is_some() { " AND EXISTS (SELECT FROM source)" } else { "" }
                );
                match after.as_ref().and_then(|after| bind_slot(sql, after)) {
                    Some(values) => update(sql, write, &values, &only),
                    None => delete(sql, &only),
                }
                if self.clears {
                    clear_all(sql, place);
                }
            }
            (None, after) => match after.as_ref().and_then(|after| bind_slot(sql, after)) {
                Some(values) => insert(sql, write, &values, times),
                None => push!(
                    sql,
                    "ok AS (SELECT NULL::bigint AS at WHERE false), \
                     s AS (SELECT NULL::bigint AS sid, NULL::bigint AS at)"
                ),
            },
        }
        if let Some(row) = write.row_after() {
            if let Some(prefix) = &write.copy {
                copy(sql, prefix);
            }
            rows(sql, &[Part { place: None, session: row, ops: &write.ops }]);
        }
        answer(sql, write, taken, times.1);
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Verdict, Fault> {
        let Some(row) = rows.first() else { return Ok(Verdict::Lost) };
        let mut c = Columns::of(row);
        let (place, at): (Option<i64>, i64) = (c.take()?, c.take()?);
        let (_told, _in_time): (Option<bool>, i32) = (c.take()?, c.take()?);
        let now = Timestamp::from_ms(at);
        if let Some(place) = place {
            let place = u64::try_from(place).map_err(|why| Fault::Corrupt(format!("sid: {why}")))?;
            return Ok(Verdict::Applied { now, place });
        }
        if self.write.copy.is_some() && !c.take::<bool>()? {
            return Ok(Verdict::NoSource);
        }
        if keys_of(&self.write).is_empty() {
            return Ok(Verdict::Lost);
        }
        match there(&mut c)? {
            Some(row) => Ok(Verdict::Taken { now, row }),
            None => Ok(Verdict::Lost),
        }
    }

    /// Treats the error of a late creation as a lost race. A creation that waited for another one beyond its own time
    /// fails on purpose, so that nothing of it stays.
    fn is_answered_by(&self, fault: &Fault) -> Option<Verdict> {
        fault.is_out_of_time().then_some(Verdict::Lost)
    }
}

/// Adds the locked row of the session, if it has the token, and the clock as read under the lock. If the lock's
/// holder changed nothing, the token is unchanged, but after a long wait the write must be decided again. Only the
/// wait for the lock counts, from the moment at which the row is found. A server that is slow for another reason
/// causes no repeat. If `clears`, the write also waits for transactions that copy from the session.
fn held(
    sql: &mut Sql<'_>,
    clears: bool,
    skip_held: bool,
    place: Param,
    token: Param,
    (from, until): (Param, Param),
) {
    let (schema, clock) = (&sql.names.schema, &sql.names.clock);
    let lock = if clears { "FOR UPDATE" } else { "FOR NO KEY UPDATE" };
    // A write that skips locked rows never waits.
    let (skip, waited) = if skip_held {
        (" SKIP LOCKED", String::new())
    } else {
        ("", format!(" AND h.waited < interval '{WAITED_MS} milliseconds'"))
    };
    push!(
        sql,
        "held AS MATERIALIZED (SELECT h.sid, {clock} AS at, clock_timestamp() - h.seen AS waited FROM ( \
             SELECT s.sid, clock_timestamp() AS seen FROM {schema}session s \
             WHERE s.sid = {place} AND s.token = {token} {lock}{skip}) h), \
         ok AS MATERIALIZED (SELECT h.sid, h.at FROM held h WHERE h.at >= {from} AND h.at < {until}{waited})"
    );
}

fn update(sql: &mut Sql<'_>, write: &Write, values: &Values<'_>, only: &str) {
    let (schema, set) = (&sql.names.schema, values.assignments());
    // A new incarnation in place of an old one gets another number, because the rows of both exist for a moment.
    let place = if write.ends_life() && write.row_after().is_some() { ", sid = DEFAULT" } else { "" };
    push!(
        sql,
        ", s AS (UPDATE {schema}session t SET {set}{place} FROM ok WHERE t.sid = ok.sid{only} RETURNING t.sid, ok.at)"
    );
}

fn delete(sql: &mut Sql<'_>, only: &str) {
    let schema = &sql.names.schema;
    push!(
        sql,
        ", s AS (DELETE FROM {schema}session t USING ok WHERE t.sid = ok.sid{only} RETURNING t.sid, ok.at)"
    );
}

/// Inserts the row of a key that has none. If another transaction inserts it first, this write is lost.
fn insert(sql: &mut Sql<'_>, write: &Write, values: &Values<'_>, (from, until): (Param, Param)) {
    let (tenant, id) = (sql.bind(write.key.tenant.as_str()), sql.bind(write.key.id.as_str()));
    let (schema, clock) = (&sql.names.schema, &sql.names.clock);
    let (names, values) = (values.names(), values.values());
    let only = if write.copy.is_some() { " WHERE EXISTS (SELECT FROM source)" } else { "" };
    push!(
        sql,
        "c AS MATERIALIZED (SELECT {clock} AS at), \
         ok AS MATERIALIZED (SELECT c.at FROM c WHERE c.at >= {from} AND c.at < {until}), \
         s AS (INSERT INTO {schema}session (tenant, id, {names}) SELECT {tenant}, {id}, {values} FROM ok{only} \
             ON CONFLICT (tenant, id) DO NOTHING RETURNING sid, {clock} AS at)"
    );
}

/// Adds the answer. The answer is empty if the row does not have the expected token, or if the clock is outside of
/// the write's time.
fn answer(sql: &mut Sql<'_>, write: &Write, taken: bool, until: Param) {
    let told = hint(sql, write);
    push!(sql, " SELECT s.sid, coalesce(s.at, ok.at) AS at, {told} AS told");
    match write.before {
        Some(_) => push!(sql, ", 1 AS in_time"),
        None => push!(sql, ", CASE WHEN s.at >= {until} THEN 1 / (s.at - s.at)::int ELSE 1 END AS in_time"),
    }
    if write.copy.is_some() {
        push!(sql, ", EXISTS (SELECT FROM source) AS source");
    }
    if taken {
        push!(
            sql,
            ", k.kind, k.seq, k.name, k.content FROM ok LEFT JOIN s ON true LEFT JOIN taken k ON true LIMIT 1"
        );
    } else {
        push!(sql, " FROM ok LEFT JOIN s ON true");
    }
}

/// Returns an expression that notifies listeners of an urgent change: one with news, or a due session. Other
/// changes are announced [afterwards](crate::hints::Hints::tell), many in one notification.
fn hint(sql: &mut Sql<'_>, write: &Write) -> String {
    let change = write.change(write.from).filter(Change::is_urgent);
    let (Some(channel), Some(change)) = (sql.names.channel.clone(), change) else {
        return "NULL::boolean".into();
    };
    let channel = sql.bind(&*channel);
    let payload = sql.bind(hints::payload(&[change]));
    format!("CASE WHEN s.sid IS NOT NULL THEN pg_notify({channel}, {payload}) IS NULL END")
}

/// Returns the keys of rows to insert that may already exist.
pub(super) fn keys_of(write: &Write) -> Vec<RowKey> {
    // A new incarnation has no rows.
    if write.row_before().is_none() || write.ends_life() {
        return Vec::new();
    }
    let inserted = write.ops.iter().filter_map(|op| match op {
        Op::Insert(row) => Some(row.key()),
        Op::Put(_) | Op::Delete(_) | Op::DeleteUpTo(..) | Op::Clear(_) => None,
    });
    inserted.filter(|key| matches!(key.kind, Kind::Key | Kind::Opened)).collect()
}

fn taken(sql: &mut Sql<'_>, write: &Write) -> bool {
    let keys = keys_of(write);
    let Some(before) = write.before.as_ref().filter(|_| !keys.is_empty()) else { return false };
    let place = sql.bind(int(before.place));
    let schema = &sql.names.schema;
    let of = |kind: Kind| -> Vec<&str> {
        keys.iter().filter(|key| key.kind == kind).map(RowKey::as_name).collect()
    };
    let mut parts = Vec::new();
    let (items, opened) = (of(Kind::Key), of(Kind::Opened));
    if !items.is_empty() {
        let items = sql.bind(items);
        parts.push(format!(
            "SELECT 0 AS kind, x.seq, x.key AS name, x.content FROM {schema}item x WHERE x.sid = {place} AND x.key = ANY ({items})"
        ));
    }
    if !opened.is_empty() {
        let opened = sql.bind(opened);
        parts.push(format!(
            "SELECT 1 AS kind, NULL::bigint AS seq, x.id AS name, NULL::bytea AS content FROM {schema}opened x \
             WHERE x.sid = {place} AND x.id = ANY ({opened})"
        ));
    }
    push!(sql, "taken AS MATERIALIZED ({}), ", parts.join(" UNION ALL "));
    true
}

/// Reads the row that already existed.
fn there(c: &mut Columns<'_>) -> Result<Option<Row>, Fault> {
    let (kind, seq): (Option<i32>, Option<i64>) = (c.take()?, c.take()?);
    let (name, content): (Option<String>, Option<Vec<u8>>) = (c.take()?, c.take()?);
    let wrong = |what: &str, why: &dyn std::fmt::Display| Fault::Corrupt(format!("{what}: {why}"));
    match (kind, seq, name, content) {
        (Some(0), Some(seq), Some(key), Some(content)) => {
            let seq = InboxSeq(u64::try_from(seq).map_err(|why| wrong("item: seq", &why))?);
            let key: ItemKey =
                key.parse().map_err(|why: holdover_store::ids::InvalidId| wrong("item: key", &why))?;
            let content =
                <[u8; 32]>::try_from(content).map_err(|_| wrong("item: content", &"it is no digest"))?;
            Ok(Some(Row::Key { key, seq, content: Digest(content) }))
        }
        (Some(1), _, Some(id), _) => {
            let id = id.parse().map_err(|why: holdover_store::ids::InvalidId| wrong("opened: id", &why))?;
            Ok(Some(Row::Opened(id)))
        }
        (_, _, _, _) => Ok(None),
    }
}

/// Adds the source of a fork, and locks it against removal. Commits of the source are not blocked.
fn source(sql: &mut Sql<'_>, prefix: &Prefix) {
    let place = sql.bind(int(prefix.place));
    let (tenant, id) = (sql.bind(prefix.from.tenant.as_str()), sql.bind(prefix.from.id.as_str()));
    let life = sql.bind(prefix.life.0.as_bytes().as_slice());
    let checkpoint = sql.bind(int(prefix.last_checkpoint));
    let schema = &sql.names.schema;
    push!(
        sql,
        "source AS MATERIALIZED (SELECT s.sid FROM {schema}session s WHERE s.sid = {place} AND s.tenant = {tenant} \
         AND s.id = {id} AND s.incarnation = {life} AND s.dead_since IS NULL AND EXISTS ( \
             SELECT FROM {schema}checkpoint x WHERE x.sid = {place} AND x.id = {checkpoint}) FOR KEY SHARE OF s), "
    );
}

/// Copies the prefix of the source. The copied rows never change, and existed when the statement began.
fn copy(sql: &mut Sql<'_>, prefix: &Prefix) {
    let parts = [
        ("message", "seq", "seq, at, digest, payload", int(prefix.last_message.0)),
        ("event", "seq", "seq, at, digest, payload, sizes", int(prefix.last_event.0)),
        (
            "checkpoint",
            "id",
            "id, epoch, last_message, last_event, at, format, digest, payload",
            int(prefix.last_checkpoint),
        ),
    ];
    for (table, place, columns, last) in parts {
        let last = sql.bind(last);
        let schema = &sql.names.schema;
        let copied = columns.replace(", ", ", x.");
        push!(
            sql,
            ", copied_{table} AS (INSERT INTO {schema}{table} (sid, {columns}) SELECT s.sid, x.{copied} \
             FROM s CROSS JOIN source CROSS JOIN LATERAL ( \
                 SELECT x.* FROM {schema}{table} x WHERE x.sid = source.sid AND x.{place} <= {last}) x)"
        );
    }
}

/// Removes every row of the incarnation that ends.
fn clear_all(sql: &mut Sql<'_>, place: Param) {
    let schema = &sql.names.schema;
    let kinds = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Key);
    for name in kinds.map(|kind| table(kind).name) {
        push!(
            sql,
            ", end_{name} AS (DELETE FROM {schema}{name} x WHERE x.sid = {place} AND EXISTS (SELECT FROM s))"
        );
    }
}
