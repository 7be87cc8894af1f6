//! Known mistakes of similar engines, each with a test that would expose it. The seventh, a validator that stops at the
//! first of several faults, is tested beside the table: `trap_a_validator_finds_all_that_is_wrong_at_once` in
//! `core/src/machine/tests/validation.rs`.

use std::time::Duration;

use holdover_core::engine::{Action, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::payload::Payload;
use holdover_core::store::{InterruptKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, text};

/// Trap: an off-by-one error lets a limit of three steps run two, or four.
#[test]
fn trap_a_limit_of_three_steps_lets_three_run_and_no_fourth() {
    let bench = Bench::with(|agent| agent.limits.max_steps = 3);
    bench.say("look again and again");
    let mut run = bench.run();
    for step in 1..=3 {
        run.model(calls(&[&format!(r#"look:{{"page": {step}}}"#)]));
        run.returns(&format!("c{step}-0"), "seen");
    }
    assert!(run.is_over() && !run.is_out("call_model"), "no fourth model call");
    drop(run);
    assert_eq!(bench.statuses(), [ResultStatus::Done; 3], "the tools of the last one ran");
    assert_eq!(bench.dones(), [DoneReason::MaxTurns]);
    check::at_rest(&bench);
}

/// Trap: a denial drops the calls that were queued behind it.
#[test]
fn trap_a_denial_drops_nothing_that_was_queued_behind_it() {
    let bench = Bench::new();
    bench.say("edit, and then all that touches everything");
    bench.run().model(calls(&["edit", "serial", "serial"]));
    bench.deny(&bench.asked());
    let mut run = bench.run();
    for call in ["c1-1", "c1-2"] {
        assert_eq!(run.calls_out(), [call], "one after the other");
        run.returns(call, "done");
    }
    run.model(text("a pity"));
    drop(run);
    assert_eq!(bench.statuses(), [ResultStatus::RejectedByUser, ResultStatus::Done, ResultStatus::Done]);
    check::at_rest(&bench);
}

/// Trap: the wait for a decision fails, and the call runs without it.
#[test]
fn trap_a_decision_that_does_not_come_or_cannot_be_read_lets_nothing_run() {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    let asked = bench.asked();
    bench.answer_with(&asked.id, Payload::new("neither yes nor no"));
    let run = bench.run();
    assert_eq!(run.calls_out(), Vec::<String>::new());
    drop(run);
    assert_ne!(bench.asked().id, asked.id, "it is asked for again");
    bench.clock.pass(Duration::from_secs(30 * 60));
    bench.run().model(text("nobody answers"));
    assert_eq!((bench.sent("c1-0"), bench.statuses()), (0, vec![ResultStatus::Error]));
    check::at_rest(&bench);
}

/// Trap: a cancelled turn is overwritten as idle by the run that was just ending.
#[test]
fn trap_a_cancelled_turn_is_not_written_over_as_idle() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look"]));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.returns("c1-0", "seen");
    assert!(run.is_over());
    drop(run);
    assert!(bench.claim().is_none(), "nobody has anything to write");
    assert_eq!((bench.status(), bench.dones()), (SessionStatus::Interrupted, vec![DoneReason::UserAbort]));
    check::at_rest(&bench);
}

/// Trap: surroundings that were only half provisioned are never freed, because provisioning failed.
#[test]
fn trap_teardown_is_not_skipped_when_provisioning_fails_half_way() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("hi");
    let mut run = bench.run();
    let Action::Provision { id, .. } = run.take("provision") else { unreachable!() };
    run.apply(Reply::Provisioned { id, result: Err(ErrorInfo::new("provision.full", "no room")) });
    run.perform("tear_down");
    assert!(run.is_over());
    drop(run);
    assert_eq!(bench.dones(), [DoneReason::Error], "and the failure is not hidden");
    check::at_rest(&bench);
}

/// Trap: a turn that waits is taken for one that has ended.
#[test]
fn trap_a_parked_turn_is_not_a_stopped_one() {
    let bench = Bench::with(|agent| agent.limits.answer_timeout_ms = None);
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    assert_eq!((bench.status(), bench.dones()), (SessionStatus::Suspended, vec![]));
    bench.clock.pass(Duration::from_secs(21 * 24 * 3_600));
    assert!(bench.claim().is_none(), "nothing runs while it waits");
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    drop(run);
    assert_eq!((bench.statuses(), bench.dones()), (vec![ResultStatus::Done], vec![DoneReason::ModelStop]));
    assert_eq!(bench.machine().turn.number.0, 1, "it is still the same turn");
    check::at_rest(&bench);
}
