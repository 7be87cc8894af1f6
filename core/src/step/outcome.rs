//! How a run ends.

use serde::{Deserialize, Serialize};

use crate::error::ErrorInfo;
use crate::machine::{DoneReason, Ending, Suspension};
use crate::store::{InterruptKind, OutcomeKind};
use crate::time::Timestamp;

/// How a run ended. The same value for whoever runs it, whoever waits for it, and the record of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunOutcome {
    /// The turn ended, or the session.
    Ended(Ending),
    /// The turn goes on once something that is owed arrives.
    Suspended(Suspension),
    /// The turn goes on by itself at this instant.
    BackingOff {
        /// When.
        until: Timestamp,
        /// Why.
        error: ErrorInfo,
    },
    /// The claim was given back: there was nothing to do.
    Released,
    /// Another run owns the session now, or this run cannot tell.
    Lost,
}

impl RunOutcome {
    /// The kind, with the wire names of the glossary.
    pub fn kind(&self) -> OutcomeKind {
        match self {
            Self::Ended(ending) => match (ending.reason, ending.stopped) {
                (DoneReason::UserAbort, Some(InterruptKind::Abort)) => OutcomeKind::Aborted,
                (DoneReason::UserAbort, Some(InterruptKind::Soft) | None) => OutcomeKind::Interrupted,
                (DoneReason::Error, _) => OutcomeKind::Failed,
                (
                    DoneReason::ModelStop
                    | DoneReason::MaxTurns
                    | DoneReason::BudgetExceeded
                    | DoneReason::LoopDetected
                    | DoneReason::ToolStop,
                    _,
                ) => OutcomeKind::Completed,
            },
            Self::Suspended(suspension) => suspension.kind,
            Self::BackingOff { .. } => OutcomeKind::SuspendedUntil,
            Self::Released => OutcomeKind::Released,
            Self::Lost => OutcomeKind::Lost,
        }
    }

    /// Whether the session goes on by itself, without a person, a client or another session.
    pub fn goes_on_at(&self) -> Option<Timestamp> {
        match self {
            Self::BackingOff { until, .. } => Some(*until),
            Self::Suspended(suspension) if suspension.kind == OutcomeKind::SuspendedUntil => suspension.until,
            Self::Suspended(_) | Self::Ended(_) | Self::Released | Self::Lost => None,
        }
    }
}
