//! The states of a session's machine.

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::call::{Call, CallState};
use super::teardown::Teardown;
use crate::store::SessionStatus;
use crate::time::Timestamp;
use crate::words::ending::Ending;
use crate::words::error::ErrorInfo;
use crate::words::history::{StateKind, TurnRequest};
use crate::words::ids::{MessageSeq, StepNumber};
use crate::words::model::StopReason;
use crate::words::output::OutputCheck;
use crate::words::payload::is_default;
use crate::words::usage::Usage;

/// The state of a session, as one value. Each variant owns only the data that makes sense there. Messages and
/// arguments are referred to by their place in the transcript, never copied.
///
/// Code that handles a state must handle every state. A match that leaves one out does not compile (requirement
/// A01).
///
/// ```compile_fail,E0004
/// # use holdover_core::machine::AgentState;
/// fn a01_a_state_without_a_handler_does_not_compile(state: &AgentState) -> &'static str {
///     match state {
///         AgentState::Idle | AgentState::Done { .. } => "rests",
///         AgentState::Provisioning { .. } | AgentState::Thinking { .. } | AgentState::Streaming { .. } => "thinks",
///         AgentState::Executing { .. } | AgentState::Confirming { .. } | AgentState::Dispatching { .. } => "acts",
///         AgentState::Steering { .. } | AgentState::Compacting { .. } | AgentState::BackingOff { .. } => "decides",
///     }
/// }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum AgentState {
    /// Before the first turn.
    #[default]
    Idle,
    /// The surroundings of the turn are being prepared.
    Provisioning {
        /// The request that began the turn.
        request: TurnRequest,
        /// True if the turn begins in a parked state of the procedure.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        parked: bool,
    },
    /// The model request is about to be made.
    Thinking {
        /// The step.
        step: StepNumber,
        /// The attempt at it, from 0.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
    },
    /// The model answers.
    Streaming {
        /// The step.
        step: StepNumber,
        /// The attempt at it, from 0.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
        /// The place in the transcript at which the answer will stand.
        entry: MessageSeq,
    },
    /// Calls run, in conflict groups.
    Executing {
        /// The calls.
        batch: Batch,
    },
    /// Parked: the session waits for an answer or a timer, and not only for children.
    Confirming {
        /// The calls.
        batch: Batch,
    },
    /// Parked: the session waits for children only.
    Dispatching {
        /// The calls.
        batch: Batch,
    },
    /// The session decides whether the turn goes on or ends. In other states, only an error, a stop, a limit, a loop
    /// or a prepared handoff ends a turn.
    Steering {
        /// The facts on which steering decides.
        from: SteeringFrom,
    },
    /// Old messages are summarised. Then the model is asked, or the turn ends, or the session rests again.
    Compacting {
        /// The reason.
        why: CompactionCause,
        /// The next step, or the step that the provider refused as too long.
        step: StepNumber,
        /// The attempt at it, from 0.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
    },
    /// Parked, or waiting for at most a second: the model is asked again later.
    BackingOff {
        /// The step.
        step: StepNumber,
        /// The number of the next attempt.
        attempt: u32,
        /// The instant of the next attempt.
        until: Timestamp,
        /// The error of the last attempt.
        error: ErrorInfo,
    },
    /// The turn has ended. Other sessions are told of it, and the surroundings of the turn are freed.
    TearingDown {
        /// The ending of the turn.
        ending: Ending,
        /// The things that are left to do in the teardown.
        left: Teardown,
    },
    /// At rest; takes the next turn request.
    Done {
        /// The ending of the last turn.
        ending: Ending,
        /// The usage of the session so far.
        usage: Usage,
    },
}

impl AgentState {
    /// Returns the state without its data.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Idle => StateKind::Idle,
            Self::Provisioning { .. } => StateKind::Provisioning,
            Self::Thinking { .. } => StateKind::Thinking,
            Self::Streaming { .. } => StateKind::Streaming,
            Self::Executing { .. } => StateKind::Executing,
            Self::Confirming { .. } => StateKind::Confirming,
            Self::Dispatching { .. } => StateKind::Dispatching,
            Self::Steering { .. } => StateKind::Steering,
            Self::Compacting { .. } => StateKind::Compacting,
            Self::BackingOff { .. } => StateKind::BackingOff,
            Self::TearingDown { .. } => StateKind::TearingDown,
            Self::Done { .. } => StateKind::Done,
        }
    }

    /// Returns the status of a session that rests in this state: the result of its last turn, or idle if no turn
    /// has ended.
    pub fn status_at_rest(&self) -> SessionStatus {
        let at_rest = self.ending().filter(|_| !matches!(self, Self::TearingDown { .. }));
        at_rest.map_or(SessionStatus::Idle, Ending::status)
    }

    /// Returns the open step. A step is open from when its number is assigned until the model answers without
    /// calls, all of its calls have ended, or the turn ends.
    pub fn open_step(&self) -> Option<StepNumber> {
        match self {
            Self::Thinking { step, .. } | Self::Streaming { step, .. } | Self::BackingOff { step, .. } => {
                Some(*step)
            }
            Self::Executing { batch } | Self::Confirming { batch } | Self::Dispatching { batch } => {
                Some(batch.step).filter(|_| batch.is_step())
            }
            Self::Compacting { why, step, .. } => match why {
                CompactionCause::Threshold
                | CompactionCause::ContextLimit { .. }
                | CompactionCause::Handoff => Some(*step),
                CompactionCause::Manual { .. } => None,
            },
            Self::Idle
            | Self::Provisioning { .. }
            | Self::Steering { .. }
            | Self::TearingDown { .. }
            | Self::Done { .. } => None,
        }
    }

    /// Returns true if a model call or a tool call waits for its next attempt.
    pub fn waits_to_try_again(&self) -> bool {
        let again = |call: &Call| matches!(call.state, CallState::Waiting { again: true, .. });
        matches!(self, Self::BackingOff { .. })
            || self.batch().is_some_and(|batch| batch.calls.iter().any(again))
    }

    /// Returns the ending of the last turn, once it is fixed. `None` before the first turn, and while a turn is open
    /// whose ending is not fixed.
    pub fn ending(&self) -> Option<&Ending> {
        match self {
            Self::Done { ending, .. }
            | Self::TearingDown { ending, .. }
            | Self::Compacting { why: CompactionCause::Manual { ending }, .. } => Some(ending),
            Self::Idle
            | Self::Provisioning { .. }
            | Self::Thinking { .. }
            | Self::Streaming { .. }
            | Self::Executing { .. }
            | Self::Confirming { .. }
            | Self::Dispatching { .. }
            | Self::Steering { .. }
            | Self::Compacting { .. }
            | Self::BackingOff { .. } => None,
        }
    }

    /// Returns the ending of the last turn if the session is at rest. `None` while it frees surroundings or
    /// summarises.
    pub fn ended(&self) -> Option<&Ending> {
        self.ending().filter(|_| matches!(self, Self::Done { .. }))
    }

    /// Returns the instant at which the model is asked again after a failure. `None` in any other state.
    pub(crate) fn backs_off_until(&self) -> Option<Timestamp> {
        if let Self::BackingOff { until, .. } = self { Some(*until) } else { None }
    }

    /// Returns the calls of the open step, the request for more steps, or the wait of the procedure. `None` in a state
    /// without calls.
    pub fn batch(&self) -> Option<&Batch> {
        match self {
            Self::Executing { batch } | Self::Confirming { batch } | Self::Dispatching { batch } => {
                Some(batch)
            }
            Self::Idle
            | Self::Provisioning { .. }
            | Self::Thinking { .. }
            | Self::Streaming { .. }
            | Self::Steering { .. }
            | Self::Compacting { .. }
            | Self::BackingOff { .. }
            | Self::TearingDown { .. }
            | Self::Done { .. } => None,
        }
    }
}

/// The facts on which steering decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum SteeringFrom {
    /// The model answered without asking for a tool.
    Answer {
        /// The reason why the model stopped.
        stop: StopReason,
    },
    /// Every call of the step has ended.
    Calls {
        /// True if a result, a refusal or a handoff asked to end the turn.
        stop_signal: bool,
        /// True if every result asked to end the turn. A handoff, or a refusal that ends the turn, counts for every
        /// call.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all_say_stop: bool,
        /// The result of checking the value that the turn must return, if this step returned one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<OutputCheck>,
    },
    /// No step has just ended. The turn resumes after a stop, a failure or a handoff, begins in a parked state of the
    /// procedure, or goes on after a grant of more steps or a wait of the procedure.
    Resumed,
}

/// The reason for a summary of old messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum CompactionCause {
    /// The transcript is larger than the agent's threshold.
    Threshold,
    /// The provider refused the request as larger than the model's context.
    ContextLimit {
        /// The provider's error. It ends the turn if the request cannot be shortened, unless a more exact error is
        /// known.
        error: ErrorInfo,
    },
    /// A caller requested a summary while the session rested.
    Manual {
        /// The ending of the session's last turn, with which it rests again.
        ending: Ending,
    },
    /// A handoff needs an extract of the old conversation.
    Handoff,
}
