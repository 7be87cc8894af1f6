//! Models that repeat the same calls.
//!
//! Requirements: A05.

use holdover_core::agent::LoopDetection;
use holdover_core::hook::HookPoint;
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{AnswerPart, ModelError, ModelErrorKind};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{WRONG, calls, overloaded, text};

/// Lets the model call `look` with these arguments and get the usual result.
fn look(run: &mut Run<'_>, step: u32, arguments: &str) {
    run.model(calls(&[&format!("look:{arguments}")]));
    run.returns(&format!("c{step}-0"), "nothing");
}

/// Requirements: A05, A32.
#[test]
fn a27_a_model_is_stopped_at_the_eighth_similar_call_and_asked_no_more() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=8 {
        assert!(!run.is_over(), "{step}");
        look(&mut run, step, &format!(r#"{{"place": "shelf", "try": {step}}}"#));
    }
    assert_eq!(run.outcome().kind().as_str(), "completed");
    assert_eq!(bench.dones(), [DoneReason::LoopDetected]);
    assert_eq!(bench.statuses(), [ResultStatus::Done; 8], "each was answered");
    let Some(Message::Notice(notice)) = bench.transcript().pop() else { panic!("a notice") };
    assert_eq!(
        notice.text,
        "stopped: look was called 8 times in nearly the same way; say something to keep going"
    );
    check::at_rest(&bench);
    // A32: the next message resets the count.
    bench.say("keep going");
    let mut run = bench.run();
    look(&mut run, 10, r#"{"place": "shelf", "try": 9}"#);
    run.model(text("there it is"));
    assert_eq!(bench.dones(), [DoneReason::LoopDetected, DoneReason::ModelStop]);
}

#[test]
fn a26_one_that_pages_through_results_is_not() {
    let bench = Bench::new();
    bench.say("read it all");
    let mut run = bench.run();
    for step in 1..=20 {
        look(&mut run, step, &format!(r#"{{"place": "shelf", "offset": {step}}}"#));
    }
    run.model(text("read"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
}

#[test]
fn a31_zero_turns_it_off() {
    // This also holds if another threshold is not 0.
    for warn_at in [0, 3] {
        let bench = Bench::with(|agent| agent.loops = LoopDetection::default().stop_at(0).warn_at(warn_at));
        bench.say("look");
        let mut run = bench.run();
        for step in 1..=12 {
            look(&mut run, step, "{}");
        }
        run.model(text("nothing there"));
        assert_eq!(bench.dones(), [DoneReason::ModelStop], "{warn_at}");
    }
}

#[test]
fn a27_a_loop_is_found_also_by_a_run_that_saw_only_its_end() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=7 {
        look(&mut run, step, "{}");
        bench.crash(run);
        run = bench.run();
    }
    look(&mut run, 8, "{}");
    assert_eq!(bench.dones(), [DoneReason::LoopDetected]);
    check::at_rest(&bench);
}

#[test]
fn a28_a_warning_is_for_one_request_and_stored_nowhere() {
    let bench = Bench::with(|agent| agent.loops = LoopDetection::default().warn_at(3));
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=3 {
        assert_eq!(run.model_sees().1.note, None, "{step}");
        look(&mut run, step, "{}");
    }
    let note = run.model_sees().1.note.expect("a warning");
    assert!(note.starts_with("You have called look 3 times in nearly the same way."), "{note}");
    run.model(calls(&["peep"]));
    run.returns("c4-0", "a coin");
    assert_eq!(run.model_sees().1.withheld, [""; 0]);
    run.model(text("done"));
    let said = format!("{:?}", bench.transcript());
    assert!(!said.contains("in nearly the same way"), "{said}");
}

#[test]
fn a29_a_tool_that_loops_is_withheld_for_three_steps_and_a30_comes_back() {
    let rules = LoopDetection::default().withhold_at(5);
    let bench = Bench::with(|agent| agent.loops = rules);
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=5 {
        assert_eq!(run.model_sees().1.withheld, [""; 0], "{step}");
        look(&mut run, step, "{}");
    }
    let call = run.model_sees().1;
    assert_eq!(call.withheld, ["look"]);
    assert!(call.note.expect("a word").contains("It is taken away for a while"));
    // The model calls the tool anyway, and is told that there is no such tool now.
    run.model(calls(&["look:{}"]));
    let refused = bench.results().pop().unwrap();
    assert_eq!(refused.status, ResultStatus::Error);
    assert!(refused.content.starts_with("there is no tool \"look\" now; there are: put, "), "{refused:?}");
    // The next run withholds the tool too.
    bench.crash(run);
    let mut run = bench.run();
    for step in [7, 8] {
        assert_eq!(run.model_sees().1.withheld, ["look"], "step {step}");
        run.model(calls(&["peep"]));
        run.returns(&format!("c{step}-0"), "a coin");
    }
    assert_eq!(run.model_sees().1.withheld, [""; 0], "it is back");
    run.model(text("done"));
    assert!(matches!(bench.machine().state, AgentState::Done { .. }));
}

#[test]
fn a27_a_loop_is_found_across_waits_however_many_people_decide_on_each_call() {
    const FIVE: &str =
        r#"edit:{"terms": {"approvers": {"names": ["ann", "bob", "eve", "joe", "sue"], "needed": 5}}}"#;
    let bench = Bench::new();
    bench.say("edit");
    let mut run = bench.run();
    for step in 1..=8 {
        run.model(calls(&[FIVE]));
        assert!(run.is_over(), "it waits, step {step}");
        for name in ["ann", "bob", "eve", "joe", "sue"] {
            bench.approve_as(name, &bench.asked());
        }
        run = bench.run();
        run.returns(&format!("c{step}-0"), "edited");
    }
    assert_eq!((bench.dones(), bench.statuses().len()), (vec![DoneReason::LoopDetected], 8));
    check::at_rest(&bench);
}

#[test]
fn a32_what_no_user_says_does_not_begin_the_count_anew() {
    let bench = Bench::with(|agent| agent.hooks = [HookPoint::AfterStep].into());
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=8 {
        let mut asks = calls(&["look:{}"]);
        if [3, 5, 7].contains(&step) {
            asks.parts.insert(0, AnswerPart::Text(WRONG.into()));
        }
        run.model(asks);
        run.returns(&format!("c{step}-0"), "nothing");
        run.perform("run_hooks");
        if step == 4 {
            bench.crash(run);
            run = bench.run();
        }
    }
    assert_eq!(bench.roles().iter().filter(|role| **role == "user").count(), 4, "three corrections");
    assert_eq!((bench.dones(), bench.statuses().len()), (vec![DoneReason::LoopDetected], 8));
    check::at_rest(&bench);
}

#[test]
fn a32_a_turn_that_is_taken_up_again_counts_on() {
    let bench = Bench::new();
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=5 {
        look(&mut run, step, "{}");
    }
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong"));
    assert_eq!(bench.dones(), [DoneReason::Error]);
    bench.retry();
    let mut run = bench.run();
    for step in 7..=9 {
        assert!(!run.is_over(), "{step}");
        look(&mut run, step, "{}");
    }
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::LoopDetected]);
    bench.say("keep going");
    bench.run().model(text("there it is"));
    assert_eq!(bench.dones()[2..], [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn a29_the_model_is_told_why_a_tool_is_gone_however_often_its_request_is_made() {
    let rules = LoopDetection::default().withhold_at(3);
    let bench = Bench::with(|agent| agent.loops = rules);
    bench.say("look");
    let mut run = bench.run();
    for step in 1..=3 {
        look(&mut run, step, "{}");
    }
    let told = run.model_sees().1;
    assert!(told.note.as_deref().is_some_and(|note| note.contains("It is taken away")), "{told:?}");
    let tells = |run: &Run<'_>| {
        let call = run.model_sees().1;
        (call.note == told.note, call.withheld == ["look"], call.step == told.step)
    };
    // The next run makes the same note again, whether the run before died or its model failed.
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(tells(&run), (true, true, true));
    run.model_fails(overloaded(None));
    bench.clock.pass(bench.alarm_in().expect("it is tried again"));
    let mut run = bench.run();
    assert_eq!(tells(&run), (true, true, true));
    run.model(calls(&["peep"]));
    run.returns("c4-0", "a coin");
    let call = run.model_sees().1;
    assert_eq!((call.note, call.withheld), (None, vec!["look".to_owned()]), "it was told");
}

#[test]
fn a29_every_tool_that_loops_is_withheld_and_a28_warned_of() {
    let rules = LoopDetection::default().warn_at(3).withhold_at(4);
    let bench = Bench::with(|agent| agent.loops = rules.clone());
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look:{}"; 5]));
    (0..5).for_each(|at| run.returns(&format!("c1-{at}"), "nothing"));
    assert_eq!(run.model_sees().1.withheld, ["look"]);
    for step in 2..=4 {
        run.model(calls(&["peep:{}"]));
        run.returns(&format!("c{step}-0"), "a coin");
    }
    let note = run.model_sees().1.note.expect("a warning, though look was called more often");
    assert!(note.starts_with("You have called peep 3 times"), "{note}");
    run.model(calls(&["peep:{}"]));
    run.returns("c5-0", "a coin");
    assert!(run.model_sees().1.withheld.contains(&"peep".to_owned()));
    // Both tools loop in one step.
    let bench = Bench::with(|agent| agent.loops = rules.clone());
    bench.say("look");
    let mut run = bench.run();
    run.model(calls(&["look:{}", "peep:{}"].repeat(4)));
    (0..8).for_each(|at| run.returns(&format!("c1-{at}"), "nothing"));
    let call = run.model_sees().1;
    assert_eq!(call.withheld, ["look", "peep"]);
    let note = call.note.expect("a word on each");
    assert!(note.contains("called look 4 times") && note.contains("called peep 4 times"), "{note}");
    bench.crash(run);
    assert_eq!(bench.run().model_sees().1.withheld, ["look", "peep"]);
    check::invariants(&bench);
}
