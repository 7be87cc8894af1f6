//! Builds agents from the definitions that are stored with their sessions, so that any process on the store can
//! continue them.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::agent::AgentSpec;
use holdover_core::error::ErrorInfo;
use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::{QueueLabel, ToolName};
use holdover_core::payload::Payload;
use holdover_core::skill::READ_SKILL;
use holdover_core::store::{Labels, Queues, Session};
use holdover_core::tool::{RunsOn, ToolSpec};
use holdover_models::ModelRef;
use holdover_runtime_local::{Agent, AgentSource, Definition};
use holdover_tools::{LocalSandboxes, Root, Sandboxes, ToolSet};
use serde_json::Value;

use crate::gate;
use crate::hooks;
use crate::http::connect;
#[cfg(not(feature = "mcp"))]
use crate::left_out::mcp;
#[cfg(not(feature = "schedules"))]
use crate::left_out::schedules::{self, Timetable};
#[cfg(feature = "mcp")]
use crate::mcp;
use crate::recipe::{FallbackRef, Recipe};
#[cfg(feature = "schedules")]
use crate::schedules::{self, Timetable};
use crate::skills;
use crate::sub_agents::{self, Origin, SubAgentRecipe};

/// The name by which other programs know this program.
pub(crate) const PROGRAM: &str = "holdover";

/// The single queue for the sessions of this program, for all agents. No other program serves it, and a worker of this
/// program serves no other queue by default.
pub(crate) const QUEUE: &str = "holdover-cli";

/// The program that created a session and has its agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Maker {
    /// This program.
    Own,
    /// An older version of this program, which left the session in the queue of its agent. The agent can be built here.
    Older(QueueLabel),
    /// Another program, with its name if the session stores it.
    Other(Option<String>),
}

impl Maker {
    /// Returns the program that created `session`.
    pub(crate) fn of(session: &Session) -> Self {
        if session.queue.as_str() == QUEUE {
            return Self::Own;
        }
        let source = Definition::read(&session.definition).ok().and_then(|definition| definition.source);
        match source.map(Origin::read) {
            Some(Ok(_)) => Self::Older(session.queue.clone()),
            Some(Err(_)) | None => Self::Other(session.labels.0.get(Labels::PROGRAM).cloned()),
        }
    }

    /// Describes the program that has the agent, if it is another one.
    pub(crate) fn elsewhere(&self) -> Option<String> {
        match self {
            Self::Own | Self::Older(_) => None,
            Self::Other(Some(program)) => Some(format!("in another program, {program}")),
            Self::Other(None) => Some("in another program".to_owned()),
        }
    }
}

/// The data from which an agent is built.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Blueprint {
    /// The spec for core, without the parts that are derived from the other fields.
    pub(crate) spec: AgentSpec,
    /// The names of the built-in tools.
    pub(crate) tools: Vec<String>,
    /// The tools that the agent's MCP servers reported. Empty until [`discover`](Self::discover) is called.
    pub(crate) mcp_tools: Vec<ToolSpec>,
    /// The schema of the value that each turn must return.
    pub(crate) output_schema: Option<Value>,
    /// The remaining settings. For a sub-agent, the settings of the agent at the top.
    pub(crate) recipe: Recipe,
    /// The path from the agent at the top down to this sub-agent. Empty for the agent at the top.
    pub(crate) path: Vec<ToolName>,
    /// The stored source of the agent at the top, if it was read from a store. Settings that replace parts of it in
    /// this process are not stored with its children.
    pub(crate) source: Option<Value>,
}

impl Blueprint {
    /// Reads the definition that was stored with a session.
    pub(crate) fn stored(definition: &Payload) -> Result<Self, String> {
        let Definition { mut spec, source } =
            Definition::read(definition).map_err(|error| format!("definition: {error}"))?;
        let source = source.ok_or("definition: another program made this session: no source is stored")?;
        let Origin { source, recipe, path } =
            Origin::read(source).map_err(|why| format!("definition: {why}"))?;
        // The tools that give tasks to sub-agents, and those for background children, are added when the sub-agents are
        // built.
        let comes_with =
            |tool: &ToolSpec| tool.runs_on == RunsOn::Child || spec.child_tool(tool.name.as_str()).is_some();
        let kept = spec.tools.iter().filter(|tool| !comes_with(tool)).cloned().collect();
        spec.tools = kept;
        spec.sub_agents.clear();
        let (mcp_tools, own): (Vec<_>, Vec<_>) = std::mem::take(&mut spec.tools)
            .into_iter()
            .partition(|tool| recipe.mcp.iter().any(|server| server.has(tool.name.as_str())));
        // The tool that reads skills is added when the skills are opened.
        let of_skills = |name: &ToolName| !recipe.skills.is_empty() && name.as_str() == READ_SKILL;
        let declared = |name: &ToolName| {
            let mut commands = recipe.commands.iter().map(|own| &own.name);
            commands.any(|own| own == name) || recipe.client_tools.iter().any(|own| own.name == *name)
        };
        let built_in = own.iter().filter(|tool| !declared(&tool.name) && !of_skills(&tool.name));
        let tools = built_in.map(|tool| tool.name.to_string()).collect();
        let output_schema = spec.output.take().map(|output| output.schema);
        Ok(Self { spec, tools, mcp_tools, output_schema, recipe, path, source: Some(source) })
    }

    /// Returns the model of the agent. For a sub-agent without a model, returns that of the nearest agent above it.
    pub(crate) fn model(&self) -> &ModelRef {
        sub_agents::model_at(&self.recipe, &self.path)
    }

    /// Makes one model apply to all modes and all sub-agents.
    fn with_one_model(&mut self) {
        self.recipe.models.clear();
        self.spec.mode_prices.clear();
        self.recipe.summariser.take_if(|summariser| summariser.model.is_some());
        self.recipe.sub_agents.iter_mut().for_each(SubAgentRecipe::without_models);
    }

    /// Reads the agent's skills, and asks its MCP servers for their tools. Fails if a source of skills cannot be read, if
    /// a server does not answer, or if an approval rule, a hook or `human_only` names a tool that its server does not have.
    pub(crate) async fn discover(&mut self) -> Result<(), String> {
        self.recipe.skills = skills::fetch(&self.recipe.skills).await?.pins().to_vec();
        self.mcp_tools.clear();
        for server in &self.recipe.mcp {
            let found = mcp::discover(server).await?;
            let names = || found.iter().map(|tool| tool.name.as_str());
            let prefix = server.prefix();
            // As in the file, a rule or a pattern that matches no tool protects nothing.
            let stray = |pattern: &str| {
                let rule = ApprovalRule::new(pattern, RuleAction::Allow);
                pattern.starts_with(&prefix) && !names().any(|name| rule.is_about(name))
            };
            let wrong =
                |what: String| format!("{what}: mcp server {:?} has no tool that matches", server.name);
            if let Some(rule) = self.recipe.approval.iter().find(|rule| stray(&rule.tool)) {
                return Err(wrong(format!("approval: tool {:?}", rule.tool)));
            }
            for hook in &self.recipe.hooks {
                if let Some(pattern) = hook.tools.iter().find(|pattern| stray(pattern)) {
                    return Err(wrong(hook.wrong(&format!("tools: {pattern:?}"))));
                }
            }
            let unknown = self
                .spec
                .human_only
                .iter()
                .find(|tool| server.has(tool.as_str()) && !names().any(|name| name == tool.as_str()));
            if let Some(tool) = unknown {
                return Err(format!("human_only: mcp server {:?} has no tool {tool}", server.name));
            }
            self.mcp_tools.extend(found);
        }
        Ok(())
    }

    /// Builds the agent. Fails with the reason if something is missing in this process.
    pub(crate) fn build(&self) -> Result<Arc<Agent>, String> {
        if self.path.is_empty() {
            return self.build_top().map(Arc::new);
        }
        let mut agent = Arc::new(self.top()?.build_top()?);
        for name in &self.path {
            let below = agent.sub_agent(name).map(Arc::clone);
            agent = below.ok_or_else(|| format!("sub_agent {name}: is none of the agent's"))?;
        }
        Ok(agent)
    }

    /// Returns the agent at the top with only the parts that this sub-agent needs, so that its other parts may be
    /// missing in this process.
    fn top(&self) -> Result<Self, String> {
        let mut top = self.clone();
        top.spec = sub_agents::spec_of_top(&self.spec, &self.path)?;
        top.recipe.sub_agents = sub_agents::only(&self.recipe.sub_agents, &self.path);
        let own = sub_agents::at(&self.recipe.sub_agents, &self.path).map_or(&[][..], |own| &own.tools);
        top.recipe.commands.retain(|command| own.contains(&command.name));
        top.recipe.mcp.retain(|server| self.mcp_tools.iter().any(|tool| server.has(tool.name.as_str())));
        (top.recipe.hooks, top.recipe.summariser) = (Vec::new(), None);
        top.path.clear();
        Ok(top)
    }

    fn build_top(&self) -> Result<Agent, String> {
        let Recipe { version, model, models, skills, fallback, root, commands, pass_environment, .. } =
            &self.recipe;
        let root = Root::open(root).map_err(|error| error.to_string())?;
        let tools = ToolSet::new(root.clone()).pass_environment(pass_environment);
        let source = match &self.source {
            Some(stored) => stored.clone(),
            None => serde_json::to_value(&self.recipe).map_err(|error| error.to_string())?,
        };
        let queue = QueueLabel::new(QUEUE).map_err(|error| error.to_string())?;
        let spec = &self.spec;
        let mut agent = Agent::builder(&spec.name)
            .queue(queue.clone())
            .instructions(&spec.instructions)
            .mode(spec.mode)
            .shared_model(connect(model).map_err(|error| error.detail)?)
            .shared_gate(gate::of(&self.recipe)?)
            .limits(spec.limits.clone())
            .loops(spec.loops.clone())
            .compaction(spec.compaction.clone())
            .retries(spec.retries.clone())
            .durability(spec.durability)
            .state(spec.state.clone())
            .early_reads(spec.early_reads)
            .on_denial(spec.on_denial)
            .stop_signals(spec.stop_signals)
            .at_max(spec.at_max)
            .in_doubt(spec.in_doubt)
            .source(source);
        if let Some(rules) = &spec.breaker {
            agent = agent.breaker(rules.clone());
        }
        if let Some(identity) = &spec.identity {
            agent = agent.identity(identity);
        }
        for (mode, model) in models {
            let model = connect(model).map_err(|error| error.detail)?;
            agent = match spec.mode_prices.get(mode) {
                Some(prices) => agent.priced_model_in(*mode, model, *prices),
                None => agent.model_in(*mode, model),
            };
        }
        if !skills.is_empty() {
            agent = agent.skills(skills::open(skills)?);
        }
        if let Some(version) = version {
            agent = agent.version(version);
        }
        if let Some(schema) = &self.output_schema {
            agent = agent.output_schema(schema.clone());
        }
        for FallbackRef { model, prices } in fallback {
            agent = agent.shared_fallback(connect(model).map_err(|error| error.detail)?, *prices);
        }
        let sandboxes = self.sandboxes()?;
        if let Some(sandboxes) = &sandboxes {
            agent = agent.provisioner(sandboxes.provisioner());
        }
        for name in &self.tools {
            let inside = sandboxes.as_ref().and_then(|sandboxes| sandboxes.tool(name));
            let tool =
                inside.or_else(|| tools.tool(name)).ok_or_else(|| format!("tool {name}: is not built in"))?;
            agent = agent.shared_tool(tool);
        }
        for command in commands {
            agent = agent.shared_tool(tools.command(command).map_err(|error| error.to_string())?);
        }
        for tool in &self.recipe.client_tools {
            agent = agent.client_tool(tool.clone());
        }
        for server in &self.recipe.mcp {
            let its = self.mcp_tools.iter().filter(|tool| server.has(tool.name.as_str()));
            for tool in mcp::tools(server, its)? {
                agent = agent.shared_tool(tool);
            }
        }
        agent = hooks::add(agent, &self.recipe, &root)?;
        for sub_agent in &self.recipe.sub_agents {
            let wrong = |why: String| format!("sub_agent {}: {why}", sub_agent.name);
            agent = agent.sub_agent(sub_agent.build(&queue).map_err(wrong)?);
        }
        for tool in &spec.human_only {
            agent = agent.human_only(tool.clone());
        }
        for (tool, fallback) in &spec.tool_fallbacks {
            agent = agent.tool_fallback(tool.clone(), fallback.clone());
        }
        if let Some(procedure) = &spec.procedure {
            agent = agent.procedure(procedure.as_ref().clone());
        }
        if let Some(policy) = spec.on_message {
            agent = agent.on_message(policy);
        }
        agent = agent.on_message_while_asking(spec.on_message_while_asking);
        for condition in &spec.stop_when {
            agent = agent.stop_when(condition.clone());
        }
        agent.build().map_err(|error| error.to_string())
    }

    /// Builds the agent's sandboxes, if it has any. Fails with the reason if this process cannot have them.
    fn sandboxes(&self) -> Result<Option<Sandboxes>, String> {
        let Some(options) = &self.recipe.sandbox else { return Ok(None) };
        let options = options.clone().pass_environment(self.recipe.pass_environment.clone());
        let sandboxes = LocalSandboxes::open(&options).map_err(|error| error.to_string())?;
        Ok(Some(Sandboxes::new(sandboxes)))
    }
}

/// An agent source that builds agents from the definitions stored with their sessions.
#[derive(Debug, Clone, Default)]
pub(crate) struct StoredAgents {
    /// The model that replaces those of the agents in this process.
    pub(crate) model: Option<ModelRef>,
    /// The address that replaces that of the model's server.
    pub(crate) base_url: Option<String>,
    /// The queues that are served besides that of this program: an older version left sessions in them.
    pub(crate) queues: Vec<QueueLabel>,
    /// The schedules of the store.
    pub(crate) schedules: Option<Timetable>,
}

impl StoredAgents {
    /// Builds the agent that `definition` describes.
    pub(crate) fn rebuild(&self, definition: &Payload) -> Result<Arc<Agent>, String> {
        if let Some(timetable) = self.schedules.as_ref().filter(|_| schedules::is_schedule(definition)) {
            return timetable.agent();
        }
        let mut blueprint = Blueprint::stored(definition)?;
        if let Some(model) = &self.model {
            blueprint.recipe.model = model.clone();
            blueprint.with_one_model();
        }
        if let Some(url) = &self.base_url {
            blueprint.recipe.model.base_url = Some(url.clone());
            blueprint.with_one_model();
        }
        blueprint.build()
    }
}

#[async_trait]
impl AgentSource for StoredAgents {
    async fn agent(&self, _queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        self.rebuild(definition).map_err(|why| ErrorInfo::new("agent.not_built", why))
    }

    /// Accepts every session, because all data for building its agent is stored with it.
    async fn serves(&self, _queue: &QueueLabel, _definition: &Payload) -> Result<(), ErrorInfo> {
        Ok(())
    }

    fn queues(&self) -> Queues {
        Queues::Named(QueueLabel::new(QUEUE).into_iter().chain(self.queues.iter().cloned()).collect())
    }
}
