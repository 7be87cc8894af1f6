//! BackingOff: the model is asked again later.

use super::super::{AgentState, Facts, Input, Machine};
use super::{Lead, to, usual};
use crate::words::ids::StepNumber;

pub(super) fn on(
    machine: &mut Machine,
    step: StepNumber,
    attempt: u32,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::TimerRang => to(AgentState::Thinking { step, attempt }),
        _ => usual(machine, input, facts),
    }
}
