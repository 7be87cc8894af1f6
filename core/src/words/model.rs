//! The trait that model adapters implement, and its types.

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
pub use crate::words::usage::TokenUsage;

/// A language model. Each call returns one stream.
///
/// After a crash or an error, the engine may call the model again for the same step. An adapter must
/// therefore have no outside effects, and it must not retry: only the core retries.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// Returns the name of the model for logs and errors, such as `openai:gpt-5`.
    fn name(&self) -> &str;

    /// Returns the name that identifies the model to the [circuit breaker](crate::machine::breaker). Models
    /// with the same name share one breaker across all processes. Models with different names have separate
    /// breakers. The name must therefore distinguish everything that can fail separately, such as the server
    /// and the account. It must be the same in every process with the same settings. It must not contain a
    /// secret, because it is stored, logged and shown. The default is [`name`](Self::name). A model that
    /// wraps another returns the name of the inner model.
    fn circuit(&self) -> &str {
        self.name()
    }

    /// Returns the longest silence before a call of this model is given up. `None` means the runtime's own
    /// limit.
    fn stall_timeout(&self) -> Option<Duration> {
        None
    }

    /// Begins one model call. Dropping the stream stops the call.
    ///
    /// The stream ends with exactly one [`ModelEvent::Finished`] or one error, and nothing follows it. A
    /// stream that ends without either was cut off: the engine treats it as [`ModelErrorKind::Incomplete`],
    /// never as an answer.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// The events of a model's answer.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// A request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The session that makes the request, which may be for a step or a summary. Adapters use it for traces
    /// and for the keys and limits of each tenant. An adapter does not send it to its provider unless
    /// configured to do so.
    pub session: SessionKey,
    /// The system prompt of the request.
    pub system: Arc<str>,
    /// The messages that the model sees, oldest first. Each call has exactly one result. Decisions are left out,
    /// and summaries and the notices that the model sees are messages of a user. A clone of the list shares its
    /// memory and copies no messages.
    pub messages: SharedList<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<[ModelTool]>,
    /// The maximum number of output tokens.
    pub max_output_tokens: u32,
    /// The number of the step in the session, used by logs and the scripted model.
    pub step: u64,
    /// The number of the attempt at this step, from 0.
    pub attempt: u32,
}

/// A tool as the model sees it, without the code that runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelTool {
    /// The name of the tool.
    pub name: String,
    /// The description of the tool, for the model.
    pub description: String,
    /// The JSON Schema of the arguments.
    pub parameters: Value,
}

/// An event of a model's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ModelEvent {
    /// More text of the answer.
    Text(String),
    /// More reasoning of the model.
    Reasoning(String),
    /// The model began to write a tool call.
    CallStarted {
        /// The index of the call in this answer, from 0.
        index: usize,
        /// The name of the tool.
        tool: String,
    },
    /// The model finished writing a call. These events come in call order. An adapter sends this event as
    /// soon as the protocol allows, for every call that it can know before [`Finished`](Self::Finished), but
    /// never for a call that may have been cut off. Other calls become known with the whole answer. If the
    /// whole answer differs, it takes precedence.
    CallWritten {
        /// The index of the call in this answer, from 0.
        index: usize,
        /// The name of the tool.
        tool: String,
        /// The arguments, exactly as in the whole answer.
        arguments: String,
    },
    /// Data arrived that is neither shown nor counted. An adapter sends this event for each such item,
    /// because it proves that the model is still writing.
    Progress,
    /// The model wrote this many bytes of a call's arguments, which are shown only once they are complete.
    Wrote(usize),
    /// The provider's token count for this call so far. Each count replaces the previous one. The last count
    /// is the usage of the call if the answer never becomes complete.
    Counted(TokenUsage),
    /// The whole answer. This is the last event of the stream.
    Finished(ModelAnswer),
}

/// A complete answer of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The parts of the answer, in order.
    pub parts: Vec<AnswerPart>,
    /// The reason why the model stopped writing.
    pub stop: StopReason,
    /// The tokens that the call used.
    pub usage: TokenUsage,
}

impl ModelAnswer {
    /// Returns an answer with this text and zero usage. An empty text adds no part.
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

    /// Adds a call of this tool, and sets the stop reason to [`StopReason::ToolUse`].
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.parts.push(AnswerPart::Call { tool: tool.into(), arguments: arguments.to_string() });
        Self { stop: StopReason::ToolUse, ..self }
    }

    /// Sets the tokens that the call used.
    #[must_use]
    pub fn using(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }

    /// Converts the answer into a stream that yields it at once: the events of each part, then
    /// [`Finished`](ModelEvent::Finished). Each call yields [`CallStarted`](ModelEvent::CallStarted) and, if
    /// the answer is complete, [`CallWritten`](ModelEvent::CallWritten). Meant for servers that do not stream
    /// and for models in tests.
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

/// A part of an answer. Calls have no id yet, because the engine assigns ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPart {
    /// Text for the reader.
    Text(String),
    /// Reasoning, with data that the provider needs back.
    Reasoning {
        /// The reasoning text.
        text: String,
        /// Opaque data of the provider.
        signature: Option<String>,
    },
    /// A tool call.
    Call {
        /// The name of the tool, as the model wrote it.
        tool: String,
        /// The arguments, as the model wrote them. They may not be valid JSON.
        arguments: String,
    },
}

/// The reason why a model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model finished its answer.
    EndTurn,
    /// The model called tools.
    ToolUse,
    /// The model reached the limit on output tokens.
    MaxTokens,
    /// The model refused to answer.
    Refusal,
}

impl StopReason {
    /// Returns true if the answer is complete: neither cut off nor refused.
    pub fn is_whole(self) -> bool {
        match self {
            Self::EndTurn | Self::ToolUse => true,
            Self::MaxTokens | Self::Refusal => false,
        }
    }
}

/// The known usage of a model call that returned no usable answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartialUse {
    /// The provider's token count. Zero if the provider had not counted yet.
    pub counted: TokenUsage,
    /// The number of bytes of the answer that had arrived: text, reasoning, and the arguments of calls.
    pub bytes: usize,
    /// True if the whole answer arrived but was not accepted. The provider's count is then complete.
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

        // It is not known here if the last call is complete, so no call is reported as written.
        let cut = events(ModelAnswer { stop: StopReason::MaxTokens, ..answer });
        assert!(!cut.iter().any(|event| matches!(event, ModelEvent::CallWritten { .. })), "{cut:?}");
    }
}
