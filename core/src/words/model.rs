//! The trait of model adapters, and its types.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use futures::stream::{self, BoxStream};
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod error;

pub use error::{ModelError, ModelErrorKind};

use crate::words::ids::SessionKey;
use crate::words::list::SharedList;
use crate::words::message::Message;
use crate::words::payload::is_default;

/// A language model: one call, one stream.
///
/// The engine may call it again for the same step after a crash or an error; an adapter therefore has no
/// effect outside. It never retries by itself: one layer only retries, and that is core.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// The model as a person would name it: `openai:gpt-5`. For logs and errors.
    fn name(&self) -> &str;

    /// By what a [breaker](crate::machine::breaker) knows it: all that say the same share one, in whatever process, and
    /// those that say otherwise know nothing of each other. So it tells apart what can fail apart (the server, the
    /// account), is the same in every process with the same settings, and holds no secret: it is stored, logged and
    /// shown. Left out it is the name. A model around another says what the other says.
    fn circuit(&self) -> &str {
        self.name()
    }

    /// How long this model may say nothing before it is given up. None: as long as the runtime lets any model.
    fn stall_timeout(&self) -> Option<Duration> {
        None
    }

    /// Begins one model call. Dropping the stream stops the call.
    ///
    /// The stream ends with exactly one [`ModelEvent::Finished`], or with one error, after which nothing
    /// more comes. A stream that ends without either was cut: the engine treats it as
    /// [`ModelErrorKind::Incomplete`], never as an answer.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// What comes while a model answers.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// Everything a model is asked with.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The session that asks, also for a summary: for keys and limits of each tenant, and for traces. An adapter tells
    /// its provider nothing of it unless it was set up to.
    pub session: SessionKey,
    /// The system prompt.
    pub system: Arc<str>,
    /// The transcript, oldest first. Each call has exactly one result; decisions and notices are left out. To clone the list
    /// copies no message and no pointer to one.
    pub messages: SharedList<Arc<Message>>,
    /// The tools it may ask for.
    pub tools: Arc<[ModelTool]>,
    /// Output tokens at most.
    pub max_output_tokens: u32,
    /// Which step of the session and which attempt at it: for logs, and for the scripted model.
    pub step: u64,
    /// The attempt at this step, from 0.
    pub attempt: u32,
}

/// A tool as a model is told of it: no executor in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTool {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// The JSON Schema of its arguments.
    pub parameters: Value,
}

/// One thing that comes while a model answers.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// The model began to ask for a tool.
    CallStarted {
        /// Which call of this answer, from 0.
        index: usize,
        /// Which tool.
        tool: String,
    },
    /// The model wrote a call to its end. In the order of the calls; those that it does not say so of are known once the
    /// whole answer is there. An adapter says it as soon as the wire does, of every call of which it can be known before
    /// [`Finished`](Self::Finished), and never of one that may have been cut off. Only the whole answer counts: what comes
    /// otherwise there was not written so.
    CallWritten {
        /// Which call of this answer, from 0.
        index: usize,
        /// Which tool.
        tool: String,
        /// The arguments, as they stand in the whole answer.
        arguments: String,
    },
    /// Something came that is not to be shown and not to be counted. An adapter says so for each, since by this, too, it is
    /// known that the model is still writing.
    Progress,
    /// The model wrote so many bytes of a call's arguments, which are shown once they are whole.
    Wrote(usize),
    /// What the provider has counted of this call so far; each count replaces the one before. It stands for the call if the
    /// answer never becomes whole.
    Counted(TokenUsage),
    /// The whole answer; the last event.
    Finished(ModelAnswer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// What was said, in order.
    pub parts: Vec<AnswerPart>,
    /// Why the model stopped.
    pub stop: StopReason,
    /// What it used.
    pub usage: TokenUsage,
}

impl ModelAnswer {
    /// An answer that says this, whole; an empty text says nothing. What it used is not counted.
    ///
    /// ```
    /// use holdover_core::model::{ModelAnswer, StopReason};
    ///
    /// let answer = ModelAnswer::text("I look it up.").call("look_up", serde_json::json!({ "order": 7 }));
    /// assert_eq!((answer.parts.len(), answer.stop), (2, StopReason::ToolUse));
    /// ```
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let parts = if text.is_empty() { Vec::new() } else { vec![AnswerPart::Text(text)] };
        Self { parts, stop: StopReason::EndTurn, usage: TokenUsage::default() }
    }

    /// The same, and it asks for this tool, too.
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.parts.push(AnswerPart::Call { tool: tool.into(), arguments: arguments.to_string() });
        Self { stop: StopReason::ToolUse, ..self }
    }

    /// The same, and it used these tokens.
    #[must_use]
    pub fn using(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }

    /// The stream of a model that gives its answer all at once: an event for each part, then
    /// [`Finished`](ModelEvent::Finished). For a server that does not stream, and for models in tests.
    pub fn into_stream(self) -> ModelStream {
        let mut events = Vec::new();
        let mut calls = 0..;
        for part in &self.parts {
            match part {
                AnswerPart::Text(text) => events.push(ModelEvent::Text(text.clone())),
                AnswerPart::Reasoning { text, .. } => events.push(ModelEvent::Reasoning(text.clone())),
                AnswerPart::Call { tool, arguments } => {
                    let index = calls.next().unwrap_or_default();
                    let (tool, arguments) = (tool.clone(), arguments.clone());
                    events.push(ModelEvent::CallStarted { index, tool: tool.clone() });
                    if self.stop.is_whole() {
                        events.push(ModelEvent::CallWritten { index, tool, arguments });
                    }
                }
            }
        }
        events.push(ModelEvent::Finished(self));
        stream::iter(events.into_iter().map(Ok)).boxed()
    }
}

/// A part of an answer. Calls have no id yet: the engine gives its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPart {
    /// Text for the reader.
    Text(String),
    /// Reasoning, with what the provider wants to see again with it.
    Reasoning {
        /// The text.
        text: String,
        /// Opaque.
        signature: Option<String>,
    },
    /// A tool call.
    Call {
        /// Which tool, as the model named it.
        tool: String,
        /// The arguments, as the model wrote them; what cannot be parsed stays as it is.
        arguments: String,
    },
}

/// Why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// It said all it wanted.
    EndTurn,
    /// It asks for tools.
    ToolUse,
    /// It reached the cap on output tokens.
    MaxTokens,
    /// It refused to answer.
    Refusal,
}

impl StopReason {
    /// Whether what was said is all that the model wanted to say: neither cut off nor refused.
    pub fn is_whole(self) -> bool {
        match self {
            Self::EndTurn | Self::ToolUse => true,
            Self::MaxTokens | Self::Refusal => false,
        }
    }
}

/// What model calls used, in tokens. As JSON, what is zero is left out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TokenUsage {
    /// Tokens read, cached ones among them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub input: u64,
    /// Tokens written, reasoning among them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub output: u64,
    /// Of those read: from the provider's cache.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cached: u64,
    /// Of those read: written to the provider's cache, for the next call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub cache_written: u64,
    /// Of those written: reasoning.
    #[serde(default, skip_serializing_if = "is_default")]
    pub reasoning: u64,
}

impl TokenUsage {
    /// Adds another usage. A server says what it likes: what cannot be counted stays at the most that can.
    pub fn add(&mut self, other: Self) {
        let add = |count: &mut u64, more: u64| *count = count.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.output, other.output);
        add(&mut self.cached, other.cached);
        add(&mut self.cache_written, other.cache_written);
        add(&mut self.reasoning, other.reasoning);
    }

    /// Tokens read and written.
    pub fn total(&self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// What is known of the use of a model call that gave no whole answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartialUse {
    /// What the provider had counted; zero where it had counted nothing.
    pub counted: TokenUsage,
    /// How many bytes of an answer had come: text, reasoning, and the arguments of calls.
    pub bytes: usize,
    /// Whether the answer came whole, and was not taken: then the provider has counted all there is.
    pub whole: bool,
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn events(answer: ModelAnswer) -> Vec<ModelEvent> {
        let events: Vec<_> = answer.into_stream().collect().now_or_never().unwrap();
        events.into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn an_answer_that_is_there_at_once_is_a_stream_that_ends_with_it() {
        assert_eq!(events(ModelAnswer::text("")), [ModelEvent::Finished(ModelAnswer::text(""))]);
        assert_eq!(ModelAnswer::text("").parts, []);

        let (one, two) = (serde_json::json!({ "n": 1 }), serde_json::json!({}));
        let usage = TokenUsage { input: 7, ..TokenUsage::default() };
        let answer = ModelAnswer::text("Both.").call("a", one).call("b", two).using(usage);
        let started = |index, tool: &str| ModelEvent::CallStarted { index, tool: tool.to_owned() };
        let written = |index, tool: &str, arguments: &str| ModelEvent::CallWritten {
            index,
            tool: tool.to_owned(),
            arguments: arguments.to_owned(),
        };
        let expected = [
            ModelEvent::Text("Both.".to_owned()),
            started(0, "a"),
            written(0, "a", r#"{"n":1}"#),
            started(1, "b"),
            written(1, "b", "{}"),
            ModelEvent::Finished(answer.clone()),
        ];
        assert_eq!(events(answer.clone()), expected);

        // Whether the last call is whole is not known then, so of none it is said that it is.
        let cut = events(ModelAnswer { stop: StopReason::MaxTokens, ..answer });
        assert!(!cut.iter().any(|event| matches!(event, ModelEvent::CallWritten { .. })), "{cut:?}");
    }
}
