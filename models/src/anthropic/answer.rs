//! An answer, put together from the events of its stream.

use holdover_core::model::{AnswerPart, ModelAnswer, ModelError, ModelEvent, StopReason, TokenUsage};

use super::event::{BlockDelta, BlockStart, Event, UsageReport};
use crate::wire::{Answer, Heard, Taken, Tokens, in_stream, incomplete, malformed};

/// Marks the data of a redacted block among signatures, which are base64.
pub(super) const REDACTED: &str = "redacted:";
/// The most blocks of one answer.
const BLOCKS_MAX: usize = 1024;

/// What has come of an answer.
#[derive(Default)]
pub(super) struct Blocks {
    blocks: Vec<(u64, Block)>,
    calls: usize,
    /// Whether the newest block is a call that is still being written.
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
    },
    /// Of a kind that was not asked for.
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
        Ok(Heard::Part(self.hear(event)?.into_iter().collect()))
    }
}

impl Blocks {
    /// What an event says, if it says something to whoever listens; the answer at its end.
    fn hear(&mut self, event: Event) -> Result<Option<ModelEvent>, ModelError> {
        match event {
            Event::MessageStart { message } => {
                self.usage.take(message.usage.unwrap_or_default());
                Ok(None)
            }
            Event::ContentBlockStart { index, content_block } => self.start(index, content_block),
            Event::ContentBlockDelta { index, delta } => self.add(index, delta),
            Event::MessageDelta { delta, usage } => {
                self.usage.take(usage.unwrap_or_default());
                self.stop = delta.stop_reason.or(self.stop.take());
                Ok(None)
            }
            Event::MessageStop => self.finish().map(|answer| Some(ModelEvent::Finished(answer))),
            Event::Error { error } => Err(in_stream(&error)),
            Event::ContentBlockStop => {
                self.writing = false;
                Ok(None)
            }
            Event::Ping | Event::Unknown => Ok(None),
        }
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
                (Block::Call { tool: name, arguments: String::new(), given }, Some(event))
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
                Ok(None)
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
    /// `cut`: whether the answer ended at its cap on tokens, maybe in the middle of this block.
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
            Self::Call { tool, arguments, given } => {
                let written = !arguments.trim().is_empty();
                let arguments = match given {
                    Some(given) if !written => given,
                    // Nothing is written for a tool without arguments; nor for one that was cut off.
                    None if !written && !cut => "{}".to_owned(),
                    Some(_) | None => arguments,
                };
                Some(AnswerPart::Call { tool, arguments })
            }
            Self::Unknown => None,
        }
    }
}

fn stop_reason(stop: &str, calls: bool) -> Result<StopReason, ModelError> {
    match stop {
        "max_tokens" | "model_context_window_exceeded" => Ok(StopReason::MaxTokens),
        "refusal" => Ok(StopReason::Refusal),
        "tool_use" if !calls => Err(malformed("it stopped for tool calls but made none")),
        _ if calls => Ok(StopReason::ToolUse),
        // `end_turn`, `stop_sequence`, and what servers may add.
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

    /// In core's words: the service counts what went through its cache apart, core counts it as input.
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
