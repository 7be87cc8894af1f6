//! Messages that arrive while a session is busy, parked or about to rest. Each is taken exactly once.
//!
//! Requirements: B17, B21, C43, U07.

use std::time::Duration;

use holdover_core::machine::DoneReason;
use holdover_core::message::Message;
use holdover_core::store::{Delivery, ItemKind, SessionStatus, Wake};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

/// Returns the texts of the user messages, in the order of the transcript.
fn said(bench: &Bench) -> Vec<String> {
    let user = |message| match message {
        Message::User(said) => Some(said.text),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(user).collect()
}

#[test]
fn a_message_that_comes_while_tools_run_is_taken_after_their_step() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    bench.say("and hurry");
    run.news();
    run.returns("c1-0", "noted");
    assert_eq!(bench.roles(), ["user", "assistant", "tool", "user"]);
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

/// Requirements: B17, B21.
#[test]
fn a_message_that_is_known_before_the_end_starts_the_next_step() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    bench.say("one thing more");
    run.news();
    run.model(text("done"));
    assert!(!run.is_over());
    run.model(text("that too"));
    assert_eq!((said(&bench).len(), bench.dones()), (2, vec![DoneReason::ModelStop]));
    check::at_rest(&bench);
}

/// Requirements: C43.
#[test]
fn a_message_that_races_the_end_starts_the_next_turn() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.hold("commit");
    run.model(text("done"));
    bench.say("one thing more");
    run.let_go("commit");
    assert!(run.is_over());
    assert!(bench.is_due(), "no wake-up is lost");
    bench.run().model(text("that too"));
    assert_eq!((said(&bench).len(), bench.dones().len()), (2, 2));
    assert!(!bench.is_due());
    check::at_rest(&bench);
}

/// Requirements: C43.
#[test]
fn a_message_that_is_being_read_when_the_model_ends_is_waited_for() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.hold("read");
    bench.say("one thing more");
    run.news();
    run.model(text("done"));
    assert!(!run.is_over(), "what the read brings decides");
    run.let_go("read");
    run.model(text("that too"));
    assert_eq!((said(&bench).len(), bench.dones().len()), (2, 1));
    check::at_rest(&bench);
}

#[test]
fn a_message_held_when_the_turn_ends_on_an_error_starts_the_next_turn() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    bench.say("one thing more");
    run.news();
    run.model_fails(holdover_core::model::ModelError::new(
        holdover_core::model::ModelErrorKind::Auth,
        "the key is wrong",
    ));
    assert_eq!(bench.status(), SessionStatus::Failed);
    assert!(bench.is_due());
    bench.run().model(text("hello"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    check::at_rest(&bench);
}

/// Requirements: U07.
#[test]
fn a_message_held_during_an_approval_wakes_nobody_again_and_is_taken_at_the_next_steering() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.say("are you there?");
    assert!(bench.is_due(), "it wakes the session once");
    let alarm = Some(Duration::from_secs(30 * 60));
    bench.run();
    assert_eq!((bench.is_due(), bench.alarm_in()), (false, alarm), "it is held, and the deadline stands");
    assert_eq!(said(&bench), ["edit"]);
    bench.say("hello?");
    bench.run();
    assert!(!bench.is_due());
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    assert_eq!(said(&bench), ["edit", "are you there?", "hello?"]);
    run.model(text("here I am"));
    check::at_rest(&bench);
}

#[test]
fn a_message_during_a_back_off_is_held_and_costs_no_attempt() {
    let bench = Bench::new();
    bench.say("go");
    bench.run().model_fails(overloaded(None));
    bench.say("quick!");
    bench.run();
    assert_eq!(bench.alarm_in(), Some(Duration::from_secs(5)));
    bench.clock.pass(Duration::from_secs(5));
    let mut run = bench.run();
    run.model(text("done"));
    run.model(text("quickly, too"));
    assert_eq!((said(&bench).len(), bench.dones()), (2, vec![DoneReason::ModelStop]));
    check::at_rest(&bench);
}

#[test]
fn a_message_that_nobody_can_read_is_taken_as_it_is() {
    let bench = Bench::new();
    let kind = ItemKind::Message { wake: Wake::Now };
    let delivery = bench.deliver_bytes(kind, None, holdover_core::payload::Payload::new("just text"));
    assert!(matches!(delivery, Delivery::Accepted { .. }));
    bench.run().model(text("hello"));
    assert_eq!(said(&bench), ["just text"]);
}

#[test]
fn more_messages_than_a_claim_brings_are_all_taken_in_order() {
    let bench = Bench::new();
    for at in 0..300 {
        bench.say(&format!("{at}"));
    }
    let claim = bench.claim().unwrap();
    assert!(claim.inbox.len() < 300);
    let mut run = bench.start(claim);
    run.model(text("one by one"));
    let expected: Vec<String> = (0..300).map(|at| at.to_string()).collect();
    assert_eq!(said(&bench), expected);
    assert_eq!(bench.session().unread, 0);
    check::at_rest(&bench);
}

#[test]
fn news_that_is_old_hides_no_news() {
    let bench = Bench::new();
    bench.say("go");
    let claim = bench.claim().unwrap();
    let mut run = Run::holding(&bench, claim, &["read"]);
    let old = run.renew();
    bench.say("one");
    run.news();
    bench.say("two");
    let first = run.perform_silently("read");
    bench.say("three");
    run.news();
    run.apply(holdover_core::engine::Reply::News(old));
    run.apply(first);
    run.model(text("done"));
    assert!(!run.is_over(), "the third is not read yet");
    run.let_go("read");
    run.model(text("done"));
    assert_eq!((said(&bench).len(), bench.dones().len()), (4, 1));
    check::at_rest(&bench);
}

#[test]
fn messages_that_are_too_much_for_one_commit_follow_at_the_next_steering_in_order() {
    let bench = Bench::with(|agent| agent.compaction.threshold_percent = 0);
    let large = |mark: &str| mark.repeat(3 * 1024 * 1024);
    bench.say(&large("a"));
    bench.say(&large("b"));
    bench.say("c");
    let mut run = bench.run();
    assert_eq!(said(&bench), [large("a")]);
    run.model(text("read"));
    assert!(!run.is_over(), "two messages wait");
    run.model(text("read them too"));
    assert_eq!(said(&bench), [large("a"), large("b"), "c".to_owned()]);
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}
