//! Reads one session: the request to the script, and the rows in its answer.
#![allow(
    clippy::wildcard_enum_match_arm,
    reason = "Redis may answer, push or fail in ways that are not known yet"
)]

use std::sync::Arc;

use bytes::Bytes;
use holdover_store::ids::{CallId, ItemKey, PendingId, SessionKey};
use holdover_store::rows::{Found, Kind, Row, Want, Which, read_wants};
use holdover_store::{Labels, StagedResult};
use redis::Value;

use crate::args::Args;
use crate::error::Fault;
use crate::records::{self, Owner};
use crate::reply::{self, Reply};
use crate::row::Fields;

/// The most messages, events, deltas or runs that one script reads. A longer read is cut there.
const NUMBERS_MAX: usize = 2_000;

/// The number of bytes of a record that are read if its payload is not wanted. The part before the payload is
/// shorter.
const HEAD_BYTES: usize = 512;

/// Returns the most bytes that a record has besides its payload, for kinds that are read within a limit of bytes.
fn overhead(kind: Kind) -> usize {
    match kind {
        Kind::Message | Kind::Events => 54,
        Kind::Delta => 32,
        Kind::Checkpoint => 160,
        Kind::Item => 512,
        Kind::Labels
        | Kind::Definition
        | Kind::State
        | Kind::Key
        | Kind::Staged
        | Kind::Start
        | Kind::Pending
        | Kind::Opened
        | Kind::Run => 0,
    }
}

/// The keys in which numbered rows are stored.
enum Numbered {
    /// The name of a hash without gaps, and the two fields of the session's row that bound it. If the first field is
    /// empty, there is no lower bound.
    Hash(&'static str, &'static str, &'static str),
    /// The name of a hash, and that of a sorted set with its numbers.
    Scored(&'static str, &'static str),
    Runs,
}

fn numbered(kind: Kind) -> Option<Numbered> {
    match kind {
        Kind::Message => Some(Numbered::Hash("messages", "", "last_message")),
        Kind::Events => Some(Numbered::Hash("events", "", "last_event")),
        Kind::Delta => Some(Numbered::Hash("deltas", "", "stream_last")),
        Kind::Item => Some(Numbered::Scored("inbox", "unread")),
        Kind::Checkpoint => Some(Numbered::Scored("checkpoints", "restorable")),
        Kind::Run => Some(Numbered::Runs),
        Kind::Labels
        | Kind::Definition
        | Kind::State
        | Kind::Key
        | Kind::Staged
        | Kind::Start
        | Kind::Pending
        | Kind::Opened => None,
    }
}

/// Returns the arguments with which a script reads the rows for `wants`.
pub(crate) fn args(args: Args, wants: &[Want]) -> Result<Args, Fault> {
    wants.iter().try_fold(args.size(wants.len()), asked)
}

fn asked(args: Args, want: &Want) -> Result<Args, Fault> {
    let names = |args: Args, names: &[String]| {
        names.iter().fold(args.size(names.len()), |args, name| args.text(name))
    };
    Ok(match (want.kind, &want.which) {
        (Kind::Labels, Which::All) => args.text("hash").text("labels"),
        (Kind::Definition, Which::All) => args.text("fields").text("payloads").size(1).text("definition"),
        (Kind::State, Which::All) => args.text("fields").text("payloads").size(1).text("state"),
        (Kind::Staged, Which::All) => args.text("hash").text("staged"),
        (Kind::Start, Which::All) => args.text("set").text("starts"),
        (Kind::Pending, Which::All) => args.text("pending").size(cut(want)),
        // A request for no names reads a key that does not exist.
        (_, Which::Names(named)) if named.is_empty() => args.text("hash").text("none"),
        (Kind::Staged, Which::Names(calls)) => names(args.text("fields").text("staged"), calls),
        (Kind::Key, Which::Names(keys)) => names(args.text("fields").text("items"), keys),
        (Kind::Start, Which::Names(calls)) => names(args.text("members").text("starts"), calls),
        (Kind::Opened, Which::Names(ids)) => names(args.text("members").text("ever"), ids),
        (Kind::Pending, Which::Names(ids)) => names(args.text("named_pending").size(cut(want)), ids),
        (kind, which) => {
            let (from, to, down) = match which {
                Which::All => (0, u64::MAX, false),
                Which::Numbers(from, to) => (*from, *to, false),
                Which::Descending(from, to) => (*from, *to, true),
                Which::Names(_) => return unsupported(want),
            };
            let down = if down { "1" } else { "0" };
            let Some(numbered) = numbered(kind) else { return unsupported(want) };
            let most = want.rows.min(NUMBERS_MAX);
            match numbered {
                Numbered::Runs => args.text("runs").number(from).number(to).text(down).size(most),
                Numbered::Hash(hash, low, high) => {
                    // Numbers begin at 1.
                    let args = args.text("numbers").text(hash).text(low).text(high).number(from.max(1));
                    limits(args.number(to).text(down).size(most), want, NUMBERS_MAX, 0)
                }
                Numbered::Scored(hash, set) => {
                    let args = args.text("scored").text(hash).text(set).number(from).number(to).text(down);
                    let cut = if kind == Kind::Checkpoint { cut(want) } else { 0 };
                    limits(args.size(want.rows), want, usize::MAX, cut)
                }
            }
        }
    })
}

fn limits(args: Args, want: &Want, rows_max: usize, cut: usize) -> Args {
    let kind = format!("{:?}", want.kind);
    args.text(kind).size(want.bytes).size(rows_max).size(overhead(want.kind)).size(cut)
}

fn cut(want: &Want) -> usize {
    if want.light { HEAD_BYTES } else { 0 }
}

fn unsupported<T>(want: &Want) -> Result<T, Fault> {
    Err(Fault::Invalid(format!("{:?} of {:?} cannot be read", want.which, want.kind)))
}

/// Reads the answer about a session.
pub(crate) fn found(key: &SessionKey, wants: &[Want], reply: &mut Reply) -> Result<Found, Fault> {
    let now = reply::instant(&reply.bytes()?)?;
    let fields = Fields::read(reply)?;
    let reason = if reply.left() > 0 { reply.bytes()? } else { Bytes::new() };
    let slot = fields.slot(key, &reason)?.map(Arc::new);
    let Some(row) = slot.as_ref().and_then(|slot| slot.row.as_ref()) else {
        return Ok(Found { now, slot, rows: wants.iter().map(|_| Vec::new()).collect() });
    };
    let owner = Owner { key, incarnation: row.incarnation };
    // The script reads at least the wanted rows, and maybe a few more.
    let all = |want| Ok::<_, Fault>(answered(&owner, want, reply)?.into_iter().map(Ok));
    let rows = read_wants(wants, all)?;
    Ok(Found { now, slot, rows })
}

/// Reads the rows in the answer to one want.
fn answered(owner: &Owner<'_>, want: &Want, reply: &mut Reply) -> Result<Vec<Row>, Fault> {
    let mut list = reply.list()?;
    let mut rows = Vec::new();
    if let Which::Names(names) = &want.which
        && want.kind != Kind::Pending
    {
        return if names.is_empty() { Ok(rows) } else { by_names(want.kind, names, &mut list) };
    }
    match want.kind {
        Kind::Labels => rows.push(Row::Labels(labels(&mut list)?)),
        Kind::Definition => {
            rows.extend(optional(&mut list)?.map(reply::payload).transpose()?.map(Row::Definition))
        }
        Kind::State => rows.extend(optional(&mut list)?.map(reply::payload).transpose()?.map(Row::State)),
        Kind::Staged => {
            while list.left() > 0 {
                let call = reply::id::<CallId>(&list.bytes()?)?;
                let payload = reply::payload(list.bytes()?)?;
                rows.push(Row::Staged(StagedResult { call, payload }));
            }
        }
        Kind::Start => {
            while list.left() > 0 {
                rows.push(Row::Start(reply::id::<CallId>(&list.bytes()?)?));
            }
        }
        Kind::Pending => {
            while list.left() > 0 {
                let (id, order, facts) = (list.bytes()?, list.bytes()?, list.bytes()?);
                rows.push(records::pending(owner, &id, &order, &facts, list.bytes()?, want.light)?);
            }
        }
        Kind::Run => {
            while list.left() > 0 {
                let (epoch, record) = (list.number()?, list.bytes()?);
                rows.push(records::run(epoch, record, list.bytes()?)?);
            }
        }
        Kind::Message => rows = by_numbers(&mut list, records::message)?,
        Kind::Events => rows = by_numbers(&mut list, records::event)?,
        Kind::Delta => rows = by_numbers(&mut list, records::delta)?,
        Kind::Item => rows = by_numbers(&mut list, records::item)?,
        Kind::Checkpoint => {
            rows = by_numbers(&mut list, |id, record| records::checkpoint(owner, id, record, want.light))?;
        }
        Kind::Key | Kind::Opened => return unsupported(want),
    }
    if matches!(want.kind, Kind::Staged | Kind::Start) {
        rows.sort_by_cached_key(Row::key);
    }
    Ok(rows)
}

/// Reads alternating numbers and records.
fn by_numbers(list: &mut Reply, row: impl Fn(u64, Bytes) -> Result<Row, Fault>) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::with_capacity(list.left() / 2);
    while list.left() > 0 {
        rows.push(row(list.number()?, list.bytes()?)?);
    }
    Ok(rows)
}

fn by_names(kind: Kind, names: &[String], list: &mut Reply) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::new();
    for name in names {
        let found = optional(list)?;
        let name = name.as_bytes();
        rows.extend(match (kind, found) {
            (_, None) => None,
            (Kind::Staged, Some(value)) => {
                let call = reply::id::<CallId>(name)?;
                Some(Row::Staged(StagedResult { call, payload: reply::payload(value)? }))
            }
            (Kind::Key, Some(value)) => Some(records::item_key(&reply::id::<ItemKey>(name)?, &value)?),
            (Kind::Start, Some(there)) if there == "1" => Some(Row::Start(reply::id::<CallId>(name)?)),
            (Kind::Opened, Some(there)) if there == "1" => Some(Row::Opened(reply::id::<PendingId>(name)?)),
            (_, Some(_)) => None,
        });
    }
    Ok(rows)
}

/// Reads a value, if there is one.
fn optional(list: &mut Reply) -> Result<Option<Bytes>, Fault> {
    match list.value()? {
        Value::Nil => Ok(None),
        Value::BulkString(bytes) => Ok(Some(bytes.into())),
        Value::Int(number) => Ok(Some(number.to_string().into())),
        _ => Err(Fault::Corrupt("the answer holds no text".into())),
    }
}

/// Reads alternating names and values.
pub(crate) fn labels(list: &mut Reply) -> Result<Labels, Fault> {
    let mut labels = Vec::new();
    while list.left() > 0 {
        labels.push((list.text()?, list.text()?));
    }
    Ok(labels.into_iter().collect())
}
