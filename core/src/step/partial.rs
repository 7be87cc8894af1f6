//! What a model had said when the turn was stopped in the middle of its answer: it is kept, marked as aborted
//! (requirement C61).

use super::{Action, ActionId, StepIterator};
use crate::machine::{AgentState, StopCause};
use crate::message::{AssistantMessage, Message};

impl StepIterator {
    /// Stops listening to the model. Where what it has said is kept, the turn ends once that is known; it is durable
    /// with the end of the turn, and a run that dies before that has kept nothing.
    pub(super) fn stop_listening(&mut self) {
        if let Some(of) = self.model_call.take() {
            self.stopped_model = self.keeps_what_was_said().then_some(of);
            self.actions.push_back(Action::StopModel { of });
        } else if let Some(of) = self.summarising.take() {
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

    pub(super) fn on_model_stopped(&mut self, of: ActionId, said: String) {
        if self.stopped_model != Some(of) {
            return;
        }
        self.stopped_model = None;
        if said.trim().is_empty() {
            return;
        }
        self.append(Message::Assistant(AssistantMessage::aborted(said)));
        self.mind.draft.streamed = Some(self.streams);
        self.mind.draft.decided = true;
    }
}
