//! The points at which hooks are asked, and the meaning of a failure at each.

use serde::{Deserialize, Serialize};

/// A point of a turn at which hooks are asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HookPoint {
    /// A turn begins.
    AgentStart,
    /// The model is about to be asked.
    BeforeModel,
    /// The model answered.
    AfterModel,
    /// A call is about to be put before the gate.
    BeforeTool,
    /// Children of a sub-agent are about to be begun.
    BeforeSubAgent,
    /// A call came back.
    AfterTool,
    /// A step is over.
    AfterStep,
    /// The machine moved.
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

    /// The wire name.
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

    /// The meaning of a failure at this point, if the hook does not set one. Before an action, the action is
    /// not done; after it, its result stands.
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

/// The consequence of a hook's failure: an error, a panic, silence, or arguments that do not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnFailure {
    /// The turn goes on as if the hook had not been asked. The failure is logged.
    Open,
    /// The thing that the hook was asked about does not happen, or is withheld.
    Closed,
}
