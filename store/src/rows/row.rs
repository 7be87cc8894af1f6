//! The rows that make up a session.

use std::fmt;

use crate::ids::{CallId, CheckpointId, Epoch, EventSeq, InboxSeq, ItemKey, MessageSeq, PendingId};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;
use crate::{
    Checkpoint, Labels, PendingCall, RunRecord, StagedResult, StoredDelta, StoredEvent, StoredItem,
    StoredMessage, Wake,
};

/// A kind of row. A backend may choose how to keep each kind: in a table, a hash or a range of keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// The labels. There is one row.
    Labels,
    /// The definition. There is one row.
    Definition,
    /// The newest state. There is one row, once the session has a state.
    State,
    /// Messages, by number.
    Message,
    /// The events of one commit or fork, by the number of the last event.
    Events,
    /// Items that are not consumed, by number.
    Item,
    /// The keys of all items that were ever accepted, by key.
    Key,
    /// Staged results, by call.
    Staged,
    /// Start marks, by call.
    Start,
    /// Open pending calls, by id.
    Pending,
    /// The ids of all pending calls that were ever opened, by id.
    Opened,
    /// Records of runs, by epoch.
    Run,
    /// Checkpoints, by id.
    Checkpoint,
    /// Deltas of the stream that runs, by place.
    Delta,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 14] = [
        Self::Labels,
        Self::Definition,
        Self::State,
        Self::Message,
        Self::Events,
        Self::Item,
        Self::Key,
        Self::Staged,
        Self::Start,
        Self::Pending,
        Self::Opened,
        Self::Run,
        Self::Checkpoint,
        Self::Delta,
    ];
}

/// The place of a row among the rows of its kind. Numbers and names are in ascending order; names are
/// compared byte by byte.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum At {
    /// The only row of its kind.
    One,
    /// The row with this number.
    Number(u64),
    /// The row with this name.
    Name(String),
}

/// The key of a row in its session.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RowKey {
    /// The kind of the row.
    pub kind: Kind,
    /// The place of the row among the rows of its kind.
    pub at: At,
}

impl RowKey {
    /// Returns the key of the only row of a kind.
    pub fn one(kind: Kind) -> Self {
        Self { kind, at: At::One }
    }

    /// Returns the key of the row with this number.
    pub fn number(kind: Kind, number: u64) -> Self {
        Self { kind, at: At::Number(number) }
    }

    /// Returns the key of the row with this name.
    pub fn name(kind: Kind, name: impl Into<String>) -> Self {
        Self { kind, at: At::Name(name.into()) }
    }

    /// Returns the number in the key; 0 if there is none.
    pub fn as_number(&self) -> u64 {
        match &self.at {
            At::Number(number) => *number,
            At::One | At::Name(_) => 0,
        }
    }

    /// Returns the name in the key; empty if there is none.
    pub fn as_name(&self) -> &str {
        match &self.at {
            At::Name(name) => name,
            At::One | At::Number(_) => "",
        }
    }
}

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)?;
        match &self.at {
            At::One => Ok(()),
            At::Number(number) => write!(f, " {number}"),
            At::Name(name) => write!(f, " {name}"),
        }
    }
}

/// The events of one commit or fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventBatch {
    /// The number of the last event of the batch.
    pub last: EventSeq,
    /// The instant at which the events were appended.
    pub at: Timestamp,
    /// The payloads of the events, in order; at least one.
    pub payloads: Vec<Payload>,
}

impl EventBatch {
    /// Joins the payloads for a backend that keeps a batch as one row. Returns their joined bytes and, if
    /// there are several payloads, the size of each.
    pub fn join(&self) -> (Payload, Option<Vec<usize>>) {
        if let [one] = self.payloads.as_slice() {
            return (one.clone(), None);
        }
        let bytes: Vec<&[u8]> = self.payloads.iter().map(|one| one.bytes().as_ref()).collect();
        (Payload::new(bytes.concat()), Some(self.payloads.iter().map(Payload::len).collect()))
    }

    /// Splits the result of [`join`](Self::join). Without sizes, returns one payload. Returns none if the
    /// sizes do not match the bytes.
    pub fn split(all: Payload, sizes: &[usize]) -> Option<Vec<Payload>> {
        if sizes.is_empty() || sizes == [all.len()] {
            return Some(vec![all]);
        }
        if sizes.iter().try_fold(0usize, |sum, size| sum.checked_add(*size)) != Some(all.len()) {
            return None;
        }
        let mut rest = all.bytes().clone();
        Some(sizes.iter().map(|size| Payload::new(rest.split_to(*size))).collect())
    }

    /// Returns the events after number `after`.
    pub fn after(self, after: EventSeq) -> impl Iterator<Item = StoredEvent> {
        let first = self.last.0 + 1 - self.payloads.len() as u64;
        let at = self.at;
        let events = (first..).zip(self.payloads);
        events.filter(move |(seq, _)| *seq > after.0).map(move |(seq, payload)| StoredEvent {
            seq: EventSeq(seq),
            at,
            payload,
        })
    }
}

/// Returns a value if an expression matches a pattern, else none.
macro_rules! picked {
    ($from:expr, $pattern:pat => $value:expr) => {
        if let $pattern = $from { Some($value) } else { None }
    };
}
pub(super) use picked;

/// A row of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Row {
    /// See [`Kind::Labels`].
    Labels(Labels),
    /// See [`Kind::Definition`].
    Definition(Payload),
    /// See [`Kind::State`].
    State(Payload),
    /// See [`Kind::Message`].
    Message(StoredMessage),
    /// See [`Kind::Events`].
    Events(EventBatch),
    /// See [`Kind::Item`].
    Item {
        /// The item, as it was accepted.
        item: StoredItem,
        /// The way in which the item counts towards waking the session.
        wake: Wake,
        /// The digest of the item ([`InboxItem::digest`](crate::InboxItem::digest)). The row of the item's
        /// key has the same digest.
        content: Digest,
    },
    /// See [`Kind::Key`].
    Key {
        /// The key of the item.
        key: ItemKey,
        /// The place of the item in the inbox.
        seq: InboxSeq,
        /// The digest of the item.
        content: Digest,
    },
    /// See [`Kind::Staged`].
    Staged(StagedResult),
    /// See [`Kind::Start`].
    Start(CallId),
    /// See [`Kind::Pending`].
    Pending {
        /// The position of the call in the order in which the session opened its pending calls. A call that was
        /// opened later has a greater number.
        order: u64,
        /// The pending call.
        call: PendingCall,
    },
    /// See [`Kind::Opened`].
    Opened(PendingId),
    /// See [`Kind::Run`].
    Run(RunRecord),
    /// See [`Kind::Checkpoint`].
    Checkpoint(Checkpoint),
    /// See [`Kind::Delta`].
    Delta(StoredDelta),
}

impl Row {
    /// Returns the key of the row.
    pub fn key(&self) -> RowKey {
        match self {
            Self::Labels(_) => RowKey::one(Kind::Labels),
            Self::Definition(_) => RowKey::one(Kind::Definition),
            Self::State(_) => RowKey::one(Kind::State),
            Self::Message(message) => Self::message(message.seq),
            Self::Events(batch) => RowKey::number(Kind::Events, batch.last.0),
            Self::Item { item, .. } => Self::item(item.seq),
            Self::Key { key, .. } => Self::item_key(key),
            Self::Staged(result) => Self::staged(&result.call),
            Self::Start(call) => RowKey::name(Kind::Start, call.as_str()),
            Self::Pending { call, .. } => Self::pending(&call.id),
            Self::Opened(id) => Self::opened(id),
            Self::Run(run) => Self::run(run.epoch),
            Self::Checkpoint(checkpoint) => Self::checkpoint(checkpoint.id),
            Self::Delta(delta) => RowKey::number(Kind::Delta, delta.place),
        }
    }

    /// Returns the number of payload bytes in the row.
    pub fn payload_bytes(&self) -> usize {
        match self {
            Self::Labels(_) | Self::Key { .. } | Self::Start(_) | Self::Opened(_) => 0,
            Self::Definition(payload) | Self::State(payload) => payload.len(),
            Self::Message(message) => message.payload.len(),
            Self::Events(batch) => batch.payloads.iter().map(Payload::len).sum(),
            Self::Item { item, .. } => item.payload.len(),
            Self::Staged(result) => result.payload.len(),
            Self::Pending { call, .. } => call.body.len(),
            Self::Run(run) => run.end.as_ref().and_then(|end| end.detail.as_ref()).map_or(0, Payload::len),
            Self::Checkpoint(checkpoint) => checkpoint.state.len(),
            Self::Delta(delta) => delta.payload.len(),
        }
    }

    /// Returns the key of a message.
    pub fn message(seq: MessageSeq) -> RowKey {
        RowKey::number(Kind::Message, seq.0)
    }

    /// Returns the key of an item that is not consumed.
    pub fn item(seq: InboxSeq) -> RowKey {
        RowKey::number(Kind::Item, seq.0)
    }

    /// Returns the key of the row that keeps an item's key.
    pub fn item_key(key: &ItemKey) -> RowKey {
        RowKey::name(Kind::Key, key.as_str())
    }

    /// Returns the key of a staged result.
    pub fn staged(call: &CallId) -> RowKey {
        RowKey::name(Kind::Staged, call.as_str())
    }

    /// Returns the key of an open pending call.
    pub fn pending(id: &PendingId) -> RowKey {
        RowKey::name(Kind::Pending, id.as_str())
    }

    /// Returns the key of the row that keeps a pending call's id.
    pub fn opened(id: &PendingId) -> RowKey {
        RowKey::name(Kind::Opened, id.as_str())
    }

    /// Returns the key of a run's record.
    pub fn run(epoch: Epoch) -> RowKey {
        RowKey::number(Kind::Run, epoch.0)
    }

    /// Returns the key of a checkpoint.
    pub fn checkpoint(id: CheckpointId) -> RowKey {
        RowKey::number(Kind::Checkpoint, id.0)
    }
}
