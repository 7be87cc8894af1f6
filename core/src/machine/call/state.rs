//! The states of a call.

use serde::{Deserialize, Serialize};

use crate::time::Timestamp;
use crate::words::ending::CancelReason;
use crate::words::ids::PendingId;

/// Where a call stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum CallState {
    /// Not looked at.
    Queued,
    /// The gate is being asked.
    Gating,
    /// Parked: a person owes a decision.
    BlockedOnUser {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a client owes the result.
    BlockedOnClient {
        /// The asking.
        pending: PendingId,
        /// When it expires.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        deadline: Option<Timestamp>,
    },
    /// Parked: a durable timer runs.
    Waiting {
        /// When it rings.
        until: Timestamp,
        /// What the model is told then.
        output: String,
        /// Whether the turn ends after this step.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        stop: bool,
        /// Whether it could not be run, and is sent again then. What is told says why.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        again: bool,
    },
    /// Allowed, not started.
    Approved,
    /// Its start mark is on its way to the store; it is not sent before that is acknowledged.
    Preparing,
    /// Out.
    Executing,
    /// Out, and told to stop; it may still say what became of it.
    CleaningUp,
    /// End: it did what it was asked for.
    Done,
    /// End: it could not, was refused by the policy, or was not answered in time.
    Error,
    /// End: a person refused it.
    RejectedByUser,
    /// End: it was stopped before it acted.
    Cancelled {
        /// Why.
        reason: CancelReason,
    },
    /// End: it was out when it was lost sight of; it may have acted.
    InDoubt,
}

impl CallState {
    /// The wire name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Gating => "gating",
            Self::BlockedOnUser { .. } => "blocked_on_user",
            Self::BlockedOnClient { .. } => "blocked_on_client",
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
    pub const NAMES: [&'static str; 14] = [
        "queued",
        "gating",
        "blocked_on_user",
        "blocked_on_client",
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

    /// Whether it is over.
    pub fn is_end(&self) -> bool {
        match self {
            Self::Done | Self::Error | Self::RejectedByUser | Self::Cancelled { .. } | Self::InDoubt => true,
            Self::Queued
            | Self::Gating
            | Self::BlockedOnUser { .. }
            | Self::BlockedOnClient { .. }
            | Self::Waiting { .. }
            | Self::Approved
            | Self::Preparing
            | Self::Executing
            | Self::CleaningUp => false,
        }
    }

    /// Whether somebody outside, or a timer, owes it something.
    pub fn is_parked(&self) -> bool {
        matches!(self, Self::BlockedOnUser { .. } | Self::BlockedOnClient { .. } | Self::Waiting { .. })
    }

    /// Whether its start mark is written or on its way: it is out, or about to be.
    pub fn is_out(&self) -> bool {
        matches!(self, Self::Preparing | Self::Executing | Self::CleaningUp)
    }

    /// The asking that is open, if an answer is owed.
    pub fn pending(&self) -> Option<&PendingId> {
        match self {
            Self::BlockedOnUser { pending, .. } | Self::BlockedOnClient { pending, .. } => Some(pending),
            Self::Queued
            | Self::Gating
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

    /// When time alone moves it.
    pub fn wakes_at(&self) -> Option<Timestamp> {
        match self {
            Self::BlockedOnUser { deadline, .. } | Self::BlockedOnClient { deadline, .. } => *deadline,
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
