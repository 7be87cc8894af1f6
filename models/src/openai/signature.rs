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
/// The fields of a reasoning detail that come in pieces. Encrypted data and signatures come whole.
const IN_PIECES: [&str; 2] = ["text", "summary"];

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
    /// Adds pieces of reasoning details. A piece is joined to the newest item if that has its type and index, is not
    /// encrypted, and has no other id.
    pub(super) fn add_details(&mut self, details: Value, taken: &mut Taken) -> Result<(), ModelError> {
        let Value::Array(details) = details else { return Ok(()) };
        for detail in details {
            count(&detail, taken)?;
            match self.details.last_mut().filter(|known| is_more_of(known, &detail)) {
                Some(known) => join(known, detail),
                None => self.details.push(detail),
            }
        }
        Ok(())
    }

    /// Keeps the extra content of the message. A later one replaces the fields that it has.
    pub(super) fn keep_message(&mut self, extra: Value, taken: &mut Taken) -> Result<(), ModelError> {
        count(&extra, taken)?;
        match (&mut self.message, extra) {
            (_, Value::Null) => {}
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            (known, extra) => *known = Some(extra),
        }
        Ok(())
    }

    /// Returns the stored form, or `None` if there is no data. `calls` holds the extra content of calls.
    pub(super) fn into_stored(self, model: &str, calls: BTreeMap<usize, Value>) -> Option<String> {
        let signature = Self { model: model.to_owned(), calls, ..self };
        let empty = Self { model: model.to_owned(), ..Self::default() };
        // It holds JSON values only, so it can be written.
        let json = || serde_json::to_string(&signature).ok().map(|json| format!("{PREFIX}{json}"));
        (signature != empty).then(json).flatten()
    }

    /// Reads a stored signature. Returns `None` if another adapter or another model wrote it.
    pub(super) fn read(stored: &str, model: &str) -> Option<Self> {
        let signature: Self = serde_json::from_str(stored.strip_prefix(PREFIX)?).ok()?;
        (signature.model == model).then_some(signature)
    }

    /// Returns the extra content of the call at this position.
    pub(super) fn of_call(&self, at: usize) -> Option<&Value> {
        self.calls.get(&at)
    }

    /// Puts the data of the message into its form in a request. Returns true if it includes the reasoning itself.
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

/// Counts the strings of a value towards the limit of an answer.
pub(super) fn count(value: &Value, taken: &mut Taken) -> Result<(), ModelError> {
    match value {
        Value::String(text) => taken.text(text),
        Value::Array(values) => values.iter().try_for_each(|value| count(value, taken)),
        Value::Object(fields) => fields.values().try_for_each(|value| count(value, taken)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Returns true if `piece` belongs to the item `known`.
fn is_more_of(known: &Value, piece: &Value) -> bool {
    let is_same = |field: &str| known[field] == piece[field];
    piece["index"].is_number()
        && is_same("index")
        && is_same("type")
        && (piece["id"].is_null() || known["id"].is_null() || is_same("id"))
        && known["data"].is_null()
}

/// Adds a later piece to a reasoning detail. A field that does not come in pieces keeps its first value.
fn join(known: &mut Value, piece: Value) {
    let Value::Object(piece) = piece else { return };
    for (field, value) in piece {
        match (&mut known[&field], value) {
            (Value::String(text), Value::String(more)) if IN_PIECES.contains(&field.as_str()) => {
                text.push_str(&more);
            }
            (field @ Value::Null, value) => *field = value,
            (_, _) => {}
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
            json!([{ "type": "reasoning.text", "index": 0, "signature": "c2ln" }]),
            json!([{ "type": "reasoning.encrypted", "index": 0, "data": "ab" }, text(1, "second")]),
            json!([{ "type": "reasoning.encrypted", "index": 1, "id": "a", "data": "cd" }]),
            json!([{ "type": "reasoning.encrypted", "index": 1, "id": "b", "data": "ef" }]),
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
                json!({ "type": "reasoning.encrypted", "index": 1, "id": "a", "data": "cd" }),
                json!({ "type": "reasoning.encrypted", "index": 1, "id": "b", "data": "ef" }),
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
