//! Stops a single call, while the other calls of its step go on (requirement B33), and all calls of a step that a person
//! has aborted, while its turn goes on (C25).

use crate::engine::calls::CallsHandler;
use crate::engine::calls::results::{result, stopped_alone};
use crate::engine::mind::Mind;
use crate::machine::{Batch, Call, CallState};
use crate::store::ItemKind;
use crate::words::ending::CancelReason;
use crate::words::history::{CallInput, Input};
use crate::words::ids::CallId;
use crate::words::message::{CallSignal, ResultStatus};

impl CallsHandler<'_> {
    /// Stops one call, if a signal asks for it. Returns false if there is none, or the call cannot be stopped yet.
    pub(crate) fn stop_one(&mut self) -> bool {
        let Some((call, input)) = self.cx.mind.stoppable() else { return false };
        // An answer that the store has accepted is taken first.
        if self.take_answer() {
            return true;
        }
        let lost = matches!(input, CallInput::Lost { .. });
        match &call.state {
            CallState::Waiting { output, .. } if lost => self.keep_doubt(&call, output),
            // An executing call reports its own end. `note_calls` keeps the result of a waiting call.
            CallState::Executing | CallState::Waiting { .. } | CallState::AwaitingSignal { .. } => {}
            CallState::Queued
            | CallState::Gating
            | CallState::BlockedOnUser { .. }
            | CallState::BlockedOnClient { .. }
            | CallState::BlockedOnChild { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::Approved
            | CallState::Preparing
            | CallState::CleaningUp
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => {
                let told = stopped_alone(self.cx.mind.stops_alone_as());
                let kept = result(&call, ResultStatus::Cancelled, told, self.cx.mind.edited(&call));
                self.cx.mind.keep_result(kept);
            }
        }
        self.cx.feed(Input::Call { call: call.id, input });
        self.cx.mind.draft.decided = true;
        true
    }
}

impl Mind {
    /// Returns the reason with which a call is cancelled that is stopped while the turn goes on.
    pub(crate) fn stops_alone_as(&self) -> CancelReason {
        self.machine.state.batch().map_or(CancelReason::UserCancelled, Batch::cancels_as)
    }

    /// Returns true if this call is to stop: a signal asks for it, or its step was aborted.
    pub(crate) fn is_to_stop(&self, call: &CallId) -> bool {
        self.to_stop().any(|named| named == *call)
    }

    /// Returns the calls that signals ask to stop, in order, the calls of a step that was aborted, and the calls that code
    /// no longer waits for.
    fn to_stop(&self) -> impl Iterator<Item = CallId> {
        let signals = self.inbox.items.iter().filter(|item| matches!(item.kind, ItemKind::Signal { .. }));
        let named = signals.filter_map(|item| item.payload.parse::<CallSignal>().ok());
        let aborted = self.machine.state.batch().filter(|batch| batch.aborted);
        let with_step = aborted.into_iter().flat_map(|batch| batch.calls.iter().map(|call| call.id.clone()));
        let dropped = self.step.plan.dropped.iter().cloned();
        named.map(|CallSignal::StopCall { call }| call).chain(with_step).chain(dropped)
    }

    /// Returns a call that can be stopped, and the input that stops it in its state.
    fn stoppable(&self) -> Option<(Call, CallInput)> {
        let batch = self.machine.state.batch()?;
        self.to_stop().find_map(|id: CallId| {
            let call = batch.call(&id)?;
            let cancelled = CallInput::Cancelled { reason: batch.cancels_as() };
            let input = match &call.state {
                CallState::Executing => CallInput::StopAsked,
                // The call may have acted when it was sent before. It is sent again, because only the tool can
                // tell.
                CallState::Approved if call.may_have_acted() => return None,
                // The call may have acted, too, but it is not sent again.
                CallState::Waiting { again: true, .. } if call.may_have_acted() => {
                    CallInput::Lost { broken: false }
                }
                CallState::Queued
                | CallState::Gating
                | CallState::BlockedOnUser { .. }
                | CallState::BlockedOnClient { .. }
                | CallState::AwaitingEnds { .. }
                | CallState::AwaitingSignal { .. }
                | CallState::Waiting { .. }
                | CallState::Approved => cancelled,
                // The children are stopped first.
                CallState::BlockedOnChild { .. }
                // The start mark is on its way to the store. The call is stopped once it is out.
                | CallState::Preparing
                | CallState::CleaningUp
                | CallState::Done
                | CallState::Error
                | CallState::RejectedByUser
                | CallState::Cancelled { .. }
                | CallState::InDoubt => return None,
            };
            // If the step is being stopped, only calls that may return by themselves are left to stop.
            let left = batch.stopping.is_none() || input == CallInput::StopAsked;
            left.then(|| (call.clone(), input))
        })
    }
}
