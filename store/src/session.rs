//! A session as a store keeps it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Claim, ClaimOne, InboxItem, Interrupt, Staged};
use crate::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, OperationId, QueueLabel, SessionKey, StateFormat,
    Version, WorkerId,
};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The only word of the machine that a store reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// At rest: new, or its turn ended.
    Idle,
    /// A run holds it, or held it when its lease ended.
    Active,
    /// Parked: something is owed, nobody runs it.
    Suspended,
    /// At rest after a soft stop; resumable.
    Interrupted,
    /// At rest after an error; resumable.
    Failed,
    /// Ended for ever.
    Aborted,
}

impl SessionStatus {
    /// Every status, in the order of the glossary.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Active, Self::Suspended, Self::Interrupted, Self::Failed, Self::Aborted];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::Aborted => "aborted",
        }
    }

    /// The status with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Whether the turn is over: idle, interrupted, failed or aborted.
    pub fn at_rest(self) -> bool {
        match self {
            Self::Idle | Self::Interrupted | Self::Failed | Self::Aborted => true,
            Self::Active | Self::Suspended => false,
        }
    }
}

impl std::fmt::Display for SessionStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Names and values by which sessions are listed: agent, user, the session that one was forked from, tags, metadata. At
/// most [`LABELS_MAX`](Self::LABELS_MAX), fixed at creation. A session has one value for each name, so a tag is a name
/// whose value is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// The most labels of one session.
    pub const LABELS_MAX: usize = 32;
    /// The longest name or value, in bytes.
    pub const TEXT_BYTES_MAX: usize = 256;
    /// The name of the agent that serves the session, whatever its version. Set by the runtime unless the creator says
    /// otherwise.
    pub const AGENT: &'static str = "agent";
    /// The version of that agent, if it has one. Set as [`AGENT`](Self::AGENT) is.
    pub const AGENT_VERSION: &'static str = "agent_version";
    /// The name of the program that created the session, which has its agent. Set by the runtime unless the creator says
    /// otherwise.
    pub const PROGRAM: &'static str = "program";
    /// The id of the session that this one was forked from. Set by the runtime.
    pub const FORKED_FROM: &'static str = "forked_from";

    /// With this label, where there is room for it: beside [`LABELS_MAX`](Self::LABELS_MAX) others it is left out, so
    /// that what a creator asks for is never too much because of it.
    #[must_use]
    pub fn with_if_room(mut self, name: &str, value: impl Into<String>) -> Self {
        if self.0.contains_key(name) || self.0.len() < Self::LABELS_MAX {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Whether every label of `wanted` is here with the same value.
    pub fn contains_all(&self, wanted: &Self) -> bool {
        wanted.0.iter().all(|(name, value)| self.0.get(name) == Some(value))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// How a new session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// With no alarm of its own: due at once if one of its items wakes it, else at rest.
    WithItems,
    /// Due at this instant, whatever its items say.
    At(Timestamp),
    /// Claimed in the same write.
    Claimed(ClaimOne),
}

/// What a session is created from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Tenant and id.
    pub key: SessionKey,
    /// Drawn at random by the caller.
    pub incarnation: Incarnation,
    /// Recognises a repeat of this creation.
    pub operation: OperationId,
    /// Which workers may serve it.
    pub queue: QueueLabel,
    /// By what it is listed.
    pub labels: Labels,
    /// Opaque and immutable: what whoever runs the session later must know of it. Comes with every claim.
    pub definition: Payload,
    /// The format of the state it will have.
    pub format: StateFormat,
    /// First inbox items, accepted with the creation or not at all: messages and signals.
    pub items: Vec<InboxItem>,
    /// How it begins. The items of [`Start::Claimed`] come after `items`.
    pub start: Start,
}

/// The answer to [`create_session`](super::StateStore::create_session).
#[derive(Debug, Clone, PartialEq)]
pub enum CreateOutcome {
    /// Created by this operation; a repeat answers the same. A claim, if one was asked for and its lease
    /// still runs.
    Created {
        /// The version after creation.
        version: Version,
        /// The claim asked for with [`Start::Claimed`].
        claim: Option<Box<Claim>>,
    },
    /// A session with this key exists; it was not touched.
    AlreadyExists {
        /// Which life of it.
        incarnation: Incarnation,
        /// Its status.
        status: SessionStatus,
        /// Its version.
        version: Version,
    },
    /// The session that this operation created, or that had this incarnation, was deleted: a
    /// [`Tombstone`](super::Tombstone) names it. Nothing was created, and nothing ever is under these
    /// names: to begin again, draw an incarnation and an operation anew.
    Deleted,
    /// Two of the items have one key; nothing was created.
    ItemConflict {
        /// Place of the second among all items.
        index: usize,
    },
}

/// A session as it stands: everything but its messages, events, inbox and runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Tenant and id.
    pub key: SessionKey,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Its status.
    pub status: SessionStatus,
    /// Raised by claims, commits and compare-and-sets.
    pub version: Version,
    /// The number of its newest run; 0 before the first.
    pub epoch: Epoch,
    /// Which workers may serve it.
    pub queue: QueueLabel,
    /// By what it is listed.
    pub labels: Labels,
    /// As given at creation.
    pub definition: Payload,
    /// The format of its state.
    pub format: StateFormat,
    /// Its state; none before the first commit that carries one.
    pub state: Option<Payload>,
    /// The newest message.
    pub last_message: MessageSeq,
    /// The newest event.
    pub last_event: EventSeq,
    /// The newest inbox item.
    pub last_item: InboxSeq,
    /// How many inbox items are not consumed.
    pub unread: u64,
    /// Items up to here wake nobody.
    pub inbox_seen: InboxSeq,
    /// When it wants a worker.
    pub alarm: Option<Timestamp>,
    /// Who holds it until when; none when nobody does.
    pub lease: Option<Lease>,
    /// The interrupt that waits.
    pub interrupt: Option<Interrupt>,
    /// Takeovers of an ended lease since the last commit of any kind.
    pub attempts: u32,
    /// What is staged: results and start marks.
    pub staged: Staged,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

/// Who holds a session, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The holder, as it calls itself.
    pub worker: WorkerId,
    /// Others may try from this instant on.
    pub ends: Timestamp,
    /// How long it was granted for, in milliseconds.
    pub granted_ms: u64,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Tenant and id.
    pub key: SessionKey,
    /// Which life of it.
    pub incarnation: Incarnation,
    /// Its status.
    pub status: SessionStatus,
    /// Its version.
    pub version: Version,
    /// The number of its newest run.
    pub epoch: Epoch,
    /// Which workers may serve it.
    pub queue: QueueLabel,
    /// By what it is listed.
    pub labels: Labels,
    /// The newest message.
    pub last_message: MessageSeq,
    /// How many inbox items are not consumed.
    pub unread: u64,
    /// When it wants a worker.
    pub alarm: Option<Timestamp>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its row last changed.
    pub updated_at: Timestamp,
}

/// Whether a session that a run holds may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteMode {
    /// An active session is kept.
    UnlessActive,
    /// Whatever its status; a run that holds it learns so by its fence.
    Force,
}

/// What is deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// Whether a session that a run holds may be deleted.
    pub mode: DeleteMode,
    /// The life that is meant; another answers `NotFound`. Whichever there is if none.
    pub incarnation: Option<Incarnation>,
}

impl Deletion {
    /// Whichever life there is, unless a run holds it.
    pub const UNLESS_ACTIVE: Self = Self { mode: DeleteMode::UnlessActive, incarnation: None };
    /// Whichever life there is, whatever its status.
    pub const FORCE: Self = Self { mode: DeleteMode::Force, incarnation: None };

    /// The same, of this life alone.
    #[must_use]
    pub const fn of(self, incarnation: Incarnation) -> Self {
        Self { incarnation: Some(incarnation), ..self }
    }
}

/// The answer to [`delete_session`](super::StateStore::delete_session).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Every row of it is gone; a [`Tombstone`](super::Tombstone) is left.
    Deleted,
    /// A run holds it; nothing was changed.
    Active,
    /// There is no such session, or not in this incarnation.
    NotFound,
}

/// A move of a resting session without claiming it: failed or interrupted to suspended, alarm now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCas {
    /// The life that is meant; another answers `NotFound`. Whichever there is if none.
    pub incarnation: Option<Incarnation>,
    /// The version it must have.
    pub expected_version: Version,
    /// The status it is moved to. Only [`SessionStatus::Suspended`] is ever allowed.
    pub to: SessionStatus,
    /// Accepted with the move or not at all: messages and signals.
    pub items: Vec<InboxItem>,
}

/// The answer to [`compare_and_set_status`](super::StateStore::compare_and_set_status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CasOutcome {
    /// Moved.
    Moved {
        /// The version after the move.
        version: Version,
    },
    /// The session has another version; nothing was changed.
    VersionConflict {
        /// The version that was named.
        expected: Version,
        /// The version it has.
        actual: Version,
        /// The status it has.
        status: SessionStatus,
    },
    /// No such move exists; nothing was changed.
    NotAllowed {
        /// The status it has.
        from: SessionStatus,
        /// The status that was asked for.
        to: SessionStatus,
    },
    /// An item was not accepted, so nothing was changed.
    ItemRefused {
        /// Its place among the items.
        index: usize,
        /// Why.
        refusal: super::Delivery,
    },
    /// There is no such session, or not in this incarnation.
    NotFound,
}
