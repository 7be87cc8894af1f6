//! Tests of the adapter against a server on loopback.

mod answers;
mod faults;
mod transcript;

use std::sync::Arc;

use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelEvent};
use serde_json::{Value, json};

use super::Anthropic;
use crate::testing;
use crate::testing::server::Reply;
use crate::wire::ServerSettings;

fn open(settings: ServerSettings) -> Arc<dyn Model> {
    Arc::new(Anthropic::new(settings).unwrap())
}

async fn check_fails(reply: Reply, before: &[ModelEvent], kind: ModelErrorKind) -> ModelError {
    testing::check_fails(open, reply, before, kind).await
}

fn text(text: &str) -> ModelEvent {
    ModelEvent::Text(text.to_owned())
}

fn message_start() -> Value {
    json!({ "type": "message_start", "message": {
        "id": "msg_01", "type": "message", "role": "assistant", "model": "test-model", "content": [],
        "stop_reason": null, "stop_sequence": null,
        "usage": {
            "input_tokens": 12, "cache_creation_input_tokens": 100, "cache_read_input_tokens": 2000,
            "cache_creation": { "ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 0 },
            "output_tokens": 1, "service_tier": "standard",
        },
    } })
}

fn block(index: u64, content_block: Value) -> Value {
    json!({ "type": "content_block_start", "index": index, "content_block": content_block })
}

fn piece(index: u64, delta: Value) -> Value {
    json!({ "type": "content_block_delta", "index": index, "delta": delta })
}

fn text_block(index: u64) -> Value {
    block(index, json!({ "type": "text", "text": "" }))
}

fn says(index: u64, text: &str) -> Value {
    piece(index, json!({ "type": "text_delta", "text": text }))
}

fn call_block(index: u64, tool: &str) -> Value {
    block(index, json!({ "type": "tool_use", "id": "toolu_same", "name": tool, "input": {} }))
}

fn writes(index: u64, partial_json: &str) -> Value {
    piece(index, json!({ "type": "input_json_delta", "partial_json": partial_json }))
}

fn block_stop(index: u64) -> Value {
    json!({ "type": "content_block_stop", "index": index })
}

fn stops(reason: &str) -> Value {
    json!({
        "type": "message_delta", "delta": { "stop_reason": reason, "stop_sequence": null },
        "usage": { "output_tokens": 25 },
    })
}

fn message_stop() -> Value {
    json!({ "type": "message_stop" })
}

fn ping() -> Value {
    json!({ "type": "ping" })
}

/// Returns a complete answer with these blocks and this stop reason.
fn whole(blocks: &[Value], reason: &str) -> Reply {
    Reply::events(&[&[message_start(), ping()], blocks, &[stops(reason), message_stop()]].concat())
}
