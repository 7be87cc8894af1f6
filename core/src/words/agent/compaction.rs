//! Rules for a transcript that exceeds the model's context.

use serde::{Deserialize, Serialize};

/// The rules for a transcript that exceeds the model's context.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Compaction {
    /// The size of the model's context, in tokens.
    pub context_tokens: u64,
    /// The share of `context_tokens`, in percent, above which old messages are summarised before the next
    /// step. Zero means never automatically, even if a provider refuses a request as too long.
    pub threshold_percent: u8,
    /// The number of newest turns that a summary keeps unchanged. A turn begins here with a user message. If these
    /// turns are longer than half of the threshold, fewer turns are kept; if the newest turn alone is longer, only
    /// its newest steps. Even less is kept if the provider still refuses the request as too long.
    pub kept_turns: u32,
    /// The maximum length of a summary, in output tokens, but at most a quarter of `context_tokens`. The model is
    /// asked to write at most half as many words. A summary that reaches the limit counts as failed, unless the
    /// provider refused the step as too long and no other model is left.
    pub summary_tokens: u32,
    /// The time limit of one summary, in milliseconds.
    pub timeout_ms: u64,
    /// The number of failed summaries in a row after which reaching the threshold no longer causes a summary.
    /// Requests from outside, and refusals of a request as too long, still cause one.
    pub failures_max: u32,
    /// The number of tool results above which the model sees old results as cleared. Zero means that results are
    /// not cleared because of their number. The state of the session stores the positions of up to about this many
    /// results.
    pub clear_results_over: u32,
    /// The number of newest results that stay when there are too many. If this is not less than
    /// `clear_results_over`, results are not cleared because of their number.
    pub kept_results: u32,
    /// If true, old results are summarised before they are cleared. This happens in parallel with the run, by
    /// the agent's model or by a summariser of the embedding program
    /// ([`ResultSummariser`](crate::engine::compaction::ResultSummariser)). If a summary is not ready in
    /// time, the model sees only that the result existed.
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

    /// Settings that never summarise or clear automatically. Summaries are made only on request or for a handoff.
    pub const OFF: Self = Self { threshold_percent: 0, clear_results_over: 0, ..Self::USUAL };

    /// Returns true if old results are cleared when there are too many.
    pub fn clears_results(&self) -> bool {
        self.clear_results_over > self.kept_results
    }

    /// Returns true if old results are summarised before they are cleared.
    pub(crate) fn summarises_results(&self) -> bool {
        self.summarise_results && self.clears_results()
    }

    /// Returns the number of tokens above which old messages are summarised, or `None` if they are never summarised
    /// automatically.
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
