//! Types for sessions: creation, status, labels, deletion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Claim, ClaimOne, InboxItem, Interrupt, Staged};
use crate::ids::{
    Epoch, EventSeq, InboxSeq, Incarnation, MessageSeq, OperationId, QueueLabel, SessionKey, StateFormat,
    Version, WorkerId,
};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The status of a session. It is the only part of the engine's state machine that a store reads.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionStatus {
    /// At rest: new, or its turn ended.
    Idle,
    /// A run holds the session. Once its lease is over, others may claim the session.
    Active,
    /// Parked: the turn waits, and no run holds the session.
    Suspended,
    /// At rest after a soft stop; resumable.
    Interrupted,
    /// At rest after an error; resumable.
    Failed,
    /// Ended; final.
    Aborted,
}

impl SessionStatus {
    /// Every status, in the order of the glossary.
    pub const ALL: [Self; 6] =
        [Self::Idle, Self::Active, Self::Suspended, Self::Interrupted, Self::Failed, Self::Aborted];

    /// Returns the wire name.
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

    /// Returns the status with this wire name, if there is one.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Returns true if no turn is under way: the session is idle, interrupted, failed or aborted.
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

/// Names and values with which queries find sessions, such as the agent, the user, the source of a fork, tags
/// and metadata. A session has at most [`LABELS_MAX`](Self::LABELS_MAX) labels, fixed at creation. Each name
/// has one value; a tag is a name with an empty value.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Labels(pub BTreeMap<String, String>);

impl Labels {
    /// The most labels of one session.
    pub const LABELS_MAX: usize = 32;
    /// The longest name or value, in bytes.
    pub const TEXT_BYTES_MAX: usize = 256;
    /// The label for the name of the agent that serves the session, without its version. The runtime sets it
    /// unless the creator does.
    pub const AGENT: &'static str = "agent";
    /// The label for the version of that agent, if it has one. The runtime sets it unless the creator sets it or
    /// [`AGENT`](Self::AGENT).
    pub const AGENT_VERSION: &'static str = "agent_version";
    /// The label for the name of the program that created the session and defines its agent. The runtime sets
    /// it unless the creator does.
    pub const PROGRAM: &'static str = "program";
    /// The label for the id of the session from which this session was forked. The runtime sets it.
    pub const FORKED_FROM: &'static str = "forked_from";

    /// The label for the id of the parent: the session to which this session owes its outcome. The runtime sets it.
    pub const PARENT: &'static str = "parent";
    /// The label for the id of the topmost ancestor: the root of the parent or, if the parent has none, the
    /// parent. The runtime sets it.
    pub const ROOT: &'static str = "root";
    /// The label for the id of the task that another program gave to this session. The runtime sets it.
    pub const TASK: &'static str = "task";
    /// The label for the name of the schedule that started this session. The schedule sets it. A fork does not have it,
    /// because no schedule started the fork.
    pub const SCHEDULE: &'static str = "schedule";
    /// The labels that name the receiver of a session's outcome. A session that continues another session has them
    /// only if it owes that outcome.
    pub const OF_CALLER: [&'static str; 3] = [Self::PARENT, Self::ROOT, Self::TASK];

    /// Sets this label, unless it is new and there are already [`LABELS_MAX`](Self::LABELS_MAX) labels.
    #[must_use]
    pub fn with_if_room(mut self, name: &str, value: impl Into<String>) -> Self {
        if self.0.contains_key(name) || self.0.len() < Self::LABELS_MAX {
            self.0.insert(name.to_owned(), value.into());
        }
        self
    }

    /// Returns true if these labels include every label of `wanted` with the same value.
    pub fn contains_all(&self, wanted: &Self) -> bool {
        wanted.0.iter().all(|(name, value)| self.0.get(name) == Some(value))
    }
}

impl<N: Into<String>, V: Into<String>> FromIterator<(N, V)> for Labels {
    fn from_iter<I: IntoIterator<Item = (N, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect())
    }
}

/// The way in which a new session begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Start {
    /// The session is due at once if one of its items wakes it. Otherwise it rests without an alarm.
    WithItems,
    /// The session is due at this instant, even if its items would wake it earlier.
    At(Timestamp),
    /// The session is claimed in the same write.
    Claimed(ClaimOne),
}

/// A session to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewSession {
    /// Tenant and id.
    pub key: SessionKey,
    /// The incarnation, which the caller draws at random or [derives](Incarnation::derived).
    pub incarnation: Incarnation,
    /// The operation id. The store uses it to recognise a repeat of this creation.
    pub operation: OperationId,
    /// The queue label. Workers use it to choose the sessions that they claim.
    pub queue: QueueLabel,
    /// The labels. Queries use them to find sessions.
    pub labels: Labels,
    /// The definition: data that every run of the session needs. It is opaque to the store, never changes,
    /// and comes with every claim.
    pub definition: Payload,
    /// The format of the state that the session will have.
    pub format: StateFormat,
    /// The first inbox items: messages and signals. Either all are accepted with the creation, or nothing is
    /// created.
    pub items: Vec<InboxItem>,
    /// The way in which the session begins. The items of [`Start::Claimed`] come after `items`.
    pub start: Start,
}

/// The answer to [`create_session`](super::StateStore::create_session).
#[derive(Debug, Clone, PartialEq)]
pub enum CreateOutcome {
    /// The session was created by this operation. A repeat returns the same outcome.
    Created {
        /// The version after creation.
        version: Version,
        /// The claim, if the creation asked for one with [`Start::Claimed`] and its lease still runs.
        claim: Option<Box<Claim>>,
    },
    /// A session with this key exists; it was not changed.
    AlreadyExists {
        /// The incarnation of that session.
        incarnation: Incarnation,
        /// The status of that session.
        status: SessionStatus,
        /// The version of that session.
        version: Version,
    },
    /// The session that this operation created, or that had this incarnation, was deleted: a
    /// [`Tombstone`](super::Tombstone) names it. Nothing was created. A repeat is refused as long as the
    /// tombstone exists. To begin again, draw a new incarnation and a new operation id.
    Deleted,
    /// Two of the items have the same key; nothing was created.
    ItemConflict {
        /// The index of the second of these two among all items.
        index: usize,
    },
}

/// A session at one instant, without its messages, events, inbox, pending calls, runs and checkpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Tenant and id.
    pub key: SessionKey,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The status of the session.
    pub status: SessionStatus,
    /// The version, raised by claims, commits and compare-and-sets.
    pub version: Version,
    /// The number of the newest run; 0 before the first.
    pub epoch: Epoch,
    /// The queue label. Workers use it to choose the sessions that they claim.
    pub queue: QueueLabel,
    /// The labels. Queries use them to find sessions.
    pub labels: Labels,
    /// The definition, as given at creation.
    pub definition: Payload,
    /// The format of the state.
    pub format: StateFormat,
    /// The state; none before the first commit that carries one.
    pub state: Option<Payload>,
    /// The place of the newest message; 0 if there is none.
    pub last_message: MessageSeq,
    /// The place of the newest event; 0 if there is none.
    pub last_event: EventSeq,
    /// The place of the newest inbox item; 0 if there is none.
    pub last_item: InboxSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// The place of the newest item that a run has declared read; 0 if there is none. Only later items count towards
    /// waking.
    pub inbox_seen: InboxSeq,
    /// The instant at which the session wants a worker; none if it wants none.
    pub alarm: Option<Timestamp>,
    /// The lease, which names the worker that holds the session. None while no run holds it.
    pub lease: Option<Lease>,
    /// The waiting interrupt, if there is one.
    pub interrupt: Option<Interrupt>,
    /// The number of takeovers since the last commit of any kind.
    pub attempts: u32,
    /// The staged results and start marks.
    pub staged: Staged,
    /// The instant at which the session was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the session. Staging, deltas, the handing of an interrupt to a run and the
    /// removal of checkpoints do not count.
    pub updated_at: Timestamp,
}

/// The lease of a session. It names the worker that holds the session, and the end of its hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// The worker that holds the session.
    pub worker: WorkerId,
    /// The instant from which other runs may claim the session.
    pub ends: Timestamp,
    /// The length for which the lease was last granted or renewed, in milliseconds.
    pub granted_ms: u64,
}

/// A session in a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSummary {
    /// Tenant and id.
    pub key: SessionKey,
    /// The incarnation of the session.
    pub incarnation: Incarnation,
    /// The status of the session.
    pub status: SessionStatus,
    /// The version of the session.
    pub version: Version,
    /// The number of the newest run.
    pub epoch: Epoch,
    /// The queue label. Workers use it to choose the sessions that they claim.
    pub queue: QueueLabel,
    /// The labels. Queries use them to find sessions.
    pub labels: Labels,
    /// The place of the newest message; 0 if there is none.
    pub last_message: MessageSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// The instant at which the session wants a worker; none if it wants none.
    pub alarm: Option<Timestamp>,
    /// The instant at which the session was created.
    pub created_at: Timestamp,
    /// The instant of the last change of the session. Staging, deltas, the handing of an interrupt to a run and the
    /// removal of checkpoints do not count.
    pub updated_at: Timestamp,
}

/// The treatment of an active session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteMode {
    /// Keeps a session that is active.
    UnlessActive,
    /// Deletes the session whatever its status. The outcome of the next write of a run that holds it is
    /// `StaleFence`.
    Force,
}

/// A request to delete a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deletion {
    /// The treatment of an active session.
    pub mode: DeleteMode,
    /// The incarnation to delete; any incarnation if none. For a session of another incarnation, the outcome
    /// is `NotFound`.
    pub incarnation: Option<Incarnation>,
    /// The version that the session must have; any version if none.
    pub expected_version: Option<Version>,
}

impl Deletion {
    /// A deletion of any incarnation and version, unless the session is active.
    pub const UNLESS_ACTIVE: Self =
        Self { mode: DeleteMode::UnlessActive, incarnation: None, expected_version: None };
    /// A deletion of any incarnation and version, whatever the status of the session.
    pub const FORCE: Self = Self { mode: DeleteMode::Force, ..Self::UNLESS_ACTIVE };

    /// Returns the same request, limited to this incarnation.
    #[must_use]
    pub const fn of(self, incarnation: Incarnation) -> Self {
        Self { incarnation: Some(incarnation), ..self }
    }

    /// Returns the same request, limited to a session that has this version.
    #[must_use]
    pub const fn at(self, version: Version) -> Self {
        Self { expected_version: Some(version), ..self }
    }
}

/// The answer to [`delete_session`](super::StateStore::delete_session).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Every row of the session was removed. A [`Tombstone`](super::Tombstone) remains.
    Deleted,
    /// The session is active; nothing was changed.
    Active,
    /// The session has another version; nothing was changed. For an active session that may not be deleted, the
    /// outcome is `Active` instead.
    VersionConflict {
        /// The version that the request names.
        expected: Version,
        /// The version of the session.
        actual: Version,
    },
    /// The session does not exist, or its incarnation is not the one that the request names.
    NotFound,
}

/// A change of a session's status without a claim: from failed or interrupted to suspended, with the alarm
/// set to now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatusCas {
    /// The incarnation to move; any incarnation if none. For a session of another incarnation, the outcome is
    /// `NotFound`.
    pub incarnation: Option<Incarnation>,
    /// The version that the session must have.
    pub expected_version: Version,
    /// The new status. Only [`SessionStatus::Suspended`] is allowed.
    pub to: SessionStatus,
    /// Messages and signals to deliver with the move. Either all are accepted with the move, or nothing is
    /// changed.
    pub items: Vec<InboxItem>,
}

/// The answer to [`compare_and_set_status`](super::StateStore::compare_and_set_status).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CasOutcome {
    /// The session has the new status.
    Moved {
        /// The version after the move.
        version: Version,
    },
    /// The session has another version; nothing was changed.
    VersionConflict {
        /// The version that the request expected.
        expected: Version,
        /// The version that the session has.
        actual: Version,
        /// The status that the session has.
        status: SessionStatus,
    },
    /// This move is not allowed; nothing was changed.
    NotAllowed {
        /// The status that the session has.
        from: SessionStatus,
        /// The status that the request named.
        to: SessionStatus,
    },
    /// An item was not accepted, so nothing was changed.
    ItemRefused {
        /// The index of that item in the request.
        index: usize,
        /// The reason why the item was not accepted.
        refusal: super::Delivery,
    },
    /// The session does not exist, or its incarnation is not the one that the request names.
    NotFound,
}
