//! Interrupts: requests to stop a session. Any process may make one.

use serde::{Deserialize, Serialize};

use crate::ids::{Incarnation, InterruptId};
use crate::time::Timestamp;

/// The kind of a stop. The variants are in ascending order of severity: an abort replaces a waiting soft
/// interrupt.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptKind {
    /// Ends the turn; the session stays usable.
    Soft,
    /// Ends the session, which is final.
    Abort,
}

impl InterruptKind {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Abort => "abort",
        }
    }
}

/// A request to stop. While a soft request waits, later soft requests change nothing. An abort replaces a
/// waiting soft request; while an abort waits, later requests change nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The id, drawn by the caller. The commit that names it clears the interrupt.
    pub id: InterruptId,
    /// The kind of the stop.
    pub kind: InterruptKind,
    /// The reason, in the caller's words.
    pub reason: String,
    /// The instant of the request. The store does not interpret it, so it may come from the caller's clock.
    pub at: Timestamp,
    /// The incarnation to stop; any incarnation if none. For a session of another incarnation, the outcome is
    /// `NotFound`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

/// The answer to [`request_interrupt`](super::StateStore::request_interrupt).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptOutcome {
    /// The request waits now. If the session is not active, the session is due now.
    Requested,
    /// A request that is at least as severe waits already, and is kept.
    AlreadyWaiting {
        /// The id of that request.
        id: InterruptId,
    },
    /// A soft stop was requested, but the session is at rest. Nothing was changed, and the request does not
    /// affect the next turn.
    AtRest,
    /// An interrupt with this id was requested before and no longer waits: it was carried out, or its turn
    /// ended by itself. Nothing was changed. The store remembers only the newest such interrupt.
    Over,
    /// The session is aborted, which is final.
    Aborted,
    /// The session does not exist, or its incarnation is not the one that the request names.
    NotFound,
}

impl InterruptOutcome {
    /// Returns true if an interrupt waits now, from this request or an earlier one.
    pub fn is_waiting(&self) -> bool {
        match self {
            Self::Requested | Self::AlreadyWaiting { .. } => true,
            Self::AtRest | Self::Over | Self::Aborted | Self::NotFound => false,
        }
    }
}

/// The answer to [`take_interrupt`](super::StateStore::take_interrupt).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptCheck {
    /// No interrupt waits.
    Clear,
    /// This interrupt waits and was handed to the run. It keeps waiting until a commit names it or, if it is soft, ends
    /// the turn.
    Waiting(Interrupt),
    /// Another run owns the session now, or the session was released or deleted.
    StaleFence,
}
