//! Runs that panicked, and the runs that end their turns under the same claim.
//!
//! Requirements: A20, C50.

use holdover_core::engine::{RunOutcome, StepIterator};
use holdover_core::error::ErrorInfo;
use holdover_core::message::ResultStatus;
use holdover_core::store::{Claim, ClaimOne, ClaimOutcome, SessionStatus, StateStore};

use crate::bench::{Bench, LEASE, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns the run that ends the turn of `claim`, whose run panicked.
fn stands_in<'b>(bench: &'b Bench, claim: &Claim, held: &[&'static str]) -> Run<'b> {
    let again = ClaimOne { run: claim.run.clone(), ..bench.claim_one(Vec::new()) };
    let mut claim = match now(bench.store.claim_session(&bench.key, again)).unwrap() {
        ClaimOutcome::Claimed(claim) => *claim,
        other => panic!("not claimed: {other:?}"),
    };
    claim.found = SessionStatus::Active;
    let error = ErrorInfo::new("engine.panicked", "out of cheese");
    let steps = StepIterator::fail(claim, bench.agent.clone(), error, bench.facts()).expect("it reads");
    Run::with(bench, steps, held.to_vec())
}

/// Creates a session whose only call was approved.
fn approved() -> Bench {
    let bench = Bench::new();
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.approve(&bench.asked());
    bench
}

#[test]
fn a20_what_ends_the_turn_of_a_run_is_never_taken_for_what_that_run_wrote() {
    let bench = approved();
    let claim = bench.claim().expect("due");
    let written = bench.writes.borrow().len();
    let run = bench.start(claim.clone());
    assert_eq!(
        (run.calls_out().as_slice(), bench.writes.borrow().len()),
        (["c1-0".into()].as_slice(), written + 1)
    );
    drop(run);
    let run = stands_in(&bench, &claim, &[]);
    let RunOutcome::Ended(ending) = run.outcome() else { panic!("{:?}", run.outcome()) };
    assert_eq!(ending.error.as_ref().map(|error| error.code.as_str()), Some("engine.panicked"));
    assert_eq!((bench.status(), bench.statuses()), (SessionStatus::Failed, vec![ResultStatus::InDoubt]));
    check::at_rest(&bench);
}

#[test]
fn a20_a_write_that_arrives_after_its_run_panicked_leaves_the_turn_to_the_next_run() {
    let bench = approved();
    let claim = bench.claim().expect("due");
    let mut run = Run::holding(&bench, claim.clone(), &["commit"]);
    let mut ends = stands_in(&bench, &claim, &["commit"]);
    run.perform_silently("commit");
    ends.let_go("commit");
    assert_eq!((ends.outcome(), bench.status()), (&RunOutcome::Lost, SessionStatus::Active));
    bench.clock.pass(LEASE);
    bench.run().model(text("who knows"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
    check::at_rest(&bench);
}
