//! Builds an answer from the events of its stream.

use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, ModelEvent, StopReason, TokenUsage};

use super::event::{BlockDelta, BlockStart, Event, UsageReport};
use crate::wire::{Answer, Heard, Taken, Tokens, in_stream, incomplete, is_json, malformed};

/// The prefix of a signature that holds the data of a redacted block. Real signatures are base64, so none begins with
/// it.
pub(super) const REDACTED: &str = "redacted:";
/// The maximum number of blocks in one answer.
const BLOCKS_MAX: usize = 1024;

/// The answer so far.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<(u64, Block)>,
    calls: usize,
    /// The number of calls that were reported as completely written.
    written: usize,
    /// True if the newest block is a call that is still being written.
    writing: bool,
    taken: Taken,
    stop: Option<String>,
    usage: Counts,
}

enum Block {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Redacted {
        data: String,
    },
    Call {
        tool: String,
        arguments: String,
        given: Option<String>,
        /// `None` until the block ends. Then true if the streamed arguments are complete JSON.
        stopped: Option<bool>,
    },
    /// A block of an unknown kind. It is skipped.
    Unknown,
}

#[derive(Default)]
struct Counts {
    input: Tokens,
    written_to_cache: Tokens,
    read_from_cache: Tokens,
    output: Tokens,
    thinking: Tokens,
}

impl Answer for Blocks {
    const END: &'static str = "message_stop";

    fn take(&mut self, frame: &str) -> Result<Heard, ModelError> {
        let event = Event::read(frame)?;
        if matches!(event, Event::Ping) && !self.writing {
            return Ok(Heard::Connection);
        }
        let mut events: Vec<ModelEvent> = self.hear(event)?.into_iter().collect();
        // `Finished` carries the whole answer, so no other event is needed.
        if !matches!(events.last(), Some(ModelEvent::Finished(_))) {
            // A call is complete before the next block begins, so its event comes first.
            events.splice(0..0, self.newly_written());
        }
        Ok(Heard::Part(events))
    }
}

impl Blocks {
    /// Takes an event of the stream. Returns the model event that follows from it, if any. `message_stop` gives the
    /// whole answer.
    fn hear(&mut self, event: Event) -> Result<Option<ModelEvent>, ModelError> {
        match event {
            Event::MessageStart { message } => Ok(self.count(message.usage)),
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block),
            Event::ContentBlockDelta { index, delta } => self.add(index, delta),
            Event::MessageDelta { delta, usage } => {
                self.stop = delta.stop_reason.or(self.stop.take());
                Ok(self.count(usage))
            }
            Event::MessageStop => self.finish().map(|answer| Some(ModelEvent::Finished(answer))),
            Event::Error { error } => Err(in_stream(&error)),
            Event::ContentBlockStop { index } => {
                self.writing = false;
                let block = self.blocks.iter_mut().rev().find(|(known, _)| Some(*known) == index);
                if let Some((_, Block::Call { stopped, arguments, .. })) = block {
                    *stopped = Some(is_json(arguments));
                }
                Ok(None)
            }
            Event::Ping | Event::Unknown => Ok(None),
        }
    }

    fn count(&mut self, report: Option<UsageReport>) -> Option<ModelEvent> {
        self.usage.take(report?);
        Some(ModelEvent::Counted(self.usage.total()))
    }

    fn start(&mut self, index: u64, block: BlockStart) -> Result<Option<ModelEvent>, ModelError> {
        if self.blocks.iter().any(|(known, _)| *known == index) {
            return Err(malformed(format!("block {index} begins twice")));
        }
        if self.blocks.len() == BLOCKS_MAX {
            return Err(malformed(format!("more than {BLOCKS_MAX} blocks in one answer")));
        }
        self.writing = matches!(block, BlockStart::ToolUse { .. });
        let (block, event) = match block {
            BlockStart::Text { text } => {
                self.taken.text(&text)?;
                let event = (!text.is_empty()).then(|| ModelEvent::Text(text.clone()));
                (Block::Text(text), event)
            }
            BlockStart::Thinking { thinking, signature } => {
                self.taken.text(&thinking)?;
                self.taken.text(&signature)?;
                let event = (!thinking.is_empty()).then(|| ModelEvent::Reasoning(thinking.clone()));
                (Block::Thinking { text: thinking, signature }, event)
            }
            BlockStart::RedactedThinking { data } => {
                self.taken.text(&data)?;
                (Block::Redacted { data }, None)
            }
            BlockStart::ToolUse { name, input } => {
                self.taken.call()?;
                let given = input.as_object().filter(|fields| !fields.is_empty()).map(|_| input.to_string());
                self.taken.arguments(given.as_deref().unwrap_or_default())?;
                let event = ModelEvent::CallStarted { index: self.calls, tool: name.clone() };
                self.calls += 1;
                let (arguments, stopped) = (String::new(), None);
                (Block::Call { tool: name, arguments, given, stopped }, Some(event))
            }
            BlockStart::Unknown => (Block::Unknown, None),
        };
        self.blocks.push((index, block));
        Ok(event)
    }

    fn add(&mut self, index: u64, delta: BlockDelta) -> Result<Option<ModelEvent>, ModelError> {
        match &delta {
            BlockDelta::TextDelta { text: piece }
            | BlockDelta::ThinkingDelta { thinking: piece }
            | BlockDelta::SignatureDelta { signature: piece } => self.taken.text(piece)?,
            BlockDelta::InputJsonDelta { partial_json } => self.taken.arguments(partial_json)?,
            BlockDelta::Unknown => {}
        }
        let Some((_, block)) = self.blocks.iter_mut().rev().find(|(known, _)| *known == index) else {
            return Err(malformed(format!("a piece of block {index}, which has not begun")));
        };
        match (block, delta) {
            (Block::Text(all), BlockDelta::TextDelta { text }) => {
                all.push_str(&text);
                Ok((!text.is_empty()).then_some(ModelEvent::Text(text)))
            }
            (Block::Thinking { text, .. }, BlockDelta::ThinkingDelta { thinking }) => {
                text.push_str(&thinking);
                Ok((!thinking.is_empty()).then_some(ModelEvent::Reasoning(thinking)))
            }
            (Block::Thinking { signature, .. }, BlockDelta::SignatureDelta { signature: piece }) => {
                signature.push_str(&piece);
                Ok(None)
            }
            (Block::Call { arguments, .. }, BlockDelta::InputJsonDelta { partial_json }) => {
                arguments.push_str(&partial_json);
                Ok((!partial_json.is_empty()).then_some(ModelEvent::Wrote(partial_json.len())))
            }
            (Block::Unknown, _) | (_, BlockDelta::Unknown) => Ok(None),
            (
                Block::Text(_) | Block::Thinking { .. } | Block::Redacted { .. } | Block::Call { .. },
                BlockDelta::TextDelta { .. }
                | BlockDelta::ThinkingDelta { .. }
                | BlockDelta::SignatureDelta { .. }
                | BlockDelta::InputJsonDelta { .. },
            ) => Err(malformed(format!("a piece of another kind than its block {index}"))),
        }
    }

    /// Returns events for the calls that were completed since the last time, in order. The service also ends a block
    /// where the answer is cut off. A call in the last block therefore counts only if its arguments are complete JSON,
    /// or once the stop reason shows that the answer is complete.
    fn newly_written(&mut self) -> Vec<ModelEvent> {
        if self.written == self.calls {
            return Vec::new();
        }
        let stop = self.stop.as_deref().and_then(|stop| stop_reason(stop, true).ok());
        let ended = stop.is_some_and(StopReason::is_whole);
        let last = self.blocks.len().saturating_sub(1);
        let mut events = Vec::new();
        let mut index = 0;
        for (at, (_, block)) in self.blocks.iter().enumerate() {
            let Block::Call { tool, arguments, given, stopped } = block else { continue };
            if index >= self.written {
                let whole = stopped.is_some_and(|readable| readable || at < last || ended);
                if !whole {
                    break;
                }
                let arguments = in_full(arguments.clone(), given.clone(), false);
                events.push(ModelEvent::CallWritten { index, tool: tool.clone(), arguments });
            }
            index += 1;
        }
        self.written = index.max(self.written);
        events
    }

    fn finish(&mut self) -> Result<ModelAnswer, ModelError> {
        let Some(stop) = self.stop.take().filter(|stop| !stop.trim().is_empty()) else {
            return Err(incomplete("the stream ended without a reason to stop"));
        };
        let stop = stop_reason(&stop, self.calls > 0)?;
        let blocks = std::mem::take(&mut self.blocks);
        let last = blocks.len().saturating_sub(1);
        let parts = blocks
            .into_iter()
            .enumerate()
            .filter_map(|(at, (_, block))| block.into_part(stop == StopReason::MaxTokens && at == last))
            .collect();
        Ok(ModelAnswer { parts, stop, usage: self.usage.total() })
    }
}

impl Block {
    /// Returns the block as a part of the answer, or `None` if it is empty or of an unknown kind. `cut` is true if this
    /// is the last block of an answer that reached its token limit, so the block may be incomplete.
    fn into_part(self, cut: bool) -> Option<AnswerPart> {
        match self {
            Self::Text(text) => (!text.is_empty()).then_some(AnswerPart::Text(text)),
            Self::Thinking { text, signature } if text.is_empty() && signature.is_empty() => None,
            Self::Thinking { text, signature } => {
                Some(AnswerPart::Reasoning { text, signature: (!signature.is_empty()).then_some(signature) })
            }
            Self::Redacted { data } => Some(AnswerPart::Reasoning {
                text: String::new(),
                signature: Some(format!("{REDACTED}{data}")),
            }),
            Self::Call { tool, arguments, given, stopped: _ } => {
                Some(AnswerPart::Call { tool, arguments: in_full(arguments, given, cut) })
            }
            Self::Unknown => None,
        }
    }
}

/// Returns the arguments of a call: the streamed ones or, if there are none, those in the first event of the call. If
/// there are neither, returns an empty object, or nothing if the call may have been cut off.
fn in_full(arguments: String, given: Option<String>, cut: bool) -> String {
    let written = !arguments.trim().is_empty();
    match given {
        Some(given) if !written => given,
        // A model writes nothing for a call without arguments. A call that was cut off has no arguments yet.
        None if !written && !cut => "{}".to_owned(),
        Some(_) | None => arguments,
    }
}

fn stop_reason(stop: &str, calls: bool) -> Result<StopReason, ModelError> {
    match stop {
        "max_tokens" | "model_context_window_exceeded" => Ok(StopReason::MaxTokens),
        "refusal" => Ok(StopReason::Refusal),
        "tool_use" if !calls => Err(malformed("it stopped for tool calls but made none")),
        _ if calls => Ok(StopReason::ToolUse),
        // `end_turn`, `stop_sequence`, and reasons that servers may add.
        _ => Ok(StopReason::EndTurn),
    }
}

impl Counts {
    fn take(&mut self, report: UsageReport) {
        self.input.raise(report.input_tokens);
        self.written_to_cache.raise(report.cache_creation_input_tokens);
        self.read_from_cache.raise(report.cache_read_input_tokens);
        self.output.raise(report.output_tokens);
        self.thinking
            .raise(report.output_tokens_details.map(|details| details.thinking_tokens).unwrap_or_default());
    }

    /// Returns the usage in core's terms. The service counts cached tokens separately; core counts them as input.
    fn total(&self) -> TokenUsage {
        TokenUsage {
            input: self.input.get() + self.written_to_cache.get() + self.read_from_cache.get(),
            output: self.output.get(),
            cached: self.read_from_cache.get(),
            cache_written: self.written_to_cache.get(),
            reasoning: self.thinking.get(),
        }
    }
}
