//! Errors of an agent.

use holdover_core::ids::{InvalidId, ToolName};

/// An error in the definition of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// Name and version make no valid queue label.
    #[error("agent {agent:?}: name and version: {source}")]
    Name {
        /// The agent.
        agent: String,
        /// Why they do not.
        source: InvalidId,
    },
    /// The agent has no model.
    #[error("agent {agent:?}: model: none was given")]
    NoModel {
        /// The agent.
        agent: String,
    },
    /// Two tools have the same name.
    #[error("agent {agent:?}: tool {tool}: two tools have this name")]
    DuplicateTool {
        /// The agent.
        agent: String,
        /// The name.
        tool: ToolName,
    },
    /// A tool is named that the agent does not have, as one for people only or as one that ends a turn.
    #[error("agent {agent:?}: {field}: there is no tool {tool}")]
    UnknownTool {
        /// The agent.
        agent: String,
        /// The field that names it.
        field: &'static str,
        /// The name.
        tool: ToolName,
    },
    /// A sub-agent lies too deep below the agent that people speak to.
    #[error("agent {agent:?}: sub_agent {sub_agent}: lies deeper than {depth_max}")]
    TooDeep {
        /// The agent.
        agent: String,
        /// The name of its sub-agent.
        sub_agent: ToolName,
        /// How deep one may lie.
        depth_max: u32,
    },
    /// Two hooks have the same name.
    #[error("agent {agent:?}: hook {hook}: two hooks have this name")]
    DuplicateHook {
        /// The agent.
        agent: String,
        /// The name.
        hook: String,
    },
    /// A hook would withhold results of a client tool. It cannot, because a client's answer passes no hook.
    #[error(
        "agent {agent:?}: hook {hook}: it may withhold results of {tool}, which a client runs; it must not concern it"
    )]
    HookOfClientTool {
        /// The agent.
        agent: String,
        /// The hook.
        hook: String,
        /// The tool.
        tool: ToolName,
    },
    /// The schema of a tool's arguments is no JSON Schema.
    #[error("agent {agent:?}: tool {tool}: parameters: {detail}")]
    Schema {
        /// The agent.
        agent: String,
        /// The tool.
        tool: ToolName,
        /// Why the schema is refused.
        detail: String,
    },
    /// The schema of the value that the agent's turns owe is no JSON Schema, or not one of an object.
    #[error("agent {agent:?}: output: {detail}")]
    Output {
        /// The agent.
        agent: String,
        /// Why the schema is refused.
        detail: String,
    },
    /// The schema of the custom state is no JSON Schema.
    #[error("agent {agent:?}: state.schema: {detail}")]
    State {
        /// The agent.
        agent: String,
        /// Why the schema is refused.
        detail: String,
    },
    /// With this number nothing would happen, or the setting could never take effect.
    #[error("agent {agent:?}: {field}: {why}")]
    Bound {
        /// The agent.
        agent: String,
        /// The field of the number.
        field: String,
        /// Why it is refused.
        why: String,
    },
    /// Something would be retried too often, or too late.
    #[error("agent {agent:?}: retries.{detail}")]
    Retries {
        /// The agent.
        agent: String,
        /// The list of waits, and what is wrong with it.
        detail: String,
    },
    /// The definition cannot be written as JSON.
    #[error("agent {agent:?}: definition: {source}")]
    Definition {
        /// The agent.
        agent: String,
        /// Why it cannot be written.
        source: serde_json::Error,
    },
}
