//! The things that a turn that ends must still do outside its session.

use serde::{Deserialize, Serialize};

use crate::words::children::{Children, ReplyTo};
use crate::words::ending::HandedTo;

/// The things that a turn that ends must still do outside its session: children are stopped, then whoever waits
/// for the outcome is told, then the surroundings are freed. Each is done at least once, and doing it again is
/// harmless.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Teardown {
    /// Whether surroundings were provisioned for the turn, even if only half.
    pub provisioned: bool,
    /// The children whose outcome the turn does not wait for any more.
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
    /// To whom the session is handed over.
    pub to: HandedTo,
    /// The addresses to which the outcome of its turn is sent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub replies: Vec<ReplyTo>,
}

impl Teardown {
    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        !self.provisioned && self.is_told()
    }

    /// Whether no other session is left to be told of the end.
    pub fn is_told(&self) -> bool {
        self.children.is_empty() && self.replies.is_empty() && self.successor.is_none()
    }
}
