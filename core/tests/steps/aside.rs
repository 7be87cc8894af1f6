//! Sessions that a run could not read: they are set aside with a dead letter, and a version that can read them goes on.
//!
//! Requirements: C03.

use std::collections::BTreeSet;
use std::time::Duration;

use holdover_core::agent::Retries;
use holdover_core::engine::{
    Drain, RunKind, RunOutcome, STATE_FORMAT_ALONE, STATE_FORMAT_ASKING, StepIterator, set_aside,
};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{OperationId, TurnNumber};
use holdover_core::letter::{Letter, LetterCause};
use holdover_core::machine::DoneReason;
use holdover_core::message::{ResultStatus, SignalBody};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::payload::Payload;
use holdover_core::store::{
    Commit, CommitOutcome, Delivery, InterruptKind, NewState, OutcomeKind, PendingCall, PendingKind, Release,
    SessionStatus, StateStore,
};

use crate::bench::{Bench, LEASE, now};
use crate::check;
use crate::letters::{die, replay};
use crate::run::Run;
use crate::world::{calls, text};

/// Returns a state that no version knows, made from a known one.
fn dreaming(known: &Payload) -> Payload {
    let mut state: serde_json::Value = known.parse().unwrap();
    state["state"] = serde_json::json!({ "state": "dreaming" });
    Payload::json(&state).unwrap()
}

/// Claims the session, which must be due, by a run of a version that cannot read its state. Returns the known state.
fn find_unreadable(bench: &Bench) -> Payload {
    let mut claim = bench.claim().expect("the session is due");
    let known = claim.session.state.clone().unwrap();
    claim.session.state = Some(dreaming(&known));
    let (seen, format) = (bench.session(), claim.session.format);
    let error = StepIterator::start(claim.clone(), bench.agent.clone(), bench.facts()).unwrap_err();
    let commit = set_aside(&claim, &error, &bench.facts()).unwrap();
    assert!(commit.state.is_some() || format >= STATE_FORMAT_ASKING || !seen.staged.starts.is_empty());
    let written = now(bench.store.commit(&claim.fence, commit)).unwrap();
    assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
    let left = bench.session();
    assert_eq!(
        (left.status, left.alarm, left.lease),
        (SessionStatus::Failed, None, None),
        "nobody tries again"
    );
    assert_eq!((left.staged, left.last_message), (seen.staged, seen.last_message));
    known
}

/// Puts the known state back, as an operator or a newer version could, and leaves the session as it rests.
fn mend(bench: &Bench, known: &Payload) {
    if bench.session().state.as_ref() == Some(known) {
        return;
    }
    assert_eq!(bench.session().state, Some(dreaming(known)), "every byte was kept");
    let claim = bench.claim_now();
    let state = NewState { format: STATE_FORMAT_ASKING, payload: known.clone() };
    let release = Release::To { status: claim.found, deadline: None, wake_on: 0 };
    let operation = OperationId::new("mend").unwrap();
    let commit = Commit { state: Some(state), release: Some(release), ..Commit::new(operation) };
    let written = now(bench.store.commit(&claim.fence, commit)).unwrap();
    assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
}

fn the_letter(bench: &Bench) -> PendingCall {
    let mut letters: Vec<_> =
        bench.pending().into_iter().filter(|open| open.kind == PendingKind::DeadLetter).collect();
    assert_eq!(letters.len(), 1, "{letters:?}");
    letters.pop().unwrap()
}

/// Runs the session, which rests and is asked for a summary, until it rests again.
fn compacted(bench: &Bench) {
    let mut run = bench.run();
    if !run.is_over() {
        run.summarise("it was said to go");
    }
    assert!(run.is_over());
}

fn kinds(bench: &Bench) -> Vec<RunKind> {
    bench.runs().iter().filter_map(RunKind::of).collect()
}

#[test]
fn c03_an_answered_approval_is_kept_while_the_session_is_set_aside_and_its_replay_goes_on_with_the_turn() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    let asked = bench.asked();
    assert!(bench.approve(&asked).is_in());
    let known = find_unreadable(&bench);
    let letter = the_letter(&bench);
    let content = Letter::of(&letter).unwrap();
    assert_eq!((content.cause, content.turn), (LetterCause::Unreadable, TurnNumber(1)));
    assert_eq!(content.error.detail, "no handler for state `dreaming`");
    assert_eq!(bench.session().format, STATE_FORMAT_ASKING, "an older version would leave the letter open");
    let run = bench.runs().pop().unwrap().end.unwrap();
    assert_eq!(
        (run.outcome, run.detail.unwrap().parse::<ErrorInfo>().unwrap()),
        (OutcomeKind::Failed, content.error)
    );
    assert_eq!(bench.pending().len(), 2, "the call still waits");

    // What comes later makes the session due, once each, and opens no second letter.
    bench.say("hurry");
    find_unreadable(&bench);
    bench.signal(&SignalBody::Resume);
    find_unreadable(&bench);
    assert_eq!(the_letter(&bench), letter);
    assert_eq!(bench.session().unread, 3, "the decision, the message and the signal");

    mend(&bench, &known);
    assert!(!bench.is_due());
    assert!(replay(&bench, &letter).is_in());
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0"], "the decision was kept");
    assert_eq!(bench.pending(), [], "the letter was closed before");
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.dones()), (vec![ResultStatus::Done], vec![DoneReason::ModelStop]));
    assert_eq!((bench.session().unread, bench.session().format), (0, STATE_FORMAT_ALONE));
    assert_eq!(kinds(&bench).last(), Some(&RunKind::Recovery));
    check::at_rest(&bench);
}

#[test]
fn c03_an_approval_that_is_still_owed_waits_again_after_the_replay() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    let asked = bench.asked();
    bench.say("hurry");
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    assert!(bench.run().is_over());
    assert_eq!((bench.status(), bench.asked()), (SessionStatus::Suspended, asked.clone()));
    assert!(bench.approve(&asked).is_in());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

/// Lets a process die while calls are out: `pay`, whose start is only marked, and `put`.
fn dead_with_calls_out() -> Bench {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "pay", "put"]));
    run.returns("c1-0", "done");
    assert_eq!(run.calls_out(), ["c1-1", "c1-2"]);
    assert!(!bench.session().staged.starts.is_empty(), "the state does not know that they were sent");
    bench.crash(run);
    bench
}

fn ends_in_doubt(bench: &Bench, mut run: Run<'_>) {
    assert_eq!(run.calls_out(), ["c1-2"], "it may run again, the payment may not");
    run.returns("c1-2", "put");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::InDoubt, ResultStatus::Done]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1"), bench.sent("c1-2")), (1, 1, 2));
    assert_eq!(kinds(bench).last(), Some(&RunKind::Recovery));
    check::at_rest(bench);
}

#[test]
fn c03_calls_that_were_out_end_in_doubt_or_run_again_after_the_replay() {
    let bench = dead_with_calls_out();
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    let run = bench.run();
    ends_in_doubt(&bench, run);
}

#[test]
fn c03_a_retry_that_first_makes_the_session_suspended_takes_its_calls_over_too() {
    let bench = dead_with_calls_out();
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    bench.retry_by_status(true);
    assert_eq!(bench.status(), SessionStatus::Suspended);
    let run = bench.run();
    ends_in_doubt(&bench, run);
}

#[test]
fn c03_calls_in_the_state_are_taken_over_although_the_state_was_written_again() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay", "put"]));
    assert_eq!(run.calls_out(), ["c1-0", "c1-1"]);
    assert!(bench.session().staged.starts.is_empty(), "the state says that they were sent");
    bench.crash(run);
    let known = find_unreadable(&bench);
    assert_eq!(bench.session().state, Some(dreaming(&known)));
    mend(&bench, &known);
    bench.retry();
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-1"]);
    run.returns("c1-1", "put");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::InDoubt, ResultStatus::Done]);
    check::at_rest(&bench);
}

#[test]
fn c03_a_message_to_a_session_at_rest_waits_and_begins_its_turn_after_the_replay() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(text("gone"));
    bench.say("more");
    let known = find_unreadable(&bench);
    let letter = the_letter(&bench);
    assert_eq!((bench.session().unread, Letter::of(&letter).unwrap().turn), (1, TurnNumber(1)));
    mend(&bench, &known);
    assert!(replay(&bench, &letter).is_in());
    let mut run = bench.run();
    assert_eq!(bench.pending(), []);
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop, DoneReason::ModelStop]);
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}

#[test]
fn c03_a_replay_that_meets_a_version_that_cannot_read_either_leaves_a_letter_that_can_be_replayed() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.say("hurry");
    let known = find_unreadable(&bench);
    let first = the_letter(&bench);
    assert!(replay(&bench, &first).is_in());
    find_unreadable(&bench);
    let second = the_letter(&bench);
    assert_ne!(first.id, second.id);
    assert_eq!(replay(&bench, &first), Delivery::NotPending);
    assert_eq!(bench.session().unread, 1, "only the message is left");
    mend(&bench, &known);
    assert!(replay(&bench, &second).is_in());
    assert!(bench.run().is_over());
    assert_eq!(bench.status(), SessionStatus::Suspended);
}

#[test]
fn c03_a_turn_that_is_set_aside_twice_can_be_given_up_for_another_reason_later() {
    let bench = dead_with_calls_out();
    let mut letters = BTreeSet::new();
    for _ in 0..2 {
        let known = find_unreadable(&bench);
        letters.insert(the_letter(&bench).id);
        mend(&bench, &known);
        assert!(replay(&bench, &the_letter(&bench)).is_in());
        bench.crash(bench.run());
    }
    die_here(&bench);
    letters.insert(the_letter(&bench).id);
    assert_eq!(letters.len(), 3, "a store takes no id twice");
    assert_eq!(Letter::of(&bench.asked()).unwrap().cause, LetterCause::Poisoned);
    check::at_rest(&bench);
}

/// Lets each run die at once, until the turn is given up.
fn die_here(bench: &Bench) {
    for _ in 0..10 {
        let run = bench.run();
        if run.is_over() {
            return assert_eq!(bench.status(), SessionStatus::Failed);
        }
        bench.crash(run);
    }
    panic!("it kills its runs for ever");
}

#[test]
fn c03_the_letter_of_a_failed_turn_stays_and_its_replay_tries_the_turn_again() {
    let bench = Bench::new();
    bench.say("go");
    die(&bench);
    let poisoned = the_letter(&bench);
    bench.compact();
    let known = find_unreadable(&bench);
    assert_eq!(the_letter(&bench).id, poisoned.id, "a session has one letter");
    mend(&bench, &known);
    assert!(replay(&bench, &poisoned).is_in());
    find_unreadable(&bench);
    mend(&bench, &known);
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    let mut run = bench.run();
    run.summarise("it was said to go");
    let mut run = if run.is_over() { bench.run() } else { run };
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c03_a_replay_that_met_a_version_that_cannot_read_the_session_still_owes_the_failed_turn() {
    let bench = Bench::new();
    bench.say("go");
    die(&bench);
    let poisoned = the_letter(&bench);
    assert!(replay(&bench, &poisoned).is_in());
    let known = find_unreadable(&bench);
    let again = the_letter(&bench);
    assert_ne!(again.id, poisoned.id);
    assert_eq!(Letter::of(&again), Letter::of(&poisoned));
    mend(&bench, &known);
    bench.compact();
    compacted(&bench);
    assert_eq!(the_letter(&bench).id, again.id, "no turn has begun since");
    assert!(replay(&bench, &again).is_in());
    bench.run().model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c03_the_replay_of_a_session_that_was_set_aside_at_rest_begins_no_turn_again() {
    let bench = Bench::with(|agent| agent.retries = Retries::none());
    bench.say("go");
    bench.run().model_fails(ModelError::new(ModelErrorKind::Auth, "no"));
    bench.compact();
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    compacted(&bench);
    assert_eq!((bench.status(), bench.pending()), (SessionStatus::Failed, Vec::new()));
    assert_eq!((bench.dones(), bench.session().unread), (vec![DoneReason::Error], 0));
    check::at_rest(&bench);
}

#[test]
fn c03_an_approved_call_of_a_parked_turn_runs_after_the_replay_although_it_is_dangerous() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["serial", "wipe"]));
    bench.approve(&bench.asked());
    run.news();
    run.drain(Drain::Calls);
    run.returns("c1-0", "done");
    assert!(run.is_over());
    assert_eq!(bench.status(), SessionStatus::Suspended);
    let known = find_unreadable(&bench);
    // The second run that cannot read the session finds it failed.
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    find_unreadable(&bench);
    mend(&bench, &known);
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-1"]);
    run.returns("c1-1", "wiped");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::Done]);
    check::at_rest(&bench);
}

#[test]
fn c03_a_session_at_rest_that_can_be_read_again_keeps_no_letter_that_says_otherwise() {
    let bench = Bench::with(|agent| agent.retries = Retries::none());
    bench.say("go");
    bench.run().model_fails(ModelError::new(ModelErrorKind::Auth, "no"));
    bench.compact();
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    bench.compact();
    compacted(&bench);
    assert_eq!((bench.status(), bench.pending()), (SessionStatus::Failed, Vec::new()));
    check::at_rest(&bench);
}

#[test]
fn c03_an_abort_closes_the_letter_once_the_session_can_be_read() {
    for agentless in [false, true] {
        let bench = dead_with_calls_out();
        let known = find_unreadable(&bench);
        let letter = the_letter(&bench);
        bench.interrupt(InterruptKind::Abort);
        mend(&bench, &known);
        let run = if agentless { bench.end() } else { bench.run() };
        assert!(run.is_over());
        assert_eq!((bench.status(), bench.pending()), (SessionStatus::Aborted, Vec::new()));
        assert_eq!(replay(&bench, &letter), Delivery::NotPending);
        assert_eq!(bench.statuses()[1], ResultStatus::InDoubt);
        check::at_rest(&bench);
    }
}

#[test]
fn c03_a_run_that_passes_the_session_on_leaves_it_due_with_its_letter_and_the_replay() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    assert!(bench.approve(&bench.asked()).is_in());
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    let letter = the_letter(&bench);
    assert!(replay(&bench, &letter).is_in());
    assert_eq!(bench.end().outcome(), &RunOutcome::Released, "it has no agent");
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Failed, true));
    assert_eq!(the_letter(&bench).id, letter.id);
    // A run that dies before its first commit loses neither the letter nor the request.
    drop(bench.claim_now());
    bench.clock.pass(LEASE + Duration::from_secs(1));
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn c03_a_replay_that_comes_while_the_run_begins_is_part_of_that_run() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    let asked = bench.asked();
    bench.say("hurry");
    let known = find_unreadable(&bench);
    mend(&bench, &known);
    bench.retry();
    let mut run = Run::holding(&bench, bench.claim().unwrap(), &["commit"]);
    assert!(run.is_out("commit"));
    assert!(replay(&bench, &the_letter(&bench)).is_in());
    run.let_go("commit");
    assert!(run.is_over());
    assert_eq!((bench.status(), bench.asked().id), (SessionStatus::Suspended, asked.id.clone()));
    assert!(!bench.is_due());
    assert!(bench.approve(&asked).is_in());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}
