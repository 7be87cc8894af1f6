//! Provisioning: the surroundings of the turn are prepared.

use super::super::{AgentState, Effect, Facts, Input, Machine, SteeringFrom, TurnRequest};
use super::{Lead, briefed, to, usual, with};

pub(super) fn on(
    machine: &mut Machine,
    request: TurnRequest,
    parked: bool,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        // While the procedure waits, the model is not asked.
        Input::Provisioned if parked => to(AgentState::Steering { from: SteeringFrom::Resumed }),
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
        _ => usual(machine, input, facts),
    }
}
