//! Interrupts of a turn, and aborts of a session: at every moment there is exactly one end.
//!
//! Requirements: A16, B42, B43, C18, C25, H05, H06, C61.

use std::time::Duration;

use holdover_core::engine::{Action, Reply};
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::store::{InterruptKind, InterruptOutcome, SessionStatus};
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

/// The moments at which a run is interrupted.
const MOMENTS: &[&str] = &[
    "provisioning",
    "streaming",
    "gating",
    "executing",
    "executing beside an approval",
    "sleeping",
    "tearing down",
];

/// Starts a run and drives it to that moment.
fn at<'b>(bench: &'b Bench, moment: &str) -> Run<'b> {
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = match moment {
        "gating" => Run::holding(bench, claim, &["consult"]),
        _ => bench.start(claim),
    };
    if run.is_out("provision") && moment != "provisioning" {
        run.perform("provision");
    }
    match moment {
        "executing" | "gating" => run.model(calls(&["note"])),
        "executing beside an approval" => run.model(calls(&["edit", "note"])),
        "sleeping" => run.model_fails(overloaded(Some(Duration::from_millis(500)))),
        "tearing down" => run.model(text("done")),
        _ => {}
    }
    run
}

/// Interrupts the run, and lets the turn end.
fn stop(bench: &Bench, mut run: Run<'_>, kind: InterruptKind) {
    assert_eq!(bench.interrupt(kind), InterruptOutcome::Requested);
    run.news();
    if run.is_out("provision") {
        run.perform("provision");
    }
    if run.is_out("stop_calls") {
        for call in run.calls_out() {
            run.comes_back(&call, Err(ToolError::Lost("it was on its way".into())));
        }
    }
    if run.is_out("tear_down") {
        run.perform("tear_down");
    }
    assert!(run.is_over(), "{:?}", run.steps.machine());
}

/// Requirements: A16, C18, H06.
#[test]
fn a_soft_stop_ends_the_turn_at_every_moment_exactly_once_and_the_session_goes_on() {
    for provisions in [true, false] {
        for moment in MOMENTS {
            if !provisions && ["provisioning", "tearing down"].contains(moment) {
                continue;
            }
            let bench = Bench::with(|agent| agent.provisions = provisions);
            stop(&bench, at(&bench, moment), InterruptKind::Soft);
            let (reason, status) = match *moment {
                "tearing down" => (DoneReason::ModelStop, SessionStatus::Idle),
                _ => (DoneReason::UserAbort, SessionStatus::Interrupted),
            };
            assert_eq!((bench.dones(), bench.status()), (vec![reason], status), "{moment}");
            assert_eq!(bench.session().interrupt, None, "{moment}");
            check::at_rest(&bench);
            bench.say("go on");
            let mut run = bench.run();
            if provisions {
                run.perform("provision");
            }
            run.model(text("on it"));
            if provisions {
                run.perform("tear_down");
            }
            assert_eq!(bench.dones(), [reason, DoneReason::ModelStop], "{moment}");
        }
    }
}

/// Requirements: H06.
#[test]
fn an_abort_ends_the_session_at_every_moment_for_ever() {
    for moment in MOMENTS {
        let bench = Bench::with(|agent| agent.provisions = true);
        stop(&bench, at(&bench, moment), InterruptKind::Abort);
        if *moment == "tearing down" {
            // The outcome of the turn was fixed, so the next claim carries out the abort.
            assert!(bench.is_due());
            assert!(bench.end().is_over());
            assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        } else {
            assert_eq!(bench.dones(), [DoneReason::UserAbort], "{moment}");
        }
        assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Aborted, false), "{moment}");
        check::at_rest(&bench);
    }
}

/// Requirements: H05.
#[test]
fn the_commit_that_fixes_the_outcome_names_the_interrupt() {
    for kind in [InterruptKind::Soft, InterruptKind::Abort] {
        let bench = Bench::with(|agent| agent.provisions = true);
        let mut run = at(&bench, "streaming");
        bench.interrupt(kind);
        run.news();
        assert!(run.is_out("tear_down"));
        assert_eq!(bench.session().interrupt, None, "it is carried out: nobody needs to hear of it again");
        run.perform("tear_down");
        check::at_rest(&bench);
    }
}

/// Requirements: B43, C25, C61, H06.
#[test]
fn a_parked_session_is_ended_at_once_without_its_agent() {
    for kind in [InterruptKind::Soft, InterruptKind::Abort] {
        for parked in ["approval", "client", "timer", "back-off"] {
            let bench = Bench::new();
            bench.say("go");
            let mut run = bench.run();
            match parked {
                "approval" => run.model(calls(&["edit"])),
                "client" => run.model(calls(&["ask"])),
                "back-off" => run.model_fails(overloaded(None)),
                _ => {
                    run.model(calls(&["note"]));
                    run.comes_back("c1-0", Ok(nap(60)));
                }
            }
            assert!(run.is_over() && !bench.is_due());
            bench.interrupt(kind);
            assert!(bench.end().is_over());
            assert_eq!(bench.dones(), [DoneReason::UserAbort], "{parked}");
            let status = match kind {
                InterruptKind::Soft => SessionStatus::Interrupted,
                InterruptKind::Abort => SessionStatus::Aborted,
            };
            assert_eq!((bench.status(), bench.is_due()), (status, false), "{parked}");
            check::at_rest(&bench);
        }
    }
}

fn nap(seconds: u64) -> ToolReturn {
    ToolReturn::After { delay: Duration::from_secs(seconds), output: ToolOutput::text("the mail is sent") }
}

#[test]
fn a_call_that_acted_and_waits_for_its_time_is_not_said_to_have_been_stopped_before_it_acted() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.comes_back("c1-0", Ok(nap(60)));
    bench.interrupt(InterruptKind::Soft);
    bench.end();
    let result = &bench.results()[0];
    assert_eq!(result.status, ResultStatus::Cancelled);
    assert!(!result.content.contains("before it acted"), "{}", result.content);
    assert!(result.content.contains("the mail is sent"), "{}", result.content);
}

/// Requirements: B43.
#[test]
fn a_call_that_is_stopped_says_itself_what_became_of_it() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay", "look", "put", "edit"]));
    run.hold("stage");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_out("stop_calls"));
    run.comes_back("c1-0", Err(ToolError::NotRun("it had not begun".into())));
    run.comes_back("c1-1", Err(ToolError::Lost("no word".into())));
    run.comes_back("c1-2", Err(ToolError::Lost("no word".into())));
    run.returns("c1-3", "it was put already");
    use ResultStatus::{Cancelled, Done, InDoubt};
    assert_eq!(bench.statuses(), [Cancelled, InDoubt, Cancelled, Done, Cancelled]);
    check::at_rest(&bench);
}

#[test]
fn an_abort_that_comes_while_the_turn_stops_softly_ends_the_session() {
    let bench = Bench::new();
    let mut run = at(&bench, "executing");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert_eq!(bench.interrupt(InterruptKind::Abort), InterruptOutcome::Requested);
    run.news();
    run.comes_back("c1-0", Err(ToolError::Lost("no word".into())));
    assert!(run.is_over());
    while let Some(claim) = bench.claim() {
        bench.start(claim);
    }
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::UserAbort], SessionStatus::Aborted));
    check::at_rest(&bench);
}

#[test]
fn an_interrupt_that_comes_while_a_held_commit_is_in_flight_is_carried_out_after_it() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.approve(&bench.asked());
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit"]);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(!run.is_out("read"), "nothing is decided before the store has answered");
    run.perform("commit");
    run.let_go("commit");
    assert_eq!(run.calls_out(), ["c1-0"], "its mark was written, so it was sent, and then told to stop");
    run.comes_back("c1-0", Err(ToolError::NotRun("it had not begun".into())));
    assert_eq!(bench.dones(), [DoneReason::UserAbort]);
    check::at_rest(&bench);
}

#[test]
fn an_interrupt_that_races_the_parking_commit_wakes_the_session() {
    let bench = Bench::new();
    bench.say("edit");
    let mut run = bench.run();
    run.hold("commit");
    run.model(calls(&["edit"]));
    bench.interrupt(InterruptKind::Soft);
    run.let_go("commit");
    assert!(run.is_over());
    assert!(bench.is_due());
    bench.end();
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::UserAbort], SessionStatus::Interrupted));
    check::at_rest(&bench);
}

#[test]
fn an_interrupt_that_races_the_end_harms_no_later_turn() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.hold("commit");
    run.model(text("hello"));
    bench.interrupt(InterruptKind::Soft);
    run.let_go("commit");
    assert_eq!((bench.dones(), bench.is_due()), (vec![DoneReason::ModelStop], false));
    assert_eq!(bench.interrupt(InterruptKind::Soft), InterruptOutcome::AtRest);
    bench.say("and again");
    bench.run().model(text("hello again"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 2]);
}

#[test]
fn an_abort_of_a_session_at_rest_needs_no_agent_and_begins_no_turn() {
    for before in ["never used", "used"] {
        let bench = Bench::new();
        if before == "used" {
            bench.say("hi");
            bench.run().model(text("hello"));
        }
        let turns = bench.dones().len();
        bench.interrupt(InterruptKind::Abort);
        bench.say("too late");
        assert!(bench.end().is_over());
        assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Aborted, false), "{before}");
        assert_eq!(bench.dones().len(), turns, "no turn ended");
        check::at_rest(&bench);
    }
}

#[test]
fn a_stop_that_was_asked_for_before_the_turn_was_stored_stops_that_turn() {
    for with_agent in [true, false] {
        let bench = Bench::new();
        bench.say("do something terrible");
        let claim = bench.claim().unwrap();
        assert_eq!(bench.interrupt(InterruptKind::Soft), InterruptOutcome::Requested);
        drop(claim);
        bench.clock.pass(crate::bench::LEASE);
        let run = if with_agent { bench.run() } else { bench.end() };
        assert!(run.is_over(), "the model was asked: {:?}", run.steps.machine());
        assert_eq!(
            (bench.dones(), bench.status()),
            (vec![DoneReason::UserAbort], SessionStatus::Interrupted)
        );
        assert_eq!(bench.roles(), ["user"], "the message is in the transcript, and not lost");
        check::at_rest(&bench);
    }
}

#[test]
fn a_stop_of_a_retry_that_nobody_took_up_yet_stops_it() {
    let bench = Bench::new();
    stop(&bench, at(&bench, "executing"), InterruptKind::Soft);
    bench.retry_by_status(true);
    assert_eq!(bench.interrupt(InterruptKind::Soft), InterruptOutcome::Requested);
    assert!(bench.end().is_over());
    assert_eq!(bench.status(), SessionStatus::Interrupted);
    assert!(!bench.is_due());
    check::at_rest(&bench);
}

#[test]
fn what_is_being_provisioned_is_freed_only_once_it_is_there() {
    let bench = Bench::with(|agent| agent.provisions = true);
    let mut run = at(&bench, "provisioning");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(!run.is_out("tear_down"), "it would free what is being made");
    let Action::Provision { id, .. } = run.take("provision") else { unreachable!() };
    run.apply(Reply::Provisioned { id, result: Ok(Vec::new()) });
    run.perform("tear_down");
    assert_eq!(bench.dones(), [DoneReason::UserAbort]);
    check::at_rest(&bench);
}

#[test]
fn a_front_without_an_agent_that_finds_no_interrupt_changes_nothing() {
    // A waiting message keeps the session due.
    let bench = Bench::new();
    bench.say("hi");
    assert_eq!(bench.end().outcome().kind().as_str(), "released");
    assert!(bench.is_due(), "the message woke the session, and still does");
    // An approval expires at the same time as before.
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    let alarm = bench.session().alarm;
    let run =
        Run::new(&bench, holdover_core::engine::StepIterator::end(bench.claim_now(), bench.facts()).unwrap());
    assert!(run.is_over());
    assert_eq!((bench.session().alarm, bench.status()), (alarm, SessionStatus::Suspended));
    // A back-off ends at the same time as before.
    let bench = Bench::new();
    bench.say("hi");
    bench.run().model_fails(overloaded(None));
    let alarm = bench.session().alarm;
    let run =
        Run::new(&bench, holdover_core::engine::StepIterator::end(bench.claim_now(), bench.facts()).unwrap());
    assert!(run.is_over());
    assert_eq!((bench.session().alarm, bench.status()), (alarm, SessionStatus::Suspended));
    // A session that a dead run left behind still has to be recovered.
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    bench.crash(run);
    let before = (bench.machine(), bench.transcript());
    assert_eq!(bench.end().outcome().kind().as_str(), "released");
    assert_eq!((bench.machine(), bench.transcript()), before);
    assert!(bench.is_due());
    bench.run().model(text("in doubt, then"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
    check::at_rest(&bench);
}

/// Requirements: C61.
#[test]
fn b42_a_stop_ends_the_model_call_first_then_the_calls_with_the_reason_and_says_so_last() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.hold("commit");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    let out: Vec<&str> = run.out.iter().map(crate::run::kind_of).collect();
    let place = |kind: &str| out.iter().position(|out| *out == kind);
    assert!(place("stop_model").is_some() && place("stop_model") < place("commit"), "{out:?}");
    assert_eq!(run.steps.machine().state.status_at_rest(), SessionStatus::Interrupted, "decided at once");
    run.let_go("commit");
    assert!(run.is_over());

    let bench = Bench::new();
    bench.say("go");
    bench.run().model(calls(&["edit", "ask"]));
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.end().is_over());
    assert!(bench.results().iter().all(|result| result.content.contains("user:cancelled")));
    let told: Vec<&str> = check::events(&bench)
        .iter()
        .filter_map(|event| match event {
            holdover_core::event::Event::Call { is, .. } if is == "cancelled" => Some("cancelled"),
            holdover_core::event::Event::Done { .. } => Some("done"),
            _ => None,
        })
        .collect();
    assert_eq!(told, ["cancelled", "cancelled", "done"]);
}
