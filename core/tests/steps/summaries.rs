//! Failed summaries, fallback models that can read a longer context, the token count after a summary is taken back, and
//! requested summaries while other items wait.
//!
//! Requirements: A69, B10, B38, B50, C53.

use holdover_core::agent::{AgentSpec, Compaction, Fallback};
use holdover_core::engine::{ATTEMPTS_MAX, Action};
use holdover_core::event::Event;
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::{Message, MessagePolicy, SignalBody};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::model::{ModelError, ModelErrorKind, StopReason};
use holdover_core::store::SessionStatus;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Gives the agent a context of 1,000 tokens, in which a summary keeps the newest two turns or steps, and turns loop
/// detection off.
fn small(agent: &mut AgentSpec) {
    agent.compaction = Compaction::default().context_tokens(1_000).kept_turns(2);
    agent.loops.stop_at = 0;
}

/// Plays steps of about 150 tokens each.
fn steps(run: &mut Run<'_>, numbers: std::ops::RangeInclusive<u32>) {
    for number in numbers {
        let mut answer = calls(&[&format!("look:{{\"try\":{number}}}")]);
        answer.usage.input = 0;
        run.model(answer);
        run.returns(&format!("c{number}-0"), &"x".repeat(400));
    }
}

fn falls_back(agent: &mut AgentSpec) {
    agent.fallback = vec![Fallback { model: "other".into(), prices: None }];
}

fn too_long() -> ModelError {
    ModelError::new(ModelErrorKind::ContextLimit, "too long")
}

/// Returns the error codes of the failed summaries, in order.
fn failures(bench: &Bench) -> Vec<String> {
    let failed = |event| match event {
        Event::CompactionEnded { error: Some(error), .. } => Some(error.code),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(failed).collect()
}

/// Returns the index of the model that is called, for an answer or for a summary.
fn asked(run: &Run<'_>) -> Option<u32> {
    run.out.iter().find_map(|action| match action {
        Action::CallModel { call, .. } => Some(call.model),
        Action::Summarise { model, .. } => Some(*model),
        _ => None,
    })
}

#[test]
fn a69_a_summary_that_is_refused_or_cut_off_is_a_failure_and_what_is_old_stays() {
    let bench = Bench::with(small);
    bench.say("the task");
    let mut run = bench.run();
    steps(&mut run, 1..=5);
    let used = bench.machine().usage;
    run.summarise_until("I can't help with that", StopReason::Refusal).expect("old");
    assert_eq!(run.steps.machine().view.failures, 1);
    let (seen, _) = run.model_sees();
    assert!(matches!(&seen[0], Message::User(said) if said.text == "the task"), "{:?}", seen[0]);
    assert_eq!(seen.len(), 11, "all of it");
    steps(&mut run, 6..=6);
    run.summarise_until("all that was do", StopReason::MaxTokens).expect("old");
    assert_eq!(run.steps.machine().view.failures, 2);
    steps(&mut run, 7..=7);
    run.summarise_until(" ", StopReason::Refusal).expect("old");
    steps(&mut run, 8..=8);
    assert!(run.is_out("call_model") && !run.is_out("summarise"), "after three in a row none is tried");
    run.model(text("done"));
    assert_eq!(failures(&bench), ["model.declined", "model.cut_off", "model.declined"]);
    assert!(!bench.roles().contains(&"summary"));
    let calls = bench.machine().usage.model_calls - used.model_calls;
    assert_eq!(calls, 4 + 3, "what they used is counted: {:?}", bench.machine().usage);
    check::at_rest(&bench);
}

#[test]
fn b38_a_cut_off_summary_is_taken_where_no_model_could_read_the_session_without_it() {
    for fallback in [false, true] {
        let bench = Bench::with(|agent| {
            small(agent);
            if fallback {
                falls_back(agent);
            }
        });
        bench.say("the task");
        let mut run = bench.run();
        steps(&mut run, 1..=5);
        // A cut-off summary is a failure when the threshold asked for it, and also while another model might read the
        // whole.
        run.summarise_until("all that was do", StopReason::MaxTokens).expect("old");
        run.model_fails(too_long());
        if fallback {
            run.summarise_until("all that was do", StopReason::MaxTokens).expect("old");
            assert_eq!(asked(&run), Some(1), "{:?}", run.out);
            assert!(!bench.roles().contains(&"summary"));
            run.model_fails(too_long());
        }
        run.summarise_until("all that was do", StopReason::MaxTokens).expect("old");
        let (seen, _) = run.model_sees();
        let Message::User(said) = &seen[0] else { panic!("{:?}", seen[0]) };
        assert!(said.text.contains("all that was do\n[this summary was cut off here]"), "{}", said.text);
        assert_eq!(run.steps.machine().view.failures, 0);
        run.model(text("done"));
        assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        assert_eq!(failures(&bench), vec!["model.cut_off"; 1 + usize::from(fallback)]);
        check::at_rest(&bench);
    }
}

#[test]
fn b38_a_summary_that_is_refused_or_empty_is_not_taken_even_where_the_turn_ends_without_it() {
    for (said, stop) in [("I can't help with that", StopReason::Refusal), (" ", StopReason::MaxTokens)] {
        let bench = Bench::with(small);
        bench.say("the task");
        let mut run = bench.run();
        steps(&mut run, 1..=4);
        // The results are shown as cleared. After that, nothing can be shown shorter.
        for _ in 0..2 {
            run.model_fails(too_long());
            run.summarise_until(said, stop).expect("old");
        }
        assert_eq!(bench.dones(), [DoneReason::Error]);
        assert!(!bench.roles().contains(&"summary"));
        check::at_rest(&bench);
    }
}

#[test]
fn b50_an_extract_that_is_cut_off_is_made_again_and_one_that_is_refused_by_the_next_model() {
    let source = Bench::with(|agent| {
        falls_back(agent);
        agent.compaction.kept_turns = 1;
        agent.retries.model_waits_ms = vec![60_000];
    });
    for said in ["one", "two"] {
        source.say(said);
        source.run().model(text(said));
    }
    let bench = source.hand_off("paint the door", false);
    bench.signal(&SignalBody::Resume);
    let mut run = bench.run();
    run.summarise_until("the blue pai", StopReason::MaxTokens).expect("old");
    assert!(run.is_over(), "it is tried again in a minute");
    drop(run);
    assert_eq!(bench.status(), SessionStatus::Suspended);
    bench.clock.pass(std::time::Duration::from_secs(120));
    let mut run = bench.run();
    assert_eq!(asked(&run), Some(0));
    run.summarise_until("I can't help with that", StopReason::Refusal).expect("old");
    assert_eq!(asked(&run), Some(1), "{:?}", run.out);
    run.summarise("the blue paint is in the shed").expect("old");
    run.model(text("done"));
    assert_eq!(bench.status(), SessionStatus::Idle);
    assert_eq!(bench.roles().iter().filter(|role| **role == "summary").count(), 1);
    check::at_rest(&bench);
}

/// Requirements: B38.
#[test]
fn c53_what_is_too_long_for_one_model_and_cannot_be_summarised_is_answered_by_the_next() {
    for summary in [None, Some(ModelErrorKind::Auth)] {
        let bench = Bench::with(falls_back);
        if summary.is_some() {
            for said in ["one", "two", "three", "four", "five", "six", "seven"] {
                bench.say(said);
                bench.run().model(text(said));
            }
        }
        bench.say(&"x".repeat(4_000));
        let mut run = bench.run();
        run.model_fails(too_long());
        match summary {
            None => assert_eq!(run.summarise("nothing is old"), None),
            Some(kind) => run.no_summary(ModelError::new(kind, "no summary")),
        }
        assert_eq!(asked(&run), Some(1), "{:?}", run.out);
        bench.crash(run);
        let mut run = bench.run();
        assert_eq!(asked(&run), Some(1), "another run knows");
        run.model(text("that was long"));
        assert_eq!(bench.dones().last(), Some(&DoneReason::ModelStop));
        let told = check::events(&bench).into_iter().find_map(|event| match event {
            Event::FellBack { model, error } => Some((model, error.detail)),
            _ => None,
        });
        assert_eq!(told, Some(("other".to_owned(), "too long".to_owned())));
        check::at_rest(&bench);
    }
    // The last model has no fallback.
    let bench = Bench::with(falls_back);
    bench.say(&"x".repeat(4_000));
    let mut run = bench.run();
    run.model_fails(too_long());
    run.summarise("nothing is old");
    run.model_fails(too_long());
    run.summarise("nothing is old");
    let AgentState::Done { ending, .. } = bench.machine().state else { panic!("done") };
    let told = ending.error.map(|error| error.detail).unwrap();
    assert!(told.starts_with("too long; nothing older is left"), "{told}");
}

#[test]
fn b10_what_is_shown_again_once_a_summary_is_taken_back_is_counted_whole() {
    for edits in [true, false] {
        let bench = Bench::with(small);
        let mut answer = text("one");
        answer.usage.input = 0;
        bench.say(&"x".repeat(1_200));
        bench.run().model(answer);
        let counted = bench.machine().view.tokens;
        assert!(counted > 300, "{counted}");
        bench.say("two");
        let mut run = bench.run();
        steps(&mut run, 2..=4);
        assert!(run.is_out("summarise"), "{:?}", run.steps.machine());
        run.summarise("x was said").expect("old");
        assert!(run.steps.machine().view.tokens < counted);
        match edits {
            true => bench.say_instead(3, "deux"),
            false => bench.say_under(MessagePolicy::Rollback, "deux"),
        }
        run.news();
        if run.is_out("stop_model") {
            run.perform("stop_model");
        }
        assert!(run.is_over(), "{:?}", run.out);
        drop(run);
        let mut run = bench.run();
        let view = &run.steps.machine().view;
        assert_eq!(view.summary, None, "what was summarised is shown again");
        assert!(view.tokens.abs_diff(counted) < 10, "{} of {counted}, edits: {edits}", view.tokens);
        run.model(text("done"));
        check::at_rest(&bench);
    }
}

#[test]
fn a_summary_that_was_asked_for_is_made_before_what_was_said_begins_a_turn() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.say("three");
    bench.compact();
    let mut run = bench.run();
    let old = run.summarise("one was said").expect("it is made");
    assert_eq!(old.len(), 2);
    assert!(run.is_out("call_model"), "then the turn begins: {:?}", run.steps.machine());
    let roles: Vec<&str> = run.model_sees().0.iter().map(Message::role).collect();
    assert_eq!(roles, ["user", "user", "assistant", "user"], "the summary, a turn that stays, the question");
    run.model(text("three"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 3]);
    check::at_rest(&bench);
    // A summary is also made before a message that takes the last turn back.
    bench.say_instead(6, "drei");
    bench.compact();
    let mut run = bench.run();
    let old = run.summarise("one and two were said").expect("it is made");
    assert_eq!(old.iter().map(Message::role).collect::<Vec<_>>(), ["summary", "user", "assistant"]);
    let (seen, _) = run.model_sees();
    let [Message::User(summary), Message::User(edited)] = &seen[..] else { panic!("{seen:?}") };
    assert!(summary.text.contains("one and two were said"), "{summary:?}");
    assert_eq!(edited.text, "drei");
    run.model(text("drei"));
    check::at_rest(&bench);
}

/// Creates a session that rests on an error, after two turns that can be summarised.
fn failed() -> Bench {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.say("three");
    bench.run().model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong"));
    assert_eq!(bench.status(), SessionStatus::Failed);
    bench
}

#[test]
fn a_summary_that_was_asked_for_leaves_the_other_words_to_what_comes_after_it() {
    for first in [SignalBody::Compact, SignalBody::Retry] {
        let bench = failed();
        let then = if first == SignalBody::Retry { SignalBody::Compact } else { SignalBody::Retry };
        bench.signal(&first);
        bench.signal(&then);
        let mut run = bench.run();
        run.summarise("one and two were said").expect("it is made");
        assert!(run.is_out("call_model"), "the turn is tried again: {:?}", run.steps.machine());
        run.model(text("three"));
        assert_eq!(
            bench.dones(),
            [DoneReason::ModelStop, DoneReason::ModelStop, DoneReason::Error, DoneReason::ModelStop]
        );
        check::at_rest(&bench);
    }
    // A mode is set after a message that brings its own mode.
    let bench = failed();
    bench.brief("four", Briefing { mode: Some(Mode::Ask), ..Briefing::default() });
    bench.set_mode(Mode::Plan);
    bench.compact();
    let mut run = bench.run();
    run.summarise("one and two were said").expect("it is made");
    run.model(text("four"));
    assert_eq!(bench.machine().mode, Some(Mode::Plan));
    check::at_rest(&bench);
}

#[test]
fn a_summary_that_is_given_up_leaves_the_other_words_to_the_next_run() {
    let bench = failed();
    bench.compact();
    for _ in 0..ATTEMPTS_MAX {
        let run = bench.run();
        assert!(run.is_out("summarise"));
        bench.crash(run);
    }
    bench.signal(&SignalBody::Retry);
    let run = bench.run();
    assert!(run.is_over(), "{:?}", run.out);
    drop(run);
    let mut run = bench.run();
    run.model(text("three"));
    assert_eq!(bench.dones().last(), Some(&DoneReason::ModelStop));
    check::at_rest(&bench);
}

#[test]
fn b38_where_no_summary_can_be_made_the_last_model_is_shown_results_shorter() {
    for kind in [ModelErrorKind::RateLimited, ModelErrorKind::Stalled, ModelErrorKind::ContextLimit] {
        let bench = Bench::with(|agent| agent.compaction = Compaction::default());
        bench.say("look");
        let mut run = bench.run();
        steps(&mut run, 1..=5);
        run.model(calls(&["look:{\"try\":6}"]));
        run.returns("c6-0", &"z".repeat(10_000));
        run.model_fails(too_long());
        run.no_summary(ModelError::new(kind, "not now"));
        let (seen, _) = run.model_sees();
        let Some(Message::Tool(newest)) = seen.last() else { panic!("{seen:?}") };
        assert!(newest.content.len() < 2_000, "{}", newest.content.len());
        run.model_fails(too_long());
        run.no_summary(ModelError::new(kind, "not now"));
        let (seen, _) = run.model_sees();
        assert!(!format!("{seen:?}").contains("zz"), "and then not at all");
        run.model_fails(too_long());
        run.no_summary(ModelError::new(kind, "not now"));
        let AgentState::Done { ending, .. } = bench.machine().state else { panic!("done") };
        let told = ending.error.expect("it failed").to_string();
        assert!(told.starts_with("model.context_limit: too long; "), "{told}");
        assert!(told.contains(kind.as_str()) && told.contains("try the turn again"), "{told}");
        check::at_rest(&bench);
    }
}

#[test]
fn b38_what_one_model_refused_is_not_counted_against_the_next() {
    let bench = Bench::with(|agent| {
        agent.compaction = Compaction::default();
        falls_back(agent);
    });
    bench.say("hi");
    let mut run = bench.run();
    run.model_fails(too_long());
    assert_eq!(run.steps.machine().turn.refused, 1);
    run.summarise("nothing is old");
    assert_eq!((asked(&run), run.steps.machine().turn.refused), (Some(1), 0));
    run.model(text("done"));
    check::at_rest(&bench);
}
