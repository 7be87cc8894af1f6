//! Rules for the end of a turn.

use serde::{Deserialize, Serialize};

use crate::words::ids::ToolName;

/// The consequence of a refusal by a person who says nothing more. After a refusal with a text for the model
/// the turn always goes on, because the text is meant for the model. Every call of the step still gets its
/// one result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// The other calls run, and the model is told.
    #[default]
    #[serde(rename = "continue")]
    GoOn,
    /// The calls of the step that are not out are cancelled, and the model is told.
    CancelRest,
    /// As [`CancelRest`](Self::CancelRest), and the turn ends with this step (`tool_stop`). The model is
    /// asked when somebody says something.
    EndTurn,
}

/// A step after which a turn ends although the model would go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StopCondition {
    /// A call of this tool was done.
    ToolDone(ToolName),
    /// The model's text contains this.
    TextContains(String),
}

/// How many results of a step must ask for the end of the turn before it ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignals {
    /// One is enough.
    #[default]
    Any,
    /// All of them. A result that does not ask for the end lets the turn go on; this includes errors and
    /// refusals.
    All,
}

/// The consequence when a turn has taken as many steps as it may, and would go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtMax {
    /// The turn ends (`max_turns`).
    #[default]
    Stop,
    /// A person is asked for more steps. The turn ends if the person refuses, or if nobody answers in time.
    Ask,
}
