//! A handoff in the machine: the data that is kept until the extract exists.

use serde::{Deserialize, Serialize};

use crate::words::ids::MessageSeq;

/// A handoff whose extract does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The last message of the old conversation, from which the extract is made. Later messages, such as the goal,
    /// stay.
    pub after: MessageSeq,
    /// True if the session waits with its goal as a draft once the extract exists. A later message to the session
    /// resets this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
}
