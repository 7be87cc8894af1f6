//! The arguments of a call: text that the model wrote, read in one way only.
//!
//! The gate checks what is read here, the tool gets what is read here. A person who decides and a client
//! that runs the call read the text itself, so a text that two readers could take differently is refused.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// How deeply the arguments of a call may be nested.
pub const JSON_DEPTH_MAX: usize = 64;

/// Whether the engine would read this text as the arguments of a call: JSON, nested at most [`JSON_DEPTH_MAX`]
/// deep, no object of which names a key twice. The schema of a tool is not asked. Errors are one line.
pub fn check_arguments(text: &str) -> Result<(), String> {
    parse_arguments(text).map(drop)
}

/// Reads the arguments of a call. Nothing at all is read as no arguments: some models say it so.
pub(crate) fn parse_arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let depth = depth(text);
    if depth > JSON_DEPTH_MAX {
        return Err(format!("arguments: nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed"));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Unambiguous.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| format!("arguments: not JSON: {error}"))
}

/// How deeply brackets outside of strings are nested. Looked at before anything is parsed.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let (mut in_string, mut escaped) = (false, false);
    for byte in text.bytes() {
        match (in_string, byte) {
            (true, _) if escaped => escaped = false,
            (true, b'\\') => escaped = true,
            (true, b'"') => in_string = false,
            (false, b'"') => in_string = true,
            (false, b'{' | b'[') => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            (false, b'}' | b']') => depth = depth.saturating_sub(1),
            (_, _) => {}
        }
    }
    deepest
}

/// Any JSON in which no object names a key twice: of two values one reader takes the first, another the last.
#[derive(Clone, Copy)]
struct Unambiguous;

impl<'de> DeserializeSeed<'de> for Unambiguous {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Unambiguous {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some(key) = object.next_key::<String>()? {
            if members.contains_key(&key) {
                return Err(A::Error::custom(format!("{key:?} is named twice")));
            }
            let value = object.next_value_seed(self)?;
            members.insert(key, value);
        }
        Ok(Value::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_json_of_bounded_depth_and_nothing_means_none() {
        assert_eq!(parse_arguments(" "), Ok(serde_json::json!({})));
        assert!(parse_arguments("{").is_err());
        assert!(parse_arguments("{} {}").is_err());
        let nested = |levels: usize| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
        assert!(parse_arguments(&nested(JSON_DEPTH_MAX)).is_ok());
        assert!(parse_arguments(&nested(JSON_DEPTH_MAX + 1)).is_err());
        let in_a_string = serde_json::to_string(&nested(JSON_DEPTH_MAX + 1)).unwrap();
        assert!(parse_arguments(&in_a_string).is_ok());
    }

    #[test]
    fn whatever_is_read_is_what_serde_json_reads() {
        let text = r#"{"a":[null,true,-7,18446744073709551615,1.5,"\u0000x"],"b":{"a":{}}}"#;
        assert_eq!(parse_arguments(text), Ok(serde_json::from_str(text).unwrap()));
    }

    #[test]
    fn a_key_that_is_named_twice_is_refused_however_it_is_spelled() {
        for text in [r#"{"n":1,"n":2}"#, r#"{"n":1,"\u006e":1}"#, r#"[{"a":{"n":1,"m":2,"n":3}}]"#] {
            let refused = parse_arguments(text).expect_err(text);
            assert!(refused.contains(r#""n" is named twice"#), "{refused}");
        }
    }
}
