//! Rules for a transcript that is longer than the model can read.

use serde::{Deserialize, Serialize};

/// The rules for a transcript that grows beyond what the model can read. Every number has a unit in its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Compaction {
    /// How much the model can read, in tokens.
    pub context_tokens: u64,
    /// The share of `context_tokens`, in percent, beyond which old messages are summarised before the next
    /// step. Zero: nothing is summarised automatically, even if a provider refuses a request as too long.
    pub threshold_percent: u8,
    /// The number of turns that stay as they are: those of the newest user messages, or the newest steps
    /// where those turns are too long. Fewer stay where a provider refuses them as too long.
    pub kept_turns: u32,
    /// The longest summary, in output tokens; never more than a quarter of `context_tokens`. The model is
    /// told to write at most half as many words. A summary that reaches the limit counts as failed. It is
    /// accepted only where a provider refuses the request as too long and no other model is left.
    pub summary_tokens: u32,
    /// How long one summary may take, in milliseconds.
    pub timeout_ms: u64,
    /// After this many failures in a row, summaries are no longer tried automatically.
    pub failures_max: u32,
    /// When there are more tool results than this, old ones are shown to the model as cleared. Zero: never.
    /// The state of a session names this many places.
    pub clear_results_over: u32,
    /// This many of the newest results stay when old ones are cleared. If all results fit within this number,
    /// none is cleared.
    pub kept_results: u32,
    /// Whether old results are summarised before they are cleared, beside the run: by the agent's model, or
    /// by a summariser of the embedding program
    /// ([`ResultSummariser`](crate::engine::compaction::ResultSummariser)). If a summary is not ready in
    /// time, the model is told only that the result existed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub summarise_results: bool,
}

setters! { Compaction {
    context_tokens: u64,
    threshold_percent: u8,
    kept_turns: u32,
    summary_tokens: u32,
    timeout_ms: u64,
    failures_max: u32,
    clear_results_over: u32,
    kept_results: u32,
    summarise_results: bool,
} }

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

    /// The model is shown everything, and nothing is summarised unless somebody asks for it.
    pub const OFF: Self = Self { threshold_percent: 0, clear_results_over: 0, ..Self::USUAL };

    /// Whether old results are ever cleared.
    pub fn clears_results(&self) -> bool {
        self.clear_results_over > self.kept_results
    }

    /// Whether old results are summarised before they are cleared.
    pub(crate) fn summarises_results(&self) -> bool {
        self.summarise_results && self.clears_results()
    }

    /// How many tokens the model may be shown before old messages are summarised; none if they never are.
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
