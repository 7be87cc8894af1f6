//! The reader behind [`Runtime::follow`]. In a loop, it reads, shows the items, and waits for a hint.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use holdover_core::event::Event;
use holdover_core::ids::{Incarnation, SessionKey};
use holdover_core::payload::Payload;
use holdover_core::store::{
    DeltaPage, EventCursor, EventPage, EventPlace, PAGE_ROWS_MAX, Session, SessionStatus, StoredEvent,
    StreamId, Watch,
};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

use super::Runtime;
use super::events::{DeltaEntry, EventEntry, Follow, Shown};
use super::standing::is_due;
use crate::backoff::Backoff;
use crate::drive::has_ended;
use crate::error::RuntimeError;
use crate::hint::Hint;

/// The interval at which a store without hints is read.
const POLL: Duration = Duration::from_secs(1);
/// The interval while a model writes an answer.
const POLL_STREAM: Duration = Duration::from_millis(150);
/// The pause after a hint grows from `GAP` to `GAP_MAX` while hints bring nothing.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

/// The point at which a reader stops.
#[derive(Debug, Clone)]
pub(super) enum Until {
    Follow(Follow),
    /// Stops when the child has ended. Once the flag is set, also stops when no run holds the child.
    ChildEnds(Arc<AtomicBool>),
}

pub(super) struct Tail {
    runtime: Runtime,
    key: SessionKey,
    cursor: EventCursor,
    incarnation: Option<Incarnation>,
    until: Until,
    /// True if the session, as a child, had ended when it was last read.
    pub(super) has_ended: bool,
    /// True if deltas are shown.
    deltas: bool,
    /// The stream whose deltas were shown last, until its message or its end is shown.
    within: Option<StreamId>,
    /// True while a stream runs.
    streaming: bool,
    read: VecDeque<Shown>,
    pub(super) over: bool,
}

impl Tail {
    pub(super) fn new(
        runtime: Runtime,
        key: SessionKey,
        cursor: EventCursor,
        until: Until,
        deltas: bool,
    ) -> Self {
        let read = VecDeque::new();
        let (incarnation, within) = (None, None);
        Self {
            runtime,
            key,
            cursor,
            incarnation,
            until,
            has_ended: false,
            deltas,
            within,
            streaming: false,
            read,
            over: false,
        }
    }

    pub(super) async fn next(&mut self) -> Result<Option<Shown>, RuntimeError> {
        let mut gap = Backoff::new(GAP, GAP_MAX);
        loop {
            if let Some(shown) = self.read.pop_front() {
                return Ok(Some(shown));
            }
            if self.over {
                return Ok(None);
            }
            let store = self.runtime.store().clone();
            let poll = if self.streaming { POLL_STREAM } else { POLL };
            // Listen first, then read. Read the session before its events, so that all events of a session at rest
            // have been read.
            let mut hint = Hint::listen(&store, Watch::Session(self.key.clone()), poll).await;
            let session = self.runtime.existing(&self.key).await?;
            let more = self.look(&session).await?;
            if more || !self.read.is_empty() {
                continue;
            }
            if self.ends_with(&session) {
                self.over = true;
                continue;
            }
            if hint.heard().await {
                sleep(gap.take()).await;
            }
        }
    }

    fn ends_with(&mut self, session: &Session) -> bool {
        let now = self.runtime.now();
        let due = is_due(session, now);
        self.has_ended = has_ended(session);
        match &self.until {
            Until::Follow(Follow::Forever) => false,
            Until::Follow(Follow::UntilRest) => session.status.at_rest() && !due,
            Until::Follow(Follow::UntilParked) => session.status != SessionStatus::Active && !due,
            Until::Follow(Follow::Available) => true,
            Until::ChildEnds(is_let_go) => {
                let held = session.lease.as_ref().is_some_and(|lease| lease.ends > now);
                self.has_ended || (is_let_go.load(Ordering::Relaxed) && !held)
            }
        }
    }

    /// Reads the next page. Returns true if more can be read at once.
    async fn look(&mut self, session: &Session) -> Result<bool, RuntimeError> {
        let place = self.place_in(session)?;
        // A session without newer events is not asked for them, because a waiting reader looks every second.
        let no_event = place.after >= session.last_event;
        let no_stream = !self.deltas || (session.status != SessionStatus::Active && self.within.is_none());
        if no_event && no_stream {
            self.streaming = false;
            return Ok(false);
        }
        match self.runtime.store().read_events(&self.key, &self.cursor, PAGE_ROWS_MAX).await? {
            EventPage::Events { events, stream, next, more } => {
                let life = session.incarnation;
                self.show(life, place, events, stream.filter(|_| self.deltas), more)?;
                let mut place = next.place_in(life).ok_or_else(|| self.gone())?;
                place.within = place.within.filter(|(stream, _)| self.within == Some(*stream));
                self.cursor = EventCursor::at(life, place);
                Ok(more)
            }
            EventPage::Gone => Err(self.gone()),
            EventPage::NotFound => Err(RuntimeError::NotFound { key: self.key.clone() }),
        }
    }

    /// Returns the place of the cursor in this life of the session. The life may not change while the session is
    /// followed.
    fn place_in(&mut self, session: &Session) -> Result<EventPlace, RuntimeError> {
        let known = *self.incarnation.get_or_insert(session.incarnation);
        let place = self.cursor.place_in(session.incarnation).filter(|_| known == session.incarnation);
        let mut place = place.ok_or_else(|| self.gone())?;
        if !self.deltas {
            place.within = None;
        }
        self.cursor = EventCursor::at(session.incarnation, place);
        if self.within.is_none() {
            self.within = place.within.map(|(stream, _)| stream);
        }
        Ok(place)
    }

    fn show(
        &mut self,
        incarnation: Incarnation,
        mut place: EventPlace,
        events: Vec<StoredEvent>,
        stream: Option<DeltaPage>,
        more: bool,
    ) -> Result<(), RuntimeError> {
        for stored in events {
            let event: Event = self.parse(&stored.payload, || format!("event {}", stored.seq))?;
            match self.within.and_then(|within| what_became_of(within, &event)) {
                Some(Became::Message) => {
                    self.within = None;
                    place.within = None;
                }
                Some(Became::Nothing) => self.drop_stream(incarnation, &mut place),
                None => {}
            }
            place.after = stored.seq;
            let cursor = EventCursor::at(incarnation, place);
            self.read.push_back(Shown::Event(EventEntry { cursor, seq: stored.seq, at: stored.at, event }));
        }
        self.streaming = stream.is_some();
        // At the end of the log, a stream that no longer runs and has left no message has died.
        let runs = stream.as_ref().map(|page| page.stream);
        if self.within != runs && (!more || runs.is_some()) {
            self.drop_stream(incarnation, &mut place);
        }
        let Some(DeltaPage { stream, deltas }) = stream else { return Ok(()) };
        for stored in deltas {
            let delta = self.parse(&stored.payload, || format!("delta {stream}/{}", stored.place))?;
            self.within = Some(stream);
            place.within = Some((stream, stored.place));
            let cursor = EventCursor::at(incarnation, place);
            self.read.push_back(Shown::Delta(DeltaEntry { cursor, stream, place: stored.place, delta }));
        }
        Ok(())
    }

    /// Reports that the stream of the reader is void, if the reader was in one.
    fn drop_stream(&mut self, incarnation: Incarnation, place: &mut EventPlace) {
        place.within = None;
        if let Some(stream) = self.within.take() {
            let cursor = EventCursor::at(incarnation, *place);
            self.read.push_back(Shown::Dropped { cursor, stream });
        }
    }

    fn parse<T: DeserializeOwned>(
        &self,
        payload: &Payload,
        what: impl FnOnce() -> String,
    ) -> Result<T, RuntimeError> {
        payload.parse().map_err(|error| RuntimeError::unreadable(&self.key, what(), error))
    }

    fn gone(&self) -> RuntimeError {
        RuntimeError::Gone { key: self.key.clone() }
    }
}

/// The end of a stream.
enum Became {
    /// Its message was committed.
    Message,
    /// The stream died without a message.
    Nothing,
}

/// Returns the end of the stream `within` that `event` reports, if it reports one.
fn what_became_of(within: StreamId, event: &Event) -> Option<Became> {
    match event {
        Event::Message { stream: Some(ended), .. } if *ended == within => Some(Became::Message),
        Event::Message { stream: Some(later), .. } if *later > within => Some(Became::Nothing),
        Event::RunStarted { run, .. } if *run > within.run => Some(Became::Nothing),
        Event::Message { .. }
        | Event::RunStarted { .. }
        | Event::Init { .. }
        | Event::StepStarted { .. }
        | Event::StepEnded { .. }
        | Event::Error { .. }
        | Event::Briefed { .. }
        | Event::Provisioned { .. }
        | Event::Call { .. }
        | Event::Asked { .. }
        | Event::Began { .. }
        | Event::NotBegun { .. }
        | Event::Escalated { .. }
        | Event::CallSettled { .. }
        | Event::StateConflict { .. }
        | Event::Diverged { .. }
        | Event::Suspended { .. }
        | Event::BackingOff { .. }
        | Event::FellBack { .. }
        | Event::CallRetried { .. }
        | Event::CallFellBack { .. }
        | Event::CircuitOpened { .. }
        | Event::CompactionStarted { .. }
        | Event::CompactionEnded { .. }
        | Event::Forked { .. }
        | Event::TeardownFailed { .. }
        | Event::Done { .. }
        | Event::AgentEnd { .. }
        | Event::History { .. } => None,
        // All events of this version are named above. The lint finds missing ones.
        _ => None,
    }
}
