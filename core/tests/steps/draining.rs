//! Runs that are told to leave their session to another run.
//!
//! After a run is told to start nothing more, `run.rs` checks that each of its actions is allowed.

use std::time::Duration;

use holdover_core::agent::{AgentSpec, Compaction};
use holdover_core::engine::{Action, Drain, Reply, RunKind, RunOutcome};
use holdover_core::error::ErrorInfo;
use holdover_core::event::Event;
use holdover_core::hook::HookPoint;
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::store::{InterruptKind, OutcomeKind, SessionStatus};
use holdover_core::time::Clock;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

fn asked(bench: &Bench) -> Run<'_> {
    bench.say("go");
    let mut run = bench.run();
    if run.is_out("provision") {
        run.perform("provision");
    }
    run
}

/// Checks that the run left the session suspended and due at once, and that no call is owed an answer.
fn left(bench: &Bench, run: Run<'_>) {
    match run.outcome() {
        RunOutcome::Suspended(left) => {
            assert_eq!((left.kind, left.until), (OutcomeKind::SuspendedUntil, Some(bench.clock.now())));
            assert!(left.owed.is_empty(), "{left:?}");
        }
        other => panic!("not left to another: {other:?}"),
    }
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Suspended, true));
    assert!(bench.session().staged.starts.is_empty(), "{:?}", bench.session().staged);
    let told = check::events(bench).into_iter().filter(|event| matches!(event, Event::Suspended { .. }));
    assert_eq!(told.count(), 1);
}

/// Starts another run, which finds a suspended session and not a dead run.
fn goes_on(bench: &Bench) -> Run<'_> {
    let claim = bench.claim().expect("due at once");
    assert_eq!((claim.found, claim.session.attempts), (SessionStatus::Suspended, 0));
    bench.start(claim)
}

#[test]
fn once_told_to_leave_nothing_starts_and_what_is_out_is_staged() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.model(calls(&["pay", "bill"]));
    assert_eq!(run.calls_out(), ["c1-0"], "the second waits for the first");
    run.drain(Drain::Calls);
    assert!(!run.is_over(), "what is out is waited for");
    run.returns("c1-0", "paid");
    left(&bench, run);
    assert_eq!(bench.session().staged.results.len(), 1);

    let mut run = goes_on(&bench);
    run.returns("c1-1", "billed");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2], "nothing is in doubt");
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (1, 1));
    let kinds: Vec<_> = bench.runs().into_iter().map(|run| RunKind::of(&run)).collect();
    assert!(!kinds.contains(&Some(RunKind::Recovery)), "{kinds:?}");
    check::at_rest(&bench);
}

#[test]
fn a_start_mark_that_was_on_its_way_is_taken_back() {
    for first in ["commit", "stage"] {
        let bench = Bench::new();
        let mut run = asked(&bench);
        let call = if first == "commit" {
            run.hold("commit");
            run.model(calls(&["pay"]));
            "c1-0"
        } else {
            run.model(calls(&["pay", "bill"]));
            run.hold("stage");
            run.returns("c1-0", "paid");
            "c1-1"
        };
        assert!(run.is_out(first), "the mark is on its way");
        run.drain(Drain::Calls);
        run.let_go(first);
        assert_eq!((run.is_over(), bench.sent(call)), (true, 0));
        left(&bench, run);
        let mut run = goes_on(&bench);
        run.returns(call, "paid");
        run.model(text("done"));
        assert!(
            bench.statuses().iter().all(|status| *status == ResultStatus::Done),
            "{:?}",
            bench.statuses()
        );
        if first == "stage" {
            assert_eq!(starts(&bench, call), 1, "nobody was told before that it starts");
        }
        check::at_rest(&bench);
    }
}

/// Returns the number of events that report the start of this call.
fn starts(bench: &Bench, of: &str) -> usize {
    let starts = |event: &Event| matches!(event, Event::Call { call, is, .. } if call.as_str() == of && is == "executing");
    check::events(bench).iter().filter(|event| starts(event)).count()
}

#[test]
fn a_call_that_was_not_sent_after_all_is_left_to_the_next_run() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.model(calls(&["pay"]));
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.drain(Drain::Calls);
    run.come_back_unsent("c1-0");
    left(&bench, run);
    assert_eq!(bench.machine().usage.tool_calls, 0);
    let mut run = goes_on(&bench);
    run.returns("c1-0", "paid");
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.machine().usage.tool_calls), (vec![ResultStatus::Done], 1));
    check::at_rest(&bench);

    // If the turn is stopped meanwhile, the call is cancelled, because it was never sent.
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.model(calls(&["pay"]));
    run.drain(Drain::Calls);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.come_back_unsent("c1-0");
    assert_eq!(run.outcome().kind(), OutcomeKind::Interrupted);
    assert_eq!(bench.statuses(), [ResultStatus::Cancelled]);
    check::at_rest(&bench);
}

#[test]
fn an_answer_that_is_being_written_is_taken_whole_and_its_calls_wait() {
    let bench = Bench::with(|agent| agent.early_reads = true);
    let mut run = asked(&bench);
    run.drain(Drain::Calls);
    assert!(!run.is_over(), "the answer is waited for");
    run.model_writes(&["look"]);
    assert!(run.begun().is_empty(), "no read begins early any more");
    run.model(calls(&["look", "pay", "edit"]));
    left(&bench, run);
    assert_eq!(bench.roles(), ["user", "assistant"]);
    assert!(bench.pending().is_empty(), "the gate was not asked");

    let mut run = goes_on(&bench);
    run.returns("c1-0", "seen");
    run.returns("c1-1", "paid");
    assert!(run.is_over(), "a person decides on the third");
    bench.deny(&bench.asked());
    let mut run = bench.run();
    run.model(text("done"));
    assert_eq!(bench.sent("c1-1"), 1);
    check::at_rest(&bench);
}

#[test]
fn c53_surroundings_that_fail_in_a_run_that_leaves_are_prepared_by_the_next_run() {
    for drain in [Drain::Calls, Drain::Step, Drain::Turn] {
        let bench = Bench::with(|agent| agent.provisions = true);
        bench.say("go");
        let mut run = bench.run();
        let Action::Provision { id, .. } = run.take("provision") else { unreachable!() };
        run.drain(drain);
        run.apply(Reply::Provisioned { id, result: Err(ErrorInfo::new("provision.full", "no room")) });
        if drain == Drain::Turn {
            run.perform("tear_down");
            assert_eq!(bench.dones(), [DoneReason::Error], "the turn goes on to its end here");
            continue;
        }
        left(&bench, run);
        let mut run = goes_on(&bench);
        run.perform("provision");
        run.model(text("done"));
        run.perform("tear_down");
        assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        check::at_rest(&bench);
    }
}

#[test]
fn wherever_it_is_told_the_turn_is_left_and_goes_on() {
    let surroundings = |agent: &mut AgentSpec| {
        agent.provisions = true;
        agent.hooks = [HookPoint::AfterStep].into();
    };
    // The run is told before anything is provisioned.
    let bench = Bench::with(surroundings);
    bench.say("go");
    let mut run = Run::holding(&bench, bench.claim().unwrap(), &["commit"]);
    run.drain(Drain::Calls);
    run.let_go("commit");
    left(&bench, run);
    let mut run = goes_on(&bench);
    run.perform("provision");
    // The run is told before the model answers: the hooks are not asked about the step.
    run.drain(Drain::Calls);
    run.model(calls(&["look"]));
    left_again(&bench, run);
    let mut run = goes_on(&bench);
    run.returns("c1-0", "seen");
    assert!(run.is_out("run_hooks"));
    // The run is told while the hooks are asked: it waits for them, but does not call the model.
    run.drain(Drain::Calls);
    run.perform("run_hooks");
    left_again(&bench, run);
    let mut run = goes_on(&bench);
    run.model(text("done"));
    run.perform("run_hooks");
    // The outcome of the turn is fixed. Another run frees its surroundings, unless this run has already begun to.
    assert!(run.is_out("tear_down"));
    run.drain(Drain::Calls);
    run.perform("tear_down");
    assert_eq!(run.outcome().kind(), OutcomeKind::Completed);
    check::at_rest(&bench);
}

/// Checks that the run left the session suspended and due at once, as [`left`] does, if the session was left before.
fn left_again(bench: &Bench, run: Run<'_>) {
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Suspended, true));
}

#[test]
fn what_a_turn_holds_is_freed_by_whoever_goes_on() {
    let bench = Bench::with(|agent| agent.provisions = true);
    let mut run = asked(&bench);
    run.drain(Drain::Calls);
    run.model(text("done"));
    left(&bench, run);
    assert!(bench.dones().is_empty());
    let mut run = goes_on(&bench);
    run.perform("tear_down");
    assert_eq!(run.outcome().kind(), OutcomeKind::Completed);
    check::at_rest(&bench);
}

#[test]
fn to_the_end_of_the_step_its_calls_start_and_no_other_step_begins() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.drain(Drain::Step);
    run.model_fails(overloaded(Some(Duration::from_millis(300))));
    run.perform("sleep");
    run.model(calls(&["pay", "bill"]));
    run.returns("c1-0", "paid");
    run.returns("c1-1", "billed");
    left(&bench, run);
    assert_eq!(bench.machine().step.0, 2);
    let mut run = goes_on(&bench);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn to_the_end_of_the_turn_it_goes_on_and_no_other_turn_begins() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    bench.say("before");
    bench.run().model(text("done"));
    let mut run = asked(&bench);
    run.drain(Drain::Turn);
    run.model(calls(&["pay"]));
    run.returns("c2-0", "paid");
    run.model(text("done"));
    assert_eq!(run.outcome().kind(), OutcomeKind::Completed);
    check::at_rest(&bench);

    // A run that has begun nothing leaves the turn to another run, whichever way it is told to drain.
    for drain in [Drain::Calls, Drain::Step, Drain::Turn] {
        bench.compact();
        bench.say("again");
        let mut run = bench.run();
        assert!(run.is_out("summarise"), "what was asked for at rest comes first");
        run.drain(drain);
        run.summarise("all of it");
        assert_eq!((run.outcome(), bench.status()), (&RunOutcome::Released, SessionStatus::Idle));
        let mut run = bench.run();
        run.model(text("done"));
        check::at_rest(&bench);
    }
}

#[test]
fn the_nearer_place_counts() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.drain(Drain::Calls);
    run.drain(Drain::Turn);
    run.model(calls(&["pay"]));
    left(&bench, run);
}

#[test]
fn a_stop_is_heeded_while_the_run_waits_for_what_is_out() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.model(calls(&["pay"]));
    run.drain(Drain::Calls);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_out("stop_calls"));
    run.returns("c1-0", "paid");
    assert_eq!(run.outcome().kind(), OutcomeKind::Interrupted);
    check::at_rest(&bench);
}

#[test]
fn what_waits_parks_as_ever_and_no_short_wait_is_slept_through() {
    let bench = Bench::new();
    let mut run = asked(&bench);
    run.drain(Drain::Calls);
    run.model_fails(overloaded(Some(Duration::from_millis(300))));
    assert_eq!(run.outcome().kind(), OutcomeKind::SuspendedUntil);
    assert_eq!(bench.alarm_in(), Some(Duration::from_millis(300)), "no sooner than the service asked");
    bench.clock.pass(Duration::from_millis(300));
    let mut run = goes_on(&bench);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn old_results_are_not_put_in_short_by_a_run_that_leaves() {
    let bench = Bench::with(|agent| {
        agent.compaction =
            Compaction::default().clear_results_over(1).kept_results(1).summarise_results(true);
    });
    let mut run = asked(&bench);
    run.model(calls(&["look", "look"]));
    run.returns("c1-0", "seen");
    run.drain(Drain::Calls);
    run.returns("c1-1", "seen");
    left(&bench, run);
    let mut run = goes_on(&bench);
    run.model(text("done"));
    check::at_rest(&bench);
}
