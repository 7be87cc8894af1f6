//! A provider whose model has a smaller context than the agent's settings say. Less and less is shown, until the view
//! fits or nothing is left to leave out.
//!
//! Requirements: A67, B38.

use holdover_core::agent::{AgentSpec, Compaction};
use holdover_core::compaction::{REFUSALS_MAX, estimate};
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::{Message, SignalBody};
use holdover_core::model::{ModelError, ModelErrorKind};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// The context of the model, in tokens. The agent's settings say 200,000.
const WINDOW: u64 = 3_000;

fn bench() -> Bench {
    Bench::with(|agent: &mut AgentSpec| agent.compaction = Compaction::default())
}

fn tokens(seen: &[Message]) -> u64 {
    let chars = |message: &Message| match message {
        Message::User(said) => said.text.len(),
        Message::Tool(result) => result.content.len(),
        Message::Assistant(said) => said.text().len(),
        Message::Summary(_) | Message::Decision(_) | Message::Notice(_) => 0,
    };
    estimate(seen.iter().map(chars).sum())
}

/// Refuses views that are too long for the model, and gives short summaries, until a view fits or the turn has ended.
/// Returns the number of refusals.
fn until_it_fits(bench: &Bench, run: &mut Run<'_>) -> u32 {
    let mut refused = 0;
    loop {
        if run.is_out("summarise") {
            run.summarise("so far");
        } else if run.is_out("call_model") {
            let (seen, _) = run.model_sees();
            if tokens(&seen) <= WINDOW {
                return refused;
            }
            refused += 1;
            assert!(refused <= REFUSALS_MAX + 1, "it ends: {:?}", run.out);
            run.model_fails(ModelError::new(ModelErrorKind::ContextLimit, "too long"));
        } else {
            assert!(matches!(bench.machine().state, AgentState::Done { .. }), "{:?}", run.out);
            return refused;
        }
    }
}

/// Plays a turn of about `of` tokens, half of them written by the model.
fn turn(bench: &Bench, of: usize) -> (DoneReason, u32) {
    bench.say(&"x".repeat(of * 2));
    let mut run = bench.run();
    let refused = until_it_fits(bench, &mut run);
    if run.is_out("call_model") {
        let mut answer = text(&"y".repeat(of * 2));
        answer.usage.input = 0;
        run.model(answer);
    }
    (*bench.dones().last().expect("it ends"), refused)
}

fn error(bench: &Bench) -> String {
    let AgentState::Done { ending, .. } = bench.machine().state else { panic!("done") };
    ending.error.expect("it failed").to_string()
}

#[test]
fn b38_turns_that_stay_are_fewer_where_the_provider_refuses_them() {
    let bench = bench();
    for number in 0..12 {
        let (ended, refused) = turn(&bench, 900);
        assert_eq!(ended, DoneReason::ModelStop, "turn {number}");
        assert!(refused <= 2, "turn {number}: refused {refused} times");
    }
    check::at_rest(&bench);
}

#[test]
fn b38_a_message_that_is_too_long_alone_names_the_ways_out_and_keeps_nobody_after_it() {
    let bench = bench();
    assert_eq!(turn(&bench, 400).0, DoneReason::ModelStop);
    assert_eq!(turn(&bench, 8_000).0, DoneReason::Error);
    let told = error(&bench);
    for words in [
        "model.context_limit: too long",
        "shorter in its place",
        "fork",
        "longer context",
        "max_output_tokens",
    ] {
        assert!(told.contains(words), "{told}");
    }
    // The failed turn is old now and can be summarised.
    assert_eq!(turn(&bench, 400).0, DoneReason::ModelStop);
    check::at_rest(&bench);
}

#[test]
fn b38_a_retry_and_a_summary_by_hand_get_a_stuck_session_out() {
    for by_hand in [false, true] {
        let bench = bench();
        for _ in 0..3 {
            turn(&bench, 900);
        }
        bench.say(&"x".repeat(3_600));
        let mut run = bench.run();
        run.model_fails(ModelError::new(ModelErrorKind::ContextLimit, "too long"));
        run.no_summary(ModelError::new(ModelErrorKind::Provider, "out"));
        assert_eq!(bench.dones().last(), Some(&DoneReason::Error), "no summary could be made");
        if by_hand {
            bench.compact();
            let mut run = bench.run();
            assert!(run.summarise("so far").is_some(), "what was refused is old, however short");
        }
        bench.signal(&SignalBody::Retry);
        let mut run = bench.run();
        let refused = until_it_fits(&bench, &mut run);
        assert_eq!(refused, u32::from(!by_hand), "by hand: {by_hand}");
        run.model(text("done"));
        assert_eq!(bench.dones().last(), Some(&DoneReason::ModelStop));
        check::at_rest(&bench);
    }
}

#[test]
fn b38_results_of_the_newest_step_are_shown_in_part_and_then_not_at_all() {
    for (results, stays) in [(2, true), (14, false)] {
        let bench = bench();
        bench.say("look");
        let mut run = bench.run();
        let asked: Vec<String> = (0..results).map(|number| format!("look:{{\"try\":{number}}}")).collect();
        run.model(calls(&asked.iter().map(String::as_str).collect::<Vec<_>>()));
        for number in 0..results {
            run.returns(&format!("c1-{number}"), &"z".repeat(10_000));
        }
        until_it_fits(&bench, &mut run);
        let (seen, _) = run.model_sees();
        assert!(tokens(&seen) <= WINDOW, "{}", tokens(&seen));
        let shown = seen
            .iter()
            .any(|message| matches!(message, Message::Tool(result) if result.content.contains("zz")));
        assert_eq!(shown, stays);
        run.model(text("done"));
        assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        check::at_rest(&bench);
    }
}

#[test]
fn b38_a_provider_that_refuses_everything_is_asked_a_bounded_number_of_times() {
    let bench = bench();
    for _ in 0..4 {
        turn(&bench, 300);
    }
    bench.say("go on");
    let mut run = bench.run();
    let mut refused = 0;
    while !matches!(bench.machine().state, AgentState::Done { .. }) || run.is_out("call_model") {
        if run.is_out("summarise") {
            run.summarise("so far");
            continue;
        }
        refused += 1;
        assert!(refused <= REFUSALS_MAX + 1, "it ends");
        run.model_fails(ModelError::new(ModelErrorKind::ContextLimit, "too long"));
        if bench.dones().len() > 4 {
            break;
        }
    }
    assert_eq!(bench.dones().last(), Some(&DoneReason::Error));
    assert!(error(&bench).contains("shorter in its place"));
    check::at_rest(&bench);
}
