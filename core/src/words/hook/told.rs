//! The data that hooks receive.

use crate::time::Timestamp;
use crate::words::children::Tasks;
use crate::words::ending::Ending;
use crate::words::history::{Input, StateKind};
use crate::words::ids::{CallId, SessionKey, StepNumber, ToolName, TurnNumber};
use crate::words::tool::{ToolError, ToolOutput};
use crate::words::usage::Usage;

/// The data about a turn that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegins {
    /// The session that the turn belongs to.
    pub session: SessionKey,
    /// The number of the turn.
    pub turn: TurnNumber,
}

/// The data about a turn that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnds {
    /// The session that the turn belongs to.
    pub session: SessionKey,
    /// The number of the turn.
    pub turn: TurnNumber,
    /// The reason and details of the ending.
    pub ending: Ending,
    /// The number of completed model calls in the turn.
    pub steps: u32,
    /// The total usage of the turn's steps.
    pub usage: Usage,
    /// The total usage of the session so far.
    pub session_usage: Usage,
}

/// The data about a request to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAsked {
    /// The session that makes the request.
    pub session: SessionKey,
    /// The number of the step in the session.
    pub step: StepNumber,
    /// The number of the attempt, from 0.
    pub attempt: u32,
    /// True if the request is for a summary of old messages or of an old result, instead of the step itself.
    pub summary: bool,
}

/// The data about a call of a sub-agent that is about to begin children or to hand the session over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgentAsked {
    /// The session that the call belongs to.
    pub session: SessionKey,
    /// The id of the call.
    pub call: CallId,
    /// The sub-agent, by the name under which the model calls it.
    pub sub_agent: ToolName,
    /// The tasks that would be given, one to each child, and the number of outcomes to wait for. For a handoff, the
    /// goal is the only task.
    pub tasks: Tasks,
    /// True if a person approved exactly these tasks.
    pub approved: bool,
}

/// The data about a call that returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEnded {
    /// The session that the call belongs to.
    pub session: SessionKey,
    /// The id of the call.
    pub call: CallId,
    /// The name of the tool.
    pub tool: ToolName,
    /// The arguments with which the call ran.
    pub arguments: String,
    /// The result, as changed by the hooks called before.
    pub result: Result<ToolOutput, ToolError>,
}

/// The data about a step that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnded {
    /// The session that the step belongs to.
    pub session: SessionKey,
    /// The number of the turn in the session.
    pub turn: TurnNumber,
    /// The number of the step in the session.
    pub step: StepNumber,
    /// The number of completed model calls in the turn.
    pub steps: u32,
    /// The text that the model wrote in this step.
    pub text: String,
    /// The tools with at least one successful call in this step.
    pub tools_done: Vec<String>,
    /// The usage of the step: its model call, and the number of its calls that were sent.
    pub usage: Usage,
    /// The total usage of the turn's steps so far.
    pub turn_usage: Usage,
    /// The total usage of the session so far.
    pub session_usage: Usage,
}

/// The data about transitions that a hook was not told of, because it was too slow.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MovesMissed {
    /// The session whose machine moved.
    pub session: SessionKey,
    /// The number of transitions; at least 1. They follow the last transition that the hook was told of.
    pub count: u64,
}

impl MovesMissed {
    /// Creates the data about this number of transitions.
    pub fn new(session: SessionKey, count: u64) -> Self {
        Self { session, count }
    }
}

/// The data about a transition of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// The session whose machine moved.
    pub session: SessionKey,
    /// The state before the transition.
    pub from: StateKind,
    /// The input that caused the transition.
    pub input: Input,
    /// The state after the transition.
    pub to: StateKind,
    /// The instant of the transition, by the store's clock.
    pub at: Timestamp,
}
