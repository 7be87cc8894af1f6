//! Durable, idempotent deliveries to a session.

use serde::{Deserialize, Serialize};

use crate::ids::{InboxSeq, Incarnation, ItemKey, KindName, PendingId};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The most items that a claim brings and that one read answers. Either may bring fewer although there
/// are more: a page ends at [`PAGE_BYTES_MAX`](super::PAGE_BYTES_MAX) too.
pub const INBOX_PAGE: u32 = 256;

/// How a message or a signal counts when the session is parked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// Urgent: wakes it.
    #[default]
    Now,
    /// Counts one towards `wake_on`.
    Count,
    /// Counts nothing.
    Quiet,
}

/// What is delivered.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemKind {
    /// Something said to the agent.
    Message {
        /// How it counts.
        wake: Wake,
    },
    /// A word to the engine: retry, resume.
    Signal {
        /// How it counts.
        wake: Wake,
    },
    /// An answer to an open pending call. Urgent once its call has all it needs, else quiet.
    Answer {
        /// Which pending call.
        pending: PendingId,
        /// Whether this answer alone ends the asking, however many more are needed (a refusal does).
        settles: bool,
    },
    /// Something that a newer version knows. It is kept and shown as it is, and no run of this version takes it: while it
    /// is there, its session has something unread.
    #[serde(untagged)]
    Other {
        /// What that version calls it.
        #[serde(rename = "kind")]
        name: KindName,
        /// How it counts.
        wake: Wake,
    },
}

impl ItemKind {
    /// The kind that has no more to it than how it counts, by its wire name. None: it is an answer, or can be no name of a
    /// kind.
    pub fn from_wire(name: &str, wake: Wake) -> Option<Self> {
        match name {
            "message" => Some(Self::Message { wake }),
            "signal" => Some(Self::Signal { wake }),
            "answer" => None,
            other => KindName::new(other).ok().map(|name| Self::Other { name, wake }),
        }
    }

    /// Whether it is what its name says: not [`Other`](Self::Other) under a name that is known.
    pub(crate) fn is_itself(&self) -> bool {
        match self {
            Self::Message { .. } | Self::Signal { .. } | Self::Answer { .. } => true,
            Self::Other { name, wake } => Self::from_wire(name.as_str(), *wake).as_ref() == Some(self),
        }
    }

    /// The wire name of the kind.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Message { .. } => "message",
            Self::Signal { .. } => "signal",
            Self::Answer { .. } => "answer",
            Self::Other { name, .. } => name.as_str(),
        }
    }
}

/// One delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct InboxItem {
    /// Idempotency key, unique in the session for ever: the same key with the same content is a
    /// duplicate, with other content a conflict (INV-27).
    pub key: ItemKey,
    /// What it is.
    pub kind: ItemKind,
    /// The life of the session it is meant for; another answers `NotFound`. Answers must name it.
    pub incarnation: Option<Incarnation>,
    /// Its content.
    pub payload: Payload,
}

impl InboxItem {
    /// The digest by which two deliveries under one key are compared: what it is (bar how it wakes) and
    /// its content.
    pub fn digest(&self) -> Digest {
        let mut text = String::from(self.kind.as_str());
        if let ItemKind::Answer { pending, .. } = &self.kind {
            text.push('\0');
            text.push_str(pending.as_str());
        }
        let mut bytes = text.into_bytes();
        bytes.push(0);
        bytes.extend_from_slice(&self.payload.digest().0);
        Digest::of(&bytes)
    }
}

/// An accepted delivery that no commit has consumed yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredItem {
    /// Its place in the inbox.
    pub seq: InboxSeq,
    /// Its key.
    pub key: ItemKey,
    /// What it is.
    pub kind: ItemKind,
    /// Its content.
    pub payload: Payload,
    /// When it was accepted.
    pub at: Timestamp,
}

/// The answer to [`read_inbox`](super::StateStore::read_inbox). It may be short and still go on; a walk to
/// the end is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxPage {
    /// The items, in order.
    pub items: Vec<StoredItem>,
    /// After which place to go on; none at the end.
    pub next: Option<InboxSeq>,
}

/// The answer to [`deliver`](super::StateStore::deliver).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// Accepted; it will be consumed exactly once (INV-26).
    Accepted {
        /// Its place in the inbox.
        seq: InboxSeq,
    },
    /// The same was accepted before; nothing was changed.
    Duplicate {
        /// Its place in the inbox.
        seq: InboxSeq,
    },
    /// Something else was accepted before under this key; nothing was changed. Also said of an answer that no call waits
    /// for: what the key is known for comes first.
    Conflict {
        /// Its place in the inbox.
        seq: InboxSeq,
    },
    /// The call has all the answers it needs; nothing was changed.
    AlreadyAnswered,
    /// No such call is pending: closed, past its deadline, or never opened.
    NotPending,
    /// The session is aborted, for ever.
    Aborted,
    /// There is no such session, or not in this incarnation.
    NotFound,
}

impl Delivery {
    /// Whether the item is in the inbox now, by this delivery or an earlier one.
    pub fn is_in(&self) -> bool {
        match self {
            Self::Accepted { .. } | Self::Duplicate { .. } => true,
            Self::Conflict { .. }
            | Self::AlreadyAnswered
            | Self::NotPending
            | Self::Aborted
            | Self::NotFound => false,
        }
    }
}
