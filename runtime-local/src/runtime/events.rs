//! Following a session's events.

use std::collections::VecDeque;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use holdover_core::event::Event;
use holdover_core::ids::{EventSeq, Incarnation, SessionKey};
use holdover_core::store::{EventCursor, EventPage, PAGE_ROWS_MAX, Session, SessionStatus, Watch};
use holdover_core::time::Timestamp;
use tokio::time::sleep;

use super::{Backoff, Runtime};
use crate::error::RuntimeError;
use crate::hint::Hint;

const POLL: Duration = Duration::from_secs(1);
/// A store that hints all the time is looked at ever more slowly while nothing comes, down to this.
const GAP: Duration = Duration::from_millis(1);
const GAP_MAX: Duration = Duration::from_millis(20);

/// An event with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventEntry {
    /// Where to go on after it.
    pub cursor: EventCursor,
    /// Its place.
    pub seq: EventSeq,
    /// When it was appended.
    pub at: Timestamp,
    /// The event.
    pub event: Event,
}

/// How long a stream of events is followed.
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
        let tail = Tail {
            runtime: self.clone(),
            key: key.clone(),
            cursor: after,
            incarnation: None,
            read: VecDeque::new(),
            follow,
            over: false,
        };
        stream::unfold(tail, |mut tail| async move {
            let next = tail.next().await.transpose()?;
            tail.over |= next.is_err();
            Some((next, tail))
        })
        .boxed()
    }
}

struct Tail {
    runtime: Runtime,
    key: SessionKey,
    cursor: EventCursor,
    incarnation: Option<Incarnation>,
    read: VecDeque<EventEntry>,
    follow: Follow,
    over: bool,
}

impl Tail {
    async fn next(&mut self) -> Result<Option<EventEntry>, RuntimeError> {
        let mut gap = Backoff::new(GAP, GAP_MAX);
        loop {
            if let Some(entry) = self.read.pop_front() {
                return Ok(Some(entry));
            }
            if self.over {
                return Ok(None);
            }
            let store = self.runtime.store().clone();
            // Listen first, then look; and look at the session before its events, so that a session at
            // rest has no event that is not read.
            let mut hint = Hint::listen(&store, Watch::Session(self.key.clone()), POLL).await;
            let session = self.runtime.existing(&self.key).await?;
            let more = self.read_page(&session).await?;
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

    fn ends_with(&self, session: &Session) -> bool {
        let due = session.alarm.is_some_and(|alarm| alarm <= self.runtime.now());
        match self.follow {
            Follow::Forever => false,
            Follow::UntilRest => session.status.at_rest() && !due,
            Follow::UntilParked => session.status != SessionStatus::Active && !due,
            Follow::Available => true,
        }
    }

    async fn read_page(&mut self, session: &Session) -> Result<bool, RuntimeError> {
        let incarnation = match self.incarnation {
            Some(incarnation) if incarnation != session.incarnation => return Err(self.gone()),
            Some(incarnation) => incarnation,
            None => {
                let place = self.cursor.place_in(session.incarnation).ok_or_else(|| self.gone())?;
                self.cursor = EventCursor::after(session.incarnation, place.after);
                self.incarnation = Some(session.incarnation);
                session.incarnation
            }
        };
        // A session that has no newer event is not asked for them: who waits asks once a second.
        if self.cursor.place_in(incarnation).is_some_and(|place| place.after >= session.last_event) {
            return Ok(false);
        }
        match self.runtime.store().read_events(&self.key, &self.cursor, PAGE_ROWS_MAX).await? {
            EventPage::Events { events, next, more, .. } => {
                for stored in events {
                    let event = stored.payload.parse().map_err(|error| {
                        RuntimeError::unreadable(&self.key, format!("event {}", stored.seq), error)
                    })?;
                    let cursor = EventCursor::after(incarnation, stored.seq);
                    self.read.push_back(EventEntry { cursor, seq: stored.seq, at: stored.at, event });
                }
                self.cursor = next;
                Ok(more)
            }
            EventPage::Gone => Err(self.gone()),
            EventPage::NotFound => Err(RuntimeError::NotFound { key: self.key.clone() }),
        }
    }

    fn gone(&self) -> RuntimeError {
        RuntimeError::Gone { key: self.key.clone() }
    }
}
