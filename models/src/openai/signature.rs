//! Data of a server that must come back unchanged with the model's reasoning (requirement A42).
//!
//! OpenRouter sends it as `reasoning_details` of a message, in pieces. Gemini's servers send it as `extra_content` of a
//! call or of a message, and refuse a transcript that lacks it.

use std::collections::BTreeMap;

use holdover_core::model::ModelError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::wire::Taken;

/// The prefix of the signatures of this adapter. Those of other adapters do not begin with it.
const PREFIX: &str = "openai:";
/// The fields of a reasoning detail that come in pieces.
const IN_PIECES: [&str; 4] = ["text", "summary", "data", "signature"];

/// The data of one message. It is stored as the signature of the message's reasoning.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Signature {
    /// The model that wrote the message. Another model may refuse the data.
    model: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    details: Vec<Value>,
    /// The `extra_content` of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<Value>,
    /// The `extra_content` of calls, by their position in the message.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    calls: BTreeMap<usize, Value>,
}

impl Signature {
    /// Adds pieces of reasoning details. Pieces of one type with one index are joined.
    pub(super) fn add_details(&mut self, details: Value, taken: &mut Taken) -> Result<(), ModelError> {
        let Value::Array(details) = details else { return Ok(()) };
        for detail in details {
            taken.text(&detail.to_string())?;
            let is_more = |known: &&mut Value| {
                detail["index"].is_number() && known["index"] == detail["index"] && known["type"] == detail["type"]
            };
            match self.details.iter_mut().rev().find(is_more) {
                Some(known) => join(known, detail),
                None => self.details.push(detail),
            }
        }
        Ok(())
    }

    /// Keeps the extra content of the message.
    pub(super) fn keep_message(&mut self, extra: Value, taken: &mut Taken) -> Result<(), ModelError> {
        taken.text(&extra.to_string())?;
        self.message = Some(extra);
        Ok(())
    }

    /// Returns the stored form, or `None` if there is no data. `calls` holds the extra content of calls.
    pub(super) fn into_stored(self, model: &str, calls: BTreeMap<usize, Value>) -> Option<String> {
        let signature = Self { model: model.to_owned(), calls, ..self };
        let empty = Self { model: model.to_owned(), ..Self::default() };
        // It holds JSON values only, so it can be written.
        (signature != empty).then(|| serde_json::to_string(&signature).ok()).flatten().map(|json| format!("{PREFIX}{json}"))
    }

    /// Reads a stored signature. `None` if another adapter or another model wrote it.
    pub(super) fn read(stored: &str, model: &str) -> Option<Self> {
        let signature: Self = serde_json::from_str(stored.strip_prefix(PREFIX)?).ok()?;
        (signature.model == model).then_some(signature)
    }

    /// Returns the extra content of the call at this position.
    pub(super) fn of_call(&self, at: usize) -> Option<&Value> {
        self.calls.get(&at)
    }

    /// Puts the data of the message into its request. Returns true if it includes the reasoning itself.
    pub(super) fn put_into(&self, message: &mut Value) -> bool {
        if let Some(extra) = &self.message {
            message["extra_content"] = extra.clone();
        }
        if !self.details.is_empty() {
            message["reasoning_details"] = Value::Array(self.details.clone());
        }
        !self.details.is_empty()
    }
}

/// Adds a later piece to a reasoning detail.
fn join(known: &mut Value, piece: Value) {
    let Value::Object(piece) = piece else { return };
    for (field, value) in piece {
        match (&mut known[&field], value) {
            (_, Value::Null) => {}
            (Value::String(text), Value::String(more)) if IN_PIECES.contains(&field.as_str()) => text.push_str(&more),
            (field, value) => *field = value,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a42_pieces_of_one_detail_are_joined_and_others_stay_apart() {
        let mut signature = Signature::default();
        let text = |index: u32, text: &str| json!({ "type": "reasoning.text", "index": index, "text": text });
        for pieces in [
            json!([text(0, "first, ")]),
            json!([text(0, "then")]),
            json!([{ "type": "reasoning.text", "index": 0, "text": null, "signature": "c2ln", "format": "anthropic" }]),
            json!([{ "type": "reasoning.encrypted", "index": 0, "data": "ab" }, text(1, "second")]),
            json!([{ "type": "reasoning.encrypted", "data": "cd" }]),
            json!("no list"),
        ] {
            signature.add_details(pieces, &mut Taken::default()).unwrap();
        }
        assert_eq!(
            signature.details,
            [
                json!({ "type": "reasoning.text", "index": 0, "text": "first, then", "signature": "c2ln", "format": "anthropic" }),
                json!({ "type": "reasoning.encrypted", "index": 0, "data": "ab" }),
                text(1, "second"),
                json!({ "type": "reasoning.encrypted", "data": "cd" }),
            ]
        );
    }

    #[test]
    fn a42_only_the_model_that_wrote_it_gets_it_back() {
        assert_eq!(Signature::default().into_stored("a", BTreeMap::new()), None);
        let calls = BTreeMap::from([(1, json!({ "google": { "thought_signature": "c2ln" } }))]);
        let stored = Signature::default().into_stored("a", calls.clone()).unwrap();
        assert_eq!(Signature::read(&stored, "a").unwrap().of_call(1), calls.get(&1));
        assert_eq!(Signature::read(&stored, "b"), None);
        assert_eq!(Signature::read("EqQBCgIY==", "a"), None);
    }
}
