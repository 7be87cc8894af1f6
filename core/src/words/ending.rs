//! The reasons for which turns end and calls are cancelled.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, SessionStatus};
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, MessageSeq, PendingId, SessionId, StepNumber, ToolName};
use crate::words::output::OutputPlace;
use crate::words::payload::is_default;

/// The reason for which a turn ended. Programs read these wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DoneReason {
    /// The model said all that it wanted.
    ModelStop,
    /// The step limit was reached.
    MaxTurns,
    /// Somebody stopped the turn.
    UserAbort,
    /// An error that this turn cannot recover from.
    Error,
    /// Tokens, money or wall time ran out.
    BudgetExceeded,
    /// The model made the same calls again and again.
    LoopDetected,
    /// A tool or a stop condition ended the turn.
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

/// The origin of a stop from outside. Ordered: a later variant takes more back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// Somebody asked for the stop.
    #[default]
    Asked,
    /// A handoff: the session rests with its goal, and nobody has worked on it yet.
    HandedOff,
    /// A message that interrupts.
    Message,
    /// An edit of an earlier message.
    Edit,
    /// A message that takes the turn back.
    Rollback,
}

impl StopCause {
    /// The reason with which the open calls of the turn are cancelled.
    pub(crate) fn cancels_as(self) -> CancelReason {
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
    /// The reason.
    pub reason: DoneReason,
    /// The error, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The step of the session in which the error happened; none if the turn had no step yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNumber>,
    /// The stop that was asked for, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<InterruptKind>,
    /// The origin of that stop.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cause: StopCause,
    /// The place of the value that the turn returned, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputPlace>,
    /// The session that goes on in place of this one, if the turn handed it over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_to: Option<Box<HandedTo>>,
}

/// A handoff by a tool: another agent goes on, in a session of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedTo {
    /// The session of the other agent.
    pub session: SessionId,
    /// The other agent, by the name under which the model called it.
    pub agent: ToolName,
    /// The id from which the names of that session follow.
    pub pending: PendingId,
    /// The call that handed over.
    pub call: CallId,
    /// The message that holds its arguments, and with them the goal.
    pub arguments: MessageSeq,
}

impl Ending {
    /// An ending that is neither an error nor a stop from outside.
    pub fn of(reason: DoneReason) -> Self {
        Self {
            reason,
            error: None,
            step: None,
            stopped: None,
            cause: StopCause::Asked,
            output: None,
            handed_to: None,
        }
    }

    /// The ending of a turn with an unrecoverable error.
    pub fn error(error: ErrorInfo) -> Self {
        Self { error: Some(error), ..Self::of(DoneReason::Error) }
    }

    /// The ending of a turn with a stop from outside.
    pub fn stopped(kind: InterruptKind) -> Self {
        Self { stopped: Some(kind), ..Self::of(DoneReason::UserAbort) }
    }

    /// The ending of a turn with the value that it had to return.
    pub fn output(place: OutputPlace) -> Self {
        Self { output: Some(place), ..Self::of(DoneReason::ToolStop) }
    }

    /// The ending of a turn that hands its session over.
    pub(crate) fn handing_over(to: HandedTo) -> Self {
        Self { handed_to: Some(Box::new(to)), ..Self::of(DoneReason::ToolStop) }
    }

    /// The ending of a turn with a stop of this cause.
    pub(crate) fn stopped_by(kind: InterruptKind, cause: StopCause) -> Self {
        Self { cause, ..Self::stopped(kind) }
    }

    /// The reason with which the open calls of the turn are cancelled.
    pub(crate) fn cancels_as(&self) -> CancelReason {
        match self.stopped {
            Some(_) => self.cause.cancels_as(),
            None => CancelReason::SystemDisposed,
        }
    }

    /// The status of the session after this ending.
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

/// The reason for which a call was cancelled. Programs read these wire names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CancelReason {
    /// The turn was stopped.
    #[serde(rename = "user:cancelled")]
    UserCancelled,
    /// A message stops the turn.
    #[serde(rename = "user:interrupted")]
    UserInterrupted,
    /// The message that led to the call was edited.
    #[serde(rename = "system:edited")]
    SystemEdited,
    /// The engine gave the turn up.
    #[serde(rename = "system:disposed")]
    SystemDisposed,
    /// The call is dangerous, and its run died before it started.
    #[serde(rename = "system:safety")]
    SystemSafety,
    /// A person refused another call of its step, and the agent's rules then cancel the rest.
    #[serde(rename = "user:rejected")]
    UserRejected,
    /// The call stayed behind with the session from which this one was forked.
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
