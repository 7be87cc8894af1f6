//! Why a run exits although its turn goes on.

use serde::{Deserialize, Serialize};

use super::batch::Batch;
use super::call::CallState;
use crate::ids::{CallId, PendingId};
use crate::store::OutcomeKind;
use crate::time::Timestamp;

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

/// Why the run of this batch must exit, or none if it goes on: something is out, free to start, or due.
///
/// The precedence, first match:
///
/// | a parked call's time has come, or anything goes on | somebody owes | a timer runs | calls have ended | kind |
/// |---|---|---|---|---|
/// | yes | | | | – |
/// | no | yes | yes | yes | `suspended_step_partial` |
/// | no | yes | yes | no | `suspended_client_tool` |
/// | no | yes | no | | `suspended_client_tool` |
/// | no | no | yes | | `suspended_until` |
pub fn classify_suspension(batch: &Batch, now: Timestamp) -> Option<Suspension> {
    if !batch.is_parked() || batch.wakes_at().is_some_and(|at| at <= now) {
        return None;
    }
    let owed: Vec<Owed> = batch.calls.iter().filter_map(owed_to).collect();
    let answers = owed.iter().any(|owed| owed.kind != OwedKind::Timer);
    let timers = owed.iter().any(|owed| owed.kind == OwedKind::Timer);
    let ended = batch.calls.iter().any(|call| call.state.is_end());
    let kind = match (answers, timers, ended) {
        (true, true, true) => OutcomeKind::SuspendedStepPartial,
        (true, true, false) | (true, false, _) => OutcomeKind::SuspendedClientTool,
        (false, true, _) => OutcomeKind::SuspendedUntil,
        (false, false, _) => return None,
    };
    Some(Suspension { kind, until: batch.wakes_at(), owed })
}

fn owed_to(call: &super::call::Call) -> Option<Owed> {
    let kind = match &call.state {
        CallState::BlockedOnUser { .. } => OwedKind::Approval,
        CallState::BlockedOnClient { .. } => OwedKind::ClientTool,
        CallState::Waiting { .. } => OwedKind::Timer,
        CallState::Queued
        | CallState::Gating
        | CallState::Approved
        | CallState::Preparing
        | CallState::Executing
        | CallState::CleaningUp
        | CallState::Done
        | CallState::Error
        | CallState::RejectedByUser
        | CallState::Cancelled { .. }
        | CallState::InDoubt => return None,
    };
    Some(Owed {
        call: call.id.clone(),
        tool: call.tool.clone(),
        kind,
        pending: call.state.pending().cloned(),
        until: call.state.wakes_at(),
    })
}
