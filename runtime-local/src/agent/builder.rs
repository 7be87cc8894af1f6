//! Builds an agent, and refuses an invalid one.

use std::collections::BTreeMap;
use std::sync::Arc;

use holdover_core::agent::{
    AgentSpec, AtMax, Compaction, Durability, Limits, LoopDetection, OnDenial, OnDoubt, StopCondition,
    StopSignals,
};
use holdover_core::gate::{PolicyGate, RuleGate};
use holdover_core::hook::{Hook, StepEnded, StopIf};
use holdover_core::ids::{QueueLabel, ToolName};
use holdover_core::message::{MessagePolicy, WhileAsking};
use holdover_core::mode::Mode;
use holdover_core::model::{Model, ModelTool};
use holdover_core::payload::Payload;
use holdover_core::plan::Planner;
use holdover_core::prompt::system_prompt;
use holdover_core::skill::{SkillEntry, SkillSet};
use holdover_core::tool::{Bound, RunsOn, Tool, ToolSpec};
use jsonschema::Validator;
use serde_json::Value;

use super::provisioning::Choices;
use super::sub_agent::SubAgent;
use super::{
    Agent, ClientTool, Definition, EquippedTool, Summariser, ToldToModel, bounds, custom, output, procedure,
};
use crate::error::AgentError;
use crate::hooks::Hooks;

/// Builds an [`Agent`].
#[must_use]
pub struct AgentBuilder {
    pub(super) spec: AgentSpec,
    pub(super) version: Option<String>,
    queue: Option<QueueLabel>,
    pub(super) model: Option<Arc<dyn Model>>,
    pub(super) planner: Option<Arc<dyn Planner>>,
    pub(super) fallback: Vec<Arc<dyn Model>>,
    pub(super) tools: Vec<Arc<dyn Tool>>,
    pub(super) gate: Option<Arc<dyn PolicyGate>>,
    hooks: Vec<Arc<dyn Hook>>,
    pub(super) models: BTreeMap<Mode, Arc<dyn Model>>,
    pub(super) skills: Vec<SkillEntry>,
    pub(super) summariser: Option<Summariser>,
    pub(super) provisioners: Vec<Choices>,
    pub(super) sub_agents: Vec<SubAgent>,
    pub(super) source: Option<Value>,
    pub(super) output: Option<Value>,
}

impl AgentBuilder {
    pub(super) fn new(name: String) -> Self {
        Self {
            spec: AgentSpec::new(name),
            version: None,
            model: None,
            planner: None,
            fallback: Vec::new(),
            tools: Vec::new(),
            gate: None,
            hooks: Vec::new(),
            models: BTreeMap::new(),
            skills: Vec::new(),
            summariser: None,
            provisioners: Vec::new(),
            sub_agents: Vec::new(),
            source: None,
            output: None,
            queue: None,
        }
    }

    /// Sets the version. It is part of the agent's [label](Agent::label), so each session keeps the version
    /// that it began with.
    pub fn version(mut self, version: impl Into<String>) -> Self {
        self.version = Some(version.into());
        self
    }

    /// Sets the queue under which the agent's sessions wait, instead of the agent's label. Use it in a
    /// program that keeps all its agents in one queue, with an [`AgentSource`](crate::AgentSource) that tells
    /// them apart by their definitions. [`Agents`](crate::Agents) holds only one agent for each queue.
    pub fn queue(mut self, queue: QueueLabel) -> Self {
        self.queue = Some(queue);
        self
    }

    /// Sets the instructions. They are the last part of the system prompt, after the mode paragraph, the
    /// identity and the skills.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.spec.instructions = instructions.into();
        self
    }

    /// Sets the identity in the system prompt. The default identity is made from the agent's name. With an
    /// empty text, the prompt has no identity.
    pub fn identity(mut self, identity: impl Into<String>) -> Self {
        self.spec.identity = Some(identity.into());
        self
    }

    /// Sets the mode in which the agent's sessions begin, instead of [`Mode::Agent`].
    pub fn mode(mut self, mode: Mode) -> Self {
        self.spec.mode = mode;
        self
    }

    /// Adds skills. The prompt lists them, and the model reads them with the tool `read_skill`.
    pub fn skills(mut self, skills: impl SkillSet) -> Self {
        self.skills.extend(skills.index());
        self.provisioners.push(Choices::only(skills.provisioner()));
        self.shared_tool(skills.tool())
    }

    /// Adds a tool that the model may call.
    pub fn tool(self, tool: impl Tool) -> Self {
        self.shared_tool(Arc::new(tool))
    }

    /// Adds a tool that the model may call. The tool may be shared with other agents.
    pub fn shared_tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Adds a tool that a client runs while it follows the session. See [`ClientTool`].
    pub fn client_tool(self, spec: ToolSpec) -> Self {
        self.tool(ClientTool::new(spec))
    }

    /// Adds tools that the model may call. The tools may be shared with other agents.
    pub fn tools(mut self, tools: impl IntoIterator<Item = Arc<dyn Tool>>) -> Self {
        self.tools.extend(tools);
        self
    }

    /// Adds a sub-agent, to which the model may give tasks or, if the sub-agent [takes over](SubAgent::takes_over),
    /// hand over its session. See [`SubAgent`].
    pub fn sub_agent(mut self, sub_agent: SubAgent) -> Self {
        self.sub_agents.push(sub_agent);
        self
    }

    /// Sets the gate that decides on the agent's calls. By default, dangerous calls require approval and all
    /// others run.
    pub fn gate(self, gate: impl PolicyGate) -> Self {
        self.shared_gate(Arc::new(gate))
    }

    /// Sets the gate that decides on the agent's calls. The gate may be shared with other agents.
    pub fn shared_gate(mut self, gate: Arc<dyn PolicyGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Adds code that is called at certain points of the agent's turns. See [`Hook`].
    pub fn hook(self, hook: impl Hook) -> Self {
        self.shared_hook(Arc::new(hook))
    }

    /// Adds code that is called at certain points of the agent's turns. The hook may be shared with other
    /// agents.
    pub fn shared_hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }

    /// Ends a turn after a step for which `condition` returns a reason. This adds a hook called `name`.
    pub fn stop_if(
        self,
        name: impl Into<String>,
        condition: impl Fn(&StepEnded) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.hook(StopIf::new(name, condition))
    }

    /// Sets the limits of the agent's turns.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.spec.limits = limits;
        self
    }

    /// Reserves a tool for people. The model does not see the tool, and calls of it by the model are refused.
    pub fn human_only(mut self, tool: ToolName) -> Self {
        self.spec.human_only.insert(tool);
        self
    }

    /// Sets what happens when a person denies a call without a reason.
    pub fn on_denial(mut self, on_denial: OnDenial) -> Self {
        self.spec.on_denial = on_denial;
        self
    }

    /// Sets the policy for a message that comes while a turn runs or is parked, if the message has no policy
    /// of its own.
    pub fn on_message(mut self, policy: MessagePolicy) -> Self {
        self.spec.on_message = Some(policy);
        self
    }

    /// Sets the effect of a steering message on approvals that are open when it comes.
    pub fn on_message_while_asking(mut self, asking: WhileAsking) -> Self {
        self.spec.on_message_while_asking = asking;
        self
    }

    /// Sets what happens when the model makes the same call again and again.
    pub fn loops(mut self, loops: LoopDetection) -> Self {
        self.spec.loops = loops;
        self
    }

    /// Sets how a long transcript is shortened for the model.
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.spec.compaction = compaction;
        self
    }

    /// Sets what happens when a turn has taken the maximum number of steps. By default, it ends. It can also
    /// ask a person for more steps.
    pub fn at_max(mut self, at_max: AtMax) -> Self {
        self.spec.at_max = at_max;
        self
    }

    /// Sets what happens when a call ends in doubt. By default, only the model is told.
    pub fn in_doubt(mut self, in_doubt: OnDoubt) -> Self {
        self.spec.in_doubt = in_doubt;
        self
    }

    /// Ends a turn after a step that meets `condition`. May be called several times.
    pub fn stop_when(mut self, condition: StopCondition) -> Self {
        self.spec.stop_when.push(condition);
        self
    }

    /// Sets how many results of a step must signal the end of the turn before it ends. By default, one is
    /// enough.
    pub fn stop_signals(mut self, stop_signals: StopSignals) -> Self {
        self.spec.stop_signals = stop_signals;
        self
    }

    /// Sets when the agent's runs wait for their commits.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.spec.durability = durability;
        self
    }

    /// Sets whether calls that only read may begin while the model still writes the answer that asks for
    /// them. By default, they do not. See [`AgentSpec::early_reads`].
    pub fn early_reads(mut self, early_reads: bool) -> Self {
        self.spec.early_reads = early_reads;
        self
    }

    /// Sets the data that a front end needs to build this agent again in another process. It is stored with
    /// each session.
    pub fn source(mut self, source: Value) -> Self {
        self.source = Some(source);
        self
    }

    /// Builds the agent. Fails if the agent is invalid; the error says why.
    pub fn build(self) -> Result<Agent, AgentError> {
        self.build_at(0)
    }

    /// Builds an agent that is `depth` levels below the agent that people speak to.
    pub(super) fn build_at(mut self, depth: u32) -> Result<Agent, AgentError> {
        let name = self.spec.name.clone();
        let sub_agents = self.build_sub_agents(depth)?;
        let label = match &self.version {
            Some(version) => format!("{name}@{version}"),
            None => name.clone(),
        };
        let label =
            QueueLabel::new(label).map_err(|source| AgentError::Name { agent: name.clone(), source })?;
        let model = self.model.ok_or_else(|| AgentError::NoModel { agent: name.clone() })?;
        bounds::check(&name, &self.spec)?;
        if let Some(detail) = self.spec.retries.fault() {
            return Err(AgentError::Retries { agent: name, detail });
        }
        let state = custom::checked(&name, self.spec.state)?;
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
        let named = self.spec.human_only.iter().map(|tool| ("human_only", tool));
        let awaited = self.spec.stop_when.iter().filter_map(|condition| match condition {
            StopCondition::ToolDone(tool) => Some(("stop_when", tool)),
            StopCondition::TextContains(_) => None,
        });
        if let Some((field, tool)) = named.chain(awaited).find(|(_, tool)| !tools.contains_key(*tool)) {
            return Err(AgentError::UnknownTool { agent: name, field, tool: tool.clone() });
        }
        let owed = self.output.map(|schema| output::prepare(&name, schema, &specs)).transpose()?;
        let (owed, fits) = owed.unzip();
        let names: Vec<ToolName> = specs.iter().map(|spec| spec.name.clone()).collect();
        let hooks = Hooks::new(&name, self.hooks, &names)?;
        let clients = specs.iter().filter(|spec| spec.runs_on == RunsOn::Client);
        if let Some((hook, tool)) =
            clients.map(|spec| &spec.name).find_map(|tool| Some((hooks.withholds(tool)?, tool)))
        {
            let (hook, tool) = (hook.to_owned(), tool.clone());
            return Err(AgentError::HookOfClientTool { agent: name, hook, tool });
        }
        let (provisions, points) = (!self.provisioners.is_empty(), hooks.points());
        let summarise_results = self.spec.compaction.summarise_results || self.summariser.is_some();
        let compaction = self.spec.compaction.clone().summarise_results(summarise_results);
        let spec = AgentSpec {
            compaction,
            tools: specs,
            provisions,
            hooks: points,
            output: owed,
            state,
            ..self.spec
        };
        bounds::check_fallbacks(&name, &spec)?;
        procedure::check(&name, &spec)?;
        let definition = Payload::json(&Definition { spec: spec.clone(), source: self.source })
            .map_err(|source| AgentError::Definition { agent: name, source })?;
        let told = |mode| ToldToModel {
            system: Arc::from(system_prompt(&spec, mode, &self.skills)),
            tools: spec
                .tools
                .iter()
                .filter(|tool| spec.tells_of(tool, mode))
                .map(told)
                .chain(spec.output.as_ref().map(output::told))
                .collect(),
            max_output_tokens: spec.limits.max_output_tokens,
        };
        let told = Mode::ALL.map(|mode| (mode, told(mode)));
        Ok(Agent {
            spec: Arc::new(spec),
            version: self.version,
            model,
            planner: self.planner,
            models: self.models,
            fallback: self.fallback,
            tools,
            sub_agents,
            gate: self.gate.unwrap_or_else(|| Arc::new(RuleGate::default())),
            hooks,
            summariser: self.summariser,
            provisioners: self.provisioners,
            queue: self.queue.unwrap_or_else(|| label.clone()),
            label,
            definition,
            told,
            output: fits,
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
    if spec.timeout_ms == Some(Bound::At(0)) {
        let field = format!("tool {}: timeout_ms", spec.name);
        return Err(AgentError::Bound { agent: agent.to_owned(), field, why: "is zero".to_owned() });
    }
    jsonschema::validator_for(&spec.parameters).map_err(|error| AgentError::Schema {
        agent: agent.to_owned(),
        tool: spec.name.clone(),
        detail: error.to_string().replace('\n', " "),
    })
}
