//! The records that code which plans leaves in the transcript.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;

/// The record of a decision of code, beside the calls that it made.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanRecord {
    /// The facts that the code drew, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<Drawn>,
    /// The numbers of decisions, from 1, that the code took back before they were recorded. They are no calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<u64>,
    /// The input with which the code starts over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carries_on: Option<String>,
}

impl PlanRecord {
    /// Returns true if the record holds nothing.
    pub fn is_empty(&self) -> bool {
        self.drawn.is_empty() && self.skipped.is_empty() && self.carries_on.is_none()
    }
}

/// A fact that code drew.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "drew", rename_all = "snake_case")]
pub enum Drawn {
    /// The present instant.
    Now {
        /// The instant, on the store's clock.
        at: Timestamp,
    },
    /// A random number.
    Random {
        /// The number.
        value: u64,
    },
    /// A random UUID.
    Uuid {
        /// The UUID, as text.
        value: String,
    },
    /// A question whether the code may take a changed path.
    Patched {
        /// The id of the change.
        id: String,
        /// True if the code takes the changed path.
        yes: bool,
    },
}

/// Code that is told to stop, with the record of it in the transcript.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PlanNotice {
    /// The code is to stop: its calls are cancelled, and it may undo what it has done.
    Stop,
}
