//! The data that a run adds to its record, in addition to what the store knows.

use crate::engine::RunKind;
use crate::engine::context::run::Run;
use crate::engine::turn::TurnHandler;
use crate::words::event::Event;
use crate::words::history::TurnRequest;
use crate::words::message::SignalBody;

impl TurnHandler<'_> {
    /// Records the reason for a turn, unless this run recovers from the death of another run.
    pub(crate) fn note_request(&mut self, request: TurnRequest) {
        let asked = match request {
            TurnRequest::Message => RunKind::Execute,
            TurnRequest::Resume
                if self.cx.mind.is_asked(&[SignalBody::Retry]) || self.cx.mind.retry_is_answered() =>
            {
                RunKind::Retry
            }
            TurnRequest::Resume => RunKind::Resume,
        };
        self.note_kind(asked);
    }

    pub(crate) fn note_kind(&mut self, kind: RunKind) {
        if self.cx.run.kind == RunKind::Recovery {
            return;
        }
        self.cx.run.kind = kind;
        let told = self.cx.run.told_kind();
        for event in &mut self.cx.mind.draft.events {
            if let Event::RunStarted { kind, .. } = event {
                *kind = told;
            }
        }
    }
}

impl Run {
    /// Returns the purpose of the run for its first event, if the status does not imply it.
    pub(crate) fn told_kind(&self) -> Option<RunKind> {
        (self.kind != RunKind::by_status(self.found.status)).then_some(self.kind)
    }
}
