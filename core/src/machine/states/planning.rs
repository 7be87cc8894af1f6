//! The decisions of code that plans in place of a model. They come in Thinking, before the first call, and later in any
//! state in which calls run or wait.

use super::super::{Batch, Effect, Input, Machine};
use super::executing::{settle, stop};
use super::streaming::queued;
use super::{Lead, refuse, to};
use crate::words::ids::MessageSeq;
use crate::words::plan::{Diverged, Divergence};

/// Adds the calls to the open step, or ends the turn.
pub(super) fn on(machine: &mut Machine, mut batch: Batch, input: &Input) -> Lead {
    let Input::Planned { message, calls, ending, carries_on } = input else { return refuse() };
    if !batch.open || batch.stopping.is_some() {
        return refuse();
    }
    let plan = machine.turn.plan_mut();
    plan.diverged = None;
    if *carries_on {
        // The record itself is told, because it holds the input.
        plan.after = MessageSeq(message.0.saturating_sub(1));
    }
    if !calls.is_empty() {
        machine.turn.steps = machine.turn.steps.saturating_add(1);
        machine.turn.calls =
            machine.turn.calls.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        batch.message = *message;
        batch.calls.extend(calls.iter().map(|new| queued(new, *message)));
    }
    match ending {
        Some(ending) => stop(machine, batch, ending.clone(), false),
        None => {
            let ids: Vec<_> = calls.iter().map(|call| call.id.clone()).collect();
            let effects = if ids.is_empty() { Vec::new() } else { vec![Effect::Consult(ids)] };
            settle(machine, batch, effects)
        }
    }
}

/// Records that the code diverged. The turn waits as it is.
pub(super) fn diverged(machine: &mut Machine, found: &Divergence) -> Lead {
    let plan = machine.turn.plan_mut();
    let tries = plan.diverged.as_ref().map_or(0, |before| before.tries).saturating_add(1);
    plan.diverged = Some(Box::new(Diverged { found: found.clone(), tries }));
    to(machine.state.clone())
}
