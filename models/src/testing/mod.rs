//! What the tests of this crate share.

pub(crate) mod server;

use std::sync::Arc;

use futures::StreamExt;
use holdover_core::ids::CallId;
use holdover_core::message::{
    AssistantMessage, AssistantPart, CallRequest, Message, ResultStatus, ToolResult, UserMessage,
};
use holdover_core::model::{Model, ModelError, ModelEvent, ModelRequest};

/// A request with this transcript.
pub(crate) fn request(messages: Vec<Message>) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: messages.into_iter().map(Arc::new).collect(),
        tools: Arc::from([]),
        max_output_tokens: 100,
        step: 1,
        attempt: 0,
    }
}

pub(crate) fn user(text: &str) -> Message {
    Message::User(UserMessage { text: text.to_owned(), item: None })
}

/// Text, then calls: id, tool, arguments.
pub(crate) fn assistant(text: &str, calls: &[(&str, &str, &str)]) -> Message {
    let mut parts = Vec::new();
    if !text.is_empty() {
        parts.push(AssistantPart::Text { text: text.to_owned() });
    }
    parts.extend(calls.iter().map(|(id, tool, arguments)| {
        AssistantPart::Call(CallRequest {
            id: CallId::new(id).unwrap(),
            tool: (*tool).to_owned(),
            arguments: (*arguments).to_owned(),
        })
    }));
    Message::Assistant(AssistantMessage { parts })
}

pub(crate) fn result(call: &str, tool: &str, content: &str) -> Message {
    Message::Tool(ToolResult {
        call: CallId::new(call).unwrap(),
        tool: tool.to_owned(),
        status: ResultStatus::Done,
        content: content.to_owned(),
        edited_arguments: None,
        duration_ms: None,
        stop: false,
    })
}

/// Everything that comes until the stream is over.
pub(crate) async fn ask(model: &dyn Model, request: ModelRequest) -> Vec<Result<ModelEvent, ModelError>> {
    match model.stream(request).await {
        Ok(stream) => stream.collect().await,
        Err(error) => vec![Err(error)],
    }
}
