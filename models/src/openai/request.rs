//! A request in the library's words.

use std::borrow::Cow;
use std::collections::HashMap;

use genai::chat::{ChatMessage, ChatRequest, ContentPart, MessageContent, Tool, ToolCall, ToolResponse};
use holdover_core::ids::CallId;
use holdover_core::message::{AssistantMessage, AssistantPart, Message, ToolResult};
use holdover_core::model::{ModelError, ModelErrorKind, ModelRequest};
use serde_json::Value;

/// The longest call id that OpenAI takes.
const WIRE_ID_BYTES_MAX: usize = 40;

/// The request. Each assistant message with calls is followed by exactly their results, in call order, as
/// OpenAI demands; decisions and notices are left out.
pub(super) fn to_chat(request: &ModelRequest) -> Result<ChatRequest, ModelError> {
    let mut results: HashMap<&CallId, &ToolResult> = HashMap::new();
    let mut last_user = 0;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::Tool(result) => {
                results.insert(&result.call, result);
            }
            Message::User(_) => last_user = at,
            Message::Assistant(_) | Message::Decision(_) | Message::Notice(_) => {}
        }
    }
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
    results: &HashMap<&CallId, &ToolResult>,
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
                let Some(result) = results.get(&call.id) else {
                    return Err(ModelError::new(
                        ModelErrorKind::Configuration,
                        format!("the transcript has no result of call {}", call.id),
                    ));
                };
                let id = wire_id(&call.id, *calls_before).into_owned();
                *calls_before += 1;
                parts.push(ContentPart::ToolCall(ToolCall {
                    call_id: id.clone(),
                    fn_name: call.tool.clone(),
                    fn_arguments: arguments(&call.arguments),
                    thought_signatures: None,
                }));
                let content = if result.content.is_empty() { "[no output]" } else { &result.content };
                answers.push(ChatMessage::from(ToolResponse::new(id, content)));
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

/// Our call id if servers take it; else one made from it and its place, the same in every request.
fn wire_id(id: &CallId, calls_before: usize) -> Cow<'_, str> {
    let id = id.as_str();
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if id.len() <= WIRE_ID_BYTES_MAX && id.chars().all(fits) {
        return Cow::Borrowed(id);
    }
    let mut made = format!("call_{calls_before}_");
    made.extend(id.chars().map(|c| if fits(c) { c } else { '_' }));
    made.truncate(WIRE_ID_BYTES_MAX);
    Cow::Owned(made)
}
