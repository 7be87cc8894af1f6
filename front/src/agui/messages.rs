//! The messages of a session, in the words of AG-UI.

use holdover_core::image::{Image, Images};
use holdover_core::message::{AssistantMessage, AssistantPart, Message, ResultStatus};
use holdover_runtime_local::MessageEntry;
use serde_json::{Value, json};

/// Returns messages in the words of AG-UI.
pub(super) fn messages(shown: Vec<MessageEntry>) -> Vec<Value> {
    shown.into_iter().flat_map(message).collect()
}

/// Returns the id of the message with the result of this call.
pub(super) fn result_id(call: &holdover_core::ids::CallId) -> String {
    format!("result-{call}")
}

/// Returns a text, or a text with pictures, as the content of a message.
pub(super) fn content(text: String, images: &Images) -> Value {
    if images.is_empty() {
        return Value::from(text);
    }
    let mut parts = vec![json!({ "type": "text", "text": text })];
    parts.extend(images.iter().map(picture));
    Value::from(parts)
}

fn picture(image: &Image) -> Value {
    let source = json!({ "type": "data", "value": image.base64(), "mimeType": image.media_type().as_str() });
    json!({ "type": "image", "source": source })
}

fn message(entry: MessageEntry) -> Vec<Value> {
    let id = format!("message-{}", entry.seq);
    match entry.message {
        Message::User(said) if !said.by_engine => {
            vec![json!({ "id": id, "role": "user", "content": content(said.text, &said.images) })]
        }
        Message::Assistant(said) => assistant(&id, said),
        Message::Tool(result) => {
            let mut message = json!({
                "id": result_id(&result.call),
                "role": "tool",
                "toolCallId": result.call,
                "content": content(result.content.clone(), &result.images),
            });
            if result.status != ResultStatus::Done {
                message["error"] = json!(result.content);
            }
            vec![message]
        }
        Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => Vec::new(),
    }
}

/// Returns the reasoning of a message, and the message itself.
fn assistant(id: &str, said: AssistantMessage) -> Vec<Value> {
    let (mut shown, mut calls) = (Vec::new(), Vec::new());
    let text = said.text();
    for (at, part) in said.parts.into_iter().enumerate() {
        match part {
            AssistantPart::Reasoning { text, .. } if !text.is_empty() => {
                shown.push(json!({ "id": format!("{id}-{at}"), "role": "reasoning", "content": text }));
            }
            AssistantPart::Call(call) => calls.push(json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.tool, "arguments": call.arguments },
            })),
            AssistantPart::Text { .. } | AssistantPart::Reasoning { .. } => {}
        }
    }
    if text.is_empty() && calls.is_empty() {
        return shown;
    }
    let mut message = json!({ "id": id, "role": "assistant" });
    if !text.is_empty() {
        message["content"] = json!(text);
    }
    if !calls.is_empty() {
        message["toolCalls"] = json!(calls);
    }
    shown.push(message);
    shown
}
