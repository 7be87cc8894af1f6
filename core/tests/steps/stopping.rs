//! Stops of a single call, while its turn goes on.
//!
//! Requirements: B33, B41; INV-18.

use holdover_core::engine::Action;
use holdover_core::ids::CallId;
use holdover_core::machine::DoneReason;
use holdover_core::message::{CallSignal, ResultStatus};
use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

fn stop(bench: &Bench, call: &str) {
    bench.signal(&CallSignal::StopCall { call: CallId::new(call).unwrap() });
}

/// Requirements: B41.
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

#[test]
fn b33_a_call_that_may_have_acted_and_waits_to_be_sent_again_is_in_doubt_when_it_is_stopped() {
    let lost = || Err(ToolError::Lost("connection reset".into()));
    let not_run = || Err(ToolError::NotRun("no such host".into()));
    for (tool, run_dies, comes, status) in [
        ("put", false, lost(), ResultStatus::InDoubt),
        // The run that died may have sent the call.
        ("put", true, not_run(), ResultStatus::InDoubt),
        ("put", false, not_run(), ResultStatus::Cancelled),
        ("look", false, lost(), ResultStatus::Cancelled),
    ] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&[tool]));
        if run_dies {
            bench.crash(run);
            run = bench.run();
        }
        run.comes_back("c1-0", comes);
        assert_eq!(bench.status(), SessionStatus::Suspended, "{tool}");
        stop(&bench, "c1-0");
        bench.run().model(text("done"));
        assert_eq!(bench.statuses(), [status], "{tool}");
        let told = &bench.results()[0].content;
        match status {
            ResultStatus::InDoubt => assert!(told.contains("may or may not have acted"), "{told}"),
            _ => assert!(told.contains("user:cancelled") && !told.contains("the turn ended"), "{told}"),
        }
        assert_eq!(bench.dones(), [DoneReason::ModelStop], "the turn went on");
        check::at_rest(&bench);
    }
}

#[test]
fn b33_a_call_whose_mark_is_on_its_way_is_stopped_also_if_its_sibling_is_hurried_meanwhile() {
    let not_run = || Err(ToolError::NotRun("no such host".into()));
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "put"]));
    run.comes_back("c1-0", not_run());
    run.hold("commit");
    run.hold("stage");
    bench.retry();
    run.news();
    // The start mark of the first call is in flight. Now the second call is to be sent again too.
    run.comes_back("c1-1", not_run());
    stop(&bench, "c1-0");
    bench.retry();
    run.news();
    assert_eq!(run.calls_out(), Vec::<String>::new());
    run.let_go("commit");
    run.let_go("stage");
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"]);
    assert!(run.is_out("stop_calls"), "it is told as soon as it is out");
    run.comes_back("c1-0", not_run());
    run.returns("c1-1", "put");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled, ResultStatus::Done]);
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}
