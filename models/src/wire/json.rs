//! Checks whether a text is complete JSON.

use serde::de::IgnoredAny;

/// Whether a text is JSON from its beginning to its end: what was cut off is not, if it was an object.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
