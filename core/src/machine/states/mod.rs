//! One handler for each state.
//!
//! The [`table`] says which inputs a state takes; no other input reaches a handler. Stops, errors, claims, forks and
//! parking mean the same in most states of a turn; [`usual`] handles them. A handler covers the inputs that have a
//! meaning of their own in its state. Inputs about background children are handled in one place for all states.

mod backing_off;
mod children;
mod compacting;
mod executing;
mod lost;
mod planning;
mod provisioning;
mod resting;
mod steering;
mod streaming;
mod tearing_down;
mod thinking;

use super::{
    AgentState, Effect, Ending, Facts, Input, Machine, Refused, StandingApprovals, Successor, Teardown,
    Transition, TurnRequest, table,
};
use crate::store::{InterruptKind, SessionStatus};
use crate::words::children::Children;
use crate::words::ids::MessageSeq;
use crate::words::mode::Mode;

/// The result of an input: the next state and its effects, or `None` if the machine was there already.
type Lead = Result<Option<(AgentState, Vec<Effect>)>, Denial>;

/// The refusal of an input by a handler, with details if there are any.
struct Denial(Option<String>);

fn to(state: AgentState) -> Lead {
    Ok(Some((state, Vec::new())))
}

fn with(state: AgentState, effects: impl Into<Vec<Effect>>) -> Lead {
    Ok(Some((state, effects.into())))
}

fn same() -> Lead {
    Ok(None)
}

fn refuse() -> Lead {
    Err(Denial(None))
}

/// Hands the input to the handler of the machine's state. Every state is named, so a new one does not compile until it
/// has a handler (requirement A01).
#[deny(
    clippy::wildcard_enum_match_arm,
    clippy::match_wildcard_for_single_variants,
    reason = "every state has a handler"
)]
pub(super) fn dispatch(machine: &Machine, input: &Input, facts: &Facts) -> Result<Transition, Refused> {
    let refused = |detail| Refused { state: machine.state.kind(), input: input.kind(), detail };
    if !table::admits(machine.state.kind(), input.kind()) {
        return Err(refused(None));
    }
    let mut next = machine.clone();
    if *input == Input::Forked {
        // Standing approvals do not extend to forks.
        next.always = StandingApprovals::default();
        // The source of the fork sends the outcome to those who wait for it.
        next.turn.replies.clear();
        next.background.clear();
        next.successors.clear();
        next.turn.inherits = false;
    }
    if let Some(lead) = children::of_background(&mut next, input) {
        return led(machine, next, lead).map_err(refused);
    }
    let lead = match &machine.state {
        AgentState::Idle | AgentState::Done { .. } => resting::on(&mut next, input, facts),
        AgentState::Provisioning { request, parked } => {
            provisioning::on(&mut next, *request, *parked, input, facts)
        }
        AgentState::Thinking { step, attempt } => thinking::on(&mut next, *step, *attempt, input, facts),
        AgentState::Streaming { step, attempt, .. } => {
            streaming::on(&mut next, *step, *attempt, input, facts)
        }
        AgentState::Executing { batch }
        | AgentState::Confirming { batch }
        | AgentState::Dispatching { batch } => executing::on(&mut next, batch, input, facts),
        AgentState::Steering { .. } => steering::on(&mut next, input, facts),
        AgentState::Compacting { why, step, attempt } => {
            compacting::on(&mut next, why, *step, *attempt, input, facts)
        }
        AgentState::BackingOff { step, attempt, .. } => {
            backing_off::on(&mut next, *step, *attempt, input, facts)
        }
        AgentState::TearingDown { ending, left } => tearing_down::on(&mut next, ending, left, input, facts),
    };
    led(machine, next, lead).map_err(refused)
}

fn led(machine: &Machine, mut next: Machine, lead: Lead) -> Result<Transition, Option<String>> {
    match lead {
        Err(Denial(detail)) => Err(detail),
        Ok(None) => Ok(Transition { next: machine.clone(), effects: Vec::new(), moved: false }),
        Ok(Some((state, effects))) => {
            next.state = state;
            Ok(Transition { next, effects, moved: true })
        }
    }
}

/// Handles the inputs that mean the same in every state of a turn, unless the state has its own rule. A stop, an
/// error, the time limit and an open circuit end the turn. A claim starts the clock of the turn, and parking stops
/// it. A message that is owed the outcome adds its address. In a fork the turn ends as after a soft stop.
fn usual(machine: &mut Machine, input: &Input, facts: &Facts) -> Lead {
    match input {
        Input::Claimed { .. } => {
            machine.turn.claimed_at = facts.now;
            to(machine.state.clone())
        }
        Input::Parked => {
            if machine.turn.open {
                machine.turn.worked_ms = machine.turn.worked_until(facts.now);
                machine.turn.claimed_at = facts.now;
            }
            to(machine.state.clone())
        }
        Input::Owed { reply } => {
            machine.turn.replies.push(reply.as_ref().clone());
            to(machine.state.clone())
        }
        Input::Interrupted { kind, cause } => break_off(machine, Ending::stopped_by(*kind, *cause)),
        Input::CutShort { ending, .. } => break_off(machine, ending.clone()),
        Input::Failed { error } => break_off(machine, Ending::error(error.clone())),
        Input::Forked => {
            // The fork has no surroundings to free.
            machine.turn.provisioned = false;
            Ok(Some(end(machine, Ending::stopped(InterruptKind::Soft))))
        }
        _ => refuse(),
    }
}

/// Ends the turn, and stops listening to a model that is answering.
fn break_off(machine: &Machine, ending: Ending) -> Lead {
    let (state, mut effects) = end(machine, ending);
    if let AgentState::Streaming { .. } | AgentState::Compacting { .. } = machine.state {
        effects.insert(0, Effect::StopModel);
    }
    with(state, effects)
}

/// Enters the teardown with this ending.
fn end(machine: &Machine, ending: Ending) -> (AgentState, Vec<Effect>) {
    end_beside(machine, ending, Vec::new())
}

/// Enters the teardown of a turn that no longer waits for these children.
fn end_beside(
    machine: &Machine,
    mut ending: Ending,
    mut children: Vec<Children>,
) -> (AgentState, Vec<Effect>) {
    children.extend(machine.left_behind(&ending));
    let before_any = matches!(machine.state, AgentState::Provisioning { .. });
    ending.step = ending.error.is_some().then_some(machine.step).filter(|step| !before_any && step.0 > 0);
    let mut replies = machine.turn.replies.clone();
    let successor = ending.handed_to.as_ref().map(|to| {
        let used = machine.used_in_turn().unwrap_or(machine.usage);
        let moved =
            std::mem::take(&mut replies).into_iter().map(|reply| reply.after(used, machine.turn.steps));
        Box::new(Successor { to: to.as_ref().clone(), replies: moved.collect() })
    });
    let left = Teardown { provisioned: machine.turn.provisioned, children, replies, successor };
    let effects = if left.is_empty() { Vec::new() } else { vec![Effect::TearDown] };
    (AgentState::TearingDown { ending, left }, effects)
}

/// Returns the ending of a turn as a fork has it. The fork can go on even if its source was aborted, and it has no
/// successor.
fn in_fork(ending: &Ending) -> Ending {
    match ending.status() {
        SessionStatus::Aborted => Ending::stopped(InterruptKind::Soft),
        SessionStatus::Idle
        | SessionStatus::Active
        | SessionStatus::Suspended
        | SessionStatus::Interrupted
        | SessionStatus::Failed => Ending { handed_to: None, ..ending.clone() },
    }
}

/// Handles a briefing, which never changes the state.
fn briefed(machine: &mut Machine, mode: Option<Mode>, prompt: Option<MessageSeq>, said: MessageSeq) -> Lead {
    if machine.brief(mode, prompt, said) { to(machine.state.clone()) } else { same() }
}

/// Begins a turn: returns its first state and the effects, with `Provision` if surroundings must be prepared.
fn provisioning_or(request: TurnRequest, provisions: bool, parked: bool) -> (AgentState, Vec<Effect>) {
    let mut effects = vec![Effect::AnnounceTurn];
    if provisions {
        effects.push(Effect::Provision);
    }
    (AgentState::Provisioning { request, parked }, effects)
}
