//! The ending of a turn: its reason, its cause, and what it leaves.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, SessionStatus};
pub use crate::words::cancel::CancelReason;
use crate::words::error::ErrorInfo;
use crate::words::ids::{CallId, MessageSeq, PendingId, SessionId, StepNumber, ToolName};
use crate::words::output::OutputPlace;
use crate::words::payload::is_default;

/// The reason for which a turn ended. Programs read the wire names.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DoneReason {
    /// The model finished its answer without calling a tool.
    ModelStop,
    /// The turn reached its step limit.
    MaxTurns,
    /// The turn was stopped from outside.
    UserAbort,
    /// The turn failed with an error that it cannot recover from.
    Error,
    /// A limit on tokens, cost or time was reached, or a hook reported a spent budget.
    BudgetExceeded,
    /// The model repeated the same calls too often.
    LoopDetected,
    /// A tool, a stop condition, a hook or the refusal of a call ended the turn; or the turn returned its value, or
    /// handed the session over.
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

    /// Returns the wire name.
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

/// The origin of a stop from outside. The order matters: of several stops of the same kind, the one with the later
/// variant counts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopCause {
    /// A request to stop.
    #[default]
    Asked,
    /// A handoff: the new session rests with its goal, and no turn has worked on the goal yet.
    HandedOff,
    /// A message with the policy `interrupt`.
    Message,
    /// An edit of an earlier message.
    Edit,
    /// A message with the policy `rollback`.
    Rollback,
}

impl StopCause {
    /// Returns the reason with which the open calls of the turn are cancelled.
    pub(crate) fn cancels_as(self) -> CancelReason {
        match self {
            Self::Asked | Self::HandedOff => CancelReason::UserCancelled,
            Self::Message | Self::Rollback => CancelReason::UserInterrupted,
            Self::Edit => CancelReason::SystemEdited,
        }
    }
}

/// The ending of a turn.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ending {
    /// The reason for the end.
    pub reason: DoneReason,
    /// The error, if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorInfo>,
    /// The step in which the error happened. `None` if there was no error, or if the turn had no step yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<StepNumber>,
    /// The kind of stop, if the turn was stopped from outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped: Option<InterruptKind>,
    /// The origin of the stop, if there was one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cause: StopCause,
    /// The place of the value that the turn returned, if the turn returned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputPlace>,
    /// The successor session, if the turn handed the session over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handed_to: Option<Box<HandedTo>>,
}

/// A handoff by a tool: another agent continues in a session of its own.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandedTo {
    /// The session of the other agent.
    pub session: SessionId,
    /// The other agent, by the name under which the model called it.
    pub agent: ToolName,
    /// The id from which the names of the successor session are derived.
    pub pending: PendingId,
    /// The call that handed the session over.
    pub call: CallId,
    /// The message that holds the arguments of the call, which include the goal.
    pub arguments: MessageSeq,
    /// True if somebody waits for the outcome of the turn, which the successor now owes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub awaited: bool,
}

impl Ending {
    /// Returns an ending that is neither an error nor a stop from outside.
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

    /// Returns the ending of a turn that failed with this error.
    pub fn error(error: ErrorInfo) -> Self {
        Self { error: Some(error), ..Self::of(DoneReason::Error) }
    }

    /// Returns the ending of a turn that was stopped from outside.
    pub fn stopped(kind: InterruptKind) -> Self {
        Self { stopped: Some(kind), ..Self::of(DoneReason::UserAbort) }
    }

    /// Returns the ending of a turn that returned the required value.
    pub fn output(place: OutputPlace) -> Self {
        Self { output: Some(place), ..Self::of(DoneReason::ToolStop) }
    }

    /// Returns the ending of a turn that hands its session over.
    pub(crate) fn handing_over(to: HandedTo) -> Self {
        Self { handed_to: Some(Box::new(to)), ..Self::of(DoneReason::ToolStop) }
    }

    /// Returns the ending of a turn that was stopped with this cause.
    pub(crate) fn stopped_by(kind: InterruptKind, cause: StopCause) -> Self {
        Self { cause, ..Self::stopped(kind) }
    }

    /// Returns the reason with which the open calls of the turn are cancelled.
    pub(crate) fn cancels_as(&self) -> CancelReason {
        match self.stopped {
            Some(_) => self.cause.cancels_as(),
            None => CancelReason::SystemDisposed,
        }
    }

    /// Returns the status of the session after this ending.
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
