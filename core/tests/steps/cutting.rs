//! Budgets of a turn: the turn is stopped when one is spent, even in the middle of a step and across waits.
//!
//! Requirements: A22, U10.

use std::time::Duration;

use holdover_core::agent::{Limits, Prices};
use holdover_core::machine::DoneReason;
use holdover_core::message::ResultStatus;
use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::world::{calls, overloaded, text};

const TEN_MINUTES: Duration = Duration::from_secs(600);

#[test]
fn a22_a_model_that_is_out_when_the_time_of_the_turn_is_up_is_stopped() {
    assert_eq!(Limits::default().max_run_ms, Some(600_000));
    let bench = Bench::new();
    bench.say("go");
    let begins = bench.facts().now;
    let mut run = bench.run();
    assert_eq!(run.until(), Some(begins.after(TEN_MINUTES)));
    run.wait();
    run.take("stop_model");
    assert!(run.is_over());
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::BudgetExceeded], SessionStatus::Idle));
    check::at_rest(&bench);
}

#[test]
fn a22_calls_that_are_out_when_the_time_of_the_turn_is_up_are_stopped() {
    let bench = Bench::with(|agent| agent.limits.max_run_ms = Some(10_000));
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["look", "put", "pay", "bill"]));
    bench.clock.pass(Duration::from_millis(9_999));
    run.apply(holdover_core::engine::Reply::TimePassed);
    assert!(!run.is_out("stop_calls"));
    run.wait();
    run.take("stop_calls");
    run.comes_back("c1-0", Err(ToolError::Lost("it was stopped".into())));
    run.comes_back("c1-1", Err(ToolError::NotRun("it was stopped".into())));
    run.returns("c1-2", "paid");
    assert!(run.is_over());
    use ResultStatus::{Cancelled, Done};
    assert_eq!(bench.statuses(), [Cancelled, Cancelled, Done, Cancelled]);
    assert_eq!((bench.dones(), bench.sent("c1-3")), (vec![DoneReason::BudgetExceeded], 0));
    check::at_rest(&bench);
}

#[test]
fn a22_time_that_a_turn_waits_suspended_does_not_count_and_what_it_worked_before_does() {
    let bench = Bench::with(|agent| {
        agent.limits.max_run_ms = Some(10_000);
        agent.limits.answer_timeout_ms = None;
    });
    bench.say("go");
    let mut run = bench.run();
    bench.clock.pass(Duration::from_secs(4));
    run.model_fails(overloaded(None));
    bench.clock.pass(Duration::from_secs(60));
    let mut run = bench.run();
    bench.clock.pass(Duration::from_secs(4));
    run.model(calls(&["edit"]));
    assert!(run.is_over());
    bench.clock.pass(Duration::from_secs(3 * 60 * 60));
    bench.approve(&bench.asked());
    let begins = bench.facts().now;
    let mut run = bench.run();
    assert_eq!(run.calls_out(), ["c1-0"]);
    assert_eq!(run.until(), Some(begins.after(Duration::from_secs(2))), "four and four of ten are gone");
    run.wait();
    run.take("stop_calls");
    run.returns("c1-0", "edited all the same");
    assert_eq!(
        (bench.dones(), bench.statuses()),
        (vec![DoneReason::BudgetExceeded], vec![ResultStatus::Done])
    );
    check::at_rest(&bench);
}

#[test]
fn a22_a_turn_ends_well_that_comes_to_its_end_in_time() {
    let bench = Bench::with(|agent| agent.limits.max_run_ms = Some(10_000));
    for _ in 0..2 {
        bench.say("go");
        let mut run = bench.run();
        bench.clock.pass(Duration::from_millis(9_999));
        run.model(text("done"));
        assert!(run.is_over());
    }
    assert_eq!(bench.dones(), [DoneReason::ModelStop; 2], "each turn has time of its own");
}

/// One model call of the default agent uses 15 tokens, so two use 30.
#[test]
fn u10_every_budget_holds_across_a_wait_and_is_passed_by_one_model_call_at_most() {
    type Set = fn(&mut Limits);
    let budgets: [(Set, DoneReason); 4] = [
        (|limits| limits.max_steps = 2, DoneReason::MaxTurns),
        (|limits| limits.max_tokens = Some(16), DoneReason::BudgetExceeded),
        (
            |limits| {
                limits.prices = Prices::default().input_microusd(1_000_000).output_microusd(1_000_000);
                limits.max_cost_microusd = Some(16);
            },
            DoneReason::BudgetExceeded,
        ),
        (|limits| limits.max_run_ms = Some(2_000), DoneReason::BudgetExceeded),
    ];
    for (set, reason) in budgets {
        let bench = Bench::with(|agent| set(&mut agent.limits));
        bench.say("go");
        for step in 1..=2 {
            let mut run = bench.run();
            bench.clock.pass(Duration::from_millis(1_000));
            if step == 2 {
                // The call of the first step ends, and the model is called once more.
                run.returns("c1-0", "edited");
                if run.is_over() {
                    break;
                }
            }
            run.model(calls(&["edit"]));
            if !run.is_over() {
                continue;
            }
            if let Some(asked) = bench.pending().first() {
                bench.approve(asked);
            }
        }
        if bench.dones().is_empty() {
            let mut run = bench.run();
            run.returns("c2-0", "edited");
            assert!(run.is_over(), "{:?}", run.steps.machine());
        }
        assert_eq!(bench.dones(), [reason]);
        assert!(bench.machine().usage.model_calls <= 2, "{:?}", bench.machine().usage);
        check::at_rest(&bench);
    }
}

#[test]
fn u10_alike_calls_are_counted_across_waits() {
    let bench = Bench::with(|agent| agent.loops.stop_at = 3);
    bench.say("go");
    for step in 1..=3 {
        let mut run = bench.run();
        if step > 1 {
            run.returns(&format!("c{}-0", step - 1), "edited");
        }
        run.model(calls(&["edit:{}"]));
        assert!(run.is_over());
        bench.approve(&bench.asked());
    }
    let mut run = bench.run();
    run.returns("c3-0", "edited");
    assert!(run.is_over(), "the model is not asked a fourth time");
    assert_eq!(bench.dones(), [DoneReason::LoopDetected]);
    check::at_rest(&bench);
}

#[test]
fn a22_what_a_failed_turn_waits_for_is_stopped_when_its_time_is_up() {
    let bench = Bench::with(|agent| {
        agent.limits.max_run_ms = Some(10_000);
        agent.retries.broken_calls_max = 1;
        agent.retries.tool_waits_ms = Vec::new();
    });
    bench.say("go");
    let begins = bench.facts().now;
    let mut run = bench.run();
    run.model(calls(&["note", "pay"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    assert_eq!(run.until(), Some(begins.after(Duration::from_secs(10))));
    run.wait();
    run.take("stop_calls");
    run.comes_back("c1-1", Err(ToolError::Lost("it was stopped".into())));
    assert!(run.is_over());
    assert_eq!((bench.dones(), bench.statuses()[1]), (vec![DoneReason::Error], ResultStatus::InDoubt));
    check::at_rest(&bench);
}
