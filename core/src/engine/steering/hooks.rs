//! Hooks at places where the run waits for their answer, or where their answer must be durable.

use crate::engine::action::{Action, ActionId};
use crate::engine::context::Context;
use crate::engine::mind::Mind;
use crate::engine::reply::{Correction, HookStop};
use crate::engine::steering::SteeringHandler;
use crate::machine::SteeringFrom;
use crate::words::hook::{HookPoint, StepEnded};

/// The answers of hooks to the step that is over.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) enum StepHooks {
    #[default]
    Unasked,
    Asked(ActionId),
    Heard(Option<HookStop>, Vec<Correction>),
}

impl SteeringHandler<'_> {
    /// Whether hooks have not answered yet on the step that led here.
    pub(crate) fn waits_for_hooks(&self, from: SteeringFrom) -> bool {
        let heard = matches!(self.cx.mind.step.hooks, StepHooks::Heard(..));
        self.cx.run.is_hooked(HookPoint::AfterStep) && from != SteeringFrom::Resumed && !heard
    }

    /// Returns the answers of hooks to the step that led here. None: they are being asked, while the results
    /// of the step are on their way to the store.
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
