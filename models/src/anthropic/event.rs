//! The events of Anthropic's stream, as far as this adapter uses them.

use holdover_core::model::ModelError;
use serde::Deserialize;
use serde_json::Value;

use crate::wire::{Tokens, malformed};

/// An event of the stream. Unknown events and fields are skipped, because the service may add some.
#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Event {
    MessageStart {
        message: Started,
    },
    ContentBlockStart {
        index: u64,
        content_block: BlockStart,
    },
    ContentBlockDelta {
        index: u64,
        delta: BlockDelta,
    },
    ContentBlockStop {
        index: Option<u64>,
    },
    MessageDelta {
        delta: Ended,
        usage: Option<UsageReport>,
    },
    MessageStop,
    Ping,
    Error {
        #[serde(default)]
        error: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct Started {
    pub(super) usage: Option<UsageReport>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockStart {
    Text {
        #[serde(default)]
        text: String,
    },
    Thinking {
        #[serde(default)]
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        name: String,
        /// The arguments, from servers that send them at once. Otherwise empty.
        #[serde(default)]
        input: Value,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum BlockDelta {
    TextDelta {
        text: String,
    },
    ThinkingDelta {
        thinking: String,
    },
    SignatureDelta {
        signature: String,
    },
    InputJsonDelta {
        partial_json: String,
    },
    #[serde(other)]
    Unknown,
}

#[derive(Debug, Deserialize)]
pub(super) struct Ended {
    pub(super) stop_reason: Option<String>,
}

/// A report of the token counts so far. A count that the report leaves out is 0. Of several reports, the highest count
/// is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageReport {
    pub(super) input_tokens: Tokens,
    pub(super) cache_creation_input_tokens: Tokens,
    pub(super) cache_read_input_tokens: Tokens,
    pub(super) output_tokens: Tokens,
    pub(super) output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Deserialize)]
pub(super) struct OutputDetails {
    #[serde(default)]
    pub(super) thinking_tokens: Tokens,
}

impl Event {
    /// Reads an event from its data. The field `type` of the data gives the kind, because some servers leave out the
    /// name of the event.
    pub(super) fn read(data: &str) -> Result<Self, ModelError> {
        serde_json::from_str(data).map_err(|error| malformed(format!("an event cannot be read: {error}")))
    }
}
