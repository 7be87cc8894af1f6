//! A handoff to another session: its ending, its successor, and the addresses to which the outcome is owed.

use super::*;
use crate::machine::steering::{View, decide};
use crate::store::SessionStatus;
use crate::words::children::{ChildNames, Children, successor};
use crate::words::ending::HandedTo;
use crate::words::model::TokenUsage;

pub(super) fn handed_to() -> HandedTo {
    let call = CallId::new("call-0").unwrap();
    let pending = successor(Incarnation::derived([9; 16]), &call).unwrap();
    let session = ChildNames::of(&pending, 0).unwrap().id;
    HandedTo {
        session,
        agent: "heir".parse().unwrap(),
        pending,
        call,
        arguments: MessageSeq(2),
        awaited: false,
    }
}

fn fed(machine: &Machine, input: &Input) -> Machine {
    transition(machine, input, &FACTS).unwrap().next
}

/// Returns a child that has used 30 tokens and 2 steps, and whose step hands over to another session.
fn handing() -> Machine {
    let mut machine = at(AgentState::Executing { batch: batch(&[CallState::Gating, waiting()]) });
    machine.turn.number = crate::words::ids::TurnNumber(1);
    machine.usage.tokens = TokenUsage { input: 30, ..TokenUsage::default() };
    machine.turn.steps = 2;
    let allowance = Allowance { steps: Some(5), tokens: Some(100), ..Allowance::default() };
    machine.turn.replies = vec![ReplyTo { allowance, ..reply_to() }];
    let to = Box::new(handed_to());
    fed(&machine, &Input::Call { call: CallId::new("call-0").unwrap(), input: CallInput::HandsOver { to } })
}

fn steered(machine: &Machine, stop: Ending) -> Machine {
    let steering = Machine { state: AgentState::Steering { from: SteeringFrom::Resumed }, ..machine.clone() };
    let input = Input::Steered {
        stop: Some(stop),
        no_output: false,
        tokens: 0,
        results: None,
        cleared: None,
        usage: Usage::default(),
        corrected: false,
        asks: None,
    };
    fed(&steering, &input)
}

#[test]
fn the_rest_of_the_step_ends_first_and_then_the_turn_whatever_else_it_says() {
    let machine = handing();
    let AgentState::Confirming { batch } = &machine.state else { panic!("{:?}", machine.state) };
    assert_eq!((&batch.calls[0].state, batch.stop_signal), (&CallState::Done, true));
    let agent = crate::words::agent::AgentSpec::new("t");
    let calls = SteeringFrom::Calls { stop_signal: true, all_say_stop: true, output: None };
    let view = View {
        procedure: None,
        from: calls,
        turn: &machine.turn,
        usage: &machine.usage,
        agent: &agent,
        now: FACTS.now,
        messages_wait: true,
        corrected: true,
        tools_done: &[],
        text: "",
    };
    assert_eq!(decide(&view).unwrap(), Ending::handing_over(handed_to()));
}

#[test]
fn what_the_turn_owes_moves_to_its_successor_with_what_is_left_of_its_share() {
    let ended = steered(&handing(), Ending::handing_over(handed_to()));
    let AgentState::TearingDown { left, .. } = &ended.state else { panic!("{:?}", ended.state) };
    assert_eq!(left.replies, [], "nobody is told of this end");
    let successor = left.successor.as_ref().unwrap();
    let [reply] = &successor.replies[..] else { panic!("{successor:?}") };
    assert_eq!((reply.allowance.steps, reply.allowance.tokens), (Some(3), Some(70)));
    assert_eq!(reply.used_before.tokens.total(), 30);
    assert_eq!(ended.format(), format::STATE_FORMAT_LINKED);
    let done = fed(&fed(&ended, &Input::Told), &Input::TornDown);
    assert_eq!(done.successors, [handed_to()]);
    assert_eq!(done.state.ended().unwrap().handed_to.as_deref(), Some(&handed_to()));
    assert_eq!(done.state.status_at_rest(), SessionStatus::Idle);
}

#[test]
fn a_handoff_that_fails_is_the_failure_of_the_turn_and_those_who_wait_are_told() {
    let ended = steered(&handing(), Ending::handing_over(handed_to()));
    let stands = fed(&ended, &Input::Failed { error: error() });
    assert_eq!(stands, ended, "only its own failure undoes it");
    let failed = fed(&ended, &Input::NotHandedOver { error: error() });
    let AgentState::TearingDown { ending, left } = &failed.state else { panic!("{:?}", failed.state) };
    assert_eq!((&ending.error, &ending.handed_to), (&Some(error()), &None));
    assert_eq!((left.replies.len(), left.successor.is_none()), (1, true));
}

#[test]
fn a_successor_owes_the_outcome_and_an_abort_of_its_source_reaches_it_but_not_from_a_fork() {
    let input =
        |replies| Input::HandedOff { after: MessageSeq(2), tokens: 4, draft: false, another: true, replies };
    let mut rests =
        at(AgentState::Done { ending: Ending::handing_over(handed_to()), usage: Usage::default() });
    rests.remember_successor(handed_to());
    let successor = fed(&rests, &input(vec![reply_to()]));
    let begins = Input::TurnRequested {
        request: TurnRequest::Resume,
        provisions: false,
        after: MessageSeq(3),
        asks_in_doubt: false,
        procedure: Box::default(),
        planned: false,
    };
    assert_eq!(fed(&successor, &begins).turn.replies, [reply_to()]);
    let mut later = fed(&successor, &begins);
    later.state = AgentState::Done { ending: Ending::of(DoneReason::ModelStop), usage: Usage::default() };
    assert_eq!(fed(&later, &begins).turn.replies, [], "a later turn owes nobody");
    let mut rewound = successor.clone();
    rewound.handoff = None;
    assert_eq!(fed(&rewound, &begins).turn.replies, [reply_to()], "also if its goal was taken back");

    let abort = Input::Interrupted { kind: InterruptKind::Abort, cause: StopCause::Asked };
    let children = |machine: &Machine| {
        let AgentState::TearingDown { left, .. } = fed(machine, &abort).state else { panic!("an end") };
        left.children
    };
    assert_eq!(children(&rests), [Children::here(handed_to().pending, 1)]);
    assert_eq!(children(&fed(&rests, &Input::Forked)), []);
    let mut again = fed(&rests, &begins);
    assert_eq!(children(&again), [Children::here(handed_to().pending, 1)], "also in a later turn");
    again.successors.clear();
    assert_eq!(again.format(), format::STATE_FORMAT_ALONE);
}
