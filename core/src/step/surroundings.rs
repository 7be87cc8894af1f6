//! What a turn needs beside model and tools: made ready once the turn is durable, freed once its outcome is.

use super::{Action, ActionId, StepIterator};
use crate::error::ErrorInfo;
use crate::event::Event;
use crate::machine::{AgentState, Input};

impl StepIterator {
    pub(super) fn provision(&mut self) -> bool {
        if self.provisioning.is_some() {
            return false;
        }
        if !self.mind.machine.turn.provisioned {
            return self.feed(Input::Provisioned);
        }
        if !self.mind.provision_due {
            return false;
        }
        // What is made ready must be known to be freed: the turn is durable first.
        if self.commit_if_due() || self.writing.is_some() {
            return false;
        }
        self.mind.provision_due = false;
        let id = self.next_id();
        self.provisioning = Some(id);
        let turn = self.mind.machine.turn.number;
        self.actions.push_back(Action::Provision { id, turn });
        false
    }

    pub(super) fn on_provisioned(&mut self, id: ActionId, result: Result<Vec<String>, ErrorInfo>) {
        if self.provisioning != Some(id) {
            return;
        }
        self.provisioning = None;
        if !matches!(self.mind.machine.state, AgentState::Provisioning { .. }) {
            return;
        }
        match result {
            Ok(what) => {
                if !what.is_empty() {
                    self.emit(Event::Provisioned { what });
                }
                self.feed(Input::Provisioned)
            }
            Err(error) => self.feed(Input::Failed { error }),
        };
        self.mind.draft.decided = true;
    }

    pub(super) fn tear_down(&mut self) -> bool {
        let AgentState::TearingDown { left, .. } = self.mind.machine.state else { return false };
        if self.stopped_model.is_some() {
            return false;
        }
        if left.is_empty() {
            return self.feed(Input::TornDown);
        }
        if self.tearing_down.is_some() || !self.mind.teardown_due {
            return false;
        }
        // The outcome is fixed before anything is freed.
        if self.mind.draft.is_due() {
            self.hold_for_commit(Vec::new());
            return false;
        }
        // What is being made ready is freed once it is there, or is known not to be.
        if self.writing.is_some() || self.provisioning.is_some() {
            return false;
        }
        self.mind.teardown_due = false;
        let id = self.next_id();
        self.tearing_down = Some(id);
        self.actions.push_back(Action::TearDown { id, left });
        false
    }

    pub(super) fn on_torn_down(&mut self, id: ActionId, result: Result<(), ErrorInfo>) {
        if self.tearing_down != Some(id) {
            return;
        }
        self.tearing_down = None;
        if let Err(error) = result {
            self.emit(Event::TeardownFailed { error });
        }
        self.feed(Input::TornDown);
    }
}
