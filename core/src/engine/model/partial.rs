//! The text that a model has written when the turn is stopped in the middle of its answer. It is kept, marked as
//! aborted (requirement C61).

use crate::engine::action::{Action, ActionId};
use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::engine::model::ModelHandler;
use crate::machine::AgentState;
use crate::words::ending::StopCause;
use crate::words::message::{AssistantMessage, Message};
use crate::words::model::PartialUse;

impl Context {
    /// Stops listening to the model. The turn ends once the text and the usage of the model are known. Both become
    /// durable with the end of the turn. If the run dies before that, they are lost.
    pub(crate) fn stop_listening(&mut self) {
        if let Some(of) = self.out.model.stop() {
            self.output.push(Action::StopModel { of });
        }
    }
}

impl Mind {
    /// Returns true if the text of the model is kept. It is dropped if a message takes the turn back or edits an earlier
    /// message, or if the turn ends with an error.
    fn keeps_what_was_said(&self) -> bool {
        let AgentState::TearingDown { ending, .. } = &self.machine.state else { return false };
        ending.error.is_none()
            && match ending.cause {
                StopCause::Asked | StopCause::HandedOff | StopCause::Message => true,
                StopCause::Edit | StopCause::Rollback => false,
            }
    }
}

impl ModelHandler<'_> {
    pub(crate) fn on_model_stopped(&mut self, of: ActionId, said: String, used: Option<PartialUse>) {
        let Some(summary) = self.cx.out.model.stopped(of) else { return };
        self.cx.count_stopped(summary, used);
        if summary || said.trim().is_empty() || !self.cx.mind.keeps_what_was_said() {
            return;
        }
        self.cx.append(Message::Assistant(AssistantMessage::aborted(said)));
        self.cx.mind.draft.streamed = Some(self.cx.output.streams);
        self.cx.mind.draft.decided = true;
    }
}
