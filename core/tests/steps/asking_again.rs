//! Failures of the model: the call is retried, or a fallback model is called.
//!
//! Requirements: B20, B35, B37, B39, B40, C52, C53, D10.

use std::time::Duration;

use holdover_core::agent::{AgentSpec, Fallback, Prices};
use holdover_core::engine::Action;
use holdover_core::event::Event;
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::ResultStatus;
use holdover_core::mode::{Briefing, Mode};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{InterruptKind, OutcomeKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn error(kind: ModelErrorKind) -> ModelError {
    ModelError::new(kind, "no")
}

/// Returns the step, the attempt and the model of the model call in flight.
fn asked(run: &Run<'_>) -> (u64, u32, u32) {
    let call = run.out.iter().find_map(|action| match action {
        Action::CallModel { call, .. } => Some((call.step.0, call.attempt, call.model)),
        _ => None,
    });
    call.unwrap_or_else(|| panic!("no model is asked: {:?}", run.out))
}

fn with_fallback(models: &[&str]) -> Bench {
    Bench::with(|agent| {
        let fallback = |model: &&str| Fallback { model: (*model).to_owned(), prices: None };
        agent.fallback = models.iter().map(fallback).collect();
    })
}

fn fell_back(bench: &Bench) -> Vec<String> {
    let named = |event| match event {
        Event::FellBack { model, .. } => Some(model),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(named).collect()
}

/// Requirements: D10.
#[test]
fn b37_what_may_pass_is_tried_again_and_what_will_not_ends_the_turn() {
    use ModelErrorKind as K;
    for (kind, passes) in [
        (K::RateLimited, true),
        (K::Unavailable, true),
        (K::Provider, true),
        (K::Network, true),
        (K::Incomplete, true),
        (K::Malformed, true),
        (K::Stalled, true),
        (K::Auth, false),
        (K::Quota, false),
        (K::Refused, false),
        (K::Configuration, false),
        (K::Transcript, false),
    ] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model_fails(error(kind));
        let expected = if passes { OutcomeKind::SuspendedUntil } else { OutcomeKind::Failed };
        assert_eq!((run.outcome().kind(), kind.is_retryable()), (expected, passes), "{kind:?}");
    }
    let bench = Bench::with(|agent| agent.compaction.threshold_percent = 0);
    let mut run = go(&bench);
    run.model_fails(error(K::ContextLimit));
    assert_eq!(run.outcome().kind(), OutcomeKind::Failed);
}

/// Requirements: B39.
#[test]
fn d10_the_waits_of_a_kind_of_error_can_be_set() {
    let bench = Bench::with(|agent| {
        let waits = [(ModelErrorKind::RateLimited, vec![60_000]), (ModelErrorKind::Network, vec![])];
        agent.retries.model_waits_by_kind_ms = waits.into();
    });
    let mut run = go(&bench);
    run.model_fails(error(ModelErrorKind::Provider));
    assert_eq!(bench.alarm_in(), Some(secs(5)));
    bench.clock.pass(secs(5));
    let mut run = bench.run();
    run.model_fails(error(ModelErrorKind::RateLimited));
    assert_eq!(bench.status(), SessionStatus::Failed, "one wait for this kind, and one was waited");
    bench.retry();
    let mut run = bench.run();
    run.model_fails(error(ModelErrorKind::RateLimited));
    assert_eq!(bench.alarm_in(), Some(secs(60)));
    bench.clock.pass(secs(60));
    let mut run = bench.run();
    run.model_fails(error(ModelErrorKind::Network));
    assert_eq!(bench.status(), SessionStatus::Failed, "no wait for this kind");
    check::at_rest(&bench);
}

#[test]
fn b39_a_retry_after_wins_also_when_it_is_shorter_every_time() {
    let bench = Bench::new();
    let mut run = go(&bench);
    for seconds in [2, 2, 600, 2, 2] {
        run.model_fails(overloaded(Some(secs(seconds))));
        assert_eq!(bench.alarm_in(), Some(secs(seconds)));
        bench.clock.pass(secs(seconds));
        run = bench.run();
    }
    run.model_fails(overloaded(Some(secs(2))));
    assert_eq!(bench.status(), SessionStatus::Failed, "it wins over the waits, not over their number");
}

#[test]
fn c52_a_model_says_itself_how_long_it_is_to_be_left_alone() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model_fails(ModelError::transient("it is being loaded", Some(secs(33))));
    assert_eq!(bench.alarm_in(), Some(secs(33)));
    bench.clock.pass(secs(33));
    let mut run = bench.run();
    run.model_fails(ModelError::transient("it is being loaded", None));
    assert_eq!(bench.alarm_in(), Some(secs(10)), "else as the agent says");
}

fn fails_twice<'b>(bench: &'b Bench, mut run: Run<'b>) {
    for seconds in [5, 10] {
        run.model_fails(error(ModelErrorKind::Network));
        assert_eq!(bench.alarm_in(), Some(secs(seconds)));
        if seconds == 5 {
            bench.clock.pass(secs(5));
            run = bench.run();
        }
    }
}

#[test]
fn b35_the_count_begins_anew_after_an_answer_a_message_and_a_stop() {
    let bench = Bench::new();
    let mut run = go(&bench);
    fails_twice(&bench, run);
    bench.clock.pass(secs(10));
    run = bench.run();
    assert_eq!(asked(&run), (1, 2, 0));
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    assert_eq!(asked(&run), (2, 0, 0), "an answer");
    fails_twice(&bench, run);
    bench.interrupt(InterruptKind::Soft);
    assert!(bench.run().is_over());
    assert_eq!(bench.status(), SessionStatus::Interrupted);
    bench.retry();
    let mut run = bench.run();
    assert_eq!(asked(&run).1, 0, "a stop");
    run.model_fails(error(ModelErrorKind::Network));
    bench.clock.pass(secs(5));
    let mut run = bench.run();
    run.model_fails(error(ModelErrorKind::Auth));
    assert_eq!(bench.status(), SessionStatus::Failed);
    let run = go(&bench);
    assert_eq!(asked(&run).1, 0, "a message");
}

#[test]
fn b40_a_back_off_is_shown_and_is_cut_short_or_called_off() {
    for stopped in [false, true] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model_fails(overloaded(Some(secs(3_600))));
        let until = bench.facts().now.after(secs(3_600));
        let shown = |event: &Event| matches!(event, Event::BackingOff { until: at, .. } if *at == until);
        assert!(check::events(&bench).iter().any(shown));
        assert!(!bench.is_due());
        if stopped {
            bench.interrupt(InterruptKind::Soft);
            assert!(bench.run().is_over());
            assert_eq!(bench.dones(), [DoneReason::UserAbort]);
        } else {
            bench.retry();
            let mut run = bench.run();
            assert_eq!(asked(&run), (1, 1, 0), "at once, and it counts");
            run.model_fails(overloaded(None));
            assert_eq!(bench.alarm_in(), Some(secs(10)), "the word was for the wait that was");
            bench.clock.pass(secs(10));
            bench.run().model(text("done"));
            assert_eq!(bench.dones(), [DoneReason::ModelStop]);
        }
        check::at_rest(&bench);
    }
}

#[test]
fn b40_the_attempt_that_a_back_off_names_is_the_next_one_also_while_a_circuit_holds_the_model() {
    let bench = Bench::new();
    let mut run = go(&bench);
    let mut refusal = error(ModelErrorKind::CircuitOpen);
    refusal.retry_after = Some(secs(10));
    refusal.held_for = Some(secs(15));
    let mut made = Vec::new();
    for _ in 0..3 {
        run.model_fails(refusal.clone());
        bench.clock.pass(secs(10));
        run = bench.run();
        made.push(asked(&run).1);
    }
    assert_eq!(made, [1, 1, 2], "looks within one hold are one attempt");
    let named = |event| match event {
        Event::BackingOff { attempt, .. } => Some(attempt),
        _ => None,
    };
    assert_eq!(check::events(&bench).into_iter().filter_map(named).collect::<Vec<_>>(), made);
}

fn with_a_needy_tool() -> Bench {
    Bench::with(|agent| {
        let note = agent.tools.iter_mut().find(|tool| tool.name.as_str() == "note").unwrap();
        note.parameters = serde_json::json!({ "type": "object", "required": ["text"] });
    })
}

#[test]
fn b20_a_whole_call_without_the_input_that_its_tool_needs_was_cut_and_is_asked_for_again() {
    for empty in ["", "{}", " { } "] {
        let bench = with_a_needy_tool();
        let mut run = go(&bench);
        run.model(calls(&["look", &format!("note:{empty}")]));
        assert_eq!(bench.alarm_in(), Some(secs(5)), "{empty:?}");
        assert_eq!(bench.roles(), ["user"], "nothing of it is kept");
        assert_eq!(bench.machine().usage.tokens.total(), 15, "what it used is");
        bench.clock.pass(secs(5));
        let mut run = bench.run();
        run.model(calls(&["note:{\"text\": \"a\"}"]));
        run.returns("c1-0", "noted");
        run.model(text("done"));
        assert_eq!(bench.statuses(), [ResultStatus::Done]);
        check::at_rest(&bench);
    }
}

#[test]
fn b20_a_tool_that_needs_none_runs_without_input_and_a_model_that_never_gives_any_is_told() {
    let bench = with_a_needy_tool();
    let mut run = go(&bench);
    run.model(calls(&["look:"]));
    run.returns("c1-0", "seen");
    for seconds in [5, 10, 20, 40, 60] {
        run.model(calls(&["note:"]));
        bench.clock.pass(secs(seconds));
        run = bench.run();
    }
    run.model(calls(&["note:"]));
    assert_eq!(run.calls_out(), ["c2-0"], "the gate of the stories lets it through");
}

#[test]
fn c53_a_model_that_is_refused_for_good_is_followed_by_the_next_in_the_same_step() {
    let bench = with_fallback(&["spare", "last"]);
    let mut run = go(&bench);
    run.model_fails(error(ModelErrorKind::Quota));
    assert_eq!(asked(&run), (1, 0, 1));
    run.model_fails(error(ModelErrorKind::Auth));
    assert_eq!(asked(&run), (1, 0, 2));
    assert_eq!(run.steps.machine().turn.model, 2);
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    assert_eq!(asked(&run), (2, 0, 0), "each step begins with the agent's own model");
    run.model(text("done"));
    assert_eq!(fell_back(&bench), ["spare", "last"]);
    assert_eq!(bench.machine().turn.model, 0);
    check::at_rest(&bench);
}

#[test]
fn c53_the_next_model_is_asked_when_the_retries_are_used_up_and_has_all_of_its_own() {
    let bench = with_fallback(&["spare"]);
    let mut run = go(&bench);
    for model in [0, 1] {
        for seconds in [5, 10, 20, 40, 60] {
            assert_eq!(asked(&run).2, model);
            run.model_fails(overloaded(None));
            assert_eq!(bench.alarm_in(), Some(secs(seconds)));
            bench.clock.pass(secs(seconds));
            run = bench.run();
        }
        run.model_fails(overloaded(None));
    }
    assert_eq!((bench.status(), fell_back(&bench)), (SessionStatus::Failed, vec!["spare".to_owned()]));
    check::at_rest(&bench);
}

#[test]
fn c53_the_choice_survives_the_death_of_its_run() {
    let bench = with_fallback(&["spare"]);
    let mut run = go(&bench);
    run.model_fails(error(ModelErrorKind::Quota));
    assert_eq!(asked(&run).2, 1);
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(asked(&run).2, 1);
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    check::at_rest(&bench);
}

#[test]
fn c53_no_other_model_mends_a_transcript_that_cannot_be_read() {
    let bench = with_fallback(&["spare"]);
    let mut run = go(&bench);
    run.model_fails(error(ModelErrorKind::Transcript));
    assert_eq!((bench.status(), fell_back(&bench).len()), (SessionStatus::Failed, 0));
}

#[test]
fn c53_each_model_costs_what_it_costs() {
    let bench = Bench::with(|agent| {
        agent.limits.prices = Prices::default().input_microusd(1_000_000).output_microusd(1_000_000);
        let prices = Some(Prices::default().input_microusd(2_000_000).output_microusd(4_000_000));
        let named = |model: &str, prices| Fallback { model: model.to_owned(), prices };
        agent.fallback = vec![named("dear", prices), named("as dear as its own", None)];
    });
    for (refusals, cost) in [(0, 15), (1, 40), (2, 15)] {
        let before = bench.machine().usage.cost_microusd;
        let mut run = go(&bench);
        for _ in 0..refusals {
            run.model_fails(error(ModelErrorKind::Quota));
        }
        run.model(text("done"));
        assert_eq!(bench.machine().usage.cost_microusd - before, cost, "{refusals}");
        assert!(matches!(bench.machine().state, AgentState::Done { .. }));
    }
}

#[test]
fn c53_the_model_of_a_mode_costs_what_it_costs() {
    let prices = |each| Prices::default().input_microusd(each).output_microusd(each);
    let priced = |agent: &mut AgentSpec| {
        agent.limits.prices = prices(1_000_000);
        agent.mode_prices = [(Mode::Plan, prices(4_000_000))].into();
        agent.fallback = vec![Fallback { model: "spare".to_owned(), prices: None }];
    };
    let in_mode = |mode| Briefing { mode: Some(mode), ..Briefing::default() };
    let bench = Bench::with(priced);
    // A mode without prices of its own is charged at the agent's prices, and so is a fallback model.
    for (mode, refusals, cost) in [(Mode::Ask, 0, 15), (Mode::Plan, 1, 15), (Mode::Plan, 0, 60)] {
        let before = bench.machine().usage.cost_microusd;
        bench.brief("go", in_mode(mode));
        let mut run = bench.run();
        for _ in 0..refusals {
            run.model_fails(error(ModelErrorKind::Quota));
        }
        run.model(text("done"));
        assert_eq!(bench.machine().usage.cost_microusd - before, cost, "{mode:?}");
    }

    let bench = Bench::with(|agent| {
        priced(agent);
        agent.limits.max_cost_microusd = Some(60);
    });
    bench.brief("go", in_mode(Mode::Plan));
    let mut run = bench.run();
    run.model(calls(&["look"]));
    run.returns("c1-0", "seen");
    assert!(run.is_over(), "the money is spent");
    assert_eq!(bench.dones(), [DoneReason::BudgetExceeded]);
    check::at_rest(&bench);
}
