//! Compacting: what is old is summarised. Whatever becomes of it, the turn goes on (A10), unless the last of the agent's
//! models refuses the request as it stands and nothing can be shown shorter, or a handoff has no extract (B50).

use super::super::{AgentState, CompactionCause, Effect, Ending, Facts, Input, Machine, StopCause};
use super::{Lead, claimed, end, in_fork, left_behind, parked, refuse, same, to, with};
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
        Input::Compacted { summary, from, tokens, before, usage } => {
            machine.usage.add(*usage);
            // Of the first since the turn began, also at rest: an edit that came meanwhile takes it back.
            if machine.turn.seen_before.is_none() {
                let mut seen = machine.view.clone();
                seen.tokens = seen.tokens.max(*before);
                machine.turn.seen_before = Some(Box::new(seen));
            }
            machine.view.compact(*summary, *from, *tokens);
            match why {
                CompactionCause::Threshold => to(AgentState::Thinking { step, attempt }),
                CompactionCause::ContextLimit { .. } => {
                    to(AgentState::Thinking { step, attempt: attempt + 1 })
                }
                CompactionCause::Manual { ending } => to(rest(machine, ending)),
                CompactionCause::Handoff => prepared(machine, step),
            }
        }
        Input::NotCompacted { error, usage, retry_at, held_until, shorter, dead_end, next } => {
            machine.usage.add(*usage);
            if let Some(shorter) = shorter {
                machine.view.shorten(*shorter);
            }
            // An extract must be made: that it failed says nothing of summaries.
            if error.is_some() && *why != CompactionCause::Handoff {
                machine.view.failures = machine.view.failures.saturating_add(1);
            }
            match why {
                CompactionCause::Handoff => match (error, retry_at) {
                    // There is nothing old.
                    (None, _) => prepared(machine, step),
                    (Some(_), _) if *next => next_model(machine, step),
                    (Some(error), Some(until)) => {
                        let attempt = machine.turn.attempt_after(attempt, *held_until, facts.now);
                        to(AgentState::BackingOff { step, attempt, until: *until, error: error.clone() })
                    }
                    (Some(error), None) => Ok(Some(end(machine, Ending::error(error.clone())))),
                },
                CompactionCause::Threshold => to(AgentState::Thinking { step, attempt }),
                CompactionCause::ContextLimit { .. } if *next => next_model(machine, step),
                CompactionCause::ContextLimit { .. } if shorter.is_some() => {
                    to(AgentState::Thinking { step, attempt: attempt + 1 })
                }
                CompactionCause::ContextLimit { error } => {
                    let error = dead_end.as_ref().unwrap_or(error).clone();
                    Ok(Some(end(machine, Ending::error(error))))
                }
                CompactionCause::Manual { ending } => to(rest(machine, ending)),
            }
        }
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Parked => parked(machine, facts),
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
                CompactionCause::Threshold
                | CompactionCause::ContextLimit { .. }
                | CompactionCause::Handoff => end(machine, cut.clone()),
            };
            effects.insert(0, Effect::StopModel);
            with(state, effects)
        }
        Input::Forked => match why {
            CompactionCause::Manual { ending } => to(rest(machine, &in_fork(ending))),
            CompactionCause::Threshold | CompactionCause::ContextLimit { .. } | CompactionCause::Handoff => {
                left_behind(machine)
            }
        },
        Input::Failed { error } => match why {
            // The turn before has its outcome already.
            CompactionCause::Manual { ending } => with(rest(machine, ending), [Effect::StopModel]),
            CompactionCause::Threshold | CompactionCause::ContextLimit { .. } | CompactionCause::Handoff => {
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
        | Input::ModelStopped { .. }
        | Input::LoopFound { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::TimerRang
        | Input::TornDown
        | Input::HandedOff { .. } => refuse(),
    }
}

/// The new session has all it needs: its turn goes on, or waits as a draft.
fn prepared(machine: &mut Machine, step: StepNumber) -> Lead {
    if machine.handoff.take().is_some_and(|handoff| handoff.draft) {
        return Ok(Some(end(machine, Ending::stopped_by(InterruptKind::Soft, StopCause::HandedOff))));
    }
    to(AgentState::Thinking { step, attempt: 0 })
}

/// The agent's next model is asked instead.
fn next_model(machine: &mut Machine, step: StepNumber) -> Lead {
    machine.turn.next_model();
    to(AgentState::Thinking { step, attempt: 0 })
}

fn rest(machine: &Machine, ending: &Ending) -> AgentState {
    AgentState::Done { ending: ending.clone(), usage: machine.usage }
}
