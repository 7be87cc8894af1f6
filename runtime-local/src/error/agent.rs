//! Errors of an agent.

use holdover_core::ids::{InvalidId, ToolName};
use holdover_core::machine::procedure::ProcedureFault;

/// An error in the definition of an agent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The name and version are not a valid queue label, or the name of a sub-agent is not a valid tool name.
    #[error("agent {agent:?}: name and version: {source}")]
    Name {
        /// The agent.
        agent: String,
        /// The reason why the name is not valid.
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
    /// A setting names a tool that the agent does not have: as a tool for people only, as a tool that ends a
    /// turn, or as a tool of the parent that a sub-agent may use.
    #[error("agent {agent:?}: {field}: there is no tool {tool}")]
    UnknownTool {
        /// The agent.
        agent: String,
        /// The field that names the tool.
        field: &'static str,
        /// The name.
        tool: ToolName,
    },
    /// A sub-agent is too many levels below the agent that people speak to.
    #[error("agent {agent:?}: sub_agent {sub_agent}: lies deeper than {depth_max}")]
    TooDeep {
        /// The agent.
        agent: String,
        /// The name of its sub-agent.
        sub_agent: ToolName,
        /// The maximum depth.
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
    /// A hook could withhold results of a client tool. This is not possible, because a client's answer passes no
    /// hook.
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
    /// The schema of a tool's arguments is not a valid JSON Schema.
    #[error("agent {agent:?}: tool {tool}: parameters: {detail}")]
    Schema {
        /// The agent.
        agent: String,
        /// The tool.
        tool: ToolName,
        /// The reason why the schema is refused.
        detail: String,
    },
    /// The schema of the value that the agent's turns must return is refused. It is not a valid JSON Schema, does
    /// not describe an object, or cannot be offered beside the agent's tools.
    #[error("agent {agent:?}: output: {detail}")]
    Output {
        /// The agent.
        agent: String,
        /// The reason why the schema is refused.
        detail: String,
    },
    /// The schema of the custom state is not a valid JSON Schema.
    #[error("agent {agent:?}: state.schema: {detail}")]
    State {
        /// The agent.
        agent: String,
        /// The reason why the schema is refused.
        detail: String,
    },
    /// A setting is out of its bounds, could never take effect, or does not fit this kind of sub-agent.
    #[error("agent {agent:?}: {field}: {why}")]
    Bound {
        /// The agent.
        agent: String,
        /// The field of the setting.
        field: String,
        /// The reason why the setting is refused.
        why: String,
    },
    /// The fallback of a tool cannot work: one of the two tools is unknown, the first is not run by this program, the
    /// second is a sub-agent, or the fallbacks lead in a circle or are too many.
    #[error("agent {agent:?}: tool_fallbacks.{tool}: {why}")]
    ToolFallback {
        /// The agent.
        agent: String,
        /// The tool that has the fallback.
        tool: ToolName,
        /// The reason why the fallback is refused.
        why: String,
    },
    /// The procedure is not sound.
    #[error("agent {agent:?}: {}", faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Procedure {
        /// The agent.
        agent: String,
        /// All faults, each with its key.
        faults: Vec<ProcedureFault>,
    },
    /// The rules for retries would retry too often or too late.
    #[error("agent {agent:?}: retries.{detail}")]
    Retries {
        /// The agent.
        agent: String,
        /// The list of waits, and the reason why it is refused.
        detail: String,
    },
    /// The definition cannot be written as JSON.
    #[error("agent {agent:?}: definition: {source}")]
    Definition {
        /// The agent.
        agent: String,
        /// The reason why it cannot be written.
        source: serde_json::Error,
    },
}
