//! A handoff in the machine: the data that it keeps until the extract exists.

use serde::{Deserialize, Serialize};

use crate::words::ids::MessageSeq;

/// A handoff whose extract does not exist yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Handoff {
    /// The last message of the old conversation, from which the extract is made. Messages behind it stay: the
    /// goal.
    pub after: MessageSeq,
    /// Whether the session waits with its draft once the extract exists, instead of going on. A later message
    /// to the session ends this.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub draft: bool,
}
