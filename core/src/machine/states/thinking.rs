//! Thinking: the model request is about to be made.

use super::super::{AgentState, CompactionCause, DoneReason, Effect, Ending, Facts, Input, Machine};
use super::{Lead, claimed, end, left_behind, parked, refuse, to, with};
use crate::ids::StepNumber;

pub(super) fn on(
    machine: &mut Machine,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::ModelCalled { entry, withheld } => {
            machine.turn.withheld.retain(|tool| tool.until > step);
            machine.turn.withheld.extend(withheld.clone());
            with(
                AgentState::Streaming { step, attempt, entry: *entry },
                [Effect::CallModel { step, attempt, entry: *entry }],
            )
        }
        Input::CompactionRequested if machine.handoff.is_some() => {
            to(AgentState::Compacting { why: CompactionCause::Handoff, step, attempt })
        }
        Input::CompactionRequested => {
            machine.turn.compacted = Some(step);
            to(AgentState::Compacting { why: CompactionCause::Threshold, step, attempt })
        }
        Input::LoopFound { .. } => Ok(Some(end(machine, Ending::of(DoneReason::LoopDetected)))),
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Parked => parked(machine, facts),
        Input::Interrupted { kind, cause } => Ok(Some(end(machine, Ending::stopped_by(*kind, *cause)))),
        Input::CutShort { ending, .. } => Ok(Some(end(machine, ending.clone()))),
        Input::Forked => left_behind(machine),
        Input::Failed { error } => Ok(Some(end(machine, Ending::error(error.clone())))),
        Input::TurnRequested { .. }
        | Input::Briefed { .. }
        | Input::Rewound { .. }
        | Input::Provisioned
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::ModelStopped { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::TimerRang
        | Input::TornDown
        | Input::Compacted { .. }
        | Input::NotCompacted { .. }
        | Input::HandedOff { .. } => refuse(),
    }
}
