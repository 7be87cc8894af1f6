//! Executing, Confirming and Dispatching: the calls of a step run, or wait.
//!
//! The three states differ in whether any call moves without outside input, and in who owes an answer. The states
//! of the calls determine which of the three applies.

use super::super::call::{Call, CallState};
use super::super::{
    AgentState, Batch, DoneReason, Effect, Ending, Facts, Input, Machine, StandingApproval, SteeringFrom,
    custom, procedure,
};
use super::lost::{lose, recover};
use super::{Denial, Lead, end, end_beside, planning, refuse, same, to, usual, with};
use crate::store::InterruptKind;
use crate::words::agent::OnDenial;
use crate::words::background::Background;
use crate::words::ending::CancelReason;
use crate::words::history::CallInput;
use crate::words::ids::CallId;
use crate::words::output::{OutputCheck, OutputPlace};

pub(super) fn on(machine: &mut Machine, batch: &Batch, input: &Input, facts: &Facts) -> Lead {
    match input {
        Input::Call { call, input } => on_call(machine, batch.clone(), call, input),
        Input::Planned { calls, .. } => {
            if !calls.is_empty() {
                machine.step = machine.step.next();
            }
            planning::on(machine, batch.clone(), input)
        }
        Input::Diverged { found } => planning::diverged(machine, found),
        Input::Claimed { takeover } => {
            machine.turn.claimed_at = facts.now;
            let mut batch = batch.clone();
            if *takeover {
                recover(&mut batch);
            }
            let unasked: Vec<CallId> = ids_where(&batch, |state| *state == CallState::Queued);
            let effects = if unasked.is_empty() { Vec::new() } else { vec![Effect::Consult(unasked)] };
            settle(machine, batch, effects)
        }
        Input::Parked if batch.any_out() => refuse(),
        // Code may undo what it has done. A second stop ends the turn at once.
        Input::Interrupted { kind: InterruptKind::Soft, .. }
            if batch.open && batch.stopping.is_none() && !machine.turn.winds_down() =>
        {
            machine.turn.plan_mut().stops = true;
            to(machine.state.clone())
        }
        Input::Interrupted { kind, cause } => {
            on_stop(machine, batch.clone(), Ending::stopped_by(*kind, *cause))
        }
        Input::CutShort { ending, drains } => match &batch.stopping {
            // The turn is ending already and waits for calls to return. Now these calls are told to stop.
            Some(before) if !*drains && batch.drains() => stop(machine, batch.clone(), before.clone(), false),
            Some(_) => same(),
            None => stop(machine, batch.clone(), ending.clone(), *drains),
        },
        Input::Failed { error } => {
            let mut batch = batch.clone();
            let out = ids_where(&batch, CallState::is_out);
            lose(&mut batch);
            let ending = Ending::error(error.clone());
            let effects = stop_calls(out, ending.cancels_as());
            batch.stopping = Some(ending);
            settle(machine, batch, effects)
        }
        Input::Forked => {
            machine.turn.provisioned = false;
            let mut batch = batch.clone();
            lose(&mut batch);
            for call in batch.calls.iter_mut().filter(|call| !call.state.is_end()) {
                call.state = call.ended_unsent(CancelReason::SystemForked);
            }
            let (state, effects) = end(machine, Ending::stopped(InterruptKind::Soft));
            with(state, [close(machine, batch), effects].concat())
        }
        _ => usual(machine, input, facts),
    }
}

fn on_call(machine: &mut Machine, mut batch: Batch, id: &CallId, input: &CallInput) -> Lead {
    let kind = (batch.for_more, batch.for_procedure);
    let Some(call) = batch.call_mut(id) else {
        return Err(Denial(Some(format!("no call {id} in this step"))));
    };
    if let Some(why) = misplaced(kind, input) {
        return Err(Denial(Some(why.to_owned())));
    }
    let tool = call.tool.clone();
    // A stop signal of a waiting call counts when its timer rings.
    let deferred_stop = matches!(call.state, CallState::Waiting { stop: true, .. });
    let starting = matches!(input, CallInput::Sent)
        && matches!(call.state, CallState::Approved | CallState::Preparing)
        && call.tries == 0;
    // A call that another run sends is not counted here.
    let unsent = matches!(input, CallInput::Again) && call.state == CallState::Executing && call.tries == 0;
    let begun = begun_by(call, input);
    match call.apply(input) {
        Err(refusal) => return Err(Denial(Some(refusal.to_string()))),
        Ok(false) => return same(),
        Ok(true) => {}
    }
    let says_stop = matches!(
        input,
        CallInput::Returned { ok: true, stop: true, .. } | CallInput::Synthesised { stop: true }
    ) || (matches!(input, CallInput::Rang) && deferred_stop);
    batch.stop_signal |= says_stop;
    batch.stops += u32::from(says_stop);
    machine.remember_children(begun);
    if starting {
        machine.usage.tool_calls += 1;
        machine.turn.spent.call_sent();
    }
    if unsent {
        machine.usage.tool_calls = machine.usage.tool_calls.saturating_sub(1);
        machine.turn.spent.call_unsent();
    }
    match input {
        CallInput::Returned { broken: true, .. } | CallInput::Lost { broken: true } => {
            machine.turn.broken = machine.turn.broken.saturating_add(1);
        }
        CallInput::Returned { ok: true, .. } | CallInput::Deferred { .. } => machine.turn.broken = 0,
        CallInput::Answered { usage, .. } => machine.usage.add(*usage),
        CallInput::Granted { steps } => {
            machine.turn.granted = machine.turn.granted.saturating_add(*steps);
        }
        CallInput::Leads { to } => {
            machine.follow(std::slice::from_ref(to));
            // The model has not seen where the work stands now.
            machine.turn.answered = false;
        }
        CallInput::HandsOver { to } => {
            machine.turn.handing_over = Some(to.clone());
            batch.stop_signal = true;
            batch.stops = u32::try_from(batch.calls.len()).unwrap_or(u32::MAX);
        }
        CallInput::Output { fits } => batch.output = Some(checked(&batch, id, *fits)),
        CallInput::Asked
        | CallInput::Allowed { .. }
        | CallInput::Rewritten { .. }
        | CallInput::Synthesised { .. }
        | CallInput::Refused
        | CallInput::NeedsUser { .. }
        | CallInput::Reopened { .. }
        | CallInput::NeedsClient { .. }
        | CallInput::NeedsChildren { .. }
        | CallInput::NeedsEnds { .. }
        | CallInput::NeedsSignal { .. }
        | CallInput::Started
        | CallInput::Approved { .. }
        | CallInput::Voted { .. }
        | CallInput::Edited { .. }
        | CallInput::Escalated
        | CallInput::Rejected { .. }
        | CallInput::Expired { .. }
        | CallInput::Marked
        | CallInput::Sent
        | CallInput::Returned { .. }
        | CallInput::TryAgain { .. }
        | CallInput::FellBack { .. }
        | CallInput::Rang
        | CallInput::StopAsked
        | CallInput::Cancelled { .. }
        | CallInput::Lost { .. }
        | CallInput::Changes { .. }
        | CallInput::Again => {}
    }
    if let CallInput::Approved { always: true, only, .. } = input {
        machine.always.add(StandingApproval::of(&tool, only));
    }
    if let CallInput::Rejected { then, aborts } = input
        && !batch.open
    {
        batch.aborted |= aborts;
        leave_rest(&mut batch, *then);
    }
    // The gate is asked again about an approved call, because the policy may have changed since, and about a call that
    // goes on as another tool.
    let asks_again = matches!(
        input,
        CallInput::Approved { .. }
            | CallInput::Edited { .. }
            | CallInput::Expired { approved: Some(_), .. }
            | CallInput::FellBack { .. }
    );
    let effects = if asks_again {
        vec![Effect::Consult(vec![id.clone()])]
    } else if matches!(input, CallInput::StopAsked) {
        vec![Effect::StopCalls(vec![id.clone()], batch.cancels_as())]
    } else {
        Vec::new()
    };
    settle(machine, batch, effects)
}

/// Returns the background children that a call has begun with this input.
fn begun_by(call: &Call, input: &CallInput) -> Vec<Background> {
    match (&call.state, input) {
        (CallState::BlockedOnChild { pending, count, background: Some(terms), .. }, CallInput::Started) => {
            let agent = call.tool.parse();
            agent.map_or_else(|_| Vec::new(), |agent| Background::begun(&agent, pending, *count, *terms))
        }
        (_, _) => Vec::new(),
    }
}

/// Returns the reason why an input does not fit this kind of call. A request for more steps never runs, and no
/// other call is granted steps. The wait of the procedure ends only with a move, and no other call makes one.
fn misplaced((for_more, for_procedure): (bool, bool), input: &CallInput) -> Option<&'static str> {
    let leads = matches!(input, CallInput::Leads { .. });
    let answers = matches!(input, CallInput::Answered { .. } | CallInput::Expired { .. });
    match for_procedure {
        true if answers => return Some("the wait of the procedure ends only with one of its inputs"),
        false if leads => return Some("only the wait of the procedure ends with a move"),
        true | false => {}
    }
    let grants = matches!(input, CallInput::Granted { .. });
    let lets_run = matches!(
        input,
        CallInput::Approved { .. }
            | CallInput::Voted { .. }
            | CallInput::Edited { .. }
            | CallInput::Expired { approved: Some(_), .. }
    );
    match for_more {
        true if lets_run => Some("to ask for more steps is no call that runs"),
        false if grants => Some("only who asks for more steps is granted any"),
        true | false => None,
    }
}

/// Applies a refusal to the other calls of the batch. Calls that are out or have children go on here; if the refusal
/// aborts the batch, they are asked to stop next. The others end unsent, unless `then` says that they go on.
fn leave_rest(batch: &mut Batch, then: OnDenial) {
    match then {
        OnDenial::GoOn => return,
        OnDenial::CancelRest => {}
        OnDenial::EndTurn => {
            batch.stop_signal = true;
            // The refusal counts as a stop signal of every call.
            batch.stops = u32::try_from(batch.calls.len()).unwrap_or(u32::MAX);
        }
    }
    let aborted = batch.aborted;
    // The start mark may be written, but this run knows that the call was not sent.
    let unsent = |state: &CallState| !state.is_out() || (aborted && *state == CallState::Preparing);
    let rests = |state: &CallState| !state.is_end() && unsent(state) && state.children().is_none();
    for call in batch.calls.iter_mut().filter(|call| rests(&call.state)) {
        call.state = call.ended_unsent(CancelReason::UserRejected);
    }
}

/// Returns the result of checking the values of this step so far. The first value that fits wins.
fn checked(batch: &Batch, id: &CallId, fits: bool) -> OutputCheck {
    let place = batch.calls.iter().position(|call| call.id == *id).and_then(|at| u32::try_from(at).ok());
    match (batch.output, place) {
        (Some(OutputCheck::Fits(first)), _) => OutputCheck::Fits(first),
        (_, Some(call)) if fits => OutputCheck::Fits(OutputPlace { message: batch.message, call }),
        (_, _) => OutputCheck::Misfit,
    }
}

fn on_stop(machine: &mut Machine, batch: Batch, ending: Ending) -> Lead {
    // The harder of two stops wins; of two equal ones, the one that takes more back.
    let weight = |ending: &Ending| ending.stopped.map(|kind| (kind, ending.cause));
    match &batch.stopping {
        Some(before) if before.stopped.is_some() && weight(before) >= weight(&ending) => same(),
        // A stop from outside also applies to a turn that is ending from within.
        Some(_) | None => stop(machine, batch, ending, false),
    }
}

/// Stops the batch: no call starts any more. Calls that were sent are told to stop; if `drains`, they may first
/// return by themselves. Calls that are being prepared end unsent.
pub(super) fn stop(machine: &mut Machine, mut batch: Batch, ending: Ending, drains: bool) -> Lead {
    let reason = ending.cancels_as();
    batch.stopping = Some(ending);
    let out = ids_where(&batch, |state| *state == CallState::Executing && !drains);
    for call in &mut batch.calls {
        match call.state {
            CallState::Executing if drains => {}
            CallState::Executing => call.state = CallState::CleaningUp,
            // The start mark may be written, but this run knows that the call was not sent.
            CallState::Preparing => {
                call.state = call.ended_unsent(reason);
            }
            CallState::Queued
            | CallState::Gating
            | CallState::BlockedOnUser { .. }
            | CallState::BlockedOnClient { .. }
            | CallState::BlockedOnChild { .. }
            | CallState::AwaitingEnds { .. }
            | CallState::AwaitingSignal { .. }
            | CallState::Waiting { .. }
            | CallState::Approved
            | CallState::CleaningUp
            | CallState::Done
            | CallState::Error
            | CallState::RejectedByUser
            | CallState::Cancelled { .. }
            | CallState::InDoubt => {}
        }
    }
    settle(machine, batch, stop_calls(out, reason))
}

/// Returns the effect that asks these calls to stop, if there are any.
fn stop_calls(calls: Vec<CallId>, reason: CancelReason) -> Vec<Effect> {
    if calls.is_empty() { Vec::new() } else { vec![Effect::StopCalls(calls, reason)] }
}

/// Returns the state and the effects that follow from the calls.
pub(super) fn settle(machine: &mut Machine, mut batch: Batch, mut effects: Vec<Effect>) -> Lead {
    if let Some(ending) = batch.stopping.clone() {
        if batch.any_out() {
            return with(AgentState::Executing { batch }, effects);
        }
        let reason = ending.cancels_as();
        let children = batch.children();
        for call in batch.calls.iter_mut().filter(|call| !call.state.is_end()) {
            call.state = call.ended_unsent(reason);
        }
        let (state, more) = end_beside(machine, ending, children);
        effects.extend(close(machine, batch));
        effects.extend(more);
        return with(state, effects);
    }
    if batch.open {
        effects.extend(batch.take_ended().map(|ended| close(machine, ended)).unwrap_or_default());
    }
    let state = if batch.open && batch.calls.is_empty() {
        // The code decides what comes next.
        AgentState::Executing { batch }
    } else if batch.for_more && batch.is_over() {
        let granted = batch.calls.iter().all(|call| call.state == CallState::Done);
        effects.extend(close(machine, batch));
        if !granted {
            let (state, more) = end(machine, Ending::of(DoneReason::MaxTurns));
            effects.extend(more);
            return with(state, effects);
        }
        AgentState::Steering { from: SteeringFrom::Resumed }
    } else if batch.for_procedure && batch.is_over() {
        effects.extend(close(machine, batch));
        AgentState::Steering { from: SteeringFrom::Resumed }
    } else if batch.is_over() {
        let all_say_stop =
            batch.stop_signal && u32::try_from(batch.calls.len()).is_ok_and(|calls| batch.stops >= calls);
        let from = SteeringFrom::Calls { stop_signal: batch.stop_signal, all_say_stop, output: batch.output };
        effects.extend(close(machine, batch));
        AgentState::Steering { from }
    } else if batch.is_parked() && batch.waits_for_children_alone() {
        AgentState::Dispatching { batch }
    } else if batch.is_parked() {
        AgentState::Confirming { batch }
    } else {
        AgentState::Executing { batch }
    };
    with(state, effects)
}

/// Closes the step: applies the changes of its calls to the custom state and moves the procedure, in call order, and
/// forgets the tasks that the calls did not give to children.
fn close(machine: &mut Machine, batch: Batch) -> Vec<Effect> {
    machine.forget_tasks(&batch);
    let merged = custom::merge(&machine.custom, &batch);
    if let Some(merged) = &merged {
        machine.custom = merged.state.clone();
    }
    let merged = merged.map(Effect::StateChanged);
    let moves = procedure::moved_by_calls(machine.procedure.as_ref(), &batch);
    machine.follow(&moves);
    let moved = (!moves.is_empty()).then_some(Effect::ProcedureMoved(moves));
    std::iter::once(Effect::CloseStep(batch)).chain(merged).chain(moved).collect()
}

fn ids_where(batch: &Batch, holds: impl Fn(&CallState) -> bool) -> Vec<CallId> {
    batch.calls.iter().filter(|call| holds(&call.state)).map(|call| call.id.clone()).collect()
}
