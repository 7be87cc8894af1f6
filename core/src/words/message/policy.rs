//! Policies for messages that come while a turn runs or is parked.

use serde::{Deserialize, Serialize};

/// What becomes of a message that comes while a turn runs or is parked. At rest each of them begins a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessagePolicy {
    /// It is refused, and nothing is stored.
    Reject,
    /// It waits until the turn has ended, however it ends. One such message begins each turn, in the order in which
    /// they came.
    Enqueue,
    /// The model is shown it in its next step.
    Steer,
    /// The turn is stopped: open calls are cancelled, what is asked of people is withdrawn. Then a turn begins
    /// with it.
    Interrupt,
    /// As an interrupt; and the model is shown nothing of the turn any more, only which of its calls acted or may
    /// have. Nothing stored is removed.
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

    /// Whether it waits for the end of the turn. A message that would have been refused had it come later waits too.
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

/// What a steering message means for approvals that are open when it comes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WhileAsking {
    /// Nothing: it waits until they are decided or have expired.
    #[default]
    Hold,
    /// They are denied, with its text as the reason.
    Deny,
}
