//! Errors as they are stored with a session.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The longest detail that is stored, in bytes.
pub const ERROR_DETAIL_BYTES_MAX: usize = 8 * 1024;

/// An error that can be stored: a code to branch on and one line for people.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ErrorInfo {
    /// The code of the error: words joined by dots, such as `store.corrupt`.
    pub code: String,
    /// The exact cause, in one line of at most [`ERROR_DETAIL_BYTES_MAX`] bytes.
    pub detail: String,
}

impl ErrorInfo {
    /// Returns an error with `code` and `detail`. Line breaks in `detail` become spaces, and a text longer
    /// than [`ERROR_DETAIL_BYTES_MAX`] is cut.
    pub fn new(code: impl Into<String>, detail: impl Into<String>) -> Self {
        let mut detail = detail.into().replace(['\n', '\r'], " ");
        if detail.len() > ERROR_DETAIL_BYTES_MAX {
            let end = (0..=ERROR_DETAIL_BYTES_MAX).rev().find(|&at| detail.is_char_boundary(at)).unwrap_or(0);
            detail.truncate(end);
        }
        Self { code: code.into(), detail }
    }
}

impl fmt::Display for ErrorInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.detail)
    }
}
