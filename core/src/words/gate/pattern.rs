//! Patterns for tool names and for arguments.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::parameters::{REDACTED, is_secret};

/// Patterns for the arguments of a call, by argument name. In a pattern, `*` stands for any number of
/// characters, including none. Every named argument must exist and match its pattern. Without any patterns,
/// all arguments match.
///
/// The name `a.b` means the field `b` of `a`, and also an argument that is itself called `a.b`. If both
/// exist, the tool may read either. So both must match to [let a call through](Self::let_through), but one
/// match is enough to [hold a call back](Self::fit). Names cannot select items of a list. A string is
/// compared as it is, and any other value as JSON without spaces.
///
/// The arguments must not contain duplicate keys. Arguments that do are refused before a gate is asked.
///
/// As text, the patterns are `name=pattern`, separated by commas. If a name contains `token`, `secret`, `password`, `key` or
/// `auth`, in any case, the pattern is shown as [`REDACTED`](crate::parameters::REDACTED).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgumentPatterns(BTreeMap<String, String>);

impl ArgumentPatterns {
    /// Returns true if there are no patterns, so that all arguments match.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Iterates over the names and patterns.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()))
    }

    /// Returns the patterns as events show them. The pattern of a name that looks like a secret is
    /// [`REDACTED`](crate::parameters::REDACTED).
    #[must_use]
    pub fn redacted(mut self) -> Self {
        for (_, pattern) in self.0.iter_mut().filter(|(name, _)| is_secret(name)) {
            REDACTED.clone_into(pattern);
        }
        self
    }

    /// Returns true if these JSON arguments match, for rules that hold a call back. One matching value per
    /// name is enough.
    pub fn fit(&self, arguments: &str) -> bool {
        let any = |places: &[&Value], pattern: &str| {
            places.iter().any(|place| matches_glob(pattern, &written(place)))
        };
        self.is_empty() || parsed(arguments).is_some_and(|arguments| self.each(&arguments, any))
    }

    /// Returns true if these JSON arguments match, for rules that let a call through. All values of each name
    /// must match. A value that contains `..` as a part between `/` or `\` matches only an equal pattern, so
    /// `notes/*` does not match `notes/../secrets`.
    pub fn let_through(&self, arguments: &str) -> bool {
        let inside = |pattern: &str, text: &str| {
            let climbs = text.split(['/', '\\']).any(|part| part == "..");
            if climbs { pattern == text } else { matches_glob(pattern, text) }
        };
        let all = |places: &[&Value], pattern: &str| {
            !places.is_empty() && places.iter().all(|place| inside(pattern, &written(place)))
        };
        self.is_empty() || parsed(arguments).is_some_and(|arguments| self.each(&arguments, all))
    }

    /// Returns true if `holds` is true for every name, given all its values and its pattern.
    fn each(&self, arguments: &Value, holds: impl Fn(&[&Value], &str) -> bool) -> bool {
        self.0.iter().all(|(name, pattern)| holds(&places(arguments, name), pattern))
    }
}

impl<N: Into<String>, P: Into<String>> FromIterator<(N, P)> for ArgumentPatterns {
    fn from_iter<I: IntoIterator<Item = (N, P)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(name, pattern)| (name.into(), pattern.into())).collect())
    }
}

impl std::fmt::Display for ArgumentPatterns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, (name, pattern)) in self.iter().enumerate() {
            let comma = if at > 0 { ", " } else { "" };
            let shown = if is_secret(name) { REDACTED } else { pattern };
            write!(f, "{comma}{name}={shown}")?;
        }
        Ok(())
    }
}

fn parsed(arguments: &str) -> Option<Value> {
    serde_json::from_str(arguments).ok()
}

/// Returns all values with this name: the one with exactly this name, and those found by splitting the name
/// at any of its dots.
fn places<'a>(value: &'a Value, name: &str) -> Vec<&'a Value> {
    let parted = name.match_indices('.').flat_map(|(at, dot)| {
        let inside = value.get(&name[..at]);
        inside.map(|inside| places(inside, &name[at + dot.len()..])).unwrap_or_default()
    });
    value.get(name).into_iter().chain(parted).collect()
}

fn written(value: &Value) -> Cow<'_, str> {
    value.as_str().map_or_else(|| Cow::Owned(value.to_string()), Cow::Borrowed)
}

/// Returns true if `text` matches `pattern`, in which `*` stands for any number of characters. Backtracks
/// only to the newest star, which takes one more character each time.
pub(super) fn matches_glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((at, taken)) = star {
            star = Some((at, taken + 1));
            p = at + 1;
            t = taken + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&byte| byte == b'*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, fits) in [
            ("*", "", true),
            ("write_*", "write_file", true),
            ("write_*", "rewrite_file", false),
            ("*_file", "write_file", true),
            ("*a*b", "aab", true),
            ("*a*b", "aba", false),
            ("read", "read", true),
            ("read", "reads", false),
        ] {
            assert_eq!(matches_glob(pattern, text), fits, "{pattern} {text}");
        }
    }

    fn patterns(pairs: &[(&str, &str)]) -> ArgumentPatterns {
        pairs.iter().copied().collect()
    }

    #[test]
    fn every_argument_that_is_named_must_fit() {
        let both = patterns(&[("path", "notes/*"), ("mode", "append")]);
        assert!(both.fit(r#"{"path": "notes/a", "mode": "append", "more": 1}"#));
        assert!(!both.fit(r#"{"path": "notes/a", "mode": "replace"}"#));
        assert!(!both.fit(r#"{"path": "notes/a"}"#), "one is missing");
        assert!(!both.fit("[]") && !both.fit("nonsense"));
        assert!(patterns(&[]).fit("nonsense"), "nothing is named");
    }

    #[test]
    fn what_is_no_string_is_matched_as_json_and_dots_lead_inside() {
        let amount = patterns(&[("order.amount", "1?"), ("urgent", "true")]);
        assert!(!amount.fit(r#"{"order": {"amount": 12}, "urgent": true}"#), "only a star is special");
        let amount = patterns(&[("order.amount", "1*"), ("urgent", "true")]);
        assert!(amount.fit(r#"{"order": {"amount": 12}, "urgent": true}"#));
        assert!(amount.fit(r#"{"order.amount": 100, "urgent": true}"#), "a name may have a dot of its own");
        assert!(!amount.fit(r#"{"order": {"amount": 2}, "urgent": true}"#));
    }

    #[test]
    fn a50_the_pattern_of_a_secret_is_not_shown_and_still_decides() {
        let both = patterns(&[("order.api_key", "hunter2"), ("path", "notes/*")]);
        assert_eq!(both.to_string(), "order.api_key=[redacted], path=notes/*");
        let shown = serde_json::to_string(&both.clone().redacted()).unwrap();
        assert_eq!(shown, r#"{"order.api_key":"[redacted]","path":"notes/*"}"#);
        assert!(both.let_through(r#"{"order": {"api_key": "hunter2"}, "path": "notes/a"}"#));
        assert!(!both.let_through(r#"{"order": {"api_key": "[redacted]"}, "path": "notes/a"}"#));
    }

    #[test]
    fn u06_what_stands_twice_under_a_name_is_let_through_only_if_all_of_it_fits() {
        let small = patterns(&[("order.amount", "1*")]);
        let both =
            |own: u32, inside: u32| format!(r#"{{"order.amount":{own},"order":{{"amount":{inside}}}}}"#);
        for (arguments, fits, through) in [
            (both(1, 10), true, true),
            (both(1, 9999), true, false),
            (both(9999, 1), true, false),
            (both(9, 9), false, false),
            (r#"{"order\u002eamount":1,"order":{"amount":9999}}"#.to_owned(), true, false),
            (r#"{"order":{"amount":[1]}}"#.to_owned(), false, false),
            (r#"{"order":[{"amount":1}]}"#.to_owned(), false, false),
        ] {
            assert_eq!(
                (small.fit(&arguments), small.let_through(&arguments)),
                (fits, through),
                "{arguments}"
            );
        }
        let deep = patterns(&[("a.b.c", "1")]);
        for parted in [r#"{"a":{"b":{"c":2}}}"#, r#"{"a":{"b.c":2}}"#, r#"{"a.b":{"c":2}}"#] {
            let shadowed = parted.replacen('{', r#"{"a.b.c":1,"#, 1);
            assert!(deep.fit(&shadowed) && !deep.let_through(&shadowed), "{shadowed}");
            assert!(deep.let_through(&parted.replace('2', "1")), "{parted}");
        }
    }

    #[test]
    fn what_climbs_out_of_a_folder_is_let_through_by_no_star() {
        let notes = patterns(&[("path", "notes/*")]);
        assert!(notes.let_through(r#"{"path": "notes/a..b"}"#));
        for climbing in ["notes/../secrets", "notes/a/..", "notes\\..\\secrets"] {
            let arguments = serde_json::json!({ "path": climbing }).to_string();
            assert!(!notes.let_through(&arguments), "{climbing}");
        }
        assert!(patterns(&[("path", "../known")]).let_through(r#"{"path": "../known"}"#), "named as it is");
    }
}
