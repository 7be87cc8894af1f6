//! The inbox: durable, idempotent deliveries to a session.

use serde::{Deserialize, Serialize};

use crate::ids::{InboxSeq, Incarnation, ItemKey, KindName, PendingId};
use crate::payload::{Digest, Payload};
use crate::time::Timestamp;

/// The most items in a claim or in one page of the inbox. A page also ends at
/// [`PAGE_BYTES_MAX`](super::PAGE_BYTES_MAX), so it may have fewer items although the inbox holds more.
pub const INBOX_PAGE: u32 = 256;

/// The effect of an item on a session that is not active.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wake {
    /// The item wakes the session.
    #[default]
    Now,
    /// The item wakes a session at rest. For a suspended session, it counts as one towards `wake_on`.
    Count,
    /// The item does not wake the session.
    Quiet,
}

/// The kind of a delivery.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ItemKind {
    /// A message to the agent.
    Message {
        /// The effect of the message on a session that is not active.
        wake: Wake,
    },
    /// A command to the engine, such as retry or resume.
    Signal {
        /// The effect of the signal on a session that is not active.
        wake: Wake,
    },
    /// An answer to an open pending call. The answer that completes its call wakes the session; earlier
    /// answers are quiet.
    Answer {
        /// The pending call.
        pending: PendingId,
        /// True if this answer alone settles the pending call, even if the call needs more answers. A refusal
        /// does that.
        settles: bool,
    },
    /// A kind that only a newer version knows. The store keeps and shows the item unchanged, and no run of
    /// this version consumes it. Until it is consumed, it counts as unread.
    #[serde(untagged)]
    Other {
        /// The name that the newer version gives the kind.
        #[serde(rename = "kind")]
        name: KindName,
        /// The effect of the item on a session that is not active.
        wake: Wake,
    },
}

impl ItemKind {
    /// Returns the kind with this wire name and `wake`. Returns none for an answer, which needs more fields,
    /// and for a text that is not a valid name of a kind.
    pub fn from_wire(name: &str, wake: Wake) -> Option<Self> {
        match name {
            "message" => Some(Self::Message { wake }),
            "signal" => Some(Self::Signal { wake }),
            "answer" => None,
            other => KindName::new(other).ok().map(|name| Self::Other { name, wake }),
        }
    }

    /// Returns false for [`Other`](Self::Other) with the name of a known kind.
    pub(crate) fn is_itself(&self) -> bool {
        match self {
            Self::Message { .. } | Self::Signal { .. } | Self::Answer { .. } => true,
            Self::Other { name, wake } => Self::from_wire(name.as_str(), *wake).as_ref() == Some(self),
        }
    }

    /// Returns the wire name of the kind.
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
    /// The idempotency key. If the session has ever accepted an item with this key, the delivery is a duplicate if
    /// both items have the same [digest](Self::digest), else a conflict (INV-27).
    pub key: ItemKey,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The incarnation for which the item is meant. For a session of another incarnation, the outcome is
    /// `NotFound`. An answer must name the incarnation.
    pub incarnation: Option<Incarnation>,
    /// The content of the item.
    pub payload: Payload,
}

impl InboxItem {
    /// Returns the digest with which the store compares two deliveries under one key. It covers the content, the kind
    /// and, for an answer, the pending call. It does not cover `wake` or `settles`.
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
    /// The place of the item in the inbox.
    pub seq: InboxSeq,
    /// The key of the item.
    pub key: ItemKey,
    /// The kind of the item.
    pub kind: ItemKind,
    /// The content of the item.
    pub payload: Payload,
    /// The instant at which the item was accepted.
    pub at: Timestamp,
}

/// The answer to [`read_inbox`](super::StateStore::read_inbox). A page may hold fewer items than the limit
/// although there are more. A walk to the end is complete.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct InboxPage {
    /// The items, in order.
    pub items: Vec<StoredItem>,
    /// The place after which the next page begins; none at the end.
    pub next: Option<InboxSeq>,
}

/// The answer to [`deliver`](super::StateStore::deliver).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Delivery {
    /// The item is in the inbox. It will be consumed exactly once (INV-26).
    Accepted {
        /// The place of the item in the inbox.
        seq: InboxSeq,
    },
    /// The same item was accepted before; nothing was changed.
    Duplicate {
        /// The place of the item in the inbox.
        seq: InboxSeq,
    },
    /// Another item was accepted before under this key; nothing was changed. The key is checked first, so
    /// this can also be the outcome for an answer to a call that is not pending.
    Conflict {
        /// The place of that item in the inbox.
        seq: InboxSeq,
    },
    /// The call has all the answers it needs; nothing was changed.
    AlreadyAnswered,
    /// No such call is pending: it was closed, its deadline has passed, or it was never opened. Nothing was
    /// changed.
    NotPending,
    /// The session is aborted, which is final.
    Aborted,
    /// The session does not exist, or its incarnation is not the one that the request names. An answer must
    /// name an incarnation.
    NotFound,
}

impl Delivery {
    /// Returns true if the store accepted the item, in this delivery or an earlier one.
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
