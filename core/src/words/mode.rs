//! The mode of an agent: planning, answering questions, or acting.

use serde::{Deserialize, Serialize};

use crate::words::payload::is_default;
use crate::words::tool::{EffectClass, ToolSpec};

/// The mode of a session. It stays in force across turns, runs and crashes until another mode is set, or until the
/// message that set it is taken back.
///
/// In `plan` and `ask` the agent changes nothing: the model sees only tools that are `read_only`, and calls
/// of other tools are refused.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// The agent investigates and proposes a plan.
    Plan,
    /// The agent answers questions.
    Ask,
    /// The agent acts with all of its tools.
    #[default]
    Agent,
}

impl Mode {
    /// Every mode.
    pub const ALL: [Self; 3] = [Self::Plan, Self::Ask, Self::Agent];

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Plan => "plan",
            Self::Ask => "ask",
            Self::Agent => "agent",
        }
    }

    /// Returns true if this mode lets the model see this tool.
    pub fn tells_of(self, tool: &ToolSpec) -> bool {
        match self {
            Self::Plan | Self::Ask => tool.effect == EffectClass::ReadOnly,
            Self::Agent => true,
        }
    }

    /// Returns the paragraph about this mode in the system prompt.
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

/// The error for a text that is not the name of a mode.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown mode {0:?}; known are plan, ask, agent")]
pub struct UnknownMode(String);

impl std::str::FromStr for Mode {
    type Err = UnknownMode;

    fn from_str(text: &str) -> Result<Self, UnknownMode> {
        Self::ALL.into_iter().find(|mode| mode.as_str() == text).ok_or_else(|| UnknownMode(text.to_owned()))
    }
}

/// Changes to the mode and the system prompt that come with a message. Fields that are `None` change nothing. When
/// the message is taken back, the earlier values apply again. A mode that was set later without a message stays.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Briefing {
    /// The new mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// The new system prompt, which replaces the agent's whole prompt. An empty text restores the agent's own
    /// prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system_prompt: Option<String>,
}

impl Briefing {
    /// Returns true if the briefing changes nothing.
    pub fn is_empty(&self) -> bool {
        is_default(self)
    }
}
