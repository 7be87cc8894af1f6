//! A request in the words of the wire.

use std::borrow::Cow;

use holdover_core::message::{AssistantMessage, AssistantPart, Message, ResultStatus, ToolResult};
use holdover_core::model::{ModelError, ModelRequest};
use serde_json::{Map, Value, json};

use super::answer::REDACTED;
use crate::wire::{Results, call_id, told};

/// The longest name of a tool that the service takes.
const TOOL_NAME_BYTES_MAX: usize = 64;

/// The request. Decisions and notices are left out.
pub(super) fn to_body(model: &str, request: &ModelRequest) -> Result<Value, ModelError> {
    let mut body = json!({
        "model": model,
        "max_tokens": request.max_output_tokens,
        "stream": true,
        "messages": messages(request)?,
    });
    if !request.system.trim().is_empty() {
        body["system"] = json!(&*request.system);
    }
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                })
            })
            .collect();
    }
    Ok(body)
}

/// The transcript as the service takes it: roles alternate, the first and the last are `user`, and the results
/// of an assistant's calls stand at the beginning of the very next message, in call order.
fn messages(request: &ModelRequest) -> Result<Vec<Value>, ModelError> {
    let results = Results::in_transcript(&request.messages);
    let turn = beginning_of_turn(request);
    let mut spoken = Spoken::default();
    let mut calls_before = 0;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::User(said) => {
                let text = if said.text.trim().is_empty() { "[empty message]" } else { &said.text };
                spoken.push(Role::User, json!({ "type": "text", "text": text }));
            }
            Message::Assistant(said) if says_something(said) => {
                let ids = wire_ids(said, &mut calls_before);
                for block in assistant_blocks(said, &ids, at >= turn) {
                    spoken.push(Role::Assistant, block);
                }
                for (call, id) in said.calls().zip(&ids) {
                    spoken.push(Role::User, result_block(results.of(&call.id)?, id));
                }
            }
            // Results stand with their calls; the service refuses a message in which nothing is said.
            Message::Assistant(_) | Message::Tool(_) | Message::Decision(_) | Message::Notice(_) => {}
        }
    }
    Ok(spoken.into_messages())
}

/// Where the turn begins as the service sees it: with the last user message that carries no results. What
/// was said to the agent in between goes with the results before it and begins nothing.
fn beginning_of_turn(request: &ModelRequest) -> usize {
    let mut beginning = 0;
    let mut after_calls = false;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::User(_) if !after_calls => beginning = at,
            Message::Assistant(said) if says_something(said) => after_calls = said.calls().next().is_some(),
            Message::User(_)
            | Message::Assistant(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_) => {}
        }
    }
    beginning
}

fn says_something(said: &AssistantMessage) -> bool {
    said.parts.iter().any(|part| match part {
        AssistantPart::Text { text } => !text.trim().is_empty(),
        AssistantPart::Call(_) => true,
        AssistantPart::Reasoning { .. } => false,
    })
}

fn wire_ids(said: &AssistantMessage, calls_before: &mut usize) -> Vec<String> {
    said.calls()
        .map(|call| {
            let id = call_id(&call.id, *calls_before).into_owned();
            *calls_before += 1;
            id
        })
        .collect()
}

/// What was said, in its order. Reasoning goes back while its turn lasts, if it is signed: the service checks
/// the signature and what it signs.
fn assistant_blocks(said: &AssistantMessage, ids: &[String], this_turn: bool) -> Vec<Value> {
    let mut ids = ids.iter();
    said.parts
        .iter()
        .filter_map(|part| match part {
            AssistantPart::Text { text } if text.trim().is_empty() => None,
            AssistantPart::Text { text } => Some(json!({ "type": "text", "text": text })),
            AssistantPart::Reasoning { text, signature: Some(signature) } if this_turn => {
                Some(match signature.strip_prefix(REDACTED) {
                    Some(data) => json!({ "type": "redacted_thinking", "data": data }),
                    None => json!({ "type": "thinking", "thinking": text, "signature": signature }),
                })
            }
            AssistantPart::Reasoning { .. } => None,
            AssistantPart::Call(call) => Some(json!({
                "type": "tool_use",
                "id": ids.next()?,
                "name": tool_name(&call.tool),
                "input": input(&call.arguments),
            })),
        })
        .collect()
}

fn result_block(result: &ToolResult, id: &str) -> Value {
    let mut block = json!({ "type": "tool_result", "tool_use_id": id, "content": told(result) });
    match result.status {
        ResultStatus::Done => {}
        ResultStatus::Error
        | ResultStatus::Denied
        | ResultStatus::RejectedByUser
        | ResultStatus::Cancelled
        | ResultStatus::InDoubt => block["is_error"] = json!(true),
    }
    block
}

/// The arguments as an object, since the service takes nothing else: what is none stands in one.
fn input(arguments: &str) -> Value {
    match serde_json::from_str(arguments) {
        Ok(fields @ Value::Object(_)) => fields,
        Ok(_) | Err(_) => {
            let mut fields = Map::new();
            fields.insert("unreadable_arguments".to_owned(), json!(arguments));
            Value::Object(fields)
        }
    }
}

/// The tool as the model named it, in letters that the service takes back: it refuses others, though its
/// model may write them.
fn tool_name(name: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if !name.is_empty() && name.len() <= TOOL_NAME_BYTES_MAX && name.chars().all(fits) {
        return Cow::Borrowed(name);
    }
    let made: String =
        name.chars().take(TOOL_NAME_BYTES_MAX).map(|c| if fits(c) { c } else { '_' }).collect();
    if made.is_empty() { Cow::Borrowed("_") } else { Cow::Owned(made) }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    User,
    Assistant,
}

/// What was said, by turns: blocks of the same role that follow each other are one message.
#[derive(Default)]
struct Spoken(Vec<(Role, Vec<Value>)>);

impl Spoken {
    fn push(&mut self, role: Role, block: Value) {
        match self.0.last_mut() {
            Some((last, blocks)) if *last == role => blocks.push(block),
            Some(_) | None => {
                if self.0.is_empty() && role == Role::Assistant {
                    self.push(Role::User, json!({ "type": "text", "text": "[the beginning is left out]" }));
                }
                self.0.push((role, vec![block]));
            }
        }
    }

    fn into_messages(mut self) -> Vec<Value> {
        // What ends with the assistant is taken for the beginning of its answer, or refused.
        if self.0.last().is_none_or(|(role, _)| *role == Role::Assistant) {
            self.push(Role::User, json!({ "type": "text", "text": "[go on]" }));
        }
        self.0
            .into_iter()
            .map(|(role, content)| {
                let role = match role {
                    Role::User => "user",
                    Role::Assistant => "assistant",
                };
                json!({ "role": role, "content": content })
            })
            .collect()
    }
}
