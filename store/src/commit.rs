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
    /// The result: the bytes of the message that a promoting commit appends.
    pub payload: Payload,
}

/// The results and start marks that a run stages in one write, wholly or not at all.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Staging {
    /// The results. The first staged result of a call is final (INV-17).
    pub results: Vec<StagedResult>,
    /// The calls whose start is marked. The run may perform these calls once this staging is acknowledged.
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
    /// The call already has another staged result; nothing was changed.
    Conflict {
        /// The call.
        call: CallId,
    },
    /// Another run owns the session now, or the session was released or deleted.
    StaleFence,
}

/// A message to append.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NewMessage {
    /// A message with these bytes.
    Inline(Payload),
    /// The staged result of this call. The commit promotes the result, so it is no longer staged.
    Promote(CallId),
}

/// The state of a session, and its format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewState {
    /// The format of the state.
    pub format: StateFormat,
    /// The bytes of the state.
    pub payload: Payload,
}

/// The kind of a run's end. [`as_str`](Self::as_str) returns the wire name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeKind {
    /// The turn ended.
    Completed,
    /// The turn waits for approvals or results of client tools.
    SuspendedClientTool,
    /// The turn waits only for outcomes of child sessions and remote agents.
    SuspendedAwaitingChildren,
    /// The turn waits for calls of mixed kinds: for children and others, or for answers and timers after some calls
    /// of the step have ended.
    SuspendedStepPartial,
    /// The turn waits for a durable timer or a back-off longer than a second, or leaves the session to another run at
    /// once.
    SuspendedUntil,
    /// A soft interrupt stopped the turn.
    Interrupted,
    /// An abort ended the session, which is final.
    Aborted,
    /// The turn failed with an error from which it could not recover.
    Failed,
    /// Another run took the session over.
    Lost,
    /// The run worked on no turn, for example because there was nothing to do or the worker could not do it.
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

    /// Returns the wire name.
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

    /// Returns the kind with this wire name, if there is one.
    pub fn from_wire(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The end of a run, which a commit writes into the run's record. Only the first end of a run is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunEnd {
    /// The kind of the end.
    pub outcome: OutcomeKind,
    /// The run's usage and the reason for its end; opaque to the store.
    pub detail: Payload,
}

/// The way in which a commit releases the session. A release ends the fence, except for a repeat of that
/// commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Release {
    /// Sets a new status. If the status is idle, all staged results are dropped, including those that this commit
    /// stages and late repeats of promoted results.
    To {
        /// The new status of the session: any except active.
        status: SessionStatus,
        /// The instant at which the session wants a worker if nothing wakes it before.
        deadline: Option<Timestamp>,
        /// The number of unseen counted items that wake the session while it is suspended. If 0, counted
        /// items do not wake it.
        wake_on: u32,
    },
    /// Gives the claim back: the session returns to the status that the claim found. After a takeover it
    /// returns to active, without a running lease.
    GiveBack {
        /// The instant at which the session wants a worker if nothing wakes it before. If none, a session
        /// that was taken over is due at once.
        alarm: Option<Timestamp>,
    },
}

impl Release {
    /// Returns the instant at which the session wants a worker if nothing wakes it before, if this release names one.
    pub fn alarm(&self) -> Option<Timestamp> {
        match self {
            Self::To { deadline, .. } => *deadline,
            Self::GiveBack { alarm } => *alarm,
        }
    }
}

/// Everything a run changes, applied wholly or not at all (INV-04). Every part is optional.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// The operation id. The store uses it to recognise a repeat of this commit.
    pub operation: OperationId,
    /// The version on which the commit was decided. If set, the session must still have it.
    pub expected_version: Option<Version>,
    /// The new state. It drops all start marks that were staged before, so the new state itself must name the
    /// calls that have started.
    pub state: Option<NewState>,
    /// Messages to append, in this order, with dense sequence numbers.
    pub messages: Vec<NewMessage>,
    /// Results to stage with this commit. This commit or a later one may promote them, until a commit leaves the
    /// session idle.
    pub stage: Vec<StagedResult>,
    /// Events to append to the event log, in this order, with dense sequence numbers.
    pub events: Vec<Payload>,
    /// True to keep the state of this commit as a checkpoint. Requires `state`.
    pub checkpoint: bool,
    /// The number of the stream whose messages are in this commit. The deltas of that stream are removed, and later
    /// deltas of it and of earlier streams are refused.
    pub streamed: Option<u32>,
    /// Pending calls to open.
    pub open: Vec<NewPending>,
    /// Pending calls to close. If one of them was answered after `inbox_seen`, the commit is refused.
    pub close: Vec<PendingId>,
    /// The inbox items that the commit consumes, each by its place.
    pub consumed: Vec<InboxSeq>,
    /// The place of the newest item that this run has read. The store never lowers the stored value, and never raises
    /// it above the newest item in the inbox. Only items after it count for `wake_on`.
    pub inbox_seen: Option<InboxSeq>,
    /// The interrupt that this commit carries out. The store clears it if it still waits.
    pub interrupt_confirmed: Option<InterruptId>,
    /// The end of the run.
    pub run: Option<RunEnd>,
    /// The release of the session. If none, the run keeps the session.
    pub release: Option<Release>,
}

impl Commit {
    /// Returns a commit without parts. Like every commit, it raises the version and sets the number of takeovers to 0.
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

    /// Refuses a commit that no store could keep. The error names the field, unless the sum of all payloads is too
    /// large. Refused are: a payload or a whole commit larger than `capabilities` allow, a checkpoint without a state,
    /// a release to active, a pending call that needs no answer, and an [`Other`](crate::PendingKind::Other) kind with
    /// the name of a known kind.
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

    /// Returns every payload with the name of its field.
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

/// The news that a run gets in the answers to its fenced writes, so that it need not poll.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The version of the session.
    pub version: Version,
    /// The place of the newest message; 0 if there is none.
    pub last_message: MessageSeq,
    /// The place of the newest inbox item; 0 if there is none.
    pub last_item: InboxSeq,
    /// The number of inbox items that are not consumed.
    pub unread: u64,
    /// True if an interrupt waits.
    pub interrupt: bool,
    /// The store's clock when the answer was made.
    pub now: Timestamp,
    /// The instant at which the lease ends. After a release it is not after `now`.
    pub lease_ends: Timestamp,
}

/// The answer to the question whether a commit under an old fence was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Applied {
    /// The commit was applied: it is the newest commit of the session.
    Yes,
    /// The commit was not applied. Either neither this run nor a newer one has committed, or the refused
    /// commit expects the version of this run's newest commit or a later one, so it was decided after that
    /// commit.
    No,
    /// The store cannot tell: a newer run has committed since, or this run has made another commit and the
    /// refused one expects no version or an earlier one, or the session was deleted.
    Unknown,
}

/// The answer to [`commit`](super::StateStore::commit).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The commit is applied. Until the next commit or claim, a repeat returns the same receipt and changes nothing.
    Committed(Receipt),
    /// The session has another version; nothing was changed.
    VersionConflict {
        /// The version that the commit expected.
        expected: Version,
        /// The version that the session has.
        actual: Version,
    },
    /// Another run owns the session now, or the session was released or deleted; nothing was changed by this call.
    StaleFence {
        /// The answer to the question whether an earlier try of the same commit was applied.
        applied: Applied,
    },
    /// A pending call that the commit closes has an answer that the run has not read; nothing was changed.
    AnswerWaiting {
        /// The pending call.
        pending: PendingId,
    },
    /// No result of this call is staged, or the commit promotes it twice; nothing was changed.
    NotStaged {
        /// The call.
        call: CallId,
    },
    /// The call already has another staged result; nothing was changed.
    StageConflict {
        /// The call.
        call: CallId,
    },
    /// A pending call to close is not open, or a pending call to open was opened before or is named twice. Nothing
    /// was changed.
    PendingConflict {
        /// The pending call.
        pending: PendingId,
    },
    /// This inbox item does not exist, was consumed before, is named twice, or lies after `inbox_seen`; nothing was
    /// changed.
    NotInInbox {
        /// The place of the item.
        seq: InboxSeq,
    },
}
