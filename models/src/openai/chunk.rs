//! The chunks of OpenAI's stream, as far as this adapter uses them.

use serde::Deserialize;
use serde_json::Value;

use crate::wire::Tokens;

/// One chunk. Unknown fields are skipped, because servers add fields of their own.
#[derive(Debug, Deserialize)]
pub(super) struct Chunk {
    pub(super) error: Option<Value>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<UsageReport>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice {
    pub(super) delta: Option<Delta>,
    pub(super) finish_reason: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
pub(super) struct Delta {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    /// Pieces of reasoning that must come back unchanged.
    pub(super) reasoning_details: Option<Value>,
    /// Data of the message that must come back unchanged.
    pub(super) extra_content: Option<Value>,
    /// The model's explanation of a refusal.
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<CallDelta>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CallDelta {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionDelta>,
    /// Data of the call that must come back unchanged.
    pub(super) extra_content: Option<Value>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionDelta {
    pub(super) name: Option<String>,
    pub(super) arguments: Option<Value>,
}

/// A report of the token counts so far. A count that the report leaves out is 0. Of several reports, the highest count
/// is used.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct UsageReport {
    pub(super) prompt_tokens: Tokens,
    pub(super) completion_tokens: Tokens,
    /// The tokens written to the cache, from servers that do not report them in `prompt_tokens_details`.
    pub(super) cache_creation_input_tokens: Tokens,
    pub(super) prompt_tokens_details: Option<PromptDetails>,
    pub(super) completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PromptDetails {
    pub(super) cached_tokens: Tokens,
    /// The tokens written to the cache. OpenAI's own servers do not send this, because they charge nothing for it.
    #[serde(alias = "cache_creation_tokens")]
    pub(super) cache_write_tokens: Tokens,
}

#[derive(Debug, Deserialize)]
pub(super) struct CompletionDetails {
    #[serde(default)]
    pub(super) reasoning_tokens: Tokens,
}

impl Delta {
    /// Returns the piece of text. It is a string or, from some servers, a list of typed pieces.
    pub(super) fn text(&self) -> String {
        match &self.content {
            Some(Value::Array(pieces)) => pieces_of(pieces, "text"),
            content => string(content),
        }
    }

    /// Returns the piece of reasoning. Servers send it in different fields.
    pub(super) fn thought(&self) -> String {
        let named = [&self.reasoning_content, &self.reasoning].map(string);
        let piece = named.into_iter().find(|piece| !piece.is_empty()).unwrap_or_default();
        match &self.content {
            Some(Value::Array(pieces)) if piece.is_empty() => pieces_of(pieces, "thinking"),
            Some(_) | None => piece,
        }
    }
}

fn string(value: &Option<Value>) -> String {
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the joined text of all pieces of the type `kind`. A piece looks like `{"type": "text", "text": "…"}`. A
/// piece of the type `thinking` may hold a list of text pieces instead of a string.
fn pieces_of(pieces: &[Value], kind: &str) -> String {
    let of_kind = pieces.iter().filter(|piece| piece["type"] == kind);
    of_kind
        .map(|piece| match piece[kind].as_array() {
            Some(inner) => pieces_of(inner, "text"),
            None => piece[kind].as_str().unwrap_or_default().to_owned(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_and_reasoning_are_found_where_servers_put_them() {
        for (delta, text, thought) in [
            (json!({ "content": "a" }), "a", ""),
            (json!({ "content": null, "reasoning_content": "b" }), "", "b"),
            (json!({ "content": "", "reasoning": "b", "reasoning_content": null }), "", "b"),
            (json!({ "content": "a", "reasoning": { "effort": "high" } }), "a", ""),
            (
                json!({ "content": [
                    { "type": "thinking", "thinking": [{ "type": "text", "text": "b" }] },
                    { "type": "text", "text": "a" }, { "type": "image" },
                ] }),
                "a",
                "b",
            ),
        ] {
            let found: Delta = serde_json::from_value(delta.clone()).unwrap();
            assert_eq!((found.text().as_str(), found.thought().as_str()), (text, thought), "{delta}");
        }
    }
}
