//! The reasons for which turns end and calls are cancelled.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, SessionStatus};
use crate::words::error::ErrorInfo;
use crate::words::ids::StepNumber;
use crate::words::output::OutputPlace;
use crate::words::payload::is_default;

/// Why a turn ended. These wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DoneReason {
    /// The model said all it wanted.
    ModelStop,
    /// The step limit was reached.
    MaxTurns,
    /// Somebody stopped it.
    UserAbort,
    /// Unrecoverable for this turn.
    Error,
    /// Tokens, money or wall time ran out.
    BudgetExceeded,
    /// The model asked for the same again and again.
    LoopDetected,
    /// A tool or a stop condition ended it.
    ToolStop,
}

impl DoneReason {
    /// Every reason.
    pub const ALL: [Self; 7] = [
        Self::ModelStop,
        Self::MaxTurns,
        Self::UserAbort,
        Self::Error,
        Self::BudgetExceeded,
        Self::LoopDetected,
        Self::ToolStop,
    ];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ModelStop => "model_stop",
            Self::MaxTurns => "max_turns",
            Self::UserAbort => "user_abort",
            Self::Error => "error",
            Self::BudgetExceeded => "budget_exceeded",
            Self::LoopDetected => "loop_detected",
            Self::ToolStop => "tool_stop",
        }
    }
}

/// What a stop from outside comes from. Ordered: the later takes more back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// Somebody asked for it.
    #[default]
    Asked,
    /// A handoff: the session rests with its goal, and nobody has worked on it yet.
    HandedOff,
    /// A message that interrupts.
    Message,
    /// An earlier message was edited.
    Edit,
    /// A message that takes the turn back.
    Rollback,
}

impl StopCause {
    /// Why the open calls of the turn are cancelled.
    pub fn cancels_as(self) -> CancelReason {
        match self {
            Self::Asked | Self::HandedOff => CancelReason::UserCancelled,
            Self::Message | Self::Rollback => CancelReason::UserInterrupted,
            Self::Edit => CancelReason::SystemEdited,
        }
    }
}

/// How a turn ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// Why.
    pub reason: DoneReason,
    /// The error, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The step of the session in which that happened; none if the turn had none yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNumber>,
    /// The stop that was asked for, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<InterruptKind>,
    /// What that stop came from.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cause: StopCause,
    /// Where the value stands that the turn gave, if that is why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputPlace>,
}

impl Ending {
    /// An ending that is neither an error nor a stop from outside.
    pub fn of(reason: DoneReason) -> Self {
        Self { reason, error: None, step: None, stopped: None, cause: StopCause::Asked, output: None }
    }

    /// An unrecoverable error.
    pub fn error(error: ErrorInfo) -> Self {
        Self { error: Some(error), ..Self::of(DoneReason::Error) }
    }

    /// A stop from outside.
    pub fn stopped(kind: InterruptKind) -> Self {
        Self { stopped: Some(kind), ..Self::of(DoneReason::UserAbort) }
    }

    /// The value that the turn owed.
    pub fn output(place: OutputPlace) -> Self {
        Self { output: Some(place), ..Self::of(DoneReason::ToolStop) }
    }

    /// A soft stop that something said brought about.
    pub fn stopped_by(kind: InterruptKind, cause: StopCause) -> Self {
        Self { cause, ..Self::stopped(kind) }
    }

    /// Why the open calls of the turn are cancelled.
    pub fn cancels_as(&self) -> CancelReason {
        match self.stopped {
            Some(_) => self.cause.cancels_as(),
            None => CancelReason::SystemDisposed,
        }
    }

    /// The status that the session is left with.
    pub fn status(&self) -> SessionStatus {
        match (self.reason, self.stopped) {
            (DoneReason::UserAbort, Some(InterruptKind::Abort)) => SessionStatus::Aborted,
            (DoneReason::UserAbort, Some(InterruptKind::Soft) | None) => SessionStatus::Interrupted,
            (DoneReason::Error, _) => SessionStatus::Failed,
            (
                DoneReason::ModelStop
                | DoneReason::MaxTurns
                | DoneReason::BudgetExceeded
                | DoneReason::LoopDetected
                | DoneReason::ToolStop,
                _,
            ) => SessionStatus::Idle,
        }
    }
}

/// Why a call was cancelled. These wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelReason {
    /// The turn was stopped.
    #[serde(rename = "user:cancelled")]
    UserCancelled,
    /// Something was said that stops the turn.
    #[serde(rename = "user:interrupted")]
    UserInterrupted,
    /// What it was asked for by was edited.
    #[serde(rename = "system:edited")]
    SystemEdited,
    /// The engine gave the turn up.
    #[serde(rename = "system:disposed")]
    SystemDisposed,
    /// It is dangerous and its run died before it started.
    #[serde(rename = "system:safety")]
    SystemSafety,
    /// A person refused another call of its step, and the agent does not go on then.
    #[serde(rename = "user:rejected")]
    UserRejected,
    /// It stayed behind with the session that this one was forked from.
    #[serde(rename = "system:forked")]
    SystemForked,
}

impl CancelReason {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UserCancelled => "user:cancelled",
            Self::UserInterrupted => "user:interrupted",
            Self::SystemEdited => "system:edited",
            Self::SystemDisposed => "system:disposed",
            Self::SystemSafety => "system:safety",
            Self::UserRejected => "user:rejected",
            Self::SystemForked => "system:forked",
        }
    }
}
