//! What happens to a session's machine, as it is recorded in its history.

use serde::{Deserialize, Serialize};

use super::call::CallInput;
use super::state::{Ending, TurnRequest};
use super::turn::Usage;
use crate::error::ErrorInfo;
use crate::ids::{CallId, MessageSeq};
use crate::model::StopReason;
use crate::payload::is_default;
use crate::store::InterruptKind;
use crate::time::Timestamp;
use crate::tool::{EffectClass, RunsOn};

/// What happens to a session's machine. Small, by reference, and whole: folding the recorded inputs from
/// the start gives the stored state (INV-10).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "input", rename_all = "snake_case")]
pub enum Input {
    /// A turn begins.
    TurnRequested {
        /// What began it.
        request: TurnRequest,
        /// Whether something must be provisioned for it.
        provisions: bool,
    },
    /// A run claimed the session in the middle of a turn.
    Claimed {
        /// Whether the run before it died.
        takeover: bool,
    },
    /// What the turn needs is ready.
    Provisioned,
    /// The model is asked.
    ModelCalled {
        /// Where its answer will stand.
        entry: MessageSeq,
    },
    /// The model answered.
    ModelAnswered {
        /// Where its answer stands.
        message: MessageSeq,
        /// The calls it asks for.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        calls: Vec<NewCall>,
        /// Why it stopped.
        stop: StopReason,
        /// What it used.
        usage: Usage,
    },
    /// The model call failed.
    ModelFailed {
        /// Why.
        error: ErrorInfo,
        /// When it is tried again; none if it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        retry_at: Option<Timestamp>,
    },
    /// Something happened to a call.
    Call {
        /// Which.
        call: CallId,
        /// What.
        #[serde(rename = "does")]
        input: CallInput,
    },
    /// Steering decided.
    Steered {
        /// None: the next step. Else how the turn ends.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<Ending>,
    },
    /// The back-off is over.
    TimerRang,
    /// The run exits because it must wait.
    Parked,
    /// Somebody stops the turn, or the session.
    Interrupted {
        /// How hard.
        kind: InterruptKind,
    },
    /// Something failed that no retry mends.
    Failed {
        /// What.
        error: ErrorInfo,
    },
    /// What the turn held is freed.
    TornDown,
    /// From here on the history is that of a fork: what was out or owed stays behind with the source.
    Forked,
}

/// A call that the model asks for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewCall {
    /// Which call.
    pub id: CallId,
    /// Which tool, as the model named it.
    pub tool: String,
    /// Its class.
    #[serde(default, skip_serializing_if = "is_default")]
    pub effect: EffectClass,
    /// Whether it is dangerous.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dangerous: bool,
    /// Who runs it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub runs_on: RunsOn,
}

/// The inputs without their data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputKind {
    /// A turn begins.
    TurnRequested,
    /// A run claimed the session in the middle of a turn.
    Claimed,
    /// What the turn needs is ready.
    Provisioned,
    /// The model is asked.
    ModelCalled,
    /// The model answered.
    ModelAnswered,
    /// The model call failed.
    ModelFailed,
    /// Something happened to a call.
    Call,
    /// Steering decided.
    Steered,
    /// The back-off is over.
    TimerRang,
    /// The run exits because it must wait.
    Parked,
    /// Somebody stops the turn, or the session.
    Interrupted,
    /// Something failed that no retry mends.
    Failed,
    /// What the turn held is freed.
    TornDown,
    /// From here on the history is that of a fork.
    Forked,
}

impl InputKind {
    /// Every input.
    pub const ALL: [Self; 14] = [
        Self::TurnRequested,
        Self::Claimed,
        Self::Provisioned,
        Self::ModelCalled,
        Self::ModelAnswered,
        Self::ModelFailed,
        Self::Call,
        Self::Steered,
        Self::TimerRang,
        Self::Parked,
        Self::Interrupted,
        Self::Failed,
        Self::TornDown,
        Self::Forked,
    ];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TurnRequested => "turn_requested",
            Self::Claimed => "claimed",
            Self::Provisioned => "provisioned",
            Self::ModelCalled => "model_called",
            Self::ModelAnswered => "model_answered",
            Self::ModelFailed => "model_failed",
            Self::Call => "call",
            Self::Steered => "steered",
            Self::TimerRang => "timer_rang",
            Self::Parked => "parked",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::TornDown => "torn_down",
            Self::Forked => "forked",
        }
    }
}

impl Input {
    /// The input without its data.
    pub fn kind(&self) -> InputKind {
        match self {
            Self::TurnRequested { .. } => InputKind::TurnRequested,
            Self::Claimed { .. } => InputKind::Claimed,
            Self::Provisioned => InputKind::Provisioned,
            Self::ModelCalled { .. } => InputKind::ModelCalled,
            Self::ModelAnswered { .. } => InputKind::ModelAnswered,
            Self::ModelFailed { .. } => InputKind::ModelFailed,
            Self::Call { .. } => InputKind::Call,
            Self::Steered { .. } => InputKind::Steered,
            Self::TimerRang => InputKind::TimerRang,
            Self::Parked => InputKind::Parked,
            Self::Interrupted { .. } => InputKind::Interrupted,
            Self::Failed { .. } => InputKind::Failed,
            Self::TornDown => InputKind::TornDown,
            Self::Forked => InputKind::Forked,
        }
    }
}
