//! Reads the rows of one session.

use holdover_store::ids::{
    CheckpointId, Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, SessionKey, StateFormat,
};
use holdover_store::payload::Payload;
use holdover_store::rows::{EventBatch, Kind, Row, RowKey, Want, Which, item_kind, wake_named};
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, Labels, OutcomeKind, PendingCall, PendingKind, RunEnded, RunRecord, SessionStatus,
    StagedResult, StoredDelta, StoredItem, StoredMessage,
};
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use crate::columns::{Columns, int};
use crate::error::Fault;

/// The source of the rows of one kind: the columns (and those of a light read), the table, the column of a row's
/// place, a filter and the order.
pub(crate) struct From {
    columns: &'static str,
    light: &'static str,
    pub(crate) table: &'static str,
    pub(crate) place: &'static str,
    filter: &'static str,
    order: &'static str,
}

pub(crate) fn source(kind: Kind) -> From {
    let of = |columns, table, place| From { columns, light: columns, table, place, filter: "", order: place };
    match kind {
        Kind::Labels => of("name, value", "label", "name"),
        Kind::Definition => of("digest, payload", "definition", "sid"),
        Kind::State => of("digest, payload", "state", "sid"),
        Kind::Message => of("seq, at, digest, payload", "message", "seq"),
        Kind::Events => of("seq, at, digest, payload, sizes", "event", "seq"),
        Kind::Item => From {
            light: "seq, key, kind, wake, pending, settles, at, content, NULL, NULL",
            filter: " AND payload IS NOT NULL",
            ..of("seq, key, kind, wake, pending, settles, at, content, digest, payload", "item", "seq")
        },
        Kind::Key => of("key, seq, content", "item", "key"),
        Kind::Staged => of("call, digest, payload", "staged", "call"),
        Kind::Start => of("call", "start_mark", "call"),
        Kind::Pending => From {
            light: "pid, incarnation, id, call, kind, needed, answered, last_answer, endless, deadline, \
                    opened_at, NULL, NULL",
            ..of(
                "pid, incarnation, id, call, kind, needed, answered, last_answer, endless, deadline, opened_at, \
                 digest, payload",
                "pending",
                "id",
            )
        },
        Kind::Opened => of("id", "opened", "id"),
        Kind::Run => of(
            "epoch, run, worker, found, parent, started_at, ended_at, outcome, digest, detail",
            "run",
            "epoch",
        ),
        Kind::Checkpoint => From {
            light: "id, epoch, last_message, last_event, at, format, NULL, NULL",
            ..of("id, epoch, last_message, last_event, at, format, digest, payload", "checkpoint", "id")
        },
        Kind::Delta => of("place, digest, payload", "delta", "place"),
    }
}

/// Reads the wanted rows of the session in row `sid`, in the transaction that has read that row. `life` is the
/// incarnation of the session.
pub(crate) fn wanted(
    conn: &Connection,
    sid: i64,
    key: &SessionKey,
    life: Incarnation,
    wants: &[Want],
) -> Result<Vec<Vec<Row>>, Fault> {
    let mut read: Vec<(Kind, usize)> = Vec::new();
    let mut rows = Vec::with_capacity(wants.len());
    for want in wants {
        let before = read.iter().find(|(kind, _)| *kind == want.kind).map_or(0, |(_, bytes)| *bytes);
        let (found, bytes) = of_want(conn, sid, key, life, want, before)?;
        rows.push(found);
        read.retain(|(kind, _)| *kind != want.kind);
        read.push((want.kind, bytes));
    }
    Ok(rows)
}

/// Returns the row with this key, if it exists.
pub(crate) fn one(conn: &Connection, sid: i64, of: &SessionKey, key: &RowKey) -> Result<Option<Row>, Fault> {
    let want = match key.as_name() {
        "" => Want::number(key.kind, key.as_number()),
        name => Want::names(key.kind, vec![name.to_owned()]),
    };
    // Only kinds that are inserted conditionally are read here. Their rows do not contain the incarnation.
    let life = Incarnation(uuid::Uuid::nil());
    Ok(of_want(conn, sid, of, life, &want, 0)?.0.into_iter().next())
}

fn of_want(
    conn: &Connection,
    sid: i64,
    key: &SessionKey,
    life: Incarnation,
    want: &Want,
    mut bytes: usize,
) -> Result<(Vec<Row>, usize), Fault> {
    if want.rows == 0 || bytes >= want.bytes {
        return Ok((Vec::new(), bytes));
    }
    let from = source(want.kind);
    let columns = if want.light { from.light } else { from.columns };
    let From { table, place, filter, order, .. } = from;
    let mut values = vec![Value::from(sid)];
    let (condition, order) = match &want.which {
        Which::All => (String::new(), format!("{order} ASC")),
        Which::Numbers(from, to) => {
            values.extend([Value::from(int(*from)), Value::from(int(*to))]);
            (format!(" AND {place} BETWEEN ? AND ?"), format!("{order} ASC"))
        }
        Which::Descending(from, to) => {
            values.extend([Value::from(int(*from)), Value::from(int(*to))]);
            (format!(" AND {place} BETWEEN ? AND ?"), format!("{order} DESC"))
        }
        Which::Names(names) => {
            let list = serde_json::to_string(names).map_err(|error| Fault::Invalid(error.to_string()))?;
            values.push(Value::from(list));
            (format!(" AND {place} IN (SELECT value FROM json_each(?))"), format!("{order} ASC"))
        }
    };
    values.push(Value::from(i64::try_from(want.rows).unwrap_or(-1)));
    let sql =
        format!("SELECT {columns} FROM {table} WHERE sid = ?{filter}{condition} ORDER BY {order} LIMIT ?");
    let mut statement = conn.prepare_cached(&sql)?;
    let mut found = statement.query(params_from_iter(values))?;
    let mut rows: Vec<Row> = Vec::new();
    while let Some(row) = found.next()? {
        if let Some(row) = decode(want.kind, &mut Columns::of(row), key, life, want.light, &mut rows)? {
            bytes += row.payload_bytes();
            rows.push(row);
        }
        if bytes >= want.bytes {
            break;
        }
    }
    if want.kind == Kind::Labels && rows.is_empty() {
        rows.push(Row::Labels(Labels::default()));
    }
    Ok((rows, bytes))
}

/// Decodes one row. Returns none if it was merged into the row before it, as labels are.
fn decode(
    kind: Kind,
    c: &mut Columns<'_>,
    key: &SessionKey,
    life: Incarnation,
    light: bool,
    rows: &mut [Row],
) -> Result<Option<Row>, Fault> {
    Ok(Some(match kind {
        Kind::Labels => {
            let (name, value) = (c.text()?, c.text()?);
            if let Some(Row::Labels(labels)) = rows.last_mut() {
                labels.0.insert(name, value);
                return Ok(None);
            }
            Row::Labels([(name, value)].into_iter().collect())
        }
        Kind::Definition => Row::Definition(c.payload()?),
        Kind::State => Row::State(c.payload()?),
        Kind::Message => {
            Row::Message(StoredMessage { seq: MessageSeq(c.count()?), at: c.at()?, payload: c.payload()? })
        }
        Kind::Events => Row::Events(events(c)?),
        Kind::Item => item(c, light)?,
        Kind::Key => Row::Key { key: c.id()?, seq: InboxSeq(c.count()?), content: c.digest()? },
        Kind::Staged => Row::Staged(StagedResult { call: c.id()?, payload: c.payload()? }),
        Kind::Start => Row::Start(c.id()?),
        Kind::Pending => {
            let order = c.count()?;
            Row::Pending { order, call: pending(c, key.clone(), light)? }
        }
        Kind::Opened => Row::Opened(c.id()?),
        Kind::Run => Row::Run(run(c)?),
        Kind::Checkpoint => Row::Checkpoint(Checkpoint {
            id: CheckpointId(c.count()?),
            incarnation: life,
            epoch: Epoch(c.count()?),
            last_message: MessageSeq(c.count()?),
            last_event: EventSeq(c.count()?),
            at: c.at()?,
            format: StateFormat(c.count()?),
            state: body(c, light)?,
        }),
        Kind::Delta => Row::Delta(StoredDelta { place: c.count()?, payload: c.payload()? }),
    }))
}

fn body(c: &mut Columns<'_>, light: bool) -> Result<Payload, Fault> {
    if light { Ok(Payload::empty()) } else { c.payload() }
}

fn events(c: &mut Columns<'_>) -> Result<EventBatch, Fault> {
    let (last, at, payload) = (EventSeq(c.count()?), c.at()?, c.payload()?);
    let sizes = c.record_or_null::<Vec<usize>>()?;
    let may_be = |sizes: &[usize]| !sizes.is_empty() && (sizes.len() as u64) <= last.0;
    let payloads = match sizes {
        Some(sizes) => EventBatch::split(payload, &sizes).filter(|_| may_be(&sizes)),
        None => Some(vec![payload]),
    };
    let torn = || Fault::Corrupt(format!("event {last}: its sizes do not go with its payload"));
    Ok(EventBatch { last, at, payloads: payloads.ok_or_else(torn)? })
}

fn item(c: &mut Columns<'_>, light: bool) -> Result<Row, Fault> {
    let (seq, key, name) = (InboxSeq(c.count()?), c.id()?, c.text()?);
    let (wake, pending, settles) = (c.word(wake_named)?, c.id_or_null()?, c.flag()?);
    let (at, content) = (c.at()?, c.digest()?);
    let no_kind = || Fault::Corrupt(format!("kind: {name:?} is none, or does not go with the other columns"));
    let kind = item_kind(&name, wake, pending, settles).ok_or_else(no_kind)?;
    Ok(Row::Item { item: StoredItem { seq, key, kind, payload: body(c, light)?, at }, wake, content })
}

/// Reads a pending call of the session `key`.
pub(crate) fn pending(c: &mut Columns<'_>, key: SessionKey, light: bool) -> Result<PendingCall, Fault> {
    Ok(PendingCall {
        key,
        incarnation: c.incarnation()?,
        id: c.id()?,
        call: c.id()?,
        kind: c.word(PendingKind::from_wire)?,
        needed: c.count()?,
        answered: c.count()?,
        last_answer: InboxSeq(c.count()?),
        deadline: deadline(c)?,
        opened_at: c.at()?,
        body: body(c, light)?,
    })
}

/// Reads a deadline. A call without one is marked as endless, and its instant has no meaning.
fn deadline(c: &mut Columns<'_>) -> Result<Option<Timestamp>, Fault> {
    let (endless, at) = (c.flag()?, c.at()?);
    Ok((!endless).then_some(at))
}

fn run(c: &mut Columns<'_>) -> Result<RunRecord, Fault> {
    let (epoch, run, worker) = (Epoch(c.count()?), c.id()?, c.id()?);
    let (found, parent) = (c.word(SessionStatus::from_wire)?, c.count_or_null()?.map(Epoch));
    let started_at = c.at()?;
    let (ended_at, outcome) = (c.at_or_null()?, c.word_or_null(OutcomeKind::from_wire)?);
    let detail = c.payload_or_null()?;
    let end = match (ended_at, outcome) {
        (Some(at), Some(outcome)) => Some(RunEnded { at, outcome, detail }),
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => {
            return Err(Fault::Corrupt("run: its end is half there".into()));
        }
    };
    Ok(RunRecord { epoch, run, worker, found, parent, started_at, end })
}
