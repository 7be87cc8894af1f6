//! The data from which the command line builds an agent again, as it is stored with each session.

use std::collections::BTreeMap;
use std::path::PathBuf;

use holdover_core::agent::Prices;
use holdover_core::gate::{ApprovalRule, PermissionMode};
use holdover_core::mode::Mode;
use holdover_core::tool::ToolSpec;
use holdover_mcp::McpServer;
use holdover_models::ModelRef;
use holdover_tools::{CommandTool, SandboxOptions, SkillPin};
use serde::{Deserialize, Serialize};

use crate::gate::GateRef;
use crate::hooks::{HookRef, SummariserRef};
use crate::sub_agents::SubAgentRecipe;

/// Returns true if a field has its default value, and need not be stored.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// The data that the command line stores with a session, besides the spec for core. Paths are absolute. It never
/// contains an API key, only the name of the environment variable that holds one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recipe {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) version: Option<String>,
    pub(crate) model: ModelRef,
    /// The models for single modes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) models: BTreeMap<Mode, ModelRef>,
    /// The sources of the agent's skills, with the digests and indexes of those that are pinned.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) skills: Vec<SkillPin>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) fallback: Vec<FallbackRef>,
    /// The folder that the file tools see.
    pub(crate) root: PathBuf,
    /// True if the files that messages mention are tracked.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) mentions: bool,
    /// The agent's tools that are programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) commands: Vec<CommandTool>,
    /// The agent's tools that a client runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) client_tools: Vec<ToolSpec>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) mcp: Vec<McpServer>,
    /// The rules of the agent's gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approval: Vec<ApprovalRule>,
    /// The permission mode, which decides calls that no rule denies.
    #[serde(default, skip_serializing_if = "is_default")]
    pub(crate) permissions: PermissionMode,
    /// The tools, by name or pattern, that run in mode auto even if they are dangerous or a rule requires approval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) always_allow: Vec<String>,
    /// A server that is asked in addition to the rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) gate: Option<GateRef>,
    /// The hooks of the agent. They do not apply to its sub-agents.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) hooks: Vec<HookRef>,
    /// The program, server or other model that shortens old results.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) summariser: Option<SummariserRef>,
    /// The names of additional environment variables that commands get.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) pass_environment: Vec<String>,
    /// The sandbox for file tools and commands, which replaces the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) sandbox: Option<SandboxOptions>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sub_agents: Vec<SubAgentRecipe>,
}

/// A fallback model of an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FallbackRef {
    pub(crate) model: ModelRef,
    /// The token prices of the model, if they differ from those of the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) prices: Option<Prices>,
}
