//! Tool calls: order, refusals, sizes, time limits and timers. Also, the waits before the model is called again.
//!
//! Requirements: A43, A49, A53, B23, B26, B31, B34, B39, C23, C24, D10, H09.

use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::engine::{Action, DEFERRED_OUTPUT_BYTES_MAX, Reply};
use holdover_core::event::Event;
use holdover_core::ids::ID_BYTES_MAX;
use holdover_core::message::{ClientAnswer, PendingBody, ResultStatus};
use holdover_core::payload::Payload;
use holdover_core::store::{OutcomeKind, PendingKind, SessionStatus};
use holdover_core::tool::{Bound, ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

/// Requirements: A43, D10.
#[test]
fn c35_a_tool_that_does_not_exist_is_an_error_that_names_those_that_do() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["fly", "note"]));
    run.returns("c1-1", "noted");
    run.model(calls(&["fly"]));
    run.model(text("done"));
    use ResultStatus::{Done, Error};
    assert_eq!(bench.statuses(), [Error, Done, Error]);
    assert!(bench.results()[0].content.contains("look, put, pay"), "{}", bench.results()[0].content);
    check::at_rest(&bench);
}

/// Requirements: C23.
#[test]
fn arguments_that_do_not_fit_and_calls_that_the_policy_denies_never_run() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note:bad", "pay:forbidden", "serial"]));
    run.returns("c1-2", "done");
    run.model(text("done"));
    use ResultStatus::{Denied, Done, Error};
    assert_eq!(bench.statuses(), [Error, Denied, Done]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (0, 0));
    check::at_rest(&bench);
}

/// Requirements: B26.
#[test]
fn a_failure_is_an_observation_and_what_is_lost_is_in_doubt() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "pay", "look", "put"]));
    run.comes_back("c1-0", Err(ToolError::Failed("no paper".into())));
    run.comes_back("c1-1", Err(ToolError::Lost("connection reset".into())));
    run.returns("c1-2", "seen");
    run.comes_back("c1-3", Err(ToolError::Failed("no such host".into())));
    run.model(text("done"));
    use ResultStatus::{Done, Error, InDoubt};
    assert_eq!(bench.statuses(), [Error, InDoubt, Done, Error]);
    check::at_rest(&bench);
}

#[test]
fn a_result_that_is_too_large_is_an_error_that_says_so_and_its_stop_does_not_count() {
    let bench = Bench::with(|agent| agent.limits.result_bytes_max = 10);
    let mut run = go(&bench);
    run.model(calls(&["note", "pay", "put"]));
    let large = ToolOutput { stop: true, ..ToolOutput::text("x".repeat(11)) };
    run.comes_back("c1-0", Ok(large.clone().into()));
    run.comes_back("c1-1", Ok(ToolReturn::After { delay: Duration::from_secs(9), output: large }));
    run.returns("c1-2", &"x".repeat(10));
    run.model(text("done"));
    use ResultStatus::{Done, Error};
    assert_eq!(bench.statuses(), [Error, Error, Done]);
    assert!(bench.results()[0].content.contains("11 bytes"));
    check::at_rest(&bench);
}

#[test]
fn a_result_to_be_given_later_is_kept_in_the_state_and_so_is_small() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    let output = ToolOutput::text("x".repeat(DEFERRED_OUTPUT_BYTES_MAX + 1));
    run.comes_back("c1-0", Ok(ToolReturn::After { delay: Duration::from_secs(9), output }));
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Error]);
}

#[test]
fn a_timer_of_up_to_a_second_is_slept_through_and_a_longer_one_suspends() {
    for (ms, sleeps) in [(300, true), (1_000, true), (1_001, false)] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model(calls(&["note"]));
        let delay = Duration::from_millis(ms);
        run.comes_back("c1-0", Ok(ToolReturn::After { delay, output: ToolOutput::text("later") }));
        if sleeps {
            run.perform("sleep");
        } else {
            assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
            assert_eq!((bench.status(), bench.alarm_in()), (SessionStatus::Suspended, Some(delay)));
            bench.clock.pass(delay);
            run = bench.run();
        }
        run.model(text("done"));
        assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1), "{ms} ms");
        assert_eq!(bench.results()[0].content, "later");
        check::at_rest(&bench);
    }
}

#[test]
fn a_timer_that_was_slept_through_survives_the_run_that_slept() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    let delay = Duration::from_millis(500);
    let output = ToolOutput { stop: true, ..ToolOutput::text("later") };
    run.comes_back("c1-0", Ok(ToolReturn::After { delay, output }));
    assert!(run.is_out("sleep"));
    bench.crash(run);
    assert!(bench.run().is_over());
    assert_eq!((bench.statuses(), bench.sent("c1-0")), (vec![ResultStatus::Done], 1));
    assert_eq!(bench.dones(), [holdover_core::machine::DoneReason::ToolStop], "its stop counts now");
    check::at_rest(&bench);
}

#[test]
fn some_done_and_others_owed_by_people_and_by_time_is_a_partial_step() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "edit", "put"]));
    run.returns("c1-0", "noted");
    let delay = Duration::from_secs(60);
    run.comes_back("c1-2", Ok(ToolReturn::After { delay, output: ToolOutput::text("later") }));
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedStepPartial);
    assert_eq!(bench.alarm_in(), Some(delay), "the earliest instant wakes it");
    bench.clock.pass(delay);
    assert_eq!(bench.run().outcome().kind(), OutcomeKind::SuspendedClientTool);
    bench.deny(&bench.asked());
    bench.run().model(text("done"));
    use ResultStatus::{Done, RejectedByUser};
    assert_eq!(bench.statuses(), [Done, RejectedByUser, Done]);
    check::at_rest(&bench);
}

/// Requirements: B23.
#[test]
fn calls_in_conflict_run_one_after_another_in_call_order() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["pay", "note", "bill", "peep", "serial", "note"]));
    for out in [&["c1-0", "c1-1"][..], &["c1-2"], &["c1-3"], &["c1-4"], &["c1-5"]] {
        assert_eq!(run.calls_out(), out);
        for call in out.iter().rev() {
            run.returns(call, "done");
        }
    }
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 6]);
    check::at_rest(&bench);
}

/// Requirements: C24.
#[test]
fn a_parked_call_holds_back_what_conflicts_with_it_and_nothing_else() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["edit", "edit", "note"]));
    assert_eq!(run.calls_out(), ["c1-2"]);
    bench.approve(&bench.pending()[1]);
    run.news();
    assert_eq!(run.calls_out(), ["c1-2"], "the second edit waits for the first, which is parked");
    bench.approve(&bench.asked());
    run.news();
    assert_eq!(run.calls_out(), ["c1-2", "c1-0"]);
    run.returns("c1-0", "edited");
    run.returns("c1-2", "noted");
    assert_eq!(run.calls_out(), ["c1-1"]);
    run.returns("c1-1", "edited");
    run.model(text("done"));
    check::at_rest(&bench);
}

/// Requirements: B34.
#[test]
fn the_model_is_asked_again_after_5_10_20_40_and_60_seconds_and_then_the_turn_fails() {
    let bench = Bench::new();
    let mut run = go(&bench);
    for seconds in [5, 10, 20, 40, 60] {
        run.model_fails(overloaded(None));
        assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
        assert_eq!(bench.alarm_in(), Some(Duration::from_secs(seconds)));
        bench.clock.pass(Duration::from_secs(seconds));
        run = bench.run();
    }
    run.model_fails(overloaded(None));
    assert_eq!((bench.status(), bench.dones().len()), (SessionStatus::Failed, 1));
    check::at_rest(&bench);
}

/// Requirements: B39.
#[test]
fn what_the_provider_asks_for_wins_over_the_schedule() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model_fails(overloaded(Some(Duration::from_millis(700))));
    let Action::Sleep { id, until } = run.take("sleep") else { unreachable!() };
    assert_eq!(until.as_ms() - bench.facts().now.as_ms(), 700);
    run.apply(Reply::Slept { id });
    assert!(!run.is_out("call_model"), "slept too short: the clock decides");
    run.wait();
    run.model_fails(overloaded(Some(Duration::from_secs(600))));
    assert_eq!(bench.alarm_in(), Some(Duration::from_secs(600)));
    bench.clock.pass(Duration::from_secs(600));
    run = bench.run();
    let Some(Action::CallModel { call, .. }) = run.out.front() else { panic!("{:?}", run.out) };
    assert_eq!((call.step.0, call.attempt), (1, 2));
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn a49_a_result_that_says_nothing_but_error_is_one() {
    for (content, status) in [
        (r#"{"error": "no such page"}"#, ResultStatus::Error),
        (r#" {"error": "no such page"} "#, ResultStatus::Error),
        (r#"{"error": "no such page", "page": 7}"#, ResultStatus::Done),
        (r#"{"error": null}"#, ResultStatus::Done),
        (r#"[{"error": "x"}]"#, ResultStatus::Done),
        ("error", ResultStatus::Done),
    ] {
        let bench = Bench::new();
        bench.say("look");
        let mut run = bench.run();
        run.model(calls(&["look"]));
        run.returns("c1-0", content);
        run.model(text("done"));
        let result = bench.results().remove(0);
        assert_eq!((result.status, result.content.as_str()), (status, content));
        check::at_rest(&bench);
    }
}

#[test]
fn a49_b31_a_call_has_30_s_unless_its_tool_says_otherwise_and_one_may_have_all_the_time() {
    for (own, given) in [(None, Some(30_000)), (Some(Bound::At(7)), Some(7)), (Some(Bound::Never), None)] {
        let bench = Bench::with(|agent| agent.tools[0].timeout_ms = own);
        bench.say("look");
        bench.run().model(calls(&["look"]));
        assert_eq!(bench.sends.borrow()[0].timeout_ms, given);
    }
}

#[test]
fn b31_a_client_tool_may_be_waited_for_for_ever() {
    let bench = Bench::with(|agent| {
        agent.tools.iter_mut().filter(|tool| tool.name.as_str() == "ask").for_each(|tool| {
            tool.timeout_ms = Some(Bound::Never);
        });
    });
    bench.say("ask");
    bench.run().model(calls(&["ask"]));
    assert_eq!((bench.asked().deadline, bench.alarm_in()), (None, None));
}

#[test]
fn a53_an_event_says_which_call_waits_for_whom_and_why() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    let asked = bench.asked();
    bench.decide(&asked, |decision| decision.arguments = Some("bad".into()));
    bench.run();
    let told: Vec<_> = check::events(&bench)
        .into_iter()
        .filter_map(|event| match event {
            Event::Asked { call, tool, kind, pending, reason, children: 0 } => {
                Some((call.to_string(), tool, kind, pending, reason))
            }
            _ => None,
        })
        .collect();
    let edit = |pending, reason: Option<&str>| {
        ("c1-0".to_owned(), "edit".to_owned(), PendingKind::Approval, pending, reason.map(str::to_owned))
    };
    let again = bench.asked();
    assert_ne!(again.id, asked.id);
    // The detail of a misfit may be secret, so only the people who are asked see it.
    let why = "the edited arguments do not fit";
    assert_eq!(told, [edit(asked.id, None), edit(again.id.clone(), Some(why))]);
    let body: PendingBody = again.body.parse().unwrap();
    assert_eq!(body.prompt, Some(format!("{why}: it is bad")));
}

#[test]
fn h09_the_answer_of_a_client_is_bounded_as_a_result_and_as_an_error() {
    let (usual, own) = (Limits::default(), Limits::default().error_bytes_max(10).result_bytes_max(99));
    for (limits, is_error, most) in
        [(&usual, true, 8 * 1024), (&usual, false, 1024 * 1024), (&own, true, 10), (&own, false, 99)]
    {
        for (bytes, fits) in [(most, true), (most + 1, false)] {
            let bench = Bench::with(|agent| agent.limits = limits.clone());
            bench.say("ask");
            bench.run().model(calls(&["ask"]));
            // The id that is answered is chosen by the engine.
            assert!(bench.asked().id.as_str().len() <= ID_BYTES_MAX && ID_BYTES_MAX <= 256);
            let said = if is_error { ClientAnswer::failed } else { ClientAnswer::done };
            let answer = said("x".repeat(bytes));
            bench.answer_with(&bench.asked().id, Payload::json(&answer).unwrap());
            bench.run().model(text("done"));
            let result = bench.results().remove(0);
            let status = if fits && !is_error { ResultStatus::Done } else { ResultStatus::Error };
            assert_eq!((result.status, result.content.len() == bytes), (status, fits));
        }
    }
}
