//! Writes rows. The rows of most kinds are passed as arrays, so the text of the statement is the same for any number
//! of rows.

use std::fmt;

use holdover_store::ids::PendingId;
use holdover_store::payload::Digest;
use holdover_store::rows::{Kind, Row, RowKey, answer_columns, wake_name};
use holdover_store::rules::SessionRow;
use holdover_store::{Checkpoint, PendingCall, RunRecord, StoredItem, Wake};

use super::given::Given;
use super::kinds::table;
use crate::sql::{Commas, Param, Sql, int, push};

/// Iterates over the contents of the rows that match a pattern.
macro_rules! each {
    ($rows:expr, $row:pat => $value:expr) => {
        $rows.rows.iter().filter_map(|row| if let $row = row { Some($value) } else { None })
    };
}

/// Writes rows of one kind. `session` is the session of the first row.
pub(super) fn put(sql: &mut Sql<'_>, session: &SessionRow, kind: Kind, rows: &Given<&Row>) {
    match kind {
        Kind::Labels => labels(sql, session, rows),
        Kind::Definition | Kind::State => {
            let payloads = each!(rows, Row::Definition(payload) | Row::State(payload) => payload);
            let (digests, payloads) = sql.bind_payloads(payloads);
            into(
                sql,
                kind,
                "digest, payload",
                &[digests, payloads],
                There::Gets("", "digest, payload"),
                rows,
            );
        }
        Kind::Message => {
            let messages: Vec<_> = each!(rows, Row::Message(message) => message).collect();
            let seqs = sql.bind(messages.iter().map(|message| int(message.seq.0)).collect::<Vec<_>>());
            let at = sql.bind(messages.iter().map(|message| message.at.as_ms()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(messages.iter().map(|message| &message.payload));
            into(sql, kind, "seq, at, digest, payload", &[seqs, at, digests, payloads], There::Never, rows);
        }
        Kind::Events => events(sql, rows),
        Kind::Item => items(sql, rows),
        // The item's row contains its key.
        Kind::Key => {}
        Kind::Staged => {
            let staged: Vec<_> = each!(rows, Row::Staged(staged) => staged).collect();
            let calls = sql.bind(staged.iter().map(|staged| staged.call.as_str()).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(staged.iter().map(|staged| &staged.payload));
            let there = There::Gets("call", "digest, payload");
            into(sql, kind, "call, digest, payload", &[calls, digests, payloads], there, rows);
        }
        Kind::Start | Kind::Opened => {
            let keys: Vec<RowKey> = rows.rows.iter().map(|row| row.key()).collect();
            let names = sql.bind(keys.iter().map(RowKey::as_name).collect::<Vec<_>>());
            let start = ("call", There::Stays("call"));
            let (column, there) = if kind == Kind::Start { start } else { ("id", There::Never) };
            into(sql, kind, column, &[names], there, rows);
        }
        Kind::Pending => pending(sql, rows),
        Kind::Run => runs(sql, rows),
        Kind::Checkpoint => {
            let checkpoints: Vec<_> = each!(rows, Row::Checkpoint(checkpoint) => checkpoint).collect();
            let numbers: [fn(&Checkpoint) -> i64; 6] = [
                |checkpoint| int(checkpoint.id.0),
                |checkpoint| int(checkpoint.epoch.0),
                |checkpoint| int(checkpoint.last_message.0),
                |checkpoint| int(checkpoint.last_event.0),
                |checkpoint| checkpoint.at.as_ms(),
                |checkpoint| i64::from(checkpoint.format.0),
            ];
            let bound = |of: fn(&Checkpoint) -> i64| checkpoints.iter().copied().map(of).collect::<Vec<_>>();
            let mut values: Vec<Param> = numbers.into_iter().map(|of| sql.bind(bound(of))).collect();
            let (digests, states) = sql.bind_payloads(checkpoints.iter().map(|checkpoint| &checkpoint.state));
            values.extend([digests, states]);
            let columns = "id, epoch, last_message, last_event, at, format, digest, payload";
            into(sql, kind, columns, &values, There::Never, rows);
        }
        Kind::Delta => {
            let deltas: Vec<_> = each!(rows, Row::Delta(delta) => delta).collect();
            let places = sql.bind(deltas.iter().map(|delta| int(delta.place)).collect::<Vec<_>>());
            let (digests, payloads) = sql.bind_payloads(deltas.iter().map(|delta| &delta.payload));
            let there = There::Gets("place", "digest, payload");
            into(sql, kind, "place, digest, payload", &[places, digests, payloads], there, rows);
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
    /// The row with the same value in the first column gets new values in the others. Without a first column, a session has
    /// at most one row.
    Gets(&'static str, &'static str),
}

/// Assigns to a column the value of the row that was to be inserted.
struct Excluded<'c>(&'c str);

impl fmt::Display for Excluded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{0} = excluded.{0}", self.0)
    }
}

/// Writes rows whose columns are passed as arrays.
fn into(sql: &mut Sql<'_>, kind: Kind, columns: &str, values: &[Param], there: There, rows: &Given<&Row>) {
    let (schema, name) = (&sql.names.schema, table(kind).name);
    // Arrays of arrays are passed as arrays of texts.
    let selected = columns.replace(", ", ", v.").replace("v.sizes", "v.sizes::bigint[]");
    let joined = rows.joined(sql, "v", columns, values);
    push!(
        sql,
        ", put_{name} AS (INSERT INTO {schema}{name} (sid, {columns}) SELECT s.sid, v.{selected} FROM s {joined}"
    );
    match there {
        There::Never => {}
        There::Stays(key) => push!(sql, " ON CONFLICT (sid, {key}) DO NOTHING"),
        There::Gets(key, columns) => {
            let comma = if key.is_empty() { "" } else { ", " };
            let set = Commas(columns.split(", ").map(Excluded));
            push!(sql, " ON CONFLICT (sid{comma}{key}) DO UPDATE SET {set}");
        }
    }
    push!(sql, ")");
}

/// Writes the labels of a new session. Each row names its session, so that a session can be found by a label.
fn labels(sql: &mut Sql<'_>, session: &SessionRow, rows: &Given<&Row>) {
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
    into(sql, Kind::Labels, "name, value, tenant, created_at, id", &values, there, rows);
}

/// Writes the events of each commit as one row, which holds their bytes one after another.
fn events(sql: &mut Sql<'_>, rows: &Given<&Row>) {
    let batches: Vec<_> = each!(rows, Row::Events(batch) => (batch, batch.join())).collect();
    let seqs = sql.bind(batches.iter().map(|(batch, _)| int(batch.last.0)).collect::<Vec<_>>());
    let at = sql.bind(batches.iter().map(|(batch, _)| batch.at.as_ms()).collect::<Vec<_>>());
    let (digests, payloads) = sql.bind_payloads(batches.iter().map(|(_, (joined, _))| joined));
    let sizes = batches.iter().map(|(_, (_, sizes))| sizes.as_deref().map(array_text));
    let sizes = sql.bind(sizes.collect::<Vec<_>>());
    let values = [seqs, at, digests, payloads, sizes];
    into(sql, Kind::Events, "seq, at, digest, payload, sizes", &values, There::Never, rows);
}

/// Returns numbers as the text of an array, such as `{1,2}`.
fn array_text(numbers: &[usize]) -> String {
    let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
    format!("{{{}}}", numbers.join(","))
}

fn items(sql: &mut Sql<'_>, rows: &Given<&Row>) {
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
    into(sql, Kind::Item, columns, &values, There::Never, rows);
}

fn pending(sql: &mut Sql<'_>, rows: &Given<&Row>) {
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
    into(sql, Kind::Pending, columns, &values, There::Gets("id", changed), rows);
}

fn runs(sql: &mut Sql<'_>, rows: &Given<&Row>) {
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
    into(sql, Kind::Run, &format!("epoch, {rest}"), &values, There::Gets("epoch", rest), rows);
}
