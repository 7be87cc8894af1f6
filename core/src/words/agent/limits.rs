//! The limits of an agent's turns, and the prices of tokens.

use serde::{Deserialize, Serialize};

/// The limits of an agent's turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum number of steps in one turn. A step is one completed model call and the tool calls that it
    /// asks for. The calls of the last step still run. A turn that needs more steps ends with `max_turns`,
    /// unless a person grants more.
    pub max_steps: u32,
    /// The maximum number of input and output tokens over the whole session (`budget_exceeded`). A soft limit: it
    /// is checked between steps and before retries.
    pub max_tokens: Option<u64>,
    /// The maximum cost over the whole session, in millionths of a dollar (`budget_exceeded`). Computed from the
    /// token prices and checked as [`max_tokens`](Self::max_tokens).
    pub max_cost_microusd: Option<u64>,
    /// The maximum wall time of one turn, in milliseconds, excluding suspended time (`budget_exceeded`).
    pub max_run_ms: Option<u64>,
    /// The token prices of the agent's model.
    pub prices: Prices,
    /// The maximum number of output tokens of one answer. Summaries have a limit of their own.
    pub max_output_tokens: u32,
    /// The time limit of one tool call, in milliseconds, unless the tool sets its own.
    pub tool_timeout_ms: u64,
    /// The time limit for the answers that a call waits for, in milliseconds: from people, a client or children. A
    /// tool and the terms of an approval may set their own. `None` means no limit.
    pub answer_timeout_ms: Option<u64>,
    /// The maximum size of a tool result, in bytes. A larger result becomes an error result.
    pub result_bytes_max: usize,
    /// The maximum size of an error that a client may answer with, in bytes.
    pub error_bytes_max: usize,
    /// The maximum number of characters of a result that the model sees whole. Of a longer result, the model sees
    /// the first 2000 and the last 2000 characters. Values below 4000 count as 4000. The whole result is stored.
    pub result_chars_shown: usize,
    /// The time that a call may take to return after a request to stop, in milliseconds.
    pub stop_grace_ms: u64,
    /// The maximum number of steps of a turn after which hooks may correct the model; zero means none. Further
    /// corrections are dropped, and the turn goes on or ends as it would without them.
    #[serde(skip_serializing_if = "is_usual_corrections")]
    pub corrections_max: u32,
}

setters! { Limits {
    max_steps: u32,
    max_tokens: Option<u64>,
    max_cost_microusd: Option<u64>,
    max_run_ms: Option<u64>,
    prices: Prices,
    max_output_tokens: u32,
    tool_timeout_ms: u64,
    answer_timeout_ms: Option<u64>,
    result_bytes_max: usize,
    error_bytes_max: usize,
    result_chars_shown: usize,
    stop_grace_ms: u64,
    corrections_max: u32,
} }

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

/// The default of [`Limits::corrections_max`].
const CORRECTIONS_MAX: u32 = 3;

fn is_usual_corrections(most: &u32) -> bool {
    *most == CORRECTIONS_MAX
}

impl Limits {
    /// Returns the maximum size of a client's answer, in bytes: of an error if `is_error`, otherwise of a
    /// result.
    pub fn answer_bytes_max(&self, is_error: bool) -> usize {
        if is_error { self.error_bytes_max } else { self.result_bytes_max }
    }
}

/// Token prices, in millionths of a dollar per million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Prices {
    /// The price of input tokens.
    pub input_microusd: u64,
    /// The price of output tokens.
    pub output_microusd: u64,
    /// The price of input tokens read from the provider's cache. `None` means the price of other input
    /// tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_microusd: Option<u64>,
    /// The price of input tokens written to the provider's cache, if the provider counts them. `None` means
    /// the price of other input tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_written_microusd: Option<u64>,
}

setters! { Prices {
    input_microusd: u64,
    output_microusd: u64,
    cached_microusd: Option<u64>,
    cache_written_microusd: Option<u64>,
} }
