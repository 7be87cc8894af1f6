//! Handoffs: a new session begins with a goal and an extract of the old conversation (requirement B50).
//!
//! The new session is a [fork](crate::engine::fork) that rests with its goal. Before its first answer, an extract
//! of the old conversation is made for that goal. From then on, the model sees the extract, the goal, and
//! everything after the goal.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The arguments of a call that hands the session over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HandOffTo {
    /// The goal of the successor session.
    pub goal: String,
}

/// The maximum length of a goal, in bytes.
pub const GOAL_BYTES_MAX: usize = 32 * 1024;

/// The goal of a new session: a text that is not blank, of at most [`GOAL_BYTES_MAX`] bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Goal(String);

/// The reason why a text cannot be a goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidGoal {
    /// The text is empty or contains only white space.
    #[error("the goal is empty")]
    Empty,
    /// The text is longer than [`GOAL_BYTES_MAX`].
    #[error("the goal has {bytes} bytes, at most {GOAL_BYTES_MAX} are allowed")]
    TooLong {
        /// The length of the text, in bytes.
        bytes: usize,
    },
}

impl Goal {
    /// Creates a goal from a text. Fails if the text is blank or too long.
    pub fn new(text: impl Into<String>) -> Result<Self, InvalidGoal> {
        let text = text.into();
        if text.trim().is_empty() {
            return Err(InvalidGoal::Empty);
        }
        if text.len() > GOAL_BYTES_MAX {
            return Err(InvalidGoal::TooLong { bytes: text.len() });
        }
        Ok(Self(text))
    }

    /// Returns the text of the goal.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}
