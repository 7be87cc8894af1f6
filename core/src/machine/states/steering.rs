//! Steering: the only place that decides to go on or to stop. What it decides by is in
//! [`steering`](super::super::steering).

use super::super::{AgentState, Ending, Facts, Input, Machine, SteeringFrom, more};
use super::{Lead, briefed, claimed, end, left_behind, parked, refuse, to};

pub(super) fn on(machine: &mut Machine, _from: SteeringFrom, input: &Input, facts: &Facts) -> Lead {
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
                // Once some are granted, steering looks again at what there is to go on for.
                machine.turn.answered &= !*corrected;
                return to(AgentState::Confirming { batch: more::batch(machine.step, asked) });
            }
            machine.step = machine.step.next();
            machine.turn.model = 0;
            machine.turn.refused = 0;
            machine.turn.answered = false;
            to(AgentState::Thinking { step: machine.step, attempt: 0 })
        }
        Input::Briefed { mode, prompt, said } => briefed(machine, *mode, *prompt, *said),
        Input::Claimed { .. } => claimed(machine, facts),
        Input::Parked => parked(machine, facts),
        Input::Interrupted { kind, cause } => Ok(Some(end(machine, Ending::stopped_by(*kind, *cause)))),
        Input::CutShort { ending, .. } => Ok(Some(end(machine, ending.clone()))),
        Input::Forked => left_behind(machine),
        Input::Failed { error } => Ok(Some(end(machine, Ending::error(error.clone())))),
        Input::TurnRequested { .. }
        | Input::Rewound { .. }
        | Input::Provisioned
        | Input::ModelCalled { .. }
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::ModelStopped { .. }
        | Input::Call { .. }
        | Input::TimerRang
        | Input::TornDown
        | Input::LoopFound { .. }
        | Input::CompactionRequested
        | Input::Compacted { .. }
        | Input::NotCompacted { .. }
        | Input::HandedOff { .. } => refuse(),
    }
}
