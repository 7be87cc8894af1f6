//! Compacting: old messages are summarised. If the summary fails, the turn goes on (A10), with two exceptions. It ends
//! if the agent's last model has refused the step as too long and no result can be shortened, or if the extract for
//! a handoff fails and is not tried again (B50).

use super::super::{AgentState, CompactionCause, Effect, Ending, Facts, Input, Machine, StopCause};
use super::{Lead, end, in_fork, same, to, usual, with};
use crate::store::InterruptKind;
use crate::words::ids::StepNumber;

pub(super) fn on(
    machine: &mut Machine,
    why: &CompactionCause,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    // The summary was requested at rest. The last turn has its outcome already, so the session rests again.
    if let CompactionCause::Manual { ending } = why {
        match input {
            Input::Interrupted { kind: InterruptKind::Soft, .. }
            | Input::CutShort { .. }
            | Input::Failed { .. } => return with(rest(machine, ending), [Effect::StopModel]),
            Input::Forked => return to(rest(machine, &in_fork(ending))),
            _ => {}
        }
    }
    match input {
        Input::Compacted { summary, from, tokens, before, usage } => {
            machine.usage.add(*usage);
            // Keeps the view before the first summary since the turn began, even at rest, so that an edit can restore
            // it.
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
            // A failed extract does not count: the limit on failures is for summaries.
            if error.is_some() && *why != CompactionCause::Handoff {
                machine.view.failures = machine.view.failures.saturating_add(1);
            }
            match why {
                CompactionCause::Handoff => match (error, retry_at) {
                    // Nothing is old enough for an extract.
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
        Input::CompactionRequested => same(),
        _ => usual(machine, input, facts),
    }
}

/// Ends the preparation of a handoff: the turn goes on, or the goal waits as a draft.
fn prepared(machine: &mut Machine, step: StepNumber) -> Lead {
    if machine.handoff.take().is_some_and(|handoff| handoff.draft) {
        return Ok(Some(end(machine, Ending::stopped_by(InterruptKind::Soft, StopCause::HandedOff))));
    }
    to(AgentState::Thinking { step, attempt: 0 })
}

/// Asks the agent's next model instead.
fn next_model(machine: &mut Machine, step: StepNumber) -> Lead {
    machine.turn.next_model();
    to(AgentState::Thinking { step, attempt: 0 })
}

fn rest(machine: &Machine, ending: &Ending) -> AgentState {
    AgentState::Done { ending: ending.clone(), usage: machine.usage }
}
