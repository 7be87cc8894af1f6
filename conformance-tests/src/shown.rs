//! Values as text, short enough to be read in a failure.

use std::fmt::Debug;

/// The maximum number of characters that are shown of one value.
const CHARS_MAX: usize = 400;

/// The endings of empty fields.
const EMPTY: [&str; 4] = [": None", ": []", ": {}", ": Labels({})"];

/// The number of hexadecimal digits of an incarnation, and how many of them are shown, which is enough to tell two
/// apart.
const INCARNATION_DIGITS: usize = 32;
const INCARNATION_SHOWN: usize = 8;

/// Formats a value with `Debug`, without empty fields, and cut if it is long.
pub(crate) fn shown(value: &impl Debug) -> String {
    let text = short_incarnations(&without_empty_fields(&format!("{value:?}")));
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Removes the instants from a `Debug` text.
pub(crate) fn without_instants(text: &str) -> String {
    let mut parts = text.split('@');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        shown + "@" + part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-')
    })
}

/// Removes empty fields: `state: None`, `messages: []`.
fn without_empty_fields(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, empty)) = EMPTY.iter().filter_map(|empty| Some((rest.find(empty)?, *empty))).min() {
        let (before, after) = (&rest[..at], &rest[at + empty.len()..]);
        let is_field = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = before.rfind(|c| !is_field(c)).map_or(0, |end| end + 1);
        shown.push_str(&before[..name]);
        rest = match after.strip_prefix(", ") {
            Some(after) => after,
            // After the last field there is no comma, so the comma before it is removed.
            None => {
                let kept = shown.trim_end_matches(", ").len();
                shown.truncate(kept);
                after
            }
        };
    }
    shown.push_str(rest);
    shown.replace("{  }", "{}")
}

/// Shortens incarnations, which are long and random.
fn short_incarnations(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find(|c: char| c.is_ascii_hexdigit()) {
        let (before, digits) = rest.split_at(begin);
        let end = digits.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(digits.len());
        let (word, after) = digits.split_at(end);
        let whole = !before.ends_with(|c: char| c.is_ascii_alphanumeric());
        let is_incarnation =
            whole && word.len() == INCARNATION_DIGITS && word.bytes().all(|b| b.is_ascii_hexdigit());
        shown.push_str(before);
        shown.push_str(if is_incarnation { &word[..INCARNATION_SHOWN] } else { word });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_fields_are_left_out() {
        for (text, expected) in [
            ("A { a: None, b: 1, c: [] }", "A { b: 1 }"),
            ("A { a: 1, b: None, c: {}, d: [] }", "A { a: 1 }"),
            ("A { a: None }", "A {}"),
            ("Ok(None)", "Ok(None)"),
            ("[]", "[]"),
            ("A { a: [1], b: Some([]) }", "A { a: [1], b: Some([]) }"),
        ] {
            assert_eq!(without_empty_fields(text), expected, "{text}");
        }
    }

    #[test]
    fn incarnations_are_short_and_nothing_else_is() {
        let uuid = "2f208cf1035b4306aaa806a2a78f6ec9";
        assert_eq!(short_incarnations(&format!("a: {uuid}, b")), "a: 2f208cf1, b");
        for text in ["Payload(10 B, 4c4ed1af)", "acme/s", "", &format!("x{uuid}"), &format!("{uuid}0")] {
            assert_eq!(short_incarnations(text), text);
        }
    }

    #[test]
    fn long_values_are_cut_between_characters() {
        let text = shown(&"ü".repeat(1_000));
        assert_eq!(text.chars().count(), CHARS_MAX + 1);
    }
}
