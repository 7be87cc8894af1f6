//! The reasons why a call was cancelled, each with events that lead to it.
//!
//! Requirements: B41, B42, C49.

use std::time::Duration;

use holdover_core::agent::OnDenial;
use holdover_core::machine::CancelReason;
use holdover_core::message::{MessagePolicy, ResultStatus};
use holdover_core::store::InterruptKind;
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::calls;

/// Sends a message, and lets the model call these tools.
fn asked(bench: &Bench, tools: &[&str]) {
    bench.say("go");
    bench.run().model(calls(tools));
}

/// Checks that the call at this place in the only step was cancelled for this reason.
fn is_cancelled(bench: &Bench, at: usize, reason: CancelReason) {
    let (status, result) = (bench.statuses()[at], &bench.results()[at].content);
    assert_eq!(status, ResultStatus::Cancelled, "{result}");
    let told = format!("cancelled ({}): ", reason.as_str());
    assert!(result.starts_with(&told), "{told:?}: {result}");
    check::at_rest(bench);
}

fn not_run(run: &mut Run<'_>, call: &str) {
    run.comes_back(call, Err(ToolError::NotRun("no such host".into())));
}

/// Creates a session in which a call that could not be run is not retried, and the first such call opens the circuit.
fn brittle() -> Bench {
    Bench::with(|agent| {
        agent.retries.tool_waits_ms = Vec::new();
        agent.retries.broken_calls_max = 1;
    })
}

#[test]
fn b41_these_are_the_wire_names_of_the_reasons() {
    let names = [
        (CancelReason::UserCancelled, "user:cancelled"),
        (CancelReason::UserInterrupted, "user:interrupted"),
        (CancelReason::UserRejected, "user:rejected"),
        (CancelReason::SystemEdited, "system:edited"),
        (CancelReason::SystemDisposed, "system:disposed"),
        (CancelReason::SystemSafety, "system:safety"),
        (CancelReason::SystemForked, "system:forked"),
    ];
    for (reason, name) in names {
        assert_eq!(serde_json::to_value(reason).unwrap(), name);
        assert_eq!(reason.as_str(), name);
    }
}

#[test]
fn b41_a_stop_cancels_as_the_users_word() {
    for kind in [InterruptKind::Soft, InterruptKind::Abort] {
        let bench = Bench::new();
        asked(&bench, &["edit", "ask"]);
        bench.interrupt(kind);
        assert!(bench.end().is_over());
        is_cancelled(&bench, 0, CancelReason::UserCancelled);
        is_cancelled(&bench, 1, CancelReason::UserCancelled);
    }
}

#[test]
fn b41_a_message_that_interrupts_cancels_as_an_interruption() {
    let bench = Bench::new();
    asked(&bench, &["edit"]);
    bench.say_under(MessagePolicy::Interrupt, "not that");
    bench.crash(bench.run());
    bench.run().model(crate::world::text("as you say"));
    is_cancelled(&bench, 0, CancelReason::UserInterrupted);
}

#[test]
fn b41_an_edit_cancels_as_an_edit() {
    let bench = Bench::new();
    asked(&bench, &["edit"]);
    bench.say_instead(1, "something else");
    bench.crash(bench.run());
    bench.run().model(crate::world::text("as you say"));
    is_cancelled(&bench, 0, CancelReason::SystemEdited);
}

#[test]
fn b41_a_refusal_after_which_the_agent_does_not_go_on_cancels_the_rest_as_refused() {
    let bench = Bench::with(|agent| agent.on_denial = OnDenial::EndTurn);
    asked(&bench, &["edit", "ask"]);
    bench.deny(&bench.pending()[0]);
    assert!(bench.run().is_over());
    is_cancelled(&bench, 1, CancelReason::UserRejected);
}

#[test]
fn b41_an_open_circuit_cancels_what_has_not_begun_as_given_up() {
    let bench = brittle();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "serial", "edit"]));
    not_run(&mut run, "c1-0");
    assert!(run.is_over());
    is_cancelled(&bench, 1, CancelReason::SystemDisposed);
    is_cancelled(&bench, 2, CancelReason::SystemDisposed);
}

#[test]
fn b41_time_that_is_up_cancels_what_is_out_and_what_has_not_begun_as_given_up() {
    let bench = Bench::with(|agent| agent.limits.max_run_ms = Some(10_000));
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "serial"]));
    assert_eq!(run.calls_out(), ["c1-0"]);
    bench.clock.pass(Duration::from_secs(10));
    run.wait();
    run.take("stop_calls");
    not_run(&mut run, "c1-0");
    assert!(run.is_over());
    is_cancelled(&bench, 0, CancelReason::SystemDisposed);
    is_cancelled(&bench, 1, CancelReason::SystemDisposed);
}

#[test]
fn b41_a_store_that_refuses_cancels_the_read_that_is_out_as_given_up() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "look", "edit"]));
    run.hold("stage");
    run.returns("c1-0", "noted");
    run.write_fails();
    assert!(run.is_over());
    is_cancelled(&bench, 1, CancelReason::SystemDisposed);
    is_cancelled(&bench, 2, CancelReason::SystemDisposed);
}

#[test]
fn b41_what_is_dangerous_and_had_not_begun_when_its_run_died_is_cancelled_for_safety() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "wipe"]));
    bench.approve(&bench.asked());
    run.news();
    bench.crash(run);
    bench.run().model(crate::world::text("a pity"));
    is_cancelled(&bench, 1, CancelReason::SystemSafety);
}

#[test]
fn b41_what_stayed_behind_with_the_source_of_a_fork_is_cancelled_as_forked() {
    let bench = Bench::new();
    asked(&bench, &["edit"]);
    let handed = bench.hand_off("the second half", true);
    let result = &handed.results()[0].content;
    assert!(result.starts_with("cancelled (system:forked): "), "{result}");
}

/// Checks calls whose run dies after it was told to stop: a read did nothing and is cancelled, and a call that may have
/// acted is in doubt.
#[test]
fn b42_what_was_being_stopped_when_its_run_died_is_not_sent_again_and_a_read_is_cancelled() {
    type Stop = fn(&Bench);
    let stops: [(Stop, CancelReason); 3] = [
        (|bench| drop(bench.interrupt(InterruptKind::Soft)), CancelReason::UserCancelled),
        (|bench| bench.say_under(MessagePolicy::Interrupt, "no"), CancelReason::UserInterrupted),
        (|bench| bench.say_instead(1, "something else"), CancelReason::SystemEdited),
    ];
    for (stop, reason) in stops {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["look", "put", "note"]));
        stop(&bench);
        run.news();
        assert!(run.is_out("stop_calls"));
        bench.crash(run);
        let run = bench.run();
        assert!(run.steps.machine().turn.number.0 > 1 || run.is_over(), "{:?}", run.steps.machine());
        drop(run);
        use ResultStatus::{Cancelled, InDoubt};
        assert_eq!(bench.statuses(), [Cancelled, InDoubt, InDoubt], "{reason:?}");
        let told = &bench.results()[0].content;
        assert!(told.starts_with(&format!("cancelled ({}): ", reason.as_str())), "{told}");
        assert_eq!([bench.sent("c1-0"), bench.sent("c1-1"), bench.sent("c1-2")], [1; 3]);
    }

    // The turn was given up and waited for the calls in flight.
    let bench = brittle();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "look", "put"]));
    not_run(&mut run, "c1-0");
    assert_eq!(run.calls_out(), ["c1-1", "c1-2"]);
    bench.crash(run);
    assert!(bench.run().is_over());
    assert_eq!(bench.statuses()[2], ResultStatus::InDoubt);
    is_cancelled(&bench, 1, CancelReason::SystemDisposed);
}
