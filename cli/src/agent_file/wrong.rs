//! Faults of a file: the position, the key and a plain description.

use std::fmt::{self, Display};
use std::ops::Range;

use serde::de::{self, Expected, Unexpected};

use crate::print::one_line;

/// The maximum number of characters of a text in the file that an error shows.
const TEXT_SHOWN_MAX: usize = 60;

/// A fault of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    /// The position of the fault, in bytes.
    place: Option<Range<usize>>,
    /// The path to the fault, innermost part first.
    path: Vec<Part>,
    why: String,
}

/// One part of the path to a value.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Key(String),
    Entry(usize),
}

impl Wrong {
    /// Creates a fault with this reason.
    pub(super) fn new(why: impl AsRef<str>) -> Self {
        Self { place: None, path: Vec::new(), why: one_line(why.as_ref()) }
    }

    /// Sets the position, unless a more exact position is already known.
    pub(super) fn at(mut self, place: Range<usize>) -> Self {
        self.place.get_or_insert(place);
        self
    }

    /// Adds this key to the path.
    pub(super) fn under(mut self, key: &str) -> Self {
        self.path.push(Part::Key(key.to_owned()));
        self
    }

    /// Adds this key to the path if the path is empty.
    pub(super) fn named(self, key: &str) -> Self {
        if self.path.is_empty() { self.under(key) } else { self }
    }

    /// Adds this index of a list entry to the path, counted from 0.
    pub(super) fn in_entry(mut self, index: usize) -> Self {
        self.path.push(Part::Entry(index));
        self
    }

    /// Returns the fault as one line: the line of `text`, the key, and the reason.
    pub(super) fn told(&self, text: &str) -> String {
        let mut told = String::new();
        if let Some(place) = &self.place {
            let line = text.bytes().take(place.start).filter(|&byte| byte == b'\n').count() + 1;
            told.push_str(&format!("line {line}: "));
        }
        for (nth, part) in self.path.iter().rev().enumerate() {
            match part {
                Part::Key(key) if nth == 0 => told.push_str(&spelled(key)),
                Part::Key(key) => told.push_str(&format!(".{}", spelled(key))),
                Part::Entry(index) => told.push_str(&format!("[{index}]")),
            }
        }
        let separator = if self.path.is_empty() { "" } else { ": " };
        told + separator + &self.why
    }
}

/// Returns a key as it is written in TOML: bare if possible, otherwise in quotes.
fn spelled(key: &str) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if !key.is_empty() && key.chars().all(is_bare) { key.to_owned() } else { shown(key) }
}

/// Returns a text in quotes, on one line and shortened if necessary.
fn shown(text: &str) -> String {
    let mut chars = text.chars();
    let head: String = chars.by_ref().take(TEXT_SHOWN_MAX).collect();
    format!("{head:?}{}", if chars.next().is_some() { "…" } else { "" })
}

/// Returns the words in the form `"a"`, `"b"` or `"c"`.
pub(super) fn one_of(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => String::new(),
    }
}

/// Describes the value that was found.
fn found(unexpected: Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => value.to_string(),
        Unexpected::Str(text) => format!("the text {}", shown(text)),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        Unexpected::Char(_)
        | Unexpected::Bytes(_)
        | Unexpected::Unit
        | Unexpected::Option
        | Unexpected::NewtypeStruct
        | Unexpected::Enum
        | Unexpected::UnitVariant
        | Unexpected::NewtypeVariant
        | Unexpected::TupleVariant
        | Unexpected::StructVariant
        | Unexpected::Other(_) => unexpected.to_string(),
    }
}

/// Describes the expected value. Holdover's own visitors describe themselves in words; common types are translated by
/// their names.
fn wanted(expected: &dyn Expected) -> String {
    let said = expected.to_string();
    let range = |from: String, to: String| format!("a whole number from {from} to {to}");
    match said.as_str() {
        "a string" | "a borrowed string" | "path string" => "a text".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a sequence" => "a list".to_owned(),
        "a map" => "a table".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "u8" => range(u8::MIN.to_string(), u8::MAX.to_string()),
        "u16" => range(u16::MIN.to_string(), u16::MAX.to_string()),
        "u32" => range(u32::MIN.to_string(), u32::MAX.to_string()),
        "u64" | "usize" => "a whole number that is not negative".to_owned(),
        "a nonzero u32" | "a nonzero u64" | "a nonzero usize" => "a whole number from 1".to_owned(),
        "i8" | "i16" | "i32" | "i64" => "a whole number".to_owned(),
        said if said.starts_with("struct ") => "a table".to_owned(),
        said => said.to_owned(),
    }
}

impl Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: Display>(why: T) -> Self {
        Self::new(why.to_string())
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::new(format!("{} is wanted, not {}", wanted(expected), found(unexpected)))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(entries: usize, expected: &dyn Expected) -> Self {
        Self::new(format!("{} is wanted, it has {entries}", wanted(expected)))
    }

    fn unknown_variant(variant: &str, known: &'static [&'static str]) -> Self {
        Self::new(format!("{} is wanted, not the text {}", one_of(known), shown(variant)))
    }

    fn unknown_field(field: &str, known: &'static [&'static str]) -> Self {
        Self::new(format!("there is no such key; known are {}", known.join(", "))).under(field)
    }

    fn missing_field(field: &'static str) -> Self {
        Self::new("is missing").under(field)
    }
}
