//! The mode of an agent: it plans, it answers, or it acts.

use serde::{Deserialize, Serialize};

use crate::words::payload::is_default;
use crate::words::tool::{EffectClass, ToolSpec};

/// The mode of a session. It holds until somebody sets another, over turns, runs and crashes.
///
/// In `plan` and `ask` nothing is changed: the model is told only of tools that are `read_only`, and calls of
/// other tools are refused.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The agent looks around and says what it would do.
    Plan,
    /// The agent answers questions.
    Ask,
    /// The agent acts.
    #[default]
    Agent,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Plan, Self::Ask, Self::Agent];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Agent => "agent",
        }
    }

    /// Whether a model is told of this tool.
    pub fn tells_of(self, tool: &ToolSpec) -> bool {
        match self {
            Self::Plan | Self::Ask => tool.effect == EffectClass::ReadOnly,
            Self::Agent => true,
        }
    }

    /// The paragraph of the system prompt for this mode.
    pub fn paragraph(self) -> &'static str {
        match self {
            Self::Plan => {
                "You work in mode plan. Look at whatever you need, change nothing, and answer with a plan: the steps \
                 you would take, in order, and what you are not sure of."
            }
            Self::Ask => {
                "You work in mode ask. Answer questions. Look at whatever you need, and change nothing."
            }
            Self::Agent => {
                "You work in mode agent. Do what you are asked with the tools you have, and say at the end what was \
                 done."
            }
        }
    }
}

impl std::fmt::Display for Mode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A text that is no mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode {0:?}; known are plan, ask, agent")]
pub struct UnknownMode(String);

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// How the agent works from a message on. Fields that are left out stay as they are. When the message is
/// taken back, its changes are undone, and the earlier values apply again. A mode that was set without a
/// message stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Briefing {
    /// The mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The system prompt, which replaces the whole of the agent's. Empty: the agent's own again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

impl Briefing {
    /// Whether nothing changes.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}
