//! The hooks that a run asks after a step, and their answers.

use crate::engine::action::{Action, ActionId};
use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::engine::reply::{Correction, HookStop};
use crate::engine::steering::SteeringHandler;
use crate::machine::SteeringFrom;
use crate::words::hook::{HookPoint, StepEnded};

/// The answers of hooks to the step that has ended.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum StepHooks {
    #[default]
    Unasked,
    Asked(ActionId),
    Heard(Option<HookStop>, Vec<Correction>),
}

impl SteeringHandler<'_> {
    /// Returns true if the hooks have yet to answer on the step that was just made.
    pub(crate) fn waits_for_hooks(&self, from: SteeringFrom) -> bool {
        let heard = matches!(self.cx.mind.step.hooks, StepHooks::Heard(..));
        self.cx.run.is_hooked(HookPoint::AfterStep) && from != SteeringFrom::Resumed && !heard
    }

    /// Returns the answers of the hooks to the step that was just made. Asks the hooks if they were not asked yet,
    /// and returns `None` until they have answered.
    pub(crate) fn hear_of_step(&mut self, from: SteeringFrom) -> Option<(Option<HookStop>, Vec<Correction>)> {
        if !self.cx.run.is_hooked(HookPoint::AfterStep) || from == SteeringFrom::Resumed {
            return Some((None, Vec::new()));
        }
        if let StepHooks::Heard(stop, corrections) = &self.cx.mind.step.hooks {
            return Some((stop.clone(), corrections.clone()));
        }
        if self.cx.mind.step.hooks == StepHooks::Unasked {
            let id = self.cx.output.next_id();
            self.cx.mind.step.hooks = StepHooks::Asked(id);
            self.cx.output.push(Action::RunHooks { id, step: Box::new(self.cx.step_ended()) });
        }
        None
    }
}

impl Mind {
    pub(crate) fn on_hooks_ran(
        &mut self,
        id: ActionId,
        stop: Option<HookStop>,
        corrections: Vec<Correction>,
    ) {
        if self.step.hooks == StepHooks::Asked(id) {
            self.step.hooks = StepHooks::Heard(stop, corrections);
        }
    }
}

impl Context {
    fn step_ended(&self) -> StepEnded {
        let machine = &self.mind.machine;
        StepEnded {
            session: self.run.fence.key.clone(),
            turn: machine.turn.number,
            step: machine.step,
            steps: machine.turn.steps,
            text: self.mind.step.said.clone(),
            tools_done: self.mind.step.tools_done.clone(),
            usage: machine.turn.spent.step,
            turn_usage: machine.turn.spent.turn,
            session_usage: machine.usage,
        }
    }
}
