//! Decides whether a run exits while its turn is open, and why.

use super::batch::Batch;
use super::call::CallState;
use crate::store::OutcomeKind;
use crate::time::Timestamp;
use crate::words::suspension::{Owed, OwedKind, Suspension};

/// Returns the reason why the run of this batch must exit. Returns `None` if the run goes on, because no call is
/// parked, because a parked call is due, or because a call is out, at the gate, free to start, or about to begin
/// children.
///
/// A signal is an answer that somebody outside owes. The first row that matches decides:
///
/// | a parked call is due, or a call moves by itself | an answer is owed | a timer runs | calls have ended | kind |
/// |---|---|---|---|---|
/// | yes | | | | – |
/// | no | only by children | no | | `suspended_awaiting_children` |
/// | no | by children, and by others or with a timer | | | `suspended_step_partial` |
/// | no | yes | yes | yes | `suspended_step_partial` |
/// | no | yes | yes | no | `suspended_client_tool` |
/// | no | yes | no | | `suspended_client_tool` |
/// | no | no | yes | | `suspended_until` |
pub fn classify_suspension(batch: &Batch, now: Timestamp) -> Option<Suspension> {
    if !batch.is_parked() || batch.wakes_at().is_some_and(|at| at <= now) {
        return None;
    }
    let owed: Vec<Owed> = batch.calls.iter().filter_map(owed_to).collect();
    let children = owed.iter().filter(|owed| owed.kind == OwedKind::Child).count();
    let answers = owed.iter().any(|owed| owed.kind != OwedKind::Timer);
    let timers = owed.iter().any(|owed| owed.kind == OwedKind::Timer);
    let ended = batch.calls.iter().any(|call| call.state.is_end());
    if children > 0 {
        let alone = children == owed.len();
        let kind =
            if alone { OutcomeKind::SuspendedAwaitingChildren } else { OutcomeKind::SuspendedStepPartial };
        return Some(Suspension { kind, until: batch.wakes_at(), owed });
    }
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
        CallState::BlockedOnChild { .. } | CallState::AwaitingEnds { .. } => OwedKind::Child,
        CallState::AwaitingSignal { .. } => OwedKind::Signal,
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
        signal: call.state.awaits().cloned(),
        until: call.state.wakes_at(),
    })
}
