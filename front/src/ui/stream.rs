//! Sends an answer as Server-Sent Events in the words of a protocol.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderName, HeaderValue};
use axum::response::IntoResponse;
use axum::response::sse::{Event as Frame, KeepAlive, Sse};
use futures::{Stream, StreamExt, stream as streams};
use holdover_core::ids::SessionKey;
use holdover_runtime_local::Follow;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::answer::{Answer, From, Place};
use super::moment::Moment;
use crate::access::{Held, May};
use crate::desk::Desk;
use crate::problem::Problem;
use crate::seats::Seat;

/// Tells proxies to pass each frame on at once.
const UNBUFFERED: (HeaderName, HeaderValue) =
    (HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
/// The interval of the comments that keep an idle connection open.
const HEARTBEAT: Duration = Duration::from_secs(15);
/// The interval at which the token of a reader is looked up again.
const CHECK_EVERY: Duration = Duration::from_secs(5);

/// The words of a protocol.
pub(crate) trait Encode: Send + 'static {
    /// Returns the frames of a moment. `place` is the place after it.
    fn frames(
        &mut self,
        moment: Moment,
        place: Place,
    ) -> impl Future<Output = Result<Vec<Frame>, Problem>> + Send;

    /// Returns the frames that say that the stream ends with this problem.
    fn failed(&mut self, problem: &Problem) -> Vec<Frame>;
}

/// The state of a stream.
struct Sender<E> {
    desk: Arc<Desk>,
    held: Held,
    checks: Interval,
    answer: Answer,
    encode: E,
    frames: VecDeque<Frame>,
    over: bool,
    _seat: Seat,
}

/// The reader of an answer.
pub(crate) struct Reading {
    pub(crate) held: Held,
    pub(crate) seat: Seat,
    pub(crate) key: SessionKey,
}

/// Refuses a place from which a session cannot be followed, while the answer can still have a status.
pub(crate) async fn check_place(desk: &Desk, key: &SessionKey, place: Place) -> Result<(), Problem> {
    match desk.runtime.follow(key, place.cursor, Follow::Available).next().await {
        Some(Err(error)) => Err(error.into()),
        Some(Ok(_)) | None => Ok(()),
    }
}

/// Returns the answer to a request: the frames of an answer from `place` up to its end. If this process stops, the connection
/// breaks, so that the client does not take what it has for the whole and asks another process for the rest.
pub(crate) fn answer_stream(
    desk: Arc<Desk>,
    reading: Reading,
    place: Place,
    from: From,
    encode: impl Encode,
) -> impl IntoResponse {
    let Reading { held, seat, key } = reading;
    let answer = Answer::follow(&desk, key, place, from);
    let mut checks = interval_at(Instant::now(), CHECK_EVERY);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let sender =
        Sender { desk, held, checks, answer, encode, frames: VecDeque::new(), over: false, _seat: seat };
    let sse = Sse::new(frames(sender)).keep_alive(KeepAlive::new().interval(HEARTBEAT));
    ([UNBUFFERED], sse)
}

fn frames(sender: Sender<impl Encode>) -> impl Stream<Item = io::Result<Frame>> + Send + 'static {
    streams::unfold(sender, |mut sender| async move {
        loop {
            if let Some(frame) = sender.frames.pop_front() {
                return Some((Ok(frame), sender));
            }
            if sender.over {
                return None;
            }
            if let Err(stopped) = sender.step().await {
                sender.over = true;
                return Some((Err(stopped), sender));
            }
        }
    })
}

impl<E: Encode> Sender<E> {
    async fn step(&mut self) -> io::Result<()> {
        let stop = self.desk.stop.clone();
        let next = tokio::select! {
            biased;
            () = stop.cancelled() => return Err(io::Error::other("this process stops")),
            _ = self.checks.tick() => {
                if !self.desk.access.still_allows(&self.held, May::Read).await {
                    self.fail(&Problem::unauthorized());
                    return Ok(());
                }
                self.answer.settle().await.map(|()| None)
            }
            next = self.answer.next() => match next {
                Ok(None) => {
                    self.over = true;
                    return Ok(());
                }
                Ok(moment) => Ok(moment),
                Err(error) => Err(error),
            },
        };
        match next {
            Ok(None) => {}
            Ok(Some(moment)) => match self.encode.frames(moment, self.answer.place()).await {
                Ok(frames) => self.frames.extend(frames),
                Err(problem) => self.fail(&problem),
            },
            Err(error) => self.fail(&error.into()),
        }
        Ok(())
    }

    fn fail(&mut self, problem: &Problem) {
        self.over = true;
        self.frames.extend(self.encode.failed(problem));
    }
}
