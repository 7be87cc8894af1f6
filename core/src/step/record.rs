//! What a run leaves in its record beyond what every store knows of it.

use serde::{Deserialize, Serialize};

use super::{RunOutcome, StepIterator};
use crate::event::Event;
use crate::machine::{TurnRequest, Usage};
use crate::message::SignalBody;
use crate::payload::is_default;
use crate::store::{RunRecord, SessionStatus};

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
    /// which it began says so ([`Event::RunStarted`]), if it committed anything.
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
    pub(super) fn begun(found: SessionStatus, turn_open: bool, by_name: bool) -> Self {
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

impl StepIterator {
    /// Notes what begins a turn, unless the run before it died with the same in hand.
    pub(super) fn note_request(&mut self, request: TurnRequest) {
        let asked = match request {
            TurnRequest::Message => RunKind::Execute,
            TurnRequest::Resume if self.is_asked(&[SignalBody::Retry]) => RunKind::Retry,
            TurnRequest::Resume => RunKind::Resume,
        };
        self.note_kind(asked);
    }

    pub(super) fn note_kind(&mut self, kind: RunKind) {
        if self.kind == RunKind::Recovery {
            return;
        }
        self.kind = kind;
        let told = self.told_kind();
        for event in &mut self.mind.draft.events {
            if let Event::RunStarted { kind, .. } = event {
                *kind = told;
            }
        }
    }

    /// What the word says with which the run begins.
    pub(super) fn told_kind(&self) -> Option<RunKind> {
        (self.kind != RunKind::by_status(self.found)).then_some(self.kind)
    }
}
