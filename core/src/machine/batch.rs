//! The calls of one step, and the order in which they may run.
//!
//! Requirements: B25, B26.

use serde::{Deserialize, Serialize};

use super::Ending;
use super::call::{Call, CallState};
use crate::time::Timestamp;
use crate::words::children::Children;
use crate::words::ending::CancelReason;
use crate::words::ids::{CallId, MessageSeq, StepNumber};
use crate::words::output::OutputCheck;
use crate::words::payload::is_default;
use crate::words::tool::ResourceProfile;

/// The calls of one step, in call order.
///
/// Calls run in conflict groups: a call that conflicts with any call of the current group closes that group and
/// opens the next (requirement B23). A group is over when each of its calls has ended or is parked. Calls of later
/// groups then start unless they conflict with an earlier parked call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Batch {
    /// The step. For a request for more steps or a wait of the procedure: the step that it follows.
    pub step: StepNumber,
    /// The message of the model that asked for the calls. For a request for more steps or a wait of the procedure: its
    /// notice.
    pub message: MessageSeq,
    /// The calls, in call order.
    pub calls: Vec<Call>,
    /// The ending with which the turn ends as soon as no call is out. If set, no call starts any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopping: Option<Ending>,
    /// True if a result, a refusal or a handoff asked to end the turn after this step.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stop_signal: bool,
    /// The result of checking the value that the turn must return, if this step returned one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputCheck>,
    /// The number of results that asked to end the turn after this step. A handoff, or a refusal that ends the turn,
    /// counts once for every call.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stops: u32,
    /// True if the batch is not a step but a request to a person for more steps. Its only call stands for the
    /// request, and the model does not see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_more: bool,
    /// True if the batch is not a step but the wait of a parked state of the procedure. Its only call stands for the
    /// wait, and the model does not see it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub for_procedure: bool,
    /// True if a person refused a call and ended the step with it. Calls that are out are asked to stop. After them
    /// the turn goes on, unless the refusal also ends it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aborted: bool,
    /// True if the step stays open, because code plans it: calls are added while others run, a call leaves the batch when
    /// it ends, and an empty batch waits for the code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
}

impl Batch {
    /// Returns the call with this id.
    pub fn call(&self, id: &CallId) -> Option<&Call> {
        self.calls.iter().find(|call| call.id == *id)
    }

    /// Returns the call with this id, for changes.
    pub(crate) fn call_mut(&mut self, id: &CallId) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == *id)
    }

    /// Creates the batch of a step whose calls have not begun.
    pub fn new(step: StepNumber, message: MessageSeq, calls: Vec<Call>) -> Self {
        Self {
            step,
            message,
            calls,
            stopping: None,
            stop_signal: false,
            stops: 0,
            output: None,
            for_more: false,
            for_procedure: false,
            aborted: false,
            open: false,
        }
    }

    /// Creates the batch of an open step.
    pub(crate) fn open(step: StepNumber, message: MessageSeq, calls: Vec<Call>) -> Self {
        Self { open: true, ..Self::new(step, message, calls) }
    }

    /// Takes the calls that have ended out of an open step, in call order, as a batch of their own. `None` if no call has
    /// ended.
    pub(crate) fn take_ended(&mut self) -> Option<Self> {
        let (ended, rest): (Vec<Call>, Vec<Call>) =
            std::mem::take(&mut self.calls).into_iter().partition(|call| call.state.is_end());
        self.calls = rest;
        (!ended.is_empty()).then(|| Self::open(self.step, self.message, ended))
    }

    /// Returns true if the calls are those of a step: the model asked for them.
    pub fn is_step(&self) -> bool {
        !self.for_more && !self.for_procedure
    }

    /// Returns the reason with which a call is cancelled if it is stopped while the turn goes on.
    pub(crate) fn cancels_as(&self) -> CancelReason {
        match (self.open, self.aborted) {
            (true, _) => CancelReason::FlowDropped,
            (false, true) => CancelReason::UserRejected,
            (false, false) => CancelReason::UserCancelled,
        }
    }

    /// Returns true if every call has ended.
    pub fn is_over(&self) -> bool {
        self.calls.iter().all(|call| call.state.is_end())
    }

    /// Returns true if a call is out or is about to be sent.
    pub(crate) fn any_out(&self) -> bool {
        self.calls.iter().any(|call| call.state.is_out())
    }

    /// Returns true if the turn is to end, but at least one sent call was not told to stop and may still return by
    /// itself.
    pub fn drains(&self) -> bool {
        self.stopping.is_some() && self.calls.iter().any(|call| call.state == CallState::Executing)
    }

    /// Returns true if the gate has not decided on every call yet.
    pub(crate) fn is_asking(&self) -> bool {
        self.calls.iter().any(|call| matches!(call.state, CallState::Queued | CallState::Gating))
    }

    /// Returns true if only an answer or a timer can move the batch: at least one call is parked, and no call is out,
    /// at the gate, free to start, or about to begin children.
    pub fn is_parked(&self) -> bool {
        let rests = |call: &Call| match call.state {
            CallState::BlockedOnChild { started, .. } => started,
            CallState::Queued
            | CallState::Gating
            | CallState::Preparing
            | CallState::Executing
            | CallState::CleaningUp => false,
            CallState::BlockedOnUser { .. }
            | CallState::BlockedOnClient { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::AwaitingSignal { .. }
            | CallState::Waiting { .. }
            | CallState::Approved
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => true,
        };
        self.calls.iter().any(|call| call.state.is_parked())
            && self.calls.iter().all(rests)
            && self.startable().is_empty()
    }

    /// Returns the children that the calls wait for or are about to begin, in call order.
    pub(crate) fn children(&self) -> Vec<Children> {
        self.calls.iter().filter_map(|call| call.state.children()).collect()
    }

    /// Returns true if every parked call waits for children.
    pub(crate) fn waits_for_children_alone(&self) -> bool {
        let mut parked = self.calls.iter().filter(|call| call.state.is_parked());
        parked.all(|call| {
            matches!(call.state, CallState::BlockedOnChild { .. } | CallState::AwaitingEnds { .. })
        })
    }

    /// Returns the calls that may start now, in call order.
    pub(crate) fn startable(&self) -> Vec<CallId> {
        if self.stopping.is_some() {
            return Vec::new();
        }
        if self.open {
            return self.startable_in_open();
        }
        let groups = self.groups();
        let waits = |call: &Call| !call.state.is_end() && !call.state.is_blocked();
        let held_back = |at: usize, call: &Call| {
            self.calls.iter().enumerate().any(|(other_at, other)| {
                let in_earlier_group = groups[other_at] < groups[at] && waits(other);
                let parked_before =
                    other_at < at && other.state.is_blocked() && other.profile.conflicts_with(&call.profile);
                let out_beside =
                    other_at != at && other.state.is_out() && other.profile.conflicts_with(&call.profile);
                in_earlier_group || parked_before || out_beside
            })
        };
        self.calls
            .iter()
            .enumerate()
            .filter(|(at, call)| call.state == CallState::Approved && !held_back(*at, call))
            .map(|(_, call)| call.id.clone())
            .collect()
    }

    /// Returns the calls of an open step that may start now. Only a resource holds a call back: one that an earlier call
    /// needs, or that a call which is out has.
    fn startable_in_open(&self) -> Vec<CallId> {
        let by_keys = |call: &Call| matches!(call.profile, ResourceProfile::Keys(_));
        let clash = |one: &Call, other: &Call| {
            by_keys(one) && by_keys(other) && one.profile.conflicts_with(&other.profile)
        };
        let held_back = |at: usize, call: &Call| {
            self.calls.iter().enumerate().any(|(other_at, other)| {
                (other_at < at || (other_at != at && other.state.is_out())) && clash(other, call)
            })
        };
        self.calls
            .iter()
            .enumerate()
            .filter(|(at, call)| call.state == CallState::Approved && !held_back(*at, call))
            .map(|(_, call)| call.id.clone())
            .collect()
    }

    /// Returns the number of the conflict group of each call, from 0, in call order.
    pub(crate) fn groups(&self) -> Vec<usize> {
        let mut groups = Vec::with_capacity(self.calls.len());
        let (mut group, mut first) = (0, 0);
        for (at, call) in self.calls.iter().enumerate() {
            let clash = self.calls[first..at].iter().any(|other| other.profile.conflicts_with(&call.profile));
            if clash {
                group += 1;
                first = at;
            }
            groups.push(group);
        }
        groups
    }

    /// Returns the earliest instant at which a timer, deadline or escalation moves a parked call.
    pub(crate) fn wakes_at(&self) -> Option<Timestamp> {
        self.calls.iter().filter_map(Call::wakes_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::tool::{Access, EffectClass, ResourceProfile, RunsOn};

    fn call(id: &str, profile: ResourceProfile, state: CallState) -> Call {
        Call {
            id: CallId::new(id).unwrap(),
            tool: id.into(),
            effect: EffectClass::AtMostOnce,
            dangerous: false,
            runs_on: RunsOn::Server,
            arguments: MessageSeq(1),
            profile,
            round: 0,
            approved: None,
            panel: None,
            sent_before: false,
            tries: 0,
            instead_of: Vec::new(),
            changes: Vec::new(),
            leads: None,
            state,
        }
    }

    fn key(name: &str, access: Access) -> ResourceProfile {
        ResourceProfile::key(name, access)
    }

    fn parked() -> CallState {
        CallState::Waiting { until: Timestamp::from_ms(5), output: String::new(), stop: false, again: false }
    }

    /// Checks that exactly the calls `expect` may start. `given` lists the calls as (id, profile, state).
    fn check(given: Vec<(&str, ResourceProfile, CallState)>, expect: &[&str]) {
        let calls = given.into_iter().map(|(id, profile, state)| call(id, profile, state)).collect();
        let batch = Batch::new(StepNumber(1), MessageSeq(1), calls);
        let startable: Vec<String> = batch.startable().iter().map(ToString::to_string).collect();
        assert_eq!(startable, expect);
    }

    /// Requirements: B25.
    #[test]
    fn reads_of_one_key_run_side_by_side_and_a_write_waits_for_them() {
        use Access::{Read, Write};
        use CallState::{Approved, Done, Executing};
        check(
            vec![
                ("a", key("k", Read), Approved),
                ("b", key("k", Read), Approved),
                ("c", key("k", Write), Approved),
            ],
            &["a", "b"],
        );
        check(
            vec![
                ("a", key("k", Read), Done),
                ("b", key("k", Read), Executing),
                ("c", key("k", Write), Approved),
            ],
            &[],
        );
        check(
            vec![("a", key("k", Read), Done), ("b", key("k", Read), Done), ("c", key("k", Write), Approved)],
            &["c"],
        );
    }

    /// Requirements: B23.
    #[test]
    fn a_later_group_waits_although_its_call_conflicts_with_nothing_that_is_out() {
        use Access::Write;
        use CallState::{Approved, Executing};
        check(
            vec![
                ("a", key("k", Write), Executing),
                ("b", key("k", Write), Approved),
                ("c", key("other", Write), Approved),
            ],
            &[],
        );
    }

    #[test]
    fn a_parked_call_holds_back_only_later_calls_that_conflict_with_it() {
        use Access::Write;
        use CallState::Approved;
        check(
            vec![
                ("a", key("k", Write), parked()),
                ("b", key("k", Write), Approved),
                ("c", key("other", Write), Approved),
            ],
            &["c"],
        );
    }

    /// Requirements: B26.
    #[test]
    fn serial_calls_run_one_by_one() {
        let serial = || ResourceProfile::Serial;
        check(vec![("a", serial(), CallState::Approved), ("b", serial(), CallState::Approved)], &["a"]);
        check(vec![("a", serial(), CallState::Error), ("b", serial(), CallState::Approved)], &["b"]);
    }
}
