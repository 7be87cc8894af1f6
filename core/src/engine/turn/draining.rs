//! A run that must leave its session to another run: how far it goes on, and how it leaves.
//!
//! Nothing in progress is dropped, and nothing is started that would have to be dropped. Unless the turn ends or waits by
//! then, the run leaves the session suspended and due at once, at a point where nothing is in progress. The next run finds
//! a turn that waits, not one whose run has died.

use crate::engine::RunOutcome;
use crate::engine::context::Context;
use crate::engine::context::out::SurroundingsOut;
use crate::engine::steering::hooks::StepHooks;
use crate::engine::turn::TurnHandler;
use crate::machine::{AgentState, SteeringFrom};
use crate::store::OutcomeKind;
use crate::words::event::Event;
use crate::words::hook::HookPoint;
use crate::words::suspension::Suspension;

/// The point up to which a run goes on once it must leave its session to another run. It never begins another turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drain {
    /// Nothing more starts: no model call, no tool call, no question to the gate, no hook. Actions in progress
    /// return, and their results are made durable. An answer that the model is writing is taken whole, and its calls
    /// wait for the next run.
    #[default]
    Calls,
    /// The run goes on to the end of the step: its calls run, and steering decides. No other step begins.
    Step,
    /// The run goes on to the end of the turn, or until the turn waits.
    Turn,
}

impl Context {
    /// Records that the run must leave. The nearest point of all requests counts.
    pub(crate) fn drain(&mut self, drain: Drain) {
        self.end.draining = Some(self.end.draining.map_or(drain, |before| before.min(drain)));
    }
}

impl TurnHandler<'_> {
    /// Returns true if the next decision is left to another run, and this run waits for no action.
    pub(crate) fn hands_over(&self) -> bool {
        let Some(drain) =
            self.cx.end.draining.filter(|drain| self.cx.run.agent.is_some() && *drain != Drain::Turn)
        else {
            return false;
        };
        let at_once = drain == Drain::Calls;
        match &self.cx.mind.machine.state {
            AgentState::Provisioning { .. } => self.cx.out.surroundings == SurroundingsOut::Still,
            AgentState::Thinking { attempt, .. } => {
                at_once || (*attempt == 0 && self.cx.mind.machine.turn.model == 0)
            }
            AgentState::Compacting { .. } => !self.cx.out.model.is_summarising(),
            AgentState::Executing { batch } => {
                (at_once || batch.open)
                    && !self.cx.code.is_asked()
                    && batch.stopping.is_none()
                    && !batch.any_out()
                    && self.cx.mind.consulting.is_empty()
                    && self.cx.out.children.is_empty()
            }
            AgentState::Steering { from } => at_once && self.would_ask_hooks(*from),
            AgentState::TearingDown { left, .. } => {
                let is_out = self.cx.out.others.is_some()
                    || self.cx.out.surroundings != SurroundingsOut::Still
                    || self.cx.out.model.is_stopped();
                at_once && !left.is_empty() && !is_out
            }
            // Code that has not been told of a result is told in another run.
            AgentState::Confirming { batch } | AgentState::Dispatching { batch } if batch.open => {
                at_once
                    && batch.stopping.is_none()
                    && !self.cx.code.is_asked()
                    && self.cx.out.children.is_empty()
                    && self.cx.mind.step.plan.tells_news()
            }
            // A turn that waits parks in any case, and an answer in progress is awaited.
            AgentState::Streaming { .. }
            | AgentState::Confirming { .. }
            | AgentState::Dispatching { .. }
            | AgentState::BackingOff { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        }
    }

    fn would_ask_hooks(&self, from: SteeringFrom) -> bool {
        from != SteeringFrom::Resumed
            && self.cx.mind.step.hooks == StepHooks::Unasked
            && self.cx.run.agent.as_ref().is_some_and(|agent| agent.is_hooked(HookPoint::AfterStep))
    }

    /// Leaves the session to another run at once. First the inbox must be read, in case it holds a stop.
    pub(crate) fn hand_over(&mut self) -> bool {
        if !self.cx.is_up_to_date() {
            return false;
        }
        let (kind, until) = (OutcomeKind::SuspendedUntil, Some(self.cx.run.now));
        // A summary that was requested at rest has no turn to report.
        if self.cx.mind.machine.turn.open {
            self.cx.mind.emit(Event::Suspended { kind, until, owed: Vec::new() });
        }
        self.park(RunOutcome::Suspended(Suspension { kind, until, owed: Vec::new() }), until);
        true
    }
}
