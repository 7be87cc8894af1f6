//! Endings of turns.
//!
//! Requirements: A17, A18, C39, H08, B17, B28, B36, C16, C18, C38, C42, C44, C46, C47, C51, H07.

use holdover_core::agent::StopCondition;
use holdover_core::engine::{Action, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::ids::ToolName;
use holdover_core::machine::{AgentState, DoneReason, Usage};
use holdover_core::message::ResultStatus;
use holdover_core::model::{AnswerPart, ModelError, ModelErrorKind, StopReason, TokenUsage};
use holdover_core::store::{InterruptKind, SessionStatus};
use holdover_core::tool::{ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::world::{CUT_OFF, answer, calls, text};

/// Requirements: B17, C16.
#[test]
fn the_model_says_all_it_wanted() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.model(text("hello"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    assert_eq!(bench.roles(), ["user", "assistant"]);
    assert_eq!((bench.status(), bench.is_due()), (SessionStatus::Idle, false));
    check::at_rest(&bench);
}

#[test]
fn b17_a_stop_for_tools_runs_them_and_the_model_is_asked_again() {
    let said = [vec![AnswerPart::Text("I note it.".into())], calls(&["note"]).parts].concat();
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(answer(said.clone(), StopReason::ToolUse));
    assert_eq!((run.calls_out(), bench.dones()), (vec!["c1-0".to_owned()], vec![]));
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    assert_eq!(bench.roles(), ["user", "assistant", "tool", "assistant"]);
    check::at_rest(&bench);
    // The same calls of an answer that was refused do not run.
    let refused = Bench::new();
    refused.say("go");
    let mut run = refused.run();
    run.model(answer(said, StopReason::Refusal));
    assert!(run.is_over() && refused.sends.borrow().is_empty());
    assert_eq!(refused.dones(), [DoneReason::Error]);
}

/// Requirements: A17, C38, C42.
#[test]
fn a_limit_of_n_steps_means_n_model_calls_and_the_tools_of_the_last_run() {
    let bench = Bench::with(|agent| agent.limits.max_steps = 2);
    bench.say("go on and on");
    let mut run = bench.run();
    for step in 1..=2 {
        run.model(calls(&["note"]));
        run.returns(&format!("c{step}-0"), "noted");
    }
    assert_eq!(run.outcome().kind().as_str(), "completed");
    assert_eq!(bench.dones(), [DoneReason::MaxTurns]);
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2]);
    assert_eq!(bench.roles().last(), Some(&"notice"));
    check::at_rest(&bench);
}

/// Requirements: A18.
#[test]
fn a_budget_of_tokens_or_of_money_or_of_time_ends_the_turn_after_the_step_that_used_it_up() {
    let spent = |change: fn(&mut holdover_core::agent::Limits)| {
        let bench = Bench::with(|agent| change(&mut agent.limits));
        bench.say("spend");
        let mut run = bench.run();
        run.model(calls(&["note"]));
        bench.clock.pass(std::time::Duration::from_secs(5));
        run.returns("c1-0", "noted");
        assert_eq!(bench.statuses(), [ResultStatus::Done]);
        check::at_rest(&bench);
        bench.dones()
    };
    assert_eq!(spent(|limits| limits.max_tokens = Some(15)), [DoneReason::BudgetExceeded]);
    assert_eq!(spent(|limits| limits.max_run_ms = Some(5_000)), [DoneReason::BudgetExceeded]);
    let by_money = spent(|limits| {
        limits.prices.output_microusd = 1_000_000;
        limits.max_cost_microusd = Some(5);
    });
    assert_eq!(by_money, [DoneReason::BudgetExceeded]);
}

#[test]
fn a_turn_that_waited_three_weeks_for_a_person_has_not_used_up_its_time() {
    let bench = Bench::with(|agent| {
        agent.limits.max_run_ms = Some(5_000);
        agent.limits.answer_timeout_ms = None;
    });
    bench.say("edit it");
    bench.run().model(calls(&["edit"]));
    bench.clock.pass(std::time::Duration::from_secs(3 * 7 * 24 * 3600));
    assert!(bench.approve(&bench.asked()).is_in());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
}

/// Requirements: B28, C39.
#[test]
fn a_stop_signal_of_a_tool_ends_the_turn_after_its_step() {
    let bench = Bench::new();
    bench.say("finish");
    let mut run = bench.run();
    run.model(calls(&["note", "pay"]));
    let finished = ToolOutput { stop: true, ..ToolOutput::text("that is all") };
    run.comes_back("c1-0", Ok(ToolReturn::Output(finished)));
    assert!(!run.is_over(), "its sibling is out");
    run.returns("c1-1", "paid");
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    check::at_rest(&bench);
}

/// Requirements: H08.
#[test]
fn stop_conditions_look_at_tools_that_were_done_and_at_what_the_model_says() {
    let bench = Bench::with(|agent| {
        agent.stop_when = vec![StopCondition::ToolDone(ToolName::new("note").unwrap())];
    });
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note:{\"a\": \"bad\"}"]));
    run.model(calls(&["note"]));
    run.returns("c2-0", "noted");
    assert_eq!(bench.dones(), [DoneReason::ToolStop], "a call that could not run does not count");

    let bench = Bench::with(|agent| agent.stop_when = vec![StopCondition::TextContains("FINAL".into())]);
    bench.say("go");
    bench.say("and more");
    bench.run().model(text("this is FINAL."));
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
}

#[test]
fn a_stop_signal_survives_the_run_that_heard_it() {
    let bench = Bench::new();
    bench.say("finish");
    let mut run = bench.run();
    run.model(calls(&["note", "pay"]));
    let finished = ToolOutput { stop: true, ..ToolOutput::text("that is all") };
    run.comes_back("c1-0", Ok(ToolReturn::Output(finished)));
    bench.crash(run);
    let run = bench.run();
    assert!(run.is_over());
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::InDoubt]);
}

/// Requirements: B36, C18, C51, H07.
#[test]
fn an_error_that_no_retry_mends_fails_the_turn_and_a_word_takes_it_up_again() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong"));
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
    check::at_rest(&bench);
    assert_eq!(bench.alarm_in(), None, "nothing takes it up by itself");
    bench.retry();
    let mut run = bench.run();
    run.model(text("hello"));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop]);
    assert_eq!(bench.roles(), ["user", "assistant"], "the transcript as it stood");
    check::at_rest(&bench);
}

/// Requirements: B17.
#[test]
fn an_answer_that_was_refused_or_cut_off_fails_the_turn_and_is_not_taken_for_the_last_word() {
    for (stop, code) in [(StopReason::Refusal, "model.refusal"), (StopReason::MaxTokens, "model.max_tokens")]
    {
        let bench = Bench::new();
        bench.say("hi");
        bench.run().model(answer(vec![AnswerPart::Text(format!("Well, {CUT_OFF}"))], stop));
        assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::Error], SessionStatus::Failed));
        let AgentState::Done { ending, .. } = bench.machine().state else { panic!("{code}: at rest") };
        assert_eq!(ending.error.unwrap().code, code);
        assert_eq!(bench.roles(), ["user", "assistant"], "what was said is kept");
        assert_eq!(bench.machine().usage.model_calls, 1, "and what it cost is counted");
        check::at_rest(&bench);
        bench.retry();
        bench.run().model(text("hello"));
        assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ModelStop], "{code}: it was asked again");
    }
}

#[test]
fn of_an_answer_that_was_refused_or_cut_off_only_whole_calls_run() {
    let call = |arguments: &str| AnswerPart::Call { tool: "note".into(), arguments: arguments.into() };
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(answer(vec![call("{}"), call("{}")], StopReason::Refusal));
    assert_eq!(bench.dones(), [DoneReason::Error]);
    assert_eq!(bench.statuses(), [], "no call, no result");

    // The answer was cut off before any arguments had arrived.
    let bench = Bench::new();
    bench.say("go");
    bench.run().model(answer(vec![call(" ")], StopReason::MaxTokens));
    assert_eq!((bench.dones(), bench.statuses()), (vec![DoneReason::Error], vec![]));

    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(answer(vec![call("{}"), call("")], StopReason::MaxTokens));
    assert_eq!(run.calls_out(), ["c1-0"]);
    run.returns("c1-0", "noted");
    run.model(text("done"));
    assert_eq!((bench.dones(), bench.statuses()), (vec![DoneReason::ModelStop], vec![ResultStatus::Done]));
    check::at_rest(&bench);
}

#[test]
fn a_server_that_counts_too_high_ends_the_budget_and_not_the_process() {
    let bench = Bench::with(|agent| {
        agent.limits.prices.input_microusd = u64::MAX;
        agent.compaction.threshold_percent = 0;
    });
    bench.say("go");
    let mut run = bench.run();
    for _ in 0..2 {
        let mut answer = calls(&["note"]);
        answer.usage = TokenUsage {
            input: u64::MAX,
            output: 1,
            cached: u64::MAX,
            cache_written: u64::MAX,
            reasoning: u64::MAX,
        };
        run.model(answer);
        let call = run.calls_out().remove(0);
        run.returns(&call, "noted");
    }
    run.model(text("done"));
    let usage = bench.machine().usage;
    assert_eq!(
        (usage.tokens.input, usage.tokens.total(), usage.cost_microusd),
        (u64::MAX, u64::MAX, u64::MAX)
    );
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
}

#[test]
fn an_interrupted_turn_is_taken_up_again_at_its_next_step() {
    let bench = Bench::new();
    bench.say("pay");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.returns("c1-0", "paid");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert_eq!((bench.dones(), bench.status()), (vec![DoneReason::UserAbort], SessionStatus::Interrupted));
    bench.retry();
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.returns("c3-0", "noted");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
}

#[test]
fn a_turn_that_was_stopped_after_the_last_word_of_the_model_asks_it_nothing_when_taken_up_again() {
    let bench = Bench::new();
    bench.say("hi");
    let mut run = bench.run();
    run.hold("read");
    bench.interrupt(InterruptKind::Soft);
    run.news();
    run.model(text("hello"));
    run.let_go("read");
    assert_eq!(bench.dones(), [DoneReason::UserAbort]);
    bench.retry();
    assert!(bench.run().is_over());
    assert_eq!(bench.dones(), [DoneReason::UserAbort, DoneReason::ModelStop]);
    assert_eq!(bench.roles(), ["user", "assistant"]);
    check::at_rest(&bench);
}

#[test]
fn a_word_to_retry_a_turn_that_went_well_starts_nothing() {
    let bench = Bench::new();
    bench.say("hi");
    bench.run().model(text("hello"));
    bench.retry();
    let run = bench.run();
    assert_eq!(run.outcome().kind().as_str(), "released");
    assert_eq!((bench.is_due(), bench.session().unread), (false, 0));
    check::at_rest(&bench);
}

/// Requirements: C44, C46, C47.
#[test]
fn what_was_provisioned_is_freed_on_every_way_out() {
    for way in ["answer", "error", "stop", "provisioning fails", "tear down fails"] {
        let bench = Bench::with(|agent| agent.provisions = true);
        bench.say("hi");
        let mut run = bench.run();
        assert!(bench.machine().turn.provisioned, "known to the store before anything is made");
        let error = || ErrorInfo::new("provision.full", "no room");
        if way == "provisioning fails" {
            let Action::Provision { id, .. } = run.take("provision") else { unreachable!() };
            run.apply(Reply::Provisioned { id, result: Err(error()) });
        } else {
            run.perform("provision");
        }
        match way {
            "answer" | "tear down fails" => run.model(text("hello")),
            "error" => run.model_fails(ModelError::new(ModelErrorKind::Auth, "the key is wrong")),
            "stop" => {
                bench.interrupt(InterruptKind::Soft);
                run.news();
            }
            _ => {}
        }
        let Action::TearDown { id, .. } = run.take("tear_down") else { unreachable!() };
        assert_eq!(bench.machine().state.kind().as_str(), "tearing_down", "the outcome is fixed first");
        let result = if way == "tear down fails" { Err(error()) } else { Ok(()) };
        run.apply(Reply::TornDown { id, result });
        let expected = match way {
            "answer" | "tear down fails" => DoneReason::ModelStop,
            "stop" => DoneReason::UserAbort,
            _ => DoneReason::Error,
        };
        assert_eq!(bench.dones(), [expected], "{way}");
        check::at_rest(&bench);
    }
}

#[test]
fn every_run_has_one_record_with_one_end_and_its_own_usage() {
    let bench = Bench::new();
    bench.say("edit");
    bench.run().model(calls(&["edit"]));
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c1-0", "edited");
    run.model(text("done"));
    let mut records = bench.runs();
    records.sort_by_key(|record| record.epoch);
    let usage: Vec<(String, u64, u64)> = records
        .iter()
        .map(|record| {
            let end = record.end.as_ref().expect("an end");
            let detail: serde_json::Value = end.detail.as_ref().unwrap().parse().unwrap();
            let usage: Usage = serde_json::from_value(detail["usage"].clone()).unwrap();
            (end.outcome.as_str().to_owned(), usage.model_calls, usage.tool_calls)
        })
        .collect();
    assert_eq!(usage, [("suspended_client_tool".to_owned(), 1, 0), ("completed".to_owned(), 1, 1)]);
}
