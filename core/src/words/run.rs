//! Runs: why each began, how it ended, and what its record says of both.

use serde::{Deserialize, Serialize};

use crate::store::{InterruptKind, OutcomeKind, RunRecord, SessionStatus};
use crate::time::Timestamp;
use crate::words::ending::{DoneReason, Ending};
use crate::words::error::ErrorInfo;
use crate::words::payload::is_default;
use crate::words::suspension::Suspension;
use crate::words::usage::Usage;

/// What a run was begun for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunKind {
    /// A message began a turn.
    Execute,
    /// Somebody asked for a turn to go on that waited, or that was interrupted or had failed.
    Resume,
    /// Somebody asked for a failed or interrupted turn to be tried again.
    Retry,
    /// The run before it died.
    Recovery,
    /// An answer, a signal or its time came for a turn that waited.
    Wake,
    /// Somebody asked for what is old to be summarised.
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

    /// What a run was begun for, as its record says. None while it is open and if it was lost: then the word with
    /// which it began says so ([`Event::RunStarted`](crate::words::event::Event::RunStarted)), if it committed anything.
    pub fn of(record: &RunRecord) -> Option<Self> {
        RunDetail::of(record)?.kind
    }

    /// What a run is begun for that finds this status, unless what waits says otherwise.
    pub fn by_status(found: SessionStatus) -> Self {
        match found {
            SessionStatus::Active => Self::Recovery,
            SessionStatus::Suspended => Self::Wake,
            SessionStatus::Failed | SessionStatus::Interrupted => Self::Retry,
            SessionStatus::Idle | SessionStatus::Aborted => Self::Execute,
        }
    }

    /// Before the run has looked at what waits. `by_name`: somebody asked for this session to go on.
    pub(crate) fn begun(found: SessionStatus, turn_open: bool, by_name: bool) -> Self {
        let kind = Self::by_status(found);
        if kind == Self::Wake && turn_open && by_name { Self::Resume } else { kind }
    }
}

/// What the record of a run holds beside its outcome: the bytes of [`RunEnded::detail`](crate::store::RunEnded).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunDetail {
    /// What it was begun for; not told by old records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<RunKind>,
    /// How it ended.
    pub outcome: RunOutcome,
    /// What it used.
    #[serde(default, skip_serializing_if = "is_default")]
    pub usage: Usage,
}

impl RunDetail {
    /// What this record holds; nothing of a run that is open or was lost.
    pub fn of(record: &RunRecord) -> Option<Self> {
        record.end.as_ref()?.detail.as_ref()?.parse().ok()
    }
}

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
