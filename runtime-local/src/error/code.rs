//! Codes of errors, for programs.

use holdover_core::store::StoreErrorKind;

use super::{RuntimeError, SignalError};

impl RuntimeError {
    /// Returns the code of the error: a word for programs to branch on, which does not change.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "not_found",
            Self::Aborted { .. } => "aborted",
            Self::Held { .. } => "held",
            Self::Busy { .. } => "busy",
            Self::NotQueued { .. } => "not_queued",
            Self::NotOpen { .. } => "not_open",
            Self::NoChild { .. } => "no_child",
            Self::NotEditable { .. } => "not_editable",
            Self::KeyConflict { .. } => "key_conflict",
            Self::Changed { .. } => "changed",
            Self::NotFirst { .. } => "not_first",
            Self::OtherAgent { .. } => "other_agent",
            Self::AgentUnknown { .. } => "agent_unknown",
            Self::NotServed { .. } => "not_served",
            Self::EffectsRefused { .. } => "effects_refused",
            Self::NotResumable { .. } => "not_resumable",
            Self::Exists { .. } => "exists",
            Self::NoCheckpoint { .. } => "no_checkpoint",
            Self::Goal { .. } => "goal",
            Self::OtherAnswer { .. } => "other_answer",
            Self::TooLong { .. } => "too_long",
            Self::NotApprover { .. } => "not_approver",
            Self::Unfit { .. } => "unfit",
            Self::AlreadyAnswered { .. } => "already_answered",
            Self::NotPending { .. } => "not_pending",
            Self::NotAsked { .. } => "not_asked",
            Self::Unanswered { .. } => "unanswered",
            Self::Running { .. } => "running",
            Self::Contended { .. } => "contended",
            Self::Gone { .. } => "gone",
            Self::Unreadable { .. } => "unreadable",
            Self::Panicked { .. } => "panicked",
            Self::Signal(SignalError::Full { .. }) => "signals_full",
            Self::Signal(SignalError::TooLong { .. }) => "too_long",
            Self::Signal(SignalError::NotJson { .. }) => "not_json",
            Self::Fork(_) => "fork",
            Self::Start(_) => "start",
            Self::Id(_) => "invalid",
            Self::Store(error) => match error.kind {
                StoreErrorKind::NotFound => "not_found",
                StoreErrorKind::InvalidArgument => "invalid",
                StoreErrorKind::TooLarge => "too_large",
                StoreErrorKind::Unavailable => "unavailable",
                StoreErrorKind::Full => "store_full",
                StoreErrorKind::Unsupported => "unsupported",
                StoreErrorKind::Corrupt => "corrupt",
                StoreErrorKind::KeyMissing => "key_missing",
                StoreErrorKind::Newer => "newer",
                StoreErrorKind::Backend => "backend",
            },
        }
    }
}
