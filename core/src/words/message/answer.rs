//! The answer of a client to a call that it ran.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::words::custom::StateChange;
use crate::words::image::Images;

/// A client's answer to a call of a client tool.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ClientAnswer {
    /// True if the client could not run the call.
    #[serde(default)]
    pub is_error: bool,
    /// The text that the model sees.
    pub content: String,
    /// The pictures that the model sees beside the text. An error has no pictures.
    #[serde(default, skip_serializing_if = "Images::is_empty")]
    pub images: Images,
    /// The changes to the session's [custom state](crate::words::custom), applied in order when the step is over.
    /// If one of them cannot be applied, none is, and the call becomes an error that says why. An error changes
    /// nothing.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<StateChange>,
}

impl ClientAnswer {
    /// Returns the answer of a client that ran the call. `content` is the result.
    ///
    /// ```
    /// use holdover_core::message::ClientAnswer;
    ///
    /// assert!(!ClientAnswer::done("total: 12.50").is_error);
    /// assert!(ClientAnswer::failed("the paper is torn").is_error);
    /// ```
    pub fn done(content: impl Into<String>) -> Self {
        Self { is_error: false, content: content.into(), images: Images::none(), changes: Vec::new() }
    }

    /// Returns the answer of a client that could not run the call. `content` is the reason.
    pub fn failed(content: impl Into<String>) -> Self {
        Self { is_error: true, ..Self::done(content) }
    }

    /// Sets the pictures that the model sees beside the text, and replaces earlier ones.
    #[must_use]
    pub fn showing(self, images: Images) -> Self {
        Self { images, ..self }
    }

    /// Sets the value under `key` of the custom state.
    ///
    /// ```
    /// use holdover_core::message::ClientAnswer;
    ///
    /// let answer = ClientAnswer::done("total: 12.50").set("total", 1250).append("receipts", "r-7");
    /// assert_eq!(answer.changes.len(), 2);
    /// ```
    #[must_use]
    pub fn set(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.changing([StateChange::Set { key: key.into(), value: value.into() }])
    }

    /// Appends `value` to the list under `key` of the custom state. If the key does not exist, creates a list
    /// with this value only.
    #[must_use]
    pub fn append(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.changing([StateChange::Append { key: key.into(), value: value.into() }])
    }

    /// Removes `key` from the custom state.
    #[must_use]
    pub fn delete(self, key: impl Into<String>) -> Self {
        self.changing([StateChange::Delete { key: key.into() }])
    }

    /// Adds changes to the custom state, after those that were added before.
    #[must_use]
    pub fn changing(mut self, changes: impl IntoIterator<Item = StateChange>) -> Self {
        self.changes.extend(changes);
        self
    }
}
