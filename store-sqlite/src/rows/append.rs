//! Appends rows: one statement for as many as one statement holds, integer keys in append order.

use holdover_store::ids::{CallId, Epoch, InboxSeq};
use holdover_store::payload::Payload;
use holdover_store::rules::{Arrival, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{InboxItem, ItemKind, NewPending, SessionStatus, StagedResult, Wake};
use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Sqlite};

use super::Sid;
use crate::columns::int;
use crate::error::Fault;
use crate::job::Tx;

/// Rows of one statement. SQLite binds at most 32,766 values; the widest statement here has 15 columns.
const ROWS_MAX: usize = 1000;

/// Statements for up to this many rows are kept prepared.
const ROWS_PREPARED_MAX: usize = 8;

// All of these run in a write transaction that has read and decided on the session row.
const APPEND_MESSAGES: &str = "INSERT INTO message (sid, seq, at, digest, payload) ";
const APPEND_DELTAS: &str = "INSERT INTO delta (sid, place, digest, payload) ";
const APPEND_ITEMS: &str =
    "INSERT INTO item (sid, seq, key, content, kind, wake, pending, settles, at, digest, payload) ";
const APPEND_STAGED: &str = "INSERT INTO staged (sid, call, digest, payload) ";
const APPEND_MARKS: &str = "INSERT OR IGNORE INTO start_mark (sid, call) ";
const APPEND_PENDING: &str = "INSERT INTO pending (sid, tenant, session, incarnation, id, call, kind, needed, \
     answered, last_answer, endless, deadline, opened_at, digest, payload) ";
const APPEND_OPENED: &str = "INSERT INTO opened (sid, id) ";
const APPEND_LABELS: &str = "INSERT INTO label (sid, name, value) ";
const APPEND_RUN: &str =
    "INSERT INTO run (sid, epoch, run, worker, found, parent, started_at) VALUES (?,?,?,?,?,?,?)";
const PUT_STATE: &str = "INSERT INTO state (sid, digest, payload) VALUES (?,?,?) \
     ON CONFLICT (sid) DO UPDATE SET digest = excluded.digest, payload = excluded.payload";
const PUT_DEFINITION: &str = "INSERT INTO definition (sid, digest, payload) VALUES (?,?,?)";

type Row<'a, 'b> = Separated<'a, Sqlite, &'b str>;

async fn append<T>(
    tx: &mut Tx<'_>,
    into: &'static str,
    rows: &[T],
    bind: impl Fn(&mut Row<'_, '_>, &T),
) -> Result<(), Fault> {
    for rows in rows.chunks(ROWS_MAX) {
        let mut builder = QueryBuilder::<Sqlite>::new(into);
        builder.push_values(rows, |mut row, value| bind(&mut row, value));
        tx.write(builder.build().persistent(rows.len() <= ROWS_PREPARED_MAX)).await?;
    }
    Ok(())
}

fn bind_payload(row: &mut Row<'_, '_>, payload: &Payload) {
    row.push_bind(payload.digest().0.to_vec()).push_bind(payload.bytes().to_vec());
}

/// Appends messages after place `last`.
pub(crate) async fn append_messages(
    tx: &mut Tx<'_>,
    sid: Sid,
    last: u64,
    messages: &[&Payload],
    at: Timestamp,
) -> Result<(), Fault> {
    let rows: Vec<(u64, &Payload)> = (last + 1..).zip(messages.iter().copied()).collect();
    append(tx, APPEND_MESSAGES, &rows, |row, (seq, payload)| {
        row.push_bind(sid.0).push_bind(int(*seq)).push_bind(at.as_ms());
        bind_payload(row, payload);
    })
    .await
}

/// Appends deltas at their places.
pub(crate) async fn append_deltas(
    tx: &mut Tx<'_>,
    sid: Sid,
    deltas: &[(u64, &Payload)],
) -> Result<(), Fault> {
    append(tx, APPEND_DELTAS, deltas, |row, (place, payload)| {
        row.push_bind(sid.0).push_bind(int(*place));
        bind_payload(row, payload);
    })
    .await
}

/// Appends accepted items to the inbox.
pub(crate) async fn append_items(
    tx: &mut Tx<'_>,
    sid: Sid,
    items: &[(&InboxItem, Arrival)],
    at: Timestamp,
) -> Result<(), Fault> {
    append(tx, APPEND_ITEMS, items, |row, (item, arrival)| {
        let (pending, settles) = match &item.kind {
            ItemKind::Message { .. } | ItemKind::Signal { .. } => (None, false),
            ItemKind::Answer { pending, settles } => (Some(pending.as_str().to_owned()), *settles),
        };
        row.push_bind(sid.0)
            .push_bind(int(arrival.seq.0))
            .push_bind(item.key.as_str().to_owned())
            .push_bind(item.digest().0.to_vec())
            .push_bind(item.kind.as_str())
            .push_bind(wake_name(arrival.wake))
            .push_bind(pending)
            .push_bind(settles)
            .push_bind(at.as_ms());
        bind_payload(row, &item.payload);
    })
    .await
}

/// The name under which a wake is stored.
pub(super) fn wake_name(wake: Wake) -> &'static str {
    match wake {
        Wake::Now => "now",
        Wake::Count => "count",
        Wake::Quiet => "quiet",
    }
}

/// The wake with this stored name.
pub(super) fn wake_named(name: &str) -> Option<Wake> {
    [Wake::Now, Wake::Count, Wake::Quiet].into_iter().find(|wake| wake_name(*wake) == name)
}

/// Stages results of calls that have none staged.
pub(crate) async fn append_staged(tx: &mut Tx<'_>, sid: Sid, results: &[&StagedResult]) -> Result<(), Fault> {
    append(tx, APPEND_STAGED, results, |row, result| {
        row.push_bind(sid.0).push_bind(result.call.as_str().to_owned());
        bind_payload(row, &result.payload);
    })
    .await
}

/// Marks calls as started; those that are marked stay so.
pub(crate) async fn append_marks(tx: &mut Tx<'_>, sid: Sid, calls: &[CallId]) -> Result<(), Fault> {
    append(tx, APPEND_MARKS, calls, |row, call| {
        row.push_bind(sid.0).push_bind(call.as_str().to_owned());
    })
    .await
}

/// Opens pending calls, none of which was ever opened before.
pub(crate) async fn append_pending(
    tx: &mut Tx<'_>,
    sid: Sid,
    session: &SessionRow,
    opened: &[NewPending],
    at: Timestamp,
) -> Result<(), Fault> {
    append(tx, APPEND_OPENED, opened, |row, new| {
        row.push_bind(sid.0).push_bind(new.id.as_str().to_owned());
    })
    .await?;
    append(tx, APPEND_PENDING, opened, |row, new| {
        row.push_bind(sid.0)
            .push_bind(session.key.tenant.as_str().to_owned())
            .push_bind(session.key.id.as_str().to_owned())
            .push_bind(session.incarnation.0.as_bytes().to_vec())
            .push_bind(new.id.as_str().to_owned())
            .push_bind(new.call.as_str().to_owned())
            .push_bind(new.kind.as_str())
            .push_bind(i64::from(new.needed))
            .push_bind(0_i64)
            .push_bind(int(InboxSeq(0).0))
            .push_bind(new.deadline.is_none())
            .push_bind(new.deadline.unwrap_or_default().as_ms())
            .push_bind(at.as_ms());
        bind_payload(row, &new.body);
    })
    .await
}

/// Opens the record of run `session.epoch`.
pub(crate) async fn append_run(
    tx: &mut Tx<'_>,
    sid: Sid,
    session: &SessionRow,
    parent: Option<Epoch>,
    at: Timestamp,
) -> Result<(), Fault> {
    let (Some(run), Some(lease)) = (&session.last_claim, &session.lease) else {
        return Err(Fault::Corrupt("run: a claim left no run or no lease".into()));
    };
    let found: SessionStatus = session.found;
    let query = sqlx::query(APPEND_RUN)
        .bind(sid.0)
        .bind(int(session.epoch.0))
        .bind(run.as_str())
        .bind(lease.worker.as_str())
        .bind(found.as_str())
        .bind(parent.map(|epoch| int(epoch.0)))
        .bind(at.as_ms());
    tx.write(query).await?;
    Ok(())
}

/// Which of the payloads that a session has one of.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Single {
    Definition,
    State,
}

/// Writes a payload that a session has one of.
pub(crate) async fn put_payload(
    tx: &mut Tx<'_>,
    which: Single,
    sid: Sid,
    payload: &Payload,
) -> Result<(), Fault> {
    let sql = match which {
        Single::Definition => PUT_DEFINITION,
        Single::State => PUT_STATE,
    };
    let query = sqlx::query(sql).bind(sid.0).bind(payload.digest().0.to_vec()).bind(payload.bytes().to_vec());
    tx.write(query).await?;
    Ok(())
}

/// Writes the labels of a new session.
pub(crate) async fn append_labels(
    tx: &mut Tx<'_>,
    sid: Sid,
    labels: &holdover_store::Labels,
) -> Result<(), Fault> {
    let labels: Vec<(&String, &String)> = labels.0.iter().collect();
    append(tx, APPEND_LABELS, &labels, |row, (name, value)| {
        row.push_bind(sid.0).push_bind(String::clone(name)).push_bind(String::clone(value));
    })
    .await
}
