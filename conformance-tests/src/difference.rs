//! Compares two values as text, and shows where they differ.

use std::fmt::Write as _;

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// The length, in bytes, above which only the differences are shown.
const WHOLE_BYTES_MAX: usize = 240;

/// Shows the expected and the found value: whole if both are short, else only the fields that differ.
pub(crate) fn compared(expected: &str, found: &str) -> String {
    if expected.len().max(found.len()) <= WHOLE_BYTES_MAX {
        return format!("    expected {expected}\n    found    {found}");
    }
    format!("    expected (-) and found (+) differ in\n{}", differences(expected, found))
}

/// Lists the fields that differ between two values in their `Debug` form: `-` for fields of the first alone, `+` for
/// fields of the second alone.
pub(crate) fn differences(one: &str, other: &str) -> String {
    let (one, other): (Vec<&str>, Vec<&str>) = (one.split(", ").collect(), other.split(", ").collect());
    let mut text = String::new();
    for change in capture_diff_slices(Algorithm::Myers, &one, &other) {
        if change.tag() != DiffTag::Equal {
            add(&mut text, '-', one.get(change.old_range()));
            add(&mut text, '+', other.get(change.new_range()));
        }
    }
    text.trim_end().to_owned()
}

fn add(text: &mut String, sign: char, fields: Option<&[&str]>) {
    if let Some(fields) = fields.filter(|fields| !fields.is_empty()) {
        let _ = writeln!(text, "      {sign} {}", fields.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_values_are_shown_whole() {
        assert_eq!(compared("Idle", "Active"), "    expected Idle\n    found    Active");
    }

    #[test]
    fn long_values_are_shown_by_what_differs() {
        let value = |version: u8, rows: &str| {
            let long = "x".repeat(WHOLE_BYTES_MAX);
            format!("Session {{ key: {long}, version: Version({version}), status: Idle, rows: [{rows}] }}")
        };
        let expected = "    expected (-) and found (+) differ in\n      - version: Version(3)\n      \
                        + version: Version(4)\n      - rows: [1, 2] }\n      + rows: [] }";
        assert_eq!(compared(&value(3, "1, 2"), &value(4, "")), expected);
    }
}
