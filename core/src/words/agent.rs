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
mod compaction;
mod ending;
mod hooks;
mod limits;
mod loops;
pub mod retries;

pub use breaker::{BreakerRules, OPEN_MS_MIN};
pub use compaction::Compaction;
pub use ending::{AtMax, OnDenial, StopCondition, StopSignals};
pub use hooks::{HookPoint, OnFailure};
pub use limits::{Limits, Prices};
pub use loops::{COUNTED_MAX, LoopDetection};
pub use retries::{OnTrip, Retries};

/// An agent as core sees it: words, tools, limits. The model, the tools' code and the gate stay with the
/// runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// Its name, for people.
    pub name: String,
    /// What it is told, after the other layers of its [system prompt](crate::words::prompt).
    pub instructions: String,
    /// Who it is told it is. None: the agent of its name. Empty: nothing is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The mode in which its sessions begin.
    #[serde(default, skip_serializing_if = "crate::words::payload::is_default")]
    pub mode: Mode,
    /// The tools it may ask for, in the order a model is told of them.
    pub tools: Vec<ToolSpec>,
    /// What bounds its turns.
    #[serde(default)]
    pub limits: Limits,
    /// After which step a turn ends although the model would go on (`tool_stop`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stop_when: Vec<StopCondition>,
    /// When intents are made durable.
    #[serde(default)]
    pub durability: Durability,
    /// Whether something must be provisioned before a turn and freed after it.
    #[serde(default)]
    pub provisions: bool,
    /// What is done when the model asks for the same again and again.
    #[serde(default)]
    pub loops: LoopDetection,
    /// What is done when the transcript grows beyond what the model can read.
    #[serde(default)]
    pub compaction: Compaction,
    /// What is tried again when it failed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub retries: Retries,
    /// When its models are left alone because their providers fail, whoever found that out. None: each session finds out by
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breaker: Option<BreakerRules>,
    /// The models that are asked in its model's place, in this order: the next one when one refuses for good, or has
    /// failed as often as it is tried. Each step begins with its own model.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<Fallback>,
    /// What tokens of the models that it thinks with in single modes cost. One that is not here costs as much as its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mode_prices: BTreeMap<Mode, Prices>,
    /// What becomes of a message that comes while a turn runs or is parked and does not say it itself. None: it
    /// steers; only who would start a turn is refused while one runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_message: Option<MessagePolicy>,
    /// What a steering message means for approvals that are open when it comes.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_message_while_asking: WhileAsking,
    /// Tools that only people may use: the model is not told of them, and what it asks of them is refused.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub human_only: BTreeSet<ToolName>,
    /// What happens when a person refuses a call and says nothing more.
    #[serde(default, skip_serializing_if = "is_default")]
    pub on_denial: OnDenial,
    /// At which points hooks of its program are asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub hooks: BTreeSet<HookPoint>,
    /// The value that each of its turns owes; none: its turns end with words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputSpec>,
    /// How many results of a step must say that the turn should end.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stop_signals: StopSignals,
    /// What becomes of a turn that has taken as many steps as it may.
    #[serde(default, skip_serializing_if = "is_default")]
    pub at_max: AtMax,
    /// What is asked of the custom state of its sessions.
    #[serde(default, skip_serializing_if = "is_default")]
    pub state: StateRules,
    /// Whether calls that only read may begin while the model is still writing the answer that asks for them. Such a read
    /// is done in vain if the answer fails, is refused, or is stopped: what it costs and whom it asks should not matter.
    /// It begins only where nothing could say otherwise once the answer is whole, and what it brings is kept and shown
    /// only then. At most [`EARLY_READS_MAX`] of an answer do. Not with [`Durability::Sync`].
    #[serde(default, skip_serializing_if = "is_default")]
    pub early_reads: bool,
}

impl AgentSpec {
    /// An agent called `name`, with nothing to say and no tools.
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
            early_reads: false,
        }
    }

    /// Whether a call of the tool with this name gives the value that a turn owes.
    pub fn is_output(&self, tool: &str) -> bool {
        self.output.as_ref().is_some_and(|output| output.tool.as_str() == tool)
    }

    /// Whether only people may use the tool with this name.
    pub fn is_human_only(&self, tool: &str) -> bool {
        self.human_only.iter().any(|name| name.as_str() == tool)
    }

    /// Whether hooks are asked at this point.
    pub fn is_hooked(&self, point: HookPoint) -> bool {
        self.hooks.contains(&point)
    }

    /// Whether something is done when a turn begins and when it ends: its surroundings are made ready and freed, or hooks
    /// are asked.
    pub fn has_surroundings(&self) -> bool {
        self.provisions || self.is_hooked(HookPoint::AgentStart) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Whether what its steps use is counted apart, for hooks that are told of it.
    pub fn counts_steps(&self) -> bool {
        self.is_hooked(HookPoint::AfterStep) || self.is_hooked(HookPoint::AgentEnd)
    }

    /// Whether a model is told of this tool in `mode`.
    pub fn tells_of(&self, tool: &ToolSpec, mode: Mode) -> bool {
        mode.tells_of(tool) && !self.is_human_only(tool.name.as_str())
    }

    /// What tokens of its model number `model` cost in all modes without one of their own, and in summaries: 0 is its own,
    /// then those that it falls back on.
    pub fn prices(&self, model: u32) -> &Prices {
        self.fallback_at(model).and_then(|fallback| fallback.prices.as_ref()).unwrap_or(&self.limits.prices)
    }

    /// What tokens of the model cost that it thinks with in `mode`: 0 is the one of that mode, then those that it falls
    /// back on.
    pub fn prices_in(&self, mode: Mode, model: u32) -> &Prices {
        self.mode_prices.get(&mode).filter(|_| model == 0).unwrap_or_else(|| self.prices(model))
    }

    /// The model number `model`, if it is one that it falls back on.
    pub fn fallback_at(&self, model: u32) -> Option<&Fallback> {
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
    /// Its name, for people and events.
    pub model: String,
    /// What its tokens cost. None: as much as those of the agent's own model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
}

/// So many calls of one answer [begin early](AgentSpec::early_reads) at most: what they bring is held until the answer is
/// whole.
pub const EARLY_READS_MAX: usize = 16;

/// When a run waits for its commits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Durability {
    /// Every commit is acknowledged before anything else begins.
    Sync,
    /// What has no effect outside may begin while a commit is on its way.
    #[default]
    Pipelined,
}
