//! Named signals: a call waits for one, and the session holds those that nobody waits for.

use std::time::Duration;

use holdover_core::engine::{STATE_FORMAT_ALONE, STATE_FORMAT_LATER};
use holdover_core::event::Event;
use holdover_core::machine::{CallState, OwedKind};
use holdover_core::message::{CallSignal, Message, ResultStatus};
use holdover_core::store::{InterruptKind, OutcomeKind, SessionStatus, Wake};
use holdover_core::time::Clock;
use holdover_core::tool::{ToolOutput, ToolReturn};

use crate::bench::{Bench, Write};
use crate::check;
use crate::dying::{Cast, play};
use crate::run::Run;
use crate::world::{calls, text};

const HOUR: Duration = Duration::from_hours(1);

fn wait_for(name: &str, within: Option<Duration>) -> ToolReturn {
    ToolReturn::Signal { name: name.parse().unwrap(), within }
}

/// Creates a session whose state has the oldest format, and begins its turn.
fn old() -> Bench {
    let bench = Bench::create(|_| {}, |new| new.format = STATE_FORMAT_ALONE);
    bench.say("go");
    bench
}

/// Begins a step whose calls wait for these signals, for an hour.
fn waits<'a>(bench: &'a Bench, names: &[&str]) -> Run<'a> {
    let mut run = bench.run();
    run.model(calls(&vec!["look"; names.len()]));
    for (at, name) in names.iter().enumerate() {
        run.comes_back(&format!("c1-{at}"), Ok(wait_for(name, Some(HOUR))));
    }
    run
}

fn contents(bench: &Bench) -> Vec<String> {
    bench.results().into_iter().map(|result| result.content).collect()
}

#[test]
fn a_call_parks_until_its_signal_comes_and_its_commit_consumes_the_signal() {
    let bench = old();
    let run = waits(&bench, &["paid"]);
    let holdover_core::engine::RunOutcome::Suspended(suspension) = run.outcome() else { panic!("parked") };
    assert_eq!(suspension.kind, OutcomeKind::SuspendedClientTool);
    let owed = &suspension.owed[0];
    assert_eq!((owed.kind, owed.signal.as_ref().unwrap().as_str()), (OwedKind::Signal, "paid"));
    assert_eq!((bench.status(), bench.alarm_in()), (SessionStatus::Suspended, Some(HOUR)));
    assert_eq!(bench.session().format, STATE_FORMAT_LATER);
    bench.signal_named("paid", r#"{"sum": 1e400}"#, Wake::Now);
    let writes = bench.writes.borrow().len();
    let mut run = bench.run();
    run.model(text("done"));
    assert_eq!(contents(&bench), [r#"{"sum": 1e400}"#], "to the byte");
    let taken = bench.writes.borrow()[writes..].iter().any(|write| match write {
        Write::Commit(commit) if commit.consumed.is_empty() => false,
        Write::Commit(commit) => {
            let promoted = !commit.messages.is_empty() || !commit.stage.is_empty();
            assert!(promoted, "the result is durable with it: {commit:?}");
            true
        }
        Write::Stage(_) => false,
    });
    assert!(taken && bench.held().is_empty());
    let told: Vec<String> = check::events(&bench)
        .into_iter()
        .filter_map(|event| match event {
            Event::Call { is, .. } => Some(is),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["executing", "awaiting_signal", "done"]);
    assert_eq!(bench.session().format, STATE_FORMAT_ALONE);
    check::at_rest(&bench);
}

#[test]
fn one_that_came_before_the_call_is_taken_at_once_the_oldest_first() {
    let bench = old();
    for body in ["1", "2", "3"] {
        bench.signal_named("paid", body, Wake::Quiet);
    }
    bench.signal_named("sent", "4", Wake::Quiet);
    let mut run = waits(&bench, &["paid", "sent", "paid"]);
    run.model(text("done"));
    assert_eq!(contents(&bench), ["1", "4", "2"], "calls of one name take one each, in call order");
    assert_eq!(bench.held(), ["paid"], "the rest is held");
    assert_eq!((bench.status(), bench.session().alarm), (SessionStatus::Idle, None));
    check::at_rest(&bench);
}

#[test]
fn a_held_one_wakes_nobody_and_outlives_turns_interrupts_and_summaries() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    bench.signal_named("paid", "1", Wake::Quiet);
    assert!(bench.claim().is_none(), "a session at rest sleeps on");
    for word in ["one", "two", "three"] {
        bench.say(word);
        bench.run().model(text(&"done ".repeat(99)));
    }
    bench.compact();
    let mut run = bench.run();
    run.summarise("it went well");
    assert!(run.is_over());
    bench.say("stop me");
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert_eq!((bench.status(), bench.held()), (SessionStatus::Interrupted, vec!["paid".to_owned()]));
    assert!(!bench.is_due());
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    let call = run.calls_out().remove(0);
    run.comes_back(&call, Ok(wait_for("paid", None)));
    run.model(text("done"));
    assert_eq!((contents(&bench), bench.held().len()), (vec!["1".to_owned()], 0));
    check::at_rest(&bench);
}

#[test]
fn after_its_deadline_a_call_has_timed_out_and_a_late_signal_is_held() {
    let bench = old();
    drop(waits(&bench, &["paid"]));
    bench.clock.pass(HOUR);
    let mut run = bench.run();
    bench.signal_named("paid", "1", Wake::Quiet);
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Error]);
    assert_eq!(contents(&bench), ["timed out: no signal paid came in time"]);
    assert_eq!(bench.held(), ["paid"]);
    check::at_rest(&bench);
}

#[test]
fn a_wait_without_a_deadline_parks_without_an_alarm() {
    let bench = old();
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.comes_back("c1-0", Ok(wait_for("paid", None)));
    assert_eq!((bench.status(), bench.session().alarm), (SessionStatus::Suspended, None));
    bench.signal_named("paid", "null", Wake::Now);
    bench.run().model(text("done"));
    assert_eq!(contents(&bench), ["null"]);
    check::at_rest(&bench);
}

/// The sender of a signal sees a run that holds the session, and counts the signal. The run parks without having read it.
#[test]
fn one_that_comes_while_the_run_parks_is_not_overlooked() {
    for (name, wakes) in [("paid", true), ("other", true)] {
        let bench = old();
        let mut run = bench.run();
        run.model(calls(&["look"]));
        run.hold("commit");
        run.comes_back("c1-0", Ok(wait_for("paid", Some(HOUR))));
        run.let_go("commit");
        // The last commit was on its way when the signal came.
        drop(run);
        bench.signal_named(name, "1", Wake::Count);
        assert_eq!(bench.is_due(), wakes, "{name}");
        let run = bench.run();
        assert_eq!(run.is_over(), name != "paid");
        if name != "paid" {
            assert_eq!(bench.alarm_in(), Some(HOUR), "it is held, and wakes nobody again");
        }
    }
    let bench = old();
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    assert!(run.is_over());
    bench.signal_named("paid", "1", Wake::Count);
    assert!(!bench.is_due(), "a call that waits for a person is not woken by it");
}

#[test]
fn a_wait_that_is_stopped_leaves_its_signal_in_the_inbox() {
    let bench = old();
    drop(waits(&bench, &["paid", "sent"]));
    bench.signal(&CallSignal::StopCall { call: "c1-0".parse().unwrap() });
    assert!(bench.run().is_over(), "the other call waits on");
    bench.signal_named("paid", "1", Wake::Quiet);
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled; 2]);
    assert_eq!((bench.status(), bench.held()), (SessionStatus::Interrupted, vec!["paid".to_owned()]));
    check::at_rest(&bench);
}

#[test]
fn a_call_waits_beside_calls_that_run_and_takes_its_signal_meanwhile() {
    let bench = old();
    let mut run = bench.run();
    run.model(calls(&["look", "note"]));
    run.comes_back("c1-0", Ok(wait_for("paid", Some(HOUR))));
    assert_eq!(run.calls_out(), ["c1-1"]);
    bench.signal_named("paid", "1", Wake::Count);
    run.news();
    let batch = bench.machine().state.batch().cloned().expect("a step");
    assert_eq!(batch.calls[0].state, CallState::Done, "taken while the other call runs");
    assert!(bench.held().is_empty());
    run.returns("c1-1", "noted");
    run.model(text("done"));
    assert_eq!(contents(&bench), ["1", "noted"]);
    check::at_rest(&bench);
}

#[test]
fn a_body_that_is_too_large_for_the_agent_is_an_error_and_is_gone() {
    let bench = Bench::with(|agent| agent.limits.result_bytes_max = 4);
    bench.say("go");
    bench.signal_named("paid", "12345", Wake::Quiet);
    let mut run = waits(&bench, &["paid"]);
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.held().len()), (vec![ResultStatus::Error], 0));
    check::at_rest(&bench);
}

#[test]
fn killed_at_every_action_each_signal_is_taken_once() {
    let cast = Cast {
        think: &|seen| match seen.last() {
            Some(Message::User(_)) => calls(&["look", "note", "look", "put"]),
            _ => text("done"),
        },
        tool: &|call| match call.id.as_str() {
            "c1-0" => Ok(wait_for("paid", Some(HOUR))),
            "c1-2" => Ok(wait_for("sent", Some(HOUR))),
            _ => Ok(ToolOutput::text("did").into()),
        },
    };
    let tell = |stop: Option<usize>| {
        let bench = old();
        let start = bench.clock.now();
        bench.signal_named("paid", "1", Wake::Quiet);
        bench.signal_named("paid", "2", Wake::Quiet);
        let before = play(&bench, start.after(HOUR / 2), stop, &cast);
        assert_eq!(bench.status(), SessionStatus::Suspended, "stopped after {stop:?}");
        assert_eq!(bench.held(), ["paid"], "one was taken; stopped after {stop:?}");
        bench.signal_named("sent", "3", Wake::Now);
        let rest = stop.and_then(|stop| stop.checked_sub(before)).filter(|rest| *rest > 0);
        let after = play(&bench, start.after(HOUR * 3), rest, &cast);
        let told = contents(&bench);
        assert_eq!((told[0].as_str(), told[2].as_str()), ("1", "3"), "stopped after {stop:?}: {told:?}");
        assert_eq!(
            (bench.held(), bench.dones().len()),
            (vec!["paid".to_owned()], 1),
            "stopped after {stop:?}"
        );
        check::at_rest(&bench);
        before + after
    };
    let actions = tell(None);
    assert!(actions > 10, "{actions}");
    for stop in 1..=actions {
        tell(Some(stop));
    }
}
