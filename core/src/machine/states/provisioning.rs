//! Provisioning: what the turn needs is made ready.

use super::super::{AgentState, Effect, Ending, Facts, Input, Machine, SteeringFrom, TurnRequest};
use super::{Lead, briefed, end, left_behind, parked, refuse, to, with};

pub(super) fn on(machine: &mut Machine, request: TurnRequest, input: &Input, facts: &Facts) -> Lead {
    match input {
        Input::Provisioned => match request {
            TurnRequest::Message => {
                machine.step = machine.step.next();
                to(AgentState::Thinking { step: machine.step, attempt: 0 })
            }
            TurnRequest::Resume => to(AgentState::Steering { from: SteeringFrom::Resumed }),
        },
        Input::Briefed { mode, prompt, said } => briefed(machine, *mode, *prompt, *said),
        Input::Claimed { .. } => {
            machine.turn.claimed_at = facts.now;
            let again = if machine.turn.provisioned { vec![Effect::Provision] } else { Vec::new() };
            with(machine.state.clone(), again)
        }
        Input::Parked => parked(machine, facts),
        Input::Interrupted { kind, cause } => Ok(Some(end(machine, Ending::stopped_by(*kind, *cause)))),
        Input::Forked => left_behind(machine),
        Input::Failed { error } => Ok(Some(end(machine, Ending::error(error.clone())))),
        Input::TurnRequested { .. }
        | Input::Rewound { .. }
        | Input::ModelCalled { .. }
        | Input::ModelAnswered { .. }
        | Input::ModelFailed { .. }
        | Input::ModelStopped { .. }
        | Input::Call { .. }
        | Input::Steered { .. }
        | Input::CutShort { .. }
        | Input::TimerRang
        | Input::TornDown
        | Input::LoopFound { .. }
        | Input::CompactionRequested
        | Input::Compacted { .. }
        | Input::NotCompacted { .. }
        | Input::HandedOff { .. } => refuse(),
    }
}
