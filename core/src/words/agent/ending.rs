//! Rules for the end of a turn.

use serde::{Deserialize, Serialize};

use crate::words::ids::ToolName;

/// The consequence when a person refuses a call without giving a reason. A refusal with a reason has the effect of
/// [`GoOn`](Self::GoOn), because the reason is meant for the model. A refusal that ends the batch
/// ([`Decision::aborts`](crate::words::message::Decision::aborts)) has at least the effect of
/// [`CancelRest`](Self::CancelRest), with or without a reason. In all cases, every call of the step gets exactly one
/// result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// The other calls run, and the model sees the refusal.
    #[default]
    #[serde(rename = "continue")]
    GoOn,
    /// Calls of the step that were sent or have children continue. The other open calls are cancelled, and the
    /// model sees the refusal.
    CancelRest,
    /// As [`CancelRest`](Self::CancelRest), and the turn ends with this step (`tool_stop`). The model is
    /// asked again when the next message arrives.
    EndTurn,
}

impl OnDenial {
    /// Returns this rule, but at least [`CancelRest`](Self::CancelRest).
    pub(crate) fn at_least_for_the_batch(self) -> Self {
        match self {
            Self::GoOn | Self::CancelRest => Self::CancelRest,
            Self::EndTurn => Self::EndTurn,
        }
    }
}

/// A condition that ends a turn after a step, even if the model would continue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StopCondition {
    /// A call of this tool succeeded in the step.
    ToolDone(ToolName),
    /// The text of the model in the step contains this string.
    TextContains(String),
}

/// The number of results in a step that must ask to end the turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignals {
    /// One result is enough.
    #[default]
    Any,
    /// All results must ask. An error or a refusal does not ask, so the turn continues.
    All,
}

/// The consequence when a turn reaches its step limit and would continue.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtMax {
    /// The turn ends (`max_turns`).
    #[default]
    Stop,
    /// A person is asked for more steps. The turn ends if the person refuses or does not answer in time. Nobody is
    /// asked if the limit was set by the parent or the caller that gave the task.
    Ask,
}

/// The consequence when a call ends in doubt: it may have acted, and its result is lost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDoubt {
    /// The model is told.
    #[default]
    Tell,
    /// The model is told, and a pending call of kind `in_doubt` is opened, so that somebody can say what became of the
    /// call. The turn does not wait for it. At most [`DOUBTS_OPEN_MAX`](crate::engine::DOUBTS_OPEN_MAX) are open in a
    /// session. An abort closes them.
    Ask,
}
