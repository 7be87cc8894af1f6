//! Rollbacks that arrive while their turn is already ending.
//!
//! Requirements: B10, U08.

use holdover_core::machine::DoneReason;
use holdover_core::mailbox::QueueChange;
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::store::InterruptKind;
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns the texts of the user messages that the model is shown.
fn seen(run: &Run<'_>) -> Vec<String> {
    let user = |message| match message {
        Message::User(said) => Some(said.text),
        _ => None,
    };
    run.model_sees().0.into_iter().filter_map(user).collect()
}

fn take_back(bench: &Bench, run: &mut Run<'_>) {
    bench.say_under(MessagePolicy::Rollback, "pay nobody");
    run.news();
}

/// Checks that the next turn begins with the new message and shows nothing of the turn before.
fn is_taken_back(bench: &Bench) {
    assert!(bench.is_due());
    let mut run = bench.run();
    assert_eq!(seen(&run), ["hello", "pay nobody"]);
    run.model(text("nobody"));
    assert_eq!(bench.dones().last(), Some(&DoneReason::ModelStop));
    check::at_rest(bench);
}

fn greeted(bench: Bench) -> Bench {
    bench.say("hello");
    let mut run = bench.run();
    if run.is_out("provision") {
        run.perform("provision");
    }
    run.model(text("hi"));
    if run.is_out("tear_down") {
        run.perform("tear_down");
    }
    bench.say("pay ann");
    bench
}

fn not_sent() -> ToolError {
    ToolError::NotRun("it was not sent yet".into())
}

#[test]
fn u08_a_turn_that_is_being_stopped_is_taken_back_all_the_same() {
    for first in [None, Some(MessagePolicy::Interrupt)] {
        let bench = greeted(Bench::new());
        let mut run = bench.run();
        run.model(calls(&["note"]));
        match first {
            Some(policy) => bench.say_under(policy, "stop that"),
            None => drop(bench.interrupt(InterruptKind::Soft)),
        }
        run.news();
        run.take("stop_calls");
        take_back(&bench, &mut run);
        assert!(!run.is_out("stop_calls"), "it is told once");
        run.comes_back("c2-0", Err(not_sent()));
        assert!(run.is_over());
        drop(run);
        let mut run = bench.run();
        let said: &[&str] = match first {
            Some(_) => &["hello", "stop that", "pay nobody"],
            None => &["hello", "pay nobody"],
        };
        assert_eq!(seen(&run), said);
        run.model(text("nobody"));
        check::at_rest(&bench);
    }
}

#[test]
fn u08_a_rollback_that_is_withdrawn_takes_nothing_back_later() {
    let bench = greeted(Bench::new());
    let mut run = bench.run();
    run.model(calls(&["note"]));
    take_back(&bench, &mut run);
    run.comes_back("c2-0", Err(not_sent()));
    assert!(run.is_over());
    drop(run);
    bench.signal(&QueueChange::Withdrawn { of: bench.queued()[0].0 });
    assert!(bench.run().is_over());
    bench.say("what about ann?");
    let mut run = bench.run();
    assert_eq!(seen(&run), ["hello", "pay ann", "what about ann?"]);
    run.model(text("she waits"));
    check::at_rest(&bench);
}

#[test]
fn u08_a_softer_stop_takes_back_no_less() {
    let bench = greeted(Bench::new());
    let mut run = bench.run();
    run.model(calls(&["note"]));
    take_back(&bench, &mut run);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.comes_back("c2-0", Err(not_sent()));
    assert!(run.is_over());
    drop(run);
    is_taken_back(&bench);
}

#[test]
fn u08_a_turn_whose_run_died_while_it_was_being_stopped_is_taken_back() {
    let bench = greeted(Bench::new());
    let mut run = bench.run();
    run.model(calls(&["note"]));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    bench.say_under(MessagePolicy::Rollback, "pay nobody");
    bench.crash(run);
    assert!(bench.run().is_over());
    let run = bench.run();
    assert_eq!(seen(&run)[0], "hello");
    assert!(!seen(&run).contains(&"pay ann".to_owned()));
}

#[test]
fn u08_a_turn_whose_circuit_is_open_is_taken_back_while_it_waits_for_what_is_out() {
    let bench = greeted(Bench::with(|agent| {
        agent.retries.tool_waits_ms = Vec::new();
        agent.retries.broken_calls_max = 1;
    }));
    let mut run = bench.run();
    run.model(calls(&["note", "put"]));
    run.comes_back("c2-0", Err(ToolError::NotRun("no such host".into())));
    assert!(!run.is_out("stop_calls"), "it may come back by itself");
    take_back(&bench, &mut run);
    run.take("stop_calls");
    run.comes_back("c2-1", Err(not_sent()));
    assert!(run.is_over());
    drop(run);
    is_taken_back(&bench);
}

#[test]
fn u08_a_turn_is_taken_back_while_what_it_holds_is_freed() {
    let bench = greeted(Bench::with(|agent| agent.provisions = true));
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("paid"));
    assert!(run.is_out("tear_down"));
    take_back(&bench, &mut run);
    run.perform("tear_down");
    assert!(run.is_over());
    drop(run);
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 2], "how it ended stands");
    let mut run = bench.run();
    run.perform("provision");
    assert_eq!(seen(&run), ["hello", "pay nobody"]);
}
