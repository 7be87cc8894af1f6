//! The definition of an agent, as far as the core decides by it.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::words::custom::StateRules;
use crate::words::ids::ToolName;
use crate::words::message::{MessagePolicy, WhileAsking};
use crate::words::mode::Mode;
use crate::words::output::OutputSpec;
use crate::words::payload::is_default;
use crate::words::tool::ToolSpec;

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
pub use ending::{AtMax, OnDenial, StopCondition, StopSignals};
pub use hooks::{HookPoint, OnFailure};
pub use limits::{Limits, Prices};
pub use loops::{COUNTED_MAX, LoopDetection};
pub use retries::{OnTrip, Retries};

/// An agent as the core sees it: instructions, tools, limits. The model, the tools' code and the gate stay
/// with the runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// The name of the agent, for people.
    pub name: String,
    /// The instructions for the agent, which follow the other layers of its
    /// [system prompt](crate::words::prompt).
    pub instructions: String,
    /// The identity that the prompt gives the agent. None: the agent of its name. Empty: the prompt gives
    /// none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The mode in which the agent's sessions begin.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub mode: Mode,
    /// The tools that the model may call, in the order in which the model is told of them.
    pub tools: Vec<ToolSpec>,
    /// The limits of the agent's turns.
    #[serde(default)]
    pub limits: Limits,
    /// The steps after which a turn ends although the model would go on (`tool_stop`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_when: Vec<StopCondition>,
    /// The point at which intents are made durable.
    #[serde(default)]
    pub durability: Durability,
    /// Whether something must be provisioned before a turn and freed after it.
    #[serde(default)]
    pub provisions: bool,
    /// The rules for a model that makes the same calls again and again.
    #[serde(default)]
    pub loops: LoopDetection,
    /// The rules for a transcript that grows beyond what the model can read.
    #[serde(default)]
    pub compaction: Compaction,
    /// The rules for retries after failures.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// The rules of the breaker: all sessions that share it skip a failing model for a while. None: no
    /// breaker; each session notices failures by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerRules>,
    /// The models that are asked in place of the agent's own, in this order. When a model refuses for good,
    /// or has failed on every try, the next one is asked. Each step begins with the agent's own model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// The token prices of the models that serve single modes. A mode that is not listed costs as much as the
    /// agent's own model.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode_prices: BTreeMap<Mode, Prices>,
    /// The policy for messages that come while a turn runs or is parked and that have no policy of their own.
    /// None: the message steers the turn. A request to start a turn, however, is refused while one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_message: Option<MessagePolicy>,
    /// The effect of a steering message on approvals that are open when it comes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_message_while_asking: WhileAsking,
    /// Tools that only people may use. The model is not told of them, and the model's calls of them are
    /// refused.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub human_only: BTreeSet<ToolName>,
    /// The consequence when a person refuses a call and says nothing more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_denial: OnDenial,
    /// The points at which hooks of the embedding program are asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<HookPoint>,
    /// The value that each turn must return; none: turns end with words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// How many results of a step must ask for the end of the turn before it ends.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_signals: StopSignals,
    /// The rule for a turn that has taken as many steps as it may.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_max: AtMax,
    /// The rules for the custom state of the agent's sessions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: StateRules,
    /// The rules for the tools that are sub-agents.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub sub_agents: BTreeMap<ToolName, ChildRules>,
    /// Whether calls that only read may begin while the model is still writing the answer that asks for them.
    /// If the answer fails, is refused, or is stopped, such a read is wasted; set this only if the cost of
    /// reads and their requests to others do not matter. A call begins early only if nothing could forbid it
    /// once the answer is complete. The result is kept and shown only when the answer is complete. At most
    /// [`EARLY_READS_MAX`] calls of an answer begin early. Not with [`Durability::Sync`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub early_reads: bool,
}

impl AgentSpec {
    /// Returns an agent called `name`, without instructions and tools.
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
            mode_prices: BTreeMap::new(),
            on_message: None,
            on_message_while_asking: WhileAsking::default(),
            human_only: BTreeSet::new(),
            on_denial: OnDenial::default(),
            hooks: BTreeSet::new(),
            output: None,
            stop_signals: StopSignals::default(),
            at_max: AtMax::default(),
            state: StateRules::default(),
            sub_agents: BTreeMap::new(),
            early_reads: false,
        }
    }

    /// Whether a call of the tool with this name gives the value that a turn must return.
    pub fn is_output(&self, tool: &str) -> bool {
        self.output.as_ref().is_some_and(|output| output.tool.as_str() == tool)
    }

    /// The rules for the sub-agent with this name.
    pub fn sub_agent(&self, tool: &str) -> Option<&ChildRules> {
        self.sub_agents.iter().find(|(name, _)| name.as_str() == tool).map(|(_, rules)| rules)
    }

    /// The tool for background children with this name, if the agent may have any.
    pub fn child_tool(&self, tool: &str) -> Option<ChildTool> {
        let may = self.sub_agents.values().any(|rules| rules.background);
        ChildTool::named(tool).filter(|_| may)
    }

    /// Whether only people may use the tool with this name.
    pub(crate) fn is_human_only(&self, tool: &str) -> bool {
        self.human_only.iter().any(|name| name.as_str() == tool)
    }

    /// Whether hooks are asked at this point.
    pub(crate) fn is_hooked(&self, point: HookPoint) -> bool {
        self.hooks.contains(&point)
    }

    /// Whether there is work to do when a turn begins and when it ends: surroundings are prepared and freed,
    /// or hooks are asked.
    pub(crate) fn has_surroundings(&self) -> bool {
        self.provisions || self.is_hooked(HookPoint::AgentStart) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Whether the usage of single steps is counted, for the hooks that are told of it.
    pub(crate) fn counts_steps(&self) -> bool {
        self.is_hooked(HookPoint::AfterStep) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Whether a model is told of this tool in `mode`.
    pub fn tells_of(&self, tool: &ToolSpec, mode: Mode) -> bool {
        mode.tells_of(tool) && !self.is_human_only(tool.name.as_str())
    }

    /// The token prices of the model with this number. They hold for summaries, and for all modes that have
    /// no prices of their own. Number 0 is the agent's own model, and the fallbacks follow.
    pub fn prices(&self, model: u32) -> &Prices {
        self.fallback_at(model).and_then(|fallback| fallback.prices.as_ref()).unwrap_or(&self.limits.prices)
    }

    /// The token prices of the model with this number in `mode`. Number 0 is the model of that mode, and the
    /// fallbacks follow.
    pub(crate) fn prices_in(&self, mode: Mode, model: u32) -> &Prices {
        self.mode_prices.get(&mode).filter(|_| model == 0).unwrap_or_else(|| self.prices(model))
    }

    /// The model with this number, if it is one of the fallbacks.
    pub(crate) fn fallback_at(&self, model: u32) -> Option<&Fallback> {
        usize::try_from(model.checked_sub(1)?).ok().and_then(|at| self.fallback.get(at))
    }

    /// The tool with this name.
    pub fn tool(&self, name: &str) -> Option<&ToolSpec> {
        self.tools.iter().find(|tool| tool.name.as_str() == name)
    }
}

/// A model that is asked when the ones before it have failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fallback {
    /// The name of the model, for people and events.
    pub model: String,
    /// The token prices of the model. None: the same as those of the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// The most calls of one answer that [begin early](AgentSpec::early_reads). Their results are held until the
/// answer is complete.
pub const EARLY_READS_MAX: usize = 16;

/// Whether a run waits for its commits before it goes on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Every commit is acknowledged before anything else begins.
    Sync,
    /// Anything without an effect outside may begin while a commit is on its way.
    #[default]
    Pipelined,
}
