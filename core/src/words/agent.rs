//! The definition of an agent: the part that the core needs for its decisions.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::words::custom::StateRules;
use crate::words::ids::ToolName;
use crate::words::message::{MessagePolicy, WhileAsking};
use crate::words::mode::Mode;
use crate::words::output::OutputSpec;
use crate::words::payload::is_default;
use crate::words::procedure::Procedure;
use crate::words::tool::{RunsOn, ToolSpec};

mod breaker;
mod children;
mod compaction;
mod ending;
mod hooks;
mod limits;
mod loops;
pub mod retries;

pub use breaker::BreakerRules;
#[cfg(test)]
pub(crate) use breaker::OPEN_MS_MIN;
pub use children::{CHILDREN_MAX, ChildRules, ChildTool, FAN_OUT_MAX};
pub use compaction::Compaction;
pub use ending::{AtMax, OnDenial, OnDoubt, StopCondition, StopSignals};
pub use hooks::{HookPoint, OnFailure};
pub use limits::{Limits, Prices};
pub use loops::{COUNTED_MAX, LoopDetection};
pub use retries::{OnTrip, PROVISION_RETRIES_MAX, PROVISION_WAIT_MAX, Retries};

/// The definition of an agent as the core sees it: instructions, tools, limits and rules. The runtime holds the
/// models, the gate, and the code of the tools and the hooks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The name of the agent, shown to people.
    pub name: String,
    /// The instructions for the agent: the last layer of its [system prompt](crate::words::prompt).
    pub instructions: String,
    /// The identity of the agent in the prompt. `None` means a sentence with the agent's name. An empty text
    /// means no identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The mode in which the agent's sessions begin.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub mode: Mode,
    /// The tools that the model may call, in the order in which requests list them.
    pub tools: Vec<ToolSpec>,
    /// The limits of the agent's turns.
    #[serde(default)]
    pub limits: Limits,
    /// The conditions that end a turn after a step, even if the model would continue (`tool_stop`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_when: Vec<StopCondition>,
    /// The rule for when a run waits for its commits.
    #[serde(default)]
    pub durability: Durability,
    /// True if each turn needs surroundings that are provisioned before it and freed after it.
    #[serde(default)]
    pub provisions: bool,
    /// The rules for a model that repeats the same calls.
    #[serde(default)]
    pub loops: LoopDetection,
    /// The rules for old messages and results when the transcript becomes too long for the model's context.
    #[serde(default)]
    pub compaction: Compaction,
    /// The rules for retries after failures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// The rules of the circuit breaker. All sessions that share the breaker skip a failing model for a
    /// while. `None` means no breaker: each session finds failures by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerRules>,
    /// The models that are asked if the agent's own model fails, in order. The next one is asked if a model fails
    /// with an error that is not retried, has failed on every try, or is held by an open breaker. Failures of hooks
    /// and unreadable messages do not lead to another model. Each step begins with the agent's own model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// The fallback of each tool that has one: the tool that is called with the same arguments if a call of the first
    /// could not be run or gave no result, and is not sent again. A call that may have acted does not fall back, nor
    /// does a dangerous read that was sent. The gate decides anew, as on any call of the fallback. A fallback may have
    /// a fallback, up to [`TOOL_FALLBACKS_MAX`] in a row.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tool_fallbacks: BTreeMap<ToolName, ToolName>,
    /// The token prices of models that are set for one mode. A mode that is not listed has the prices of the
    /// agent's own model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode_prices: BTreeMap<Mode, Prices>,
    /// The policy for messages that arrive while a turn runs or is parked, unless a message sets its own policy.
    /// With `None`, such a message steers the turn. A request to start a turn is refused while a run holds the
    /// session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_message: Option<MessagePolicy>,
    /// The effect of a steering message on approvals that are open when the message arrives.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_message_while_asking: WhileAsking,
    /// Tools that only people may use. The model does not see these tools, and its calls of them are refused.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub human_only: BTreeSet<ToolName>,
    /// The consequence when a person refuses a call without giving a reason. A refusal that also ends the batch has at
    /// least the effect of [`OnDenial::CancelRest`], even with a reason.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_denial: OnDenial,
    /// The points at which the hooks of the embedding program are called.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<HookPoint>,
    /// The value that each turn must return. `None` means that turns end with text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// The number of results in a step that must ask to end the turn: one is enough, or all must ask.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_signals: StopSignals,
    /// The consequence when a turn reaches its step limit.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_max: AtMax,
    /// The consequence when a call ends in doubt. The value at the beginning of a turn counts for the whole turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub in_doubt: OnDoubt,
    /// The rules for the custom state of the agent's sessions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: StateRules,
    /// The rules for each tool that is a sub-agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sub_agents: BTreeMap<ToolName, ChildRules>,
    /// If true, calls that only read may begin before the model has finished the answer that contains them.
    /// Such a read is wasted if the answer fails, is refused or is stopped, so set this only if the cost of
    /// extra reads does not matter. A call begins early only if nothing could forbid it once the answer is
    /// complete. Its result is kept and shown only then. At most [`EARLY_READS_MAX`] calls of an answer begin
    /// early. Has no effect with [`Durability::Sync`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub early_reads: bool,
    /// The procedure of the agent: a machine of the user's own, which says in which state the work of a session stands and
    /// which tools the model may call there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub procedure: Option<Box<Procedure>>,
    /// True if code [plans](crate::words::plan) the calls of the agent, in place of a model. Such an agent is a flow.
    /// Rules about models, steps, steering and compaction then have no effect; budgets do.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub planned: bool,
}

impl AgentSpec {
    /// Returns an agent called `name` with default settings, without instructions and without tools.
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            instructions: String::new(),
            identity: None,
            mode: Mode::default(),
            tools: Vec::new(),
            limits: Limits::default(),
            stop_when: Vec::new(),
            durability: Durability::default(),
            provisions: false,
            loops: LoopDetection::default(),
            compaction: Compaction::default(),
            retries: Retries::default(),
            breaker: None,
            fallback: Vec::new(),
            tool_fallbacks: BTreeMap::new(),
            mode_prices: BTreeMap::new(),
            on_message: None,
            on_message_while_asking: WhileAsking::default(),
            human_only: BTreeSet::new(),
            on_denial: OnDenial::default(),
            hooks: BTreeSet::new(),
            output: None,
            stop_signals: StopSignals::default(),
            at_max: AtMax::default(),
            in_doubt: OnDoubt::default(),
            state: StateRules::default(),
            sub_agents: BTreeMap::new(),
            early_reads: false,
            procedure: None,
            planned: false,
        }
    }

    /// Returns true if a call of the tool with this name returns the turn's value.
    pub fn is_output(&self, tool: &str) -> bool {
        self.output.as_ref().is_some_and(|output| output.tool.as_str() == tool)
    }

    /// Returns the rules for the sub-agent that the model calls by this name, if the agent has it.
    pub fn sub_agent(&self, tool: &str) -> Option<&ChildRules> {
        self.sub_agents.iter().find(|(name, _)| name.as_str() == tool).map(|(_, rules)| rules)
    }

    /// Returns the tool for background children with this name. Returns `None` if there is no such tool, or if no
    /// sub-agent of the agent may run in the background.
    pub fn child_tool(&self, tool: &str) -> Option<ChildTool> {
        let may = self.sub_agents.values().any(|rules| rules.background);
        ChildTool::named(tool).filter(|_| may)
    }

    /// Returns true if only people may use the tool with this name.
    pub(crate) fn is_human_only(&self, tool: &str) -> bool {
        self.human_only.iter().any(|name| name.as_str() == tool)
    }

    /// Returns true if hooks are called at this point.
    pub(crate) fn is_hooked(&self, point: HookPoint) -> bool {
        self.hooks.contains(&point)
    }

    /// Returns true if each turn has work to do at its start or end: surroundings are provisioned and freed, or
    /// hooks are called.
    pub(crate) fn has_surroundings(&self) -> bool {
        self.provisions || self.is_hooked(HookPoint::AgentStart) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Returns true if the usage of each step is counted, because a hook receives it.
    pub(crate) fn counts_steps(&self) -> bool {
        self.is_hooked(HookPoint::AfterStep) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Returns true if the model sees this tool in `mode`, unless loop detection withholds the tool.
    pub fn tells_of(&self, tool: &ToolSpec, mode: Mode) -> bool {
        mode.tells_of(tool) && !self.is_human_only(tool.name.as_str())
    }

    /// Returns the token prices of the model with this number. Number 0 is the agent's own model, and the
    /// fallbacks follow. These prices apply to summaries, and to all modes without prices of their own.
    pub fn prices(&self, model: u32) -> &Prices {
        self.fallback_at(model).and_then(|fallback| fallback.prices.as_ref()).unwrap_or(&self.limits.prices)
    }

    /// Returns the token prices of the model with this number in `mode`. Number 0 is the model of that mode,
    /// and the fallbacks follow.
    pub(crate) fn prices_in(&self, mode: Mode, model: u32) -> &Prices {
        self.mode_prices.get(&mode).filter(|_| model == 0).unwrap_or_else(|| self.prices(model))
    }

    /// Returns the fallback with this model number. Number 1 is the first fallback.
    pub(crate) fn fallback_at(&self, model: u32) -> Option<&Fallback> {
        usize::try_from(model.checked_sub(1)?).ok().and_then(|at| self.fallback.get(at))
    }

    /// Returns the fallback of this tool, if it has one and the agent has that tool.
    pub(crate) fn fallback_of(&self, tool: &str) -> Option<&ToolSpec> {
        let named = self.tool_fallbacks.iter().find(|(from, _)| from.as_str() == tool);
        named.and_then(|(_, to)| self.tool(to.as_str()))
    }

    /// Returns the reason why a fallback of a tool cannot work, with the tool that has it: one of the two is unknown, the
    /// first does not run in this program, the fallback is a sub-agent, or the fallbacks lead in a circle or over more than
    /// [`TOOL_FALLBACKS_MAX`] tools.
    pub fn fault_of_fallbacks(&self) -> Option<(&ToolName, String)> {
        self.tool_fallbacks.keys().find_map(|tool| Some((tool, self.fault_of_fallback(tool)?)))
    }

    fn fault_of_fallback(&self, tool: &ToolName) -> Option<String> {
        let spec = |name: &ToolName| self.tools.iter().find(|spec| spec.name == *name);
        match spec(tool).map(|spec| spec.runs_on) {
            None => return Some("the agent has no such tool".to_owned()),
            Some(RunsOn::Client) => {
                return Some("a client runs this tool, so its calls are never sent again".to_owned());
            }
            Some(RunsOn::Child) => return Some("a sub-agent has no fallback".to_owned()),
            Some(RunsOn::Server) => {}
        }
        let (mut last, mut seen) = (tool, vec![tool]);
        while let Some(next) = self.tool_fallbacks.get(last) {
            match spec(next).map(|spec| spec.runs_on) {
                None => return Some(format!("the agent has no tool {next}")),
                Some(RunsOn::Child) => {
                    return Some(format!("{next} is a sub-agent, which cannot be a fallback"));
                }
                Some(RunsOn::Server | RunsOn::Client) => {}
            }
            if seen.contains(&next) {
                return Some(format!("the fallbacks lead back to {next}"));
            }
            if seen.len() > TOOL_FALLBACKS_MAX {
                return Some(format!("more than {TOOL_FALLBACKS_MAX} fallbacks follow it"));
            }
            seen.push(next);
            last = next;
        }
        None
    }

    /// Returns the tool with this name, if the agent has it.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name.as_str() == name)
    }
}

/// A model that is asked when the models before it have failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// The name of the model, shown to people and in events.
    pub model: String,
    /// The token prices of the model. `None` means the prices of the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// The maximum number of fallbacks that one call goes through.
pub const TOOL_FALLBACKS_MAX: usize = 3;

/// The maximum number of calls of one answer that [begin early](AgentSpec::early_reads). Their results are held in
/// memory until the calls are sent or dropped.
pub const EARLY_READS_MAX: usize = 16;

/// The rule for when a run waits for its commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Every commit must be acknowledged before the run starts anything else.
    Sync,
    /// While a commit is in progress, the run may start actions that have no outside effect. It still waits for a
    /// commit that closes a pending call, releases the session or ends a turn.
    #[default]
    Pipelined,
}
