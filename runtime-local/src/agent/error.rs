//! Errors of an agent.

use holdover_core::ids::{InvalidId, ToolName};

/// What is wrong with an agent.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// Name and version make no queue label.
    #[error("agent {agent:?}: name and version: {source}")]
    Name {
        /// Which agent.
        agent: String,
        /// Why.
        source: InvalidId,
    },
    /// An agent thinks with a model.
    #[error("agent {agent:?}: model: none was given")]
    NoModel {
        /// Which agent.
        agent: String,
    },
    /// Tools are told apart by their names.
    #[error("agent {agent:?}: tool {tool}: two tools have this name")]
    DuplicateTool {
        /// Which agent.
        agent: String,
        /// Which name.
        tool: ToolName,
    },
    /// A tool is named that the agent does not have: as one for people alone, or as one that ends a turn.
    #[error("agent {agent:?}: {field}: there is no tool {tool}")]
    UnknownTool {
        /// Which agent.
        agent: String,
        /// Where it is named.
        field: &'static str,
        /// Which name.
        tool: ToolName,
    },
    /// Hooks are told apart by their names.
    #[error("agent {agent:?}: hook {hook}: two hooks have this name")]
    DuplicateHook {
        /// Which agent.
        agent: String,
        /// Which name.
        hook: String,
    },
    /// What a client answers passes no hook; so a hook that would withhold it cannot keep its word.
    #[error(
        "agent {agent:?}: hook {hook}: it may withhold results of {tool}, which a client runs; it must not concern it"
    )]
    HookOfClientTool {
        /// Which agent.
        agent: String,
        /// Which hook.
        hook: String,
        /// Which tool.
        tool: ToolName,
    },
    /// The schema of a tool's arguments is no JSON Schema.
    #[error("agent {agent:?}: tool {tool}: parameters: {detail}")]
    Schema {
        /// Which agent.
        agent: String,
        /// Which tool.
        tool: ToolName,
        /// Why.
        detail: String,
    },
    /// The schema of the value that its turns owe is none, or not one of an object.
    #[error("agent {agent:?}: output: {detail}")]
    Output {
        /// Which agent.
        agent: String,
        /// Why.
        detail: String,
    },
    /// The schema of its sessions' custom state is none.
    #[error("agent {agent:?}: state.schema: {detail}")]
    State {
        /// Which agent.
        agent: String,
        /// Why.
        detail: String,
    },
    /// A number with which nothing would happen, or never what it is for.
    #[error("agent {agent:?}: {field}: {why}")]
    Bound {
        /// Which agent.
        agent: String,
        /// Which number.
        field: String,
        /// Why it is refused.
        why: String,
    },
    /// What is tried again would be tried too often, or too late.
    #[error("agent {agent:?}: retries.{detail}")]
    Retries {
        /// Which agent.
        agent: String,
        /// Which list, and why.
        detail: String,
    },
    /// The definition cannot be written as JSON.
    #[error("agent {agent:?}: definition: {source}")]
    Definition {
        /// Which agent.
        agent: String,
        /// Why.
        source: serde_json::Error,
    },
}
