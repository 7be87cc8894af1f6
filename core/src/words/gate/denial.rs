//! The record of a refused call, for programs (requirement C32).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of [`DenialRecord`]. Within a version, fields are only added.
pub const DENIAL_SCHEMA: u32 = 1;

/// The most characters of the arguments that a denial shows.
pub(crate) const ARGUMENTS_SHOWN_MAX: usize = 400;

/// A string in the arguments is cut to this many characters.
const TEXT_SHOWN_MAX: usize = 80;

/// The text that replaces a secret value.
const REDACTED: &str = "***";

/// A name that contains one of these words names something secret.
const SECRET: [&str; 8] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential"];

/// The record of why a call was refused, for programs. The model and people read the text of the result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialRecord {
    /// The version of the record: [`DENIAL_SCHEMA`].
    pub schema: u32,
    /// The party that refused the call.
    pub denied_by: DeniedBy,
    /// The tool.
    pub tool: String,
    /// The reason.
    pub reason: String,
    /// The rule that refused the call, as its gate names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The beginning of the arguments as JSON. Values whose names suggest a secret are replaced.
    pub arguments: String,
}

/// A party that refuses calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeniedBy {
    /// The policy.
    Permissions,
    /// A person.
    User,
    /// Nobody decided: the gate did not answer, or failed.
    GateUnavailable,
    /// The tool is for people only.
    HumanOnly,
}

impl DenialRecord {
    /// Records that a call of `tool` with these arguments is refused.
    pub fn new(denied_by: DeniedBy, tool: &str, reason: impl Into<String>, arguments: &str) -> Self {
        Self {
            schema: DENIAL_SCHEMA,
            denied_by,
            tool: tool.to_owned(),
            reason: reason.into(),
            rule: None,
            arguments: excerpt(arguments),
        }
    }

    /// Adds the rule that refused the call.
    pub(crate) fn by_rule(self, rule: Option<String>) -> Self {
        Self { rule, ..self }
    }
}

/// The beginning of the arguments, without secrets. Text that is not JSON is not shown at all, because nobody
/// knows what it contains.
fn excerpt(arguments: &str) -> String {
    match serde_json::from_str(arguments) {
        Ok(value) => cut(&redacted(value).to_string(), ARGUMENTS_SHOWN_MAX),
        Err(_) => REDACTED.to_owned(),
    }
}

fn redacted(value: Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(fields.into_iter().map(redacted_field).collect::<Map<_, _>>()),
        Value::Array(items) => Value::Array(items.into_iter().map(redacted).collect()),
        Value::String(text) => Value::String(cut(&text, TEXT_SHOWN_MAX)),
        other @ (Value::Null | Value::Bool(_) | Value::Number(_)) => other,
    }
}

fn redacted_field((name, value): (String, Value)) -> (String, Value) {
    let lower = name.to_lowercase().replace('-', "_");
    let is_secret = SECRET.iter().any(|secret| lower.contains(secret));
    let value = if is_secret { Value::String(REDACTED.to_owned()) } else { redacted(value) };
    (name, value)
}

fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c32_secrets_are_starred_out_and_long_texts_cut() {
        let arguments = serde_json::json!({
            "to": "ann", "headers": { "Authorization": "Bearer x" }, "keys": [{ "api-key": 1 }], "text": "é".repeat(81),
        });
        let denial = DenialRecord::new(DeniedBy::Permissions, "post", "no", &arguments.to_string());
        let shown: Value = serde_json::from_str(&denial.arguments).unwrap();
        assert_eq!((&shown["to"], &shown["headers"]["Authorization"]), (&"ann".into(), &"***".into()));
        assert_eq!(shown["keys"][0]["api-key"], "***");
        assert_eq!(shown["text"], format!("{}…", "é".repeat(80)));
    }

    #[test]
    fn what_cannot_be_read_is_not_shown() {
        assert_eq!(DenialRecord::new(DeniedBy::User, "post", "no", "password=x").arguments, "***");
        let many = serde_json::json!((0..400).collect::<Vec<u32>>()).to_string();
        assert_eq!(excerpt(&many).chars().count(), ARGUMENTS_SHOWN_MAX + 1);
    }
}
