//! An agent with its code: words, model, tools, gate.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::agent::{AgentSpec, Compaction, Durability, Limits, LoopDetection, StopCondition};
use holdover_core::gate::{PolicyGate, RuleGate};
use holdover_core::ids::{InvalidId, QueueLabel, ToolName};
use holdover_core::model::{Model, ModelTool};
use holdover_core::payload::Payload;
use holdover_core::provision::Provisioner;
use holdover_core::tool::{ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec};
use jsonschema::Validator;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An agent as the runtime runs it: what core decides by, and the code behind it.
pub struct Agent {
    spec: Arc<AgentSpec>,
    model: Arc<dyn Model>,
    tools: BTreeMap<ToolName, EquippedTool>,
    gate: Arc<dyn PolicyGate>,
    provisioner: Option<Arc<dyn Provisioner>>,
    queue: QueueLabel,
    definition: Payload,
    told: ToldToModel,
}

/// A tool with its compiled schema.
#[derive(Clone)]
pub(crate) struct EquippedTool {
    pub(crate) tool: Arc<dyn Tool>,
    pub(crate) schema: Arc<Validator>,
}

/// The parts of every model request that never change.
#[derive(Clone)]
pub(crate) struct ToldToModel {
    pub(crate) system: Arc<str>,
    pub(crate) tools: Arc<[ModelTool]>,
    pub(crate) max_output_tokens: u32,
}

/// What is stored with each session: enough to build its agent again in another process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Definition {
    /// What core decides by.
    pub spec: AgentSpec,
    /// Whatever the front needs to build the agent again; opaque to the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Value>,
}

impl Definition {
    /// Reads what [`Agent::definition`] wrote.
    pub fn read(payload: &Payload) -> Result<Self, serde_json::Error> {
        payload.parse()
    }
}

impl Agent {
    /// Begins an agent called `name`.
    pub fn builder(name: impl Into<String>) -> AgentBuilder {
        AgentBuilder {
            spec: AgentSpec::new(name),
            version: None,
            model: None,
            tools: Vec::new(),
            gate: None,
            provisioner: None,
            source: None,
        }
    }

    /// What core decides by.
    pub fn spec(&self) -> &Arc<AgentSpec> {
        &self.spec
    }

    /// The label under which its sessions wait: its name, and `@version` if it has one.
    pub fn queue(&self) -> &QueueLabel {
        &self.queue
    }

    /// What is stored with its sessions: a [`Definition`] as JSON.
    pub fn definition(&self) -> &Payload {
        &self.definition
    }

    pub(crate) fn model(&self) -> &Arc<dyn Model> {
        &self.model
    }

    pub(crate) fn tool(&self, name: &ToolName) -> Option<&EquippedTool> {
        self.tools.get(name)
    }

    pub(crate) fn gate(&self) -> &Arc<dyn PolicyGate> {
        &self.gate
    }

    pub(crate) fn provisioner(&self) -> Option<&Arc<dyn Provisioner>> {
        self.provisioner.as_ref()
    }

    pub(crate) fn told(&self) -> &ToldToModel {
        &self.told
    }
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent")
            .field("queue", &self.queue)
            .field("definition", &self.definition)
            .field("model", &self.model.name())
            .finish_non_exhaustive()
    }
}

/// Puts an [`Agent`] together.
#[must_use]
pub struct AgentBuilder {
    spec: AgentSpec,
    version: Option<String>,
    model: Option<Arc<dyn Model>>,
    tools: Vec<Arc<dyn Tool>>,
    gate: Option<Arc<dyn PolicyGate>>,
    provisioner: Option<Arc<dyn Provisioner>>,
    source: Option<Value>,
}

impl AgentBuilder {
    /// Its version; part of the queue label, so that sessions stay with the version they began with.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// The system prompt.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.spec.instructions = instructions.into();
        self
    }

    /// The model it thinks with.
    pub fn model(self, model: impl Model) -> Self {
        self.shared_model(Arc::new(model))
    }

    /// The model it thinks with, shared with others.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.model = Some(model);
        self
    }

    /// A tool it may ask for.
    pub fn tool(self, tool: impl Tool) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// A tool it may ask for, shared with others.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// A tool that whoever follows the session runs: see [`ClientTool`].
    pub fn client_tool(self, spec: ToolSpec) -> Self {
        self.tool(ClientTool::new(spec))
    }

    /// Tools it may ask for, shared with others.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Who rules on its calls. Without one: dangerous calls ask a person, all others run.
    pub fn gate(self, gate: impl PolicyGate) -> Self {
        self.shared_gate(Arc::new(gate))
    }

    /// Who rules on its calls, shared with others.
    pub fn shared_gate(mut self, gate: Arc<dyn PolicyGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// What makes its turns' surroundings ready, and frees them.
    pub fn provisioner(mut self, provisioner: Arc<dyn Provisioner>) -> Self {
        self.provisioner = Some(provisioner);
        self
    }

    /// What bounds its turns.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.spec.limits = limits;
        self
    }

    /// A tool that only people may use: its model is not told of it, and what it asks of it is refused.
    pub fn human_only(mut self, tool: ToolName) -> Self {
        self.spec.human_only.insert(tool);
        self
    }

    /// What is done when its model asks for the same again and again.
    pub fn loops(mut self, loops: LoopDetection) -> Self {
        self.spec.loops = loops;
        self
    }

    /// What is done when a transcript grows beyond what its model can read.
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.spec.compaction = compaction;
        self
    }

    /// Ends a turn after a step that fulfils `condition`.
    pub fn stop_when(mut self, condition: StopCondition) -> Self {
        self.spec.stop_when.push(condition);
        self
    }

    /// When its intents are made durable.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.spec.durability = durability;
        self
    }

    /// What a front needs to build this agent again in another process; stored with each session.
    pub fn source(mut self, source: Value) -> Self {
        self.source = Some(source);
        self
    }

    /// The agent, or what is wrong with it.
    pub fn build(self) -> Result<Agent, AgentError> {
        let name = self.spec.name.clone();
        let label = match &self.version {
            Some(version) => format!("{name}@{version}"),
            None => name.clone(),
        };
        let queue =
            QueueLabel::new(label).map_err(|source| AgentError::Name { agent: name.clone(), source })?;
        let model = self.model.ok_or_else(|| AgentError::NoModel { agent: name.clone() })?;
        check_limits(&name, &self.spec)?;
        let mut tools = BTreeMap::new();
        let mut specs = Vec::with_capacity(self.tools.len());
        for tool in self.tools {
            let spec = tool.spec().clone();
            let schema = compile(&name, &spec)?;
            specs.push(spec.clone());
            if tools.insert(spec.name.clone(), EquippedTool { tool, schema: Arc::new(schema) }).is_some() {
                return Err(AgentError::DuplicateTool { agent: name, tool: spec.name });
            }
        }
        if let Some(tool) = self.spec.human_only.iter().find(|tool| !tools.contains_key(*tool)) {
            return Err(AgentError::UnknownTool { agent: name, tool: tool.clone() });
        }
        let spec = AgentSpec { tools: specs, provisions: self.provisioner.is_some(), ..self.spec };
        let definition = Payload::json(&Definition { spec: spec.clone(), source: self.source })
            .map_err(|source| AgentError::Definition { agent: name, source })?;
        let told = ToldToModel {
            system: Arc::from(spec.instructions.as_str()),
            tools: spec.tools.iter().filter(|tool| !spec.human_only.contains(&tool.name)).map(told).collect(),
            max_output_tokens: spec.limits.max_output_tokens,
        };
        Ok(Agent {
            spec: Arc::new(spec),
            model,
            tools,
            gate: self.gate.unwrap_or_else(|| Arc::new(RuleGate::default())),
            provisioner: self.provisioner,
            queue,
            definition,
            told,
        })
    }
}

fn told(spec: &ToolSpec) -> ModelTool {
    ModelTool {
        name: spec.name.to_string(),
        description: spec.description.clone(),
        parameters: spec.parameters.clone(),
    }
}

fn compile(agent: &str, spec: &ToolSpec) -> Result<Validator, AgentError> {
    if spec.timeout_ms == Some(0) {
        let field = format!("tool {}: timeout_ms", spec.name);
        return Err(AgentError::ZeroLimit { agent: agent.to_owned(), field });
    }
    jsonschema::validator_for(&spec.parameters).map_err(|error| AgentError::Schema {
        agent: agent.to_owned(),
        tool: spec.name.clone(),
        detail: error.to_string().replace('\n', " "),
    })
}

fn check_limits(agent: &str, spec: &AgentSpec) -> Result<(), AgentError> {
    let (limits, compaction) = (&spec.limits, &spec.compaction);
    let zero = [
        ("limits.max_steps", limits.max_steps == 0),
        ("limits.max_output_tokens", limits.max_output_tokens == 0),
        ("limits.tool_timeout_ms", limits.tool_timeout_ms == 0),
        ("limits.answer_timeout_ms", limits.answer_timeout_ms == Some(0)),
        ("limits.result_bytes_max", limits.result_bytes_max == 0),
        ("compaction.context_tokens", compaction.context_tokens == 0),
        ("compaction.kept_turns", compaction.kept_turns == 0),
        ("compaction.summary_tokens", compaction.summary_tokens == 0),
        ("compaction.timeout_ms", compaction.timeout_ms == 0),
    ];
    match zero.into_iter().find(|(_, is_zero)| *is_zero) {
        Some((field, _)) => Err(AgentError::ZeroLimit { agent: agent.to_owned(), field: field.to_owned() }),
        None => Ok(()),
    }
}

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
    /// A tool is said to be for people alone that the agent does not have.
    #[error("agent {agent:?}: human_only: there is no tool {tool}")]
    UnknownTool {
        /// Which agent.
        agent: String,
        /// Which name.
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
    /// A limit of zero would let nothing happen.
    #[error("agent {agent:?}: {field}: is zero")]
    ZeroLimit {
        /// Which agent.
        agent: String,
        /// Which limit.
        field: String,
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

/// A tool that whoever follows the session runs. The engine asks the gate and parks; it never calls it.
#[derive(Debug, Clone)]
pub struct ClientTool {
    spec: ToolSpec,
    profile: ResourceProfile,
}

impl ClientTool {
    /// A tool with this spec, whatever the spec says of who runs it. Its calls conflict with nothing.
    pub fn new(spec: ToolSpec) -> Self {
        let spec = ToolSpec { runs_on: RunsOn::Client, ..spec };
        Self { spec, profile: ResourceProfile::Keys(Vec::new()) }
    }

    /// Its calls touch this.
    #[must_use]
    pub fn touches(self, profile: ResourceProfile) -> Self {
        Self { profile, ..self }
    }
}

#[async_trait]
impl Tool for ClientTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        self.profile.clone()
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Err(ToolError::NotRun(format!("{} runs at the client", self.spec.name)))
    }
}
