//! Ends a turn before its step is over: the turn has reached its time limit (requirement A22) or the deadline that
//! its parent set, or its circuit is open (C49).

use std::time::Duration;

use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::engine::turn::TurnHandler;
use crate::machine::AgentState;
use crate::time::Timestamp;
use crate::words::agent::OnTrip;
use crate::words::agent::retries::circuit_open;
use crate::words::ending::{DoneReason, Ending};
use crate::words::history::Input;
use crate::words::letter::LetterCause;

impl TurnHandler<'_> {
    /// Ends the turn if it has reached its time limit or the deadline of its parent, or if its circuit is open.
    /// Returns false if it goes on.
    pub(crate) fn cut_short(&mut self) -> bool {
        if let Some(broken) = self.opened() {
            self.cx.mind.draft.decided = true;
            let error = circuit_open(broken);
            let ending = Ending::error(error.clone());
            let moved = self.cx.feed(Input::CutShort { ending, drains: true });
            self.cx.leave_letter(LetterCause::Circuit, error, broken);
            return moved;
        }
        if self.cx.cut_at().is_none_or(|at| at > self.cx.run.now) {
            return false;
        }
        self.cx.mind.draft.decided = true;
        self.cx.feed(Input::CutShort { ending: Ending::of(DoneReason::BudgetExceeded), drains: false })
    }

    /// Returns the number of calls in a row that could not be run or gave no result, if it ends the turn and the turn is
    /// not ending already.
    fn opened(&self) -> Option<u32> {
        let retries = &self.cx.run.agent.as_ref()?.retries;
        let broken = self.cx.mind.machine.turn.broken;
        let fails = match retries.on_trip {
            OnTrip::Fail => retries.broken_calls_max > 0 && broken >= retries.broken_calls_max,
            OnTrip::Observe => false,
        };
        let ends = match &self.cx.mind.machine.state {
            AgentState::Executing { batch }
            | AgentState::Confirming { batch }
            | AgentState::Dispatching { batch } => batch.stopping.is_none() && !batch.open,
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

impl Context {
    /// Returns the instant at which the turn must end, in its present state: it has worked for its maximum time, or
    /// its parent stops waiting for it.
    pub(crate) fn cut_at(&self) -> Option<Timestamp> {
        let worked = self.turn_ends_at().filter(|_| self.mind.cuttable());
        worked.into_iter().chain(self.until().filter(|_| self.mind.waits_or_works())).min()
    }

    /// Returns the instant at which the parent of the turn stops waiting for it.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        self.mind.machine.turn.allowance().until.filter(|_| self.mind.machine.turn.open)
    }

    /// Returns the alarm of a session that parks: `own`, or the deadline of its parent if that is earlier.
    pub(crate) fn rings_at(&self, own: Option<Timestamp>) -> Option<Timestamp> {
        own.into_iter().chain(self.until()).min()
    }

    /// Returns the instant at which the turn has worked for its maximum time, if this run works on it until then.
    /// Suspended time does not count. A turn that code plans has no such limit.
    pub(crate) fn turn_ends_at(&self) -> Option<Timestamp> {
        let turn = &self.mind.machine.turn;
        let most =
            self.run.agent.as_ref()?.limits.max_run_ms.filter(|_| turn.open && !self.run.is_planned())?;
        let left = Duration::from_millis(most.saturating_sub(turn.worked_ms));
        Some(turn.claimed_at.after(left))
    }
}

impl Mind {
    /// Returns true if the deadline of the parent ends the turn in its present state.
    fn waits_or_works(&self) -> bool {
        let parked = match &self.machine.state {
            AgentState::Confirming { batch } | AgentState::Dispatching { batch } => batch.stopping.is_none(),
            AgentState::BackingOff { .. } => true,
            AgentState::Thinking { .. }
            | AgentState::Streaming { .. }
            | AgentState::Compacting { .. }
            | AgentState::Executing { .. }
            | AgentState::Provisioning { .. }
            | AgentState::Steering { .. }
            | AgentState::TearingDown { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        };
        parked || self.cuttable()
    }

    /// Returns true if the time limit of the turn applies in its present state.
    pub(crate) fn cuttable(&self) -> bool {
        match &self.machine.state {
            AgentState::Thinking { .. } | AgentState::Streaming { .. } | AgentState::Compacting { .. } => {
                true
            }
            AgentState::Executing { batch } => batch.stopping.is_none() || batch.drains(),
            // Preparing and freeing surroundings have their own limits; other states move on at once, or park.
            AgentState::Provisioning { .. }
            | AgentState::Confirming { .. }
            | AgentState::Dispatching { .. }
            | AgentState::Steering { .. }
            | AgentState::BackingOff { .. }
            | AgentState::TearingDown { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        }
    }
}
