//! TearingDown: other sessions are told of the end of the turn, and the surroundings of the turn are freed. The
//! outcome changes only if the session could not be handed over: then the turn fails. The turn can still be marked to
//! be taken back once it has ended.

use super::super::{AgentState, Effect, Ending, Facts, Input, Machine, StopCause, Teardown};
use super::{Lead, in_fork, same, to, usual, with};
use crate::store::SessionStatus;

pub(super) fn on(
    machine: &mut Machine,
    ending: &Ending,
    left: &Teardown,
    input: &Input,
    facts: &Facts,
) -> Lead {
    match input {
        Input::TornDown => {
            let announce = machine.turn.open;
            machine.turn.worked_ms = machine.turn.worked_until(facts.now);
            machine.turn.claimed_at = facts.now;
            machine.turn.open = false;
            machine.turn.provisioned = false;
            let state = AgentState::Done { ending: ending.clone(), usage: machine.usage };
            let effects = if announce { vec![Effect::AnnounceEnd(ending.clone())] } else { Vec::new() };
            with(state, effects)
        }
        Input::Owed { reply } => {
            let mut left = left.clone();
            left.replies.push(reply.as_ref().clone());
            with(AgentState::TearingDown { ending: ending.clone(), left }, vec![Effect::TearDown])
        }
        Input::Told if left.is_told() => same(),
        Input::Told => {
            // The ends of background children have no receiver once the session has answered or was aborted.
            if !machine.turn.replies.is_empty() || ending.status() == SessionStatus::Aborted {
                machine.background.clear();
            }
            if let Some(successor) = &left.successor {
                machine.remember_successor(successor.to.clone());
            }
            machine.turn.replies.clear();
            let left = Teardown { provisioned: left.provisioned, ..Teardown::default() };
            let effects = if left.is_empty() { Vec::new() } else { vec![Effect::TearDown] };
            with(AgentState::TearingDown { ending: ending.clone(), left }, effects)
        }
        Input::ModelStopped { usage } => {
            machine.usage.add(*usage);
            to(machine.state.clone())
        }
        Input::Claimed { .. } => {
            machine.turn.claimed_at = facts.now;
            let effects = if left.is_empty() { Vec::new() } else { vec![Effect::TearDown] };
            with(machine.state.clone(), effects)
        }
        Input::Forked => {
            machine.turn.provisioned = false;
            to(AgentState::TearingDown { ending: in_fork(ending), left: Teardown::default() })
        }
        Input::Interrupted { cause: StopCause::Rollback, .. } if may_be_taken_back(ending) => {
            let ending = Ending { cause: StopCause::Rollback, ..ending.clone() };
            to(AgentState::TearingDown { ending, left: left.clone() })
        }
        // The session could not be handed over, and nobody was told of the end. The turn fails instead.
        Input::NotHandedOver { error } => {
            let replies = machine.turn.replies.clone();
            let left = Teardown { replies, successor: None, ..left.clone() };
            let ending = Ending { step: Some(machine.step), ..Ending::error(error.clone()) };
            let effects = if left.is_empty() { Vec::new() } else { vec![Effect::TearDown] };
            with(AgentState::TearingDown { ending, left }, effects)
        }
        Input::Interrupted { .. } | Input::Failed { .. } => same(),
        _ => usual(machine, input, facts),
    }
}

/// Returns true if a turn with this ending can still be marked to be taken back. A turn that was aborted cannot.
fn may_be_taken_back(ending: &Ending) -> bool {
    ending.status() != SessionStatus::Aborted && ending.cause != StopCause::Rollback
}
