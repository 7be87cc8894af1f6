//! Requests in the form of Anthropic's API.

use std::borrow::Cow;

use holdover_core::image::{Image, ImageType};
use holdover_core::message::{AssistantMessage, AssistantPart, Message, ResultStatus, ToolResult};
use holdover_core::model::{ModelError, ModelErrorKind, ModelRequest, ModelTool};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::answer::REDACTED;
use super::spoken::{Role, Said, Spoken};
use crate::wire::{Results, call_id, told, tool_name};

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<[Block<'a>; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Offered<'a>>,
    messages: Vec<Said<Block<'a>>>,
}

#[derive(Serialize)]
struct Offered<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Block<'a> {
    Text {
        text: Cow<'a, str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Thinking {
        thinking: &'a str,
        signature: &'a str,
    },
    RedactedThinking {
        data: &'a str,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Cow<'a, RawValue>,
    },
    Image {
        source: Source<'a>,
    },
    ToolResult {
        tool_use_id: String,
        content: Told<'a>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

/// The data of a picture.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Source<'a> {
    Base64 { media_type: ImageType, data: &'a str },
}

/// The content of a result: text, or text and pictures.
#[derive(Serialize)]
#[serde(untagged)]
enum Told<'a> {
    Text(&'a str),
    Blocks(Vec<Block<'a>>),
}

/// A mark at the end of a part of the request that the service caches. The next step repeats that part, which then
/// costs only a fraction of its price. A mark on a part that is too short for the cache has no effect.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum CacheControl {
    Ephemeral,
}

/// Returns the body of the request. Decisions, notices and summaries are left out.
pub(super) fn to_body(model: &str, request: &ModelRequest) -> Result<String, ModelError> {
    let system = (!request.system.trim().is_empty()).then(|| {
        [Block::Text { text: (&*request.system).into(), cache_control: Some(CacheControl::Ephemeral) }]
    });
    let body = Body {
        model,
        max_tokens: request.max_output_tokens,
        stream: true,
        system,
        tools: offered(&request.tools),
        messages: messages(request)?,
    };
    serde_json::to_string(&body).map_err(|error| {
        ModelError::new(ModelErrorKind::Configuration, format!("the request cannot be written: {error}"))
    })
}

fn offered(tools: &[ModelTool]) -> Vec<Offered<'_>> {
    let last = tools.len().saturating_sub(1);
    let offer = |(at, tool)| offered_as(tool, (at == last).then_some(CacheControl::Ephemeral));
    tools.iter().enumerate().map(offer).collect()
}

fn offered_as(tool: &ModelTool, cache_control: Option<CacheControl>) -> Offered<'_> {
    Offered {
        name: &tool.name,
        description: &tool.description,
        input_schema: &tool.parameters,
        cache_control,
    }
}

/// Returns the transcript in the form that the service requires: roles alternate, the first and the last message are
/// from `user`, and the results of an assistant's calls stand at the beginning of the next message, in call order.
fn messages(request: &ModelRequest) -> Result<Vec<Said<Block<'_>>>, ModelError> {
    let results = Results::in_transcript(&request.messages);
    let turn = beginning_of_turn(request);
    let mut spoken = Spoken::new(text);
    let mut calls_before = 0;
    for (at, message) in request.messages.iter().enumerate() {
        match &**message {
            Message::User(said) => {
                // Models answer a question about a picture best if the question comes after the picture.
                said.images.iter().for_each(|image| spoken.push(Role::User, picture(image)));
                let words = if said.text.trim().is_empty() { "[empty message]" } else { &said.text };
                spoken.push(Role::User, text(words));
                if let Some(told) = said.mentions.told() {
                    spoken.push(Role::User, Block::Text { text: told.into(), cache_control: None });
                }
            }
            Message::Assistant(said) if says_something(said) => {
                let ids = wire_ids(said, &mut calls_before);
                for block in assistant_blocks(said, &ids, at >= turn)? {
                    spoken.push(Role::Assistant, block);
                }
                for (call, id) in said.calls().zip(ids) {
                    spoken.push(Role::User, result_block(results.of(&call.id)?, id));
                }
            }
            // Results are sent with their calls. Assistant messages without text and calls are left out, because the
            // service refuses them.
            Message::Assistant(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => {}
        }
    }
    let mut messages = spoken.into_messages();
    let last = messages.last_mut().and_then(|last| last.content.last_mut());
    if let Some(Block::Text { cache_control, .. } | Block::ToolResult { cache_control, .. }) = last {
        *cache_control = Some(CacheControl::Ephemeral);
    }
    Ok(messages)
}

fn picture(image: &Image) -> Block<'_> {
    Block::Image { source: Source::Base64 { media_type: image.media_type(), data: image.base64() } }
}

fn text(text: &str) -> Block<'_> {
    Block::Text { text: text.into(), cache_control: None }
}

/// Returns the index at which the current turn begins for the service: the last user message that carries no results. A
/// user message after calls is merged into the message with their results, so it begins no turn.
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
            | Message::Notice(_)
            | Message::Summary(_) => {}
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

/// Returns true if this adapter wrote the signature. Those of the service are base64, without a colon.
fn is_own(signature: &str) -> bool {
    signature.starts_with(REDACTED) || !signature.contains(':')
}

/// Returns the blocks of a message, in order. Reasoning is included only if the service signed it and `this_turn` is true. It
/// is unchanged, because the service checks its signature.
fn assistant_blocks<'a>(
    said: &'a AssistantMessage,
    ids: &[String],
    this_turn: bool,
) -> Result<Vec<Block<'a>>, ModelError> {
    let mut ids = ids.iter();
    let mut blocks = Vec::new();
    for part in &said.parts {
        match part {
            AssistantPart::Text { text } if text.trim().is_empty() => {}
            AssistantPart::Text { text: said } => blocks.push(text(said)),
            AssistantPart::Reasoning { text, signature: Some(signature) }
                if this_turn && is_own(signature) =>
            {
                blocks.push(match signature.strip_prefix(REDACTED) {
                    Some(data) => Block::RedactedThinking { data },
                    None => Block::Thinking { thinking: text, signature },
                });
            }
            AssistantPart::Reasoning { .. } => {}
            AssistantPart::Call(call) => {
                let id = ids.next().cloned().unwrap_or_default();
                let (name, input) = (tool_name(&call.tool), input(&call.arguments)?);
                blocks.push(Block::ToolUse { id, name, input });
            }
        }
    }
    Ok(blocks)
}

fn result_block(result: &ToolResult, id: String) -> Block<'_> {
    let is_error = match result.status {
        ResultStatus::Done => false,
        ResultStatus::Error
        | ResultStatus::Denied
        | ResultStatus::RejectedByUser
        | ResultStatus::Cancelled
        | ResultStatus::InDoubt => true,
    };
    let content = if result.images.is_empty() {
        Told::Text(told(result))
    } else {
        Told::Blocks(std::iter::once(text(told(result))).chain(result.images.iter().map(picture)).collect())
    };
    Block::ToolResult { tool_use_id: id, content, is_error, cache_control: None }
}

/// Returns the arguments as the model wrote them if they are a JSON object. Other arguments are wrapped in an object,
/// because the service accepts only objects.
fn input(arguments: &str) -> Result<Cow<'_, RawValue>, ModelError> {
    // The arguments are also parsed as a value, because that bounds their nesting depth.
    if let (Ok(Value::Object(_)), Ok(raw)) =
        (serde_json::from_str(arguments), serde_json::from_str(arguments))
    {
        return Ok(Cow::Borrowed(raw));
    }
    let wrapped = serde_json::json!({ "unreadable_arguments": arguments });
    to_raw_value(&wrapped).map(Cow::Owned).map_err(|error| {
        ModelError::new(ModelErrorKind::Configuration, format!("arguments cannot be written: {error}"))
    })
}
