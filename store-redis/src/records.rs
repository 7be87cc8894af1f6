//! Converts the rows of a session to and from the form in which the keys of its incarnation store them.

use bytes::Bytes;
use holdover_store::ids::{
    CallId, CheckpointId, Epoch, EventSeq, InboxSeq, Incarnation, ItemKey, MessageSeq, PendingId, RunId,
    SessionKey, WorkerId,
};
use holdover_store::payload::{Digest, Payload};
use holdover_store::rows::{EventBatch, Row, answer_columns, wake_name, wake_named};
use holdover_store::time::Timestamp;
use holdover_store::{
    Checkpoint, InboxItem, ItemKind, OutcomeKind, PendingCall, PendingKind, RunEnded, RunRecord,
    SessionStatus, StoredDelta, StoredItem, StoredMessage, Wake,
};

use crate::error::Fault;
use crate::reply::{self, Packed, pack, sealed};

/// The session that a row belongs to.
pub(crate) struct Owner<'a> {
    pub(crate) key: &'a SessionKey,
    pub(crate) incarnation: Incarnation,
}

/// Reads a payload. Returns an empty one if payloads were left out (`light`).
fn payload(sealed: Result<Bytes, Fault>, light: bool) -> Result<Payload, Fault> {
    if light { Ok(Payload::empty()) } else { reply::payload(sealed?) }
}

/// Encodes an item as the record that is stored. `wake` says how an answer counts towards waking the session; other
/// items carry this themselves.
pub(crate) fn item_record(item: &StoredItem, wake: Wake) -> Vec<u8> {
    let (pending, settles) = answer_columns(&item.kind);
    let (pending, settles) = (pending.map_or("", PendingId::as_str), if settles { "1" } else { "0" });
    let said = match &item.kind {
        ItemKind::Message { wake } | ItemKind::Signal { wake } | ItemKind::Other { wake, .. } => *wake,
        ItemKind::Answer { .. } => wake,
    };
    let at = item.at.as_ms().to_string();
    let (key, kind, said) = (item.key.as_str(), item.kind.as_str(), wake_name(said));
    let head = [key, kind, said, pending, settles, &at].map(str::as_bytes);
    pack(&[&head[..], &[sealed(&item.payload).as_slice()]].concat())
}

pub(crate) fn item(seq: u64, record: Bytes) -> Result<Row, Fault> {
    let seq = InboxSeq(seq);
    let mut record = Packed::new(record);
    let key = reply::id::<ItemKey>(&record.next()?)?;
    let kind = reply::text(&record.next()?)?;
    let (wake, pending) = (record.next()?, record.next()?);
    let settles = record.next()?.as_ref() == b"1";
    // Versions before tokens did not store how an answer counts: it may have been the last that was needed.
    let wake = if wake.is_empty() && kind == "answer" { Wake::Now } else { reply::word(&wake, wake_named)? };
    let kind = match kind.as_str() {
        "answer" => ItemKind::Answer { pending: reply::id::<PendingId>(&pending)?, settles },
        name => ItemKind::from_wire(name, wake)
            .ok_or_else(|| Fault::Corrupt(format!("{name:?} is stored as the kind of an item")))?,
    };
    let at = reply::instant(&record.next()?)?;
    let item = StoredItem { seq, key, kind, payload: reply::payload(record.next()?)?, at };
    let told = InboxItem {
        key: item.key.clone(),
        kind: item.kind.clone(),
        incarnation: None,
        payload: item.payload.clone(),
    };
    Ok(Row::Item { content: told.digest(), item, wake })
}

/// Returns the record under an item's key: its number and the digest of its content.
pub(crate) fn key_record(seq: InboxSeq, content: Digest) -> Vec<u8> {
    let mut record = format!("{}:", seq.0).into_bytes();
    record.extend_from_slice(&content.0);
    record
}

pub(crate) fn item_key(key: &ItemKey, record: &[u8]) -> Result<Row, Fault> {
    let torn = || Fault::Corrupt(format!("items {key}: it is torn"));
    let colon = record.iter().position(|byte| *byte == b':').ok_or_else(torn)?;
    let (seq, digest) = record.split_at(colon);
    let digest = digest.get(1..).and_then(|digest| digest.try_into().ok()).ok_or_else(torn)?;
    Ok(Row::Key { key: key.clone(), seq: InboxSeq(reply::number(seq)?), content: Digest(digest) })
}

/// Returns the facts of a pending call. Answers change them.
pub(crate) fn pending_facts(call: &PendingCall) -> String {
    let deadline = call.deadline.map_or_else(|| "-".to_owned(), |at| at.as_ms().to_string());
    format!("{} {} {deadline} {} {}", call.needed, call.answered, call.last_answer.0, call.kind.as_str())
}

/// Returns the part of a pending call that never changes.
pub(crate) fn pending_record(call: &PendingCall) -> Vec<u8> {
    let opened = call.opened_at.as_ms().to_string();
    pack(&[call.call.as_str().as_bytes(), opened.as_bytes(), &sealed(&call.body)])
}

/// Reads the deadline and the kind from the facts of a pending call.
pub(crate) fn listed_in(facts: &[u8]) -> Result<(Option<Timestamp>, String), Fault> {
    let text = reply::text(facts)?;
    if let [_, _, deadline, _, kind] = text.split(' ').collect::<Vec<_>>()[..] {
        return Ok((reply::optional_instant(deadline.as_bytes())?, kind.to_owned()));
    }
    Err(Fault::Corrupt(format!("{text:?} are the facts of no pending call")))
}

pub(crate) fn pending(
    owner: &Owner<'_>,
    id: &[u8],
    order: &[u8],
    facts: &[u8],
    record: Bytes,
    light: bool,
) -> Result<Row, Fault> {
    let id = reply::id::<PendingId>(id)?;
    let order = reply::text(order)?;
    // The server writes the score of a sorted set as a whole number, possibly with an exponent above 2^53.
    let number = order.parse::<u64>().ok().or_else(|| order.parse::<f64>().ok().map(whole));
    let order = number.ok_or_else(|| Fault::Corrupt(format!("pending {id}: its order is {order:?}")))?;
    let text = reply::text(facts)?;
    let torn = || Fault::Corrupt(format!("pending {id}: {text:?}"));
    let mut facts = text.split(' ');
    let mut fact = || facts.next().map(str::as_bytes).ok_or_else(torn);
    let mut record = Packed::new(record);
    let call = PendingCall {
        key: owner.key.clone(),
        incarnation: owner.incarnation,
        needed: reply::small(fact()?)?,
        answered: reply::small(fact()?)?,
        deadline: reply::optional_instant(fact()?)?,
        last_answer: InboxSeq(reply::number(fact()?)?),
        kind: reply::word(fact()?, PendingKind::from_wire)?,
        call: reply::id::<CallId>(&record.next()?)?,
        opened_at: reply::instant(&record.next()?)?,
        body: payload(record.next(), light)?,
        id: id.clone(),
    };
    Ok(Row::Pending { order, call })
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an order of its own size is enough"
)]
fn whole(order: f64) -> u64 {
    order as u64
}

pub(crate) fn message(seq: u64, record: Bytes) -> Result<Row, Fault> {
    let (at, payload) = reply::dated(record)?;
    Ok(Row::Message(StoredMessage { seq: MessageSeq(seq), at, payload }))
}

/// Reads an event. Each event has a record of its own.
pub(crate) fn event(seq: u64, record: Bytes) -> Result<Row, Fault> {
    let (at, payload) = reply::dated(record)?;
    Ok(Row::Events(EventBatch { last: EventSeq(seq), at, payloads: vec![payload] }))
}

pub(crate) fn delta(place: u64, record: Bytes) -> Result<Row, Fault> {
    Ok(Row::Delta(StoredDelta { place, payload: reply::payload(record)? }))
}

/// Returns the record of a run's beginning.
pub(crate) fn run_record(run: &RunRecord) -> Vec<u8> {
    let parent = run.parent.map_or_else(String::new, |parent| parent.0.to_string());
    let started = run.started_at.as_ms().to_string();
    pack(&[run.run.as_str(), run.worker.as_str(), run.found.as_str(), &parent, &started])
}

/// Returns the record of a run's end.
pub(crate) fn end_record(end: &RunEnded) -> Vec<u8> {
    let at = end.at.as_ms().to_string();
    let detail = end.detail.as_ref().map(sealed).unwrap_or_default();
    pack(&[at.as_bytes(), end.outcome.as_str().as_bytes(), &detail])
}

pub(crate) fn run(epoch: u64, record: Bytes, end: Bytes) -> Result<Row, Fault> {
    let mut record = Packed::new(record);
    let run = reply::id::<RunId>(&record.next()?)?;
    let worker = reply::id::<WorkerId>(&record.next()?)?;
    let found = reply::word(&record.next()?, SessionStatus::from_wire)?;
    let parent = record.next()?;
    let parent = if parent.is_empty() { None } else { Some(Epoch(reply::number(&parent)?)) };
    let started_at = reply::instant(&record.next()?)?;
    let end = if end.is_empty() { None } else { Some(run_end(end)?) };
    Ok(Row::Run(RunRecord { epoch: Epoch(epoch), run, worker, found, parent, started_at, end }))
}

fn run_end(record: Bytes) -> Result<RunEnded, Fault> {
    let mut record = Packed::new(record);
    let at = reply::instant(&record.next()?)?;
    let outcome = reply::word(&record.next()?, OutcomeKind::from_wire)?;
    let detail = record.next()?;
    let detail: Option<Payload> = if detail.is_empty() { None } else { Some(reply::payload(detail)?) };
    Ok(RunEnded { at, outcome, detail })
}

pub(crate) fn checkpoint_record(at: &Checkpoint) -> Vec<u8> {
    let numbers = [
        at.epoch.0.to_string(),
        at.last_message.0.to_string(),
        at.last_event.0.to_string(),
        at.at.as_ms().to_string(),
        at.format.0.to_string(),
    ];
    let head = numbers.each_ref().map(String::as_bytes);
    pack(&[&head[..], &[sealed(&at.state).as_slice()]].concat())
}

pub(crate) fn checkpoint(owner: &Owner<'_>, id: u64, record: Bytes, light: bool) -> Result<Row, Fault> {
    let mut record = Packed::new(record);
    Ok(Row::Checkpoint(Checkpoint {
        id: CheckpointId(id),
        incarnation: owner.incarnation,
        epoch: Epoch(reply::number(&record.next()?)?),
        last_message: MessageSeq(reply::number(&record.next()?)?),
        last_event: EventSeq(reply::number(&record.next()?)?),
        at: reply::instant(&record.next()?)?,
        format: holdover_store::ids::StateFormat(reply::small(&record.next()?)?),
        state: payload(record.next(), light)?,
    }))
}
