//! Sub-agents: agents to which another agent's model may give tasks or hand over its session.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::agent::{CHILDREN_MAX, ChildRules, ChildTool, Limits};
use holdover_core::gate::{PolicyGate, RuleGate, StrictestGate};
use holdover_core::ids::{QueueLabel, ToolName};
use holdover_core::model::Model;
use holdover_core::remote::Remote;
use holdover_core::skill::READ_SKILL;
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, RunsOn, Tool, ToolCall, ToolError, ToolReturn, ToolSpec,
};
use serde_json::{Value, json};

use super::child_tools::OfChildren;
use super::{Agent, AgentBuilder};
use crate::error::AgentError;

/// The maximum depth of sub-agents: an agent's sub-agents, their sub-agents, and one more level.
pub const SUB_AGENT_DEPTH_MAX: u32 = 3;

/// The default maximum number of steps of a child's turn.
const STEPS_MAX: u32 = 10;

/// The default maximum number of output tokens of one model call of a child.
const OUTPUT_TOKENS_MAX: u32 = 8_000;

/// An agent to which another agent's model may give tasks.
///
/// The parent's model sees a tool with the sub-agent's name. A call of the tool gives one or several tasks. Each task
/// is done by a *child*: a session of its own with a transcript of its own. The call waits for all children, or for
/// as many as the model asks for. Its result is the last text of each child. While the children work, the parent is
/// suspended, just as while it waits for a person. Once an hour, a run of the parent checks whether the children
/// still exist.
///
/// A child can do no more than its parent. It has only those tools of the parent that are [named](Self::tools). Its
/// calls pass the parent's gate and its own, and the stricter verdict applies. Its turn ends when the parent's steps,
/// tokens or money are used up, or when the deadline of the call has passed. Sub-agents of sub-agents are at most
/// [`SUB_AGENT_DEPTH_MAX`] deep.
///
/// Children may also work in the [background](Self::background). A sub-agent may also [take over](Self::takes_over)
/// the session, or be an agent of [another program](Self::elsewhere).
#[must_use]
pub struct SubAgent {
    name: String,
    description: String,
    builder: AgentBuilder,
    tools: Vec<ToolName>,
    rules: ChildRules,
    timeout_ms: Option<Bound>,
}

impl SubAgent {
    /// Creates a sub-agent called `name`. The description tells the parent's model which tasks to give it.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            builder: AgentBuilder::new(name.clone()).limits(Self::limits_unless_set()),
            name,
            description: description.into(),
            tools: Vec::new(),
            rules: ChildRules::default(),
            timeout_ms: None,
        }
    }

    /// Creates a sub-agent called `name` from an agent that is not built yet. It keeps its own tools, code and limits,
    /// which are not those of the parent. Its calls pass the parent's gate, too.
    pub fn of(name: impl Into<String>, description: impl Into<String>, agent: AgentBuilder) -> Self {
        Self { builder: agent, ..Self::new(name, description) }
    }

    /// Sets the instructions.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.builder = self.builder.instructions(instructions);
        self
    }

    /// Sets the model, instead of the parent's.
    pub fn model(mut self, model: impl Model) -> Self {
        self.builder = self.builder.model(model);
        self
    }

    /// Sets the model, instead of the parent's. The model may be shared with other agents.
    pub fn shared_model(mut self, model: Arc<dyn Model>) -> Self {
        self.builder = self.builder.shared_model(model);
        self
    }

    /// Allows the sub-agent to use these tools of the parent. May be called several times.
    pub fn tools(mut self, names: impl IntoIterator<Item = ToolName>) -> Self {
        self.tools.extend(names);
        self
    }

    /// Sets a gate. Each call also passes the parent's gate, and the stricter verdict applies.
    pub fn gate(mut self, gate: impl PolicyGate) -> Self {
        self.builder = self.builder.gate(gate);
        self
    }

    /// Sets the limits of the children's turns. The default is 10 steps and 8,000 output tokens for each
    /// model call. The steps, tokens and money that the parent has left are a limit, too.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.builder = self.builder.limits(limits);
        self
    }

    /// Returns the default limits of the children's turns, which apply unless others are [set](Self::limits).
    pub fn limits_unless_set() -> Limits {
        Limits::default().max_steps(STEPS_MAX).max_output_tokens(OUTPUT_TOKENS_MAX)
    }

    /// Sets the queue under which the children wait, instead of their agent's label. Use it in a program that
    /// keeps all its agents in one queue: see [`AgentBuilder::queue`].
    pub fn queue(mut self, queue: QueueLabel) -> Self {
        self.builder = self.builder.queue(queue);
        self
    }

    /// Sets the maximum number of tasks of one call, from 1 to [`CHILDREN_MAX`]. The default is 5.
    pub fn fan_out_max(mut self, fan_out_max: u32) -> Self {
        self.rules.fan_out_max = fan_out_max;
        self
    }

    /// Lets the model begin children that outlive the call (`background`). The model also gets tools to list and
    /// inspect these children, write to them, wait for them and stop them ([`ChildTool`]). When such a child ends, a
    /// message goes to the parent and begins a turn, unless the model asked for a `quiet` child. At most
    /// [`BACKGROUND_MAX`](holdover_core::background::BACKGROUND_MAX) run at once. Unless they are `detached`, they
    /// end when the parent is aborted or deleted. If the parent is itself a child, or does a task for another
    /// program, they also end when its turn ends.
    pub fn background(mut self) -> Self {
        self.rules.background = true;
        self
    }

    /// Makes this an agent that takes over. The model does not give it tasks, but hands its session over, with a
    /// goal. The turn ends after that step. This agent goes on in a [fork](crate::Runtime::fork) with an extract of
    /// the conversation for that goal, as after [`hand_off`](crate::Runtime::hand_off). The
    /// [ending](holdover_core::ending::Ending::handed_to) of the turn names the new session. If the session is a
    /// child, the new session answers in its place. An abort of the old session aborts the new one.
    pub fn takes_over(mut self) -> Self {
        self.rules.takes_over = true;
        self
    }

    /// Makes this an agent of another program, which receives the tasks over the
    /// [wire](crate::RuntimeOptions::elsewhere). The parent waits for the outcomes as it does for other children, and
    /// passes a stop on. The other program defines the agent, so it has no instructions, model, tools, gate, limits
    /// or sub-agents here. It can neither work in the background nor take over. Each task carries a share of the
    /// parent's steps, tokens, money and time, and the usage that the other program reports is counted.
    pub fn elsewhere(mut self, remote: Remote) -> Self {
        self.rules.remote = Some(Box::new(remote));
        self
    }

    /// Sets how long a call waits for its children. The default is the time that the parent's limits allow
    /// for answers.
    pub fn timeout(mut self, timeout: Bound) -> Self {
        self.timeout_ms = Some(timeout);
        self
    }

    /// Adds a sub-agent of this sub-agent.
    pub fn sub_agent(mut self, sub_agent: SubAgent) -> Self {
        self.builder = self.builder.sub_agent(sub_agent);
        self
    }

    fn into_parts(self, parent: &str) -> Result<Parts, AgentError> {
        if self.rules.fan_out_max == 0 || self.rules.fan_out_max > CHILDREN_MAX {
            let field = format!("sub_agent {}: fan_out_max", self.name);
            let why = format!("is {}, expected 1 to {CHILDREN_MAX}", self.rules.fan_out_max);
            return Err(AgentError::Bound { agent: parent.to_owned(), field, why });
        }
        if self.rules.takes_over && self.rules.background {
            let field = format!("sub_agent {}: background", self.name);
            let why = "is for agents that are given tasks, and this one takes over".to_owned();
            return Err(AgentError::Bound { agent: parent.to_owned(), field, why });
        }
        if let Some((field, why)) = self.fault_elsewhere() {
            let field = format!("sub_agent {}: {field}", self.name);
            return Err(AgentError::Bound { agent: parent.to_owned(), field, why });
        }
        let named = ToolName::new(&self.name);
        let name =
            named.map_err(|source| AgentError::Name { agent: format!("{parent}>{}", self.name), source })?;
        let spec = ToolSpec {
            name,
            description: self.description,
            parameters: parameters(&self.rules),
            effect: EffectClass::Idempotent,
            dangerous: false,
            runs_on: RunsOn::Child,
            timeout_ms: self.timeout_ms,
        };
        Ok(Parts { spec, builder: self.builder, tools: self.tools, rules: self.rules })
    }
}

impl SubAgent {
    /// Returns the first setting of an agent elsewhere that is invalid, or that only agents of this program can have,
    /// and the reason.
    fn fault_elsewhere(&self) -> Option<(&'static str, String)> {
        let remote = self.rules.remote.as_ref()?;
        if let Some(fault) = remote.fault() {
            return Some(fault);
        }
        let own = &self.builder;
        let set = [
            ("background", self.rules.background),
            ("takes_over", self.rules.takes_over),
            ("tools", !self.tools.is_empty()),
            ("sub_agents", !own.sub_agents.is_empty()),
            ("instructions", !own.spec.instructions.is_empty()),
            ("model", own.model.is_some()),
            ("gate", own.gate.is_some()),
            ("limits", own.spec.limits != Self::limits_unless_set()),
        ];
        let (field, _) = set.into_iter().find(|(_, is_set)| *is_set)?;
        Some((field, "is for agents of this program, and this one is elsewhere".to_owned()))
    }
}

impl AgentBuilder {
    /// Builds the sub-agents, and adds the tools with which the model uses them.
    pub(super) fn build_sub_agents(
        &mut self,
        depth: u32,
    ) -> Result<BTreeMap<ToolName, Arc<Agent>>, AgentError> {
        let mut built = BTreeMap::new();
        for sub_agent in std::mem::take(&mut self.sub_agents) {
            let Parts { spec, builder, tools, rules } = sub_agent.into_parts(&self.spec.name)?;
            if depth >= SUB_AGENT_DEPTH_MAX {
                let (agent, sub_agent) = (self.spec.name.clone(), spec.name);
                return Err(AgentError::TooDeep { agent, sub_agent, depth_max: SUB_AGENT_DEPTH_MAX });
            }
            if rules.remote.is_none() {
                let child = self.bound(builder, &spec.name, &tools)?.build_at(depth + 1)?;
                built.insert(spec.name.clone(), Arc::new(child));
            }
            self.spec.sub_agents.insert(spec.name.clone(), rules);
            self.tools.push(Arc::new(SubAgentTool(spec)));
        }
        if self.spec.sub_agents.values().any(|rules| rules.background) {
            for tool in ChildTool::ALL {
                let tool = OfChildren::new(tool)
                    .map_err(|source| AgentError::Name { agent: self.spec.name.clone(), source })?;
                self.tools.push(Arc::new(tool));
            }
        }
        Ok(built)
    }

    /// Restricts a sub-agent to what this agent can do: of this agent's tools it gets only the named ones, and the
    /// stricter of both gates decides. It has this agent's version, durability, rule for calls in doubt and
    /// provisioners. If it has no model of its own, and this agent is no code, it also has this agent's models, with
    /// their prices, retries and breaker.
    fn bound(&self, mut child: Self, name: &ToolName, tools: &[ToolName]) -> Result<Self, AgentError> {
        child.spec.name = format!("{}>{name}", self.spec.name);
        child.version.clone_from(&self.version);
        for wanted in tools {
            // A sub-agent's tool cannot be used by another sub-agent, because its children belong to this
            // agent.
            let is_it = |spec: &ToolSpec| spec.name == *wanted && spec.runs_on != RunsOn::Child;
            let tool = self.tools.iter().find(|tool| is_it(tool.spec()));
            let tool = tool.ok_or_else(|| AgentError::UnknownTool {
                agent: child.spec.name.clone(),
                field: "sub_agent tools",
                tool: wanted.clone(),
            })?;
            child.tools.push(Arc::clone(tool));
            if self.spec.human_only.contains(wanted) {
                child.spec.human_only.insert(wanted.clone());
            }
            if let Some(fallback) = self.spec.tool_fallbacks.get(wanted).filter(|other| tools.contains(other))
            {
                child.spec.tool_fallbacks.insert(wanted.clone(), fallback.clone());
            }
            if wanted.as_str() == READ_SKILL {
                child.skills.clone_from(&self.skills);
            }
        }
        let own = self.gate.clone().unwrap_or_else(|| Arc::new(RuleGate::default()));
        child.gate = Some(match child.gate.take() {
            Some(gate) => Arc::new(StrictestGate::new().and_shared(own).and_shared(gate)),
            None => own,
        });
        // Code has no model that a child could have.
        if child.model.is_none() && !self.spec.planned {
            child.model.clone_from(&self.model);
            child.models.clone_from(&self.models);
            child.fallback.clone_from(&self.fallback);
            child.spec.fallback.clone_from(&self.spec.fallback);
            child.spec.mode_prices.clone_from(&self.spec.mode_prices);
            child.spec.limits.prices = self.spec.limits.prices;
            child.spec.retries.clone_from(&self.spec.retries);
            child.spec.breaker.clone_from(&self.spec.breaker);
        }
        child.spec.durability = self.spec.durability;
        child.spec.in_doubt = self.spec.in_doubt;
        child.provisioners.clone_from(&self.provisioners);
        child.source = self.source.as_ref().map(|source| json!({ "parent": source, "sub_agent": name }));
        Ok(child)
    }
}

/// The parts of a sub-agent that the builder of its parent takes.
struct Parts {
    spec: ToolSpec,
    builder: AgentBuilder,
    tools: Vec<ToolName>,
    rules: ChildRules,
}

fn parameters(rules: &ChildRules) -> Value {
    if rules.takes_over {
        return json!({
            "type": "object",
            "properties": {
                "goal": {
                    "type": "string",
                    "minLength": 1,
                    "description": "What it is to do from here on. You do not go on yourself."
                }
            },
            "required": ["goal"],
            "additionalProperties": false
        });
    }
    let most = rules.fan_out_max;
    let mut parameters = json!({
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "items": { "type": "string", "minLength": 1 },
                "minItems": 1,
                "maxItems": most,
                "description": "One task for each child. A child knows nothing but its task: say all that it needs."
            },
            "first": {
                "type": "integer",
                "minimum": 1,
                "maximum": most,
                "description": "How many outcomes to wait for; the other children are then stopped. All if left out."
            },
            "fail_fast": {
                "type": "boolean",
                "description": "Whether the first failure ends the call; the other children are then stopped."
            }
        },
        "required": ["tasks"],
        "additionalProperties": false
    });
    if rules.background {
        parameters["properties"]["background"] = json!({
            "type": "boolean",
            "description": "Whether to go on without waiting for the children. You get their ids, and are told when they end."
        });
        parameters["properties"]["quiet"] = json!({
            "type": "boolean",
            "description": "In the background: whether their ends wait until you work anyway, instead of waking you."
        });
        parameters["properties"]["detached"] = json!({
            "type": "boolean",
            "description": "In the background: whether they go on even if you are stopped for ever."
        });
    }
    parameters
}

/// The tool with which a model gives tasks to a sub-agent, or hands over its session. The engine carries out the
/// calls itself; it never calls the tool.
struct SubAgentTool(ToolSpec);

#[async_trait]
impl Tool for SubAgentTool {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Keys(Vec::new())
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        Err(ToolError::NotRun(format!("{} is done by children", self.0.name)))
    }
}
