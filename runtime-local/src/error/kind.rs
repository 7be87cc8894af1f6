//! Kinds of errors, for front ends.

use holdover_core::handoff::InvalidGoal;
use holdover_core::store::StoreErrorKind;

use super::{RuntimeError, SignalError};

/// The kind of an error. A front end can use it to choose its answer, such as an HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RuntimeErrorKind {
    /// The named thing does not exist.
    NotFound,
    /// The named thing belongs to a deleted session, or to another session.
    Gone,
    /// The named thing exists, but its state does not allow the request, or another request was faster.
    Conflict,
    /// The given value is not valid.
    Invalid,
    /// The given value is larger than the store or the engine accepts.
    TooLarge,
    /// The same request may succeed later.
    Unavailable,
    /// A fault of the program, its settings, or its store. The caller cannot fix it.
    Fault,
}

impl RuntimeErrorKind {
    /// Returns the HTTP status for this kind.
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
    /// Returns the kind of the error.
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
            | Self::Signal(SignalError::Full { .. })
            | Self::NotEditable { .. }
            | Self::NoChild { .. }
            | Self::KeyConflict { .. }
            | Self::Changed { .. }
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
            Self::Id(_)
            | Self::Unfit { .. }
            | Self::Signal(SignalError::NotJson { .. })
            | Self::Goal { why: InvalidGoal::Empty, .. } => RuntimeErrorKind::Invalid,
            Self::TooLong { .. }
            | Self::Signal(SignalError::TooLong { .. })
            | Self::Goal { why: InvalidGoal::TooLong { .. }, .. } => RuntimeErrorKind::TooLarge,
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
}
