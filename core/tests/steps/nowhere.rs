//! Runs that could make no progress.
//!
//! Requirements: C03, C04.

use std::sync::Arc;

use holdover_core::agent::AgentSpec;
use holdover_core::engine::{Action, Reply, RunOutcome, StepIterator};
use holdover_core::machine::{AgentState, CallState, Machine};
use holdover_core::message::ResultStatus;
use holdover_core::payload::Payload;
use holdover_core::store::{Claim, CommitOutcome, SessionStatus, StateStore};

use crate::bench::{Bench, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Drives a run that needs no model and no tool to its exit, without checking the invariants of its state.
fn drive(bench: &Bench, claim: Claim) -> RunOutcome {
    let mut steps = StepIterator::start(claim, bench.agent.clone(), bench.facts()).expect("it reads");
    loop {
        match steps.next_action() {
            Action::Exit(outcome) => return outcome,
            Action::Commit { id, commit } => {
                let saved = bench.store.commit(steps.fence(), *commit);
                let outcome = now(saved).unwrap();
                assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
                steps.apply(Reply::Committed { id, outcome: Ok(outcome) }, bench.facts());
            }
            read @ Action::Read { .. } => {
                let reply = Run::reads(bench, steps.fence(), read);
                steps.apply(reply, bench.facts());
            }
            // The call is in flight nowhere, so nothing answers this action.
            Action::StopCalls { .. } => {}
            other => panic!("it waits: {other:?} in {:?}", steps.machine()),
        }
    }
}

/// Claims a session that waits for a person without a deadline, and changes its state with `change`.
fn doctored(bench: &Bench, change: impl FnOnce(&mut Machine, &mut Claim)) -> Claim {
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    let mut claim = bench.claim_now();
    let mut machine = bench.machine();
    change(&mut machine, &mut claim);
    claim.session.state = Some(Payload::json(&machine).unwrap());
    claim
}

fn for_ever() -> Bench {
    Bench::with(|agent| {
        agent.limits.answer_timeout_ms = None;
        // A limit on the time of a turn would wake the session too.
        agent.limits.max_run_ms = None;
    })
}

#[test]
fn c04_a_call_that_is_out_nowhere_ends_the_turn_on_an_error() {
    let bench = for_ever();
    let claim = doctored(&bench, |machine, _| {
        let AgentState::Confirming { mut batch } = machine.state.clone() else { panic!("it waits") };
        // The call is in flight nowhere. The session was not found active, so nothing recovers the call.
        batch.calls[0].state = CallState::Executing;
        machine.state = AgentState::Executing { batch };
    });
    let RunOutcome::Ended(ending) = drive(&bench, claim) else { panic!("it ends") };
    assert_eq!(ending.error.unwrap().code, "engine.no_progress");
}

#[test]
fn c04_an_answer_that_nobody_can_give_ends_the_turn_on_an_error() {
    let bench = for_ever();
    let claim = doctored(&bench, |_, claim| claim.pending.clear());
    let RunOutcome::Ended(ending) = drive(&bench, claim) else { panic!("it ends") };
    assert_eq!(ending.error.unwrap().code, "engine.no_progress");

    // The same session with its pending call goes on waiting.
    let bench = for_ever();
    let claim = doctored(&bench, |_, _| {});
    assert!(matches!(drive(&bench, claim), RunOutcome::Suspended(_)));
}

#[test]
fn c04_a_call_whose_tool_is_gone_is_told_to_the_model() {
    let bench = Bench::new();
    bench.say("edit, then do more");
    bench.run().model(calls(&["edit", "serial"]));
    assert!(bench.approve(&bench.asked()).is_in());
    let mut agent = AgentSpec::clone(&bench.agent);
    agent.tools.retain(|tool| tool.name.as_str() != "serial");
    let claim = bench.claim().expect("the session is due");
    let mut run = Run::new(&bench, StepIterator::start(claim, Arc::new(agent), bench.facts()).unwrap());
    run.returns("c1-0", "edited");
    run.model(text("so be it"));
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::Error]);
    assert!(bench.results()[1].content.contains("there is no tool serial any more"));
    assert_eq!(bench.sent("c1-1"), 0);
    check::at_rest(&bench);
}

/// Requirements: C03.
#[test]
fn what_the_machine_does_not_take_ends_the_turn_and_loses_no_run() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "put", "look"]));
    run.returns("c1-0", "noted");
    run.returns("c1-1", "put");
    bench.crash(run);
    let mut claim = bench.claim().expect("the session is due");
    assert_eq!(claim.session.staged.results.len(), 2);
    let mut machine = bench.machine();
    let AgentState::Executing { batch } = &mut machine.state else { panic!("calls are out") };
    // In this state neither call was sent, yet both have staged results. The machine refuses both inputs.
    batch.calls[0].state = CallState::Gating;
    batch.calls[1].state = CallState::Gating;
    claim.session.state = Some(Payload::json(&machine).unwrap());
    let RunOutcome::Ended(ending) = drive(&bench, claim) else { panic!("it ends") };
    assert_eq!(ending.error.unwrap().code, "engine.refused");
    assert_eq!(bench.status(), SessionStatus::Failed);
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::Done, ResultStatus::Cancelled]);
}
