//! The points at which hooks are called, and the consequence of a failure at each point.

use serde::{Deserialize, Serialize};

/// A point of a turn at which hooks are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// A turn begins.
    AgentStart,
    /// The model is about to be asked for an answer or a summary.
    BeforeModel,
    /// The model answered.
    AfterModel,
    /// A call is about to be checked by the gate.
    BeforeTool,
    /// A call of a sub-agent is about to begin children or to hand the session over.
    BeforeSubAgent,
    /// A call returned.
    AfterTool,
    /// A step is over.
    AfterStep,
    /// The machine made a transition.
    Transition,
    /// A turn ends.
    AgentEnd,
}

impl HookPoint {
    /// Every point.
    pub const ALL: [Self; 9] = [
        Self::AgentStart,
        Self::BeforeModel,
        Self::AfterModel,
        Self::BeforeTool,
        Self::BeforeSubAgent,
        Self::AfterTool,
        Self::AfterStep,
        Self::Transition,
        Self::AgentEnd,
    ];

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentStart => "agent_start",
            Self::BeforeModel => "before_model",
            Self::AfterModel => "after_model",
            Self::BeforeTool => "before_tool",
            Self::BeforeSubAgent => "before_sub_agent",
            Self::AfterTool => "after_tool",
            Self::AfterStep => "after_step",
            Self::Transition => "transition",
            Self::AgentEnd => "agent_end",
        }
    }

    /// Returns the default consequence of a failure at this point. Before an action, a failure prevents the
    /// action. After an action, its result stays.
    pub fn on_failure(self) -> OnFailure {
        match self {
            Self::AgentStart | Self::BeforeModel | Self::BeforeTool | Self::BeforeSubAgent => {
                OnFailure::Closed
            }
            Self::AfterModel | Self::AfterTool | Self::AfterStep | Self::Transition | Self::AgentEnd => {
                OnFailure::Open
            }
        }
    }
}

/// The consequence of a hook's failure: an error, a panic, a time-out, or arguments that do not fit the
/// schema.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnFailure {
    /// The turn continues as if the hook had not been called. The failure is logged.
    Open,
    /// The action does not happen, its result is withheld, or the turn ends with an error: see the methods of
    /// [`Hook`](crate::words::hook::Hook).
    Closed,
}
