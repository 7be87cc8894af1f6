//! Writing one session: one statement, which the row of the session decides.
//!
//! The first member of the statement finds and locks the row if it has the token that the write was decided on; a row
//! that another transaction has changed meanwhile is compared as that left it. The clock is read when the lock is held. All
//! other members follow from the row that the second writes, so they do nothing where it did nothing. They see what stood
//! there when the statement began, which is what the write was decided on as long as the token is the same: every write of
//! the session replaces it.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdover_store::ids::{InboxSeq, ItemKey, SessionKey};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rows::{Kind, Op, Prefix, Row, RowKey, Verdict, Write};
use holdover_store::time::Timestamp;
use holdover_store::{ItemKind, PendingCall, RunRecord, StoredItem, Wake};
use sqlx::postgres::PgRow;

use super::kinds::{table, wake_name};
use super::session::bind_slot;
use crate::call::Call;
use crate::columns::Columns;
use crate::error::Fault;
use crate::hints;
use crate::sql::{Param, Sql, int, push};

/// A write that waited for its row for so many milliseconds is decided anew, by the clock after the wait.
const WAITED_MS: i64 = 10;

/// Applies a write.
pub(super) struct Apply {
    write: Arc<Write>,
    /// Whether all rows go that are there.
    clears: bool,
}

impl Apply {
    pub(super) fn new(write: Arc<Write>) -> Self {
        let clears = write.ends_life();
        Self { write, clears }
    }

    /// The removal of a session of which the write does not say that there is one.
    pub(super) fn removal(write: Arc<Write>) -> Self {
        Self { write, clears: true }
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
                    Some(columns) => update(sql, write, &columns, &only),
                    None => delete(sql, &only),
                }
                if self.clears {
                    clear_all(sql, place);
                }
            }
            (None, Some(after)) => {
                let columns = bind_slot(sql, after).unwrap_or_default();
                insert(sql, write, &columns, times);
            }
            (None, None) => push!(
                sql,
                "ok AS (SELECT NULL::bigint AS at WHERE false), s AS (SELECT NULL::bigint AS sid, NULL::bigint AS at)"
            ),
        }
        if write.row_after().is_some() {
            if let Some(prefix) = &write.copy {
                copy(sql, prefix);
            }
            rows(sql, &write.ops);
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

    /// A creation that waited for another one until its time was over fails on purpose, so that nothing of it stays.
    fn is_answered_by(&self, fault: &Fault) -> Option<Verdict> {
        fault.is_out_of_time().then_some(Verdict::Lost)
    }
}

/// The row of the session, locked, if it has the token; and the clock once it is locked. A holder of the lock that
/// changed nothing leaves the token as it was: what was decided before a long wait for it is decided anew. Whoever `clears`
/// waits for those who copy from it.
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
    let skip = if skip_held { " SKIP LOCKED" } else { "" };
    push!(
        sql,
        "held AS MATERIALIZED (SELECT h.sid, {clock} AS at, clock_timestamp() - statement_timestamp() AS waited FROM ( \
             SELECT s.sid FROM {schema}session s WHERE s.sid = {place} AND s.token = {token} {lock}{skip}) h), \
         ok AS MATERIALIZED (SELECT h.sid, h.at FROM held h WHERE h.at >= {from} AND h.at < {until} \
             AND h.waited < interval '{WAITED_MS} milliseconds')"
    );
}

fn update(sql: &mut Sql<'_>, write: &Write, columns: &[(&'static str, String)], only: &str) {
    let schema = &sql.names.schema;
    let set: Vec<String> = columns.iter().map(|(column, value)| format!("{column} = {value}")).collect();
    // Another life in the place of one that ends gets another number: rows of both stand there for a moment.
    let place = if write.ends_life() && write.row_after().is_some() { ", sid = DEFAULT" } else { "" };
    push!(
        sql,
        ", s AS (UPDATE {schema}session t SET {}{place} FROM ok WHERE t.sid = ok.sid{only} RETURNING t.sid, ok.at)",
        set.join(", ")
    );
}

fn delete(sql: &mut Sql<'_>, only: &str) {
    let schema = &sql.names.schema;
    push!(
        sql,
        ", s AS (DELETE FROM {schema}session t USING ok WHERE t.sid = ok.sid{only} RETURNING t.sid, ok.at)"
    );
}

/// The row of a key under which nothing stands. Whoever is there first, or comes in between, wins.
fn insert(
    sql: &mut Sql<'_>,
    write: &Write,
    columns: &[(&'static str, String)],
    (from, until): (Param, Param),
) {
    let (tenant, id) = (sql.bind(write.key.tenant.as_str()), sql.bind(write.key.id.as_str()));
    let (schema, clock) = (&sql.names.schema, &sql.names.clock);
    let names: Vec<&str> = columns.iter().map(|(column, _)| *column).collect();
    let values: Vec<&str> = columns.iter().map(|(_, value)| value.as_str()).collect();
    let only = if write.copy.is_some() { " WHERE EXISTS (SELECT FROM source)" } else { "" };
    push!(
        sql,
        "c AS MATERIALIZED (SELECT {clock} AS at), \
         ok AS MATERIALIZED (SELECT c.at FROM c WHERE c.at >= {from} AND c.at < {until}), \
         s AS (INSERT INTO {schema}session (tenant, id, {}) SELECT {tenant}, {id}, {} FROM ok{only} \
             ON CONFLICT (tenant, id) DO NOTHING RETURNING sid, {clock} AS at)",
        names.join(", "),
        values.join(", ")
    );
}

/// What is answered: nothing if the row is not the one that was expected, or the clock is out of time.
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

/// Tells whoever listens that the session changed, and whether its alarm rings now.
fn hint(sql: &mut Sql<'_>, write: &Write) -> String {
    let Some(channel) = sql.names.channel.clone() else { return "NULL::boolean".into() };
    let alarm = |row: Option<&holdover_store::rules::SessionRow>| row.and_then(|row| row.alarm);
    let (before, after) = (alarm(write.row_before()), alarm(write.row_after()));
    let due = before != after && after.is_some_and(|at| at <= write.from);
    let channel = sql.bind(&*channel);
    let payload = sql.bind(hints::payload(&write.key, due));
    format!("CASE WHEN s.sid IS NOT NULL THEN pg_notify({channel}, {payload}) IS NULL END")
}

/// What may be there already of that which is to be inserted.
fn keys_of(write: &Write) -> Vec<RowKey> {
    // A life that begins has no rows.
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

/// The row that was there already.
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

/// The session that a fork is made of. It is not removed before the fork is there; its commits go on.
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

/// Copies its beginning. What is copied is never changed, and stood there when the statement began.
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

/// Removes every row of the life that ends.
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

/// The operations of a write, by kind: so there is a member for each kind, however many rows there are.
fn rows(sql: &mut Sql<'_>, ops: &[Op]) {
    let mut written: BTreeMap<Kind, Vec<&Row>> = BTreeMap::new();
    let mut deleted: BTreeMap<Kind, Vec<&RowKey>> = BTreeMap::new();
    for op in ops {
        match op {
            // An item and its key are one row, which the item brings.
            Op::Insert(Row::Key { .. }) | Op::Put(Row::Key { .. }) => {}
            Op::Put(row) | Op::Insert(row) => written.entry(row.key().kind).or_default().push(row),
            Op::Delete(key) => deleted.entry(key.kind).or_default().push(key),
            Op::DeleteUpTo(kind, last) => {
                let last = sql.bind(int(*last));
                remove(sql, *kind, "up_to", &format!("x.{} <= {last}", table(*kind).place));
            }
            Op::Clear(_) => {}
        }
    }
    for op in ops {
        if let Op::Clear(kind) = op {
            clear(sql, *kind, written.get(kind).map_or(&[], Vec::as_slice));
        }
    }
    for (kind, keys) in deleted {
        let place = table(kind).place;
        let found = if place.is_empty() {
            "true".to_owned()
        } else if keys.iter().any(|key| key.as_name().is_empty()) {
            let numbers = sql.bind(keys.iter().map(|key| int(key.as_number())).collect::<Vec<_>>());
            format!("x.{place} = ANY ({numbers})")
        } else {
            let names = sql.bind(keys.iter().map(|key| key.as_name()).collect::<Vec<_>>());
            format!("x.{place} = ANY ({names})")
        };
        remove(sql, kind, "named", &found);
    }
    for (kind, rows) in written {
        put(sql, kind, &rows);
    }
}

/// Removes all rows of a kind but those that the same write puts in their place: no statement may change a row twice.
fn clear(sql: &mut Sql<'_>, kind: Kind, written: &[&Row]) {
    let place = table(kind).place;
    let keys: Vec<RowKey> = written.iter().map(|row| row.key()).collect();
    let found = if keys.is_empty() || place.is_empty() {
        "true".to_owned()
    } else if keys.iter().any(|key| key.as_name().is_empty()) {
        let numbers = sql.bind(keys.iter().map(|key| int(key.as_number())).collect::<Vec<_>>());
        format!("x.{place} <> ALL ({numbers})")
    } else {
        let names = sql.bind(keys.iter().map(RowKey::as_name).collect::<Vec<_>>());
        format!("x.{place} <> ALL ({names})")
    };
    remove(sql, kind, "all", &found);
}

/// Removes rows. Of an item that is consumed the key stays.
fn remove(sql: &mut Sql<'_>, kind: Kind, how: &str, found: &str) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    if kind == Kind::Item {
        push!(
            sql,
            ", {how}_{name} AS (UPDATE {schema}{name} x SET payload = NULL, digest = NULL FROM s \
             WHERE x.sid = s.sid AND x.payload IS NOT NULL AND {found})"
        );
    } else {
        push!(
            sql,
            ", {how}_{name} AS (DELETE FROM {schema}{name} x USING s WHERE x.sid = s.sid AND {found})"
        );
    }
}

/// Writes rows of one kind.
fn put(sql: &mut Sql<'_>, kind: Kind, rows: &[&Row]) {
    match kind {
        Kind::Labels => {
            let labels = rows.iter().filter_map(|row| match row {
                Row::Labels(labels) => Some(labels),
                _ => None,
            });
            let labels: Vec<(&String, &String)> = labels.flat_map(|labels| &labels.0).collect();
            let names = sql.bind(labels.iter().map(|(name, _)| name.as_bytes()).collect::<Vec<_>>());
            let values = sql.bind(labels.iter().map(|(_, value)| value.as_bytes()).collect::<Vec<_>>());
            into(sql, kind, "name, value", &[names, values], "(name) value = excluded.value");
        }
        Kind::Definition | Kind::State => {
            for row in rows {
                if let Row::Definition(payload) | Row::State(payload) = row {
                    let (digest, payload) = sql.bind_payload(payload);
                    one(
                        sql,
                        kind,
                        "digest, payload",
                        &[digest, payload],
                        "digest = excluded.digest, payload = excluded.payload",
                    );
                }
            }
        }
        Kind::Message => {
            let messages: Vec<_> = rows
                .iter()
                .filter_map(|row| match row {
                    Row::Message(message) => Some(message),
                    _ => None,
                })
                .collect();
            let seqs = sql.bind(messages.iter().map(|message| int(message.seq.0)).collect::<Vec<_>>());
            let at = sql.bind(messages.iter().map(|message| message.at.as_ms()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(messages.iter().map(|message| &message.payload));
            into(sql, kind, "seq, at, digest, payload", &[seqs, at, digests, payloads], "");
        }
        Kind::Events => rows.iter().for_each(|row| events(sql, row)),
        Kind::Item => items(sql, rows),
        // An item brings its key.
        Kind::Key => {}
        Kind::Staged => {
            let staged: Vec<_> = rows
                .iter()
                .filter_map(|row| match row {
                    Row::Staged(staged) => Some(staged),
                    _ => None,
                })
                .collect();
            let calls = sql.bind(staged.iter().map(|staged| staged.call.as_str()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(staged.iter().map(|staged| &staged.payload));
            let replace = "(call) digest = excluded.digest, payload = excluded.payload";
            into(sql, kind, "call, digest, payload", &[calls, digests, payloads], replace);
        }
        Kind::Start | Kind::Opened => {
            let keys: Vec<RowKey> = rows.iter().map(|row| row.key()).collect();
            let names = sql.bind(keys.iter().map(RowKey::as_name).collect::<Vec<_>>());
            let (column, replace) = if kind == Kind::Start { ("call", "(call) nothing") } else { ("id", "") };
            into(sql, kind, column, &[names], replace);
        }
        Kind::Pending => pending(sql, rows),
        Kind::Run => runs(sql, rows),
        Kind::Checkpoint => {
            for row in rows {
                let Row::Checkpoint(checkpoint) = row else { continue };
                let numbers = [
                    int(checkpoint.id.0),
                    int(checkpoint.epoch.0),
                    int(checkpoint.last_message.0),
                    int(checkpoint.last_event.0),
                    checkpoint.at.as_ms(),
                    i64::from(checkpoint.format.0),
                ];
                let mut values: Vec<Param> = numbers.into_iter().map(|number| sql.bind(number)).collect();
                let (digest, payload) = sql.bind_payload(&checkpoint.state);
                values.extend([digest, payload]);
                one(
                    sql,
                    kind,
                    "id, epoch, last_message, last_event, at, format, digest, payload",
                    &values,
                    "",
                );
            }
        }
        Kind::Delta => {
            let deltas: Vec<_> = rows
                .iter()
                .filter_map(|row| match row {
                    Row::Delta(delta) => Some(delta),
                    _ => None,
                })
                .collect();
            let places = sql.bind(deltas.iter().map(|delta| int(delta.place)).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(deltas.iter().map(|delta| &delta.payload));
            let replace = "(place) digest = excluded.digest, payload = excluded.payload";
            into(sql, kind, "place, digest, payload", &[places, digests, payloads], replace);
        }
    }
}

/// Writes rows whose columns are arrays. `replace`: by what column a row is known that may be there, and what is done then.
fn into(sql: &mut Sql<'_>, kind: Kind, columns: &str, values: &[Param], replace: &str) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    let values: Vec<String> = values.iter().map(Param::to_string).collect();
    let selected = columns.replace(", ", ", v.");
    push!(
        sql,
        ", put_{name} AS (INSERT INTO {schema}{name} (sid, {columns}) SELECT s.sid, v.{selected} \
         FROM s CROSS JOIN unnest({}) AS v ({columns})",
        values.join(", ")
    );
    match replace.split_once(") ") {
        None => {}
        Some((key, "nothing")) => push!(sql, " ON CONFLICT (sid, {}) DO NOTHING", &key[1..]),
        Some((key, set)) => push!(sql, " ON CONFLICT (sid, {}) DO UPDATE SET {set}", &key[1..]),
    }
    push!(sql, ")");
}

/// Writes one row. `replace`: what is done if it is there, where there is but one in a session.
fn one(sql: &mut Sql<'_>, kind: Kind, columns: &str, values: &[Param], replace: &str) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    let nth = values.first().map_or_else(String::new, |value| value.to_string().replace('$', "_"));
    let values: Vec<String> = values.iter().map(Param::to_string).collect();
    push!(
        sql,
        ", put_{name}{nth} AS (INSERT INTO {schema}{name} (sid, {columns}) SELECT s.sid, {} FROM s",
        values.join(", ")
    );
    if !replace.is_empty() {
        push!(sql, " ON CONFLICT (sid) DO UPDATE SET {replace}");
    }
    push!(sql, ")");
}

/// The events of one commit are one row: their bytes one after another.
fn events(sql: &mut Sql<'_>, row: &Row) {
    let Row::Events(batch) = row else { return };
    let (joined, sizes) = match batch.payloads.as_slice() {
        [one] => (one.clone(), None),
        all => {
            let bytes: Vec<u8> = all.iter().flat_map(|event| event.bytes().iter().copied()).collect();
            let sizes: Vec<i64> = all.iter().map(|event| int(event.len() as u64)).collect();
            (Payload::new(bytes), Some(sizes))
        }
    };
    let (seq, at) = (sql.bind(int(batch.last.0)), sql.bind(batch.at.as_ms()));
    let (digest, payload) = sql.bind_payload(&joined);
    let sizes = sql.bind(sizes);
    one(sql, Kind::Events, "seq, at, digest, payload, sizes", &[seq, at, digest, payload, sizes], "");
}

fn items(sql: &mut Sql<'_>, rows: &[&Row]) {
    let items: Vec<(&StoredItem, Wake, &Digest)> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Item { item, wake, content } => Some((item, *wake, content)),
            _ => None,
        })
        .collect();
    let answer = |item: &StoredItem| match &item.kind {
        ItemKind::Message { .. } | ItemKind::Signal { .. } => (None, false),
        ItemKind::Answer { pending, settles } => (Some(pending.to_string()), *settles),
    };
    let mut values = vec![
        sql.bind(items.iter().map(|(item, ..)| int(item.seq.0)).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.key.as_str()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(_, _, content)| content.0.as_slice()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.kind.as_str()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(_, wake, _)| wake_name(*wake)).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| answer(item).0).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| answer(item).1).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.at.as_ms()).collect::<Vec<_>>()),
    ];
    let (digests, payloads) = sql.bind_payloads(items.iter().map(|(item, ..)| &item.payload));
    values.extend([digests, payloads]);
    into(
        sql,
        Kind::Item,
        "seq, key, content, kind, wake, pending, settles, at, digest, payload",
        &values,
        "",
    );
}

fn pending(sql: &mut Sql<'_>, rows: &[&Row]) {
    let calls: Vec<(i64, &PendingCall)> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Pending { order, call } => Some((int(*order), call)),
            _ => None,
        })
        .collect();
    let deadline = |call: &PendingCall| call.deadline.unwrap_or_default().as_ms();
    let mut values = vec![
        sql.bind(calls.iter().map(|(order, _)| *order).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.key.tenant.as_str()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.key.id.as_str()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.incarnation.0.as_bytes().as_slice()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.id.as_str()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.call.as_str()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.kind.as_str()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| i64::from(call.needed)).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| i64::from(call.answered)).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| int(call.last_answer.0)).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.deadline.is_none()).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| deadline(call)).collect::<Vec<_>>()),
        sql.bind(calls.iter().map(|(_, call)| call.opened_at.as_ms()).collect::<Vec<_>>()),
    ];
    let (digests, payloads) = sql.bind_payloads(calls.iter().map(|(_, call)| &call.body));
    values.extend([digests, payloads]);
    into(
        sql,
        Kind::Pending,
        "place, tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless, deadline, \
         opened_at, digest, payload",
        &values,
        "(id) place = excluded.place, incarnation = excluded.incarnation, call = excluded.call, kind = excluded.kind, \
         needed = excluded.needed, answered = excluded.answered, last_answer = excluded.last_answer, \
         endless = excluded.endless, deadline = excluded.deadline, opened_at = excluded.opened_at, \
         digest = excluded.digest, payload = excluded.payload",
    );
}

fn runs(sql: &mut Sql<'_>, rows: &[&Row]) {
    let runs: Vec<&RunRecord> = rows
        .iter()
        .filter_map(|row| match row {
            Row::Run(run) => Some(run),
            _ => None,
        })
        .collect();
    let mut values = vec![
        sql.bind(runs.iter().map(|run| int(run.epoch.0)).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.run.as_str()).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.worker.as_str()).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.found.as_str()).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.parent.map(|parent| int(parent.0))).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.started_at.as_ms()).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.end.as_ref().map(|end| end.at.as_ms())).collect::<Vec<_>>()),
        sql.bind(runs.iter().map(|run| run.end.as_ref().map(|end| end.outcome.as_str())).collect::<Vec<_>>()),
    ];
    let details = runs.iter().map(|run| run.end.as_ref().and_then(|end| end.detail.as_ref()));
    let (digests, details) = sql.bind_some_payloads(details);
    values.extend([digests, details]);
    into(
        sql,
        Kind::Run,
        "epoch, run, worker, found, parent, started_at, ended_at, outcome, digest, detail",
        &values,
        "(epoch) run = excluded.run, worker = excluded.worker, found = excluded.found, parent = excluded.parent, \
         started_at = excluded.started_at, ended_at = excluded.ended_at, outcome = excluded.outcome, \
         digest = excluded.digest, detail = excluded.detail",
    );
}
