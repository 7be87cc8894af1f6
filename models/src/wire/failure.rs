//! Errors in core's terms, without secrets.

use std::error::Error as StdError;
use std::sync::Arc;

use holdover_core::model::{ModelError, ModelErrorKind};

use super::ApiKey;

/// The maximum number of characters of an error's detail that are kept.
const DETAIL_CHARS_MAX: usize = 500;

/// A filter that removes the key from errors, because a server may repeat the key in its message.
#[derive(Clone)]
pub(crate) struct Redaction {
    key: Option<Arc<str>>,
}

impl Redaction {
    pub(crate) fn new(key: Option<&ApiKey>) -> Self {
        Self { key: key.map(ApiKey::reveal).filter(|key| !key.is_empty()).map(Arc::from) }
    }

    /// Returns the error with its detail in one bounded line, without the key.
    pub(crate) fn apply(&self, mut error: ModelError) -> ModelError {
        let text = match &self.key {
            Some(key) => error.detail.replace(&**key, "[key]"),
            None => error.detail,
        };
        let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some((at, _)) = line.char_indices().nth(DETAIL_CHARS_MAX) {
            line.truncate(at);
            line.push('…');
        }
        error.detail = line;
        error
    }
}

/// Returns the error for a stream that ended before the answer was complete.
pub(crate) fn incomplete(why: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Incomplete, why)
}

/// Returns the error for data that cannot be read.
pub(crate) fn malformed(why: impl Into<String>) -> ModelError {
    ModelError::new(ModelErrorKind::Malformed, why)
}

/// Returns the error for a server that was silent for too long. `begun` is true if part of the answer had come.
pub(crate) fn stalled(begun: bool) -> ModelError {
    let phase = if begun {
        "nothing came for too long in the middle of an answer"
    } else {
        "no answer began in time"
    };
    ModelError::new(ModelErrorKind::Stalled, phase)
}

/// Returns the error for a connection that failed. `begun` is true if part of the answer had come.
pub(crate) fn cut(error: &(dyn StdError + 'static), begun: bool) -> ModelError {
    let why = innermost(error);
    if begun {
        incomplete(format!("the stream was cut: {why}"))
    } else {
        ModelError::new(ModelErrorKind::Network, why)
    }
}

/// Returns the causes of an error, without the outermost error, which names the URL.
fn innermost(error: &(dyn StdError + 'static)) -> String {
    let mut causes = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        causes.push(cause.to_string());
        next = cause.source();
    }
    if causes.is_empty() { "the connection failed".to_owned() } else { causes.join(": ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn details_are_one_bounded_line_without_the_key() {
        let redaction = Redaction::new(Some(&ApiKey::new("sk-123")));
        let clean = |text: &str| redaction.apply(malformed(text)).detail;
        assert_eq!(clean("key\n sk-123\tis bad"), "key [key] is bad");
        assert_eq!(clean(&"ü".repeat(600)).chars().count(), DETAIL_CHARS_MAX + 1);
    }
}
