//! The address to which the outcome of a child's turn is sent, and the share of the limits that the turn may
//! use.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ids::{Incarnation, PendingId, SessionKey};
use crate::words::payload::is_default;

/// The share of the parent's limits that a child's turn may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowance {
    /// The most steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// The most tokens, read and written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// The most money, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_microusd: Option<u64>,
    /// The instant at which the parent stops waiting. The turn ends then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

impl Allowance {
    /// The stricter of two shares, limit by limit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Self {
            steps: least(self.steps, other.steps),
            tokens: least(self.tokens, other.tokens),
            cost_microusd: least(self.cost_microusd, other.cost_microusd),
            until: least(self.until, other.until),
        }
    }
}

/// The address to which the outcome of a child's turn is sent. It comes with the message that begins the turn.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplyTo {
    /// The parent.
    pub session: SessionKey,
    /// The life of the parent.
    pub incarnation: Incarnation,
    /// The pending call of the parent.
    pub pending: PendingId,
    /// The place of the child among the children of the call, from 0.
    pub index: u32,
    /// Whether a failure settles the call, whatever the other children are still to say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// The share of the parent's limits that the turn may use.
    #[serde(default, skip_serializing_if = "is_default")]
    pub allowance: Allowance,
}
