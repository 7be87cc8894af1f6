//! The things that are owed to a session that waits.

use serde::{Deserialize, Serialize};

use crate::store::OutcomeKind;
use crate::time::Timestamp;
use crate::words::ids::{CallId, PendingId};

/// The suspension of a session: written when a run exits because it must wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// The kind: `suspended_client_tool`, `suspended_awaiting_children`, `suspended_step_partial` or
    /// `suspended_until`.
    pub kind: OutcomeKind,
    /// The instant at which time alone wakes the session.
    pub until: Option<Timestamp>,
    /// The things that are owed, in call order.
    pub owed: Vec<Owed>,
}

/// One thing that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// The call to which it is owed.
    pub call: CallId,
    /// The tool of the call.
    pub tool: String,
    /// The party that owes it.
    pub kind: OwedKind,
    /// The id of the pending call, if somebody owes an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingId>,
    /// The instant at which time alone settles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// The party that owes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwedKind {
    /// A person owes a decision.
    Approval,
    /// A client owes a result.
    ClientTool,
    /// Children owe the outcomes of their turns.
    Child,
    /// A timer runs.
    Timer,
}
