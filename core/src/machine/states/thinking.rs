//! Thinking: the model request is about to be made. Loop detection will stand before `ModelCalled`.

use super::super::{AgentState, Effect, Ending, Facts, Input, Machine};
use super::{Lead, claimed, end, left_behind, refuse, with};
use crate::ids::StepNumber;

pub(super) fn on(
    machine: &mut Machine,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::ModelCalled { entry } => with(
            AgentState::Streaming { step, attempt, entry: *entry },
            [Effect::CallModel { step, attempt, entry: *entry }],
        ),
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Interrupted { kind } => Ok(Some(end(machine, Ending::stopped(*kind)))),
        Input::Forked => left_behind(machine),
        Input::Failed { error } => Ok(Some(end(machine, Ending::error(error.clone())))),
        Input::TurnRequested { .. }
        | Input::Provisioned
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::TimerRang
        | Input::Parked
        | Input::TornDown => refuse(),
    }
}
