//! What an agent is, as far as core decides by it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::breaker::BreakerRules;
use crate::custom::StateRules;
use crate::hook::HookPoint;
use crate::ids::ToolName;
pub use crate::machine::retry::{OnTrip, Retries};
use crate::mailbox::{MessagePolicy, WhileAsking};
use crate::mode::Mode;
use crate::output::OutputSpec;
use crate::payload::is_default;
use crate::tool::ToolSpec;

/// An agent as core sees it: words, tools, limits. The model, the tools' code and the gate stay with the
/// runtime.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentSpec {
    /// Its name, for people.
    pub name: String,
    /// What it is told, after the other layers of its [system prompt](crate::prompt).
    pub instructions: String,
    /// Who it is told it is. None: the agent of its name. Empty: nothing is said of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The mode in which its sessions begin.
    #[serde(default, skip_serializing_if = "crate::payload::is_default")]
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

    /// What tokens of its model number `model` cost: 0 is its own, then those that it falls back on.
    pub fn prices(&self, model: u32) -> &Prices {
        self.fallback_at(model).and_then(|fallback| fallback.prices.as_ref()).unwrap_or(&self.limits.prices)
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

/// What bounds an agent's turns. Every number has a unit in its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Steps of one turn (`max_turns`): that many finished model calls, and the last one's tools run.
    pub max_steps: u32,
    /// Tokens read and written over the whole session (`budget_exceeded`); a soft ceiling, checked in
    /// steering.
    pub max_tokens: Option<u64>,
    /// Money over the whole session, in millionths of a dollar (`budget_exceeded`), by `prices`.
    pub max_cost_microusd: Option<u64>,
    /// Wall time of one turn in milliseconds, suspended time not counted (`budget_exceeded`).
    pub max_run_ms: Option<u64>,
    /// What tokens cost.
    pub prices: Prices,
    /// Output tokens of one model call.
    pub max_output_tokens: u32,
    /// How long one tool call may take, in milliseconds, unless the tool says otherwise.
    pub tool_timeout_ms: u64,
    /// How long a person or a client may take to answer, in milliseconds. None: for ever.
    pub answer_timeout_ms: Option<u64>,
    /// The largest tool result that is kept, in bytes; a larger one is an error result.
    pub result_bytes_max: usize,
    /// The longest error that a client may answer with, in bytes.
    pub error_bytes_max: usize,
    /// A result of more characters is shown to the model as its beginning and its end; it is stored whole.
    pub result_chars_shown: usize,
    /// How long a call that was told to stop may take to come back, in milliseconds.
    pub stop_grace_ms: u64,
    /// So often hooks may correct the course of a turn; 0: never. A correction beyond is dropped, and the turn goes its
    /// way.
    #[serde(skip_serializing_if = "is_usual_corrections")]
    pub corrections_max: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_steps: 50,
            max_tokens: None,
            max_cost_microusd: None,
            max_run_ms: Some(600_000),
            prices: Prices::default(),
            max_output_tokens: 16_384,
            tool_timeout_ms: 30_000,
            answer_timeout_ms: Some(30 * 60 * 1000),
            result_bytes_max: 1024 * 1024,
            error_bytes_max: 8 * 1024,
            result_chars_shown: 20_000,
            stop_grace_ms: 2_000,
            corrections_max: CORRECTIONS_MAX,
        }
    }
}

/// So often hooks may correct the course of a turn, if nobody says otherwise.
const CORRECTIONS_MAX: u32 = 3;

fn is_usual_corrections(most: &u32) -> bool {
    *most == CORRECTIONS_MAX
}

impl Limits {
    /// The longest answer that is taken from a client, in bytes: a result, or an error.
    pub fn answer_bytes_max(&self, is_error: bool) -> usize {
        if is_error { self.error_bytes_max } else { self.result_bytes_max }
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

/// What a million tokens cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Prices {
    /// A million tokens read.
    pub input_microusd: u64,
    /// A million tokens written.
    pub output_microusd: u64,
}

/// The highest number of like calls that a rule against loops may name.
pub const COUNTED_MAX: u32 = 100;

/// So many calls of one answer [begin early](AgentSpec::early_reads) at most: what they bring is held until the answer is
/// whole.
pub const EARLY_READS_MAX: usize = 16;

/// What is done when the model asks for the same again and again: how many calls of one tool that are alike
/// lead to what, at most [`COUNTED_MAX`]. Zero: never. What is alike is said in [`machine::looping`](crate::machine::looping).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LoopDetection {
    /// From so many on the turn ends, before the model is asked again (`loop_detected`).
    pub stop_at: u32,
    /// From so many on the model is warned, in the one request that comes.
    pub warn_at: u32,
    /// From so many on the model is told to stop, and the tool is withheld from it.
    pub withhold_at: u32,
    /// For so many steps.
    pub withheld_steps: u32,
    /// Whether calls are alike only if their results are the same, too: then whoever polls is not stopped.
    pub with_results: bool,
}

impl Default for LoopDetection {
    fn default() -> Self {
        Self { stop_at: 8, warn_at: 0, withhold_at: 0, withheld_steps: 3, with_results: false }
    }
}

impl LoopDetection {
    /// Nothing is detected.
    pub const OFF: Self =
        Self { stop_at: 0, warn_at: 0, withhold_at: 0, withheld_steps: 0, with_results: false };

    /// The fewest calls that lead to anything; none if nothing is detected.
    pub fn least(&self) -> Option<u32> {
        [self.stop_at, self.warn_at, self.withhold_at].into_iter().filter(|at| *at > 0).min()
    }
}

/// What is done when the transcript grows beyond what the model can read. Every number has a unit in its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Compaction {
    /// How much the model can read, in tokens.
    pub context_tokens: u64,
    /// Beyond this part of it what is old is summarised before the next step, in percent. Zero: never by itself,
    /// and not when a provider refuses a request as too long either.
    pub threshold_percent: u8,
    /// So many turns stay as they are: those of the newest user messages, or the newest steps where those are too
    /// long.
    pub kept_turns: u32,
    /// The longest summary, in output tokens.
    pub summary_tokens: u32,
    /// How long making one may take, in milliseconds.
    pub timeout_ms: u64,
    /// After so many failures in a row no summary is tried by itself any more.
    pub failures_max: u32,
    /// When there are more results of tools than this, old ones are shown to the model as cleared. Zero: never. The
    /// state of a session names this many places.
    pub clear_results_over: u32,
    /// So many of the newest results stay when old ones are cleared. If that is no less than all, none is.
    pub kept_results: u32,
    /// Whether old results are put in short before they are cleared, beside the run: by the agent's model, or by
    /// whatever the embedding program brings ([`ResultSummariser`](crate::compaction::ResultSummariser)). Of those of
    /// which no summary comes in time the model is told only that they were there.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summarise_results: bool,
}

impl Compaction {
    const USUAL: Self = Self {
        context_tokens: 200_000,
        threshold_percent: 70,
        kept_turns: 6,
        summary_tokens: 4_000,
        timeout_ms: 30_000,
        failures_max: 3,
        clear_results_over: 15,
        kept_results: 5,
        summarise_results: false,
    };

    /// The model is shown all there is, and nothing is summarised unless somebody asks for it.
    pub const OFF: Self = Self { threshold_percent: 0, clear_results_over: 0, ..Self::USUAL };

    /// Whether old results are ever cleared.
    pub fn clears_results(&self) -> bool {
        self.clear_results_over > self.kept_results
    }

    /// Whether old results are put in short before they are cleared.
    pub fn summarises_results(&self) -> bool {
        self.summarise_results && self.clears_results()
    }

    /// How many tokens the model may be shown before what is old is summarised; none if that is never done.
    pub fn threshold(&self) -> Option<u64> {
        (self.threshold_percent > 0).then(|| {
            let part = u128::from(self.context_tokens) * u128::from(self.threshold_percent) / 100;
            u64::try_from(part).unwrap_or(u64::MAX)
        })
    }
}

impl Default for Compaction {
    fn default() -> Self {
        Self::USUAL
    }
}

/// What happens when a person refuses a call and says nothing more. A refusal that carries a word for the model always
/// goes on: it is said so that the model hears it. Every call of the step still gets its one result.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnDenial {
    /// The other calls run, and the model is told.
    #[default]
    #[serde(rename = "continue")]
    GoOn,
    /// Calls of the step that are not out are cancelled, and the model is told.
    CancelRest,
    /// The same, and the turn ends with this step (`tool_stop`): the model is asked when somebody says something.
    EndTurn,
}

/// After which step a turn ends although the model would go on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StopCondition {
    /// A call of this tool was done.
    ToolDone(ToolName),
    /// The model's text contains this.
    TextContains(String),
}

/// How many results of a step must say that the turn should end, for it to end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopSignals {
    /// One is enough.
    #[default]
    Any,
    /// All of them: a result that does not say so, an error or a refusal too, lets the turn go on.
    All,
}

/// What becomes of a turn that has taken as many steps as it may, and would go on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AtMax {
    /// It ends (`max_turns`).
    #[default]
    Stop,
    /// A person is asked for more steps. A refusal ends it, and so does it if nobody answers in time.
    Ask,
}

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
