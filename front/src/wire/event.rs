//! Events of sessions.

use holdover_core::event::Event;
use holdover_core::ids::EventSeq;
use holdover_core::time::Timestamp;
use holdover_runtime_local::EventEntry;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;

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
    #[schemars(with = "Option<Positioned>")]
    message: Option<Box<RawValue>>,
}

impl EventView {
    /// Returns an event as it is shown, with the message that it announces, as JSON.
    pub(crate) fn of(entry: EventEntry, message: Option<Box<RawValue>>) -> Self {
        let EventEntry { seq, at, event, .. } = entry;
        Self { seq, at, event, message }
    }
}
