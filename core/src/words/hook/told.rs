//! The values that hooks are given.

use crate::time::Timestamp;
use crate::words::children::Tasks;
use crate::words::ending::Ending;
use crate::words::history::{Input, StateKind};
use crate::words::ids::{CallId, SessionKey, StepNumber, ToolName, TurnNumber};
use crate::words::tool::{ToolError, ToolOutput};
use crate::words::usage::Usage;

/// A turn that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegins {
    /// The session.
    pub session: SessionKey,
    /// The turn.
    pub turn: TurnNumber,
}

/// A turn that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnds {
    /// The session.
    pub session: SessionKey,
    /// The turn.
    pub turn: TurnNumber,
    /// The ending.
    pub ending: Ending,
    /// The number of finished model calls of the turn.
    pub steps: u32,
    /// The usage of the steps of the turn.
    pub usage: Usage,
    /// The usage of the session so far.
    pub session_usage: Usage,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAsked {
    /// The session.
    pub session: SessionKey,
    /// The step.
    pub step: StepNumber,
    /// The attempt at the step, from 0.
    pub attempt: u32,
    /// Whether the request is for a summary of old messages, and not for the step itself.
    pub summary: bool,
}

/// A call of a sub-agent that is to begin children.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentAsked {
    /// The session.
    pub session: SessionKey,
    /// The call.
    pub call: CallId,
    /// The sub-agent, by the name under which the model calls it.
    pub sub_agent: ToolName,
    /// The tasks as they would be given, one to each child, and how many outcomes are waited for.
    pub tasks: Tasks,
    /// Whether a person approved exactly this.
    pub approved: bool,
}

/// A call that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEnded {
    /// The session.
    pub session: SessionKey,
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: ToolName,
    /// The arguments that ran.
    pub arguments: String,
    /// The result, as the hooks before left it.
    pub result: Result<ToolOutput, ToolError>,
}

/// A step that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnded {
    /// The session.
    pub session: SessionKey,
    /// The turn.
    pub turn: TurnNumber,
    /// The step, counted over the session.
    pub step: StepNumber,
    /// The number of finished model calls of the turn.
    pub steps: u32,
    /// The text of the model.
    pub text: String,
    /// The tools of which a call was done.
    pub tools_done: Vec<String>,
    /// The usage of the step: its model call, and the number of its calls that were sent.
    pub usage: Usage,
    /// The usage of the steps of the turn.
    pub turn_usage: Usage,
    /// The usage of the session so far.
    pub session_usage: Usage,
}

/// A transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The session.
    pub session: SessionKey,
    /// The state before.
    pub from: StateKind,
    /// The input.
    pub input: Input,
    /// The state after.
    pub to: StateKind,
    /// The instant of the transition, on the store's clock.
    pub at: Timestamp,
}
