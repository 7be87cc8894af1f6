//! Calls that could not be run or gave no result. They are retried as their effect class allows, then counted, until the
//! circuit opens.
//!
//! Requirements: C49, C52, U10.

use std::time::Duration;

use holdover_core::agent::{OnTrip, Retries};
use holdover_core::event::Event;
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::ResultStatus;
use holdover_core::store::{InterruptKind, OutcomeKind, SessionStatus};
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

fn not_run() -> Result<ToolReturn, ToolError> {
    Err(ToolError::NotRun("no such host".into()))
}

fn lost() -> Result<ToolReturn, ToolError> {
    Err(ToolError::Lost("connection reset".into()))
}

/// Creates a session that does not retry calls, and whose circuit opens after `broken_calls_max` failures.
fn given_up_at_once(broken_calls_max: u32) -> Bench {
    Bench::with(|agent| {
        agent.retries = Retries::default().tool_waits_ms(Vec::new()).broken_calls_max(broken_calls_max);
    })
}

/// Returns the reason why the newest turn ended, with the code of its error.
fn ending(bench: &Bench) -> (DoneReason, Option<String>) {
    match bench.machine().state {
        AgentState::Done { ending, .. } => (ending.reason, ending.error.map(|error| error.code)),
        other => panic!("not done: {other:?}"),
    }
}

fn circuits(bench: &Bench) -> Vec<u32> {
    let opened = |event| match event {
        Event::CircuitOpened { calls, .. } => Some(calls),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(opened).collect()
}

#[test]
fn c49_a_call_that_could_not_be_run_is_tried_again_after_2_and_4_seconds_as_its_class_allows() {
    use ResultStatus::{Error, InDoubt};
    for (tool, fails, status) in [
        ("look", lost as fn() -> _, Error),
        ("look", not_run, Error),
        ("put", not_run, Error),
        // The combined effect of the three sends is unknown.
        ("put", lost, InDoubt),
        ("note", not_run, Error),
    ] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model(calls(&[tool]));
        for seconds in [2, 4] {
            run.comes_back("c1-0", fails());
            assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil, "{tool}");
            assert_eq!((bench.status(), bench.alarm_in()), (SessionStatus::Suspended, Some(secs(seconds))));
            bench.clock.pass(secs(seconds));
            run = bench.run();
        }
        run.comes_back("c1-0", fails());
        assert_eq!(run.steps.machine().turn.broken, 1, "once, however often it was tried");
        run.model(text("a pity"));
        assert_eq!((bench.sent("c1-0"), bench.statuses()), (3, vec![status]), "{tool}");
        let result = &bench.results()[0];
        assert!(result.broken, "{result:?}");
        assert!(status == InDoubt || result.content.ends_with("(tried 3 times)"), "{result:?}");
        let keys: Vec<String> =
            bench.sends.borrow().iter().map(|send| send.idempotency_key.clone()).collect();
        assert!(keys.iter().all(|key| *key == keys[0]), "{keys:?}");
        assert_eq!(bench.machine().usage.tool_calls, 1, "one call");
        let retried: Vec<u32> = check::events(&bench)
            .into_iter()
            .filter_map(|event| match event {
                Event::CallRetried { attempt, .. } => Some(attempt),
                _ => None,
            })
            .collect();
        assert_eq!(retried, [1, 2]);
        check::at_rest(&bench);
    }
}

#[test]
fn c49_a_call_that_is_tried_again_and_works_leaves_no_trace_in_its_result() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "look"]));
    run.comes_back("c1-0", not_run());
    assert_eq!(run.calls_out(), ["c1-1"], "its sibling goes on");
    run.returns("c1-1", "seen");
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
    bench.clock.pass(secs(2));
    let mut run = bench.run();
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    assert_eq!(bench.results()[0].content, "noted");
    assert!(!bench.results()[0].broken);
    check::at_rest(&bench);
}

#[test]
fn c49_what_may_have_acted_once_and_what_is_dangerous_is_not_sent_again() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "wipe"]));
    run.comes_back("c1-0", lost());
    bench.approve(&bench.asked());
    let mut run = if run.is_over() { bench.run() } else { run };
    run.comes_back("c1-1", not_run());
    run.model(text("a pity"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt, ResultStatus::Error]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (1, 1));
    check::at_rest(&bench);
}

#[test]
fn c49_a_second_send_that_dies_with_its_run_is_in_doubt() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.comes_back("c1-0", not_run());
    bench.clock.pass(secs(2));
    let run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0"]);
    bench.crash(run);
    bench.run().model(text("a pity"));
    assert_eq!((bench.sent("c1-0"), bench.statuses()), (2, vec![ResultStatus::InDoubt]));
    check::at_rest(&bench);
}

#[test]
fn c49_a_wait_that_was_slept_through_survives_the_run_that_slept() {
    let bench = Bench::with(|agent| agent.retries.tool_waits_ms = vec![400]);
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.comes_back("c1-0", not_run());
    assert!(run.is_out("sleep"), "waits of up to a second need no other run");
    bench.crash(run);
    let mut run = bench.run();
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!((bench.sent("c1-0"), bench.statuses()), (2, vec![ResultStatus::Done]));
    check::at_rest(&bench);
}

#[test]
fn c52_a_tool_says_itself_how_long_it_is_to_be_left_alone() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["pay"]));
    let busy = || Err(ToolError::Transient { detail: "the till is open".into(), wait: Some(secs(90)) });
    for _ in 0..2 {
        run.comes_back("c1-0", busy());
        assert_eq!(bench.alarm_in(), Some(secs(90)), "longer than the agent's own waits");
        bench.clock.pass(secs(90));
        run = bench.run();
    }
    run.comes_back("c1-0", busy());
    run.model(text("a pity"));
    assert_eq!((bench.sent("c1-0"), bench.statuses()), (3, vec![ResultStatus::Error]));
    assert_eq!(bench.results()[0].content, "not run: the till is open (tried 3 times)");
    check::at_rest(&bench);
}

/// Requirements: U10.
#[test]
fn c49_three_broken_calls_in_a_row_open_the_circuit_and_nothing_else_starts() {
    let bench = given_up_at_once(3);
    let mut run = go(&bench);
    run.model(calls(&["serial", "serial", "serial", "serial"]));
    for call in ["c1-0", "c1-1", "c1-2"] {
        run.comes_back(call, not_run());
    }
    assert!(run.is_over(), "{:?}", run.out);
    use ResultStatus::{Cancelled, Error};
    assert_eq!(bench.statuses(), [Error, Error, Error, Cancelled]);
    assert_eq!((bench.sent("c1-3"), bench.status()), (0, SessionStatus::Failed), "not one call more (U10)");
    assert_eq!(ending(&bench), (DoneReason::Error, Some("engine.circuit_open".into())));
    assert_eq!(circuits(&bench), [3]);
    check::at_rest(&bench);

    bench.retry();
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.comes_back("c2-0", not_run());
    run.model(text("a pity"));
    assert_eq!(bench.status(), SessionStatus::Idle, "a new turn begins with a closed circuit");
}

#[test]
fn c49_a_good_call_closes_the_circuit_and_an_observation_is_not_counted() {
    let bench = given_up_at_once(3);
    let mut run = go(&bench);
    let failed = || Err(ToolError::Failed("no paper".into()));
    let done = || Ok(ToolOutput::text("done").into());
    let returns = [not_run(), lost(), failed(), done(), not_run(), failed(), lost()];
    for (at, result) in (1..).zip(returns) {
        run.model(calls(&[&format!("note:{{\"try\":{at}}}")]));
        run.comes_back(&format!("c{at}-0"), result);
        assert!(run.is_out("call_model"), "{at}");
    }
    // The count survives a wait and the death of a run.
    run.model(calls(&["edit"]));
    drop(run);
    bench.approve(&bench.asked());
    let run = bench.run();
    bench.crash(run);
    let run = bench.run();
    assert!(run.is_over() || run.is_out("call_model"), "the edit is in doubt: {:?}", run.out);
    let mut run = run;
    run.model(calls(&["note:{\"try\":9}"]));
    run.comes_back("c9-0", not_run());
    assert!(run.is_over(), "{:?}", run.steps.machine());
    assert_eq!(ending(&bench), (DoneReason::Error, Some("engine.circuit_open".into())));
    check::at_rest(&bench);
}

#[test]
fn c49_what_is_out_when_the_circuit_opens_may_come_back_unless_somebody_stops_it() {
    for stopped in [false, true] {
        let bench = given_up_at_once(1);
        let mut run = go(&bench);
        run.model(calls(&["look", "pay", "note", "edit"]));
        run.comes_back("c1-1", not_run());
        assert_eq!(run.calls_out(), ["c1-0", "c1-2"]);
        assert!(!run.is_out("stop_calls"), "they are told nothing");
        run.returns("c1-0", "seen");
        use ResultStatus::{Cancelled, Done, Error, InDoubt};
        if stopped {
            bench.interrupt(InterruptKind::Soft);
            run.news();
            run.take("stop_calls");
            run.comes_back("c1-2", lost());
            assert_eq!(bench.statuses(), [Done, Error, InDoubt, Cancelled]);
            assert_eq!(
                (bench.dones(), bench.status()),
                (vec![DoneReason::UserAbort], SessionStatus::Interrupted)
            );
        } else {
            // Another call that fails meanwhile is neither retried nor counted again.
            run.comes_back("c1-2", not_run());
            assert_eq!(bench.statuses(), [Done, Error, Error, Cancelled]);
            assert_eq!(ending(&bench), (DoneReason::Error, Some("engine.circuit_open".into())));
        }
        assert_eq!(circuits(&bench), [1]);
        check::at_rest(&bench);
    }
}

#[test]
fn c49_a_broken_call_that_was_staged_is_counted_by_the_run_that_takes_over() {
    let bench = given_up_at_once(2);
    let mut run = go(&bench);
    run.model(calls(&["pay", "note"]));
    run.comes_back("c1-0", not_run());
    assert_eq!(bench.session().staged.results.len(), 1);
    assert_eq!(bench.machine().turn.broken, 0, "the state does not say it");
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(run.steps.machine().turn.broken, 1);
    run.model(calls(&["note"]));
    run.comes_back("c2-0", not_run());
    assert!(run.is_over(), "{:?}", run.out);
    use ResultStatus::{Error, InDoubt};
    assert_eq!(bench.statuses(), [Error, InDoubt, Error]);
    assert_eq!(ending(&bench), (DoneReason::Error, Some("engine.circuit_open".into())));
    check::at_rest(&bench);
}

#[test]
fn c49_a_circuit_that_opened_stays_open_when_the_run_dies_that_waits_for_what_is_out() {
    let bench = given_up_at_once(1);
    let mut run = go(&bench);
    run.model(calls(&["pay", "note"]));
    run.comes_back("c1-0", not_run());
    assert_eq!(run.calls_out(), ["c1-1"]);
    bench.crash(run);
    assert!(bench.run().is_over());
    assert_eq!(bench.statuses(), [ResultStatus::Error, ResultStatus::InDoubt]);
    assert_eq!(ending(&bench), (DoneReason::Error, Some("engine.circuit_open".into())));
    check::at_rest(&bench);
}

#[test]
fn c49_where_the_circuit_is_only_observed_the_turn_goes_on() {
    let bench = Bench::with(|agent| {
        agent.retries.tool_waits_ms = Vec::new();
        agent.retries.broken_calls_max = 2;
        agent.retries.on_trip = OnTrip::Observe;
    });
    let mut run = go(&bench);
    run.model(calls(&["serial", "serial", "serial"]));
    for call in ["c1-0", "c1-1", "c1-2"] {
        run.comes_back(call, not_run());
    }
    run.model(text("a pity"));
    assert_eq!((bench.dones(), circuits(&bench)), (vec![DoneReason::ModelStop], vec![2]));
    check::at_rest(&bench);
}

#[test]
fn b40_a_call_that_waits_is_tried_at_once_when_somebody_asks_for_it() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "put"]));
    run.comes_back("c1-0", not_run());
    run.comes_back("c1-1", lost());
    assert!(run.is_over());
    bench.retry();
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"]);
    run.comes_back("c1-0", not_run());
    run.returns("c1-1", "put");
    assert_eq!(bench.alarm_in(), Some(secs(4)), "the word was for the wait that was");
    bench.clock.pass(secs(4));
    let mut run = bench.run();
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    check::at_rest(&bench);
}

#[test]
fn a_stop_ends_calls_that_wait_to_be_tried_again() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "put", "look"]));
    run.comes_back("c1-0", not_run());
    run.comes_back("c1-1", lost());
    run.comes_back("c1-2", lost());
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    use ResultStatus::{Cancelled, InDoubt};
    assert_eq!(bench.statuses(), [Cancelled, InDoubt, Cancelled]);
    let told = &bench.results()[0].content;
    assert!(told.contains("it could not be run") && told.ends_with("no such host"), "{told}");
    check::at_rest(&bench);
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn c49_an_open_circuit_is_told_of_once_in_few_words_also_if_the_run_dies() {
    for dies in [false, true] {
        let bench = Bench::with(|agent| {
            agent.retries.broken_calls_max = 1;
            agent.retries.tool_waits_ms = Vec::new();
            agent.retries.on_trip = OnTrip::Observe;
        });
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["note", "pay"]));
        run.comes_back("c1-0", Err(ToolError::NotRun("x".repeat(5_000))));
        if dies {
            bench.crash(run);
            run = bench.run();
        } else {
            run.returns("c1-1", "paid");
        }
        run.model(text("a pity"));
        check::at_rest(&bench);
        let told = check::events(&bench).into_iter().filter_map(|event| match event {
            Event::CircuitOpened { why, .. } => Some(why.chars().count()),
            _ => None,
        });
        let told: Vec<usize> = told.collect();
        assert!(told.len() == 1 && told[0] <= 1_001, "dies: {dies}: {told:?}");
    }
}
