//! Compares two versions.

use std::cmp::Ordering;

/// Compares versions as people write them. Whole numbers are compared by value, and all other text by its
/// characters. A pre-release (`2.0-rc.1`) comes before its release (`2.0`).
pub(super) fn compare(one: &str, other: &str) -> Ordering {
    let (one_parts, other_parts) = (parts(one), parts(other));
    let differ = one_parts.iter().zip(&other_parts).position(|(one, other)| one != other);
    let at = differ.unwrap_or(one_parts.len().min(other_parts.len()));
    match (one_parts.get(at), other_parts.get(at)) {
        (None, Some(rest)) if is_pre_release(rest) => Ordering::Greater,
        (Some(rest), None) if is_pre_release(rest) => Ordering::Less,
        (one_rest, other_rest) => one_rest.cmp(&other_rest).then_with(|| one.cmp(other)),
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Part<'v> {
    /// The number of digits without leading zeros, and these digits.
    Number(usize, &'v str),
    Text(&'v str),
}

fn parts(version: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = version;
    while let Some(first) = rest.chars().next() {
        let is_number = first.is_ascii_digit();
        let end = rest.find(|char: char| char.is_ascii_digit() != is_number).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        let digits = part.trim_start_matches('0');
        parts.push(if is_number { Part::Number(digits.len(), digits) } else { Part::Text(part) });
        rest = after;
    }
    parts
}

fn is_pre_release(part: &Part<'_>) -> bool {
    let Part::Text(text) = part else { return false };
    text.strip_prefix('-').is_some_and(|rest| !rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_as_people_read_them() {
        let ordered = ["1", "2", "10", "2026-11-02", "2026-11-10", "v1", "v9", "v10", "v10.1"];
        for (at, one) in ordered.iter().enumerate() {
            for (place, other) in ordered.iter().enumerate() {
                assert_eq!(compare(one, other), at.cmp(&place), "{one} {other}");
            }
        }
        let released = ["1.9.9", "2.0.0-rc.1", "2.0.0-rc.2", "2.0.0", "2.0.1", "99999999999999999999999"];
        assert!(released.is_sorted_by(|one, other| compare(one, other) == Ordering::Less));
        assert_eq!(compare("01", "1"), Ordering::Less, "two versions are never the same");
    }
}
