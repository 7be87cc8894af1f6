//! The sub-agents of an agent file: their stored form, and how they are rebuilt from the definition of one of their
//! sessions.

use std::collections::BTreeSet;

use holdover_core::agent::{AgentSpec, Limits};
use holdover_core::gate::{ApprovalRule, PermissionMode, RuleAction, RuleGate};
use holdover_core::ids::{QueueLabel, ToolName};
use holdover_core::remote::Remote;
use holdover_core::tool::Bound;
use holdover_models::ModelRef;
use holdover_runtime_local::{SUB_AGENT_DEPTH_MAX, SubAgent};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::http::connect;
#[cfg(not(feature = "serve"))]
use crate::left_out::other_programs;
#[cfg(feature = "serve")]
use crate::other_programs;
use crate::recipe::Recipe;

/// A sub-agent, as stored in the recipe of its parent agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SubAgentRecipe {
    /// The name by which the parent's model calls the sub-agent.
    pub(crate) name: ToolName,
    /// The description, which tells the parent's model which tasks to give to the sub-agent.
    pub(crate) description: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) instructions: String,
    /// The model, if it is not the parent's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<ModelRef>,
    /// The tools of the parent that the sub-agent may use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) tools: Vec<ToolName>,
    /// The rules of the sub-agent's own gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approval: Vec<ApprovalRule>,
    /// The permission mode of the sub-agent's own gate. If `None`, the parent's gate alone decides calls that no rule
    /// denies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permissions: Option<PermissionMode>,
    /// The limits of a turn, if they differ from the defaults of a sub-agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<Limits>,
    /// The maximum number of tasks of one call, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) fan_out_max: Option<u32>,
    /// True if the sub-agent may do its tasks in the background.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) background: bool,
    /// True if the sub-agent takes over the session instead of being given tasks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) takes_over: bool,
    /// The location of the agent, if it belongs to another program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) remote: Option<Remote>,
    /// The time limit for the wait of a call, in seconds, if it is not the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timeout_seconds: Option<Bound>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) sub_agents: Vec<SubAgentRecipe>,
}

impl SubAgentRecipe {
    /// Builds the sub-agent, whose sessions wait in `queue`.
    pub(crate) fn build(&self, queue: &QueueLabel) -> Result<SubAgent, String> {
        let mut agent = SubAgent::new(self.name.as_str(), &self.description)
            .queue(queue.clone())
            .instructions(&self.instructions)
            .tools(self.tools.iter().cloned());
        if let Some(model) = &self.model {
            agent = agent.shared_model(connect(model).map_err(|error| error.detail)?);
        }
        if let Some(gate) = self.gate() {
            agent = agent.gate(gate);
        }
        if let Some(limits) = &self.limits {
            agent = agent.limits(limits.clone());
        }
        if let Some(most) = self.fan_out_max {
            agent = agent.fan_out_max(most);
        }
        if self.background {
            agent = agent.background();
        }
        if self.takes_over {
            agent = agent.takes_over();
        }
        if let Some(remote) = &self.remote {
            other_programs::check(remote)?;
            agent = agent.elsewhere(remote.clone());
        }
        if let Some(timeout) = self.timeout_seconds {
            agent = agent.timeout(match timeout {
                Bound::At(seconds) => Bound::At(seconds.saturating_mul(1_000)),
                Bound::Never => Bound::Never,
            });
        }
        for sub_agent in &self.sub_agents {
            agent = agent.sub_agent(sub_agent.build(queue)?);
        }
        Ok(agent)
    }

    /// Returns the sub-agent's own gate, if it has one. A call must also pass the parent's gate.
    fn gate(&self) -> Option<RuleGate> {
        match self.permissions {
            Some(mode) => Some(RuleGate::new(self.approval.clone()).mode(mode)),
            None if self.approval.is_empty() => None,
            None => {
                // Calls that no own rule decides are left to the parent's gate.
                let rest = ApprovalRule::new("*", RuleAction::Allow);
                Some(RuleGate::new(self.approval.iter().cloned().chain([rest]).collect()))
            }
        }
    }

    /// Makes the sub-agent and all below it use the model of the agent at the top.
    pub(crate) fn without_models(&mut self) {
        self.model = None;
        self.sub_agents.iter_mut().for_each(Self::without_models);
    }
}

/// The source that is stored with a session of a sub-agent: the parent's source, and the sub-agent's name.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SourceOfChild {
    parent: Value,
    sub_agent: ToolName,
}

/// The parsed source that is stored with a session.
#[derive(Debug)]
pub(crate) struct Origin {
    /// The source of the agent at the top.
    pub(crate) source: Value,
    /// The same source, parsed.
    pub(crate) recipe: Recipe,
    /// The path from that agent down to the agent of the session. Empty if they are the same.
    pub(crate) path: Vec<ToolName>,
}

impl Origin {
    /// Parses a source.
    pub(crate) fn read(mut source: Value) -> Result<Self, String> {
        let mut path = Vec::new();
        while source.get("sub_agent").is_some() {
            if path.len() >= usize::try_from(SUB_AGENT_DEPTH_MAX).unwrap_or(usize::MAX) {
                return Err(format!("source: sub_agent: lies deeper than {SUB_AGENT_DEPTH_MAX}"));
            }
            let child =
                SourceOfChild::deserialize(source).map_err(|error| format!("source: sub_agent: {error}"))?;
            path.insert(0, child.sub_agent);
            source = child.parent;
        }
        let recipe = Recipe::deserialize(&source).map_err(|error| format!("source: {error}"))?;
        let mut among = &recipe.sub_agents;
        for name in &path {
            let found = among.iter().find(|sub_agent| sub_agent.name == *name);
            among = &found.ok_or_else(|| format!("source: there is no sub_agent {name}"))?.sub_agents;
        }
        Ok(Self { source, recipe, path })
    }
}

/// Returns the spec of an agent at the top, from which the sub-agent at `path` inherits. The inherited parts are copied
/// from `spec`, the sub-agent's own spec, which contains them.
pub(crate) fn spec_of_top(spec: &AgentSpec, path: &[ToolName]) -> Result<AgentSpec, String> {
    let mut name = spec.name.as_str();
    for part in path.iter().rev() {
        let above = name.strip_suffix(part.as_str()).and_then(|name| name.strip_suffix('>'));
        name = above.ok_or_else(|| format!("definition: the name {name:?} does not end with >{part}"))?;
    }
    let mut top = AgentSpec {
        mode_prices: spec.mode_prices.clone(),
        retries: spec.retries.clone(),
        breaker: spec.breaker.clone(),
        durability: spec.durability,
        human_only: spec.human_only.clone(),
        tool_fallbacks: spec.tool_fallbacks.clone(),
        in_doubt: spec.in_doubt,
        ..AgentSpec::new(name)
    };
    top.limits.prices = spec.limits.prices;
    Ok(top)
}

/// Returns only the sub-agent at `path`, with the sub-agents above and below it. Those above it keep only the tools
/// that it has.
pub(crate) fn only(sub_agents: &[SubAgentRecipe], path: &[ToolName]) -> Vec<SubAgentRecipe> {
    let Some((name, below)) = path.split_first() else { return sub_agents.to_vec() };
    let mut kept: Vec<_> = sub_agents.iter().filter(|found| found.name == *name).cloned().collect();
    let Some(last) = at(sub_agents, path) else { return kept };
    let tools: BTreeSet<&ToolName> = last.tools.iter().collect();
    for one in &mut kept {
        one.tools.retain(|tool| tools.contains(tool));
        one.sub_agents = only(&one.sub_agents, below);
    }
    kept
}

/// Returns the sub-agent at `path`.
pub(crate) fn at<'a>(sub_agents: &'a [SubAgentRecipe], path: &[ToolName]) -> Option<&'a SubAgentRecipe> {
    let (name, below) = path.split_first()?;
    let found = sub_agents.iter().find(|found| found.name == *name)?;
    if below.is_empty() { Some(found) } else { at(&found.sub_agents, below) }
}

/// Returns the model of the sub-agent at `path`: its own, or that of the nearest agent above it.
pub(crate) fn model_at<'a>(recipe: &'a Recipe, path: &[ToolName]) -> &'a ModelRef {
    let up = (1..=path.len()).rev().filter_map(|depth| at(&recipe.sub_agents, path.get(..depth)?));
    up.filter_map(|sub_agent| sub_agent.model.as_ref()).next().unwrap_or(&recipe.model)
}

#[cfg(test)]
mod tests;
