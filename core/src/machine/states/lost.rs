//! Calls of which a run has lost sight: the run before it died, or the turn is given up.

use super::super::call::CallState;
use super::super::{Batch, Ending};
use crate::words::ending::CancelReason;
use crate::words::tool::EffectClass;

/// Handles the death of the previous run for each call: by its effect class, unless the tool is dangerous.
pub(super) fn recover(batch: &mut Batch) {
    let stopping = batch.stopping.as_ref().map(Ending::cancels_as);
    let alone = batch.cancels_as();
    for call in &mut batch.calls {
        let out = call.state.is_out();
        if call.state.is_end() || call.state.is_blocked() {
            continue;
        }
        let told = call.state == CallState::CleaningUp;
        call.sent_before |= out;
        // The turn, the step or the call alone was stopped, so the call is not sent again.
        let stopped = stopping.or(told.then_some(alone));
        call.state = match (out, call.dangerous, call.effect) {
            (true, true, _) | (true, false, EffectClass::AtMostOnce) => CallState::InDoubt,
            (true, false, EffectClass::ReadOnly | EffectClass::Idempotent) => {
                stopped.map_or(CallState::Approved, |reason| call.ended_unsent(reason))
            }
            (false, true, _) => CallState::Cancelled { reason: CancelReason::SystemSafety },
            (false, false, _) if call.state == CallState::Gating => CallState::Queued,
            (false, false, _) => call.state.clone(),
        };
    }
}

/// Gives up every call that is out: a read-only call ends cancelled, any other call ends in doubt.
pub(super) fn lose(batch: &mut Batch) {
    for call in batch.calls.iter_mut().filter(|call| call.state.is_out()) {
        call.state = match call.effect {
            EffectClass::ReadOnly => CallState::Cancelled { reason: CancelReason::SystemDisposed },
            EffectClass::Idempotent | EffectClass::AtMostOnce => CallState::InDoubt,
        };
    }
}
