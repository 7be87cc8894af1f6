//! What goes wrong for whoever asks the runtime. Each fits one line and names its path.

use holdover_core::error::ErrorInfo;
use holdover_core::fork::ForkError;
use holdover_core::ids::{
    CheckpointId, Epoch, InvalidId, ItemKey, QueueLabel, SessionKey, ToolName, WorkerId,
};
use holdover_core::message::SignalBody;
use holdover_core::step::StartError;
use holdover_core::store::{CommitSurvives, PendingKind, SessionStatus, StoreError, StoreErrorKind};
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
    /// The idempotency key was used before for something else (INV-27).
    #[error("session {key}: item {item}: the key was used before for something else")]
    KeyConflict {
        /// Which session.
        key: SessionKey,
        /// Which key.
        item: ItemKey,
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
    #[error("session {key}: it is {status}, so it does not take {signal:?}")]
    NotResumable {
        /// Which session.
        key: SessionKey,
        /// Its status.
        status: SessionStatus,
        /// What it was asked for.
        signal: SignalBody,
    },
    /// A session of that name exists already; it was not touched.
    #[error("session {key}: it exists already and is {status}")]
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
    /// No fork can begin from the checkpoint.
    #[error(transparent)]
    Fork(#[from] ForkError),
    /// The pending call waits for an answer of the other kind.
    #[error("session {key}: call {call}: waits for {}, not for {}", found.as_str(), asked.as_str())]
    OtherAnswer {
        /// Which session.
        key: SessionKey,
        /// Which call, as it was named.
        call: String,
        /// What it waits for.
        found: PendingKind,
        /// What was given.
        asked: PendingKind,
    },
    /// The session changed under our hands, over and over.
    #[error("session {key}: it changed {tries} times while it was being claimed")]
    Contended {
        /// Which session.
        key: SessionKey,
        /// How often it was tried.
        tries: u32,
    },
    /// The session was deleted while its events were followed; another may stand in its place.
    #[error("session {key}: events: the session they belong to was deleted")]
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
    /// What was given is larger than the store takes.
    TooLarge,
    /// The same may succeed later.
    Unavailable,
    /// A fault of the program, its settings, or its store. The caller cannot help it.
    Fault,
}

impl RuntimeError {
    /// What kind of thing went wrong.
    pub fn kind(&self) -> RuntimeErrorKind {
        match self {
            Self::NotFound { .. } | Self::NoCheckpoint { .. } => RuntimeErrorKind::NotFound,
            Self::Gone { .. } => RuntimeErrorKind::Gone,
            Self::Aborted { .. }
            | Self::Held { .. }
            | Self::KeyConflict { .. }
            | Self::OtherAgent { .. }
            | Self::NotResumable { .. }
            | Self::Exists { .. }
            | Self::OtherAnswer { .. }
            | Self::Fork(_) => RuntimeErrorKind::Conflict,
            Self::Id(_) => RuntimeErrorKind::Invalid,
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
                | StoreErrorKind::Newer
                | StoreErrorKind::Backend => RuntimeErrorKind::Fault,
            },
        }
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
