//! Reads transcripts and events, a bounded part at a time.

use std::num::NonZeroU32;

use futures::StreamExt;
use holdover_core::ids::{MessageSeq, SessionId, SessionKey};
use holdover_core::store::EventCursor;
use holdover_runtime_local::{Follow, Runtime};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::host::Host;
use super::super::offer::{Answer, Call, Effect, Offer, given, taken, told};
use crate::access::May;
use crate::problem::Problem;
use crate::wire::{EventView, Positioned, Transcript};

/// The size at which an answer takes no further item, in bytes. It has one item at least, whatever its size.
const ANSWER_BYTES: usize = 256 << 10;
const EVENTS: u32 = 100;
const EVENTS_MAX: u32 = 500;

pub(super) const READ_TRANSCRIPT: Offer = Offer {
    name: "read_transcript",
    title: "Read a transcript",
    description: "Reads the messages of a session, oldest first. If `next` is there, read on with `after` set to it.",
    needs: &[May::Read],
    effect: Effect::Reads,
    takes: taken::<Messages>,
    gives: told::<Part>,
    run: |host, call| Box::pin(read_transcript(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Messages {
    /// The id of the session.
    session: SessionId,
    /// The position of the last message that was read. 0 stands for the beginning.
    #[serde(default)]
    after: MessageSeq,
    /// The most messages: 200 at most, and by default. An answer ends early once it is large.
    limit: Option<NonZeroU32>,
}

async fn read_transcript(host: &Host, call: Call) -> Answer {
    let asked: Messages = call.arguments()?;
    let key = host.caller.key(asked.session);
    given(bounded_transcript(&host.desk.runtime, &key, asked.after, asked.limit).await?)
}

/// A part of a transcript. The schemas of messages are left out: they are long, and models read the messages as they are.
#[derive(Serialize, JsonSchema)]
pub(in super::super) struct Part {
    /// The messages, oldest first: `seq`, `at` and `message` with its `role`.
    #[schemars(with = "Vec<Map<String, Value>>")]
    items: Vec<Positioned>,
    /// The position from which to read on. Absent if these are the last messages.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<MessageSeq>,
}

/// Reads a part of a transcript that is not too large for a model.
pub(in super::super) async fn bounded_transcript(
    runtime: &Runtime,
    key: &SessionKey,
    after: MessageSeq,
    limit: Option<NonZeroU32>,
) -> Result<Part, Problem> {
    let Transcript { mut items, mut next } = Transcript::read(runtime, key, after, limit).await?;
    let mut room = Room::new();
    let fit = items.iter().take_while(|item| room.takes(item)).count();
    if fit < items.len() {
        items.truncate(fit);
        next = items.last().map(|last| last.seq);
    }
    Ok(Part { items, next })
}

pub(super) const READ_EVENTS: Offer = Offer {
    name: "read_events",
    title: "Read events",
    description: "Reads what has happened in a session so far, oldest first, without waiting. Read on with `after` set to `cursor`.",
    needs: &[May::Read],
    effect: Effect::Reads,
    takes: taken::<Since>,
    gives: told::<Events>,
    run: |host, call| Box::pin(read_events(host, call)),
};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Since {
    /// The id of the session.
    session: SessionId,
    /// The cursor of the last event that was read. By default, the beginning.
    after: Option<EventCursor>,
    /// The most events: 100 by default, 500 at most. An answer ends early once it is large.
    limit: Option<NonZeroU32>,
}

/// A part of the events of a session.
#[derive(Serialize, JsonSchema)]
struct Events {
    /// The events, oldest first: `seq`, `at` and `event` with its `type`.
    #[schemars(with = "Vec<Map<String, Value>>")]
    items: Vec<EventView>,
    /// The cursor from which to read on.
    cursor: EventCursor,
    /// True if there are more events now.
    more: bool,
}

async fn read_events(host: &Host, call: Call) -> Answer {
    let asked: Since = call.arguments()?;
    let (runtime, key) = (&host.desk.runtime, host.caller.key(asked.session));
    let most = asked.limit.map_or(EVENTS, NonZeroU32::get).min(EVENTS_MAX);
    let mut events =
        Events { items: Vec::new(), cursor: asked.after.unwrap_or(EventCursor::START), more: false };
    let mut stream = runtime.events(&key, events.cursor, Follow::Available);
    let mut room = Room::new();
    while let Some(entry) = stream.next().await.transpose()? {
        let cursor = entry.cursor;
        if matches!(entry.event, holdover_core::event::Event::History { .. }) {
            events.cursor = cursor;
            continue;
        }
        let view = EventView::of(entry, None);
        if events.items.len() >= most as usize || !room.takes(&view) {
            events.more = true;
            break;
        }
        events.items.push(view);
        events.cursor = cursor;
    }
    given(events)
}

/// The room that is left in an answer.
struct Room {
    left: Option<usize>,
}

impl Room {
    fn new() -> Self {
        Self { left: None }
    }

    /// Returns true if the answer takes this item, too. It always takes the first one.
    fn takes(&mut self, item: &impl Serialize) -> bool {
        let bytes = serde_json::to_vec(item).map_or(0, |json| json.len());
        let fits = self.left.is_none_or(|left| bytes <= left);
        self.left = Some(self.left.unwrap_or(ANSWER_BYTES).saturating_sub(bytes));
        fits
    }
}
