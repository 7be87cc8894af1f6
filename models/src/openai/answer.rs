//! The stream of one answer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use futures::{StreamExt, stream};
use genai::chat::{ChatStream, ChatStreamEvent, StopReason as GenaiStop, StreamEnd, Usage};
use holdover_core::model::{
    AnswerPart, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, ModelStream, StopReason, TokenUsage,
};
use tokio::time::timeout;

use super::calls::CallFrames;
use super::failure::classify;
use crate::wire::bounds::TEXT_BYTES_MAX;
use crate::wire::{Redaction, incomplete, malformed, stalled};

type Item = Result<ModelEvent, ModelError>;

/// Reads the library's stream up to its end or its first error.
pub(super) fn stream(
    inner: ChatStream,
    frames: Arc<CallFrames>,
    stall: Duration,
    redaction: Redaction,
) -> ModelStream {
    let reading = Reading {
        inner,
        frames,
        stall,
        redaction,
        text: String::new(),
        reasoning: String::new(),
        ready: VecDeque::new(),
        over: false,
    };
    stream::unfold(reading, |mut reading| async move {
        let item = reading.next().await?;
        Some((item, reading))
    })
    .boxed()
}

struct Reading {
    inner: ChatStream,
    frames: Arc<CallFrames>,
    stall: Duration,
    redaction: Redaction,
    text: String,
    reasoning: String,
    ready: VecDeque<Item>,
    over: bool,
}

impl Reading {
    async fn next(&mut self) -> Option<Item> {
        loop {
            if let Some(item) = self.ready.pop_front() {
                return Some(item);
            }
            if self.over {
                return None;
            }
            // The library's own time-outs take a comment for an answer.
            let event = timeout(self.stall, self.inner.next()).await;
            for (index, tool) in self.frames.newly_started() {
                self.ready.push_back(Ok(ModelEvent::CallStarted { index, tool }));
            }
            match event {
                Err(_) => self.end(Err(stalled(self.frames.any_frame()))),
                Ok(Some(Ok(event))) => self.take(event),
                Ok(Some(Err(error))) => self.end(Err(classify(&error, self.frames.any_frame()))),
                Ok(None) => self.end(Err(incomplete("the stream ended without [DONE]"))),
            }
        }
    }

    fn take(&mut self, event: ChatStreamEvent) {
        match event {
            ChatStreamEvent::Chunk(chunk) => {
                self.text.push_str(&chunk.content);
                self.ready.push_back(Ok(ModelEvent::Text(chunk.content)));
            }
            ChatStreamEvent::ReasoningChunk(chunk) => {
                self.reasoning.push_str(&chunk.content);
                self.ready.push_back(Ok(ModelEvent::Reasoning(chunk.content)));
            }
            ChatStreamEvent::End(end) => {
                let answer = self.answer(end);
                self.end(answer.map(ModelEvent::Finished));
            }
            // Calls are read from the frames; servers of this kind sign no reasoning.
            ChatStreamEvent::Start
            | ChatStreamEvent::Heartbeat
            | ChatStreamEvent::ToolCallChunk(_)
            | ChatStreamEvent::ThoughtSignatureChunk(_) => {}
        }
        if self.text.len() + self.reasoning.len() > TEXT_BYTES_MAX {
            self.end(Err(malformed(format!("an answer of more than {TEXT_BYTES_MAX} bytes"))));
        }
    }

    fn end(&mut self, last: Item) {
        if !self.over {
            self.over = true;
            self.ready.push_back(last.map_err(|error| self.redaction.apply(error)));
        }
    }

    fn answer(&mut self, end: StreamEnd) -> Result<ModelAnswer, ModelError> {
        let Some(stop) = end.captured_stop_reason else {
            return Err(incomplete("the stream ended without a reason to stop"));
        };
        let calls = self.frames.take(matches!(stop, GenaiStop::MaxTokens(_))).map_err(malformed)?;
        let stop = stop_reason(&stop, !calls.is_empty())?;
        let mut parts = Vec::new();
        if !self.reasoning.is_empty() {
            parts.push(AnswerPart::Reasoning { text: std::mem::take(&mut self.reasoning), signature: None });
        }
        if !self.text.is_empty() {
            parts.push(AnswerPart::Text(std::mem::take(&mut self.text)));
        }
        parts.extend(calls);
        Ok(ModelAnswer { parts, stop, usage: end.captured_usage.as_ref().map(usage).unwrap_or_default() })
    }
}

fn stop_reason(stop: &GenaiStop, calls: bool) -> Result<StopReason, ModelError> {
    match stop {
        GenaiStop::MaxTokens(_) => Ok(StopReason::MaxTokens),
        GenaiStop::ContentFilter(_) => Ok(StopReason::Refusal),
        GenaiStop::ToolCall(_) if !calls => Err(malformed("it stopped for tool calls but made none")),
        GenaiStop::Other(why) if why.trim().is_empty() => {
            Err(incomplete("the stream ended without a reason to stop"))
        }
        GenaiStop::Other(why) if why == "error" => {
            Err(ModelError::new(ModelErrorKind::Provider, "the server stopped because of an error"))
        }
        // Some servers name another reason although they made calls.
        GenaiStop::ToolCall(_)
        | GenaiStop::Completed(_)
        | GenaiStop::StopSequence(_)
        | GenaiStop::Other(_) => Ok(if calls { StopReason::ToolUse } else { StopReason::EndTurn }),
    }
}

fn usage(usage: &Usage) -> TokenUsage {
    let tokens = |count: Option<i32>| count.and_then(|count| u64::try_from(count).ok()).unwrap_or(0);
    TokenUsage {
        input: tokens(usage.prompt_tokens),
        output: tokens(usage.completion_tokens),
        cached: tokens(usage.prompt_tokens_details.as_ref().and_then(|details| details.cached_tokens)),
        reasoning: tokens(
            usage.completion_tokens_details.as_ref().and_then(|details| details.reasoning_tokens),
        ),
    }
}
