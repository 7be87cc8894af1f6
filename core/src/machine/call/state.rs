//! The states of a call.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::background::Terms;
use crate::words::children::Children;
use crate::words::ending::CancelReason;
use crate::words::ids::PendingId;
use crate::words::remote::Remote;
use crate::words::signal::SignalName;

/// The state of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallState {
    /// The gate has not been asked about the call.
    Queued,
    /// The gate is being asked.
    Gating,
    /// Parked: a person owes a decision.
    BlockedOnUser {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a client owes the result, or somebody outside owes an input of the procedure.
    BlockedOnClient {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Children are to begin, or have begun. Once they have begun, the call is parked until they return outcomes. If
    /// they run in the background, it is done instead.
    BlockedOnChild {
        /// The id of the pending call.
        pending: PendingId,
        /// The instant at which the pending call expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
        /// The number of children.
        count: u32,
        /// The number of outcomes that the call waits for.
        needed: u32,
        /// True if every child was created, or is known to have failed.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        started: bool,
        /// The terms, if the children run in the background. There is then no pending call, and the call is done
        /// once they have begun.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        background: Option<Terms>,
        /// The remote agent that does the tasks. `None`: the children run in this store.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remote: Option<Box<Remote>>,
        /// The instant at which the gate allowed the call. Set if a remote agent does the tasks.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<Timestamp>,
    },
    /// Parked: the call waits for background children to end.
    AwaitingEnds {
        /// The instant at which the call stops waiting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: the call waits for a signal with this name.
    AwaitingSignal {
        /// The name.
        name: SignalName,
        /// The instant at which the call stops waiting.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a durable timer runs.
    Waiting {
        /// The instant at which the timer rings.
        until: Timestamp,
        /// The text that becomes the result then.
        output: String,
        /// True if the result asks to end the turn after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
        /// True if the call could not be run or gave no result, and is sent again when the timer rings. `output` holds
        /// the reason.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// The gate has allowed the call, and it has not started.
    Approved,
    /// The start mark is on its way to the store. The call is not sent before the mark is acknowledged.
    Preparing,
    /// The call was sent.
    Executing,
    /// The call was sent, and told to stop. It may still return its result.
    CleaningUp,
    /// End: the call succeeded.
    Done,
    /// End: the call failed, was refused before it ran, or was not answered in time.
    Error,
    /// End: a person refused the call.
    RejectedByUser,
    /// End: the call was stopped. It had not acted, with two exceptions: it had returned a result that was due later,
    /// or a client, children or the source of a fork worked on it and may have acted.
    Cancelled {
        /// The reason.
        reason: CancelReason,
    },
    /// End: the outcome of the call is unknown, and it may have acted.
    InDoubt,
}

impl CallState {
    /// Returns the wire name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Gating => "gating",
            Self::BlockedOnUser { .. } => "blocked_on_user",
            Self::BlockedOnClient { .. } => "blocked_on_client",
            Self::BlockedOnChild { .. } => "blocked_on_child",
            Self::AwaitingEnds { .. } => "awaiting_ends",
            Self::AwaitingSignal { .. } => "awaiting_signal",
            Self::Waiting { .. } => "waiting",
            Self::Approved => "approved",
            Self::Preparing => "preparing",
            Self::Executing => "executing",
            Self::CleaningUp => "cleaning_up",
            Self::Done => "done",
            Self::Error => "error",
            Self::RejectedByUser => "rejected_by_user",
            Self::Cancelled { .. } => "cancelled",
            Self::InDoubt => "in_doubt",
        }
    }

    /// Every wire name.
    pub const NAMES: [&'static str; 17] = [
        "queued",
        "gating",
        "blocked_on_user",
        "blocked_on_client",
        "blocked_on_child",
        "awaiting_ends",
        "awaiting_signal",
        "waiting",
        "approved",
        "preparing",
        "executing",
        "cleaning_up",
        "done",
        "error",
        "rejected_by_user",
        "cancelled",
        "in_doubt",
    ];

    /// Returns true if the call has ended.
    pub fn is_end(&self) -> bool {
        match self {
            Self::Done | Self::Error | Self::RejectedByUser | Self::Cancelled { .. } | Self::InDoubt => true,
            Self::Queued
            | Self::Gating
            | Self::BlockedOnUser { .. }
            | Self::BlockedOnClient { .. }
            | Self::BlockedOnChild { .. }
            | Self::AwaitingEnds { .. }
            | Self::AwaitingSignal { .. }
            | Self::Waiting { .. }
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp => false,
        }
    }

    /// Returns true if the call waits for an answer from outside, or for a timer.
    pub fn is_parked(&self) -> bool {
        match self {
            Self::BlockedOnUser { .. }
            | Self::BlockedOnClient { .. }
            | Self::AwaitingEnds { .. }
            | Self::AwaitingSignal { .. }
            | Self::Waiting { .. } => true,
            Self::BlockedOnChild { started, .. } => *started,
            Self::Queued
            | Self::Gating
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp
            | Self::Done
            | Self::Error
            | Self::RejectedByUser
            | Self::Cancelled { .. }
            | Self::InDoubt => false,
        }
    }

    /// Returns true if the call [is parked](Self::is_parked), or if its children are about to begin.
    pub(crate) fn is_blocked(&self) -> bool {
        self.is_parked() || matches!(self, Self::BlockedOnChild { .. })
    }

    /// Returns the children that the call waits for, or begins in the background.
    pub fn children(&self) -> Option<Children> {
        let Self::BlockedOnChild { pending, count, remote, .. } = self else { return None };
        Some(Children { pending: pending.clone(), count: *count, remote: remote.clone() })
    }

    /// Returns true if the call was sent, or is about to be: its start mark is on its way. A read may be sent without
    /// a mark.
    pub fn is_out(&self) -> bool {
        matches!(self, Self::Preparing | Self::Executing | Self::CleaningUp)
    }

    /// Returns the id of the open pending call, if an answer is owed.
    pub fn pending(&self) -> Option<&PendingId> {
        match self {
            Self::BlockedOnUser { pending, .. }
            | Self::BlockedOnClient { pending, .. }
            | Self::BlockedOnChild { pending, background: None, .. } => Some(pending),
            Self::Queued
            | Self::Gating
            | Self::BlockedOnChild { background: Some(_), .. }
            | Self::AwaitingEnds { .. }
            | Self::AwaitingSignal { .. }
            | Self::Waiting { .. }
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp
            | Self::Done
            | Self::Error
            | Self::RejectedByUser
            | Self::Cancelled { .. }
            | Self::InDoubt => None,
        }
    }

    /// Returns the name of the signal that the call waits for.
    pub fn awaits(&self) -> Option<&SignalName> {
        let Self::AwaitingSignal { name, .. } = self else { return None };
        Some(name)
    }

    /// Returns the instant at which a timer or deadline moves the call.
    pub(crate) fn wakes_at(&self) -> Option<Timestamp> {
        match self {
            Self::BlockedOnUser { deadline, .. }
            | Self::BlockedOnClient { deadline, .. }
            | Self::BlockedOnChild { deadline, .. }
            | Self::AwaitingEnds { deadline }
            | Self::AwaitingSignal { deadline, .. } => *deadline,
            Self::Waiting { until, .. } => Some(*until),
            Self::Queued
            | Self::Gating
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp
            | Self::Done
            | Self::Error
            | Self::RejectedByUser
            | Self::Cancelled { .. }
            | Self::InDoubt => None,
        }
    }
}
