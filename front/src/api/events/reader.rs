//! Turns the items of a session into the frames of a stream.

use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event as Frame;
use futures::{Stream, StreamExt, stream};
use holdover_core::event::Event;
use holdover_core::ids::SessionKey;
use holdover_runtime_local::{EventEntry, Follow, Shown, TreeShown};
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::How;
use super::ahead::Ahead;
use super::items::{End, MemberView, OfMember, Reason};
use super::place::{Items, Place};
use crate::access::{Held, May};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::wire::EventView;

/// The interval at which the token of a reader is looked up again.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// The state of a stream.
pub(super) struct Reader {
    desk: Arc<Desk>,
    key: SessionKey,
    held: Held,
    how: How,
    place: Place,
    items: Items,
    ahead: Ahead,
    checks: Interval,
    at_end: AtEnd,
}

/// How near a stream is to its end.
#[derive(Clone, Copy, PartialEq, Eq)]
enum AtEnd {
    No,
    /// This process stops: only what is committed already is shown.
    Stopping,
    /// The last frame was sent.
    Over,
}

impl Reader {
    /// Reads what comes after a place.
    pub(super) fn new(desk: Arc<Desk>, key: SessionKey, held: Held, how: How, place: Place) -> Self {
        let mut checks = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
        checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let items = place.items(&desk, &key, how.follow, how.deltas);
        Self { desk, key, held, how, place, items, ahead: Ahead::default(), checks, at_end: AtEnd::No }
    }

    /// Returns the frames. The last one says why the stream ends.
    pub(super) fn frames(self) -> impl Stream<Item = Frame> + Send + 'static {
        stream::unfold(self, |mut reader| async move {
            if reader.at_end == AtEnd::Over {
                return None;
            }
            let frame = reader.next().await;
            Some((frame, reader))
        })
    }

    async fn next(&mut self) -> Frame {
        loop {
            let stop = self.desk.stop.clone();
            let next = tokio::select! {
                biased;
                () = stop.cancelled(), if self.at_end == AtEnd::No => {
                    self.show_the_rest();
                    continue;
                }
                _ = self.checks.tick() => match self.desk.access.still_allows(&self.held, May::Read).await {
                    true => continue,
                    false => return self.end(Reason::Unauthorized),
                },
                next = self.items.next() => next,
            };
            let item = match next {
                None if self.at_end == AtEnd::Stopping => return self.end(Reason::Stopping),
                None => return self.end(Reason::Reached),
                Some(Err(error)) => return self.failed(error.into()),
                Some(Ok(item)) => item,
            };
            self.place.pass(&item);
            if item.shown.is_history() && !self.how.history {
                continue;
            }
            return self.frame(item).await;
        }
    }

    /// Goes on with what is committed already, and then ends.
    fn show_the_rest(&mut self) {
        self.at_end = AtEnd::Stopping;
        self.items = self.place.items(&self.desk, &self.key, Follow::Available, false);
    }

    async fn frame(&mut self, item: TreeShown) -> Frame {
        let name = item.shown.kind();
        let of = match self.place {
            Place::Session(_) => None,
            Place::Tree(_) => Some(MemberView::from(&*item.member)),
        };
        let key = SessionKey::new(self.key.tenant.clone(), item.member.session.clone());
        let data = if let Shown::Event(entry) = item.shown {
            match self.event(&key, entry).await {
                Ok(view) => data(of, view),
                Err(problem) => return self.failed(problem),
            }
        } else {
            data(of, item.shown)
        };
        data.id(self.place.to_string()).event(name)
    }

    /// Returns an event as it is shown, with the message that it announces, if messages are asked for.
    async fn event(&mut self, key: &SessionKey, entry: EventEntry) -> Result<EventView, Problem> {
        let message = if let Event::Message { seq, .. } = &entry.event
            && self.how.messages
        {
            self.ahead.message(&self.desk.runtime, key, *seq).await?
        } else {
            None
        };
        Ok(EventView::of(entry, message))
    }

    fn failed(&mut self, problem: Problem) -> Frame {
        self.at_end = AtEnd::Over;
        Frame::default().event("problem").json_data(problem.told()).unwrap_or_default()
    }

    fn end(&mut self, reason: Reason) -> Frame {
        self.at_end = AtEnd::Over;
        let cursor = self.place.to_string();
        let end = End { reason, cursor: cursor.clone() };
        Frame::default().id(cursor).event("end").json_data(end).unwrap_or_default()
    }
}

/// Returns a frame with this content. In a tree, the content names its session.
fn data(of: Option<MemberView>, item: impl Serialize) -> Frame {
    let frame = Frame::default();
    // All maps in these types have text keys, so they can be written as JSON.
    let written = match of {
        None => frame.json_data(item),
        Some(member) => frame.json_data(OfMember { member, item }),
    };
    written.unwrap_or_default()
}
