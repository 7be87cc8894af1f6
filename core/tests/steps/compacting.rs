//! Summaries of old messages, because a transcript grows beyond the context of the model or because somebody asks. Also,
//! results that are cleared.
//!
//! Requirements: A10, A68, A70, C63.

use holdover_core::agent::Compaction;
use holdover_core::compaction::{CLEARED, SUMMARY_MARKER};
use holdover_core::engine::{ATTEMPTS_MAX, Action, Reply, StepIterator};
use holdover_core::error::ErrorInfo;
use holdover_core::event::{Event, SummaryCause};
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{InterruptKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns rules for a context of 1,000 tokens, in which a summary keeps the newest two turns or steps.
fn small() -> Compaction {
    Compaction::default().context_tokens(1_000).kept_turns(2)
}

fn bench() -> Bench {
    Bench::with(|agent| {
        agent.compaction = small();
        agent.loops.stop_at = 0;
    })
}

/// Plays a step whose result has `chars` characters. The provider reports no input tokens, so the engine estimates
/// them.
fn step(run: &mut Run<'_>, number: u32, chars: usize) {
    let mut answer = calls(&[&format!("look:{{\"try\":{number}}}")]);
    answer.usage.input = 0;
    run.model(answer);
    run.returns(&format!("c{number}-0"), &"x".repeat(chars));
}

fn roles_seen(run: &Run<'_>) -> Vec<&'static str> {
    run.model_sees().0.iter().map(Message::role).collect()
}

fn events(bench: &Bench) -> Vec<Event> {
    check::events(bench)
}

/// Requirements: A10, A68, A70.
#[test]
fn a52_beyond_the_threshold_what_is_old_is_summarised_before_the_next_step() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    // Each step has about 150 tokens. The threshold is 700.
    for number in 1..=4 {
        step(&mut run, number, 400);
        assert!(run.is_out("call_model"), "{number}");
    }
    step(&mut run, 5, 400);
    assert!(matches!(run.steps.machine().state, AgentState::Compacting { .. }));
    let old = run.summarise("all that was done").expect("there is something old");
    assert!(matches!(&old[0], Message::User(said) if said.text == "the task"));
    let (seen, _) = run.model_sees();
    let Message::User(summary) = &seen[0] else { panic!("{seen:?}") };
    assert_eq!(summary.text, format!("{SUMMARY_MARKER}\n\nall that was done"));
    assert_eq!(roles_seen(&run), ["user", "assistant", "tool", "assistant", "tool"], "two steps stay");
    assert!(run.steps.machine().view.tokens < 700, "{}", run.steps.machine().view.tokens);
    // The messages of the transcript are unchanged, and the summary is added.
    run.model(text("done"));
    let roles = bench.roles();
    assert_eq!(
        roles[..11],
        [
            "user",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "tool",
            "assistant",
            "tool"
        ]
    );
    assert_eq!(roles[11..], ["summary", "assistant"]);
    assert_eq!(bench.machine().usage.model_calls, 7, "the summary counts");
    let told: Vec<Event> = events(&bench)
        .into_iter()
        .filter(|event| matches!(event, Event::CompactionStarted { .. } | Event::CompactionEnded { .. }))
        .collect();
    let [
        Event::CompactionStarted { tokens, threshold: 700, cause: SummaryCause::TooLong },
        Event::CompactionEnded { before, after, usage, error: None, cause: SummaryCause::TooLong },
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert!(tokens == before && *before > 700 && after < before, "{told:?}");
    assert_eq!(usage.tokens.total(), 15);
    check::at_rest(&bench);
}

/// Requirements: C63.
#[test]
fn the_next_run_and_the_next_turn_see_the_same() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    for number in 1..=5 {
        step(&mut run, number, 400);
    }
    run.summarise("so far").expect("old");
    let seen = run.model_sees().0;
    bench.crash(run);
    // The commit with the summary was made before the model was called, so the next run finds the summary.
    let mut run = bench.run();
    assert_eq!(run.model_sees().0, seen);
    run.model(text("done"));
    bench.say("and now?");
    let run = bench.run();
    assert_eq!(
        roles_seen(&run),
        ["user", "assistant", "tool", "assistant", "tool", "assistant", "user"],
        "the summary, two steps, the answer, the question"
    );
}

#[test]
fn a_summary_that_was_lost_on_its_way_is_made_again() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    for number in 1..=5 {
        step(&mut run, number, 400);
    }
    assert!(run.is_out("summarise"));
    bench.crash(run);
    let mut run = bench.run();
    run.summarise("so far").expect("old");
    run.model(text("done"));
    assert_eq!(bench.roles().iter().filter(|role| **role == "summary").count(), 1);
    check::at_rest(&bench);
}

#[test]
fn a10_a_threshold_that_is_passed_where_nothing_is_old_enough_holds_nobody_up() {
    let bench = bench();
    bench.say(&"x".repeat(4_000));
    let mut run = bench.run();
    assert_eq!(run.summarise("nothing"), None, "one message alone is not old");
    assert!(run.is_out("call_model"), "compacting leads to thinking");
    let ended = |event: &Event| matches!(event, Event::CompactionEnded { error: None, before, after, .. } if before == after);
    assert!(matches!(run.steps.machine().state, AgentState::Streaming { .. }));
    assert_eq!(run.steps.machine().view.failures, 0, "that is no failure");
    run.model(text("done"));
    assert!(events(&bench).iter().any(ended));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

/// Requirements: A10.
#[test]
fn a69_a_failure_is_counted_the_turn_goes_on_and_after_three_in_a_row_none_is_tried() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    for number in 1..=4 {
        step(&mut run, number, 400);
    }
    for (number, failures) in (5..=7).zip(1..) {
        step(&mut run, number, 400);
        run.no_summary(ModelError::new(ModelErrorKind::Provider, "broken"));
        assert_eq!(run.steps.machine().view.failures, failures);
        assert!(run.is_out("call_model"), "A10: the turn goes on");
    }
    step(&mut run, 8, 400);
    assert!(run.is_out("call_model") && !run.is_out("summarise"));
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
}

#[test]
fn a69_an_empty_summary_is_a_failure_and_a_good_one_sets_the_count_back() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    for number in 1..=5 {
        step(&mut run, number, 400);
    }
    run.summarise("  \n");
    assert_eq!(run.steps.machine().view.failures, 1);
    step(&mut run, 6, 400);
    run.summarise("so far").expect("old");
    assert_eq!(run.steps.machine().view.failures, 0);
}

#[test]
fn b38_a_request_that_the_provider_refuses_as_too_long_is_tried_again_with_a_summary() {
    let too_long = || ModelError::new(ModelErrorKind::ContextLimit, "too long");
    let bench = Bench::with(|agent| {
        agent.compaction = Compaction::default().context_tokens(1_000_000).kept_turns(2);
        agent.compaction.threshold_percent = 1;
    });
    bench.say("the task");
    bench.run().model(text("one"));
    for said in ["two", "three"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.say("four");
    let mut run = bench.run();
    run.model_fails(too_long());
    let old = run.summarise("so far").expect("old");
    assert_eq!(old.len(), 4, "two of four turns stay");
    assert_eq!(roles_seen(&run), ["user", "user", "assistant", "user"]);
    run.model_fails(too_long());
    run.summarise("so far").expect("the newest turn alone stays");
    assert_eq!(roles_seen(&run), ["user", "user"]);
    run.model_fails(too_long());
    assert_eq!(run.summarise("nothing"), None);
    assert_eq!(bench.dones().last(), Some(&DoneReason::Error), "nothing is left to leave out");
    check::at_rest(&bench);
    // Nothing can be summarised, so the turn ends with the refusal.
    let bench = Bench::new();
    bench.say("the task");
    let mut run = bench.run();
    run.model_fails(too_long());
    assert_eq!(run.summarise("nothing"), None);
    let AgentState::Done { ending, .. } = bench.machine().state else { panic!("done") };
    let told = ending.error.map(|error| error.detail).unwrap();
    assert!(told.starts_with("too long; nothing older is left"), "{told}");
}

#[test]
fn it_is_off_where_the_threshold_is_zero() {
    let bench = Bench::with(|agent| agent.compaction.threshold_percent = 0);
    bench.say("the task");
    let mut run = bench.run();
    run.model_fails(ModelError::new(ModelErrorKind::ContextLimit, "too long"));
    assert!(!run.is_out("summarise"));
    assert_eq!(bench.dones(), [DoneReason::Error]);
    let AgentState::Done { ending, .. } = bench.machine().state else { panic!("done") };
    let told = ending.error.map(|error| error.detail).unwrap();
    for said in ["too long; compaction.threshold_percent is 0", "(compact) and retry", "longer context"] {
        assert!(told.contains(said), "{told}");
    }
    assert!(!told.contains("nothing older is left"), "{told}");
}

#[test]
fn a_session_at_rest_is_summarised_when_somebody_asks_and_rests_again_as_it_did() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.compact();
    let mut run = bench.run();
    let old = run.summarise("one was said").expect("old");
    assert_eq!(old.len(), 2);
    assert!(run.is_over());
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Idle, false));
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 2], "no turn began");
    check::at_rest(&bench);
    bench.say("three");
    let run = bench.run();
    assert_eq!(roles_seen(&run), ["user", "user", "assistant", "user"]);
}

#[test]
fn asking_changes_nothing_where_there_is_nothing_old_and_a_stop_leaves_the_session_as_it_was() {
    let bench = Bench::new();
    bench.compact();
    let run = bench.run();
    assert!(run.is_over(), "nothing was said");
    assert_eq!(bench.roles(), [""; 0]);
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    bench.say("one");
    bench.run().model(text("one"));
    bench.compact();
    assert_eq!(bench.run().summarise("nothing"), None);
    assert_eq!((bench.status(), bench.roles().len()), (SessionStatus::Idle, 2));
    bench.say("two");
    bench.run().model(text("two"));
    bench.compact();
    let mut run = bench.run();
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_over(), "{:?}", run.steps.machine());
    assert_eq!((bench.status(), bench.dones().len()), (SessionStatus::Idle, 2));
    check::at_rest(&bench);
}

#[test]
fn a33_when_there_are_more_than_fifteen_results_the_model_sees_the_newest_five_alone() {
    let bench = Bench::with(|agent| {
        agent.loops.stop_at = 0;
        agent.limits.max_steps = 99;
    });
    bench.say("the task");
    let mut run = bench.run();
    let long = |run: &Run<'_>| -> usize {
        let whole =
            |message: &&Message| matches!(message, Message::Tool(result) if result.content != CLEARED);
        run.model_sees().0.iter().filter(whole).count()
    };
    for number in 1..=15 {
        step(&mut run, number, 400);
        assert_eq!(long(&run), number as usize);
    }
    step(&mut run, 16, 400);
    assert_eq!(long(&run), 5);
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(long(&run), 5, "another run knows");
    step(&mut run, 17, 400);
    assert_eq!(long(&run), 6, "not one by one: what is shown stays the same for a while");
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done; 17]);
    assert!(
        bench.results().iter().all(|result| result.content.len() == 400),
        "the transcript has all of them"
    );
}

#[test]
fn a_summary_that_kills_its_run_is_given_up_and_what_was_said_meanwhile_is_answered() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.compact();
    for _ in 0..ATTEMPTS_MAX {
        let run = bench.run();
        assert!(run.is_out("summarise"));
        bench.crash(run);
    }
    bench.say("hello?");
    let run = bench.run();
    assert!(run.is_over() && !run.is_out("summarise"), "{:?}", run.out);
    drop(run);
    assert_eq!(bench.status(), SessionStatus::Idle, "the session rests as it did");
    let mut run = bench.run();
    assert_eq!(roles_seen(&run), ["user", "assistant", "user", "assistant", "user"]);
    run.model(text("here"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 3]);
    let why = events(&bench).into_iter().rev().find_map(|event| match event {
        Event::CompactionEnded { error, .. } => error,
        _ => None,
    });
    assert_eq!(why.map(|error| error.code), Some("engine.poisoned".to_owned()));
    check::at_rest(&bench);
}

#[test]
fn a_summary_whose_run_could_not_go_on_is_given_up_at_once() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.compact();
    bench.crash(bench.run());
    let claim = bench.claim().expect("it is taken over");
    let error = ErrorInfo::new("engine.panicked", "out of cheese");
    let steps = StepIterator::fail(claim, bench.agent.clone(), error, bench.facts()).unwrap();
    let run = Run::new(&bench, steps);
    assert!(run.is_over() && !run.is_out("summarise"), "{:?}", run.out);
    drop(run);
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Idle, false));
    check::at_rest(&bench);
}

#[test]
fn b10_an_edit_that_comes_while_a_summary_is_made_at_rest_is_not_hidden_behind_it() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two", "three"] {
        bench.say(said);
        bench.run().model(text(said));
    }
    bench.compact();
    let mut run = bench.run();
    bench.say_instead(3, "deux");
    run.news();
    run.summarise("one and two were said").expect("old");
    assert!(run.is_out("call_model"), "the turn of the edit begins: {:?}", run.steps.machine());
    let (seen, _) = run.model_sees();
    let said = |message: &Message| match message {
        Message::User(said) => said.text.clone(),
        other => other.role().to_owned(),
    };
    assert_eq!(seen.iter().map(said).collect::<Vec<_>>(), ["one", "assistant", "deux"]);
    run.model(text("trois"));
    check::at_rest(&bench);
}

#[test]
fn an_answer_under_the_name_of_a_summary_is_no_summary_and_changes_nothing() {
    let bench = bench();
    bench.say("the task");
    let mut run = bench.run();
    for number in 1..=5 {
        step(&mut run, number, 400);
    }
    assert!(matches!(run.steps.machine().state, AgentState::Compacting { .. }));
    let asked = run.take("summarise");
    let Action::Summarise { id, .. } = &asked else { unreachable!() };
    let before = run.steps.machine().clone();
    for result in [Ok(text("an answer")), Err(ModelError::new(ModelErrorKind::Provider, "down"))] {
        run.apply(Reply::ModelAnswered { id: *id, result });
        assert_eq!(*run.steps.machine(), before);
        assert!(!run.is_out("summarise"), "it is asked for once");
    }
}
