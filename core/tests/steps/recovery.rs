//! Runs that die, and the runs that take over from them.
//!
//! Requirements: A20, B12, B46, C33, C47, C51, C55.

use std::time::Duration;

use holdover_core::engine::{ATTEMPTS_MAX, Found, Reply, RunOutcome};
use holdover_core::error::ErrorInfo;
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::payload::Payload;
use holdover_core::store::{
    Applied, CommitOutcome, InterruptKind, NewSession, OutcomeKind, SessionStatus, Start,
};
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Lets runs die as soon as they have begun, until the session rests. Returns the number of deaths.
fn die_until_it_rests(bench: &Bench) -> u32 {
    for deaths in 0..20 {
        let run = bench.run();
        if run.is_over() {
            return deaths;
        }
        bench.crash(run);
    }
    panic!("it kills every run for ever: {:?}", bench.session())
}

/// Requirements: C51.
#[test]
fn a_session_that_kills_every_run_is_ended_as_poisoned() {
    // The runs die in the model call, in an idempotent call, or during provisioning.
    for provisions in [false, true] {
        for call in [false, true] {
            let bench = Bench::with(|agent| agent.provisions = provisions && !call);
            bench.say("go");
            if call {
                let mut run = bench.run();
                run.model(calls(&["put"]));
                bench.crash(run);
            }
            let deaths = die_until_it_ends(&bench);
            let expected = if call { ATTEMPTS_MAX - 1 } else { ATTEMPTS_MAX };
            assert_eq!(deaths, expected, "provisions: {provisions}, call: {call}");
            assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
            check::at_rest(&bench);
        }
    }
}

/// Does the same as [`die_until_it_rests`], and performs the teardown of the run that gives up.
fn die_until_it_ends(bench: &Bench) -> u32 {
    for deaths in 0..20 {
        let mut run = bench.run();
        if run.is_out("tear_down") {
            run.perform("tear_down");
        }
        if run.is_over() {
            return deaths;
        }
        bench.crash(run);
    }
    panic!("it kills every run for ever: {:?}", bench.session())
}

/// Requirements: C47.
#[test]
fn a_teardown_that_kills_every_run_is_given_up_and_the_outcome_stands() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    assert!(run.is_out("tear_down"));
    bench.crash(run);
    assert_eq!(die_until_it_rests(&bench), ATTEMPTS_MAX - 1);
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn runs_that_make_progress_may_die_as_often_as_they_like() {
    let bench = Bench::with(|agent| agent.loops.stop_at = 0);
    bench.say("go");
    for _ in 0..ATTEMPTS_MAX * 2 {
        let mut run = bench.run();
        run.model(calls(&["pay"]));
        bench.crash(run);
    }
    bench.run().model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
}

/// Requirements: C33.
#[test]
fn what_was_out_is_in_doubt_or_sent_again_by_its_class() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look", "put", "pay", "note"]));
    run.returns("c1-3", "noted");
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"]);
    run.returns("c1-0", "seen");
    run.returns("c1-1", "put");
    run.model(text("done"));
    use ResultStatus::{Done, InDoubt};
    assert_eq!(bench.statuses(), [Done, Done, InDoubt, Done]);
    let sends = bench.sends.borrow();
    let keys: Vec<&str> = sends
        .iter()
        .filter(|send| send.tool.as_str() == "put")
        .map(|send| send.idempotency_key.as_str())
        .collect();
    assert_eq!(keys.len(), 2);
    assert_eq!(keys[0], keys[1]);
    drop(sends);
    check::at_rest(&bench);
}

#[test]
fn a_read_that_was_sent_before_its_step_was_durable_shares_its_key_with_no_other_call() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look:{\"at\": 1}"]));
    bench.crash(run);
    let mut run = bench.run();
    run.model(calls(&["look:{\"at\": 2}"]));
    let keys: Vec<String> = bench.sends.borrow().iter().map(|send| send.idempotency_key.clone()).collect();
    assert_eq!(keys.len(), 2);
    assert_ne!(keys[0], keys[1], "the model thought again, and asked for something else (INV-14)");
}

#[test]
fn an_idempotent_call_that_was_out_and_is_stopped_before_it_is_sent_again_is_in_doubt() {
    for with_agent in [true, false] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["put", "look"]));
        bench.interrupt(InterruptKind::Soft);
        bench.crash(run);
        let run = if with_agent { bench.run() } else { bench.end() };
        assert!(run.is_over());
        assert_eq!(bench.statuses(), [ResultStatus::InDoubt, ResultStatus::Cancelled]);
        check::at_rest(&bench);
    }
}

#[test]
fn an_idempotent_call_that_was_sent_twice_and_did_not_act_the_second_time_is_in_doubt_when_stopped() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["put"]));
    bench.crash(run);
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.comes_back("c1-0", Err(ToolError::NotRun("it had not begun".into())));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
}

/// Requirements: B46.
#[test]
fn a_dangerous_call_that_was_approved_and_not_started_is_cancelled_on_recovery() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "wipe"]));
    bench.approve(&bench.asked());
    run.news();
    assert_eq!(run.calls_out(), ["c1-0"], "the approved call waits for the one before it");
    bench.crash(run);
    let mut run = bench.run();
    run.model(text("a pity"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt, ResultStatus::Cancelled]);
    assert!(bench.results()[1].content.contains("system:safety"));
    assert_eq!(bench.sent("c1-1"), 0);
    check::at_rest(&bench);
}

/// Requirements: C55.
#[test]
fn a_takeover_that_finds_nothing_to_do_comes_to_rest() {
    let claimed = |new: &mut NewSession| {
        let run = holdover_core::ids::RunId::new("first").unwrap();
        let worker = holdover_core::ids::WorkerId::new("w").unwrap();
        new.start = Start::Claimed(holdover_core::store::ClaimOne {
            run,
            worker,
            lease: crate::bench::LEASE,
            expected_version: None,
            items: Vec::new(),
        });
    };
    let bench = Bench::create(|_| {}, claimed);
    bench.clock.pass(crate::bench::LEASE);
    assert_eq!(bench.run().outcome(), &RunOutcome::Released);
    assert_eq!(
        (bench.status(), bench.is_due()),
        (SessionStatus::Idle, false),
        "nobody needs to claim it again"
    );
    bench.say("hi");
    bench.run().model(text("hello"));
    check::at_rest(&bench);
}

#[test]
fn a_session_that_was_moved_to_suspended_without_a_word_comes_to_rest_as_it_was() {
    let bench = Bench::new();
    bench.say("hi");
    bench.run().model_fails(holdover_core::model::ModelError::new(
        holdover_core::model::ModelErrorKind::Auth,
        "the key is wrong",
    ));
    bench.retry_by_status(false);
    assert!(bench.is_due());
    bench.run();
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Failed, false));
}

#[test]
fn a_session_at_rest_that_a_dead_run_left_can_be_taken_up_by_a_word() {
    let bench = Bench::new();
    bench.say("hi");
    drop(bench.claim().unwrap());
    bench.clock.pass(crate::bench::LEASE);
    bench.run().model(text("hello"));
    assert_eq!(bench.roles(), ["user", "assistant"]);
    let kinds: Vec<OutcomeKind> = bench.runs().iter().map(|run| run.end.as_ref().unwrap().outcome).collect();
    assert_eq!(kinds.iter().filter(|kind| **kind == OutcomeKind::Lost).count(), 1);
    check::at_rest(&bench);
}

#[test]
fn a_store_that_refuses_ends_the_turn_from_what_it_holds_and_what_was_sent_is_in_doubt() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay", "note", "look", "edit"]));
    run.hold("stage");
    run.returns("c1-1", "noted");
    run.write_fails();
    assert!(run.is_over());
    use ResultStatus::{Cancelled, InDoubt};
    assert_eq!(bench.statuses(), [InDoubt, InDoubt, Cancelled, Cancelled]);
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
    check::at_rest(&bench);
}

#[test]
fn what_was_staged_is_the_result_although_the_commit_of_its_step_was_refused() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay"]));
    run.returns("c1-0", "noted");
    run.hold("commit");
    run.returns("c1-1", "paid");
    run.write_fails();
    run.let_go("commit");
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::InDoubt]);
    assert_eq!(bench.dones(), [DoneReason::Error]);
    check::at_rest(&bench);
}

#[test]
fn a_call_whose_mark_the_store_refused_was_never_sent() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.hold("commit");
    run.model(calls(&["pay"]));
    run.write_fails();
    run.let_go("commit");
    assert_eq!(bench.sends.borrow().len(), 0);
    assert_eq!((bench.roles(), bench.dones()), (vec!["user"], vec![DoneReason::Error]), "the step never was");
    check::at_rest(&bench);
}

#[test]
fn an_answer_of_the_model_that_comes_after_the_store_refused_disturbs_nothing() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(calls(&["note"]));
    run.hold("commit");
    run.returns("c1-0", "noted");
    // The commit with the results is in flight while the model is called.
    assert!(run.is_out("call_model"));
    run.write_fails();
    run.let_go("commit");
    assert!(run.is_out("tear_down"));
    run.model(text("what I would have said"));
    run.perform("tear_down");
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt]);
    check::at_rest(&bench);
}

#[test]
fn what_is_still_to_be_freed_is_freed_although_the_store_refused() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    bench.interrupt(InterruptKind::Soft);
    bench.crash(run);
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit"]);
    run.write_fails();
    run.let_go("commit");
    run.perform("tear_down");
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn a_message_that_was_read_before_the_store_refused_starts_the_next_turn() {
    let bench = Bench::with(|agent| agent.provisions = true);
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(calls(&["note", "pay"]));
    run.hold("stage");
    bench.say("one");
    run.news();
    run.hold("read");
    bench.retry();
    run.news();
    run.returns("c1-0", "noted");
    run.write_fails();
    assert!(run.is_out("tear_down"));
    // The read in flight returns items that arrived after the message.
    run.let_go("read");
    run.perform("tear_down");
    assert!(run.is_over());
    assert!(bench.is_due(), "a message waits");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("yes"));
    run.perform("tear_down");
    assert_eq!(bench.roles().iter().filter(|role| **role == "user").count(), 2);
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}

/// Lets a run die with a call in flight. The next run reads the transcript as `spoil` has changed it.
fn check_unreadable(spoil: impl FnOnce(&mut Result<Found, ErrorInfo>)) {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "pay"]));
    run.returns("c1-0", "done");
    assert_eq!(run.calls_out(), ["c1-1"], "its mark is staged, the state does not know of it");
    bench.crash(run);
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["read"]);
    let Reply::Read { id, mut result } = run.perform_silently("read") else { panic!() };
    spoil(&mut result);
    run.apply(Reply::Read { id, result });
    assert!(run.is_over());
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::InDoubt]);
    assert_eq!(bench.dones(), [DoneReason::Error]);
    check::at_rest(&bench);
}

#[test]
fn a_transcript_that_cannot_be_read_ends_the_turn_and_hides_no_call_that_was_sent() {
    check_unreadable(|result| result.as_mut().unwrap().messages[0].payload = Payload::new("rot"));
}

/// Requirements: A20.
#[test]
fn a_row_that_cannot_be_read_ends_the_turn_and_is_not_taken_over_for_ever() {
    check_unreadable(|result| {
        *result = Err(ErrorInfo::new("store.corrupt", "message 2 is not what was written"));
    });
}

#[test]
fn an_edited_call_that_is_ended_without_its_agent_keeps_what_was_edited() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.edit(&bench.asked(), "{\"place\": \"here\"}");
    let run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0"]);
    bench.interrupt(InterruptKind::Soft);
    bench.crash(run);
    bench.end();
    let result = &bench.results()[0];
    assert_eq!(result.status, ResultStatus::InDoubt);
    assert_eq!(result.edited_arguments.as_deref(), Some("{\"place\": \"here\"}"));
}

/// Requirements: C55.
#[test]
fn a_run_whose_fence_is_old_is_lost_and_says_nothing_more() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    bench.clock.pass(crate::bench::LEASE);
    let mut other = bench.run();
    run.model(text("too late"));
    assert_eq!(run.outcome(), &RunOutcome::Lost);
    other.model(text("in time"));
    assert_eq!(bench.transcript().len(), 2);
    check::at_rest(&bench);
}

#[test]
fn a_lease_that_is_lost_ends_the_run_at_once() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.apply(Reply::LeaseLost);
    assert_eq!(run.outcome(), &RunOutcome::Lost);
}

#[test]
fn a_last_commit_that_landed_although_another_run_came_has_its_outcome() {
    for (applied, outcome) in [
        (Applied::Yes, OutcomeKind::Completed),
        (Applied::No, OutcomeKind::Lost),
        (Applied::Unknown, OutcomeKind::Lost),
    ] {
        let bench = Bench::new();
        bench.say("hi");
        let mut run = bench.run();
        run.hold("commit");
        run.model(text("hello"));
        let Reply::Committed { id, .. } = run.perform_silently("commit") else { panic!() };
        run.apply(Reply::Committed { id, outcome: Ok(CommitOutcome::StaleFence { applied }) });
        assert_eq!(run.outcome().kind(), outcome);
    }
}

#[test]
fn an_earlier_commit_that_landed_under_an_old_fence_is_lost() {
    let bench = Bench::new();
    bench.say("hi");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["commit"]);
    let Reply::Committed { id, .. } = run.perform_silently("commit") else { panic!() };
    run.apply(Reply::Committed { id, outcome: Ok(CommitOutcome::StaleFence { applied: Applied::Yes }) });
    assert_eq!(run.outcome(), &RunOutcome::Lost);
}

/// Requirements: B12.
#[test]
fn late_and_double_and_unknown_replies_change_nothing() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay", "edit"]));
    let again = run.come_back("c1-0", Ok(ToolOutput::text("noted").into()));
    run.apply(again.clone());
    let before = (run.steps.machine().clone(), bench.writes.borrow().len());
    let unknown = holdover_core::engine::ActionId(999);
    let error = || ErrorInfo::new("x", "x");
    let late = holdover_core::engine::ActionId(1);
    for id in [unknown, late] {
        for reply in [
            Reply::Committed { id, outcome: Err(error()) },
            Reply::Staged { id, outcome: Err(error()) },
            Reply::Read { id, result: Err(error()) },
            Reply::Provisioned { id, result: Err(error()) },
            Reply::ModelAnswered { id, result: Ok(text("again")) },
            Reply::Consulted { id, rulings: Vec::new() },
            Reply::Slept { id },
            Reply::TornDown { id, result: Ok(()) },
        ] {
            run.apply(reply);
        }
    }
    run.apply(again);
    let nobody = holdover_core::ids::CallId::new("c9-9").unwrap();
    let output = Ok(ToolReturn::After { delay: Duration::ZERO, output: ToolOutput::default() });
    run.apply(Reply::CallEnded { call: nobody, result: output.clone(), duration_ms: 1 });
    let parked = holdover_core::ids::CallId::new("c1-2").unwrap();
    run.apply(Reply::CallEnded { call: parked, result: output, duration_ms: 1 });
    run.apply(Reply::TimePassed);
    assert_eq!((run.steps.machine().clone(), bench.writes.borrow().len()), before);
}
