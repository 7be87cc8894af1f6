//! Checks that a text is complete JSON.

use serde::de::IgnoredAny;

/// Returns true if the text is one complete JSON value. Returns false for an object that was cut off.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
