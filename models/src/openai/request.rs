//! A request in the library's words.

use genai::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolResponse};
use holdover_core::message::{AssistantMessage, AssistantPart, Message};
use holdover_core::model::{ModelError, ModelRequest};
use serde_json::Value;

use crate::wire::{Results, call_id, told};

/// The request. Each assistant message with calls is followed by exactly their results, in call order, as
/// OpenAI demands; decisions and notices are left out.
pub(super) fn to_chat(request: &ModelRequest) -> Result<ChatRequest, ModelError> {
    let results = Results::in_transcript(&request.messages);
    let last_user = request.messages.iter().rposition(|message| matches!(&**message, Message::User(_)));
    let last_user = last_user.unwrap_or(0);
    let mut messages = Vec::with_capacity(request.messages.len());
    let mut calls_before = 0;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::User(said) => messages.push(ChatMessage::user(said.text.as_str())),
            Message::Assistant(said) => {
                push_assistant(&mut messages, said, &results, &mut calls_before, at > last_user)?;
            }
            // Results stand with their calls.
            Message::Tool(_) | Message::Decision(_) | Message::Notice(_) => {}
        }
    }
    let mut chat = ChatRequest::new(messages);
    if !request.system.is_empty() {
        chat = chat.with_system(&*request.system);
    }
    if !request.tools.is_empty() {
        chat = chat.with_tools(request.tools.iter().map(|tool| {
            Tool::new(tool.name.as_str())
                .with_description(tool.description.as_str())
                .with_schema(tool.parameters.clone())
        }));
    }
    Ok(chat)
}

fn push_assistant(
    messages: &mut Vec<ChatMessage>,
    said: &AssistantMessage,
    results: &Results<'_>,
    calls_before: &mut usize,
    this_turn: bool,
) -> Result<(), ModelError> {
    let mut parts = Vec::new();
    let mut answers = Vec::new();
    for part in &said.parts {
        match part {
            AssistantPart::Text { text } if text.is_empty() => {}
            AssistantPart::Text { text } => parts.push(ContentPart::Text(text.clone())),
            // Servers that show reasoning want it back while its turn lasts, and not after.
            AssistantPart::Reasoning { text, .. } if this_turn => {
                parts.push(ContentPart::ReasoningContent(text.clone()));
            }
            AssistantPart::Reasoning { .. } => {}
            AssistantPart::Call(call) => {
                let result = results.of(&call.id)?;
                let id = call_id(&call.id, *calls_before).into_owned();
                *calls_before += 1;
                parts.push(ContentPart::ToolCall(ToolCall {
                    call_id: id.clone(),
                    fn_name: call.tool.clone(),
                    fn_arguments: arguments(&call.arguments),
                    thought_signatures: None,
                }));
                answers.push(ChatMessage::from(ToolResponse::new(id, told(result))));
            }
        }
    }
    // OpenAI refuses a message in which nothing is said.
    if parts.iter().any(|part| !matches!(part, ContentPart::ReasoningContent(_))) {
        messages.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
        messages.append(&mut answers);
    }
    Ok(())
}

/// What is not JSON goes as a JSON string: servers refuse a transcript with arguments that are none.
fn arguments(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.to_owned()))
}
