//! The usage of model calls and tool calls.

use serde::{Deserialize, Serialize};

use crate::words::payload::is_default;

/// The resources used by model calls and tool calls. In JSON, zeros are left out.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Usage {
    /// The tokens used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tokens: TokenUsage,
    /// The cost in millionths of a dollar, at the agent's prices.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cost_microusd: u64,
    /// The part of `tokens` that is estimated. The provider did not count these tokens, because an answer
    /// broke off or was stopped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub estimated_tokens: u64,
    /// The number of model calls that began to answer, including those that broke off or were stopped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub model_calls: u64,
    /// The number of tool calls that were sent.
    #[serde(default, skip_serializing_if = "is_default")]
    pub tool_calls: u64,
}

impl Usage {
    /// Adds another usage to this one. Sums saturate.
    pub fn add(&mut self, other: Self) {
        let add = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        self.tokens.add(other.tokens);
        add(&mut self.cost_microusd, other.cost_microusd);
        add(&mut self.estimated_tokens, other.estimated_tokens);
        add(&mut self.model_calls, other.model_calls);
        add(&mut self.tool_calls, other.tool_calls);
    }

    /// Returns the usage since `before`. No field falls below zero.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        let tokens = TokenUsage {
            input: self.tokens.input.saturating_sub(before.tokens.input),
            output: self.tokens.output.saturating_sub(before.tokens.output),
            cached: self.tokens.cached.saturating_sub(before.tokens.cached),
            cache_written: self.tokens.cache_written.saturating_sub(before.tokens.cache_written),
            reasoning: self.tokens.reasoning.saturating_sub(before.tokens.reasoning),
        };
        Self {
            tokens,
            cost_microusd: self.cost_microusd.saturating_sub(before.cost_microusd),
            estimated_tokens: self.estimated_tokens.saturating_sub(before.estimated_tokens),
            model_calls: self.model_calls.saturating_sub(before.model_calls),
            tool_calls: self.tool_calls.saturating_sub(before.tool_calls),
        }
    }
}

/// The tokens used by model calls. In JSON, zeros are left out.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Input tokens, including cached ones.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: u64,
    /// Output tokens, including reasoning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output: u64,
    /// Input tokens read from the provider's cache. Part of `input`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cached: u64,
    /// Input tokens written to the provider's cache for later calls. Part of `input`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_written: u64,
    /// Output tokens used for reasoning. Part of `output`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning: u64,
}

impl TokenUsage {
    /// Adds another usage to this one. Sums saturate, because a server may report any number.
    pub fn add(&mut self, other: Self) {
        let add = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cached, other.cached);
        add(&mut self.cache_written, other.cache_written);
        add(&mut self.reasoning, other.reasoning);
    }

    /// Returns the sum of input and output tokens.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}
