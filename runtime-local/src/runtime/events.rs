//! Follows a session: its events, and the model's text as it comes.

use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, SessionKey};
use holdover_core::store::{EventCursor, StreamId};
use holdover_core::time::Timestamp;
use serde::Serialize;

use super::Runtime;
use super::tail::Tail;
use crate::error::RuntimeError;

/// An event with its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventEntry {
    /// Where to go on after it.
    #[serde(skip)]
    pub cursor: EventCursor,
    /// Its place.
    pub seq: EventSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

/// A piece of an answer that is not whole yet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct DeltaEntry {
    /// Where to go on after it.
    #[serde(skip)]
    pub cursor: EventCursor,
    /// The model call that it comes from.
    pub stream: StreamId,
    /// Its place in that stream, from 1.
    pub place: u64,
    /// What came.
    pub delta: Delta,
}

/// What whoever follows a session is shown. As JSON it is the content alone, without kind and cursor, which
/// Server-Sent Events carry beside it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Shown {
    /// An event: committed, and true for ever. One that announces the message of a stream
    /// ([`Event::Message`] with `stream`) takes the place of that stream's deltas.
    Event(EventEntry),
    /// A piece of an answer, or a call that is out: provisional.
    Delta(DeltaEntry),
    /// The stream is over whose deltas were shown last, also to an earlier reader with the same cursor: they are void.
    /// Of a model's answer, the attempt died, and no message follows; of calls, events say what became of them.
    Dropped {
        /// Where to go on.
        #[serde(skip)]
        cursor: EventCursor,
        /// Which stream.
        stream: StreamId,
    },
}

impl Shown {
    /// Where to go on after it.
    pub fn cursor(&self) -> EventCursor {
        match self {
            Self::Event(EventEntry { cursor, .. })
            | Self::Delta(DeltaEntry { cursor, .. })
            | Self::Dropped { cursor, .. } => *cursor,
        }
    }

    /// The wire name of its kind: `event`, `delta`, `dropped`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Event(_) => "event",
            Self::Delta(_) => "delta",
            Self::Dropped { .. } => "dropped",
        }
    }

    /// Whether it is a row of the engine's own history ([`Event::History`]): of use to whoever looks into the
    /// engine, of none to whoever talks with the agent.
    pub fn is_history(&self) -> bool {
        matches!(self, Self::Event(EventEntry { event: Event::History { .. }, .. }))
    }
}

/// How long a session is followed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Follow {
    /// For ever.
    #[default]
    Forever,
    /// To the end of what there is once the turn is over: no run holds the session, and it is not
    /// suspended.
    UntilRest,
    /// To the end of what there is once nobody runs the session: its turn is over, or it is suspended.
    UntilParked,
    /// To the end of what there is.
    Available,
}

impl Runtime {
    /// The events of a session after `after`, without gap or repeat, as they are committed. Ends after the
    /// first error.
    pub fn events(
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

    /// What a session shows after `after`: its events and, between them, what its model says while it says
    /// it, and which calls are out. A reader may be cut anywhere and go on with the cursor of what it was shown last:
    /// then it misses nothing and is shown nothing twice. Ends after the first error.
    ///
    /// Deltas are written every [`delta_interval`](super::RuntimeOptions::delta_interval) by the runtime that
    /// runs the session, so an answer that comes faster has none.
    pub fn follow(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
    ) -> BoxStream<'static, Result<Shown, RuntimeError>> {
        self.tail(key, after, follow, true)
    }

    fn tail(
        &self,
        key: &SessionKey,
        after: EventCursor,
        follow: Follow,
        deltas: bool,
    ) -> BoxStream<'static, Result<Shown, RuntimeError>> {
        let tail = Tail::new(self.clone(), key.clone(), after, follow, deltas);
        stream::unfold(tail, |mut tail| async move {
            let next = tail.next().await.transpose()?;
            tail.over |= next.is_err();
            Some((next, tail))
        })
        .boxed()
    }
}
