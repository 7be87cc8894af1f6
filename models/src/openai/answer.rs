//! Builds an answer from the chunks of its stream.

use holdover_core::model::{
    AnswerPart, ModelAnswer, ModelError, ModelErrorKind, ModelEvent, StopReason, TokenUsage,
};

use super::calls::Calls;
use super::chunk::{Choice, Chunk, Delta, UsageReport};
use super::signature::Signature;
use crate::wire::{Answer, Heard, Taken, Tokens, in_stream, incomplete, malformed};

/// The answer so far.
#[derive(Default)]
pub(super) struct Chunks {
    /// The model that writes the answer.
    model: String,
    signature: Signature,
    text: String,
    reasoning: String,
    calls: Calls,
    taken: Taken,
    refused: bool,
    stop: Option<String>,
    usage: Counts,
}

#[derive(Default)]
struct Counts {
    input: Tokens,
    output: Tokens,
    cached: Tokens,
    cache_written: Tokens,
    reasoning: Tokens,
}

impl Answer for Chunks {
    const END: &'static str = "[DONE]";

    fn take(&mut self, frame: &str) -> Result<Heard, ModelError> {
        if frame.trim() == Self::END {
            return Ok(Heard::Part(vec![ModelEvent::Finished(self.finish()?)]));
        }
        let chunk: Chunk = serde_json::from_str(frame)
            .map_err(|error| malformed(format!("a chunk cannot be read: {error}")))?;
        if let Some(error) = chunk.error {
            return Err(in_stream(&error));
        }
        let mut events = Vec::new();
        if let Some(report) = chunk.usage {
            self.usage.take(report);
            events.push(ModelEvent::Counted(self.usage.total()));
        }
        // Only one answer is asked for.
        if let Some(Choice { delta, finish_reason }) = chunk.choices.and_then(|all| all.into_iter().next()) {
            self.hear(delta.unwrap_or_default(), &mut events)?;
            self.stop = finish_reason.filter(|reason| !reason.trim().is_empty()).or(self.stop.take());
            events.extend(self.calls.newly_written(self.is_through()));
        }
        Ok(Heard::Part(events))
    }
}

impl Chunks {
    /// Returns an empty answer of this model.
    pub(super) fn of(model: &str) -> Self {
        Self { model: model.to_owned(), ..Self::default() }
    }

    fn hear(&mut self, mut delta: Delta, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        let thought = delta.thought();
        if !thought.is_empty() {
            self.taken.text(&thought)?;
            self.reasoning.push_str(&thought);
            events.push(ModelEvent::Reasoning(thought));
        }
        if let Some(details) = delta.reasoning_details.take() {
            self.signature.add_details(details, &mut self.taken)?;
        }
        if let Some(extra) = delta.extra_content.take() {
            self.signature.keep_message(extra, &mut self.taken)?;
        }
        // A refusal comes in a separate field, instead of the answer.
        let refusal = delta.refusal.as_deref().unwrap_or_default();
        self.refused |= !refusal.is_empty();
        for piece in [&delta.text(), refusal] {
            if !piece.is_empty() {
                self.taken.text(piece)?;
                self.text.push_str(piece);
                events.push(ModelEvent::Text(piece.to_owned()));
            }
        }
        for call in delta.tool_calls.into_iter().flatten() {
            let bytes = self.calls.add(call, &mut self.taken)?;
            if bytes > 0 {
                events.push(ModelEvent::Wrote(bytes));
            }
        }
        events.extend(self.calls.newly_started());
        Ok(())
    }

    /// Returns true if the answer is complete: it has ended, and was neither cut off nor refused.
    fn is_through(&self) -> bool {
        let stop = self.stop.as_deref().filter(|_| !self.refused);
        stop.and_then(|stop| stop_reason(stop, !self.calls.is_empty()).ok()).is_some_and(StopReason::is_whole)
    }

    fn finish(&mut self) -> Result<ModelAnswer, ModelError> {
        let Some(stop) = self.stop.take() else {
            return Err(incomplete("the stream ended without a reason to stop"));
        };
        let stop =
            if self.refused { StopReason::Refusal } else { stop_reason(&stop, !self.calls.is_empty())? };
        let mut parts = Vec::new();
        let extras = self.calls.take_extra_contents();
        let signature = std::mem::take(&mut self.signature).into_stored(&self.model, extras);
        if !self.reasoning.is_empty() || signature.is_some() {
            parts.push(AnswerPart::Reasoning { text: std::mem::take(&mut self.reasoning), signature });
        }
        if !self.text.is_empty() {
            parts.push(AnswerPart::Text(std::mem::take(&mut self.text)));
        }
        parts.extend(std::mem::take(&mut self.calls).into_parts(stop == StopReason::MaxTokens));
        Ok(ModelAnswer { parts, stop, usage: self.usage.total() })
    }
}

fn stop_reason(stop: &str, calls: bool) -> Result<StopReason, ModelError> {
    match stop.to_ascii_lowercase().as_str() {
        "length" | "max_tokens" | "model_length" | "incomplete" | "model_context_window_exceeded" => {
            Ok(StopReason::MaxTokens)
        }
        "content_filter" | "refusal" | "safety" | "recitation" | "blocklist" | "prohibited_content" => {
            Ok(StopReason::Refusal)
        }
        "error" => Err(ModelError::new(ModelErrorKind::Provider, "the server stopped because of an error")),
        "tool_calls" | "tool_use" | "function_call" if !calls => {
            Err(malformed("it stopped for tool calls but made none"))
        }
        // Some servers give another stop reason although the model made calls.
        _ => Ok(if calls { StopReason::ToolUse } else { StopReason::EndTurn }),
    }
}

impl Counts {
    fn take(&mut self, report: UsageReport) {
        self.input.raise(report.prompt_tokens);
        self.output.raise(report.completion_tokens);
        let read = report.prompt_tokens_details.unwrap_or_default();
        self.cached.raise(read.cached_tokens);
        self.cache_written.raise(read.cache_write_tokens);
        self.cache_written.raise(report.cache_creation_input_tokens);
        self.reasoning
            .raise(report.completion_tokens_details.map(|of| of.reasoning_tokens).unwrap_or_default());
    }

    fn total(&self) -> TokenUsage {
        TokenUsage {
            input: self.input.get(),
            output: self.output.get(),
            cached: self.cached.get(),
            cache_written: self.cache_written.get(),
            reasoning: self.reasoning.get(),
        }
    }
}
