//! Dead letters: turns that are given up although they may succeed later.
//!
//! Requirements: C52.

use std::time::Duration;

use holdover_core::agent::Retries;
use holdover_core::engine::{ATTEMPTS_MAX, RunKind, STATE_FORMAT_ALONE, STATE_FORMAT_ASKING};
use holdover_core::ids::{Epoch, MessageSeq, TurnNumber};
use holdover_core::letter::{Letter, LetterCause};
use holdover_core::machine::DoneReason;
use holdover_core::message::SignalBody;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::payload::Payload;
use holdover_core::store::{Delivery, InterruptKind, PendingCall, PendingKind, SessionStatus, StateStore};
use holdover_core::tool::ToolError;

use crate::bench::{Bench, now};
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Creates a session whose runs died until its turn was given up.
fn poisoned() -> Bench {
    let bench = Bench::new();
    bench.say("go");
    die(&bench);
    bench
}

/// Lets each run die at once, until the turn is given up.
pub(crate) fn die(bench: &Bench) {
    for _ in 0..ATTEMPTS_MAX {
        bench.crash(bench.run());
    }
    assert!(bench.run().is_over());
    assert_eq!(bench.status(), SessionStatus::Failed);
    check::at_rest(bench);
}

pub(crate) fn replay(bench: &Bench, letter: &PendingCall) -> Delivery {
    bench.answer_with(&letter.id, Payload::json(&SignalBody::Retry).unwrap())
}

fn down() -> ModelError {
    ModelError::new(ModelErrorKind::Provider, "down")
}

#[test]
fn c52_a_poisoned_session_leaves_a_letter_and_its_replay_goes_on_with_the_turn() {
    let bench = poisoned();
    let open = bench.asked();
    assert_eq!((&open.kind, open.needed, open.deadline), (&PendingKind::DeadLetter, 1, None));
    let letter = Letter::of(&open).unwrap();
    assert_eq!((letter.cause, letter.attempts), (LetterCause::Poisoned, ATTEMPTS_MAX));
    assert_eq!(letter.error.code, "engine.poisoned");
    assert_eq!((letter.first_run, letter.last_run), (Epoch(1), Epoch(5)));
    assert_eq!((letter.turn, letter.after_message), (TurnNumber(1), MessageSeq(0)));
    assert_eq!(letter.at, bench.facts().now);
    assert!(!bench.is_due(), "nobody tries again by himself");
    assert_eq!(bench.session().format, STATE_FORMAT_ASKING, "an older version would leave the letter open");

    assert!(replay(&bench, &open).is_in());
    assert!(bench.is_due());
    let mut run = bench.run();
    assert_eq!(bench.pending(), [], "the letter is closed in the commit that begins");
    assert!(!bench.answer_with(&open.id, Payload::json(&SignalBody::Retry).unwrap()).is_in());
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    assert_eq!(bench.session().format, STATE_FORMAT_ALONE);
    let kinds: Vec<_> = bench.runs().iter().filter_map(RunKind::of).collect();
    assert!(kinds.contains(&RunKind::Retry), "{kinds:?}");
    check::at_rest(&bench);
}

#[test]
fn c52_a_replay_whose_runs_die_again_leaves_a_letter_of_its_own() {
    let bench = poisoned();
    let first = bench.asked();
    assert!(replay(&bench, &first).is_in());
    die(&bench);
    let second = bench.asked();
    assert_ne!(first.id, second.id);
    assert_eq!(Letter::of(&second).unwrap().turn, TurnNumber(2));
    assert_eq!(replay(&bench, &first), Delivery::NotPending);
    assert!(replay(&bench, &second).is_in());
    // A run that dies before its first commit loses neither the letter nor the request.
    let claim = bench.claim_now();
    bench.clock.pass(Duration::from_secs(3600));
    drop(claim);
    bench.run().model(text("done"));
    assert_eq!(bench.dones().last(), Some(&DoneReason::ModelStop));
    check::at_rest(&bench);
}

#[test]
fn c52_whatever_goes_on_or_ends_for_good_closes_the_letter() {
    type Act = fn(&Bench);
    let acts: [(&str, Act); 4] = [
        ("message", |bench| bench.say("again")),
        ("retry", Bench::retry),
        ("resume", |bench| bench.signal(&SignalBody::Resume)),
        ("requeue", |bench| bench.retry_by_status(true)),
    ];
    for (how, act) in acts {
        let bench = poisoned();
        let letter = bench.asked();
        act(&bench);
        let mut run = bench.run();
        assert_eq!(bench.pending(), [], "{how}");
        assert_eq!(replay(&bench, &letter), Delivery::NotPending, "{how}");
        run.model(text("done"));
        check::at_rest(&bench);
    }
    let bench = poisoned();
    let letter = bench.asked();
    bench.interrupt(InterruptKind::Abort);
    assert!(bench.run().is_over());
    assert_eq!((bench.status(), bench.pending()), (SessionStatus::Aborted, Vec::new()));
    assert_eq!(replay(&bench, &letter), Delivery::NotPending);
    check::at_rest(&bench);
}

#[test]
fn c52_a_summary_keeps_the_letter_and_a_replay_beside_a_message_is_one_turn() {
    let bench = poisoned();
    let letter = bench.asked();
    bench.compact();
    let mut run = bench.run();
    run.summarise("it was said to go");
    assert!(run.is_over());
    assert_eq!(bench.asked().id, letter.id);
    check::at_rest(&bench);

    bench.say("and hurry");
    assert!(replay(&bench, &letter).is_in());
    bench.run().model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    assert!(!bench.is_due() && bench.session().unread == 0);
    check::at_rest(&bench);
}

#[test]
fn c52_a_replay_that_comes_while_a_message_begins_a_turn_is_part_of_that_turn() {
    let bench = poisoned();
    let letter = bench.asked();
    bench.say("again");
    let mut run = Run::holding(&bench, bench.claim_now(), &["commit"]);
    assert!(run.is_out("commit"));
    assert!(replay(&bench, &letter).is_in());
    run.let_go("commit");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    assert_eq!((bench.session().unread, bench.is_due()), (0, false));
    check::at_rest(&bench);
}

#[test]
fn c52_an_error_that_may_pass_leaves_a_letter_once_its_retries_ran_out() {
    let bench = Bench::with(|agent| agent.retries = Retries::default().model_waits_ms(vec![2_000, 3_000]));
    bench.say("go");
    for seconds in [2, 3] {
        bench.run().model_fails(down());
        assert_eq!((bench.status(), bench.pending()), (SessionStatus::Suspended, Vec::new()));
        bench.clock.pass(Duration::from_secs(seconds));
    }
    bench.run().model_fails(down());
    let letter = Letter::of(&bench.asked()).unwrap();
    assert_eq!((letter.cause, letter.attempts, letter.first_run), (LetterCause::Retries, 3, Epoch(3)));
    assert_eq!((letter.first_run, letter.error.code.as_str()), (letter.last_run, "model.provider"));
    check::at_rest(&bench);
    assert!(replay(&bench, &bench.asked()).is_in());
    bench.run().model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c52_an_error_that_is_final_leaves_none() {
    let fails = |kind, retries: Retries| {
        let bench = Bench::with(|agent| agent.retries = retries);
        bench.say("go");
        bench.run().model_fails(ModelError::new(kind, "no"));
        assert_eq!((bench.status(), bench.pending()), (SessionStatus::Failed, Vec::new()), "{kind:?}");
        check::at_rest(&bench);
    };
    fails(ModelErrorKind::Auth, Retries::default());
    fails(ModelErrorKind::Quota, Retries::default());
    // This agent does not retry, so no retries ran out.
    fails(ModelErrorKind::Provider, Retries::none());
}

#[test]
fn c52_calls_that_cannot_be_run_leave_a_letter_with_the_open_circuit() {
    let bench =
        Bench::with(|agent| agent.retries = Retries::default().tool_waits_ms(Vec::new()).broken_calls_max(2));
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look", "look"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    run.comes_back("c1-1", Err(ToolError::NotRun("no such host".into())));
    let letter = Letter::of(&bench.asked()).unwrap();
    assert_eq!((letter.cause, letter.attempts), (LetterCause::Circuit, 2));
    assert_eq!(letter.error.code, "engine.circuit_open");
    check::at_rest(&bench);
    assert!(replay(&bench, &bench.asked()).is_in());
    bench.run().model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn c52_a_replay_that_comes_during_teardown_waits_for_a_run_that_has_the_agent() {
    let bench = Bench::with(|agent| {
        agent.provisions = true;
        agent.retries = Retries::default().tool_waits_ms(Vec::new()).broken_calls_max(1);
    });
    bench.say("go");
    let mut run = bench.run();
    run.perform("provision");
    run.model(calls(&["look"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    assert!(run.is_out("tear_down"));
    assert!(replay(&bench, &bench.asked()).is_in());
    run.news();
    run.perform("tear_down");
    assert_eq!(
        (bench.status(), bench.is_due()),
        (SessionStatus::Failed, true),
        "the run has read the replay"
    );
    assert!(bench.end().is_over(), "it has no agent");
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Failed, true), "it was only given back");
    let mut run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    run.perform("tear_down");
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c52_a_letter_has_one_replay() {
    let bench = poisoned();
    let letter = bench.asked();
    let item = |key: &str| holdover_core::store::InboxItem {
        key: key.parse().unwrap(),
        kind: holdover_core::store::ItemKind::Answer { pending: letter.id.clone(), settles: false },
        incarnation: Some(letter.incarnation),
        payload: Payload::json(&SignalBody::Retry).unwrap(),
    };
    let deliver = |key: &str| now(bench.store.deliver(&bench.key, item(key))).unwrap();
    assert!(matches!(deliver("one"), Delivery::Accepted { .. }));
    assert!(matches!(deliver("one"), Delivery::Duplicate { .. }));
    assert_eq!(deliver("two"), Delivery::AlreadyAnswered);
    bench.run().model(text("done"));
    assert!(matches!(deliver("one"), Delivery::Duplicate { .. }));
    assert_eq!(bench.dones().len(), 2);
}
