//! The stream of one answer, for all APIs.

use std::collections::VecDeque;

use futures::{StreamExt, stream};
use holdover_core::model::{ModelError, ModelEvent, ModelStream};

use super::frames::Frames;
use super::{Redaction, incomplete};

/// An answer that is built from the frames of one API's stream.
pub(crate) trait Answer: Default + Send + 'static {
    /// The name of the last frame of a complete stream.
    const END: &'static str;

    /// Takes the next frame.
    fn take(&mut self, frame: &str) -> Result<Heard, ModelError>;
}

/// The meaning of a frame.
pub(crate) enum Heard {
    /// A sign that the connection is open. It does not restart the stall time-out.
    Connection,
    /// A part of the answer, with the events to show, in order. `Finished` can only be the last event.
    Part(Vec<ModelEvent>),
}

/// Reads frames into `answer`, up to its end or the first error. Each frame that is a part of the answer gives at least
/// one event.
pub(crate) fn read<A: Answer>(frames: Frames, answer: A, redaction: Redaction) -> ModelStream {
    let reading = Reading { frames, answer, redaction, ready: VecDeque::new(), over: false };
    stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        Some((item, reading))
    })
    .boxed()
}

struct Reading<A> {
    frames: Frames,
    answer: A,
    redaction: Redaction,
    ready: VecDeque<ModelEvent>,
    over: bool,
}

impl<A: Answer> Reading<A> {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        if self.over {
            return None;
        }
        let item = self.event().await.map_err(|error| self.redaction.apply(error));
        self.over = matches!(&item, Err(_) | Ok(ModelEvent::Finished(_)));
        Some(item)
    }

    async fn event(&mut self) -> Result<ModelEvent, ModelError> {
        self.frames.wind();
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(event);
            }
            let Some(frame) = self.frames.next().await? else {
                return Err(incomplete(format!("the stream ended without {}", A::END)));
            };
            match self.answer.take(&frame)? {
                Heard::Connection => {}
                Heard::Part(events) => {
                    self.frames.begin();
                    self.ready.extend(events);
                    if self.ready.is_empty() {
                        return Ok(ModelEvent::Progress);
                    }
                }
            }
        }
    }
}
