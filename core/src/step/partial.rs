//! What a model had said when the turn was stopped in the middle of its answer: it is kept, marked as aborted
//! (requirement C61).

use super::{Action, ActionId, StepIterator};
use crate::machine::{AgentState, StopCause};
use crate::message::{AssistantMessage, Message};
use crate::model::PartialUse;

/// A call of the model that was told to stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct StoppedModel {
    pub(super) of: ActionId,
    /// Whether it was asked for a summary.
    pub(super) summary: bool,
}

impl StepIterator {
    /// Stops listening to the model. The turn ends once it is known what the model has said and used; that is durable
    /// with the end of the turn, and a run that dies before that has kept and counted nothing.
    pub(super) fn stop_listening(&mut self) {
        let answer = self.model_call.take().map(|of| StoppedModel { of, summary: false });
        let stopped = answer.or_else(|| self.summarising.take().map(|of| StoppedModel { of, summary: true }));
        if let Some(StoppedModel { of, .. }) = stopped {
            self.stopped_model = stopped;
            self.actions.push_back(Action::StopModel { of });
        }
    }

    /// Nothing is kept of a turn that is taken back, and of one that ends on an error.
    fn keeps_what_was_said(&self) -> bool {
        let AgentState::TearingDown { ending, .. } = &self.mind.machine.state else { return false };
        ending.error.is_none()
            && match ending.cause {
                StopCause::Asked | StopCause::HandedOff | StopCause::Message => true,
                StopCause::Edit | StopCause::Rollback => false,
            }
    }

    pub(super) fn on_model_stopped(&mut self, of: ActionId, said: String, used: Option<PartialUse>) {
        let Some(stopped) = self.stopped_model.take_if(|stopped| stopped.of == of) else { return };
        self.count_stopped(stopped, used);
        if stopped.summary || said.trim().is_empty() || !self.keeps_what_was_said() {
            return;
        }
        self.append(Message::Assistant(AssistantMessage::aborted(said)));
        self.mind.draft.streamed = Some(self.streams);
        self.mind.draft.decided = true;
    }
}
