//! Follows a session: streams its events, and the model's text while it is being written.

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, SessionKey};
use holdover_core::store::{EventCursor, StreamId};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::Runtime;
use super::tail::{Tail, Until};
use crate::error::RuntimeError;

/// An event with its position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct EventEntry {
    /// The cursor after the event.
    #[serde(skip)]
    pub cursor: EventCursor,
    /// The number of the event.
    pub seq: EventSeq,
    /// The time at which the event was appended.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

/// A provisional item: a part of an answer that is not complete yet, or a call that is in flight.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DeltaEntry {
    /// The cursor after the delta.
    #[serde(skip)]
    pub cursor: EventCursor,
    /// The stream that the delta belongs to: a model call, or the calls of a step.
    pub stream: StreamId,
    /// The position of the delta in that stream, counted from 1.
    pub place: u64,
    /// The content of the delta.
    pub delta: Delta,
}

/// An item for a follower of a session. Its JSON form is the content alone. Kind and cursor are left out, because
/// Server-Sent Events carry them separately.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Shown {
    /// A committed, final event. If it announces the message of a stream ([`Event::Message`] with `stream`),
    /// it replaces that stream's deltas.
    Event(EventEntry),
    /// A provisional item: a part of an answer, or a call that is in flight.
    Delta(DeltaEntry),
    /// The end of the stream whose deltas were shown last, to this reader or to an earlier reader with the same
    /// cursor. The deltas are void. If the stream was a model's answer, the attempt failed, and no message follows.
    /// If the stream was calls, events report their results.
    Dropped {
        /// The cursor from which to go on.
        #[serde(skip)]
        cursor: EventCursor,
        /// The stream.
        stream: StreamId,
    },
}

impl Shown {
    /// Returns the cursor after this item.
    pub fn cursor(&self) -> EventCursor {
        match self {
            Self::Event(EventEntry { cursor, .. })
            | Self::Delta(DeltaEntry { cursor, .. })
            | Self::Dropped { cursor, .. } => *cursor,
        }
    }

    /// Returns the wire name of the kind: `event`, `delta`, `dropped`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Event(_) => "event",
            Self::Delta(_) => "delta",
            Self::Dropped { .. } => "dropped",
        }
    }

    /// Returns the item with its event [redacted](Event::redacted).
    pub(super) fn redacted(self) -> Self {
        match self {
            Self::Event(entry) => Self::Event(EventEntry { event: entry.event.redacted(), ..entry }),
            other @ (Self::Delta(_) | Self::Dropped { .. }) => other,
        }
    }

    /// Returns true if this is a row of the engine's history ([`Event::History`]). Such rows are for people who study
    /// the engine, not for users of the agent.
    pub fn is_history(&self) -> bool {
        matches!(self, Self::Event(EventEntry { event: Event::History { .. }, .. }))
    }
}

/// The point at which a stream of a session ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Follow {
    /// Never ends.
    #[default]
    Forever,
    /// Ends when the turn is over and the available items have been shown: no run holds the session, none is due, and
    /// it is not suspended.
    UntilRest,
    /// Ends when no run holds the session, none is due, and the available items have been shown: its turn is over, or
    /// it is suspended.
    UntilParked,
    /// Ends after the available items.
    Available,
}

impl Runtime {
    /// Streams the events of a session after the cursor `after`, as they are committed, without gaps or
    /// repeats. Ends after the first error.
    ///
    /// Values that look like secrets are [redacted](Event::redacted). Do not rebuild a state from these events:
    /// [`replay`](Self::replay) reads them as they are stored.
    pub fn events(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<EventEntry, RuntimeError>> {
        let stored = self.stored_events(key, after, follow);
        stored.map_ok(|entry| EventEntry { event: entry.event.redacted(), ..entry }).boxed()
    }

    /// Streams the events as they are stored.
    pub(super) fn stored_events(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<EventEntry, RuntimeError>> {
        let events = self.tail(key, after, follow, false).try_filter_map(|shown| async move {
            Ok(match shown {
                Shown::Event(entry) => Some(entry),
                Shown::Delta(_) | Shown::Dropped { .. } => None,
            })
        });
        events.boxed()
    }

    /// Streams the items of a session after the cursor `after`: its events and, between them, the model's text as
    /// it is written, and the calls that are in flight. A disconnected reader may continue with the cursor of its
    /// last item. It then misses nothing and gets nothing twice. Ends after the first error.
    ///
    /// The runtime that runs the session writes deltas every
    /// [`delta_interval`](super::RuntimeOptions::delta_interval). An answer that is complete within one
    /// interval has no deltas.
    pub fn follow(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<Shown, RuntimeError>> {
        self.tail(key, after, follow, true).map_ok(Shown::redacted).boxed()
    }

    fn tail(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
        deltas: bool,
    ) -> BoxStream<'static, Result<Shown, RuntimeError>> {
        let tail = Tail::new(self.clone(), key.clone(), after, Until::Follow(follow), deltas);
        stream::unfold(tail, |mut tail| async move {
            let next = tail.next().await.transpose()?;
            tail.over |= next.is_err();
            Some((next, tail))
        })
        .boxed()
    }
}
