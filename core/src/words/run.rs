//! Runs: their purposes, outcomes and records.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, OutcomeKind, RunRecord, SessionStatus};
use crate::time::Timestamp;
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::payload::is_default;
use crate::words::suspension::{OwedKind, Suspension};
use crate::words::usage::Usage;

/// The purpose of a run.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunKind {
    /// A message began a turn.
    Execute,
    /// A caller asked to continue a turn that waited, was interrupted or had failed.
    Resume,
    /// A caller asked to try a failed or interrupted turn again, or answered its dead letter.
    Retry,
    /// The previous run died, or an open turn that was set aside goes on.
    Recovery,
    /// A waiting turn received an answer, a message or a signal, or its alarm is due.
    Wake,
    /// A caller asked for a summary of old messages.
    Compact,
}

impl RunKind {
    /// Returns the wire name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Execute => "execute",
            Self::Resume => "resume",
            Self::Retry => "retry",
            Self::Recovery => "recovery",
            Self::Wake => "wake",
            Self::Compact => "compact",
        }
    }

    /// Returns the purpose of a run from its record. `None` if the run is still open or was lost. The event
    /// [`RunStarted`](crate::words::event::Event::RunStarted) then shows the purpose, if the run committed
    /// anything.
    pub fn of(record: &RunRecord) -> Option<Self> {
        RunDetail::of(record)?.kind
    }

    /// Returns the purpose of a run that finds the session in this status. The waiting inbox items may change
    /// it.
    pub fn by_status(found: SessionStatus) -> Self {
        match found {
            SessionStatus::Active => Self::Recovery,
            SessionStatus::Suspended => Self::Wake,
            SessionStatus::Failed | SessionStatus::Interrupted => Self::Retry,
            SessionStatus::Idle | SessionStatus::Aborted => Self::Execute,
        }
    }

    /// Returns the purpose of a run before it has read the waiting inbox items. `takes_over` is true if the run goes on
    /// with a turn that no run has left by itself, and `by_name` if a caller asked to continue this session.
    pub(crate) fn begun(found: SessionStatus, takes_over: bool, turn_open: bool, by_name: bool) -> Self {
        let kind = if takes_over { Self::Recovery } else { Self::by_status(found) };
        if kind == Self::Wake && turn_open && by_name { Self::Resume } else { kind }
    }
}

/// The data that a run's record holds in addition to its outcome kind, stored in
/// [`RunEnded::detail`](crate::store::RunEnded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunDetail {
    /// The purpose of the run. `None` in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RunKind>,
    /// The outcome of the run.
    pub outcome: RunOutcome,
    /// The usage of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

impl RunDetail {
    /// Returns the data in this record. `None` if the run is still open or was lost.
    pub fn of(record: &RunRecord) -> Option<Self> {
        record.end.as_ref()?.detail.as_ref()?.parse().ok()
    }
}

/// The outcome of a run. The caller of the run, those who wait for the run, and its record all get this
/// value.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunOutcome {
    /// The turn ended.
    Ended(Ending),
    /// The turn waits for answers, outcomes or timers, or for another run if none of these is owed.
    Suspended(Suspension),
    /// A model call failed, and the turn continues by itself at a certain instant.
    BackingOff {
        /// The instant at which the turn continues.
        until: Timestamp,
        /// The error of the failed model call.
        error: ErrorInfo,
    },
    /// No turn ended or was suspended in this run: nothing is left to do, or the work is left to another run.
    Released,
    /// Another run owns the session now, or this run cannot tell.
    Lost,
}

impl RunOutcome {
    /// Returns the kind of the outcome.
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

    /// Returns true if the session waits for children. It may wait for other answers too.
    pub fn waits_for_children(&self) -> bool {
        matches!(self, Self::Suspended(suspension) if suspension.owed.iter().any(|owed| owed.kind == OwedKind::Child))
    }

    /// Returns the instant at which the session continues if it waits only for a timer or a back-off, or leaves its
    /// turn to another run. Returns `None` if it waits for a person, a client or another session, even if that wait
    /// has a deadline.
    pub fn goes_on_at(&self) -> Option<Timestamp> {
        match self {
            Self::BackingOff { until, .. } => Some(*until),
            Self::Suspended(suspension) if suspension.kind == OutcomeKind::SuspendedUntil => suspension.until,
            Self::Suspended(_) | Self::Ended(_) | Self::Released | Self::Lost => None,
        }
    }
}
