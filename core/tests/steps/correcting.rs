//! Corrections of the course of a turn, by hooks and from outside: the model gets them before its next call.
//!
//! Requirements: B14, B21, B17, B09, B06.

use std::time::Duration;

use holdover_core::agent::{Compaction, Fallback};
use holdover_core::engine::Reply;
use holdover_core::hook::HookPoint;
use holdover_core::machine::{DoneReason, Input};
use holdover_core::message::{Message, MessagePolicy, Said};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::model::{ModelError, ModelErrorKind};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{WRONG, calls, overloaded, text};

fn taught(max_steps: u32) -> Bench {
    Bench::with(|agent| {
        agent.hooks = [HookPoint::AfterStep].into();
        agent.limits.max_steps = max_steps;
    })
}

/// Returns the texts of the user messages, corrections included.
fn said(bench: &Bench) -> Vec<String> {
    let text = |message| match message {
        Message::User(said) => Some(said.text),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(text).collect()
}

/// Lets the model give a wrong answer, about which the hook is asked.
fn errs(run: &mut Run<'_>) {
    run.model(text(WRONG));
    assert!(run.is_out("run_hooks") && !run.is_out("call_model"), "the model waits for the hook's word");
}

const CORRECTION: &str = "[course correction by teacher, not said by the user] not wrong";

fn corrected(bench: &Bench) -> usize {
    let rows = check::history(bench);
    rows.iter().filter(|row| matches!(row.input, Input::Steered { corrected: true, .. })).count()
}

/// Requirements: B06, B17.
#[test]
fn b14_b21_a_correction_is_told_to_the_model_and_the_turn_goes_on_though_the_model_had_ended_it() {
    let bench = taught(50);
    bench.say("go");
    let mut run = bench.run();
    errs(&mut run);
    run.perform("run_hooks");
    let (seen, call) = run.model_sees();
    assert!(
        matches!(seen.last(), Some(Message::User(said)) if said.text == CORRECTION && said.item.is_none())
    );
    assert_eq!(call.step.0, 2);
    run.model(text("right"));
    run.perform("run_hooks");
    assert_eq!(bench.roles(), ["user", "assistant", "user", "assistant"]);
    assert_eq!((bench.dones(), corrected(&bench)), (vec![DoneReason::ModelStop], 1));
    assert_eq!(bench.machine().turn.number.0, 1, "one turn");
    check::at_rest(&bench);
}

#[test]
fn b21_a_turn_is_corrected_at_most_three_times_and_the_next_one_anew() {
    let bench = taught(50);
    for turn in 1..=2 {
        bench.say("go");
        let mut run = bench.run();
        for _ in 0..4 {
            errs(&mut run);
            run.perform("run_hooks");
        }
        assert!(run.is_over(), "the fourth is dropped");
        assert_eq!(said(&bench).iter().filter(|said| *said == CORRECTION).count(), 3 * turn);
        assert_eq!(bench.roles().iter().filter(|role| **role == "notice").count(), turn);
    }
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 2]);
    check::at_rest(&bench);

    let bench = Bench::with(|agent| {
        agent.hooks = [HookPoint::AfterStep].into();
        agent.limits.corrections_max = 0;
    });
    bench.say("go");
    let mut run = bench.run();
    errs(&mut run);
    run.perform("run_hooks");
    assert!(run.is_over());
    assert_eq!(said(&bench), ["go"]);
}

/// Requirements: B14.
#[test]
fn b09_what_a_user_says_begins_a_step_without_asking_for_a_correction() {
    let bench = taught(50);
    bench.say(WRONG);
    let run = bench.run();
    assert!(run.is_out("call_model") && !run.is_out("run_hooks"));
    assert_eq!(said(&bench), [WRONG]);
}

#[test]
fn b21_what_ends_the_turn_wins_and_what_a_user_said_meanwhile_comes_first() {
    // Another hook ends the turn.
    let bench = taught(50);
    bench.say("go");
    let mut run = bench.run();
    let mut answer = calls(&["bill"]);
    answer.parts.extend(text(WRONG).parts);
    run.model(answer);
    run.returns("c1-0", "paid");
    run.perform("run_hooks");
    assert_eq!((bench.dones(), said(&bench)), (vec![DoneReason::BudgetExceeded], vec!["go".to_owned()]));
    check::at_rest(&bench);

    // The step limit ends the turn.
    let bench = taught(1);
    bench.say("go");
    let mut run = bench.run();
    errs(&mut run);
    run.perform("run_hooks");
    assert_eq!((bench.dones(), said(&bench)), (vec![DoneReason::MaxTurns], vec!["go".to_owned()]));
    assert_eq!(corrected(&bench), 0);
    check::at_rest(&bench);

    let bench = taught(50);
    bench.say("go");
    let mut run = bench.run();
    bench.say("and quickly");
    run.news();
    errs(&mut run);
    run.perform("run_hooks");
    run.model(text("right"));
    run.perform("run_hooks");
    assert_eq!(said(&bench), ["go", "and quickly", CORRECTION]);
    check::at_rest(&bench);
}

#[test]
fn b21_a_run_that_dies_before_the_correction_is_durable_asks_for_it_again_and_it_is_told_once() {
    let bench = taught(50);
    bench.say("go");
    let mut run = bench.run();
    errs(&mut run);
    run.hold("commit");
    run.perform("run_hooks");
    assert!(run.is_out("call_model"), "it may be asked while its correction is on its way");
    bench.crash(run);
    assert_eq!(said(&bench), ["go"]);
    let mut run = bench.run();
    assert!(!run.is_out("call_model"));
    run.perform("run_hooks");
    run.model(text("right"));
    run.perform("run_hooks");
    assert_eq!(said(&bench), ["go", CORRECTION]);
    assert_eq!(corrected(&bench), 1);
    check::at_rest(&bench);
}

const FROM_OUTSIDE: &str = "[course correction by a monitor, not said by the user] use the other pan";

/// Sends a correction from outside.
fn corrects(bench: &Bench) {
    let correction_by = Some("a\n monitor".to_owned());
    let policy = Some(MessagePolicy::Steer);
    bench.say_as(Said { correction_by, policy, ..Said::new("use the other pan") });
}

#[test]
fn b14_b21_a_correction_from_outside_is_told_before_the_next_model_call_even_if_messages_wait() {
    for ends in [false, true] {
        let bench = Bench::with(|agent| agent.on_message = Some(MessagePolicy::Enqueue));
        bench.say("go");
        let mut run = bench.run();
        let asks = if ends { text("done") } else { calls(&["note"]) };
        bench.say("later");
        corrects(&bench);
        run.news();
        run.model(asks);
        if !ends {
            run.returns("c1-0", "noted");
        }
        let (seen, call) = run.model_sees();
        let Some(Message::User(last)) = seen.last() else { panic!("{seen:?}") };
        assert!(last.text == FROM_OUTSIDE && last.by_engine && last.item.is_some(), "{last:?}");
        assert_eq!(call.step.0, 2, "the turn goes on, even if the model had ended it");
        run.model(text("done"));
        assert!(run.is_over());
        let mut run = bench.run();
        let (seen, _) = run.model_sees();
        assert!(matches!(seen.last(), Some(Message::User(said)) if said.text == "later"), "{seen:?}");
        run.model(text("done"));
        assert_eq!(said(&bench), ["go", FROM_OUTSIDE, "later"]);
        check::at_rest(&bench);
    }
}

#[test]
fn b21_a_correction_from_outside_wakes_a_session_at_rest_and_is_counted_with_none_of_hooks() {
    let bench = Bench::with(|agent| agent.limits.corrections_max = 0);
    bench.say("go");
    bench.run().model(text("done"));
    corrects(&bench);
    let mut run = bench.run();
    let (seen, _) = run.model_sees();
    assert!(matches!(seen.last(), Some(Message::User(said)) if said.text == FROM_OUTSIDE), "{seen:?}");
    run.model(text("done"));
    assert_eq!((bench.dones().len(), said(&bench)), (2, vec!["go".to_owned(), FROM_OUTSIDE.to_owned()]));
    check::at_rest(&bench);
}

/// Returns the texts of the user messages that the model sees in the call that is out.
fn told(run: &Run<'_>) -> Vec<String> {
    let text = |message| match message {
        Message::User(said) => Some(said.text),
        _ => None,
    };
    run.model_sees().0.into_iter().filter_map(text).collect()
}

/// Returns the step and the model of the call that is out.
fn asked(run: &Run<'_>) -> (u64, u32) {
    let (_, call) = run.model_sees();
    (call.step.0, call.model)
}

#[test]
fn b14_a_correction_is_told_before_the_model_is_asked_again_after_a_back_off() {
    for at_work in [false, true] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        bench.say("later");
        // A short wait is slept through; for a long one the run exits, and another run asks the model.
        let wait = Duration::from_secs(if at_work { 1 } else { 3_600 });
        run.model_fails(overloaded(Some(wait)));
        corrects(&bench);
        let mut run = if at_work {
            run.news();
            bench.clock.pass(wait);
            run.apply(Reply::TimePassed);
            run
        } else {
            assert!(run.is_over());
            bench.clock.pass(wait);
            bench.run()
        };
        assert_eq!((told(&run), asked(&run)), (vec!["go".to_owned(), FROM_OUTSIDE.to_owned()], (1, 0)));
        // Messages wait for the next step, as before.
        run.model(text("done"));
        assert_eq!((told(&run), asked(&run).0), (said(&bench), 2));
        run.model(text("done"));
        assert_eq!(said(&bench), ["go", FROM_OUTSIDE, "later"]);
        assert_eq!(bench.machine().turn.number.0, 1, "one turn");
        check::at_rest(&bench);
    }
}

#[test]
fn b14_a_correction_is_told_before_a_fallback_model_is_asked_in_the_same_step() {
    let bench = Bench::with(|agent| {
        agent.fallback = vec![Fallback { model: "other".into(), prices: None }];
    });
    bench.say("go");
    let mut run = bench.run();
    corrects(&bench);
    // The run heard of the item, but has not read it when the model fails.
    run.hold("read");
    run.news();
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "no"));
    assert!(!run.is_out("call_model"), "the model waits for what has come");
    run.let_go("read");
    assert_eq!((told(&run), asked(&run)), (vec!["go".to_owned(), FROM_OUTSIDE.to_owned()], (1, 1)));
    // A run that dies now leaves a correction that was told once.
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!((told(&run), asked(&run)), (vec!["go".to_owned(), FROM_OUTSIDE.to_owned()], (1, 1)));
    run.model(text("done"));
    assert_eq!(said(&bench), ["go", FROM_OUTSIDE]);
    check::at_rest(&bench);
}

#[test]
fn b14_a_correction_is_told_before_the_model_is_asked_again_after_a_summary() {
    let bench = Bench::with(|agent| agent.compaction = Compaction::default().kept_turns(1));
    bench.say("go");
    let mut run = bench.run();
    for step in 1..=2 {
        run.model(calls(&[&format!("look:{{\"try\":{step}}}")]));
        run.returns(&format!("c{step}-0"), &"x".repeat(400));
    }
    run.model_fails(ModelError::new(ModelErrorKind::ContextLimit, "too long"));
    assert!(run.is_out("summarise"), "{:?}", run.out);
    corrects(&bench);
    run.news();
    run.summarise("all of it").unwrap();
    assert_eq!((told(&run).pop(), asked(&run).0), (Some(FROM_OUTSIDE.to_owned()), 3));
    run.model(text("done"));
    assert_eq!(said(&bench), ["go", FROM_OUTSIDE]);
    check::at_rest(&bench);
}

#[test]
fn b14_a_correction_with_a_mode_waits_for_steering_and_a_mode_that_waits_does_not_hold_a_correction_back() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model_fails(overloaded(Some(Duration::from_secs(3_600))));
    bench.set_mode(Mode::Plan);
    corrects(&bench);
    let correction_by = Some("a monitor".to_owned());
    let briefing = Briefing { mode: Some(Mode::Ask), system_prompt: None };
    bench.say_as(Said { correction_by, briefing, ..Said::new("and answer") });
    bench.clock.pass(Duration::from_secs(3_600));
    let mut run = bench.run();
    assert_eq!((told(&run).pop(), run.model_sees().1.mode), (Some(FROM_OUTSIDE.to_owned()), Mode::Agent));
    run.model(text("done"));
    assert_eq!(run.model_sees().1.mode, Mode::Ask);
    assert!(told(&run).pop().unwrap().ends_with("not said by the user] and answer"));
    run.model(text("done"));
    check::at_rest(&bench);
}
