//! The order of decisions between two steps and at the end of a turn.
//!
//! Requirements: A18, A19, A23, C39.

use holdover_core::agent::StopSignals;
use holdover_core::machine::{DoneReason, Input, StateKind};
use holdover_core::message::Message;
use holdover_core::store::InterruptKind;
use holdover_core::tool::{ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

fn says_stop(run: &mut Run<'_>, call: &str) {
    let output = ToolOutput { stop: true, ..ToolOutput::text("enough") };
    run.comes_back(call, Ok(ToolReturn::Output(output)));
}

#[test]
fn a18_the_budget_of_tokens_counts_over_the_turns_of_a_session_and_ends_only_what_would_go_on() {
    let bench = Bench::with(|agent| agent.limits.max_tokens = Some(40));
    // Each answer uses 15 tokens.
    bench.say("one");
    bench.run().model(text("yes"));
    bench.say("two");
    bench.run().model(text("yes"));
    bench.say("three");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.returns("c3-0", "noted");
    assert_eq!(bench.dones()[2], DoneReason::BudgetExceeded, "forty-five were used over three turns");
    // The budget is spent, but a turn that ends by itself still ends normally.
    bench.say("four");
    bench.run().model(text("yes"));
    assert_eq!(bench.dones()[3], DoneReason::ModelStop);
    check::at_rest(&bench);
}

#[test]
fn a19_a_stop_wins_over_the_limit_of_steps_which_wins_over_the_budget() {
    let ends = |max_steps, stop: bool| {
        let bench = Bench::with(|agent| {
            agent.limits.max_steps = max_steps;
            agent.limits.max_tokens = Some(1);
        });
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["note", "pay"]));
        run.returns("c1-0", "noted");
        if stop {
            bench.interrupt(InterruptKind::Soft);
        }
        // The news arrives with the write that stages the first result, or at the latest before steering.
        run.news();
        if run.is_out("stop_calls") {
            run.take("stop_calls");
        }
        run.returns("c1-1", "paid");
        check::at_rest(&bench);
        bench.dones()
    };
    assert_eq!(ends(1, true), [DoneReason::UserAbort]);
    assert_eq!(ends(1, false), [DoneReason::MaxTurns]);
    assert_eq!(ends(2, false), [DoneReason::BudgetExceeded]);
}

#[test]
fn a23_a_step_is_counted_then_loops_are_looked_for_then_old_results_are_cleared_then_the_model_is_asked() {
    let bench = Bench::with(|agent| {
        agent.loops.stop_at = 0;
        agent.loops.warn_at = 3;
        agent.compaction.clear_results_over = 2;
        agent.compaction.kept_results = 1;
    });
    bench.say("look and look");
    // The result is longer than the placeholder of a cleared result.
    let shelf = "a shelf ".repeat(30);
    let mut run = bench.run();
    for step in 1..=3 {
        run.model(calls(&["look"]));
        run.returns(&format!("c{step}-0"), &shelf);
    }
    // The request of the fourth step is made after all these decisions.
    let (seen, call) = run.model_sees();
    assert_eq!(run.steps.machine().turn.steps, 3, "the step was counted when the model had answered");
    assert!(call.note.is_some_and(|note| note.contains("3 times")), "the loop was looked for");
    let kept = |message: &Message| matches!(message, Message::Tool(result) if result.content == shelf);
    assert_eq!(seen.iter().filter(|message| kept(message)).count(), 1, "old results were cleared");
    run.model(text("a shelf"));

    let rows = check::history(&bench);
    let place = |holds: &dyn Fn(&Input) -> bool| rows.iter().rposition(|row| holds(&row.input)).unwrap();
    let counted = rows[..rows.len() - 3].iter().rposition(|row| row.from == StateKind::Streaming).unwrap();
    let cleared = place(&|input| matches!(input, Input::Steered { cleared: Some(_), .. }));
    let asked = place(&|input| matches!(input, Input::ModelCalled { .. }));
    assert!(counted < cleared && cleared < asked, "{counted} {cleared} {asked}");
}

#[test]
fn a23_a_loop_is_found_before_the_model_is_asked_once_more() {
    let bench = Bench::with(|agent| agent.loops.stop_at = 3);
    bench.say("look and look");
    let mut run = bench.run();
    for step in 1..=3 {
        run.model(calls(&["look"]));
        run.returns(&format!("c{step}-0"), "a shelf");
    }
    assert_eq!(bench.dones(), [DoneReason::LoopDetected]);
    assert_eq!(bench.machine().turn.steps, 3, "the third was counted, and there is no fourth");
}

#[test]
fn c39_one_result_is_enough_to_end_the_turn_unless_all_must_say_so() {
    let ends = |signals, both: bool| {
        let bench = Bench::with(|agent| agent.stop_signals = signals);
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&["note", "pay"]));
        says_stop(&mut run, "c1-0");
        if both {
            says_stop(&mut run, "c1-1");
        } else {
            run.returns("c1-1", "paid");
        }
        let over = run.is_over();
        if !over {
            run.model(text("done"));
        }
        check::at_rest(&bench);
        bench.dones()
    };
    assert_eq!(ends(StopSignals::Any, false), [DoneReason::ToolStop]);
    assert_eq!(ends(StopSignals::All, false), [DoneReason::ModelStop]);
    assert_eq!(ends(StopSignals::All, true), [DoneReason::ToolStop]);
}

#[test]
fn c39_who_was_not_run_says_nothing_and_what_was_said_survives_the_run_that_heard_it() {
    let bench = Bench::with(|agent| agent.stop_signals = StopSignals::All);
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "pay:{\"a\": \"bad\"}"]));
    says_stop(&mut run, "c1-0");
    run.model(text("done"));
    assert_eq!(bench.dones(), [DoneReason::ModelStop], "a call that could not run said nothing");

    let bench = Bench::with(|agent| agent.stop_signals = StopSignals::All);
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note", "put"]));
    says_stop(&mut run, "c1-0");
    bench.crash(run);
    let mut run = bench.run();
    says_stop(&mut run, "c1-1");
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    check::at_rest(&bench);
}
