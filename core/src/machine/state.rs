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

/// Where a session stands: one value. Each variant owns only what makes sense there; messages, calls and
/// arguments are referred to by place, never copied.
///
/// Dispatching (only children owe outcomes) stands between Confirming and Steering, once it works.
///
/// Whoever handles it handles every state: one that is left out, as a new one would be, does not compile (requirement A01).
///
/// ```compile_fail,E0004
/// # use holdover_core::machine::AgentState;
/// fn a01_a_state_without_a_handler_does_not_compile(state: &AgentState) -> &'static str {
///     match state {
///         AgentState::Idle | AgentState::Done { .. } => "rests",
///         AgentState::Provisioning { .. } | AgentState::Thinking { .. } | AgentState::Streaming { .. } => "thinks",
///         AgentState::Executing { .. } | AgentState::Confirming { .. } => "acts",
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
    /// What the turn needs is being made ready.
    Provisioning {
        /// What began the turn.
        request: TurnRequest,
    },
    /// The model request is about to be made.
    Thinking {
        /// Which step.
        step: StepNumber,
        /// Which attempt at it, from 0.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
    },
    /// The model answers.
    Streaming {
        /// Which step.
        step: StepNumber,
        /// Which attempt at it, from 0.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
        /// Where its answer will stand in the transcript.
        entry: MessageSeq,
    },
    /// Calls run, in conflict groups.
    Executing {
        /// The calls.
        batch: Batch,
    },
    /// Parked: anything but children alone is owed.
    Confirming {
        /// The calls.
        batch: Batch,
    },
    /// The only place that decides to go on or to stop.
    Steering {
        /// What there is to steer by.
        from: SteeringFrom,
    },
    /// What is old is summarised; then the model is asked, or the turn ends, or the session rests again.
    Compacting {
        /// Why.
        why: CompactionCause,
        /// The step that comes, or that the provider refused as too long.
        step: StepNumber,
        /// The attempt at it.
        #[serde(default, skip_serializing_if = "is_default")]
        attempt: u32,
    },
    /// Parked, or waiting for less than a second: the model is asked again later.
    BackingOff {
        /// Which step.
        step: StepNumber,
        /// The attempt that comes.
        attempt: u32,
        /// When.
        until: Timestamp,
        /// Why.
        error: ErrorInfo,
    },
    /// The outcome is fixed; what the turn holds is freed.
    TearingDown {
        /// How the turn ends.
        ending: Ending,
        /// What is left to free.
        left: Teardown,
    },
    /// At rest; takes the next turn request.
    Done {
        /// How the last turn ended.
        ending: Ending,
        /// What the session has used.
        usage: Usage,
    },
}

impl AgentState {
    /// The state without its data.
    pub fn kind(&self) -> StateKind {
        match self {
            Self::Idle => StateKind::Idle,
            Self::Provisioning { .. } => StateKind::Provisioning,
            Self::Thinking { .. } => StateKind::Thinking,
            Self::Streaming { .. } => StateKind::Streaming,
            Self::Executing { .. } => StateKind::Executing,
            Self::Confirming { .. } => StateKind::Confirming,
            Self::Steering { .. } => StateKind::Steering,
            Self::Compacting { .. } => StateKind::Compacting,
            Self::BackingOff { .. } => StateKind::BackingOff,
            Self::TearingDown { .. } => StateKind::TearingDown,
            Self::Done { .. } => StateKind::Done,
        }
    }

    /// The status of a session that rests in this state: what its last turn came to, idle if none has ended.
    pub fn status_at_rest(&self) -> SessionStatus {
        let at_rest = self.ending().filter(|_| !matches!(self, Self::TearingDown { .. }));
        at_rest.map_or(SessionStatus::Idle, Ending::status)
    }

    /// The step that is open: from when its number is given until its answer stands without calls, all of its
    /// calls have ended, or the turn ends.
    pub fn open_step(&self) -> Option<StepNumber> {
        match self {
            Self::Thinking { step, .. } | Self::Streaming { step, .. } | Self::BackingOff { step, .. } => {
                Some(*step)
            }
            Self::Executing { batch } | Self::Confirming { batch } if batch.for_more => None,
            Self::Executing { batch } | Self::Confirming { batch } => Some(batch.step),
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

    /// Whether a model or a call waits to be tried again.
    pub fn waits_to_try_again(&self) -> bool {
        let again = |call: &Call| matches!(call.state, CallState::Waiting { again: true, .. });
        matches!(self, Self::BackingOff { .. })
            || self.batch().is_some_and(|batch| batch.calls.iter().any(again))
    }

    /// How the last turn ends or has ended, once that is fixed: nothing that comes later changes it. None before the
    /// first, and while one is open that may still come to anything.
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
            | Self::Steering { .. }
            | Self::Compacting { .. }
            | Self::BackingOff { .. } => None,
        }
    }

    /// How the last turn has ended, of a session at rest with which nothing is done.
    pub fn ended(&self) -> Option<&Ending> {
        self.ending().filter(|_| matches!(self, Self::Done { .. }))
    }

    /// When a model is asked again that failed; none if none waits for that.
    pub fn backs_off_until(&self) -> Option<Timestamp> {
        if let Self::BackingOff { until, .. } = self { Some(*until) } else { None }
    }

    /// The calls of the step that is being executed.
    pub fn batch(&self) -> Option<&Batch> {
        match self {
            Self::Executing { batch } | Self::Confirming { batch } => Some(batch),
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

/// What steering decides by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum SteeringFrom {
    /// The model answered without asking for a tool.
    Answer {
        /// Why it stopped.
        stop: StopReason,
    },
    /// Every call of the step has ended.
    Calls {
        /// Whether a result said that the turn should end.
        stop_signal: bool,
        /// Whether every result did.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        all_say_stop: bool,
        /// What became of the value that the turn owes, if the step was to give it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        output: Option<OutputCheck>,
    },
    /// A turn is taken up again.
    Resumed,
}

/// Why what is old is summarised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "cause", rename_all = "snake_case")]
pub enum CompactionCause {
    /// The transcript is larger than the agent's threshold.
    Threshold,
    /// The provider refused the request as larger than the model's context.
    ContextLimit {
        /// With these words. They end the turn if no summary can be made.
        error: ErrorInfo,
    },
    /// Somebody asked for it while the session rested.
    Manual {
        /// How the session's last turn ended: so it rests again.
        ending: Ending,
    },
    /// A handoff needs its extract.
    Handoff,
}
