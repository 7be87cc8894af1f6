//! Writes rows. The rows of most kinds are passed as arrays, so the text of the statement is the same for any number
//! of rows.

use holdover_store::ids::PendingId;
use holdover_store::payload::Digest;
use holdover_store::rows::{Kind, Row, RowKey, answer_columns, wake_name};
use holdover_store::rules::SessionRow;
use holdover_store::{PendingCall, RunRecord, StoredItem, Wake};

use super::kinds::table;
use crate::sql::{Param, Sql, int, push};

/// Iterates over the contents of the rows that match a pattern.
macro_rules! each {
    ($rows:expr, $row:pat => $value:expr) => {
        $rows.iter().filter_map(|row| if let $row = row { Some($value) } else { None })
    };
}

/// Writes rows of one kind of a session.
pub(super) fn put(sql: &mut Sql<'_>, session: &SessionRow, kind: Kind, rows: &[&Row]) {
    match kind {
        Kind::Labels => labels(sql, session, rows),
        Kind::Definition | Kind::State => {
            for row in rows {
                if let Row::Definition(payload) | Row::State(payload) = row {
                    let (digest, payload) = sql.bind_payload(payload);
                    one(sql, kind, "digest, payload", &[digest, payload], true);
                }
            }
        }
        Kind::Message => {
            let messages: Vec<_> = each!(rows, Row::Message(message) => message).collect();
            let seqs = sql.bind(messages.iter().map(|message| int(message.seq.0)).collect::<Vec<_>>());
            let at = sql.bind(messages.iter().map(|message| message.at.as_ms()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(messages.iter().map(|message| &message.payload));
            into(sql, kind, "seq, at, digest, payload", &[seqs, at, digests, payloads], There::Never);
        }
        Kind::Events => rows.iter().for_each(|row| events(sql, row)),
        Kind::Item => items(sql, rows),
        // The item's row contains its key.
        Kind::Key => {}
        Kind::Staged => {
            let staged: Vec<_> = each!(rows, Row::Staged(staged) => staged).collect();
            let calls = sql.bind(staged.iter().map(|staged| staged.call.as_str()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(staged.iter().map(|staged| &staged.payload));
            let there = There::Gets("call", "digest, payload");
            into(sql, kind, "call, digest, payload", &[calls, digests, payloads], there);
        }
        Kind::Start | Kind::Opened => {
            let keys: Vec<RowKey> = rows.iter().map(|row| row.key()).collect();
            let names = sql.bind(keys.iter().map(RowKey::as_name).collect::<Vec<_>>());
            let start = ("call", There::Stays("call"));
            let (column, there) = if kind == Kind::Start { start } else { ("id", There::Never) };
            into(sql, kind, column, &[names], there);
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
                let columns = "id, epoch, last_message, last_event, at, format, digest, payload";
                one(sql, kind, columns, &values, false);
            }
        }
        Kind::Delta => {
            let deltas: Vec<_> = each!(rows, Row::Delta(delta) => delta).collect();
            let places = sql.bind(deltas.iter().map(|delta| int(delta.place)).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(deltas.iter().map(|delta| &delta.payload));
            let there = There::Gets("place", "digest, payload");
            into(sql, kind, "place, digest, payload", &[places, digests, payloads], there);
        }
    }
}

/// The way to handle a row that may already exist.
#[derive(Clone, Copy)]
enum There {
    /// No such row exists.
    Never,
    /// The row with the same value in this column stays as it is.
    Stays(&'static str),
    /// The row with the same value in the first column gets new values in the others.
    Gets(&'static str, &'static str),
}

/// Assigns to each column the value of the row that was to be inserted.
fn excluded(columns: &str) -> String {
    let columns: Vec<String> =
        columns.split(", ").map(|column| format!("{column} = excluded.{column}")).collect();
    columns.join(", ")
}

/// Writes rows whose columns are passed as arrays.
fn into(sql: &mut Sql<'_>, kind: Kind, columns: &str, values: &[Param], there: There) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    let values: Vec<String> = values.iter().map(Param::to_string).collect();
    let selected = columns.replace(", ", ", v.");
    push!(
        sql,
        ", put_{name} AS (INSERT INTO {schema}{name} (sid, {columns}) SELECT s.sid, v.{selected} \
         FROM s CROSS JOIN unnest({}) AS v ({columns})",
        values.join(", ")
    );
    match there {
        There::Never => {}
        There::Stays(key) => push!(sql, " ON CONFLICT (sid, {key}) DO NOTHING"),
        There::Gets(key, columns) => {
            push!(sql, " ON CONFLICT (sid, {key}) DO UPDATE SET {}", excluded(columns));
        }
    }
    push!(sql, ")");
}

/// Writes one row. If `replaces`, overwrites the existing row; the kind must have at most one row per session.
fn one(sql: &mut Sql<'_>, kind: Kind, columns: &str, values: &[Param], replaces: bool) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    let nth = values.first().map_or_else(String::new, |value| value.to_string().replace('$', "_"));
    let values: Vec<String> = values.iter().map(Param::to_string).collect();
    push!(
        sql,
        ", put_{name}{nth} AS (INSERT INTO {schema}{name} (sid, {columns}) SELECT s.sid, {} FROM s",
        values.join(", ")
    );
    if replaces {
        push!(sql, " ON CONFLICT (sid) DO UPDATE SET {}", excluded(columns));
    }
    push!(sql, ")");
}

/// Writes labels. Each row names its session, so that a session can be found by a label.
fn labels(sql: &mut Sql<'_>, session: &SessionRow, rows: &[&Row]) {
    let labels = each!(rows, Row::Labels(labels) => labels);
    let labels: Vec<(&String, &String)> = labels.flat_map(|labels| &labels.0).collect();
    let each = |value: &str| vec![value.to_owned(); labels.len()];
    let values = [
        sql.bind(labels.iter().map(|(name, _)| name.as_bytes()).collect::<Vec<_>>()),
        sql.bind(labels.iter().map(|(_, value)| value.as_bytes()).collect::<Vec<_>>()),
        sql.bind(each(session.key.tenant.as_str())),
        sql.bind(vec![session.created_at.as_ms(); labels.len()]),
        sql.bind(each(session.key.id.as_str())),
    ];
    let there = There::Gets("name", "value");
    into(sql, Kind::Labels, "name, value, tenant, created_at, id", &values, there);
}

/// Writes the events of one commit as one row, which holds their bytes one after another.
fn events(sql: &mut Sql<'_>, row: &Row) {
    let Row::Events(batch) = row else { return };
    let (joined, sizes) = batch.join();
    let sizes = sizes.map(|sizes| sizes.into_iter().map(|size| int(size as u64)).collect::<Vec<_>>());
    let (seq, at) = (sql.bind(int(batch.last.0)), sql.bind(batch.at.as_ms()));
    let (digest, payload) = sql.bind_payload(&joined);
    let sizes = sql.bind(sizes);
    one(sql, Kind::Events, "seq, at, digest, payload, sizes", &[seq, at, digest, payload, sizes], false);
}

fn items(sql: &mut Sql<'_>, rows: &[&Row]) {
    let items: Vec<(&StoredItem, Wake, &Digest)> =
        each!(rows, Row::Item { item, wake, content } => (item, *wake, content)).collect();
    let mut values = vec![
        sql.bind(items.iter().map(|(item, ..)| int(item.seq.0)).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.key.as_str()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(_, _, content)| content.0.as_slice()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.kind.as_str()).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(_, wake, _)| wake_name(*wake)).collect::<Vec<_>>()),
        sql.bind(
            items
                .iter()
                .map(|(item, ..)| answer_columns(&item.kind).0.map(PendingId::as_str))
                .collect::<Vec<_>>(),
        ),
        sql.bind(items.iter().map(|(item, ..)| answer_columns(&item.kind).1).collect::<Vec<_>>()),
        sql.bind(items.iter().map(|(item, ..)| item.at.as_ms()).collect::<Vec<_>>()),
    ];
    let (digests, payloads) = sql.bind_payloads(items.iter().map(|(item, ..)| &item.payload));
    values.extend([digests, payloads]);
    let columns = "seq, key, content, kind, wake, pending, settles, at, digest, payload";
    into(sql, Kind::Item, columns, &values, There::Never);
}

fn pending(sql: &mut Sql<'_>, rows: &[&Row]) {
    let calls: Vec<(i64, &PendingCall)> =
        each!(rows, Row::Pending { order, call } => (int(*order), call)).collect();
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
    let columns = "place, tenant, session, incarnation, id, call, kind, needed, answered, last_answer, endless, \
                   deadline, opened_at, digest, payload";
    let changed = "place, incarnation, call, kind, needed, answered, last_answer, endless, deadline, opened_at, \
                   digest, payload";
    into(sql, Kind::Pending, columns, &values, There::Gets("id", changed));
}

fn runs(sql: &mut Sql<'_>, rows: &[&Row]) {
    let runs: Vec<&RunRecord> = each!(rows, Row::Run(run) => run).collect();
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
    let rest = "run, worker, found, parent, started_at, ended_at, outcome, digest, detail";
    into(sql, Kind::Run, &format!("epoch, {rest}"), &values, There::Gets("epoch", rest));
}
