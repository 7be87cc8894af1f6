//! JSON texts without values that look like secrets. All else stays as it is, to the byte: numbers of any length, repeated
//! names, and the order of fields, because a person decides on what is shown.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::words::parameters::{REDACTED, is_secret};

/// The deepest value that is looked into. A deeper one is replaced.
const DEPTH_MAX: usize = 64;

/// Returns JSON arguments in which each value that looks like a secret is replaced with [`REDACTED`], by the rule of
/// [`redacted_value`](crate::words::parameters::redacted_value). Those that cannot be read as JSON are replaced as a whole if
/// they contain one of the words.
pub(crate) fn redacted_arguments(arguments: &str) -> String {
    if !may_hide(arguments) {
        return arguments.to_owned();
    }
    let mut shown = Shown { text: String::with_capacity(arguments.len()), hides: false };
    let read = serde_json::from_str::<&RawValue>(arguments).ok();
    match read.and_then(|raw| shown.write(raw, 0)) {
        Some(()) if shown.hides => shown.text,
        Some(()) => arguments.to_owned(),
        None if is_secret(arguments) => REDACTED.to_owned(),
        None => arguments.to_owned(),
    }
}

/// Returns true if a name in this JSON text may be that of a secret. A name may be written with escapes.
fn may_hide(text: &str) -> bool {
    is_secret(text) || text.contains('\\')
}

/// The fields of an object, in order, with repeated names.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Each;

        impl<'de> Visitor<'de> for Each {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry::<String, &'de RawValue>()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Each)
    }
}

/// The text that is shown.
struct Shown {
    text: String,
    /// True if a value was replaced.
    hides: bool,
}

impl Shown {
    /// Writes a value. Returns `None` if it is too deep, or cannot be read.
    fn write(&mut self, raw: &RawValue, depth: usize) -> Option<()> {
        let text = raw.get();
        match text.as_bytes().first() {
            _ if !may_hide(text) => self.text.push_str(text),
            Some(b'{' | b'[') if depth > DEPTH_MAX => return None,
            Some(b'{') => {
                let Fields(fields) = serde_json::from_str(text).ok()?;
                self.text.push('{');
                for (number, (name, value)) in fields.iter().enumerate() {
                    self.comma(number);
                    self.text.push_str(&serde_json::to_string(name).ok()?);
                    self.text.push(':');
                    if is_secret(name) {
                        self.text.push_str(&serde_json::to_string(REDACTED).ok()?);
                        self.hides = true;
                    } else {
                        self.write(value, depth + 1)?;
                    }
                }
                self.text.push('}');
            }
            Some(b'[') => {
                let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
                self.text.push('[');
                for (number, item) in items.iter().enumerate() {
                    self.comma(number);
                    self.write(item, depth + 1)?;
                }
                self.text.push(']');
            }
            Some(_) | None => self.text.push_str(text),
        }
        Some(())
    }

    fn comma(&mut self, number: usize) {
        if number > 0 {
            self.text.push(',');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_replaced_and_all_else_stays_to_the_byte() {
        for (arguments, shown) in [
            (r#"{"api_key": "sk-1", "cents": 5}"#, r#"{"api_key":"[redacted]","cents":5}"#),
            (
                r#"{"to": [{"Password": "x", "name": "ann"}]}"#,
                r#"{"to":[{"Password":"[redacted]","name":"ann"}]}"#,
            ),
            (
                r#"{"headers":{"authorization":"sk"},"headers":{}}"#,
                r#"{"headers":{"authorization":"[redacted]"},"headers":{}}"#,
            ),
            (r#"{"token":"sk","token":"[redacted]"}"#, r#"{"token":"[redacted]","token":"[redacted]"}"#),
            (
                r#"{"token":1,"cents":18446744073709551617,"to":"eve","to":"ann","x":1e400}"#,
                r#"{"token":"[redacted]","cents":18446744073709551617,"to":"eve","to":"ann","x":1e400}"#,
            ),
            (r#"{"\u0074oken": {"deep": "sk"}}"#, r#"{"token":"[redacted]"}"#),
            ("no JSON: token", "[redacted]"),
        ] {
            assert_eq!(redacted_arguments(arguments), shown, "{arguments}");
        }
        for plain in [r#"{ "to" : "ann" }"#, "no JSON", "[1, 2]", "", r#"{"a":1e400}"#, r#"{ "a" : "\n" }"#] {
            assert_eq!(redacted_arguments(plain), plain);
        }
        let deep = format!("{}{}{}", "[".repeat(100_000), r#"{"token":1}"#, "]".repeat(100_000));
        assert_eq!(redacted_arguments(&deep), REDACTED);
    }
}
