//! A short form of a call's arguments for events, without values that look like secrets.

mod text;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub(crate) use self::text::redacted_arguments;

/// The text that replaces a value that looks like a secret.
pub const REDACTED: &str = "[redacted]";

/// The maximum number of characters of one value.
const VALUE_CHARS_MAX: usize = 80;

/// The maximum size of all shown parameters in bytes, so that events do not duplicate the transcript.
const BYTES_MAX: usize = 256;

/// The words that mark secrets. If a parameter's name contains one of them, in any case, its value is not
/// shown.
const SECRET: [&str; 5] = ["token", "secret", "password", "key", "auth"];

/// The shown parameters of a call, by name.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Parameters(Map<String, Value>);

impl Parameters {
    /// Returns true if there are no parameters.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names and values of the parameters.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }
}

/// Returns the short form of a call's JSON arguments that events show. A value is replaced with [`REDACTED`]
/// if its name contains `token`, `secret`, `password`, `key` or `auth`, in any case and at any depth. Long
/// values are cut with `…`. The first parameter that would exceed 256 bytes in total and all parameters after
/// it are left out. The result must therefore never be used in place of the arguments. If `arguments` is not
/// a JSON object, the result is empty.
pub(crate) fn shown_parameters(arguments: &str) -> Parameters {
    let Ok(Value::Object(all)) = serde_json::from_str(arguments) else { return Parameters::default() };
    let mut shown = Map::new();
    let mut bytes = 2;
    for (name, value) in all {
        let value = short(redacted(&name, value));
        bytes += name.len() + value.to_string().len() + 4;
        if bytes > BYTES_MAX {
            break;
        }
        shown.insert(name, value);
    }
    Parameters(shown)
}

/// Returns a value in which each value that looks like a secret is replaced with [`REDACTED`]: one whose name, or the name of
/// a field around it, contains `token`, `secret`, `password`, `key` or `auth`, in any case. `name` is that of the value itself.
pub fn redacted_value(name: &str, value: Value) -> Value {
    redacted(name, value)
}

/// Returns true if a value of this name looks like a secret, so it is not shown.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase();
    SECRET.iter().any(|word| name.contains(word))
}

pub(crate) fn redacted(name: &str, value: Value) -> Value {
    if is_secret(name) {
        return Value::from(REDACTED);
    }
    match value {
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| {
                let value = redacted(&name, value);
                (name, value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(|item| redacted("", item)).collect()),
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => plain,
    }
}

/// Cuts a long value to the beginning of its text.
fn short(value: Value) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        Value::Object(_) | Value::Array(_) => value.to_string(),
        Value::Null | Value::Bool(_) | Value::Number(_) => return value,
    };
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((end, _)) => Value::from(format!("{}…", &text[..end])),
        None => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(arguments: &Value) -> Value {
        serde_json::to_value(shown_parameters(&arguments.to_string())).unwrap()
    }

    #[test]
    fn a50_a_value_whose_name_looks_like_a_secret_is_never_shown() {
        let secret = "hunter2";
        for name in ["token", "clientSecret", "PASSWORD", "api_key", "Authorization", "x-auth-id", "keys"] {
            for value in
                [serde_json::json!(secret), serde_json::json!({ "a": [secret] }), serde_json::json!([secret])]
            {
                let text = shown(&serde_json::json!({ name: value, "path": "a" })).to_string();
                assert!(!text.contains(secret), "{text}");
                assert!(text.contains(REDACTED) && text.contains(r#""path":"a""#), "{text}");
                let deep = shown(&serde_json::json!({ "with": [{ name: value }] })).to_string();
                assert!(!deep.contains(secret), "{deep}");
            }
        }
    }

    #[test]
    fn a50_what_is_shown_is_short_and_what_is_no_object_is_not_shown() {
        let long = "ä".repeat(4_000);
        let text = shown(&serde_json::json!({ "content": long, "n": 7 }));
        assert_eq!(text["content"], format!("{}…", "ä".repeat(80)));
        assert_eq!(text["n"], 7);
        let many: Map<String, Value> = (0..100).map(|at| (format!("p{at}"), Value::from("value"))).collect();
        let bytes = shown(&Value::Object(many)).to_string().len();
        assert!((100..=BYTES_MAX).contains(&bytes), "{bytes}");
        for text in ["", "not json", "[1]", "\"token\"", "7"] {
            assert!(shown_parameters(text).is_empty(), "{text}");
        }
    }
}
