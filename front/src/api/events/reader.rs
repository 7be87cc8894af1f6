//! Turns the items of a session into the frames of a stream.

use std::sync::Arc;
use std::time::Duration;

use axum::response::sse::Event as Frame;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use holdover_core::event::Event;
use holdover_core::ids::{MessageSeq, SessionKey};
use holdover_core::store::EventCursor;
use holdover_runtime_local::{EventEntry, Follow, Runtime, RuntimeError, Shown};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::Query;
use super::items::{End, EventView, Reason};
use crate::access::{Held, May};
use crate::desk::Desk;
use crate::problem::Problem;

/// The interval at which the token of a reader is looked up again.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// The state of a stream.
struct Reader {
    desk: Arc<Desk>,
    key: SessionKey,
    held: Held,
    checks: Interval,
    shown: BoxStream<'static, Result<Shown, RuntimeError>>,
    cursor: EventCursor,
    query: Query,
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

/// Returns the frames of a stream. The last one says why it ends.
pub(super) fn frames(
    desk: Arc<Desk>,
    key: SessionKey,
    held: Held,
    shown: BoxStream<'static, Result<Shown, RuntimeError>>,
    cursor: EventCursor,
    query: Query,
) -> impl Stream<Item = Frame> + Send + 'static {
    let mut checks = interval_at(Instant::now() + CHECK_EVERY, CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let reader = Reader { desk, key, held, checks, shown, cursor, query, at_end: AtEnd::No };
    stream::unfold(reader, |mut reader| async move {
        if reader.at_end == AtEnd::Over {
            return None;
        }
        let frame = reader.next().await;
        Some((frame, reader))
    })
}

impl Reader {
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
                next = self.shown.next() => next,
            };
            let shown = match next {
                None if self.at_end == AtEnd::Stopping => return self.end(Reason::Stopping),
                None => return self.end(Reason::Reached),
                Some(Err(error)) => return self.failed(error.into()),
                Some(Ok(shown)) => shown,
            };
            self.cursor = shown.cursor();
            if self.hides(&shown) {
                continue;
            }
            return self.frame(shown).await;
        }
    }

    /// Goes on with what is committed already, and then ends.
    fn show_the_rest(&mut self) {
        self.at_end = AtEnd::Stopping;
        let rest = self.desk.runtime.events(&self.key, self.cursor, Follow::Available);
        self.shown = rest.map_ok(Shown::Event).boxed();
    }

    fn hides(&self, shown: &Shown) -> bool {
        shown.is_history() && !self.query.history
    }

    async fn frame(&mut self, shown: Shown) -> Frame {
        let (id, name) = (shown.cursor().to_string(), shown.kind());
        let data = if let Shown::Event(entry) = shown {
            match event(&self.desk.runtime, &self.key, entry, self.query.messages).await {
                Ok(view) => Frame::default().json_data(view),
                Err(problem) => return self.failed(problem),
            }
        } else {
            Frame::default().json_data(&shown)
        };
        // All maps in these types have text keys, so they can be written as JSON.
        data.unwrap_or_default().id(id).event(name)
    }

    fn failed(&mut self, problem: Problem) -> Frame {
        self.at_end = AtEnd::Over;
        Frame::default().event("problem").json_data(problem.told()).unwrap_or_default()
    }

    fn end(&mut self, reason: Reason) -> Frame {
        self.at_end = AtEnd::Over;
        let end = End { reason, cursor: self.cursor };
        Frame::default().id(self.cursor.to_string()).event("end").json_data(end).unwrap_or_default()
    }
}

/// Returns an event as it is shown, with the message that it announces, if `messages` are asked for.
async fn event(
    runtime: &Runtime,
    key: &SessionKey,
    entry: EventEntry,
    messages: bool,
) -> Result<EventView, Problem> {
    let EventEntry { seq, at, event, .. } = entry;
    let message = if let Event::Message { seq, .. } = &event
        && messages
    {
        let before = MessageSeq(seq.0.saturating_sub(1));
        runtime.messages_after(key, before, 1).await?.into_iter().next().map(Into::into)
    } else {
        None
    };
    Ok(EventView { seq, at, event, message })
}
