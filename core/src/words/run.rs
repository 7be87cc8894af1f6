//! Runs: their purposes, their outcomes, and the records of both.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, OutcomeKind, RunRecord, SessionStatus};
use crate::time::Timestamp;
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::payload::is_default;
use crate::words::suspension::{OwedKind, Suspension};
use crate::words::usage::Usage;

/// The purpose of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunKind {
    /// A message began a turn.
    Execute,
    /// Somebody asked for a turn to go on. The turn waited, was interrupted or had failed.
    Resume,
    /// Somebody asked for a failed or interrupted turn to be tried again.
    Retry,
    /// The run before it died.
    Recovery,
    /// An answer or a signal came for a turn that waited, or its time came.
    Wake,
    /// Somebody asked for a summary of old messages.
    Compact,
}

impl RunKind {
    /// The wire name.
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

    /// The purpose of a run, as its record says. None if the run is open, or if it was lost. In that case,
    /// the first event of the run has the purpose
    /// ([`Event::RunStarted`](crate::words::event::Event::RunStarted)), if the run committed anything.
    pub fn of(record: &RunRecord) -> Option<Self> {
        RunDetail::of(record)?.kind
    }

    /// The purpose of a run that finds this status, unless the waiting items change it.
    pub fn by_status(found: SessionStatus) -> Self {
        match found {
            SessionStatus::Active => Self::Recovery,
            SessionStatus::Suspended => Self::Wake,
            SessionStatus::Failed | SessionStatus::Interrupted => Self::Retry,
            SessionStatus::Idle | SessionStatus::Aborted => Self::Execute,
        }
    }

    /// The purpose before the run has looked at the waiting items. `by_name`: somebody asked for this session
    /// to go on.
    pub(crate) fn begun(found: SessionStatus, turn_open: bool, by_name: bool) -> Self {
        let kind = Self::by_status(found);
        if kind == Self::Wake && turn_open && by_name { Self::Resume } else { kind }
    }
}

/// The data that the record of a run holds beside its outcome: the bytes of
/// [`RunEnded::detail`](crate::store::RunEnded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunDetail {
    /// The purpose of the run; missing in old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RunKind>,
    /// The outcome of the run.
    pub outcome: RunOutcome,
    /// The usage of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

impl RunDetail {
    /// The data of this record; none if the run is open or was lost.
    pub fn of(record: &RunRecord) -> Option<Self> {
        record.end.as_ref()?.detail.as_ref()?.parse().ok()
    }
}

/// The end of a run. The caller of the run, those who wait for it, and the record of the run all get this
/// value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum RunOutcome {
    /// The turn ended, or the session.
    Ended(Ending),
    /// The turn goes on once something that is owed arrives.
    Suspended(Suspension),
    /// The turn goes on by itself at this instant.
    BackingOff {
        /// The instant.
        until: Timestamp,
        /// The error.
        error: ErrorInfo,
    },
    /// The claim was given back: there was nothing to do.
    Released,
    /// Another run owns the session now, or this run cannot tell.
    Lost,
}

impl RunOutcome {
    /// The kind of the outcome, with the wire names of the glossary.
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

    /// Whether the session waits for children. It may wait for others too.
    pub fn waits_for_children(&self) -> bool {
        matches!(self, Self::Suspended(suspension) if suspension.owed.iter().any(|owed| owed.kind == OwedKind::Child))
    }

    /// The instant at which the session goes on by itself, without a person, a client or another session.
    pub fn goes_on_at(&self) -> Option<Timestamp> {
        match self {
            Self::BackingOff { until, .. } => Some(*until),
            Self::Suspended(suspension) if suspension.kind == OutcomeKind::SuspendedUntil => suspension.until,
            Self::Suspended(_) | Self::Ended(_) | Self::Released | Self::Lost => None,
        }
    }
}
