//! Rules for the end of a turn.

use serde::{Deserialize, Serialize};

use crate::words::ids::ToolName;

/// What happens when a person refuses a call and says nothing more. A refusal that carries a word for the model always
/// goes on: it is said so that the model hears it. Every call of the step still gets its one result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// The other calls run, and the model is told.
    #[default]
    #[serde(rename = "continue")]
    GoOn,
    /// Calls of the step that are not out are cancelled, and the model is told.
    CancelRest,
    /// The same, and the turn ends with this step (`tool_stop`): the model is asked when somebody says something.
    EndTurn,
}

/// After which step a turn ends although the model would go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StopCondition {
    /// A call of this tool was done.
    ToolDone(ToolName),
    /// The model's text contains this.
    TextContains(String),
}

/// How many results of a step must say that the turn should end, for it to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignals {
    /// One is enough.
    #[default]
    Any,
    /// All of them: a result that does not say so, an error or a refusal too, lets the turn go on.
    All,
}

/// What becomes of a turn that has taken as many steps as it may, and would go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtMax {
    /// It ends (`max_turns`).
    #[default]
    Stop,
    /// A person is asked for more steps. A refusal ends it, and so does it if nobody answers in time.
    Ask,
}
