//! A run that is told to leave its session to another: how far it goes on, and how it leaves.
//!
//! Nothing that is out is dropped, and nothing is started that would have to be dropped. The session is left suspended
//! and due at once, at a place where nothing is out: to the next run it is a turn that waited, not one whose run died.

use super::hooking::StepHooks;
use super::{RunOutcome, StepIterator};
use crate::event::Event;
use crate::hook::HookPoint;
use crate::ids::CallId;
use crate::machine::{AgentState, CallInput, CallState, Input, SteeringFrom, Suspension};
use crate::store::OutcomeKind;
use crate::tool::ToolError;

/// How far a run goes on once it is told to leave its session to another. None of them begins another turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Drain {
    /// Nothing more starts: no model call, no tool call, no question to the gate, no hook. What is out comes back and is
    /// made durable; a model's answer that is being written is taken whole, and its calls wait for the next run.
    #[default]
    Calls,
    /// To the end of the step: its calls start and come back, and it is steered by. No other step begins.
    Step,
    /// To the end of the turn, or to where it waits.
    Turn,
}

impl StepIterator {
    /// Told twice, the run leaves at the nearer place.
    pub(super) fn drain(&mut self, drain: Drain) {
        self.draining = Some(self.draining.map_or(drain, |before| before.min(drain)));
    }

    /// Whether nothing starts any more.
    pub(super) fn starts_nothing(&self) -> bool {
        self.draining == Some(Drain::Calls)
    }

    /// Whether what comes next is for another run, and nothing is out that this one waits for.
    pub(super) fn hands_over(&self) -> bool {
        let Some(drain) = self.draining.filter(|drain| self.agent.is_some() && *drain != Drain::Turn) else {
            return false;
        };
        let at_once = drain == Drain::Calls;
        match &self.mind.machine.state {
            AgentState::Provisioning { .. } => self.provisioning.is_none(),
            AgentState::Thinking { attempt, .. } => {
                at_once || (*attempt == 0 && self.mind.machine.turn.model == 0)
            }
            AgentState::Compacting { .. } => self.summarising.is_none(),
            AgentState::Executing { batch } => {
                at_once && batch.stopping.is_none() && !batch.any_out() && self.mind.consulting.is_empty()
            }
            AgentState::Steering { from } => at_once && self.would_ask_hooks(*from),
            AgentState::TearingDown { left, .. } => {
                let is_out =
                    self.tearing_down.or(self.provisioning).is_some() || self.stopped_model.is_some();
                at_once && !left.is_empty() && !is_out
            }
            // What waits parks in any case, and what the model says is waited for.
            AgentState::Streaming { .. }
            | AgentState::Confirming { .. }
            | AgentState::BackingOff { .. }
            | AgentState::Idle
            | AgentState::Done { .. } => false,
        }
    }

    fn would_ask_hooks(&self, from: SteeringFrom) -> bool {
        from != SteeringFrom::Resumed
            && self.mind.step_hooks == StepHooks::Unasked
            && self.agent.as_ref().is_some_and(|agent| agent.is_hooked(HookPoint::AfterStep))
    }

    /// Leaves the session to another run, at once, as soon as it is known that nobody stops it. Nobody owes it anything.
    pub(super) fn hand_over(&mut self) -> bool {
        if !self.is_up_to_date() {
            return false;
        }
        let (kind, until) = (OutcomeKind::SuspendedUntil, Some(self.now));
        // Of a summary that was asked for at rest there is no turn to tell of.
        if self.mind.machine.turn.open {
            self.emit(Event::Suspended { kind, until, owed: Vec::new() });
        }
        self.park(RunOutcome::Suspended(Suspension { kind, until, owed: Vec::new() }), until);
        true
    }

    /// Takes start marks back: these calls were not sent, and the next run sends them.
    pub(super) fn take_marks_back(&mut self, calls: &[CallId]) {
        for call in
            calls.iter().filter(|call| self.call_is(call, &CallState::Preparing)).cloned().collect::<Vec<_>>()
        {
            self.take_back(call);
        }
    }

    /// A call that was to be sent was not, and nothing starts any more: the next run sends it. One whose turn ends meanwhile was
    /// not run.
    pub(super) fn on_call_unsent(&mut self, call: CallId) {
        self.out.remove(&call);
        let goes_on = self.mind.machine.state.batch().is_some_and(|batch| batch.stopping.is_none());
        if goes_on && self.starts_nothing() && self.call_is(&call, &CallState::Executing) {
            self.take_back(call);
        } else {
            let unsent = ToolError::NotRun(String::from("the run was told to stop before it was sent"));
            self.on_call_ended(&call, Err(unsent), 0);
        }
    }

    fn take_back(&mut self, call: CallId) {
        self.untell_start(&call);
        self.feed(Input::Call { call, input: CallInput::Again });
        self.mind.draft.decided = true;
    }
}
