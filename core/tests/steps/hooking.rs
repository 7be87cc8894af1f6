//! Hooks: when the core asks them, and which of their answers must be durable.
//!
//! Requirements: A39, B22, B32, C36, C41, D05, H22.

use holdover_core::engine::Action;
use holdover_core::hook::{HookPoint, StepEnded};
use holdover_core::machine::{DoneReason, StateKind};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::payload::Digest;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn hooked(points: impl IntoIterator<Item = HookPoint>) -> Bench {
    let points = points.into_iter().collect();
    Bench::with(|agent| agent.hooks = points)
}

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

/// Returns the stored arguments that hooks put in place of others.
fn rewritten(bench: &Bench) -> Vec<String> {
    let rewriting = |message| match message {
        Message::Notice(notice) => notice.rewriting.map(|rewriting| rewriting.arguments),
        _ => None,
    };
    bench.transcript().into_iter().filter_map(rewriting).collect()
}

#[test]
fn b32_rewritten_arguments_are_durable_before_the_call_is_sent_and_sent_again_as_they_were() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["put:rewrite"]));
    assert_eq!(run.calls_out(), ["c1-0"]);
    assert_eq!(rewritten(&bench), ["written"], "stored before the send");
    bench.crash(run);
    let mut run = bench.run();
    run.returns("c1-0", "put");
    run.model(text("done"));
    let sends = bench.sends.borrow();
    let bytes: Vec<&str> = sends.iter().map(|send| send.arguments.as_str()).collect();
    assert_eq!(bytes, ["written", "written"]);
    assert_eq!(sends[0].idempotency_key, sends[1].idempotency_key);
    let digest = Digest::of(b"put\0written").to_string();
    assert!(sends[0].idempotency_key.ends_with(&digest[..16]), "the key is that of the bytes that run");
    drop(sends);
    assert_eq!(rewritten(&bench).len(), 1);
    assert_eq!(bench.results()[0].edited_arguments, None, "the model is not told of them");
    check::at_rest(&bench);
}

#[test]
fn b32_a_read_that_was_not_durable_is_put_before_the_hooks_again() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["look:rewrite"]));
    assert_eq!((run.calls_out().len(), rewritten(&bench).len()), (1, 0), "a read waits for no commit");
    bench.crash(run);
    let mut run = bench.run();
    run.model(calls(&["look:rewrite"]));
    run.returns("c1-0", "seen");
    run.model(text("done"));
    assert_eq!(rewritten(&bench), ["written"]);
    assert_eq!(bench.results()[0].edited_arguments, None, "no person edited them");
    check::at_rest(&bench);
}

#[test]
fn b32_a_person_approves_the_bytes_that_the_hook_wrote() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["edit:rewrite"]));
    let asked = bench.asked();
    assert!(asked.body.parse::<serde_json::Value>().unwrap()["arguments"] == "written", "{asked:?}");
    bench.approve(&asked);
    let mut run = bench.run();
    assert_eq!(bench.sends.borrow()[0].arguments, "written");
    run.returns("c1-0", "edited");
    run.model(text("done"));
    // The hooks also see a person's edit. If they rewrite it, the person is asked again.
    bench.say("again");
    let mut run = bench.run();
    run.model(calls(&["edit"]));
    bench.edit(&bench.asked(), "rewrite");
    let run = bench.run();
    drop(run);
    assert_eq!(bench.asked().body.parse::<serde_json::Value>().unwrap()["arguments"], "written");
    bench.approve(&bench.asked());
    let mut run = bench.run();
    run.returns("c3-0", "edited");
    run.model(text("done"));
    assert_eq!(bench.sends.borrow()[1].arguments, "written");
    check::at_rest(&bench);
}

#[test]
fn b32_a_hook_answers_in_place_of_a_tool() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["pay:known", "note"]));
    assert_eq!(run.calls_out(), ["c1-1"]);
    bench.crash(run);
    let mut run = bench.run();
    run.model(text("done"));
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::InDoubt]);
    assert_eq!((bench.results()[0].content.as_str(), bench.sent("c1-0")), ("it is known", 0));
    check::at_rest(&bench);
}

#[test]
fn b32_a_hook_ends_the_turn_on_an_error() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["pay:fatal", "note"]));
    assert!(run.is_over());
    assert_eq!(bench.dones(), [DoneReason::Error]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (0, 0));
    check::at_rest(&bench);
}

fn step_of(run: &Run<'_>) -> StepEnded {
    let asked = run.out.iter().find_map(|action| match action {
        Action::RunHooks { step, .. } => Some(StepEnded::clone(step)),
        _ => None,
    });
    asked.expect("hooks are asked")
}

/// Requirements: A39.
#[test]
fn c41_a_hook_is_told_of_each_step_with_its_usage_and_may_end_the_turn() {
    let bench = hooked([HookPoint::AfterStep]);
    let mut run = go(&bench);
    run.model(calls(&["note", "pay"]));
    run.returns("c1-0", "noted");
    run.returns("c1-1", "paid");
    assert!(run.is_out("run_hooks") && !run.is_out("call_model"));
    let step = step_of(&run);
    assert_eq!((step.steps, step.text.as_str(), step.tools_done.len()), (1, "", 2));
    assert_eq!((step.usage.tokens.input, step.usage.model_calls, step.usage.tool_calls), (10, 1, 2));
    run.perform("run_hooks");
    run.model(calls(&["bill"]));
    run.returns("c2-0", "billed");
    let step = step_of(&run);
    assert_eq!((step.usage.tool_calls, step.turn_usage.tool_calls, step.turn_usage.model_calls), (1, 3, 2));
    run.perform("run_hooks");
    assert!(run.is_over());
    assert_eq!(bench.dones(), [DoneReason::BudgetExceeded]);
    assert_eq!(bench.roles().last(), Some(&"notice"));
    // The usage of a turn is counted from the beginning of the turn.
    bench.say("again");
    let mut run = bench.run();
    run.model(text("done"));
    let step = step_of(&run);
    assert_eq!(
        (step.text.as_str(), step.turn_usage.model_calls, step.session_usage.model_calls),
        ("done", 1, 3)
    );
    run.perform("run_hooks");
    check::at_rest(&bench);
}

#[test]
fn c36_a_hook_that_was_not_heard_is_asked_again_by_the_next_run_about_the_same_step() {
    let bench = hooked([HookPoint::AfterStep]);
    let mut run = go(&bench);
    run.model(calls(&["pay", "bill"]));
    run.returns("c1-0", "paid");
    run.returns("c1-1", "billed");
    let before = step_of(&run);
    assert_eq!(bench.statuses(), [ResultStatus::Done; 2], "the results do not wait for the hook");
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(step_of(&run), before);
    run.perform("run_hooks");
    assert!(run.is_over(), "the condition counts");
    assert_eq!(bench.dones(), [DoneReason::BudgetExceeded]);
    assert_eq!((bench.sent("c1-0"), bench.sent("c1-1")), (1, 1));
    check::at_rest(&bench);
}

#[test]
fn c36_a_stop_does_not_wait_for_a_hook() {
    let bench = hooked([HookPoint::AfterStep]);
    let mut run = go(&bench);
    run.model(text("done"));
    bench.interrupt(holdover_core::store::InterruptKind::Soft);
    run.news();
    assert!(run.is_over());
    assert_eq!(bench.dones(), [DoneReason::UserAbort]);
    check::at_rest(&bench);
}

#[test]
fn b22_hooks_of_beginning_and_end_are_asked_once_the_turn_and_its_outcome_are_durable() {
    let bench = hooked([HookPoint::AgentStart, HookPoint::AgentEnd]);
    let mut run = go(&bench);
    assert_eq!(bench.machine().state.kind(), StateKind::Provisioning);
    assert!(run.is_out("provision"));
    bench.crash(run);
    run = bench.run();
    run.perform("provision");
    run.model(text("done"));
    assert_eq!(bench.machine().state.kind(), StateKind::TearingDown);
    bench.crash(run);
    run = bench.run();
    run.perform("tear_down");
    assert!(run.is_over());
    assert_eq!(bench.dones(), [DoneReason::ModelStop]);
    assert_eq!(bench.machine().turn.spent.turn.model_calls, 1);
    check::at_rest(&bench);
}

#[test]
fn d05_each_transition_is_told_of_in_order_and_only_if_somebody_asks() {
    let bench = hooked([HookPoint::Transition]);
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    run.model(text("done"));
    let moves = run.steps.take_moves();
    assert!(moves.windows(2).all(|pair| pair[0].to == pair[1].from), "{moves:?}");
    let told: Vec<_> = moves.iter().map(|moved| (moved.from, moved.input.clone(), moved.at)).collect();
    let stored: Vec<_> =
        check::history(&bench).into_iter().map(|row| (row.from, row.input, row.at)).collect();
    assert_eq!(told, stored, "they are the rows of the history");
    assert_eq!(run.steps.take_moves(), []);
    let unhooked = Bench::new();
    let mut run = go(&unhooked);
    run.model(text("done"));
    assert_eq!(run.steps.take_moves(), []);
    assert_eq!(unhooked.machine().turn.spent, Default::default());
}

#[test]
fn b32_a_hook_answers_a_call_that_people_must_approve_only_once_they_have() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["edit:known"]));
    assert_eq!(bench.results(), []);
    bench.approve_always(&bench.asked());
    let mut run = bench.run();
    assert_eq!(bench.results().len(), 1);
    // The approval holds for the rest of the session, so the next call needs no other.
    run.model(calls(&["edit:known"]));
    run.model(text("done"));
    assert_eq!((bench.statuses(), bench.sends.borrow().len()), (vec![ResultStatus::Done; 2], 0));
    // Nobody decides before the approval expires.
    let expires = r#"edit:{"known": 1, "terms": {"expires_after_ms": 1000, "at_expiry": "approve"}}"#;
    let bench = Bench::new();
    go(&bench).model(calls(&[expires]));
    bench.clock.pass(std::time::Duration::from_secs(2));
    bench.run().model(text("done"));
    assert_eq!((bench.statuses(), bench.sends.borrow().len()), (vec![ResultStatus::Done], 0));
    check::at_rest(&bench);
}
