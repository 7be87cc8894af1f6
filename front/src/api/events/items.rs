//! The items of a stream.

use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::EventSeq;
use holdover_core::store::{EventCursor, StreamId};
use holdover_core::time::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::super::messages::Positioned;
use crate::problem::Told;

/// An item of a stream: `event` is its name, and `data` its content, as JSON. Its `id` is a cursor.
#[derive(JsonSchema)]
#[schemars(tag = "event", content = "data", rename_all = "snake_case")]
#[expect(dead_code, reason = "only described: names and contents are written apart")]
pub(super) enum StreamItem {
    /// Something that is committed and final.
    Event(Box<EventView>),
    /// Something provisional: text that a model is writing, or the progress of a call.
    Delta(DeltaView),
    /// The deltas of a stream are void, because its attempt died or failed.
    Dropped(Dropped),
    /// An error. The stream ends.
    Problem(Told<'static>),
    /// The stream ends.
    End(End),
}

/// The content of an event with the name `event`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EventEntry")]
pub(super) struct EventView {
    /// The number of the event.
    pub(super) seq: EventSeq,
    /// The time of the event.
    pub(super) at: Timestamp,
    /// The event.
    pub(super) event: Event,
    /// The message that the event announces, if messages were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<Positioned>,
}

/// A provisional item.
#[derive(JsonSchema)]
#[schemars(rename = "DeltaEntry")]
#[expect(dead_code, reason = "only described: the engine has a type of its own")]
pub(super) struct DeltaView {
    /// The stream that the delta belongs to: a model call, or the calls of a step.
    stream: StreamId,
    /// The position of the delta in that stream, counted from 1.
    place: u64,
    /// The content.
    delta: Delta,
}

/// Deltas that are void.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only described: the engine has a type of its own")]
pub(super) struct Dropped {
    /// The stream of these deltas.
    stream: StreamId,
}

/// The content of the last event of a stream, which has the name `end`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EndOfStream")]
pub(super) struct End {
    /// The reason.
    pub(super) reason: Reason,
    /// The cursor from which to go on.
    pub(super) cursor: EventCursor,
}

/// The reason for the end of a stream.
#[derive(Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "EndReason")]
pub(super) enum Reason {
    /// The point was reached at which the stream was to end.
    Reached,
    /// This process stops, so that the reader goes on elsewhere.
    Stopping,
    /// The token no longer holds.
    Unauthorized,
}
