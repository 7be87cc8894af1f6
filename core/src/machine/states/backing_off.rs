//! BackingOff: the model is asked again later.

use super::super::{AgentState, Ending, Facts, Input, Machine};
use super::{Lead, claimed, end, left_behind, parked, refuse, to};
use crate::ids::StepNumber;

pub(super) fn on(
    machine: &mut Machine,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::TimerRang => to(AgentState::Thinking { step, attempt }),
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Parked => parked(machine, facts),
        Input::Interrupted { kind, cause } => Ok(Some(end(machine, Ending::stopped_by(*kind, *cause)))),
        Input::Forked => left_behind(machine),
        Input::Failed { error } => Ok(Some(end(machine, Ending::error(error.clone())))),
        Input::TurnRequested { .. }
        | Input::Briefed { .. }
        | Input::Rewound { .. }
        | Input::Provisioned
        | Input::ModelCalled { .. }
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::ModelStopped { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::CutShort { .. }
        | Input::TornDown
        | Input::LoopFound { .. }
        | Input::CompactionRequested
        | Input::Compacted { .. }
        | Input::NotCompacted { .. }
        | Input::HandedOff { .. } => refuse(),
    }
}
