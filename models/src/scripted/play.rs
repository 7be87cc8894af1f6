//! Plays one turn of a script as a stream.

use std::time::Duration;

use futures::{StreamExt, stream};
use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, ModelEvent, ModelStream, StopReason};

use super::script::{Failure, Streaming, Turn};

type Item = Result<ModelEvent, ModelError>;

pub(super) fn play(turn: &Turn, streaming: Streaming, attempt: u32) -> Result<ModelStream, ModelError> {
    let failure = turn.fail.iter().find(|failure| failure.attempt == attempt);
    let say = turn.say.as_deref().unwrap_or_default();
    let mut items: Vec<Item> = pieces(turn.think.as_deref().unwrap_or_default(), streaming.words)
        .map(|piece| Ok(ModelEvent::Reasoning(piece.to_owned())))
        .collect();
    let text = |piece: &str| Ok(ModelEvent::Text(piece.to_owned()));
    match failure {
        Some(failure) => {
            let Some(words) = failure.after_words else { return Err(error_of(failure)) };
            // The text is always split into words here, so that the failure comes in the middle.
            items.extend(pieces(say, true).take(words).map(text));
            items.push(Err(error_of(failure)));
        }
        None => {
            items.extend(pieces(say, streaming.words).map(text));
            items.extend(turn.calls.iter().enumerate().flat_map(|(index, call)| {
                let tool = || call.tool.clone();
                // The answer reached its token limit in the middle of the last call.
                let cut = turn.stop_reason() == StopReason::MaxTokens && index + 1 == turn.calls.len();
                let written = ModelEvent::CallWritten { index, tool: tool(), arguments: call.text() };
                let started = ModelEvent::CallStarted { index, tool: tool() };
                [Some(started), (!cut).then_some(written)].into_iter().flatten().map(Ok)
            }));
            items.push(Ok(ModelEvent::Finished(answer(turn))));
        }
    }
    let delay = Duration::from_millis(streaming.delay_ms);
    Ok(stream::iter(items)
        .then(move |item| async move {
            if let Ok(ModelEvent::Text(_) | ModelEvent::Reasoning(_)) = &item
                && !delay.is_zero()
            {
                tokio::time::sleep(delay).await;
            }
            item
        })
        .boxed())
}

/// Splits the text after each space and line break if `words` is true. Otherwise, returns the text in one piece.
fn pieces(text: &str, words: bool) -> impl Iterator<Item = &str> {
    let whole = (!words && !text.is_empty()).then_some(text);
    let split = words.then(|| text.split_inclusive([' ', '\n'])).into_iter().flatten();
    whole.into_iter().chain(split)
}

fn answer(turn: &Turn) -> ModelAnswer {
    let mut parts = Vec::new();
    if let Some(text) = &turn.think {
        parts.push(AnswerPart::Reasoning { text: text.clone(), signature: None });
    }
    if let Some(text) = &turn.say {
        parts.push(AnswerPart::Text(text.clone()));
    }
    parts.extend(
        turn.calls.iter().map(|call| AnswerPart::Call { tool: call.tool.clone(), arguments: call.text() }),
    );
    ModelAnswer { parts, stop: turn.stop_reason(), usage: turn.usage.into() }
}

fn error_of(failure: &Failure) -> ModelError {
    let detail = failure.detail.as_deref().unwrap_or("as the script says");
    let mut error = ModelError::new(failure.kind, detail);
    error.retry_after = failure.retry_after_ms.map(Duration::from_millis);
    error
}
