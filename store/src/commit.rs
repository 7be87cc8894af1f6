//! The one atomic write by which a run makes progress.

use serde::{Deserialize, Serialize};

use super::rules::Limits;
use super::{Capabilities, NewPending, SessionStatus, StoreError};
use crate::ids::{CallId, InboxSeq, InterruptId, MessageSeq, OperationId, PendingId, StateFormat, Version};
use crate::payload::Payload;
use crate::time::Timestamp;

/// The result of one call, made durable before its step is finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedResult {
    /// The call.
    pub call: CallId,
    /// The result: the bytes of the message that a later commit promotes.
    pub payload: Payload,
}

/// The results and start marks that a run stages in one write, wholly or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staging {
    /// Results. The first result of a call wins for ever (INV-17).
    pub results: Vec<StagedResult>,
    /// Start marks of calls that may be sent once this staging is acknowledged.
    pub starts: Vec<CallId>,
}

/// The staged results and start marks of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staged {
    /// Results that no commit has promoted, in the order of their call ids.
    pub results: Vec<StagedResult>,
    /// Start marks staged since the last commit that carried a state, in the order of their call ids.
    pub starts: Vec<CallId>,
}

/// The answer to [`stage_result`](super::StateStore::stage_result).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StageOutcome {
    /// Everything is staged, by this write or by an earlier one with the same bytes.
    Staged(Receipt),
    /// This call has another result; nothing was changed.
    Conflict {
        /// The call.
        call: CallId,
    },
    /// Another run owns the session now, or it was released or deleted.
    StaleFence,
}

/// A message to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewMessage {
    /// A message with these bytes.
    Inline(Payload),
    /// The staged result of this call. It is promoted, and no longer staged.
    Promote(CallId),
}

/// The state of a session, and how to read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewState {
    /// The format of the state.
    pub format: StateFormat,
    /// The bytes of the state.
    pub payload: Payload,
}

/// How a run ended. Wire names as in the glossary of outcomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The turn ended.
    Completed,
    /// Client tools or approvals owe answers.
    SuspendedClientTool,
    /// Only child sessions owe outcomes.
    SuspendedAwaitingChildren,
    /// Some calls of the step are done, others of mixed kinds are owed.
    SuspendedStepPartial,
    /// A durable timer, or a back-off longer than a second.
    SuspendedUntil,
    /// A soft stop.
    Interrupted,
    /// A hard stop, which is final.
    Aborted,
    /// An error that this turn could not recover from.
    Failed,
    /// Another run took the session over.
    Lost,
    /// The claim was given back: there was nothing to do, or no one to do it.
    Released,
}

impl OutcomeKind {
    /// Every kind.
    pub const ALL: [Self; 10] = [
        Self::Completed,
        Self::SuspendedClientTool,
        Self::SuspendedAwaitingChildren,
        Self::SuspendedStepPartial,
        Self::SuspendedUntil,
        Self::Interrupted,
        Self::Aborted,
        Self::Failed,
        Self::Lost,
        Self::Released,
    ];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::SuspendedClientTool => "suspended_client_tool",
            Self::SuspendedAwaitingChildren => "suspended_awaiting_children",
            Self::SuspendedStepPartial => "suspended_step_partial",
            Self::SuspendedUntil => "suspended_until",
            Self::Interrupted => "interrupted",
            Self::Aborted => "aborted",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Released => "released",
        }
    }

    /// The kind with this wire name.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The end of a run, which a commit writes into the run's record. The first end is kept for ever.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// How the run ended.
    pub outcome: OutcomeKind,
    /// The run's usage and the reason for its end; opaque to the store.
    pub detail: Payload,
}

/// How a commit leaves the session. A release ends the fence, except for the repeat of that commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// The session is left with this status, which is any but active. A session that is left idle owes
    /// nothing: everything staged then is dropped, also what this commit stages. So a result that comes
    /// again, after it was promoted, does not stay for ever.
    To {
        /// The status that the session is left with.
        status: SessionStatus,
        /// When the session wants a worker if nothing wakes it before.
        deadline: Option<Timestamp>,
        /// The number of unseen counted items that wake the session while it is suspended; 0 = none do.
        wake_on: u32,
    },
    /// The claim is given back. The status that the claim found returns; that of a takeover returns with its
    /// lease ended.
    GiveBack {
        /// When the session wants a worker if nothing wakes it before. A takeover is due at once if none is
        /// named.
        alarm: Option<Timestamp>,
    },
}

/// Everything a run changes, applied wholly or not at all (INV-04). Every part is optional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The operation id, by which a repeat of this commit is recognised.
    pub operation: OperationId,
    /// The version on which the commit was decided.
    pub expected_version: Option<Version>,
    /// The new state. Start marks staged before it are dropped: the state names what started.
    pub state: Option<NewState>,
    /// Messages to append, in this order, with dense sequence numbers.
    pub messages: Vec<NewMessage>,
    /// Results to stage with this commit. A later commit may promote them while the session has not been left
    /// idle.
    pub stage: Vec<StagedResult>,
    /// Events to append to the event log, in this order, with dense sequence numbers.
    pub events: Vec<Payload>,
    /// Whether to keep the session, as this commit leaves it, as a checkpoint. Only with a state.
    pub checkpoint: bool,
    /// The number of the model call whose message is in this commit. The deltas of that call are removed, and
    /// late ones are refused.
    pub streamed: Option<u32>,
    /// Pending calls to open.
    pub open: Vec<NewPending>,
    /// Pending calls to close. If one was answered after `inbox_seen`, the commit is refused.
    pub close: Vec<PendingId>,
    /// Inbox items that the commit consumes, named one by one.
    pub consumed: Vec<InboxSeq>,
    /// The newest item that this run has read. It never falls, and reaches no further than the newest item
    /// there is. Only items after it count for `wake_on`.
    pub inbox_seen: Option<InboxSeq>,
    /// The interrupt that this commit carries out. It is cleared if it is still the one that waits.
    pub interrupt_confirmed: Option<InterruptId>,
    /// The end of the run.
    pub run: Option<RunEnd>,
    /// How the session is left. If none, the run keeps it.
    pub release: Option<Release>,
}

impl Commit {
    /// A commit that changes nothing but the version.
    pub fn new(operation: OperationId) -> Self {
        Self {
            operation,
            expected_version: None,
            state: None,
            messages: Vec::new(),
            stage: Vec::new(),
            events: Vec::new(),
            checkpoint: false,
            streamed: None,
            open: Vec::new(),
            close: Vec::new(),
            consumed: Vec::new(),
            inbox_seen: None,
            interrupt_confirmed: None,
            run: None,
            release: None,
        }
    }

    /// Refuses a commit that no store could keep: a payload or a whole commit larger than `capabilities`
    /// allow, a release to active, a pending call that needs no answer or is of another kind than its name
    /// says, a checkpoint without a state. The error names the field.
    pub fn check(&self, capabilities: &Capabilities) -> Result<(), StoreError> {
        const OPERATION: &str = "commit";
        Limits::of(capabilities, OPERATION).commit(self)?;
        if self.checkpoint && self.state.is_none() {
            return Err(StoreError::invalid(OPERATION, "checkpoint: the commit carries no state"));
        }
        if let Some(Release::To { status: SessionStatus::Active, .. }) = self.release {
            return Err(StoreError::invalid(OPERATION, "release: a session is not released to active"));
        }
        if let Some(pending) = self.open.iter().find(|pending| !pending.kind.is_itself()) {
            let detail = format!("open {}: {} is no other kind", pending.id, pending.kind.as_str());
            return Err(StoreError::invalid(OPERATION, detail));
        }
        match self.open.iter().find(|pending| pending.needed == 0) {
            Some(pending) => {
                Err(StoreError::invalid(OPERATION, format!("open {}: needs no answer", pending.id)))
            }
            None => Ok(()),
        }
    }

    /// Every payload with the name of its field.
    pub fn payloads(&self) -> impl Iterator<Item = (&'static str, &Payload)> {
        let messages = self.messages.iter().filter_map(|message| match message {
            NewMessage::Inline(payload) => Some(("messages", payload)),
            NewMessage::Promote(_) => None,
        });
        messages
            .chain(self.state.iter().map(|state| ("state", &state.payload)))
            .chain(self.stage.iter().map(|result| ("stage", &result.payload)))
            .chain(self.events.iter().map(|event| ("events", event)))
            .chain(self.open.iter().map(|pending| ("open", &pending.body)))
            .chain(self.run.iter().map(|run| ("run", &run.detail)))
    }
}

/// The news that answers every fenced write, so that a running session needs no polling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The present version.
    pub version: Version,
    /// The newest message.
    pub last_message: MessageSeq,
    /// The newest inbox item.
    pub last_item: InboxSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// Whether an interrupt waits.
    pub interrupt: bool,
    /// The store's clock.
    pub now: Timestamp,
    /// When the lease ends. It lies in the past after a release.
    pub lease_ends: Timestamp,
}

/// Whether a write under an old fence had been applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Applied {
    /// Yes: it is the newest commit of the session.
    Yes,
    /// No. Either neither this run nor a newer one has committed. Or the newest commit is another one of this
    /// run and the write names that commit's version or a later one, so that it was decided after it.
    No,
    /// Unknown: a newer run has committed since, or this run has made another commit and the write names no
    /// version or one before it, or the session is gone.
    Unknown,
}

/// The answer to [`commit`](super::StateStore::commit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// Applied; a repeat answers the same and changes nothing.
    Committed(Receipt),
    /// The session has another version; nothing was changed.
    VersionConflict {
        /// The version that was named.
        expected: Version,
        /// The version that the session has.
        actual: Version,
    },
    /// Another run owns the session now, or it was released or deleted; nothing was changed by this call.
    StaleFence {
        /// Whether an earlier try of the same commit was applied.
        applied: Applied,
    },
    /// A pending call that the commit closes has an answer that the run has not read; nothing was changed.
    AnswerWaiting {
        /// The pending call.
        pending: PendingId,
    },
    /// No result of this call is staged; nothing was changed.
    NotStaged {
        /// The call.
        call: CallId,
    },
    /// This call has another staged result; nothing was changed.
    StageConflict {
        /// The call.
        call: CallId,
    },
    /// This pending call is not open; or it was to be opened, and was opened before. Nothing was changed.
    PendingConflict {
        /// The pending call.
        pending: PendingId,
    },
    /// This inbox item is not there to be consumed, or lies after `inbox_seen`; nothing was changed.
    NotInInbox {
        /// The item.
        seq: InboxSeq,
    },
}
