//! Compacting: what is old is summarised. Whatever becomes of it, the turn goes on (A10), unless the provider
//! refuses the request as it stands.

use super::super::{AgentState, CompactionCause, Effect, Ending, Facts, Input, Machine};
use super::{Lead, claimed, end, in_fork, left_behind, refuse, same, to, with};
use crate::ids::StepNumber;
use crate::store::InterruptKind;

pub(super) fn on(
    machine: &mut Machine,
    why: &CompactionCause,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::Compacted { summary, from, tokens, usage } => {
            machine.usage.add(*usage);
            // Of the first since the turn began, also at rest: an edit that came meanwhile takes it back.
            if machine.turn.seen_before.is_none() {
                machine.turn.seen_before = Some(Box::new(machine.view.clone()));
            }
            machine.view.compact(*summary, *from, *tokens);
            to(match why {
                CompactionCause::Threshold => AgentState::Thinking { step, attempt },
                CompactionCause::ContextLimit { .. } => AgentState::Thinking { step, attempt: attempt + 1 },
                CompactionCause::Manual { ending } => rest(machine, ending),
            })
        }
        Input::NotCompacted { error, usage } => {
            machine.usage.add(*usage);
            if error.is_some() {
                machine.view.failures = machine.view.failures.saturating_add(1);
            }
            match why {
                CompactionCause::Threshold => to(AgentState::Thinking { step, attempt }),
                CompactionCause::ContextLimit { error } => {
                    Ok(Some(end(machine, Ending::error(error.clone()))))
                }
                CompactionCause::Manual { ending } => to(rest(machine, ending)),
            }
        }
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Interrupted { kind, cause } => match (why, kind) {
            (CompactionCause::Manual { ending }, InterruptKind::Soft) => {
                with(rest(machine, ending), [Effect::StopModel])
            }
            (_, kind) => {
                let (state, mut effects) = end(machine, Ending::stopped_by(*kind, *cause));
                effects.insert(0, Effect::StopModel);
                with(state, effects)
            }
        },
        Input::CutShort { ending: cut, .. } => {
            let (state, mut effects) = match why {
                CompactionCause::Manual { ending } => (rest(machine, ending), Vec::new()),
                CompactionCause::Threshold | CompactionCause::ContextLimit { .. } => {
                    end(machine, cut.clone())
                }
            };
            effects.insert(0, Effect::StopModel);
            with(state, effects)
        }
        Input::Forked => match why {
            CompactionCause::Manual { ending } => to(rest(machine, &in_fork(ending))),
            CompactionCause::Threshold | CompactionCause::ContextLimit { .. } => left_behind(machine),
        },
        Input::Failed { error } => match why {
            // The turn before has its outcome already.
            CompactionCause::Manual { ending } => with(rest(machine, ending), [Effect::StopModel]),
            CompactionCause::Threshold | CompactionCause::ContextLimit { .. } => {
                let (state, mut effects) = end(machine, Ending::error(error.clone()));
                effects.insert(0, Effect::StopModel);
                with(state, effects)
            }
        },
        Input::CompactionRequested => same(),
        Input::TurnRequested { .. }
        | Input::Briefed { .. }
        | Input::Rewound { .. }
        | Input::Provisioned
        | Input::ModelCalled { .. }
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::LoopFound { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::TimerRang
        | Input::Parked
        | Input::TornDown => refuse(),
    }
}

fn rest(machine: &Machine, ending: &Ending) -> AgentState {
    AgentState::Done { ending: ending.clone(), usage: machine.usage }
}
