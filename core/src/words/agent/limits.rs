//! The limits of an agent's turns, and the prices of tokens.

use serde::{Deserialize, Serialize};

/// The limits of an agent's turns. Every number has a unit in its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// The maximum number of steps in one turn. A step is one finished model call and the tool calls that it
    /// asks for. The calls of the last step still run. A turn that would need more ends with `max_turns`,
    /// unless a person grants more steps.
    pub max_steps: u32,
    /// The most tokens read and written over the whole session (`budget_exceeded`). A soft limit, checked in
    /// steering.
    pub max_tokens: Option<u64>,
    /// The most money spent over the whole session, in millionths of a dollar (`budget_exceeded`), computed
    /// by `prices`.
    pub max_cost_microusd: Option<u64>,
    /// The longest wall time of one turn in milliseconds, without suspended time (`budget_exceeded`).
    pub max_run_ms: Option<u64>,
    /// The prices of tokens.
    pub prices: Prices,
    /// The most output tokens of one model call.
    pub max_output_tokens: u32,
    /// How long one tool call may take, in milliseconds, unless the tool sets its own time.
    pub tool_timeout_ms: u64,
    /// How long a person or a client may take to answer, in milliseconds. None: for ever.
    pub answer_timeout_ms: Option<u64>,
    /// The largest tool result that is kept, in bytes; a larger one is an error result.
    pub result_bytes_max: usize,
    /// The longest error that a client may answer with, in bytes.
    pub error_bytes_max: usize,
    /// A result of more characters than this is shown to the model as its beginning and its end. It is stored
    /// whole.
    pub result_chars_shown: usize,
    /// How long a call that was told to stop may take to come back, in milliseconds.
    pub stop_grace_ms: u64,
    /// How often hooks may correct the course of a turn; 0: never. Further corrections are dropped, and the
    /// turn goes on without them.
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

/// The default number of corrections of a turn.
const CORRECTIONS_MAX: u32 = 3;

fn is_usual_corrections(most: &u32) -> bool {
    *most == CORRECTIONS_MAX
}

impl Limits {
    /// The longest answer that is accepted from a client, in bytes: of a result, or of an error.
    pub fn answer_bytes_max(&self, is_error: bool) -> usize {
        if is_error { self.error_bytes_max } else { self.result_bytes_max }
    }
}

/// The prices of tokens, in millionths of a dollar for one million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Prices {
    /// A million tokens read.
    pub input_microusd: u64,
    /// A million tokens written.
    pub output_microusd: u64,
    /// A million tokens read from the provider's cache. None: as much as other input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cached_microusd: Option<u64>,
    /// A million tokens written to the provider's cache, where the provider counts them. None: as much as
    /// other input.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_written_microusd: Option<u64>,
}

setters! { Prices {
    input_microusd: u64,
    output_microusd: u64,
    cached_microusd: Option<u64>,
    cache_written_microusd: Option<u64>,
} }
