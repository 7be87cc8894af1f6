//! Events of sessions.

use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, MessageSeq, SessionKey};
use holdover_core::time::Timestamp;
use holdover_runtime_local::{EventEntry, Runtime, RuntimeError};
use schemars::JsonSchema;
use serde::Serialize;

use super::Positioned;

/// The content of an event with the name `event`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventEntry")]
pub(crate) struct EventView {
    /// The number of the event.
    seq: EventSeq,
    /// The time of the event.
    at: Timestamp,
    /// The event.
    event: Event,
    /// The message that the event announces, if messages were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Positioned>,
}

impl EventView {
    /// Returns an event as it is shown, with the message that it announces, if `messages` are asked for.
    pub(crate) async fn of(
        runtime: &Runtime,
        key: &SessionKey,
        entry: EventEntry,
        messages: bool,
    ) -> Result<Self, RuntimeError> {
        let EventEntry { seq, at, event, .. } = entry;
        let message = if let Event::Message { seq, .. } = &event
            && messages
        {
            let before = MessageSeq(seq.0.saturating_sub(1));
            runtime.messages_after(key, before, 1).await?.into_iter().next().map(Into::into)
        } else {
            None
        };
        Ok(Self { seq, at, event, message })
    }
}
