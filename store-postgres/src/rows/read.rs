//! Reads sessions with their wanted rows in one statement, and so in one snapshot and one exchange.
//!
//! Each row of the answer is packed: session, want, numbers, texts, bytes, digest, payload. So rows of every kind
//! fit into one answer, and payloads arrive as they are stored.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdover_store::Labels;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, Kind, Row, Slot, Want, Which, read_wants};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use sqlx::postgres::PgRow;

use super::kinds::{can_be_light, label, row, table};
use super::session::{SLOT, slot};
use crate::call::Call;
use crate::columns::{Columns, PACKED, Packed};
use crate::error::Fault;
use crate::sql::{Sql, int, push};

/// The want numbers of the row with the clock, and of the rows of sessions.
const CLOCK: i32 = -2;
pub(super) const SESSION: i32 = -1;

/// The most messages that one range of a read returns. To get more, the caller continues where the range ended.
const MESSAGES_MAX: i64 = 10_000;

/// A call that reads one session.
pub(super) struct ReadOne {
    pub(super) key: SessionKey,
    pub(super) wants: Vec<Want>,
}

impl Call for ReadOne {
    type Outcome = Found;

    fn operation(&self) -> &'static str {
        "read"
    }

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn statement(&self, sql: &mut Sql<'_>) {
        let (tenant, id) = (sql.bind(self.key.tenant.as_str()), sql.bind(self.key.id.as_str()));
        let schema = &sql.names.schema;
        push!(
            sql,
            "WITH s AS MATERIALIZED (SELECT 0::bigint AS nth, t.* FROM {schema}session t \
             WHERE t.tenant = {tenant} AND t.id = {id})"
        );
        select(sql, &self.wants);
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Found, Fault> {
        let (now, mut found) = all_found(rows, &self.wants)?;
        match found.pop_first() {
            Some((_, found)) => found,
            None => Ok(Found { now, slot: None, rows: self.wants.iter().map(|_| Vec::new()).collect() }),
        }
    }
}

/// Selects the clock, the sessions in `s`, and the wanted rows of each.
pub(super) fn select(sql: &mut Sql<'_>, wants: &[Want]) {
    let clock = &sql.names.clock;
    push!(sql, " SELECT 0::bigint AS nth, {CLOCK} AS want, ARRAY[{clock}]::bigint[] AS n, {PACKED}");
    push!(sql, " UNION ALL SELECT s.nth, {SESSION}, {SLOT} FROM s");
    let mut groups: BTreeMap<Group, Vec<(usize, &Want)>> = BTreeMap::new();
    for (nth, want) in wants.iter().enumerate() {
        groups.entry(Group::of(want, nth)).or_default().push((nth, want));
    }
    for (group, wants) in groups {
        group.select(sql, &wants);
    }
}

/// Wants that one branch of the statement serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    kind: Kind,
    way: Way,
    light: bool,
}

/// The way in which rows are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// All rows, for the want with this number.
    All(usize),
    /// By ranges of numbers, `descending` or not, and with a limit of bytes (`bound`) or not.
    Ranges { descending: bool, bound: bool },
    /// By names.
    Names,
}

impl Group {
    fn of(want: &Want, nth: usize) -> Self {
        let numbered = is_numbered(want.kind);
        let bound = want.bytes != usize::MAX;
        let way = match &want.which {
            Which::All if numbered && (bound || want.rows != usize::MAX) => {
                Way::Ranges { descending: false, bound }
            }
            Which::All => Way::All(nth),
            Which::Numbers(..) => Way::Ranges { descending: false, bound },
            Which::Descending(..) => Way::Ranges { descending: true, bound },
            Which::Names(_) => Way::Names,
        };
        Self { kind: want.kind, way, light: want.light && can_be_light(want.kind) }
    }

    fn select(self, sql: &mut Sql<'_>, wants: &[(usize, &Want)]) {
        let t = table(self.kind);
        let (digest, payload) = if self.light { ("NULL", "NULL") } else { (t.digest, t.payload) };
        let columns = format!(
            "{}::bigint[], {}::text[], {}::bytea[], {digest}::bytea, {payload}::bytea",
            t.numbers, t.texts, t.bytes
        );
        let from = format!("{}{} x", sql.names.schema, t.name);
        let (place, only) = (t.place, t.only);
        let indexes =
            || wants.iter().map(|(nth, _)| i32::try_from(*nth).unwrap_or(i32::MAX)).collect::<Vec<_>>();
        match self.way {
            Way::All(nth) => {
                let order = if place.is_empty() { String::new() } else { format!(" ORDER BY x.{place}") };
                push!(
                    sql,
                    " UNION ALL (SELECT s.nth, {nth}, {columns} FROM s CROSS JOIN LATERAL \
                     (SELECT x.* FROM {from} WHERE x.sid = s.sid{only}{order}) x)"
                );
            }
            Way::Names => {
                let (mut nths, mut names) = (Vec::new(), Vec::new());
                for (nth, want) in wants {
                    let Which::Names(wanted) = &want.which else { continue };
                    nths.extend(wanted.iter().map(|_| i32::try_from(*nth).unwrap_or(i32::MAX)));
                    names.extend(wanted.iter().map(String::as_str));
                }
                let (nths, names) = (sql.bind(nths), sql.bind(names));
                push!(
                    sql,
                    " UNION ALL (SELECT s.nth, q.want, {columns} FROM s CROSS JOIN unnest({nths}, {names}) AS q (want, name) \
                     CROSS JOIN LATERAL (SELECT x.* FROM {from} WHERE x.sid = s.sid AND x.{place} = q.name{only}) x)"
                );
            }
            Way::Ranges { descending, bound } => {
                let most = if self.kind == Kind::Message { MESSAGES_MAX } else { i64::MAX };
                let range = |want: &Want| match want.which {
                    Which::Numbers(from, to) | Which::Descending(from, to) => (int(from), int(to)),
                    Which::All | Which::Names(_) => (0, i64::MAX),
                };
                let nths = sql.bind(indexes());
                let from_to: Vec<_> = wants.iter().map(|(_, want)| range(want)).collect();
                let lows = sql.bind(from_to.iter().map(|(from, _)| *from).collect::<Vec<_>>());
                let highs = sql.bind(from_to.iter().map(|(_, to)| *to).collect::<Vec<_>>());
                let count = |rows: usize| int(rows as u64);
                let rows: Vec<_> = wants.iter().map(|(_, want)| count(want.rows).min(most)).collect();
                let rows = sql.bind(rows);
                let order = if descending { " DESC" } else { "" };
                let found = |of: &str| {
                    format!(
                        "CROSS JOIN LATERAL (SELECT {of} FROM {from} WHERE x.sid = s.sid AND x.{place} BETWEEN q.low AND q.high{only} \
                         ORDER BY x.{place}{order} LIMIT q.most) x"
                    )
                };
                if !bound {
                    let found = found("x.*");
                    push!(
                        sql,
                        " UNION ALL (SELECT s.nth, q.want, {columns} FROM s \
                         CROSS JOIN unnest({nths}, {lows}, {highs}, {rows}) AS q (want, low, high, most) {found})"
                    );
                    return;
                }
                // First the rows within the limit of bytes are found by lengths alone, without reading payloads.
                // Then the rows are read.
                let bytes = sql.bind(wants.iter().map(|(_, want)| count(want.bytes)).collect::<Vec<_>>());
                let found =
                    found(&format!("x.{place} AS place, octet_length({})::bigint AS size", t.payload));
                push!(
                    sql,
                    " UNION ALL (SELECT y.nth, y.want, {columns} FROM ( \
                         SELECT s.nth, s.sid, q.want, q.bytes, x.place, coalesce(sum(x.size) OVER ( \
                             PARTITION BY s.nth ORDER BY q.want, x.place{order} \
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS before \
                         FROM s CROSS JOIN unnest({nths}, {lows}, {highs}, {rows}, {bytes}) \
                             AS q (want, low, high, most, bytes) {found} \
                     ) y JOIN {from} ON x.sid = y.sid AND x.{place} = y.place{only} WHERE y.before < y.bytes \
                     ORDER BY y.nth, y.want, y.place{order})"
                );
            }
        }
    }
}

fn is_numbered(kind: Kind) -> bool {
    match kind {
        Kind::Message | Kind::Events | Kind::Item | Kind::Run | Kind::Checkpoint | Kind::Delta => true,
        Kind::Labels
        | Kind::Definition
        | Kind::State
        | Kind::Key
        | Kind::Staged
        | Kind::Start
        | Kind::Pending
        | Kind::Opened => false,
    }
}

/// A session of the answer, as far as it can be read.
struct Read {
    slot: Result<Slot, Fault>,
    rows: Vec<Vec<Row>>,
    labels: Vec<(String, String)>,
}

/// Sessions by their numbers in an answer. An unreadable session is a fault in its place.
type Numbered = BTreeMap<i64, Result<Found, Fault>>;

/// Decodes an answer: the clock, and the sessions by number. An unreadable session does not affect the others.
pub(super) fn all_found(rows: &[PgRow], wants: &[Want]) -> Result<(Timestamp, Numbered), Fault> {
    let mut now = None;
    let mut sessions: BTreeMap<i64, Read> = BTreeMap::new();
    for one in rows {
        let mut c = Columns::of(one);
        let (nth, want): (i64, i32) = (c.take()?, c.take()?);
        match usize::try_from(want) {
            Err(_) if want == CLOCK => now = Some(Packed::read(&mut c, "")?.at("clock")?),
            Err(_) if want == SESSION => {
                let rows = wants.iter().map(|_| Vec::new()).collect();
                let slot = Packed::read(&mut c, "").and_then(slot);
                sessions.insert(nth, Read { slot, rows, labels: Vec::new() });
            }
            // An additional row of the statement.
            Err(_) => {}
            Ok(want) => {
                let Some(session) = sessions.get_mut(&nth) else { continue };
                if let Err(fault) = session.add(&mut c, want, wants) {
                    session.slot = Err(fault);
                }
            }
        }
    }
    let now = now.ok_or_else(|| Fault::Corrupt("the database answered nothing".into()))?;
    let found = |(nth, session): (i64, Read)| (nth, session.found(now, wants));
    Ok((now, sessions.into_iter().map(found).collect()))
}

impl Read {
    /// Adds a row for the want of this number.
    fn add(&mut self, c: &mut Columns<'_>, nth: usize, wants: &[Want]) -> Result<(), Fault> {
        // If an earlier row was unreadable, the session is already a fault. A dead slot has no rows.
        let Ok(Slot { row: Some(of), .. }) = &self.slot else { return Ok(()) };
        let (Some(want), Some(rows)) = (wants.get(nth), self.rows.get_mut(nth)) else { return Ok(()) };
        read_row(c, want, of, rows, &mut self.labels)
    }

    fn found(self, now: Timestamp, wants: &[Want]) -> Result<Found, Fault> {
        let slot = self.slot?;
        let mut rows = self.rows;
        if !self.labels.is_empty() {
            let labels: Labels = self.labels.into_iter().collect();
            let of_labels = wants.iter().zip(&mut rows).filter(|(want, _)| want.kind == Kind::Labels);
            of_labels.for_each(|(_, rows)| rows.push(Row::Labels(labels.clone())));
        }
        // The statement may return more rows than the wants ask for.
        let mut rows = rows.into_iter();
        let of_want = |_| Ok::<_, Fault>(rows.next().unwrap_or_default().into_iter().map(Ok));
        let rows = read_wants(wants, of_want)?;
        Ok(Found { now, slot: Some(Arc::new(slot)), rows })
    }
}

fn read_row(
    c: &mut Columns<'_>,
    want: &Want,
    of: &SessionRow,
    rows: &mut Vec<Row>,
    labels: &mut Vec<(String, String)>,
) -> Result<(), Fault> {
    let packed = Packed::read(c, table(want.kind).name)?;
    if want.kind == Kind::Labels {
        labels.push(label(packed)?);
    } else {
        rows.push(row(want.kind, of, want.light && can_be_light(want.kind), packed)?);
    }
    Ok(())
}
