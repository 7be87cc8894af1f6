//! The usage of answers that broke off or were stopped. It is counted by the provider or estimated, and it counts
//! against budgets.

use std::time::Duration;

use holdover_core::engine::RunDetail;
use holdover_core::machine::{DoneReason, Usage};
use holdover_core::message::{Message, Said};
use holdover_core::model::{ModelError, ModelErrorKind, PartialUse, TokenUsage};
use holdover_core::store::{InterruptKind, SessionStatus};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::text;

/// Returns the usage that a provider had counted when 400 bytes of an answer had arrived.
fn counted() -> PartialUse {
    PartialUse {
        counted: TokenUsage { input: 1_000, output: 150, ..TokenUsage::default() },
        bytes: 400,
        whole: false,
    }
}

/// Returns the usage after 400 bytes from a provider that counts no tokens.
fn uncounted() -> PartialUse {
    PartialUse { counted: TokenUsage::default(), bytes: 400, whole: false }
}

fn in_the_middle<'b>(bench: &'b Bench, used: Option<PartialUse>) -> Run<'b> {
    bench.say("go");
    let mut run = bench.run();
    (run.said, run.used) = ("First of all, ".into(), used);
    run
}

fn broke_off(used: Option<PartialUse>) -> ModelError {
    ModelError { used, ..ModelError::new(ModelErrorKind::Incomplete, "the stream was cut") }
}

fn usage(bench: &Bench) -> Usage {
    bench.machine().usage
}

#[test]
fn what_a_stopped_answer_used_is_counted_by_its_provider_or_estimated() {
    for (used, tokens, estimated) in [(counted(), 1_150, 0), (uncounted(), 0, 0)] {
        for kind in [InterruptKind::Soft, InterruptKind::Abort] {
            let bench = Bench::new();
            let mut run = in_the_middle(&bench, Some(used));
            bench.interrupt(kind);
            run.news();
            assert!(run.is_over());
            let usage = usage(&bench);
            assert_eq!(usage.model_calls, 1, "a call that was made is a call");
            if used == counted() {
                assert_eq!((usage.tokens.total(), usage.estimated_tokens), (tokens, estimated));
            } else {
                assert_eq!(usage.tokens.output, 100, "a quarter of the bytes that had come");
                assert!(usage.tokens.input > 0, "what the model was shown");
                assert_eq!(usage.estimated_tokens, usage.tokens.total(), "all of it is estimated");
            }
            assert_eq!(bench.machine().turn.steps, 0, "it is no finished model call");
            check::at_rest(&bench);
        }
    }
}

#[test]
fn where_a_provider_has_counted_too_little_of_what_came_the_rest_is_estimated() {
    let begun = TokenUsage { input: 1_000, output: 1, ..TokenUsage::default() };
    let bench = Bench::new();
    let mut run = in_the_middle(&bench, Some(PartialUse { counted: begun, bytes: 400, whole: false }));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    let usage = usage(&bench);
    assert_eq!((usage.tokens.input, usage.tokens.output, usage.estimated_tokens), (1_000, 100, 99));
}

#[test]
fn a_call_that_was_not_made_is_none() {
    let bench = Bench::new();
    let mut run = in_the_middle(&bench, None);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert_eq!(usage(&bench), Usage::default());

    let bench = Bench::new();
    let mut run = in_the_middle(&bench, None);
    run.model_fails(ModelError::new(ModelErrorKind::Refused, "no such model"));
    assert_eq!(usage(&bench), Usage::default());
    assert_eq!(bench.status(), SessionStatus::Failed);
}

#[test]
fn what_an_answer_used_that_broke_off_is_counted_each_time_and_a_budget_ends_the_turn() {
    for limited in ["tokens", "money"] {
        let bench = Bench::with(|agent| {
            agent.limits.prices.input_microusd = 1_000_000;
            agent.limits.prices.output_microusd = 1_000_000;
            match limited {
                "tokens" => agent.limits.max_tokens = Some(2_000),
                _ => agent.limits.max_cost_microusd = Some(2_000),
            }
        });
        let mut run = in_the_middle(&bench, None);
        run.model_fails(broke_off(Some(counted())));
        assert_eq!(bench.status(), SessionStatus::Suspended, "it is asked again");
        assert_eq!((usage(&bench).tokens.total(), usage(&bench).model_calls), (1_150, 1));
        bench.clock.pass(Duration::from_secs(60));
        let mut run = bench.run();
        run.model_fails(broke_off(Some(counted())));
        assert_eq!((usage(&bench).tokens.total(), usage(&bench).cost_microusd), (2_300, 2_300));
        bench.clock.pass(Duration::from_secs(60));
        let run = bench.run();
        assert!(run.is_over(), "the model is not asked a third time");
        assert_eq!(bench.dones(), [DoneReason::BudgetExceeded], "{limited}");
        check::at_rest(&bench);
    }
}

#[test]
fn b14_b21_a_correction_waits_for_the_next_turn_if_the_budget_ends_this_one() {
    let bench = Bench::with(|agent| agent.limits.max_tokens = Some(1_000));
    let mut run = in_the_middle(&bench, None);
    run.model_fails(broke_off(Some(counted())));
    bench.say_as(Said { correction_by: Some("ann".into()), ..Said::new("be polite") });
    bench.clock.pass(Duration::from_secs(60));
    assert!(bench.run().is_over());
    assert_eq!(bench.dones(), [DoneReason::BudgetExceeded]);
    let told =
        bench.transcript().iter().any(|message| matches!(message, Message::User(said) if said.by_engine));
    assert_eq!((told, bench.queued().len(), bench.is_due()), (false, 1, true), "it waits in the inbox");
}

#[test]
fn a_turn_that_is_taken_up_again_after_stopped_answers_ends_by_its_budget() {
    let bench = Bench::with(|agent| agent.limits.max_tokens = Some(2_000));
    let mut run = in_the_middle(&bench, Some(counted()));
    bench.interrupt(InterruptKind::Soft);
    run.news();
    bench.retry();
    let mut run = bench.run();
    run.used = Some(counted());
    bench.interrupt(InterruptKind::Soft);
    run.news();
    bench.retry();
    assert!(bench.run().is_over());
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::UserAbort, DoneReason::BudgetExceeded]);
    check::at_rest(&bench);
}

#[test]
fn the_last_attempt_that_fails_a_turn_is_counted_too() {
    let bench = Bench::with(|agent| agent.retries.model_waits_ms.clear());
    let mut run = in_the_middle(&bench, None);
    run.model_fails(broke_off(Some(counted())));
    assert_eq!((bench.status(), usage(&bench).tokens.total()), (SessionStatus::Failed, 1_150));
    bench.say("again");
    bench.run().model(text("yes"));
    assert_eq!(usage(&bench).model_calls, 2);
    check::at_rest(&bench);
}

#[test]
fn of_a_whole_answer_that_was_not_taken_nothing_is_estimated() {
    let bench = Bench::new();
    let mut run = in_the_middle(&bench, None);
    // This provider uses few tokens for many bytes.
    let whole = PartialUse { bytes: 40_000, whole: true, ..counted() };
    run.model_fails(broke_off(Some(whole)));
    assert_eq!((usage(&bench).tokens.total(), usage(&bench).estimated_tokens), (1_150, 0));
}

#[test]
fn a_run_has_used_what_a_summary_did_that_it_made_before_its_turn() {
    let bench = Bench::with(|agent| agent.compaction.kept_turns = 1);
    for said in ["one", "two"] {
        bench.say(said);
        bench.run().model(text("done"));
    }
    let before = usage(&bench);
    bench.compact();
    bench.say("three");
    let mut run = bench.run();
    run.summarise("all of it").expect("old");
    run.model(text("done"));
    assert!(run.is_over());
    let record = bench.runs().pop().expect("it ran");
    let told = RunDetail::of(&record).expect("it has ended").usage;
    assert_eq!(told, usage(&bench).since(&before));
    assert_eq!(told.model_calls, 2, "the summary and the answer");
    check::at_rest(&bench);
}
