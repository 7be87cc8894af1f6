//! Checks whether a text is complete JSON.

use serde::de::IgnoredAny;

/// Whether a text is one complete JSON value. An object that was cut off is not.
pub(crate) fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
