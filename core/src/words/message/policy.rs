//! Policies for messages that come while a turn runs or is parked.

use serde::{Deserialize, Serialize};

/// The policy for a message that comes while a turn runs or is parked. At rest, a message begins a turn under
/// every policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePolicy {
    /// The message is refused, and nothing is stored.
    Reject,
    /// The message waits until the turn has ended, however it ends. Each such message begins a turn, in the
    /// order in which they came.
    Enqueue,
    /// The model is shown the message in its next step.
    Steer,
    /// The turn is stopped: open calls are cancelled, and requests to people are withdrawn. Then a turn
    /// begins with the message.
    Interrupt,
    /// As an interrupt. In addition, the turn is hidden from the model, except for the fact which of its
    /// calls acted or may have acted. Nothing stored is removed.
    Rollback,
}

impl MessagePolicy {
    /// Every policy.
    pub const ALL: [Self; 5] = [Self::Reject, Self::Enqueue, Self::Steer, Self::Interrupt, Self::Rollback];

    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reject => "reject",
            Self::Enqueue => "enqueue",
            Self::Steer => "steer",
            Self::Interrupt => "interrupt",
            Self::Rollback => "rollback",
        }
    }

    /// Whether the message waits for the end of the turn. A message with [`Reject`](Self::Reject) that was
    /// accepted before the turn began waits too.
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

/// The consequence of a steering message for approvals that are open when it comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileAsking {
    /// No effect: the message waits until they are decided or have expired.
    #[default]
    Hold,
    /// The approvals are denied, with the text of the message as the reason.
    Deny,
}
