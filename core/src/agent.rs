//! What an agent is, as far as core decides by it.

use serde::{Deserialize, Serialize};

use crate::ids::ToolName;
use crate::tool::ToolSpec;

/// An agent as core sees it: words, tools, limits. The model, the tools' code and the gate stay with the
/// runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// Its name, for people.
    pub name: String,
    /// The system prompt.
    pub instructions: String,
    /// The tools it may ask for, in the order a model is told of them.
    pub tools: Vec<ToolSpec>,
    /// What bounds its turns.
    #[serde(default)]
    pub limits: Limits,
    /// After which step a turn ends although the model would go on (`tool_stop`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_when: Vec<StopCondition>,
    /// When intents are made durable.
    #[serde(default)]
    pub durability: Durability,
    /// Whether something must be provisioned before a turn and freed after it.
    #[serde(default)]
    pub provisions: bool,
}

impl AgentSpec {
    /// The tool with this name.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name.as_str() == name)
    }
}

/// What bounds an agent's turns. Every number has a unit in its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Steps of one turn (`max_turns`): that many finished model calls, and the last one's tools run.
    pub max_steps: u32,
    /// Tokens read and written over the whole session (`budget_exceeded`); a soft ceiling, checked in
    /// steering.
    pub max_tokens: Option<u64>,
    /// Money over the whole session, in millionths of a dollar (`budget_exceeded`), by `prices`.
    pub max_cost_microusd: Option<u64>,
    /// Wall time of one turn in milliseconds, suspended time not counted (`budget_exceeded`).
    pub max_run_ms: Option<u64>,
    /// What tokens cost.
    pub prices: Prices,
    /// Output tokens of one model call.
    pub max_output_tokens: u32,
    /// How long one tool call may take, in milliseconds, unless the tool says otherwise.
    pub tool_timeout_ms: u64,
    /// How long a person or a client may take to answer, in milliseconds. None: for ever.
    pub answer_timeout_ms: Option<u64>,
    /// The largest tool result that is kept, in bytes; a larger one is an error result.
    pub result_bytes_max: usize,
    /// How long a call that was told to stop may take to come back, in milliseconds.
    pub stop_grace_ms: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 50,
            max_tokens: None,
            max_cost_microusd: None,
            max_run_ms: Some(600_000),
            prices: Prices::default(),
            max_output_tokens: 16_384,
            tool_timeout_ms: 30_000,
            answer_timeout_ms: Some(30 * 60 * 1000),
            result_bytes_max: 1024 * 1024,
            stop_grace_ms: 2_000,
        }
    }
}

/// What a million tokens cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A million tokens read.
    pub input_microusd: u64,
    /// A million tokens written.
    pub output_microusd: u64,
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

/// When a run waits for its commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Every commit is acknowledged before anything else begins.
    Sync,
    /// What has no effect outside may begin while a commit is on its way.
    #[default]
    Pipelined,
}
