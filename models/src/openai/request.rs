//! Requests in the form of OpenAI's API.

use std::borrow::Cow;

use holdover_core::image::Images;
use holdover_core::message::{AssistantMessage, AssistantPart, CallRequest, Message};
use holdover_core::model::{ModelError, ModelRequest, ModelTool};
use serde_json::{Value, json};

use super::signature::Signature;
use crate::wire::{Results, call_id, told, tool_name};

/// The prefixes of the names of OpenAI's models that require `max_completion_tokens` and refuse `max_tokens`. Some
/// other servers do not know `max_completion_tokens`.
const COMPLETION_TOKENS: [&str; 5] = ["gpt-5", "gpt-6", "o1", "o3", "o4"];

/// Returns the body of the request. Each assistant message with calls is followed by exactly their results, in call
/// order, as OpenAI requires. Decisions, notices and summaries are left out.
pub(super) fn to_body(model: &str, request: &ModelRequest) -> Result<Value, ModelError> {
    let newer = COMPLETION_TOKENS.iter().any(|family| model.starts_with(family));
    let cap = if newer { "max_completion_tokens" } else { "max_tokens" };
    let mut body = json!({
        "model": model,
        "stream": true,
        "stream_options": { "include_usage": true },
        "messages": messages(model, request)?,
    });
    body[cap] = json!(request.max_output_tokens);
    if !request.tools.is_empty() {
        body["tools"] = request.tools.iter().map(offered).collect();
    }
    Ok(body)
}

fn offered(tool: &ModelTool) -> Value {
    json!({ "type": "function", "function": {
        "name": tool.name,
        "description": tool.description,
        "strict": false,
        "parameters": tool.parameters,
    } })
}

fn messages(model: &str, request: &ModelRequest) -> Result<Vec<Value>, ModelError> {
    let results = Results::in_transcript(&request.messages);
    let last_user = request.messages.iter().rposition(|message| matches!(&**message, Message::User(_)));
    let last_user = last_user.unwrap_or(0);
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": &*request.system }));
    }
    let mut calls_before = 0;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::User(said) => {
                messages.push(user(&said.text, said.mentions.told().as_deref(), &said.images))
            }
            Message::Assistant(said) => {
                // Servers that show reasoning require it within its turn, but not later.
                let written_by = (at > last_user).then_some(model);
                push_assistant(&mut messages, said, &results, &mut calls_before, written_by)?;
            }
            // Results are sent with their calls.
            Message::Tool(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }
    // Servers refuse a transcript that ends with the assistant, or continue its last message.
    if messages.last().is_some_and(|last| last["role"] == "assistant") {
        messages.push(json!({ "role": "user", "content": "[go on]" }));
    }
    Ok(messages)
}

/// Returns a message of the user: a text and, behind it, the line about the mentioned files and the pictures. Without
/// pictures the content is one text, because not every server takes a list of parts.
fn user(text: &str, mentioned: Option<&str>, images: &Images) -> Value {
    if images.is_empty() {
        let whole = mentioned.map_or_else(|| text.into(), |told| Cow::from(format!("{text}\n\n{told}")));
        return json!({ "role": "user", "content": whole });
    }
    // Servers refuse an empty part.
    let mut parts =
        Vec::from_iter((!text.trim().is_empty()).then(|| json!({ "type": "text", "text": text })));
    parts.extend(mentioned.map(|told| json!({ "type": "text", "text": told })));
    parts.extend(images.iter().map(|image| {
        let url = format!("data:{};base64,{}", image.media_type().as_str(), image.base64());
        json!({ "type": "image_url", "image_url": { "url": url } })
    }));
    json!({ "role": "user", "content": parts })
}

fn push_assistant(
    messages: &mut Vec<Value>,
    said: &AssistantMessage,
    results: &Results<'_>,
    calls_before: &mut usize,
    written_by: Option<&str>,
) -> Result<(), ModelError> {
    let signature = said.parts.iter().find_map(|part| match part {
        AssistantPart::Reasoning { signature: Some(stored), .. } => Signature::read(stored, written_by?),
        AssistantPart::Reasoning { .. } | AssistantPart::Text { .. } | AssistantPart::Call(_) => None,
    });
    let signature = signature.unwrap_or_default();
    let (mut texts, mut thoughts) = (Vec::new(), Vec::new());
    let (mut calls, mut answers, mut pictures) = (Vec::new(), Vec::new(), Vec::new());
    for part in &said.parts {
        match part {
            AssistantPart::Text { text } if text.is_empty() => {}
            AssistantPart::Text { text } => texts.push(text.as_str()),
            AssistantPart::Reasoning { text, .. } => thoughts.push(text.as_str()),
            AssistantPart::Call(call) => {
                let id = call_id(&call.id, *calls_before);
                *calls_before += 1;
                let result = results.of(&call.id)?;
                calls.push(asked(&id, call, signature.of_call(calls.len())));
                answers.push(json!({ "role": "tool", "tool_call_id": id, "content": told(result) }));
                if !result.images.is_empty() {
                    let says = format!("[what {} showed, call {id}]", call.tool);
                    pictures.push(user(&says, None, &result.images));
                }
            }
        }
    }
    // OpenAI refuses an empty message.
    if texts.is_empty() && calls.is_empty() {
        return Ok(());
    }
    let mut message = json!({ "role": "assistant", "content": texts.join("\n\n") });
    if !calls.is_empty() {
        message["tool_calls"] = Value::Array(calls);
    }
    let has_reasoning = signature.put_into(&mut message);
    thoughts.retain(|thought| !thought.is_empty());
    if written_by.is_some() && !has_reasoning && !thoughts.is_empty() {
        message["reasoning_content"] = json!(thoughts.join("\n"));
    }
    messages.push(message);
    messages.append(&mut answers);
    // A result cannot hold pictures in this API. They follow all results of a step, as if a user had sent them.
    messages.append(&mut pictures);
    Ok(())
}

fn asked(id: &str, call: &CallRequest, extra_content: Option<&Value>) -> Value {
    let mut asked = json!({ "id": id, "type": "function", "function": {
        "name": tool_name(&call.tool),
        "arguments": arguments(&call.arguments),
    } });
    if let Some(extra) = extra_content {
        asked["extra_content"] = extra.clone();
    }
    asked
}

/// Returns the arguments as the model wrote them, even if they are not valid JSON, so that the model sees its own text
/// beside the error that it caused. If the model wrote nothing, returns an empty object.
fn arguments(text: &str) -> &str {
    if text.trim().is_empty() { "{}" } else { text }
}
