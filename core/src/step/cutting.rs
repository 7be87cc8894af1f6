//! What ends a turn from within before its step is over: its time (requirement A22) and its circuit (C49).

use std::time::Duration;

use super::StepIterator;
use super::telling::in_short;
use crate::agent::OnTrip;
use crate::event::Event;
use crate::machine::retry::circuit_open;
use crate::machine::{AgentState, DoneReason, Ending, Input};
use crate::time::Timestamp;

impl StepIterator {
    /// Ends the turn if its time is up or its circuit is open. False: it goes on.
    pub(super) fn cut_short(&mut self) -> bool {
        if let Some(broken) = self.opened() {
            self.mind.draft.decided = true;
            let ending = Ending::error(circuit_open(broken));
            return self.feed(Input::CutShort { ending, drains: true });
        }
        if !self.cuttable() || self.turn_ends_at().is_none_or(|at| at > self.now) {
            return false;
        }
        self.mind.draft.decided = true;
        self.feed(Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false })
    }

    /// When the turn has worked as long as it may, if no run but this one works on it. What it waits suspended does
    /// not count.
    pub(super) fn turn_ends_at(&self) -> Option<Timestamp> {
        let turn = &self.mind.machine.turn;
        let most = self.agent.as_ref()?.limits.max_run_ms.filter(|_| turn.open)?;
        let left = Duration::from_millis(most.saturating_sub(turn.worked_ms));
        Some(turn.claimed_at.after(left))
    }

    /// Whether something is out, or about to be, that the end of the turn's time stops.
    pub(super) fn cuttable(&self) -> bool {
        match &self.mind.machine.state {
            AgentState::Thinking { .. } | AgentState::Streaming { .. } | AgentState::Compacting { .. } => {
                true
            }
            AgentState::Executing { batch } => batch.stopping.is_none() || batch.drains(),
            // Making ready and freeing have a bound of their own; the rest goes on at once, or parks.
            AgentState::Provisioning { .. }
            | AgentState::Confirming { .. }
            | AgentState::Steering { .. }
            | AgentState::BackingOff { .. }
            | AgentState::TearingDown { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        }
    }

    /// Tells of a circuit that the newest broken call opened.
    pub(super) fn note_broken(&mut self, before: u32, why: &str) {
        let broken = self.mind.machine.turn.broken;
        let most = self.agent.as_ref().map_or(0, |agent| agent.retries.broken_calls_max);
        if broken > before && broken == most {
            self.emit(Event::CircuitOpened { calls: broken, why: in_short(why) });
        }
    }

    /// How many calls in a row could not be run, if that ends the turn and does not do so already.
    fn opened(&self) -> Option<u32> {
        let retries = &self.agent.as_ref()?.retries;
        let broken = self.mind.machine.turn.broken;
        let fails = match retries.on_trip {
            OnTrip::Fail => retries.broken_calls_max > 0 && broken >= retries.broken_calls_max,
            OnTrip::Observe => false,
        };
        let ends = match &self.mind.machine.state {
            AgentState::Executing { batch } | AgentState::Confirming { batch } => batch.stopping.is_none(),
            AgentState::Steering { .. } => true,
            AgentState::Provisioning { .. }
            | AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Compacting { .. }
            | AgentState::BackingOff { .. }
            | AgentState::TearingDown { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        };
        (fails && ends).then_some(broken)
    }
}
