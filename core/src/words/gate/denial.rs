//! The record of a refused call, meant for programs (requirement C32).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of [`DenialRecord`]. Within a version, fields may be added but not changed.
pub const DENIAL_SCHEMA: u32 = 1;

/// The maximum number of characters of the arguments in a denial record.
pub(crate) const ARGUMENTS_SHOWN_MAX: usize = 400;

/// The maximum number of characters of one string within the arguments.
const TEXT_SHOWN_MAX: usize = 80;

/// The text that replaces secret values.
const REDACTED: &str = "***";

/// The words that mark secrets. If the name of a field contains one of them, in any case and with `_` or `-`, the
/// value of the field is replaced.
const SECRET: [&str; 8] =
    ["password", "passwd", "secret", "token", "api_key", "apikey", "authorization", "credential"];

/// The record of a refused call, meant for programs. People and the model read the text of the result
/// instead.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DenialRecord {
    /// The version of the record: [`DENIAL_SCHEMA`].
    pub schema: u32,
    /// The party that refused the call.
    pub denied_by: DeniedBy,
    /// The name of the tool.
    pub tool: String,
    /// The reason for the refusal.
    pub reason: String,
    /// The rule or the hook that refused the call, as the gate or the engine names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The beginning of the arguments as JSON. Values with names that suggest a secret are replaced, and long
    /// strings are cut. Arguments that are not JSON are replaced as a whole.
    pub arguments: String,
}

/// The party that refused a call.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum DeniedBy {
    /// The policy of the agent: its gate, or a hook.
    Permissions,
    /// A person who was asked, or who sent a message instead of an answer.
    User,
    /// No party: the gate or a hook failed or did not answer in time, or the gate asked for an approval that nobody
    /// can give.
    GateUnavailable,
    /// The engine, because only people may use the tool.
    HumanOnly,
}

impl DenialRecord {
    /// Returns the record of the refusal of a call of `tool` with these arguments, without a rule.
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

/// Returns the beginning of the arguments, without secrets. Text that is not JSON is not shown at all,
/// because it may contain secrets.
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
