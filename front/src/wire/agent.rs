//! Agents and their tools.

use holdover_core::tool::RunsOn;
use holdover_runtime_local::Agent;
use schemars::JsonSchema;
use serde::Serialize;

/// An agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Agent")]
pub(crate) struct AgentView {
    /// The name.
    name: String,
    /// The version, if the agent has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The tools.
    tools: Vec<ToolView>,
}

/// A tool of an agent.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Tool")]
struct ToolView {
    /// The name.
    name: String,
    /// The description of the tool, as the model reads it.
    description: String,
    /// The JSON Schema of the arguments.
    parameters: serde_json::Value,
    /// True if a client runs the tool.
    is_client: bool,
}

impl From<&Agent> for AgentView {
    fn from(agent: &Agent) -> Self {
        let tools = agent.spec().tools.iter().map(|tool| ToolView {
            name: tool.name.to_string(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            is_client: tool.runs_on == RunsOn::Client,
        });
        Self {
            name: agent.spec().name.clone(),
            version: agent.version().map(str::to_owned),
            tools: tools.collect(),
        }
    }
}
