//! The moves of a call: every pair of state and input.

use super::CallState;
use crate::words::history::CallInput;

/// The result of an input to a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallMove {
    /// The call moves to this state. It is the same state if only other data of the call changes.
    Moved(CallState),
    /// The input changes nothing: the call is in the resulting state already, or has ended.
    AlreadyThere,
    /// The call does not take this input in its state.
    NotAllowed,
}

impl CallState {
    /// Returns the move that follows from `input`. Performs nothing.
    pub fn after(&self, input: &CallInput) -> CallMove {
        use CallInput as I;
        use CallState as S;
        let to = CallMove::Moved;
        match (self, input) {
            (S::Queued, I::Asked) => to(S::Gating),
            (S::Gating, I::Asked) => CallMove::AlreadyThere,

            (S::Gating, I::Rewritten { .. }) => to(S::Gating),
            (S::Gating, I::Allowed { .. }) => to(S::Approved),
            (S::Gating, I::Synthesised { .. }) => to(S::Done),
            (S::Gating, I::NeedsUser { pending, deadline, .. }) => {
                to(S::BlockedOnUser { pending: pending.clone(), deadline: *deadline })
            }
            (S::Gating, I::NeedsClient { pending, deadline, .. }) => {
                to(S::BlockedOnClient { pending: pending.clone(), deadline: *deadline })
            }
            (
                S::Gating,
                I::NeedsChildren { pending, deadline, count, needed, background, remote, since, profile: _ },
            ) => to(S::BlockedOnChild {
                pending: pending.clone(),
                deadline: *deadline,
                count: *count,
                needed: *needed,
                started: false,
                background: *background,
                remote: remote.clone(),
                since: *since,
            }),
            (S::Gating, I::HandsOver { .. }) => to(S::Done),
            (S::Gating, I::NeedsEnds { deadline, profile: _ }) => to(S::AwaitingEnds { deadline: *deadline }),
            (S::BlockedOnChild { started: true, .. }, I::Started) => CallMove::AlreadyThere,
            (S::BlockedOnChild { background: Some(_), .. }, I::Started) => to(S::Done),
            (
                S::BlockedOnChild {
                    pending,
                    deadline,
                    count,
                    needed,
                    background: None,
                    remote,
                    since,
                    started: false,
                },
                I::Started,
            ) => to(S::BlockedOnChild {
                pending: pending.clone(),
                deadline: *deadline,
                count: *count,
                needed: *needed,
                started: true,
                background: None,
                remote: remote.clone(),
                since: *since,
            }),
            (S::Queued | S::Gating, I::Refused) => to(S::Error),
            (S::Gating, I::Output { fits }) => to(ended(*fits)),

            (S::BlockedOnUser { deadline, .. }, I::Reopened { pending }) => {
                to(S::BlockedOnUser { pending: pending.clone(), deadline: *deadline })
            }
            (S::BlockedOnClient { deadline, .. }, I::Reopened { pending }) => {
                to(S::BlockedOnClient { pending: pending.clone(), deadline: *deadline })
            }
            (S::BlockedOnUser { .. }, I::Approved { .. } | I::Edited { .. }) => to(S::Queued),
            (S::BlockedOnUser { .. }, I::Granted { .. }) | (S::BlockedOnClient { .. }, I::Leads { .. }) => {
                to(S::Done)
            }
            (S::BlockedOnUser { .. }, I::Voted { .. } | I::Escalated) => to(self.clone()),
            (S::BlockedOnUser { .. }, I::Rejected { .. }) => to(S::RejectedByUser),
            (
                S::BlockedOnClient { .. }
                | S::BlockedOnChild { .. }
                | S::AwaitingEnds { .. }
                | S::AwaitingSignal { .. },
                I::Answered { ok, usage: _ },
            ) => to(ended(*ok)),
            (S::BlockedOnUser { .. }, I::Expired { approved: Some(_), .. }) => to(S::Queued),
            (S::BlockedOnUser { .. } | S::BlockedOnClient { .. }, I::Expired { done, approved: None }) => {
                to(ended(*done))
            }

            (S::Approved, I::Marked) => to(S::Preparing),
            (S::Preparing, I::Marked) => CallMove::AlreadyThere,
            (S::Approved | S::Preparing, I::Sent) => to(S::Executing),
            (S::Executing, I::Sent) => CallMove::AlreadyThere,

            (
                S::Gating | S::BlockedOnClient { .. } | S::Preparing | S::Executing | S::CleaningUp,
                I::Changes { .. },
            ) => to(self.clone()),
            (S::Preparing | S::Executing | S::CleaningUp, I::Returned { ok, .. }) => to(ended(*ok)),
            // The changes that the call was to make when its timer rings cannot be applied any more.
            (S::Waiting { again: false, .. }, I::Returned { ok: false, .. }) => to(S::Error),
            (S::Executing | S::CleaningUp, I::Deferred { until, output, stop }) => {
                to(S::Waiting { until: *until, output: output.clone(), stop: *stop, again: false })
            }
            (S::Executing, I::NeedsSignal { name, deadline }) => {
                to(S::AwaitingSignal { name: name.clone(), deadline: *deadline })
            }
            (S::Executing, I::TryAgain { until, why, sent: _ }) => {
                to(S::Waiting { until: *until, output: why.clone(), stop: false, again: true })
            }
            (S::Executing, I::FellBack { .. }) => to(S::Queued),
            (S::Waiting { again: true, .. }, I::Rang) => to(S::Approved),
            (S::Waiting { again: false, .. }, I::Rang) => to(S::Done),

            (S::Executing, I::StopAsked) => to(S::CleaningUp),
            (S::CleaningUp, I::StopAsked) => CallMove::AlreadyThere,
            (
                S::Queued
                | S::Gating
                | S::BlockedOnUser { .. }
                | S::BlockedOnClient { .. }
                | S::BlockedOnChild { .. }
                | S::AwaitingEnds { .. }
                | S::AwaitingSignal { .. }
                | S::Waiting { .. }
                | S::Approved
                | S::Preparing
                | S::Executing
                | S::CleaningUp,
                I::Cancelled { reason },
            ) => to(S::Cancelled { reason: *reason }),
            (
                S::Preparing | S::Executing | S::CleaningUp | S::Waiting { again: true, .. },
                I::Lost { .. },
            ) => to(S::InDoubt),

            (S::Preparing | S::Executing | S::CleaningUp, I::Again) => to(S::Approved),
            (S::Gating, I::Again) => to(S::Queued),
            (S::Queued | S::Approved, I::Again) => CallMove::AlreadyThere,

            (
                S::Done | S::Error | S::RejectedByUser | S::Cancelled { .. } | S::InDoubt,
                I::Returned { .. }
                | I::Answered { .. }
                | I::Expired { .. }
                | I::Rang
                | I::Cancelled { .. }
                | I::Lost { .. }
                | I::StopAsked
                | I::Refused
                | I::Rejected { .. },
            ) => CallMove::AlreadyThere,

            (
                S::Queued
                | S::Gating
                | S::BlockedOnUser { .. }
                | S::BlockedOnClient { .. }
                | S::BlockedOnChild { .. }
                | S::AwaitingEnds { .. }
                | S::AwaitingSignal { .. }
                | S::Waiting { .. }
                | S::Approved
                | S::Preparing
                | S::Executing
                | S::CleaningUp
                | S::Done
                | S::Error
                | S::RejectedByUser
                | S::Cancelled { .. }
                | S::InDoubt,
                _,
            ) => CallMove::NotAllowed,
        }
    }
}

fn ended(ok: bool) -> CallState {
    if ok { CallState::Done } else { CallState::Error }
}
