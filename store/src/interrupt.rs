//! Requests to stop, from any process.

use serde::{Deserialize, Serialize};

use crate::ids::{Incarnation, InterruptId};
use crate::time::Timestamp;

/// How hard to stop. Ordered: an abort replaces a soft stop that waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InterruptKind {
    /// Ends the turn; the session stays usable.
    Soft,
    /// Ends the session for ever.
    Abort,
}

impl InterruptKind {
    /// The wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Soft => "soft",
            Self::Abort => "abort",
        }
    }
}

/// A request to stop. The first soft request that waits is kept, and later ones change nothing. The first
/// abort replaces a soft one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interrupt {
    /// The id, drawn by the caller. The commit that names it clears the interrupt.
    pub id: InterruptId,
    /// How hard to stop.
    pub kind: InterruptKind,
    /// The reason, in the caller's words.
    pub reason: String,
    /// When the caller asked, by the caller's clock as far as the store cares.
    pub at: Timestamp,
    /// The life of the session that is to stop; another answers `NotFound`. If none, whichever there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub incarnation: Option<Incarnation>,
}

/// The answer to [`request_interrupt`](super::StateStore::request_interrupt).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InterruptOutcome {
    /// The request waits now. A session that nobody runs is due now.
    Requested,
    /// A request that is at least as hard waits already, and is kept.
    AlreadyWaiting {
        /// The id of that request.
        id: InterruptId,
    },
    /// A soft stop of a session at rest: there is nothing to stop, and the next turn is not harmed.
    AtRest,
    /// This very stop was requested before, perhaps by a try whose answer was lost, and no longer waits: it
    /// was carried out, or the turn that it was for ended by itself. Nothing was changed. Only the newest
    /// such stop is known.
    Over,
    /// The session is aborted, for ever.
    Aborted,
    /// There is no such session, or not in this incarnation.
    NotFound,
}

impl InterruptOutcome {
    /// Whether a stop waits now, by this request or an earlier one.
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
    /// Nothing waits.
    Clear,
    /// This interrupt waits, and is handed to the asking run. It keeps waiting until a commit names it.
    Waiting(Interrupt),
    /// Another run owns the session now, or it was released or deleted.
    StaleFence,
}
