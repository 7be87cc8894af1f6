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
pub use crate::words::usage::TokenUsage;

/// A language model: one call, one stream.
///
/// After a crash or an error, the engine may call the model again for the same step. An adapter therefore has
/// no effect outside, and never retries by itself: only the core retries.
#[async_trait]
pub trait Model: Send + Sync + 'static {
    /// The name of the model for people: `openai:gpt-5`. For logs and errors.
    fn name(&self) -> &str;

    /// The name under which a [breaker](crate::machine::breaker) knows the model. Models with the same name
    /// share one breaker, in all processes; models with different names know nothing of each other. So the
    /// name distinguishes everything that can fail separately (the server, the account), and is the same in
    /// every process with the same settings. It holds no secret, because it is stored, logged and shown. By
    /// default it is [`name`](Self::name). A model that wraps another returns the name of that one.
    fn circuit(&self) -> &str {
        self.name()
    }

    /// How long this model may be silent before the call is given up. None: the runtime's own limit applies.
    fn stall_timeout(&self) -> Option<Duration> {
        None
    }

    /// Begins one model call. Dropping the stream stops the call.
    ///
    /// The stream ends with exactly one [`ModelEvent::Finished`], or with one error, after which nothing more
    /// comes. A stream that ends without either was cut: the engine treats it as
    /// [`ModelErrorKind::Incomplete`], never as an answer.
    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError>;
}

/// The events of a model's answer.
pub type ModelStream = BoxStream<'static, Result<ModelEvent, ModelError>>;

/// The request to a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelRequest {
    /// The session that asks, for a summary too. It serves for keys and limits of each tenant, and for
    /// traces. An adapter does not send it to its provider unless it is set up to do so.
    pub session: SessionKey,
    /// The system prompt.
    pub system: Arc<str>,
    /// The transcript, oldest first. Each call has exactly one result; decisions and notices are left out. A
    /// clone of the list copies no message and no pointer to one.
    pub messages: SharedList<Arc<Message>>,
    /// The tools that the model may call.
    pub tools: Arc<[ModelTool]>,
    /// The most output tokens.
    pub max_output_tokens: u32,
    /// The step of the session: for logs, and for the scripted model.
    pub step: u64,
    /// The attempt at this step, from 0.
    pub attempt: u32,
}

/// A tool as a model is told of it, without the code that runs it.
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
    /// More text.
    Text(String),
    /// More reasoning.
    Reasoning(String),
    /// The model began to write a tool call.
    CallStarted {
        /// The place of the call in this answer, from 0.
        index: usize,
        /// The tool.
        tool: String,
    },
    /// The model finished writing a call. These events come in the order of the calls. Calls without this
    /// event become known with the whole answer. An adapter sends it as soon as the wire allows, for every
    /// call that can be known before [`Finished`](Self::Finished), and never for a call that may have been
    /// cut off. If the whole answer differs, the whole answer counts.
    CallWritten {
        /// The place of the call in this answer, from 0.
        index: usize,
        /// The tool.
        tool: String,
        /// The arguments, as they stand in the whole answer.
        arguments: String,
    },
    /// Something arrived that is neither shown nor counted. An adapter sends this for each such item, because
    /// it also shows that the model is still writing.
    Progress,
    /// The model wrote this many bytes of a call's arguments, which are shown once they are complete.
    Wrote(usize),
    /// The provider's token count of this call so far; each count replaces the one before. It is the usage of
    /// the call if the answer never becomes complete.
    Counted(TokenUsage),
    /// The whole answer. This is the last event.
    Finished(ModelAnswer),
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelAnswer {
    /// The parts of the answer, in order.
    pub parts: Vec<AnswerPart>,
    /// The reason why the model stopped.
    pub stop: StopReason,
    /// The usage of the call.
    pub usage: TokenUsage,
}

impl ModelAnswer {
    /// A whole answer with this text; an empty text adds no part. Its usage is zero.
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

    /// Adds a call of this tool, and sets the reason for stopping to `StopReason::ToolUse`.
    #[must_use]
    pub fn call(mut self, tool: impl Into<String>, arguments: Value) -> Self {
        self.parts.push(AnswerPart::Call { tool: tool.into(), arguments: arguments.to_string() });
        Self { stop: StopReason::ToolUse, ..self }
    }

    /// Sets the tokens that the answer used.
    #[must_use]
    pub fn using(self, usage: TokenUsage) -> Self {
        Self { usage, ..self }
    }

    /// Turns the answer into the stream of a model that gives it all at once: the events of each part, then
    /// [`Finished`](ModelEvent::Finished). A call is reported as started, and also as written if the answer
    /// is complete. For a server that does not stream, and for models in tests.
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

/// A part of an answer. Calls have no id yet: the engine gives its own ids.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnswerPart {
    /// Text for the reader.
    Text(String),
    /// Reasoning, with data that the provider wants back with it.
    Reasoning {
        /// The text.
        text: String,
        /// Opaque data of the provider.
        signature: Option<String>,
    },
    /// A tool call.
    Call {
        /// The tool, as the model named it.
        tool: String,
        /// The arguments, as the model wrote them, even if they cannot be parsed.
        arguments: String,
    },
}

/// The reason why a model stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model said all that it wanted.
    EndTurn,
    /// The model calls tools.
    ToolUse,
    /// The model reached the limit on output tokens.
    MaxTokens,
    /// The model refused to answer.
    Refusal,
}

impl StopReason {
    /// Whether the answer is complete: neither cut off nor refused.
    pub fn is_whole(self) -> bool {
        match self {
            Self::EndTurn | Self::ToolUse => true,
            Self::MaxTokens | Self::Refusal => false,
        }
    }
}

/// The known usage of a model call that gave no whole answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PartialUse {
    /// The count of the provider; zero where it had counted nothing.
    pub counted: TokenUsage,
    /// The number of bytes of an answer that had come: text, reasoning, and the arguments of calls.
    pub bytes: usize,
    /// Whether the answer came whole but was not taken. Then the provider has counted everything.
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
