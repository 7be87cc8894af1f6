//! The reasons for which steering ends a turn, and their order. Also, the cost of tokens.
//!
//! Requirements: A17, A19, B17, C15, C38, H07.

use super::super::steering::{View, cost_microusd, decide};
use super::*;
use crate::words::agent::{AgentSpec, Prices, StopCondition};
use crate::words::ids::ToolName;
use crate::words::model::TokenUsage;

struct Given {
    from: SteeringFrom,
    steps: u32,
    tokens: u64,
    cost: u64,
    worked_ms: u64,
    messages_wait: bool,
    tools_done: Vec<String>,
    text: &'static str,
}

const CALLS: SteeringFrom = SteeringFrom::Calls { stop_signal: false, all_say_stop: false, output: None };
const ANSWER: SteeringFrom = SteeringFrom::Answer { stop: StopReason::EndTurn };

fn given(from: SteeringFrom) -> Given {
    Given {
        from,
        steps: 1,
        tokens: 0,
        cost: 0,
        worked_ms: 0,
        messages_wait: false,
        tools_done: vec![],
        text: "",
    }
}

fn check(given: Given, expect: Option<DoneReason>) {
    let mut agent = AgentSpec {
        stop_when: vec![
            StopCondition::ToolDone(ToolName::new("finish").unwrap()),
            StopCondition::TextContains("THE END".into()),
        ],
        ..AgentSpec::new("a")
    };
    agent.limits.max_steps = 3;
    agent.limits.max_tokens = Some(100);
    agent.limits.max_cost_microusd = Some(50);
    agent.limits.max_run_ms = Some(1_000);
    let turn =
        Turn { steps: given.steps, worked_ms: given.worked_ms, claimed_at: FACTS.now, ..Turn::default() };
    let tokens = TokenUsage { input: given.tokens, ..TokenUsage::default() };
    let usage = Usage { tokens, cost_microusd: given.cost, ..Usage::default() };
    let decided = decide(&View {
        procedure: None,
        from: given.from,
        turn: &turn,
        usage: &usage,
        agent: &agent,
        now: FACTS.now,
        messages_wait: given.messages_wait,
        corrected: false,
        tools_done: &given.tools_done,
        text: given.text,
    });
    assert_eq!(decided.map(|ending| ending.reason), expect);
}

/// Requirements: H07.
#[test]
fn an_answer_ends_the_turn_unless_a_message_raced_it() {
    check(given(ANSWER), Some(DoneReason::ModelStop));
    check(Given { messages_wait: true, ..given(ANSWER) }, None);
}

/// Requirements: B17.
#[test]
fn an_answer_that_was_refused_or_cut_off_is_an_error() {
    let refusal = SteeringFrom::Answer { stop: StopReason::Refusal };
    let cut = SteeringFrom::Answer { stop: StopReason::MaxTokens };
    check(given(refusal), Some(DoneReason::Error));
    check(Given { messages_wait: true, ..given(refusal) }, Some(DoneReason::Error));
    check(given(cut), Some(DoneReason::Error));
    // The model is asked again anyway.
    check(Given { messages_wait: true, ..given(cut) }, None);
    check(Given { messages_wait: true, steps: 3, ..given(cut) }, Some(DoneReason::MaxTurns));
    check(Given { text: "THE END.", ..given(cut) }, Some(DoneReason::ToolStop));
}

/// Requirements: A17, C15, C38.
#[test]
fn n_steps_are_exactly_n_model_calls() {
    check(Given { steps: 2, ..given(CALLS) }, None);
    check(Given { steps: 3, ..given(CALLS) }, Some(DoneReason::MaxTurns));
    // The step limit applies only to a turn that would go on.
    check(Given { steps: 3, ..given(ANSWER) }, Some(DoneReason::ModelStop));
    check(Given { steps: 3, messages_wait: true, ..given(ANSWER) }, Some(DoneReason::MaxTurns));
}

/// Requirements: A19.
#[test]
fn each_budget_ends_the_turn_after_the_step_limit_was_looked_at() {
    check(Given { tokens: 99, ..given(CALLS) }, None);
    check(Given { tokens: 100, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
    check(Given { cost: 50, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
    check(Given { worked_ms: 1_000, ..given(CALLS) }, Some(DoneReason::BudgetExceeded));
    check(Given { tokens: 100, steps: 3, ..given(CALLS) }, Some(DoneReason::MaxTurns));
    check(Given { tokens: 100, ..given(ANSWER) }, Some(DoneReason::ModelStop));
}

/// Requirements: C38.
#[test]
fn a_stop_signal_wins() {
    let signal = SteeringFrom::Calls { stop_signal: true, all_say_stop: false, output: None };
    check(Given { steps: 3, tokens: 100, ..given(signal) }, Some(DoneReason::ToolStop));
    check(Given { tools_done: vec!["finish".into()], ..given(CALLS) }, Some(DoneReason::ToolStop));
    check(Given { text: "and so: THE END.", ..given(CALLS) }, Some(DoneReason::ToolStop));
}

#[test]
fn tokens_of_the_cache_cost_what_is_said_for_them_or_as_much_as_others_that_are_read() {
    let tokens = TokenUsage {
        input: 1_000_000,
        output: 100_000,
        cached: 600_000,
        cache_written: 300_000,
        reasoning: 0,
    };
    let plain = Prices { input_microusd: 10_000, output_microusd: 50_000, ..Prices::default() };
    assert_eq!(cost_microusd(&tokens, &plain), 10_000 + 5_000);
    let prices = Prices { cached_microusd: Some(1_000), cache_written_microusd: Some(12_500), ..plain };
    assert_eq!(cost_microusd(&tokens, &prices), 1_000 + 600 + 3_750 + 5_000);
    let free = Prices { cached_microusd: Some(0), ..plain };
    assert_eq!(cost_microusd(&tokens, &free), 4_000 + 5_000);
    // A provider may count more cached tokens than input tokens.
    let odd =
        TokenUsage { input: 1_000_000, cached: u64::MAX, cache_written: u64::MAX, ..TokenUsage::default() };
    assert_eq!(cost_microusd(&odd, &prices), 1_000);
    let most = TokenUsage { input: u64::MAX, output: u64::MAX, ..TokenUsage::default() };
    let dear = Prices { input_microusd: u64::MAX, output_microusd: u64::MAX, ..Prices::default() };
    assert_eq!(cost_microusd(&most, &dear), u64::MAX);
}
