//! Policies for messages that arrive while a turn runs or is parked.

use serde::{Deserialize, Serialize};

/// The policy for a message that arrives while a turn runs or is parked. At rest, a message begins a turn
/// under every policy.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePolicy {
    /// The message is refused and not stored.
    Reject,
    /// The message waits until the turn has ended in any way. Each such message begins its own turn, in order
    /// of arrival.
    Enqueue,
    /// The model sees the message in its next step.
    Steer,
    /// The turn is stopped: open calls are cancelled, and requests to people are withdrawn. Then the message
    /// begins a new turn.
    Interrupt,
    /// As [`Interrupt`](Self::Interrupt). In addition, the turn is hidden from the model. The model only sees
    /// which of its calls acted or may have acted. Nothing is deleted from the store.
    Rollback,
}

impl MessagePolicy {
    /// Every policy.
    pub const ALL: [Self; 5] = [Self::Reject, Self::Enqueue, Self::Steer, Self::Interrupt, Self::Rollback];

    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Enqueue => "enqueue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Rollback => "rollback",
        }
    }

    /// Returns true if the message waits for the end of the turn. This includes a message with
    /// [`Reject`](Self::Reject) that was accepted before the turn began.
    pub fn waits(self) -> bool {
        match self {
            Self::Reject | Self::Enqueue => true,
            Self::Steer | Self::Interrupt | Self::Rollback => false,
        }
    }
}

impl std::str::FromStr for MessagePolicy {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let names = Self::ALL.map(Self::as_str).join(", ");
        let found = Self::ALL.into_iter().find(|policy| policy.as_str() == text);
        found.ok_or_else(|| format!("there is no policy {text:?}; there are: {names}"))
    }
}

/// The effect of a steering message on approvals that are open when the message arrives.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileAsking {
    /// No effect. The message waits for the end of the step, and so until the approvals are decided or have
    /// expired.
    #[default]
    Hold,
    /// The approvals are denied. The text of the message is the reason.
    Deny,
}
