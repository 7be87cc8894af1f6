//! Messages of transcripts.

use std::num::NonZeroU32;

use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::message::Message;
use holdover_core::time::Timestamp;
use holdover_runtime_local::{MessageEntry, Runtime, RuntimeError};
use schemars::JsonSchema;
use serde::Serialize;

/// The most messages in one answer.
const MESSAGES_MAX: u32 = 200;

/// A message of a transcript.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MessageEntry")]
pub(crate) struct Positioned {
    /// The position of the message.
    pub(crate) seq: MessageSeq,
    /// The time at which the message was appended.
    at: Timestamp,
    /// The message. In arguments, values whose names look like those of secrets are replaced.
    message: Message,
}

impl From<MessageEntry> for Positioned {
    fn from(of: MessageEntry) -> Self {
        Self { seq: of.seq, at: of.at, message: of.message.redacted() }
    }
}

/// A part of a transcript.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Transcript {
    /// The messages, oldest first.
    pub(crate) items: Vec<Positioned>,
    /// The position from which to read on. Absent if these are the last messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<MessageSeq>,
}

impl Transcript {
    /// Reads at most `limit` messages after the position `after`: 200 at most, and by default.
    pub(crate) async fn read(
        runtime: &Runtime,
        key: &SessionKey,
        after: MessageSeq,
        limit: Option<NonZeroU32>,
    ) -> Result<Self, RuntimeError> {
        let limit = limit.map_or(MESSAGES_MAX, NonZeroU32::get).min(MESSAGES_MAX);
        let page = runtime.messages_page(key, after, limit).await?;
        Ok(Self { items: page.items.into_iter().map(Into::into).collect(), next: page.next })
    }
}
