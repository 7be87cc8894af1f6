//! The surroundings of a turn, apart from model and tools. They are prepared once the turn is durable, and freed
//! once its outcome is durable.

use crate::engine::action::{Action, ActionId};
use crate::engine::context::out::SurroundingsOut;
use crate::engine::context::run::Doom;
use crate::engine::turn::TurnHandler;
use crate::engine::turn::draining::Drain;
use crate::machine::AgentState;
use crate::words::error::ErrorInfo;
use crate::words::event::Event;
use crate::words::history::Input;

impl TurnHandler<'_> {
    /// Prepares the surroundings of the turn.
    pub(crate) fn make_ready(&mut self) {
        self.cx.mind.provision_due = false;
        let id = self.cx.output.next_id();
        self.cx.out.surroundings = SurroundingsOut::MakingReady(id);
        let turn = self.cx.mind.machine.turn.number;
        self.cx.output.push(Action::Provision { id, turn });
    }

    /// Frees the surroundings that are left. Returns true if there is nothing to wait for.
    pub(crate) fn free(&mut self) -> bool {
        self.cx.mind.teardown_due = false;
        if let Some(Doom { error, .. }) = self.cx.run.doom.clone() {
            // Earlier runs may have died while freeing, so the run does not try it again.
            self.cx.mind.emit(Event::TeardownFailed { error });
            return self.cx.feed(Input::TornDown);
        }
        let id = self.cx.output.next_id();
        self.cx.out.surroundings = SurroundingsOut::Freeing(id);
        self.cx.output.push(Action::TearDown { id });
        false
    }

    pub(crate) fn on_provisioned(&mut self, id: ActionId, result: Result<Vec<String>, ErrorInfo>) {
        if self.cx.out.surroundings != SurroundingsOut::MakingReady(id) {
            return;
        }
        self.cx.out.surroundings = SurroundingsOut::Still;
        if !matches!(self.cx.mind.machine.state, AgentState::Provisioning { .. }) {
            return;
        }
        // The run that goes on with the session prepares them again.
        if result.is_err() && self.cx.end.draining.is_some_and(|drain| drain != Drain::Turn) {
            return;
        }
        match result {
            Ok(what) => {
                if !what.is_empty() {
                    self.cx.mind.emit(Event::Provisioned { what });
                }
                self.cx.feed(Input::Provisioned)
            }
            Err(error) => self.cx.feed(Input::Failed { error }),
        };
        self.cx.mind.draft.decided = true;
    }

    pub(crate) fn on_torn_down(&mut self, id: ActionId, result: Result<(), ErrorInfo>) {
        if self.cx.out.surroundings != SurroundingsOut::Freeing(id) {
            return;
        }
        self.cx.out.surroundings = SurroundingsOut::Still;
        if let Err(error) = result {
            self.cx.mind.emit(Event::TeardownFailed { error });
        }
        self.cx.feed(Input::TornDown);
    }
}
