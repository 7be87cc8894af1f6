//! Errors of the runtime for its callers. Each error is one line and names the session, call or field.

mod agent;
mod code;
mod kind;
mod signal;

pub use agent::AgentError;
use holdover_core::engine::{RunOutcome, StartError};
use holdover_core::error::ErrorInfo;
use holdover_core::fork::ForkError;
use holdover_core::handoff::InvalidGoal;
use holdover_core::ids::{
    CallId, CheckpointId, Epoch, InboxSeq, InvalidId, ItemKey, MessageSeq, PendingId, QueueLabel, SessionKey,
    StepNumber, ToolName, Version, WorkerId,
};
use holdover_core::message::SignalBody;
use holdover_core::phrases;
use holdover_core::store::{CommitSurvives, OutcomeKind, PendingKind, SessionStatus, StoreError};
use holdover_core::time::Timestamp;
pub use kind::RuntimeErrorKind;
pub use signal::SignalError;

/// An error of the runtime, for its callers.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RuntimeError {
    /// There is no such session, or it was deleted meanwhile.
    #[error("session {key}: there is no such session")]
    NotFound {
        /// The session.
        key: SessionKey,
    },
    /// The session was aborted for ever.
    #[error("session {key}: it is aborted")]
    Aborted {
        /// The session.
        key: SessionKey,
    },
    /// Another run holds the session.
    #[error("session {key}: run {epoch} of worker {worker} holds it until {lease_ends}")]
    Held {
        /// The session.
        key: SessionKey,
        /// The worker that holds it.
        worker: WorkerId,
        /// The run that holds it.
        epoch: Epoch,
        /// The end of that run's lease.
        lease_ends: Timestamp,
    },
    /// The message is only for a session at rest, but a turn of the session runs, is parked, or is about to
    /// begin. Nothing was stored.
    #[error("session {key}: it is {} and busy, so the message is rejected", phrases::status(*status))]
    Busy {
        /// The session.
        key: SessionKey,
        /// The status of the session.
        status: SessionStatus,
    },
    /// There is no such waiting message in the session: it was taken, was withdrawn, or never existed.
    #[error("session {key}: no message {item} waits to be taken")]
    NotQueued {
        /// The session.
        key: SessionKey,
        /// The place in the session's inbox.
        item: InboxSeq,
    },
    /// The signal is refused. Nothing was stored.
    #[error(transparent)]
    Signal(#[from] SignalError),
    /// There is no such open call in the session: it has ended, is not durable yet, or never existed.
    #[error("session {key}: call {call}: it is not open")]
    NotOpen {
        /// The session.
        key: SessionKey,
        /// The call.
        call: CallId,
    },
    /// The session cannot have this background child.
    #[error("session {key}: sub-agent {agent}: {why}")]
    NoChild {
        /// The session.
        key: SessionKey,
        /// The sub-agent.
        agent: ToolName,
        /// The reason.
        why: String,
    },
    /// The message cannot be edited.
    #[error("session {key}: message {message}: {why}")]
    NotEditable {
        /// The session.
        key: SessionKey,
        /// The message.
        message: MessageSeq,
        /// The reason why it cannot be edited.
        why: &'static str,
    },
    /// The idempotency key was used before for something else (INV-27).
    #[error("session {key}: idempotency key {item}: it was used before for something else")]
    KeyConflict {
        /// The session.
        key: SessionKey,
        /// The key.
        item: ItemKey,
    },
    /// The session has another version than the one that was named. Nothing was changed.
    #[error("session {key}: it is at version {actual}, not {expected}: it was written since")]
    Changed {
        /// The session.
        key: SessionKey,
        /// The version that was named.
        expected: Version,
        /// The version that the session has.
        actual: Version,
    },
    /// The message was sent as the first of its session, but the session exists and began with another
    /// message. Nothing was stored.
    #[error(
        "session {key}: it exists already and began with another message; choose another session id, or send the \
         message without `first` to go on with this session"
    )]
    NotFirst {
        /// The session.
        key: SessionKey,
    },
    /// The session belongs to another agent than the requested one.
    #[error("session {key}: it belongs to agent {found}, not to {asked}")]
    OtherAgent {
        /// The session.
        key: SessionKey,
        /// The queue label of its agent.
        found: QueueLabel,
        /// The queue label of the requested agent.
        asked: QueueLabel,
    },
    /// The agent of the session cannot be found in this process.
    #[error("session {key}: agent {queue}: {why}")]
    AgentUnknown {
        /// The session.
        key: SessionKey,
        /// The queue label of the agent.
        queue: QueueLabel,
        /// The reason why the agent was not found.
        why: ErrorInfo,
    },
    /// This program does not serve the agent of the new session. The session would wait for another program,
    /// perhaps for ever.
    #[error(
        "session {key}: agent {queue} is served by nobody here: {why} (add it to the runtime's agents, or say \
         Execute::served_elsewhere if another program has it)"
    )]
    NotServed {
        /// The session.
        key: SessionKey,
        /// The queue label of the agent.
        queue: QueueLabel,
        /// The reason why the agent is not served.
        why: ErrorInfo,
    },
    /// The agent has a tool with effects that this store cannot protect.
    #[error(
        "agent {agent}: tool {tool}: its effects ask for a store whose commits survive a killed process; \
         {backend} survives {survives:?} (to accept that, name it in RuntimeOptions::effects_override)"
    )]
    EffectsRefused {
        /// The agent.
        agent: QueueLabel,
        /// The tool.
        tool: ToolName,
        /// The store.
        backend: String,
        /// The most severe fault that the store's commits survive.
        survives: CommitSurvives,
    },
    /// The status of the session does not allow this signal.
    #[error("session {key}: it is {}, so it does not take {signal:?}", phrases::status(*status))]
    NotResumable {
        /// The session.
        key: SessionKey,
        /// The status of the session.
        status: SessionStatus,
        /// The requested signal.
        signal: SignalBody,
    },
    /// A session with this id exists already. It was not changed.
    #[error("session {key}: it exists already and is {}; choose another session id", phrases::status(*status))]
    Exists {
        /// The session.
        key: SessionKey,
        /// The status of the session.
        status: SessionStatus,
    },
    /// The session does not have the requested checkpoint, or has no checkpoints.
    #[error("session {key}: there is no checkpoint{}", at.map(|at| format!(" {at}")).unwrap_or_default())]
    NoCheckpoint {
        /// The session.
        key: SessionKey,
        /// The requested checkpoint. `None` stands for the newest.
        at: Option<CheckpointId>,
    },
    /// The session cannot be handed over for this goal. No session was created.
    #[error("session {key}: {why}")]
    Goal {
        /// The session.
        key: SessionKey,
        /// The reason why the goal is refused.
        why: InvalidGoal,
    },
    /// No fork can begin from the checkpoint.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The pending call waits for an answer of another kind.
    #[error(
        "session {key}: call {call}: waits for {}, not for {}",
        phrases::pending(found),
        phrases::pending(asked)
    )]
    OtherAnswer {
        /// The session.
        key: SessionKey,
        /// The call.
        call: CallId,
        /// The kind of answer that the call waits for.
        found: PendingKind,
        /// The kind of answer that was given.
        asked: PendingKind,
    },
    /// The answer is longer than the engine accepts. It was not delivered, and the call waits as before.
    #[error("session {key}: pending call {pending}: {what}: {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// The session.
        key: SessionKey,
        /// The pending call.
        pending: PendingId,
        /// The part of the answer.
        what: &'static str,
        /// The length of that part.
        bytes: usize,
        /// The maximum length.
        bytes_max: usize,
    },
    /// Other people must decide on the pending call. It waits as before.
    #[error(
        "session {key}: pending call {pending}: {} may not decide on it{}",
        by.as_deref().unwrap_or("somebody without a name"),
        only(may)
    )]
    NotApprover {
        /// The session.
        key: SessionKey,
        /// The pending call.
        pending: PendingId,
        /// The person who wanted to decide.
        by: Option<String>,
        /// The people who may decide now. If empty, any person who gives a name may decide.
        may: Vec<String>,
    },
    /// The decision cannot be carried out as given: the edited arguments do not fit the tool's schema, the policy
    /// denies them, the standing approval could never apply, or a parked state of a procedure does not wait for the
    /// input. Nothing was delivered, and the call waits as before.
    #[error("session {key}: call {call}: {why}")]
    Unfit {
        /// The session.
        key: SessionKey,
        /// The pending call.
        pending: PendingId,
        /// The call to which the pending call belongs.
        call: CallId,
        /// The reason, in one line.
        why: String,
    },
    /// The pending call has all the answers that it needs already.
    #[error("session {key}: pending call {pending}: it was answered before")]
    AlreadyAnswered {
        /// The session.
        key: SessionKey,
        /// The pending call.
        pending: PendingId,
    },
    /// The pending call was closed, or its deadline has passed.
    #[error("session {key}: pending call {pending}: it is closed and takes no answer")]
    NotPending {
        /// The session.
        key: SessionKey,
        /// The pending call.
        pending: PendingId,
    },
    /// The session has opened no pending call with this id in its present incarnation.
    #[error("session {key}: pending call {pending}: there is no such pending call")]
    NotAsked {
        /// The session.
        key: SessionKey,
        /// The id that was given.
        pending: PendingId,
    },
    /// The turn did not end with an answer.
    #[error("session {key}: it has not answered: {}{}", phrases::outcome(*outcome), failed_in(*step, error.as_ref()))]
    Unanswered {
        /// The session.
        key: SessionKey,
        /// The kind of outcome: how the turn ended, or what it waits for.
        outcome: OutcomeKind,
        /// The step that failed, if the turn failed.
        step: Option<StepNumber>,
        /// The reason, if the turn failed.
        error: Option<ErrorInfo>,
    },
    /// A run holds the session.
    #[error("session {key}: a run holds it")]
    Running {
        /// The session.
        key: SessionKey,
    },
    /// The session kept changing while the runtime worked on it.
    #[error("session {key}: it changed {tries} times while it was being claimed")]
    Contended {
        /// The session.
        key: SessionKey,
        /// The number of attempts.
        tries: u32,
    },
    /// The cursor does not belong to the session's present incarnation. It belongs to another session, or to
    /// a deleted session with the same id. The session may have been deleted while its events were followed.
    #[error(
        "session {key}: events: the cursor belongs to another session, or to a deleted session of this name"
    )]
    Gone {
        /// The session.
        key: SessionKey,
    },
    /// This version cannot read the stored data.
    #[error("session {key}: {what}: {detail}")]
    Unreadable {
        /// The session.
        key: SessionKey,
        /// The part that cannot be read.
        what: String,
        /// The reason why it cannot be read.
        detail: String,
    },
    /// The core cannot start a run of the session. If nobody of this version can read the session, it was set aside with a
    /// [dead letter](crate::Runtime::dead_letters); otherwise it was given back.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run panicked because of a fault of the engine or of the observer. Another run takes the session over once
    /// the lease has ended.
    #[error("session {key}: the run panicked: {detail}")]
    Panicked {
        /// The session.
        key: SessionKey,
        /// The message of the panic.
        detail: String,
    },
    /// A text is not a valid id.
    #[error("{0}")]
    Id(#[from] InvalidId),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl RuntimeError {
    /// Returns the error for a turn whose outcome is not an answer.
    pub(crate) fn unanswered(key: &SessionKey, outcome: &RunOutcome) -> Self {
        let (step, error) = match outcome {
            RunOutcome::Ended(ending) => (ending.step, ending.error.clone()),
            RunOutcome::BackingOff { error, .. } => (None, Some(error.clone())),
            RunOutcome::Suspended(_) | RunOutcome::Released | RunOutcome::Lost => (None, None),
        };
        Self::Unanswered { key: key.clone(), outcome: outcome.kind(), step, error }
    }

    pub(crate) fn unreadable(
        key: &SessionKey,
        what: impl Into<String>,
        detail: impl std::fmt::Display,
    ) -> Self {
        let detail = detail.to_string().replace('\n', " ");
        Self::Unreadable { key: key.clone(), what: what.into(), detail }
    }
}

fn failed_in(step: Option<StepNumber>, error: Option<&ErrorInfo>) -> String {
    let step = step.map(|step| format!(": step {step}")).unwrap_or_default();
    step + &error.map(|error| format!(": {error}")).unwrap_or_default()
}

fn only(may: &[String]) -> String {
    if may.is_empty() { ", a name must be given".to_owned() } else { format!(", only {}", may.join(", ")) }
}
