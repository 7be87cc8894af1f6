//! Patterns: which tools, and which arguments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Which arguments: each that is named must be there and match its pattern, in which `*` stands for any run of
/// characters, also for none. `a.b` names `b` within `a`. A string is matched as it is, anything else as JSON
/// without spaces. Without a name all arguments fit.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ArgumentPatterns(BTreeMap<String, String>);

impl ArgumentPatterns {
    /// Whether all arguments fit.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Name and pattern of each.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, pattern)| (name.as_str(), pattern.as_str()))
    }

    /// Whether these arguments, JSON, fit.
    pub fn fit(&self, arguments: &str) -> bool {
        self.is_empty() || parsed(arguments).is_some_and(|arguments| self.all(&arguments, matches_glob))
    }

    /// Whether these arguments, JSON, fit and may so be let through: a value with `..` between slashes fits no star,
    /// for `notes/*` is not meant for `notes/../secrets`.
    pub fn let_through(&self, arguments: &str) -> bool {
        let inside = |pattern: &str, text: &str| {
            let climbs = text.split(['/', '\\']).any(|part| part == "..");
            if climbs { pattern == text } else { matches_glob(pattern, text) }
        };
        self.is_empty() || parsed(arguments).is_some_and(|arguments| self.all(&arguments, inside))
    }

    fn all(&self, arguments: &Value, matches: fn(&str, &str) -> bool) -> bool {
        self.0.iter().all(|(name, pattern)| match at(arguments, name) {
            Some(Value::String(text)) => matches(pattern, text),
            Some(other) => matches(pattern, &other.to_string()),
            None => false,
        })
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
            write!(f, "{comma}{name}={pattern}")?;
        }
        Ok(())
    }
}

fn parsed(arguments: &str) -> Option<Value> {
    serde_json::from_str(arguments).ok()
}

/// What stands under this name: as it is written, or along the dots.
fn at<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    value.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        at(value.get(first)?, rest)
    })
}

/// Whether `text` matches `pattern`, in which `*` stands for any run of characters. Linear in time:
/// the newest star takes up one more character whenever what follows it does not fit.
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
