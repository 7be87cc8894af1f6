//! Background children, in any state. The machine remembers them while they run, and counts their usage when they
//! have ended.

use super::super::{AgentState, Effect, Input, Machine};
use super::{Lead, same, to, with};
use crate::words::background::Background;

/// Handles an input about a background child. Returns `None` for any other input.
pub(super) fn of_background(machine: &mut Machine, input: &Input) -> Option<Lead> {
    match input {
        Input::ChildBegan { child } => Some(began(machine, child)),
        Input::ChildResumed { pending, index, task, share } => {
            Some(match machine.child_mut(pending, *index) {
                Some(child) if !child.owes.contains(task) => {
                    child.owes.push(task.clone());
                    child.terms.share = *share;
                    to(machine.state.clone())
                }
                Some(_) | None => same(),
            })
        }
        Input::ChildEnded { pending, index, tasks, usage } => {
            machine.usage.add(*usage);
            if let Some(child) = machine.child_mut(pending, *index) {
                child.owes.retain(|task| !tasks.contains(task));
            }
            Some(to(machine.state.clone()))
        }
        _ => None,
    }
}

fn began(machine: &mut Machine, child: &Background) -> Lead {
    if machine.child_mut(&child.pending, child.index).is_some() {
        return same();
    }
    machine.remember_children(vec![child.clone()]);
    let AgentState::TearingDown { ending, left } = &machine.state else { return to(machine.state.clone()) };
    let mut left = left.clone();
    for children in machine.left_behind(ending) {
        if !left.children.contains(&children) {
            left.children.push(children);
        }
    }
    let effects = if left.is_empty() { Vec::new() } else { vec![Effect::TearDown] };
    with(AgentState::TearingDown { ending: ending.clone(), left }, effects)
}
