//! Background children: the data that the machine keeps of them, and which of them end with a turn.

use super::*;
use crate::machine::glance::CallCounts;
use crate::store::SessionStatus;
use crate::words::background::BACKGROUND_MAX;
use crate::words::children::Children;
use crate::words::model::TokenUsage;

pub(super) fn needs_children(background: Option<Terms>) -> CallInput {
    let profile = ResourceProfile::Serial;
    CallInput::NeedsChildren {
        pending: pending(),
        deadline: None,
        profile,
        count: 2,
        needed: 1,
        background,
        remote: None,
        since: None,
    }
}

/// Returns the state of a call that begins children in the background.
pub(super) fn beginning() -> CallState {
    CallState::BlockedOnChild {
        pending: PendingId::of(Incarnation::derived([8; 16]), &CallId::new("call-0").unwrap(), 1).unwrap(),
        deadline: None,
        count: 2,
        needed: 0,
        started: false,
        background: Some(Terms::default()),
        remote: None,
        since: None,
    }
}

pub(super) fn awaiting() -> CallState {
    CallState::AwaitingEnds { deadline: None }
}

/// Returns the call that gave a task.
pub(super) fn task() -> CallId {
    CallId::new("begun").unwrap()
}

pub(super) fn background() -> Background {
    let agent = "digger".parse().unwrap();
    Background { agent, pending: pending(), index: 1, terms: Terms::default(), owes: vec![task()] }
}

fn fed(machine: &Machine, input: &Input) -> Transition {
    transition(machine, input, &FACTS).unwrap()
}

fn began(machine: &Machine, pending: &str, terms: Terms) -> Machine {
    let child = Background { pending: PendingId::new(pending).unwrap(), index: 0, terms, ..background() };
    fed(machine, &Input::ChildBegan { child: Box::new(child) }).next
}

fn resting() -> Machine {
    at(AgentState::Done { ending: Ending::of(DoneReason::ModelStop), usage: Usage::default() })
}

fn used(tokens: u64) -> Usage {
    Usage { tokens: TokenUsage { input: tokens, ..TokenUsage::default() }, ..Usage::default() }
}

#[test]
fn a_call_that_has_begun_them_is_done_and_the_machine_knows_them() {
    let machine = at(AgentState::Executing { batch: batch(&[beginning()]) });
    let input = Input::Call { call: CallId::new("call-0").unwrap(), input: CallInput::Started };
    let next = fed(&machine, &input).next;
    assert!(matches!(next.state, AgentState::Steering { .. }), "{:?}", next.state);
    let known: Vec<(u32, bool)> =
        next.background.iter().map(|child| (child.index, child.has_ended())).collect();
    assert_eq!(known, [(1, true), (0, false), (1, false)], "after the one that it had");
    assert_eq!(next.format(), format::STATE_FORMAT_LINKED);
}

#[test]
fn the_share_of_a_child_counts_as_used_until_its_real_usage_takes_its_place() {
    let share = Allowance { tokens: Some(70), ..Allowance::default() };
    let machine = began(&resting(), "p.1", Terms { share, ..Terms::default() });
    assert_eq!((machine.usage, machine.used_and_set_aside()), (used(0), used(70)));
    let pending = PendingId::new("p.1").unwrap();
    let ended =
        Input::ChildEnded { pending: pending.clone(), index: 0, tasks: vec![task()], usage: used(30) };
    let steering = Machine { state: AgentState::Steering { from: SteeringFrom::Resumed }, ..machine };
    let after = fed(&steering, &ended).next;
    assert_eq!((after.usage, after.used_and_set_aside()), (used(30), used(30)));
    let executing = Machine { state: AgentState::Executing { batch: batch(&[waiting()]) }, ..after };
    let sent = CallId::new("call-9").unwrap();
    let resumed = fed(&executing, &Input::ChildResumed { pending, index: 0, task: sent.clone(), share }).next;
    assert_eq!(resumed.used_and_set_aside(), used(100));
}

#[test]
fn of_too_many_the_oldest_that_have_ended_are_forgotten() {
    let mut machine = resting();
    for number in 0..BACKGROUND_MAX {
        machine = began(&machine, &format!("p.{number}"), Terms::default());
    }
    machine.background[3].owes.clear();
    let pending = machine.background[3].pending.clone();
    machine = began(&machine, "p.more", Terms::default());
    assert_eq!(machine.background.len(), BACKGROUND_MAX);
    assert!(machine.background.iter().all(|child| child.pending != pending));
    assert_eq!(began(&machine, "p.more", Terms::default()), machine, "the same child is known once");
}

#[test]
fn an_abort_and_the_end_of_a_turn_that_answers_leave_none_behind_but_the_detached() {
    let detached = Terms { detached: true, ..Terms::default() };
    let machine = began(&began(&resting(), "p.1", Terms::default()), "p.2", detached);
    let thinks = Machine { state: AgentState::Thinking { step: StepNumber(1), attempt: 0 }, ..machine };
    let stop = |kind| Input::Interrupted { kind, cause: StopCause::Asked };
    let left = |machine: &Machine, kind| {
        let AgentState::TearingDown { left, .. } = fed(machine, &stop(kind)).next.state else {
            panic!("an end")
        };
        left.children
    };
    let ended = vec![Children::here(PendingId::new("p.1").unwrap(), 1)];
    assert_eq!(left(&thinks, InterruptKind::Abort), ended);
    assert_eq!(left(&thinks, InterruptKind::Soft), []);
    let mut child = thinks.clone();
    child.turn.replies.push(reply_to());
    assert_eq!(left(&child, InterruptKind::Soft), ended);
    let told = fed(&fed(&child, &stop(InterruptKind::Soft)).next, &Input::Told).next;
    assert_eq!(told.background, [], "nobody hears of the detached one");
    let kept = fed(&fed(&thinks, &stop(InterruptKind::Soft)).next, &Input::TornDown).next;
    assert_eq!(kept.background.len(), 2);
    assert_eq!(fed(&kept, &Input::Forked).next.background, []);
}

#[test]
fn a_child_that_begins_while_its_parent_ends_for_ever_is_stopped_too() {
    let ending = Ending::stopped(InterruptKind::Abort);
    assert_eq!(ending.status(), SessionStatus::Aborted);
    let ends = at(AgentState::TearingDown { ending, left: Teardown::default() });
    let child = Input::ChildBegan { child: Box::new(background()) };
    let moved = fed(&ends, &child);
    let AgentState::TearingDown { left, .. } = moved.next.state else { panic!("an end") };
    assert_eq!(left.children, [Children::here(pending(), 2)]);
    assert_eq!(moved.effects, [Effect::TearDown]);
}

#[test]
fn a_child_has_ended_once_each_of_its_tasks_has() {
    let machine = began(&resting(), "p.1", Terms::default());
    let executing = Machine { state: AgentState::Executing { batch: batch(&[waiting()]) }, ..machine };
    let pending = PendingId::new("p.1").unwrap();
    let sent = CallId::new("call-9").unwrap();
    let share = Allowance::default();
    let resumed = Input::ChildResumed { pending: pending.clone(), index: 0, task: sent.clone(), share };
    let both = fed(&executing, &resumed).next;
    let end = |tasks: Vec<CallId>| Input::ChildEnded {
        pending: pending.clone(),
        index: 0,
        tasks,
        usage: Usage::default(),
    };
    let one = fed(&both, &end(vec![task()])).next;
    assert_eq!(one.running_children().count(), 1, "the end of an earlier task is not that of the newest");
    assert_eq!(fed(&one, &end(vec![sent.clone()])).next.running_children().count(), 0);
    assert_eq!(fed(&both, &end(vec![task(), sent])).next.running_children().count(), 0, "one turn for both");
}

#[test]
fn a_task_that_a_call_did_not_give_is_forgotten_with_its_step_unless_nobody_knows() {
    for (ends, owes) in [
        (CallState::Done, 1),
        (CallState::InDoubt, 1),
        (CallState::Error, 0),
        (CallState::RejectedByUser, 0),
        (CallState::Cancelled { reason: CancelReason::UserCancelled }, 0),
    ] {
        let known = Background { owes: vec![CallId::new("call-0").unwrap()], ..background() };
        let mut machine = at(AgentState::Executing { batch: batch(&[ends.clone(), waiting()]) });
        machine.background = vec![known];
        let rings = Input::Call { call: CallId::new("call-1").unwrap(), input: CallInput::Rang };
        let next = fed(&machine, &rings).next;
        assert!(matches!(next.state, AgentState::Steering { .. }), "{:?}", next.state);
        assert_eq!(next.background[0].owes.len(), owes, "{ends:?}");
    }
}

#[test]
fn a_call_that_waits_for_the_ends_of_children_is_counted_as_blocked() {
    let counts = CallCounts::of(&batch(&[awaiting(), beginning(), CallState::Executing]));
    assert_eq!(counts, CallCounts { running: 1, blocked: 1, waiting: 0 });
}
