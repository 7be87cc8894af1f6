//! Turns that are stopped in the middle of an answer. The part that had arrived is kept and marked, unless the turn is
//! taken back.
//!
//! Requirements: C61, INV-08.

use holdover_core::engine::Reply;
use holdover_core::event::Event;
use holdover_core::machine::DoneReason;
use holdover_core::message::{AssistantMessage, Message, MessagePolicy};
use holdover_core::store::{InterruptKind, SessionStatus};

use crate::bench::{Bench, Write};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Starts a run whose model has written some text and is still writing.
fn in_the_middle<'b>(bench: &'b Bench, said: &str) -> Run<'b> {
    bench.say("go");
    let mut run = bench.run();
    if run.is_out("provision") {
        run.perform("provision");
    }
    run.said = said.into();
    run
}

fn kept(text: &str) -> Message {
    Message::Assistant(AssistantMessage::aborted(text))
}

#[test]
fn c61_what_the_model_had_said_when_somebody_stops_it_is_kept_and_marked() {
    for (kind, status) in
        [(InterruptKind::Soft, SessionStatus::Interrupted), (InterruptKind::Abort, SessionStatus::Aborted)]
    {
        let bench = Bench::new();
        let mut run = in_the_middle(&bench, "First of all, ");
        bench.interrupt(kind);
        run.news();
        assert!(run.is_over());
        assert_eq!((bench.status(), bench.dones()), (status, vec![DoneReason::UserAbort]));
        assert_eq!(bench.transcript()[1..], [kept("First of all, ")]);
        assert_eq!(bench.machine().turn.steps, 0, "it is no finished model call");
        let told = check::events(&bench).into_iter().find_map(|event| match event {
            Event::Message { role, stream, .. } if role == "assistant" => stream,
            _ => None,
        });
        assert_eq!(
            told.map(|stream| stream.number),
            Some(1),
            "whoever reads along learns what became of the stream"
        );
        check::at_rest(&bench);
    }
}

#[test]
fn c61_a_model_that_is_asked_again_goes_on_from_what_it_had_said() {
    let bench = Bench::new();
    let mut run = in_the_middle(&bench, "First of all, ");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    bench.retry();
    let mut run = bench.run();
    assert_eq!(run.model_sees().0.last(), Some(&kept("First of all, ")));
    run.model(calls(&["look"]));
    run.returns("c2-0", "seen");
    run.model(text("there it is"));
    assert_eq!(bench.roles(), ["user", "assistant", "assistant", "tool", "assistant"]);
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c61_it_is_kept_for_the_message_that_interrupts_and_when_the_time_of_the_turn_is_up() {
    let bench = Bench::new();
    let mut run = in_the_middle(&bench, "First of all, ");
    bench.say_under(MessagePolicy::Interrupt, "not that");
    run.news();
    assert!(run.is_over());
    let mut run = bench.run();
    assert_eq!(run.model_sees().0[1], kept("First of all, "));
    run.model(text("then what?"));
    check::at_rest(&bench);

    let bench = Bench::new();
    let mut run = in_the_middle(&bench, "First of all, ");
    run.wait();
    assert_eq!(
        (bench.dones(), bench.transcript().pop()),
        (vec![DoneReason::BudgetExceeded], Some(kept("First of all, ")))
    );
    check::at_rest(&bench);
}

#[test]
fn c61_nothing_is_kept_of_what_is_taken_back_and_of_an_answer_of_which_nothing_had_come() {
    for said in ["", " \n"] {
        let bench = Bench::new();
        let mut run = in_the_middle(&bench, said);
        bench.interrupt(InterruptKind::Soft);
        run.news();
        assert_eq!((bench.roles(), bench.status()), (vec!["user"], SessionStatus::Interrupted), "{said:?}");
        check::at_rest(&bench);
    }
    for edits in [false, true] {
        let bench = Bench::new();
        let mut run = in_the_middle(&bench, "First of all, ");
        match edits {
            false => bench.say_under(MessagePolicy::Rollback, "forget it"),
            true => bench.say_instead(1, "forget it"),
        }
        run.news();
        assert!(run.is_over());
        bench.run().model(text("as you say"));
        assert_eq!(bench.roles(), ["user", "notice", "user", "assistant"], "edits: {edits}");
        check::at_rest(&bench);
    }
}

#[test]
fn c61_it_is_durable_with_the_end_of_the_turn_and_a_run_that_dies_before_has_kept_nothing() {
    let bench = Bench::with(|agent| agent.provisions = true);
    let mut run = in_the_middle(&bench, "First of all, ");
    run.hold("stop_model");
    bench.interrupt(InterruptKind::Soft);
    let before = bench.writes.borrow().len();
    run.news();
    assert!(
        !run.is_out("tear_down") && bench.writes.borrow().len() == before,
        "first what it had said is known"
    );
    bench.crash(run);
    let mut run = bench.run();
    assert!(run.is_out("tear_down"));
    run.perform("tear_down");
    assert_eq!((bench.roles(), bench.dones()), (vec!["user"], vec![DoneReason::UserAbort]));
    check::at_rest(&bench);

    let bench = Bench::with(|agent| agent.provisions = true);
    let mut run = in_the_middle(&bench, "First of all, ");
    bench.interrupt(InterruptKind::Soft);
    let before = bench.writes.borrow().len();
    run.news();
    let written = bench.writes.borrow()[before..].to_vec();
    let [Write::Commit(commit)] = written.as_slice() else { panic!("one commit: {written:?}") };
    assert!(commit.messages.len() == 1 && commit.interrupt_confirmed.is_some() && commit.streamed == Some(1));
    bench.crash(run);
    let mut run = bench.run();
    run.perform("tear_down");
    assert_eq!(bench.transcript()[1..], [kept("First of all, ")], "once");
    check::at_rest(&bench);
}

#[test]
fn c61_a_late_word_of_a_model_that_was_stopped_adds_nothing() {
    let bench = Bench::with(|agent| agent.provisions = true);
    let mut run = in_the_middle(&bench, "First of all, ");
    run.hold("stop_model");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    let told = run.perform_silently("stop_model");
    run.apply(told.clone());
    run.apply(told.clone());
    let Reply::ModelStopped { of, .. } = told else { unreachable!() };
    run.apply(Reply::ModelAnswered { id: of, result: Ok(text("First of all, the rest")) });
    run.perform("tear_down");
    assert_eq!(bench.transcript()[1..], [kept("First of all, ")]);
    check::at_rest(&bench);
}
