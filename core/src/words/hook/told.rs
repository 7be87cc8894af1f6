//! The values that hooks are given.

use crate::time::Timestamp;
use crate::words::ending::Ending;
use crate::words::history::{Input, StateKind};
use crate::words::ids::{CallId, SessionKey, StepNumber, ToolName, TurnNumber};
use crate::words::tool::{ToolError, ToolOutput};
use crate::words::usage::Usage;

/// A turn that begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnBegins {
    /// Which session.
    pub session: SessionKey,
    /// Which turn.
    pub turn: TurnNumber,
}

/// A turn that ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnEnds {
    /// Which session.
    pub session: SessionKey,
    /// Which turn.
    pub turn: TurnNumber,
    /// How.
    pub ending: Ending,
    /// Finished model calls of the turn.
    pub steps: u32,
    /// What the steps of the turn used.
    pub usage: Usage,
    /// What the session has used.
    pub session_usage: Usage,
}

/// What a model is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAsked {
    /// Which session.
    pub session: SessionKey,
    /// Which step.
    pub step: StepNumber,
    /// Which attempt at it, from 0.
    pub attempt: u32,
    /// Whether it is asked for a summary of what is old, and not for the step itself.
    pub summary: bool,
}

/// A call that came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolEnded {
    /// Which session.
    pub session: SessionKey,
    /// Which call.
    pub call: CallId,
    /// Which tool.
    pub tool: ToolName,
    /// The arguments that ran.
    pub arguments: String,
    /// What it brought, as the hooks before left it.
    pub result: Result<ToolOutput, ToolError>,
}

/// A step that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepEnded {
    /// Which session.
    pub session: SessionKey,
    /// Which turn.
    pub turn: TurnNumber,
    /// Which step of the session.
    pub step: StepNumber,
    /// Finished model calls of the turn.
    pub steps: u32,
    /// What the model said.
    pub text: String,
    /// The tools of which a call was done.
    pub tools_done: Vec<String>,
    /// What the step used: its model call, and how many of its calls were sent.
    pub usage: Usage,
    /// What the steps of the turn used.
    pub turn_usage: Usage,
    /// What the session has used.
    pub session_usage: Usage,
}

/// A transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// Which session.
    pub session: SessionKey,
    /// The state before.
    pub from: StateKind,
    /// What happened.
    pub input: Input,
    /// The state after.
    pub to: StateKind,
    /// When, on the store's clock.
    pub at: Timestamp,
}
