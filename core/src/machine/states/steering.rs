//! Steering: decides whether the turn goes on or ends. The rules are in [`steering`](super::super::steering).

use super::super::{AgentState, Facts, Input, Machine, request};
use super::{Lead, briefed, end, to, usual};

pub(super) fn on(machine: &mut Machine, input: &Input, facts: &Facts) -> Lead {
    match input {
        Input::Steered { stop, no_output, tokens, results, cleared, usage, corrected, asks } => {
            machine.usage.add(*usage);
            machine.turn.corrections = machine.turn.corrections.saturating_add(u32::from(*corrected));
            machine.turn.no_output = machine.turn.no_output.saturating_add(u32::from(*no_output));
            machine.view.tokens = machine.view.tokens.saturating_add(*tokens);
            machine.view.add_results(*results, *cleared);
            if let Some(ending) = stop {
                return Ok(Some(end(machine, ending.clone())));
            }
            if let Some(asked) = asks {
                // If steps are granted, steering decides again, and a correction is a reason to go on.
                machine.turn.answered &= !*corrected;
                return to(AgentState::Confirming { batch: request::batch(machine.step, asked) });
            }
            machine.step = machine.step.next();
            machine.turn.model = 0;
            machine.turn.refused = 0;
            machine.turn.answered = false;
            to(AgentState::Thinking { step: machine.step, attempt: 0 })
        }
        Input::Briefed { mode, prompt, said } => briefed(machine, *mode, *prompt, *said),
        _ => usual(machine, input, facts),
    }
}
