//! One call is stopped alone.
//!
//! Requirements: B33, B41.

use holdover_core::ids::CallId;
use holdover_core::message::{CallSignal, ResultStatus};
use holdover_core::step::Action;
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

fn stop(bench: &Bench, call: &str) {
    bench.signal(&CallSignal::StopCall { call: CallId::new(call).unwrap() });
}

#[test]
fn b33_a_call_that_is_out_is_told_to_stop_and_its_siblings_go_on() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "put", "look"]));
    assert_eq!(run.calls_out().len(), 3);
    stop(&bench, "c1-0");
    run.news();
    assert!(run.is_out("stop_calls"));
    assert_eq!(run.calls_out().len(), 3, "it says itself what became of it");
    run.comes_back("c1-0", Err(ToolError::NotRun("stopped in time".into())));
    run.returns("c1-1", "put");
    run.returns("c1-2", "seen");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled, ResultStatus::Done, ResultStatus::Done]);
    let first = &bench.results()[0].content;
    assert!(first.contains("user:cancelled") && first.contains("stopped this call"), "{first}");
    check::at_rest(&bench);
}

#[test]
fn b33_what_a_stopped_call_brings_all_the_same_stands_and_what_nobody_knows_is_in_doubt() {
    for (comes, status) in [
        (Ok("noted"), ResultStatus::Done),
        (Err(ToolError::Lost("it was on its way".into())), ResultStatus::InDoubt),
    ] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["note"]));
        stop(&bench, "c1-0");
        run.news();
        match comes {
            Ok(content) => run.returns("c1-0", content),
            Err(error) => run.comes_back("c1-0", Err(error)),
        }
        run.model(text("done"));
        assert_eq!(bench.statuses(), [status]);
        check::at_rest(&bench);
    }
}

#[test]
fn b33_a_call_that_waits_for_a_person_is_stopped_by_whoever_takes_the_session_up() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(calls(&["edit", "ask"]));
    assert_eq!(bench.pending().len(), 2);
    stop(&bench, "c1-0");
    assert!(bench.is_due(), "the word is durable and wakes the session");
    bench.crash(bench.run());
    let left = bench.asked();
    bench.answer(&left, "42");
    bench.run().model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled, ResultStatus::Done]);
    assert_eq!(bench.sent("c1-0"), 0);
    check::at_rest(&bench);
}

#[test]
fn b33_a_stopped_call_whose_run_dies_is_not_sent_again() {
    for (tool, status) in [("put", ResultStatus::InDoubt), ("note", ResultStatus::InDoubt)] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&[tool]));
        stop(&bench, "c1-0");
        run.news();
        assert!(run.is_out("stop_calls"));
        bench.crash(run);
        bench.run().model(text("done"));
        assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![status], 1), "{tool}");
        check::at_rest(&bench);
    }
}

#[test]
fn b33_a_call_that_has_ended_is_not_stopped_any_more() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    stop(&bench, "c1-0");
    run.news();
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.session().unread), (vec![ResultStatus::Done], 0));
    check::at_rest(&bench);
}

#[test]
fn b33_a_call_that_is_about_to_start_is_not_spared_by_a_word_to_try_another_again() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay", "bill"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    run.hold("stage");
    run.hold("commit");
    run.returns("c1-1", "paid");
    bench.retry();
    bench.signal(&CallSignal::StopCall { call: CallId::new("c1-2").unwrap() });
    run.news();
    assert_eq!(bench.sent("c1-2"), 0, "its mark is on its way");
    run.let_go("stage");
    run.let_go("commit");
    assert_eq!(bench.sent("c1-2"), 1);
    assert!(run.is_out("stop_calls"), "{:?}", run.steps.machine());
}

#[test]
fn b33_a_call_may_be_stopped_alone_while_a_turn_that_has_failed_waits_for_it() {
    let bench = Bench::with(|agent| {
        agent.retries.broken_calls_max = 1;
        agent.retries.tool_waits_ms = Vec::new();
    });
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay", "put"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    assert!(!run.is_out("stop_calls") && !run.is_over());
    bench.signal(&CallSignal::StopCall { call: CallId::new("c1-1").unwrap() });
    run.news();
    let Action::StopCalls { calls, .. } = run.take("stop_calls") else { unreachable!() };
    assert_eq!(calls, [CallId::new("c1-1").unwrap()]);
    run.returns("c1-2", "put");
    run.comes_back("c1-1", Err(ToolError::NotRun("stopped".into())));
    assert!(run.is_over());
    use ResultStatus::{Cancelled, Done, Error};
    assert_eq!(bench.statuses(), [Error, Cancelled, Done]);
    check::at_rest(&bench);
}
