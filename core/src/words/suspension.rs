//! The things that are owed to a session that waits.

use serde::{Deserialize, Serialize};

use crate::store::OutcomeKind;
use crate::time::Timestamp;
use crate::words::ids::{CallId, PendingId};

/// What is written when a run exits because it must wait.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspension {
    /// `suspended_client_tool`, `suspended_step_partial` or `suspended_until`.
    pub kind: OutcomeKind,
    /// When time alone wakes the session.
    pub until: Option<Timestamp>,
    /// What is owed, in call order.
    pub owed: Vec<Owed>,
}

/// One thing that is owed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owed {
    /// To which call.
    pub call: CallId,
    /// Of which tool.
    pub tool: String,
    /// By whom.
    pub kind: OwedKind,
    /// The asking, where somebody owes an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pending: Option<PendingId>,
    /// When time alone settles it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
}

/// Who owes something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OwedKind {
    /// A person owes a decision.
    Approval,
    /// A client owes a result.
    ClientTool,
    /// A timer runs.
    Timer,
}
