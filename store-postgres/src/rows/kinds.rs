//! The table of each kind of row, and the way in which its rows are read.

use holdover_store::ids::{CheckpointId, Epoch, EventSeq, InboxSeq, MessageSeq, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::rows::{EventBatch, Kind, Row, item_kind, wake_named};
use holdover_store::rules::SessionRow;
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, OutcomeKind, PendingCall, PendingKind, RunEnded, RunRecord, SessionStatus, StagedResult,
    StoredDelta, StoredItem, StoredMessage,
};

use crate::columns::Packed;
use crate::error::Fault;

/// A table, called `x` in statements, and the expressions that read its rows.
pub(super) struct Table {
    pub(super) name: &'static str,
    /// The column by which its rows are numbered or named within a session. Empty if a session has at most one
    /// row.
    pub(super) place: &'static str,
    /// The numbers, in the order in which [`row`] reads them. The next two fields hold the texts and the bytes in the
    /// same way.
    pub(super) numbers: &'static str,
    pub(super) texts: &'static str,
    pub(super) bytes: &'static str,
    pub(super) digest: &'static str,
    pub(super) payload: &'static str,
    /// A condition that selects the rows of the kind; it begins with `AND`, or is empty.
    pub(super) only: &'static str,
}

const NONE: Table = Table {
    name: "",
    place: "",
    numbers: "NULL",
    texts: "NULL",
    bytes: "NULL",
    digest: "x.digest",
    payload: "x.payload",
    only: "",
};

/// Returns the table of a kind of row.
pub(super) fn table(kind: Kind) -> Table {
    let bare = Table { digest: "NULL", payload: "NULL", ..NONE };
    match kind {
        Kind::Labels => Table { name: "label", place: "name", bytes: "ARRAY[x.name, x.value]", ..bare },
        Kind::Definition => Table { name: "definition", ..NONE },
        Kind::State => Table { name: "state", ..NONE },
        Kind::Message => Table { name: "message", place: "seq", numbers: "ARRAY[x.seq, x.at]", ..NONE },
        Kind::Events => {
            let numbers = "ARRAY[x.seq, x.at] || coalesce(x.sizes, '{}')";
            Table { name: "event", place: "seq", numbers, ..NONE }
        }
        Kind::Item => Table {
            name: "item",
            place: "seq",
            numbers: "ARRAY[x.seq, x.at, x.settles::int::bigint]",
            texts: "ARRAY[x.key, x.kind, x.wake, x.pending]",
            bytes: "ARRAY[x.content]",
            only: " AND x.payload IS NOT NULL",
            ..NONE
        },
        Kind::Key => Table {
            name: "item",
            place: "key",
            numbers: "ARRAY[x.seq]",
            texts: "ARRAY[x.key]",
            bytes: "ARRAY[x.content]",
            ..bare
        },
        Kind::Staged => Table { name: "staged", place: "call", texts: "ARRAY[x.call]", ..NONE },
        Kind::Start => Table { name: "start_mark", place: "call", texts: "ARRAY[x.call]", ..bare },
        Kind::Pending => Table {
            name: "pending",
            place: "id",
            numbers: "ARRAY[x.place, x.needed, x.answered, x.last_answer, x.endless::int::bigint, x.deadline, \
                x.opened_at]",
            texts: "ARRAY[x.id, x.call, x.kind]",
            bytes: "ARRAY[x.incarnation]",
            ..NONE
        },
        Kind::Opened => Table { name: "opened", place: "id", texts: "ARRAY[x.id]", ..bare },
        Kind::Run => Table {
            name: "run",
            place: "epoch",
            numbers: "ARRAY[x.epoch, x.parent, x.started_at, x.ended_at]",
            texts: "ARRAY[x.run, x.worker, x.found, x.outcome]",
            payload: "x.detail",
            ..NONE
        },
        Kind::Checkpoint => Table {
            name: "checkpoint",
            place: "id",
            numbers: "ARRAY[x.id, x.epoch, x.last_message, x.last_event, x.at, x.format]",
            ..NONE
        },
        Kind::Delta => Table { name: "delta", place: "place", numbers: "ARRAY[x.place]", ..NONE },
    }
}

/// Returns true if payloads of the kind may be left out if they are not wanted. They may not if a write replaces such
/// rows as a whole.
pub(super) fn can_be_light(kind: Kind) -> bool {
    matches!(kind, Kind::Item | Kind::Checkpoint)
}

/// Reads a row of a session. Of the labels, reads only one, because each is a row of its own in the table. If
/// `light`, leaves out the payload.
pub(super) fn row(kind: Kind, of: &SessionRow, light: bool, mut p: Packed) -> Result<Row, Fault> {
    let payload = |p: &mut Packed| if light { Ok(Payload::empty()) } else { p.payload() };
    Ok(match kind {
        Kind::Labels => {
            let labels = [label(p)?].into_iter().collect();
            Row::Labels(labels)
        }
        Kind::Definition => Row::Definition(p.payload()?),
        Kind::State => Row::State(p.payload()?),
        Kind::Message => {
            let (seq, at) = (MessageSeq(p.count("seq")?), p.at("at")?);
            Row::Message(StoredMessage { seq, at, payload: p.payload()? })
        }
        Kind::Events => {
            let (last, at) = (EventSeq(p.count("seq")?), p.at("at")?);
            let (sizes, all) = (p.sizes(), p.payload()?);
            let payloads = EventBatch::split(all, &sizes);
            let payloads = payloads.ok_or_else(|| p.corrupt("sizes", "they do not fit"))?;
            if (payloads.len() as u64) > last.0 {
                return Err(p.corrupt("sizes", "there are more than their number says"));
            }
            Row::Events(EventBatch { last, at, payloads })
        }
        Kind::Item => {
            let (seq, at, settles) = (InboxSeq(p.count("seq")?), p.at("at")?, p.flag("settles")?);
            let (key, name) = (p.id("key")?, p.text_or_null().unwrap_or_default());
            let (wake, pending) = (p.word("wake", wake_named)?, p.id_or_null("pending")?);
            let kind = item_kind(&name, wake, pending, settles);
            let no_kind = || format!("{name:?} is none, or does not go with the other columns");
            let kind = kind.ok_or_else(|| p.corrupt("kind", no_kind()))?;
            let (content, payload) = (p.digest("content")?, payload(&mut p)?);
            Row::Item { item: StoredItem { seq, key, kind, payload, at }, wake, content }
        }
        Kind::Key => {
            let seq = InboxSeq(p.count("seq")?);
            Row::Key { key: p.id("key")?, seq, content: p.digest("content")? }
        }
        Kind::Staged => Row::Staged(StagedResult { call: p.id("call")?, payload: p.payload()? }),
        Kind::Start => Row::Start(p.id("call")?),
        Kind::Pending => pending(of.key.clone(), p)?,
        Kind::Opened => Row::Opened(p.id("id")?),
        Kind::Run => {
            let (epoch, parent) = (Epoch(p.count("epoch")?), p.count_or_null("parent")?.map(Epoch));
            let (started_at, ended_at) = (p.at("started_at")?, p.at_or_null());
            let (run, worker) = (p.id("run")?, p.id("worker")?);
            let found = p.word("found", SessionStatus::from_wire)?;
            let outcome = p.word_or_null("outcome", OutcomeKind::from_wire)?;
            let end = match (ended_at, outcome) {
                (Some(at), Some(outcome)) => Some(RunEnded { at, outcome, detail: p.payload_or_null()? }),
                (None, None) => None,
                (_, _) => return Err(p.corrupt("outcome", "its columns do not go together")),
            };
            Row::Run(RunRecord { epoch, run, worker, found, parent, started_at, end })
        }
        Kind::Checkpoint => Row::Checkpoint(Checkpoint {
            id: CheckpointId(p.count("id")?),
            incarnation: of.incarnation,
            epoch: Epoch(p.count("epoch")?),
            last_message: MessageSeq(p.count("last_message")?),
            last_event: EventSeq(p.count("last_event")?),
            at: p.at("at")?,
            format: holdover_store::ids::StateFormat(p.count("format")?),
            state: payload(&mut p)?,
        }),
        Kind::Delta => {
            let place = p.count("place")?;
            Row::Delta(StoredDelta { place, payload: p.payload()? })
        }
    })
}

/// Reads a label's name and value.
pub(super) fn label(mut p: Packed) -> Result<(String, String), Fault> {
    Ok((p.utf8("name")?, p.utf8("value")?))
}

/// Reads a deadline. A call without one is marked as endless, and its instant has no meaning.
fn deadline(p: &mut Packed) -> Result<Option<Timestamp>, Fault> {
    let (endless, at) = (p.flag("endless")?, p.at("deadline")?);
    Ok((!endless).then_some(at))
}

/// Reads a pending call.
pub(super) fn pending(key: SessionKey, mut p: Packed) -> Result<Row, Fault> {
    let order = p.count("place")?;
    let call = PendingCall {
        key,
        needed: p.count("needed")?,
        answered: p.count("answered")?,
        last_answer: InboxSeq(p.count("last_answer")?),
        deadline: deadline(&mut p)?,
        opened_at: p.at("opened_at")?,
        id: p.id("id")?,
        call: p.id("call")?,
        kind: p.word("kind", PendingKind::from_wire)?,
        incarnation: p.incarnation("incarnation")?,
        body: p.payload()?,
    };
    Ok(Row::Pending { order, call })
}
