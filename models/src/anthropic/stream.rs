//! The stream of one answer.

use futures::{StreamExt, stream};
use holdover_core::model::{ModelError, ModelEvent, ModelStream};

use super::answer::Answer;
use super::http::Events;
use crate::wire::Redaction;

/// Reads the events up to the end of the answer or the first error.
pub(super) fn answer(events: Events, redaction: Redaction) -> ModelStream {
    let reading = Reading { events, answer: Answer::default() };
    stream::unfold(Some(reading), move |reading| {
        let redaction = redaction.clone();
        async move {
            let mut reading = reading?;
            match reading.next().await {
                Ok(last @ ModelEvent::Finished(_)) => Some((Ok(last), None)),
                Ok(
                    event @ (ModelEvent::Text(_) | ModelEvent::Reasoning(_) | ModelEvent::CallStarted { .. }),
                ) => Some((Ok(event), Some(reading))),
                Err(error) => Some((Err(redaction.apply(error)), None)),
            }
        }
    })
    .boxed()
}

struct Reading {
    events: Events,
    answer: Answer,
}

impl Reading {
    async fn next(&mut self) -> Result<ModelEvent, ModelError> {
        loop {
            if let Some(event) = self.answer.take(self.events.next().await?)? {
                return Ok(event);
            }
        }
    }
}
