//! The encoding of rows as bytes, for backends that keep bytes under keys.
//!
//! A row consists of the length of its head (four bytes, big-endian), the head as JSON and, if the row has a
//! payload, the payload's digest and bytes. A row does not repeat the fields of its key; a row with no other
//! fields is empty. A slot is JSON.

use std::ops::Range;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::index::behind;
use super::row::{At, EventBatch, Kind, Row, RowKey};
use super::write::{Slot, Token};
use crate::ids::{CallId, Epoch, EventSeq, InboxSeq, Incarnation, ItemKey, OperationId, RunId, SessionKey};
use crate::payload::{Digest, Payload};
use crate::rules::SessionRow;
use crate::time::Timestamp;
use crate::{
    Checkpoint, ItemKind, Labels, OutcomeKind, PendingCall, PendingKind, RunEnded, RunRecord, SessionStatus,
    StagedResult, StoredDelta, StoredItem, StoredMessage, Tombstone, Wake,
};

/// The reason why bytes are not a valid row.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct InvalidRow(String);

const LENGTH_BYTES: usize = 4;
const DIGEST_BYTES: usize = 32;

#[derive(Serialize, Deserialize)]
struct SlotHead {
    token: u64,
    place: u64,
    row: Option<SessionRow>,
    lives: Vec<(Incarnation, OperationId, Timestamp)>,
}

/// Encodes a slot as JSON.
pub fn encode_slot(slot: &Slot) -> Vec<u8> {
    let lives = slot.lives.iter().map(|life| (life.incarnation, life.operation.clone(), life.at));
    let (token, place, row) = (slot.token.0, slot.place, slot.row.clone());
    to_json(&SlotHead { token, place, row, lives: lives.collect() })
}

/// Decodes the slot under `key` from its bytes.
pub fn decode_slot(key: &SessionKey, bytes: &[u8]) -> Result<Slot, InvalidRow> {
    let head: SlotHead = from_json(bytes)?;
    let life = |(incarnation, operation, at)| Tombstone { key: key.clone(), incarnation, operation, at };
    let lives = head.lives.into_iter().map(life).collect();
    if head.row.as_ref().is_some_and(|row| row.key != *key) {
        return Err(InvalidRow("it is the row of another session".into()));
    }
    Ok(Slot { token: Token(head.token), place: head.place, row: head.row, lives })
}

/// Returns the slot that remains when an unreadable session is removed. The slot holds the tombstones that can be
/// read from these bytes and are not old, and a tombstone of the removed session, with the instant `at`, if its names
/// can be read. Returns none if there are no such tombstones, so that no slot remains.
///
/// Used to implement [`Rows::remove_unreadable`](super::Rows::remove_unreadable).
pub fn bury_slot(key: &SessionKey, bytes: &[u8], at: Timestamp) -> Option<Slot> {
    fn told<T: DeserializeOwned>(head: &serde_json::Value) -> Option<T> {
        T::deserialize(head).ok()
    }
    let head: serde_json::Value = from_json(bytes).ok()?;
    let earlier: Vec<(Incarnation, OperationId, Timestamp)> = told(&head["lives"]).unwrap_or_default();
    let last = told(&head["row"]["incarnation"]).zip(told(&head["row"]["created_by"]));
    let all = earlier.into_iter().chain(last.map(|(incarnation, operation)| (incarnation, operation, at)));
    let stone = |(incarnation, operation, at)| Tombstone { key: key.clone(), incarnation, operation, at };
    let lives: Vec<Tombstone> = all.map(stone).filter(|life| !life.is_old(at)).collect();
    (!lives.is_empty()).then(|| Slot { token: Token::random(), place: 0, row: None, lives })
}

/// Encodes the key of a row in its session as bytes. The bytes have the same order as [`RowKey`].
pub fn encode_row_key(key: &RowKey) -> Vec<u8> {
    let mut bytes = vec![code(key.kind)];
    match &key.at {
        At::One => bytes.push(0),
        At::Number(number) => {
            bytes.push(1);
            bytes.extend_from_slice(&number.to_be_bytes());
        }
        At::Name(name) => {
            bytes.push(2);
            bytes.extend_from_slice(name.as_bytes());
        }
    }
    bytes
}

/// Decodes the key of a row from these bytes.
pub fn decode_row_key(bytes: &[u8]) -> Result<RowKey, InvalidRow> {
    let invalid = || InvalidRow("its key is none".into());
    let [kind, form, at @ ..] = bytes else { return Err(invalid()) };
    let kind = Kind::ALL.into_iter().find(|one| code(*one) == *kind).ok_or_else(invalid)?;
    let at = match (form, at) {
        (0, []) => At::One,
        (1, number) => At::Number(u64::from_be_bytes(number.try_into().map_err(|_| invalid())?)),
        (2, name) => At::Name(String::from_utf8(name.to_vec()).map_err(|_| invalid())?),
        _ => return Err(invalid()),
    };
    Ok(RowKey { kind, at })
}

/// Returns the range of the encoded keys of all rows of a kind.
pub fn kind_range(kind: Kind) -> Range<Vec<u8>> {
    vec![code(kind)]..vec![code(kind) + 1]
}

/// Returns the range of the encoded keys of a kind with the numbers from `first` to `last`, both included. It is
/// empty if `first` is greater than `last`.
pub fn number_range(kind: Kind, first: u64, last: u64) -> Range<Vec<u8>> {
    let start = encode_row_key(&RowKey::number(kind, first));
    if first > last {
        return start.clone()..start;
    }
    start..behind(encode_row_key(&RowKey::number(kind, last)))
}

/// Returns the range of bytes that contains only this encoded key.
pub fn key_range(key: &RowKey) -> Range<Vec<u8>> {
    let start = encode_row_key(key);
    start.clone()..behind(start)
}

/// Returns the code of a kind in an encoded key. Backends store the code, so it must never change.
fn code(kind: Kind) -> u8 {
    match kind {
        Kind::Labels => 0,
        Kind::Definition => 1,
        Kind::State => 2,
        Kind::Message => 3,
        Kind::Events => 4,
        Kind::Item => 5,
        Kind::Key => 6,
        Kind::Staged => 7,
        Kind::Start => 8,
        Kind::Pending => 9,
        Kind::Opened => 10,
        Kind::Run => 11,
        Kind::Checkpoint => 12,
        Kind::Delta => 13,
    }
}

type ItemHead = (ItemKey, ItemKind, Wake, Digest, Timestamp);
type PendingHead =
    (u64, Incarnation, CallId, PendingKind, (u32, u32, InboxSeq), Option<Timestamp>, Timestamp);
type EndHead = (Timestamp, OutcomeKind, bool);
type RunHead = (RunId, crate::ids::WorkerId, SessionStatus, Option<Epoch>, Timestamp, Option<EndHead>);
type CheckpointHead =
    (Incarnation, Epoch, crate::ids::MessageSeq, EventSeq, Timestamp, crate::ids::StateFormat);

/// Encodes a row as bytes.
pub fn encode_row(row: &Row) -> Vec<u8> {
    match row {
        Row::Labels(labels) => seal(labels, None),
        Row::Definition(payload) | Row::State(payload) => seal(&(), Some(payload)),
        Row::Message(message) => seal(&message.at, Some(&message.payload)),
        Row::Events(batch) => {
            let (all, sizes) = batch.join();
            seal(&(batch.at, sizes.unwrap_or_else(|| vec![all.len()])), Some(&all))
        }
        Row::Item { item, wake, content } => {
            seal(&(&item.key, &item.kind, wake, content, item.at), Some(&item.payload))
        }
        Row::Key { seq, content, .. } => seal(&(seq, content), None),
        Row::Staged(result) => seal(&(), Some(&result.payload)),
        Row::Start(_) | Row::Opened(_) => Vec::new(),
        Row::Pending { order, call } => {
            let counts = (call.needed, call.answered, call.last_answer);
            let head =
                (order, call.incarnation, &call.call, &call.kind, counts, call.deadline, call.opened_at);
            seal(&head, Some(&call.body))
        }
        Row::Run(run) => {
            let detail = run.end.as_ref().and_then(|end| end.detail.as_ref());
            let end = run.end.as_ref().map(|end| (end.at, end.outcome, detail.is_some()));
            seal(&(&run.run, &run.worker, run.found, run.parent, run.started_at, end), detail)
        }
        Row::Checkpoint(at) => {
            let head = (at.incarnation, at.epoch, at.last_message, at.last_event, at.at, at.format);
            seal(&head, Some(&at.state))
        }
        Row::Delta(delta) => seal(&(), Some(&delta.payload)),
    }
}

/// Decodes the row of session `of` that is stored under `key` as these bytes.
pub fn decode_row(of: &SessionKey, key: &RowKey, bytes: &[u8]) -> Result<Row, InvalidRow> {
    let number = key.as_number();
    Ok(match key.kind {
        Kind::Labels => Row::Labels(open::<Labels>(bytes)?.0),
        Kind::Definition => Row::Definition(payload(open::<()>(bytes)?.1)?),
        Kind::State => Row::State(payload(open::<()>(bytes)?.1)?),
        Kind::Message => {
            let (at, body) = open(bytes)?;
            let seq = crate::ids::MessageSeq(number);
            Row::Message(StoredMessage { seq, at, payload: payload(body)? })
        }
        Kind::Events => {
            let ((at, sizes), body): ((Timestamp, Vec<usize>), _) = open(bytes)?;
            let payloads = EventBatch::split(payload(body)?, &sizes).filter(|_| !sizes.is_empty());
            let payloads = payloads.ok_or_else(|| InvalidRow("events: their sizes do not fit".into()))?;
            Row::Events(EventBatch { last: EventSeq(number), at, payloads })
        }
        Kind::Item => {
            let ((key, kind, wake, content, at), body): (ItemHead, _) = open(bytes)?;
            if !kind.is_itself() {
                return Err(InvalidRow(format!("kind: {} has other fields", kind.as_str())));
            }
            let item = StoredItem { seq: InboxSeq(number), key, kind, payload: payload(body)?, at };
            Row::Item { item, wake, content }
        }
        Kind::Key => {
            let (seq, content) = open(bytes)?.0;
            Row::Key { key: name(key)?, seq, content }
        }
        Kind::Staged => {
            Row::Staged(StagedResult { call: name(key)?, payload: payload(open::<()>(bytes)?.1)? })
        }
        Kind::Start => Row::Start(name(key)?),
        Kind::Opened => Row::Opened(name(key)?),
        Kind::Pending => {
            let (head, body): (PendingHead, _) = open(bytes)?;
            let (order, incarnation, call, kind, (needed, answered, last_answer), deadline, opened_at) = head;
            let (id, key, body) = (name(key)?, of.clone(), payload(body)?);
            let call = PendingCall {
                key,
                incarnation,
                id,
                call,
                kind,
                needed,
                answered,
                last_answer,
                deadline,
                body,
                opened_at,
            };
            Row::Pending { order, call }
        }
        Kind::Run => {
            let ((run, worker, found, parent, started_at, end), body): (RunHead, _) = open(bytes)?;
            let end = match end {
                Some((at, outcome, true)) => Some(RunEnded { at, outcome, detail: Some(payload(body)?) }),
                Some((at, outcome, false)) => Some(RunEnded { at, outcome, detail: None }),
                None => None,
            };
            Row::Run(RunRecord { epoch: Epoch(number), run, worker, found, parent, started_at, end })
        }
        Kind::Checkpoint => {
            let ((incarnation, epoch, last_message, last_event, at, format), body): (CheckpointHead, _) =
                open(bytes)?;
            let id = crate::ids::CheckpointId(number);
            let state = payload(body)?;
            Row::Checkpoint(Checkpoint {
                id,
                incarnation,
                epoch,
                last_message,
                last_event,
                at,
                format,
                state,
            })
        }
        Kind::Delta => Row::Delta(StoredDelta { place: number, payload: payload(open::<()>(bytes)?.1)? }),
    })
}

fn name<T: std::str::FromStr<Err = E>, E: std::fmt::Display>(key: &RowKey) -> Result<T, InvalidRow> {
    key.as_name().parse().map_err(|why: E| InvalidRow(format!("{key}: {why}")))
}

fn seal<H: Serialize>(head: &H, payload: Option<&Payload>) -> Vec<u8> {
    let head = to_json(head);
    let body = payload.map_or(0, |payload| DIGEST_BYTES + payload.len());
    let mut bytes = Vec::with_capacity(LENGTH_BYTES + head.len() + body);
    bytes.extend_from_slice(&u32::try_from(head.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend_from_slice(&head);
    if let Some(payload) = payload {
        bytes.extend_from_slice(&payload.digest().0);
        bytes.extend_from_slice(payload.bytes());
    }
    bytes
}

fn open<H: DeserializeOwned>(bytes: &[u8]) -> Result<(H, &[u8]), InvalidRow> {
    let cut = || InvalidRow("it was cut off".into());
    let (length, rest) = bytes.split_first_chunk::<LENGTH_BYTES>().ok_or_else(cut)?;
    let length = u32::from_be_bytes(*length) as usize;
    let (head, body) = rest.split_at_checked(length).ok_or_else(cut)?;
    Ok((from_json(head)?, body))
}

fn payload(body: &[u8]) -> Result<Payload, InvalidRow> {
    let (digest, bytes) =
        body.split_first_chunk::<DIGEST_BYTES>().ok_or_else(|| InvalidRow("it was cut off".into()))?;
    Payload::from_stored(bytes.to_vec(), Digest(*digest)).map_err(|why| InvalidRow(why.to_string()))
}

fn to_json<T: Serialize>(value: &T) -> Vec<u8> {
    // The value holds only ids, numbers and texts, so serialisation cannot fail.
    serde_json::to_vec(value).unwrap_or_default()
}

fn from_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, InvalidRow> {
    serde_json::from_slice(bytes).map_err(|why| InvalidRow(why.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_read_back_and_their_bytes_are_in_their_order() {
        let of_kind = |kind| {
            let numbers = [0, 1, 255, 256, u64::MAX].map(|number| RowKey::number(kind, number));
            let names = ["a", "a b", "b", "\u{e9}"].map(|name| RowKey::name(kind, name));
            [RowKey::one(kind)].into_iter().chain(numbers).chain(names)
        };
        let keys: Vec<RowKey> = Kind::ALL.into_iter().flat_map(of_kind).collect();
        assert!(keys.is_sorted());
        let bytes: Vec<Vec<u8>> = keys.iter().map(encode_row_key).collect();
        assert!(bytes.is_sorted());
        for (key, bytes) in keys.iter().zip(&bytes) {
            assert_eq!(decode_row_key(bytes).as_ref(), Ok(key));
            assert!(kind_range(key.kind).contains(bytes), "{key}");
            assert!(key_range(key).contains(bytes), "{key}");
            assert_eq!(keys.iter().filter(|one| key_range(key).contains(&encode_row_key(one))).count(), 1);
            let is_number = matches!(key.at, At::Number(1..=256));
            assert_eq!(number_range(key.kind, 1, 256).contains(bytes), is_number, "{key}");
        }
        assert!(number_range(Kind::Message, 2, 1).is_empty());
        assert!(decode_row_key(&[3, 1, 0]).is_err());
        assert!(decode_row_key(&[14, 0]).is_err());
    }

    #[test]
    fn of_a_slot_that_cannot_be_read_the_lives_are_left_that_can_be_told() {
        let key = SessionKey::new("t".parse().unwrap(), "s".parse().unwrap());
        let life = |nth: u128| uuid::Uuid::from_u128(nth).simple().to_string();
        let (one, two) = (life(1), life(2));
        let head = format!(
            r#"{{"token":1,"place":0,"lives":[["{one}","op1",0]],
                "row":{{"incarnation":"{two}","created_by":"op2","status":"?"}}}}"#
        );
        assert!(decode_slot(&key, head.as_bytes()).is_err());
        let at = Timestamp::from_ms(1_000);
        let left = bury_slot(&key, head.as_bytes(), at).unwrap();
        let told: Vec<_> = left.lives.iter().map(|one| (one.incarnation.to_string(), one.at)).collect();
        assert_eq!(told, [(one, Timestamp::EPOCH), (two, at)]);
        assert_eq!(decode_slot(&key, &encode_slot(&left)), Ok(left));
        assert_eq!(bury_slot(&key, b"{}", at), None);
        assert_eq!(bury_slot(&key, b"\xff{}", at), None);
    }
}
