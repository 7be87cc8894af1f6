//! The tasks that a turn must finish outside its session before it ends.

use serde::{Deserialize, Serialize};

use crate::words::children::{Children, ReplyTo};
use crate::words::ending::HandedTo;

/// The tasks that a turn must finish outside its session before it ends. First children are stopped, then the session
/// that takes over is created, then the outcome is sent to those who wait for it, then the surroundings are freed.
/// Each task is done at least once, and doing it again is harmless.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teardown {
    /// True if the surroundings of the turn must be freed, even if they were provisioned only in part or not at all.
    pub provisioned: bool,
    /// The children to stop: those that the turn no longer waits for, and those that must not outlive it. After an
    /// abort, these include the sessions to which this one was handed over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Children>,
    /// The addresses to which the outcome of the turn is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyTo>,
    /// The session that takes over, with the addresses to which the outcome of its turn is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub successor: Option<Box<Successor>>,
}

/// A session that takes over from another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Successor {
    /// The session and agent that take over.
    pub to: HandedTo,
    /// The addresses to which the outcome of its turn is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyTo>,
}

impl Teardown {
    /// Returns true if no task is left.
    pub fn is_empty(&self) -> bool {
        !self.provisioned && self.is_told()
    }

    /// Returns true if no other session is left to notify of the ending.
    pub fn is_told(&self) -> bool {
        self.children.is_empty() && self.replies.is_empty() && self.successor.is_none()
    }
}
