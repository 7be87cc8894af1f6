//! Answers of people and clients: in time, late, repeated, unusable, or during a stop. Also, rulings of the gate that
//! are repeated or missing.
//!
//! Requirements: A08, A45, A54, A55, A56, A59, C19, C25, C26, C29, H10, H13.

use std::time::Duration;

use holdover_core::engine::{Action, RunOutcome};
use holdover_core::machine::{CallState, DoneReason};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{Delivery, InterruptKind, OutcomeKind, PendingKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

const PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Creates a session that waits for a person's approval of `edit`.
fn waiting_for_a_person() -> Bench {
    let bench = Bench::new();
    bench.say("edit it");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!((bench.status(), bench.alarm_in()), (SessionStatus::Suspended, Some(PATIENCE)));
    bench
}

/// Starts a run and ends its only call and its turn.
fn finish(bench: &Bench, call: &str) {
    let mut run = bench.run();
    run.returns(call, "edited");
    run.model(text("done"));
    check::at_rest(bench);
}

/// Requirements: A08, A45, A55, H10.
#[test]
fn an_approved_call_runs_once() {
    let bench = waiting_for_a_person();
    let asked = bench.asked();
    assert!(bench.approve(&asked).is_in());
    assert_eq!(bench.deny(&asked), Delivery::AlreadyAnswered);
    finish(&bench, "c1-0");
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1));
}

/// Requirements: A08, A56.
#[test]
fn a_refused_call_never_runs_and_the_model_is_told() {
    let bench = waiting_for_a_person();
    bench.deny(&bench.asked());
    let mut run = bench.run();
    run.model(text("a pity"));
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::RejectedByUser], 0));
    let told = &bench.results()[0].content;
    assert!(told.contains("Do not retry without asking."), "{told}");
    check::at_rest(&bench);
}

/// Requirements: A54, A59, C29, H13.
#[test]
fn nobody_decides_in_time_and_the_alarm_alone_ends_the_call() {
    let bench = waiting_for_a_person();
    let asked = bench.asked();
    bench.clock.pass(PATIENCE);
    assert_eq!(bench.approve(&asked), Delivery::NotPending, "too late");
    let mut run = bench.run();
    run.model(text("nobody was there"));
    assert!(bench.results()[0].content.contains("timed out"));
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Error], 0));
    check::at_rest(&bench);
}

/// Requirements: H13.
#[test]
fn an_answer_accepted_in_time_wins_however_late_it_is_read() {
    let bench = waiting_for_a_person();
    bench.approve(&bench.asked());
    bench.clock.pass(PATIENCE * 2);
    finish(&bench, "c1-0");
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1));
}

/// Requirements: C26.
#[test]
fn a_deadline_passes_while_the_answer_was_accepted_unread() {
    let bench = Bench::with(|agent| agent.limits.answer_timeout_ms = Some(5_000));
    bench.say("edit it, and note it");
    let mut run = bench.run();
    run.model(calls(&["edit", "note"]));
    // The run goes on because of `note`, and does not learn that the person approved in time.
    bench.approve(&bench.asked());
    run.wait();
    assert_eq!(run.calls_out(), ["c1-1", "c1-0"], "the answer won");
    run.returns("c1-1", "noted");
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done; 2], 1));
    check::at_rest(&bench);
}

#[test]
fn a_result_that_came_before_the_store_refused_is_kept() {
    let bench = Bench::with(|agent| agent.limits.answer_timeout_ms = Some(5_000));
    bench.say("edit it, and note it");
    let mut run = bench.run();
    run.model(calls(&["edit", "note"]));
    bench.approve(&bench.asked());
    run.hold("commit");
    run.wait();
    run.returns("c1-1", "noted");
    run.let_go("commit");
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (1, 1));
    check::at_rest(&bench);
}

/// Requirements: C26.
#[test]
fn what_came_since_the_state_before_is_taken_again_when_the_store_refuses() {
    let bench = Bench::with(|agent| agent.limits.answer_timeout_ms = Some(5_000));
    bench.say("edit it, ask, and note it");
    let mut run = bench.run();
    run.model(calls(&["edit", "ask", "note"]));
    let pending = bench.pending();
    let asked = |kind| pending.iter().find(|pending| pending.kind == kind).unwrap();
    // The approval is read. While the gate is consulted about it, `note` ends.
    bench.approve(asked(PendingKind::Approval));
    run.hold("consult");
    run.news();
    run.returns("c1-2", "noted");
    // The client answers in time, but the run does not learn of it before the deadline.
    bench.answer(asked(PendingKind::ClientTool), "42");
    run.wait();
    run.let_go("consult");
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.returns("c1-0", "edited");
    run.model(text("done"));
    let texts: Vec<String> = bench.results().into_iter().map(|result| result.content).collect();
    assert_eq!(texts, ["edited", "42", "noted"]);
    check::at_rest(&bench);
}

#[test]
fn an_interrupt_closes_a_call_that_was_answered_meanwhile() {
    let bench = Bench::new();
    bench.say("edit it, and note it");
    let mut run = bench.run();
    run.model(calls(&["edit", "note"]));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.returns("c1-1", "noted");
    check::at_rest(&bench);

    let bench = waiting_for_a_person();
    let asked = bench.asked();
    bench.interrupt(InterruptKind::Soft);
    let claim = bench.claim().unwrap();
    bench.approve(&asked);
    let run = bench.start(claim);
    assert!(run.is_over());
    assert_eq!(
        (bench.dones(), bench.statuses()),
        (vec![DoneReason::UserAbort], vec![ResultStatus::Cancelled])
    );
    assert_eq!(bench.sent("c1-0"), 0);
    check::at_rest(&bench);
    assert!(!bench.is_due(), "an answer that nobody needs any more wakes nobody");
    assert_eq!(bench.session().unread, 0, "and is consumed (INV-26)");
}

#[test]
fn a_stop_closes_a_call_whose_opening_was_on_its_way_and_that_is_answered_before_the_stop_is_stored() {
    let bench = Bench::new();
    bench.say("edit it");
    let mut run = bench.run();
    run.hold("commit");
    run.model(calls(&["edit", "note"]));
    // The commit that asks the person is in flight when the turn is stopped.
    bench.interrupt(InterruptKind::Soft);
    run.news();
    let opened = run.perform_silently("commit");
    bench.approve(&bench.asked());
    run.apply(opened);
    run.let_go("commit");
    assert_eq!(bench.dones(), [DoneReason::UserAbort], "stopped, not failed");
    assert_eq!(bench.status(), SessionStatus::Interrupted);
    check::at_rest(&bench);
}

#[test]
fn edited_arguments_run_as_the_person_wrote_them() {
    let bench = waiting_for_a_person();
    bench.edit(&bench.asked(), "{\"place\": \"here\"}");
    finish(&bench, "c1-0");
    assert_eq!(bench.sends.borrow()[0].arguments, "{\"place\": \"here\"}");
    assert_eq!(bench.results()[0].edited_arguments.as_deref(), Some("{\"place\": \"here\"}"));
}

#[test]
fn an_edit_that_the_schema_refuses_asks_again_under_a_new_id_and_the_old_one_is_dead() {
    let bench = waiting_for_a_person();
    let first = bench.asked();
    bench.edit(&first, "{\"place\": \"bad\"}");
    let run = bench.run();
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedClientTool);
    let second = bench.asked();
    assert_ne!(first.id, second.id);
    assert_eq!(bench.approve(&first), Delivery::NotPending);
    assert!(!bench.is_due());
    let body: holdover_core::message::PendingBody = second.body.parse().unwrap();
    assert_eq!(body.arguments, "{\"place\": 0}", "the model's arguments are shown again");
    assert!(body.prompt.unwrap().contains("bad"));
    bench.approve(&second);
    finish(&bench, "c1-0");
    assert_eq!(bench.sends.borrow()[0].arguments, "{\"place\": 0}");
    assert_eq!(bench.results()[0].edited_arguments, None);
}

/// Requirements: C19, C25.
#[test]
fn an_edit_that_the_policy_denies_ends_the_call() {
    let bench = waiting_for_a_person();
    bench.edit(&bench.asked(), "{\"place\": \"forbidden\"}");
    bench.run().model(text("a pity"));
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Denied], 0));
    assert_eq!(bench.results()[0].edited_arguments.as_deref(), Some("{\"place\": \"forbidden\"}"));
}

#[test]
fn a_decision_on_other_bytes_and_one_that_cannot_be_read_ask_again_with_the_same_deadline() {
    let other = holdover_core::message::Decision::new(true, Digest::of(b"{\"place\": 1}"));
    for answer in [Payload::json(&other).unwrap(), Payload::new("yes!")] {
        let bench = waiting_for_a_person();
        let first = bench.asked();
        bench.clock.pass(Duration::from_secs(60));
        bench.answer_with(&first.id, answer);
        bench.run();
        let second = bench.asked();
        assert_ne!(first.id, second.id);
        assert_eq!(second.deadline, first.deadline);
        assert_eq!((bench.approve(&first), bench.sent("c1-0")), (Delivery::NotPending, 0));
        assert!(!bench.transcript().iter().any(|message| matches!(message, Message::Decision(_))));
        bench.approve(&second);
        finish(&bench, "c1-0");
        assert_eq!(bench.statuses(), [ResultStatus::Done]);
    }
}

#[test]
fn a_client_answers_what_it_was_asked_for() {
    let bench = Bench::new();
    bench.say("ask");
    bench.run().model(calls(&["ask"]));
    let asked = bench.asked();
    bench.answer_with(&asked.id, Payload::new("no json"));
    bench.run();
    let again = bench.asked();
    assert_ne!(again.id, asked.id);
    bench.answer(&again, "42");
    bench.run().model(text("42"));
    assert_eq!(bench.results()[0].content, "42");
    check::at_rest(&bench);
}

#[test]
fn a_client_that_does_not_answer_in_time_is_an_error() {
    let bench = Bench::new();
    bench.say("ask");
    bench.run().model(calls(&["ask"]));
    bench.clock.pass(PATIENCE);
    bench.run().model(text("nobody there"));
    assert_eq!(bench.statuses(), [ResultStatus::Error]);
    check::at_rest(&bench);
}

/// Requirements: A55.
#[test]
fn an_approved_call_waits_for_what_it_conflicts_with() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["edit", "serial", "edit", "note"]));
    assert!(matches!(run.outcome(), RunOutcome::Suspended(_)), "serial is held back, and so is the note");
    let pending = bench.pending();
    bench.approve(&pending[1]);
    let mut run = bench.run();
    assert!(run.is_over(), "the first edit is parked still, and serial before the second");
    bench.approve(&pending[0]);
    run = bench.run();
    for call in ["c1-0", "c1-1"] {
        assert_eq!(run.calls_out(), [call]);
        run.returns(call, "done");
    }
    assert_eq!(run.calls_out(), ["c1-2", "c1-3"]);
    run.returns("c1-3", "noted");
    run.returns("c1-2", "edited");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn the_gate_is_heard_once_for_what_it_was_asked() {
    let bench = Bench::new();
    bench.say("edit it, and note it");
    let mut run = bench.run();
    run.model(calls(&["edit", "note"]));
    run.hold("consult");
    bench.edit(&bench.asked(), "{\"place\": \"bad\"}");
    run.news();
    let refused = run.perform_silently("consult");
    run.apply(refused.clone());
    bench.edit(&bench.asked(), "{\"place\": \"good\"}");
    run.news();
    // The gate's ruling on the earlier arguments arrives again.
    run.apply(refused);
    let state = run.steps.machine().state.batch().unwrap().calls[0].state.clone();
    assert_eq!(state, CallState::Gating, "it says nothing of these bytes");
    run.perform("consult");
    assert_eq!(run.calls_out(), ["c1-1", "c1-0"]);
}

#[test]
fn a_gate_that_passes_over_a_call_has_denied_it() {
    let bench = Bench::new();
    bench.say("note");
    let claim = bench.claim().unwrap();
    let mut run = crate::run::Run::holding(&bench, claim, &["consult"]);
    run.model(calls(&["note", "pay"]));
    let Action::Consult { id, questions } = run.take("consult") else { unreachable!() };
    let only = (questions[1].call.clone(), crate::world::ruling(&questions[1]));
    run.apply(holdover_core::engine::Reply::Consulted { id, rulings: vec![only] });
    run.returns("c1-1", "paid");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Denied, ResultStatus::Done]);
    check::at_rest(&bench);
}
