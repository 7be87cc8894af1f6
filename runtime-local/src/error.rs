//! Errors of the runtime for its callers. Each fits one line and names the session, call or field.

use holdover_core::engine::{RunOutcome, StartError};
use holdover_core::error::ErrorInfo;
use holdover_core::fork::ForkError;
use holdover_core::handoff::InvalidGoal;
use holdover_core::ids::{
    CallId, CheckpointId, Epoch, InboxSeq, InvalidId, ItemKey, MessageSeq, PendingId, QueueLabel, SessionKey,
    StepNumber, ToolName, WorkerId,
};
use holdover_core::message::SignalBody;
use holdover_core::phrases;
use holdover_core::store::{
    CommitSurvives, OutcomeKind, PendingKind, SessionStatus, StoreError, StoreErrorKind,
};
use holdover_core::time::Timestamp;

/// What goes wrong for whoever asks the runtime.
#[derive(Debug, thiserror::Error)]
pub enum RuntimeError {
    /// There is no such session, or it was deleted meanwhile.
    #[error("session {key}: there is no such session")]
    NotFound {
        /// Which.
        key: SessionKey,
    },
    /// The session is aborted, for ever.
    #[error("session {key}: it is aborted")]
    Aborted {
        /// Which.
        key: SessionKey,
    },
    /// Another run holds the session.
    #[error("session {key}: run {epoch} of worker {worker} holds it until {lease_ends}")]
    Held {
        /// Which session.
        key: SessionKey,
        /// Who holds it.
        worker: WorkerId,
        /// Which run.
        epoch: Epoch,
        /// Until when.
        lease_ends: Timestamp,
    },
    /// The message is meant for a session at rest, and its turn runs, is parked, or is about to begin. Nothing was
    /// stored.
    #[error("session {key}: it is {} and busy, so the message is rejected", phrases::status(*status))]
    Busy {
        /// Which session.
        key: SessionKey,
        /// Its status.
        status: SessionStatus,
    },
    /// No such message waits in the session: it was taken, withdrawn, or never there.
    #[error("session {key}: no message {item} waits to be taken")]
    NotQueued {
        /// Which session.
        key: SessionKey,
        /// Which place in its inbox.
        item: InboxSeq,
    },
    /// No such call of the session is open: it has ended, is not durable yet, or was never asked for.
    #[error("session {key}: call {call}: it is not open")]
    NotOpen {
        /// Which session.
        key: SessionKey,
        /// Which call.
        call: CallId,
    },
    /// The message cannot be edited.
    #[error("session {key}: message {message}: {why}")]
    NotEditable {
        /// Which session.
        key: SessionKey,
        /// Which message.
        message: MessageSeq,
        /// Why.
        why: &'static str,
    },
    /// The idempotency key was used before for something else (INV-27).
    #[error("session {key}: idempotency key {item}: it was used before for something else")]
    KeyConflict {
        /// Which session.
        key: SessionKey,
        /// Which key.
        item: ItemKey,
    },
    /// The message was to be the first of its session, which exists and began with another. Nothing was stored.
    #[error(
        "session {key}: it exists already and began with another message; choose another session id, or send the \
         message without `first` to go on with this session"
    )]
    NotFirst {
        /// Which session.
        key: SessionKey,
    },
    /// The session belongs to another agent than the one it was asked for with.
    #[error("session {key}: it belongs to agent {found}, not to {asked}")]
    OtherAgent {
        /// Which session.
        key: SessionKey,
        /// Whose it is.
        found: QueueLabel,
        /// Whose it was taken for.
        asked: QueueLabel,
    },
    /// The agent of the session cannot be found in this process.
    #[error("session {key}: agent {queue}: {why}")]
    AgentUnknown {
        /// Which session.
        key: SessionKey,
        /// Under which label.
        queue: QueueLabel,
        /// Why.
        why: ErrorInfo,
    },
    /// A session would begin whose agent nobody in this program serves: it would wait for ever, or for another program.
    #[error(
        "session {key}: agent {queue} is served by nobody here: {why} (add it to the runtime's agents, or say \
         Execute::served_elsewhere if another program has it)"
    )]
    NotServed {
        /// Which session.
        key: SessionKey,
        /// Under which label.
        queue: QueueLabel,
        /// Why.
        why: ErrorInfo,
    },
    /// The agent has a tool with effects that this store cannot protect.
    #[error(
        "agent {agent}: tool {tool}: its effects ask for a store whose commits survive a killed process; \
         {backend} survives {survives:?} (to accept that, name it in RuntimeOptions::effects_override)"
    )]
    EffectsRefused {
        /// Which agent.
        agent: QueueLabel,
        /// Which tool.
        tool: ToolName,
        /// Which store.
        backend: String,
        /// What it survives.
        survives: CommitSurvives,
    },
    /// The session is in no state to be taken up again.
    #[error("session {key}: it is {}, so it does not take {signal:?}", phrases::status(*status))]
    NotResumable {
        /// Which session.
        key: SessionKey,
        /// Its status.
        status: SessionStatus,
        /// What it was asked for.
        signal: SignalBody,
    },
    /// A session of that name exists already; it was not touched.
    #[error("session {key}: it exists already and is {}; choose another session id", phrases::status(*status))]
    Exists {
        /// Which.
        key: SessionKey,
        /// Its status.
        status: SessionStatus,
    },
    /// The session has no such checkpoint, or none at all.
    #[error("session {key}: there is no checkpoint{}", at.map(|at| format!(" {at}")).unwrap_or_default())]
    NoCheckpoint {
        /// Which session.
        key: SessionKey,
        /// Which was asked for; the newest if none.
        at: Option<CheckpointId>,
    },
    /// The session cannot be handed over for this goal. Nothing was made.
    #[error("session {key}: {why}")]
    Goal {
        /// Which session.
        key: SessionKey,
        /// Why.
        why: InvalidGoal,
    },
    /// No fork can begin from the checkpoint.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The pending call waits for an answer of the other kind.
    #[error(
        "session {key}: call {call}: waits for {}, not for {}",
        phrases::pending(found),
        phrases::pending(asked)
    )]
    OtherAnswer {
        /// Which session.
        key: SessionKey,
        /// Which call.
        call: CallId,
        /// What it waits for.
        found: PendingKind,
        /// What was given.
        asked: PendingKind,
    },
    /// The answer is longer than the engine would take; it was not delivered, and the call waits as before.
    #[error("session {key}: pending call {pending}: {what}: {bytes} bytes, at most {bytes_max} are allowed")]
    TooLong {
        /// Which session.
        key: SessionKey,
        /// Which pending call.
        pending: PendingId,
        /// Which part of the answer.
        what: &'static str,
        /// How long it is.
        bytes: usize,
        /// How long it may be.
        bytes_max: usize,
    },
    /// Others must decide on the pending call. It waits as before.
    #[error(
        "session {key}: pending call {pending}: {} may not decide on it{}",
        by.as_deref().unwrap_or("somebody without a name"),
        only(may)
    )]
    NotApprover {
        /// Which session.
        key: SessionKey,
        /// Which pending call.
        pending: PendingId,
        /// Who wanted to.
        by: Option<String>,
        /// Who may now; empty: anyone with a name.
        may: Vec<String>,
    },
    /// The decision would not be carried out as it is said: edited arguments that do not fit the tool's schema or that the
    /// policy denies, or a word for the rest of the session that could not stand. Nothing was delivered, and the call
    /// waits as before.
    #[error("session {key}: call {call}: {why}")]
    Unfit {
        /// Which session.
        key: SessionKey,
        /// Which pending call.
        pending: PendingId,
        /// The call that it is about.
        call: CallId,
        /// Why, in one line.
        why: String,
    },
    /// The pending call has all the answers it needs: somebody was faster.
    #[error("session {key}: pending call {pending}: it was answered before")]
    AlreadyAnswered {
        /// Which session.
        key: SessionKey,
        /// Which pending call.
        pending: PendingId,
    },
    /// The pending call was closed, or its deadline has passed.
    #[error("session {key}: pending call {pending}: it is closed and takes no answer")]
    NotPending {
        /// Which session.
        key: SessionKey,
        /// Which pending call.
        pending: PendingId,
    },
    /// The session, in this life of it, never asked under this id.
    #[error("session {key}: pending call {pending}: there is no such pending call")]
    NotAsked {
        /// Which session.
        key: SessionKey,
        /// Under which id.
        pending: PendingId,
    },
    /// The turn did not end with an answer.
    #[error("session {key}: it has not answered: {}{}", phrases::outcome(*outcome), failed_in(*step, error.as_ref()))]
    Unanswered {
        /// Which session.
        key: SessionKey,
        /// How the turn ended, or what it waits for.
        outcome: OutcomeKind,
        /// In which step that was, if it failed.
        step: Option<StepNumber>,
        /// Why, if it failed.
        error: Option<ErrorInfo>,
    },
    /// A run holds the session.
    #[error("session {key}: a run holds it")]
    Running {
        /// Which.
        key: SessionKey,
    },
    /// The session changed under our hands, over and over.
    #[error("session {key}: it changed {tries} times while it was being claimed")]
    Contended {
        /// Which session.
        key: SessionKey,
        /// How often it was tried.
        tries: u32,
    },
    /// The cursor belongs to no life of this session that is there: to another session, or to one of this name
    /// that was deleted, perhaps while its events were followed.
    #[error(
        "session {key}: events: the cursor belongs to another session, or to a deleted session of this name"
    )]
    Gone {
        /// Which session.
        key: SessionKey,
    },
    /// What is stored is not what this version writes.
    #[error("session {key}: {what}: {detail}")]
    Unreadable {
        /// Which session.
        key: SessionKey,
        /// Which part.
        what: String,
        /// Why.
        detail: String,
    },
    /// Core cannot take the session up.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The run broke down by a fault of the engine; another will take the session over.
    #[error("session {key}: the run panicked: {detail}")]
    Panicked {
        /// Which session.
        key: SessionKey,
        /// In which words.
        detail: String,
    },
    /// A text that cannot be an id.
    #[error("{0}")]
    Id(#[from] InvalidId),
    /// The store failed.
    #[error("{0}")]
    Store(#[from] StoreError),
}

/// What kind of thing went wrong: a small closed set for a front that must answer something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuntimeErrorKind {
    /// What was named does not exist.
    NotFound,
    /// What was named existed and was deleted.
    Gone,
    /// It exists, and is not in a state for that; or somebody was faster.
    Conflict,
    /// What was given has no meaning.
    Invalid,
    /// What was given is larger than the store, or the engine, takes.
    TooLarge,
    /// The same may succeed later.
    Unavailable,
    /// A fault of the program, its settings, or its store. The caller cannot help it.
    Fault,
}

impl RuntimeErrorKind {
    /// The HTTP status that says the same.
    pub fn http_status(self) -> u16 {
        match self {
            Self::NotFound => 404,
            Self::Conflict => 409,
            Self::Gone => 410,
            Self::TooLarge => 413,
            Self::Invalid => 422,
            Self::Fault => 500,
            Self::Unavailable => 503,
        }
    }
}

impl RuntimeError {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> RuntimeErrorKind {
        match self {
            Self::NotFound { .. }
            | Self::NoCheckpoint { .. }
            | Self::NotAsked { .. }
            | Self::NotQueued { .. }
            | Self::NotOpen { .. } => RuntimeErrorKind::NotFound,
            Self::Gone { .. } => RuntimeErrorKind::Gone,
            Self::Aborted { .. }
            | Self::Held { .. }
            | Self::Busy { .. }
            | Self::NotEditable { .. }
            | Self::KeyConflict { .. }
            | Self::NotFirst { .. }
            | Self::OtherAgent { .. }
            | Self::NotServed { .. }
            | Self::NotResumable { .. }
            | Self::Exists { .. }
            | Self::OtherAnswer { .. }
            | Self::AlreadyAnswered { .. }
            | Self::NotPending { .. }
            | Self::NotApprover { .. }
            | Self::Unanswered { .. }
            | Self::Running { .. }
            | Self::Fork(_) => RuntimeErrorKind::Conflict,
            Self::Id(_) | Self::Unfit { .. } | Self::Goal { why: InvalidGoal::Empty, .. } => {
                RuntimeErrorKind::Invalid
            }
            Self::TooLong { .. } | Self::Goal { why: InvalidGoal::TooLong { .. }, .. } => {
                RuntimeErrorKind::TooLarge
            }
            Self::Contended { .. } => RuntimeErrorKind::Unavailable,
            Self::AgentUnknown { .. }
            | Self::EffectsRefused { .. }
            | Self::Unreadable { .. }
            | Self::Start(_)
            | Self::Panicked { .. } => RuntimeErrorKind::Fault,
            Self::Store(error) => match error.kind {
                StoreErrorKind::NotFound => RuntimeErrorKind::NotFound,
                StoreErrorKind::InvalidArgument => RuntimeErrorKind::Invalid,
                StoreErrorKind::TooLarge => RuntimeErrorKind::TooLarge,
                StoreErrorKind::Unavailable | StoreErrorKind::Full => RuntimeErrorKind::Unavailable,
                StoreErrorKind::Unsupported
                | StoreErrorKind::Corrupt
                | StoreErrorKind::KeyMissing
                | StoreErrorKind::Newer
                | StoreErrorKind::Backend => RuntimeErrorKind::Fault,
            },
        }
    }

    /// A turn that came to `outcome` has no answer.
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
