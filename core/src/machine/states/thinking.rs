//! Thinking: the model request is about to be made.

use super::super::{AgentState, Batch, CompactionCause, DoneReason, Effect, Ending, Facts, Input, Machine};
use super::{Lead, end, planning, to, usual, with};
use crate::words::ids::{MessageSeq, StepNumber};

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
        Input::Planned { .. } => planning::on(machine, Batch::open(step, MessageSeq(0), Vec::new()), input),
        Input::Diverged { found } => planning::diverged(machine, found),
        Input::LoopFound { .. } => Ok(Some(end(machine, Ending::of(DoneReason::LoopDetected)))),
        _ => usual(machine, input, facts),
    }
}
