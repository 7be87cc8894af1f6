//! Reads the arguments of a call. The model wrote them as text, and the text must have only one reading.
//!
//! The gate and the tool get the value that is parsed here. A person who decides and a client that runs the call
//! read the text itself. So a text that two readers could understand differently is refused: an object with a
//! duplicate key, or a whole number that needs more than 64 bits, which some parsers round. A number with a
//! fraction or an exponent is a double for every parser.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum nesting depth of the arguments of a call.
pub const JSON_DEPTH_MAX: usize = 64;

/// The maximum number of digits of a number that an error shows.
const NUMBER_SHOWN_MAX: usize = 40;

/// Checks whether the engine accepts this text as the arguments of a call. The text must be empty or JSON, nested at
/// most [`JSON_DEPTH_MAX`] deep. No object may have a duplicate key, and no whole number may need more than 64 bits.
/// The schema of a tool is not checked. The error is one line.
pub fn check_arguments(text: &str) -> Result<(), String> {
    parse_arguments(text).map(drop)
}

/// Reads the arguments of a call. Empty text counts as no arguments, because some models send it.
pub(crate) fn parse_arguments(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Ok(Value::Object(Map::new()));
    }
    let depth = depth(text);
    if depth > JSON_DEPTH_MAX {
        return Err(format!("arguments: nested {depth} deep, at most {JSON_DEPTH_MAX} are allowed"));
    }
    if let Some(number) = numbers(text).find(|number| is_inexact(number)) {
        let (shown, more) = number.split_at(number.len().min(NUMBER_SHOWN_MAX));
        let more = if more.is_empty() { "" } else { "…" };
        return Err(format!(
            "arguments: {shown}{more} does not fit into 64 bits; write a number that long as a string"
        ));
    }
    let mut json = serde_json::Deserializer::from_str(text);
    let read = Unambiguous.deserialize(&mut json).and_then(|value| json.end().map(|()| value));
    read.map_err(|error| format!("arguments: not JSON: {error}"))
}

/// Returns the parts of the text outside of strings, without the quotes. Takes one pass, because a string may be
/// long.
fn outside_strings(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some((outside, inside)) = text.split_once('"') else { return Some(text) };
        rest = after_string(inside);
        Some(outside)
    })
}

/// Returns the text after the string in which `inside` begins, or `None` if the string does not end.
fn after_string(inside: &str) -> Option<&str> {
    let mut escaped = false;
    let end = inside.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    inside.get(end? + 1..)
}

/// Returns how deeply brackets outside of strings are nested. This is checked before anything is parsed.
fn depth(text: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in outside_strings(text).flat_map(str::bytes) {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Returns the parts of the text that may be numbers.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let part = |c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.' | 'e' | 'E');
    let words = outside_strings(text).flat_map(move |outside| outside.split(move |c| !part(c)));
    words.filter(|word| word.contains(|c: char| c.is_ascii_digit()))
}

/// Returns true if this is a whole number that does not fit into 64 bits, so our parser would round it.
fn is_inexact(number: &str) -> bool {
    let whole = number.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    whole && number.parse::<u64>().is_err() && number.parse::<i64>().is_err()
}

/// A reader of JSON that refuses duplicate keys in objects. Of two values for a key, some parsers take the first and
/// others the last.
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
    fn a_whole_number_that_would_be_rounded_is_refused() {
        let refused =
            parse_arguments(r#"{"to":"x","amount":90071992547409930000123}"#).expect_err("too long");
        assert_eq!(
            refused,
            "arguments: 90071992547409930000123 does not fit into 64 bits; write a number that long as a string"
        );
        for bad in
            ["18446744073709551616", "[-9223372036854775809]", r#"{"a":[1,{"b":-99999999999999999999}]}"#]
        {
            assert!(parse_arguments(bad).is_err(), "{bad}");
        }
        let long = parse_arguments(&"9".repeat(1000)).expect_err("too long");
        assert!(long.len() < 200, "{long}");
        for good in [
            r#"{"a":18446744073709551615,"b":-9223372036854775808,"c":90071992547409930000123.5,"d":1e22}"#,
            r#"{"a":"90071992547409930000123","b":"\"90071992547409930000123","90071992547409930000123":1}"#,
            "[-0,0,1]",
        ] {
            let read = parse_arguments(good).unwrap();
            assert_eq!(read, serde_json::from_str::<Value>(good).unwrap());
        }
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
