//! Turns that must return a value.
//!
//! Requirements: H07, H08.

use holdover_core::agent::AgentSpec;
use holdover_core::engine::RunOutcome;
use holdover_core::machine::{AgentState, DoneReason};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::output::OutputSpec;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

const GOOD: &str = r#"finish:{"total": 7}"#;
const BAD: &str = r#"finish:{"total": "bad"}"#;

fn owing() -> Bench {
    Bench::with(owes)
}

fn owes(agent: &mut AgentSpec) {
    let schema = serde_json::json!({ "type": "object" });
    agent.output = Some(OutputSpec::beside(&agent.tools, schema).unwrap());
}

/// Returns the value that the last turn gave.
fn value(bench: &Bench) -> Option<String> {
    let machine = bench.machine();
    let AgentState::Done { ending, .. } = machine.state else { panic!("{:?}", machine.state) };
    let place = ending.output?;
    let message = bench.transcript().remove(usize::try_from(place.message.0).unwrap() - 1);
    Some(place.find(&message).expect("it stands there").to_owned())
}

/// Returns true if the last message to the model says how to give the value.
fn is_reminded(run: &Run<'_>) -> bool {
    let (seen, _) = run.model_sees();
    matches!(seen.last(), Some(Message::User(said)) if said.text.contains("finish") && said.item.is_none())
}

/// Requirements: H07.
#[test]
fn h08_a_value_that_fits_ends_the_turn_and_stands_in_the_outcome() {
    let bench = owing();
    bench.say("add up");
    let mut run = bench.run();
    run.model(calls(&["note", GOOD]));
    assert!(!run.is_over(), "its sibling is out");
    run.returns("c1-0", "noted");
    let RunOutcome::Ended(ending) = run.outcome() else { panic!("ended") };
    assert_eq!((ending.reason, ending.output.map(|place| place.call)), (DoneReason::ToolStop, Some(1)));
    assert_eq!(value(&bench).as_deref(), Some(r#"{"total": 7}"#));
    assert_eq!(bench.statuses(), [ResultStatus::Done, ResultStatus::Done]);
    assert_eq!(bench.sent("c1-1"), 0, "it acts on nothing");
    check::at_rest(&bench);
}

#[test]
fn h08_a_value_that_does_not_fit_is_said_to_be_so_twice_and_then_the_turn_fails() {
    let bench = owing();
    bench.say("add up");
    let mut run = bench.run();
    run.model(calls(&[BAD]));
    run.model(calls(&[BAD]));
    assert!(bench.results().iter().all(|result| result.content == "the value does not fit: it is bad"));
    run.model(calls(&[BAD]));
    assert_eq!(bench.dones(), [DoneReason::Error]);
    let RunOutcome::Ended(ending) = run.outcome() else { panic!("ended") };
    assert_eq!(ending.error.as_ref().unwrap().code, "model.no_output");
    check::at_rest(&bench);

    // The next turn may again be told twice.
    bench.say("once more");
    let mut run = bench.run();
    run.model(calls(&[BAD]));
    run.model(calls(&[BAD]));
    run.model(calls(&[GOOD]));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ToolStop]);
    assert!(value(&bench).is_some());
    check::at_rest(&bench);
}

#[test]
fn h08_words_alone_do_not_end_a_turn_that_owes_a_value_also_after_a_crash() {
    let bench = owing();
    bench.say("add up");
    let mut run = bench.run();
    run.model(text("it is seven"));
    assert!(is_reminded(&run));
    bench.crash(run);
    let mut run = bench.run();
    assert!(is_reminded(&run), "the next run says it, too");
    run.model(text("seven, I said"));
    run.model(calls(&[GOOD]));
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    check::at_rest(&bench);

    let bench = owing();
    bench.say("add up");
    let mut run = bench.run();
    for words in ["one", "two", "three"] {
        run.model(text(words));
    }
    assert_eq!(bench.dones(), [DoneReason::Error]);
    // A retry does not take the model's earlier text for the value.
    bench.retry();
    let mut run = bench.run();
    run.model(calls(&[GOOD]));
    assert_eq!(bench.dones(), [DoneReason::Error, DoneReason::ToolStop]);
    check::at_rest(&bench);
}

#[test]
fn h08_a_step_gives_one_value_and_the_limit_of_steps_comes_after_it() {
    let bench = Bench::with(|agent| {
        owes(agent);
        agent.limits.max_steps = 1;
    });
    bench.say("add up");
    bench.run().model(calls(&[BAD, GOOD, GOOD]));
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    assert_eq!(bench.statuses(), [ResultStatus::Error, ResultStatus::Done, ResultStatus::Error]);
    assert_eq!(value(&bench).as_deref(), Some(r#"{"total": 7}"#));

    let bench = Bench::with(|agent| {
        owes(agent);
        agent.limits.max_steps = 1;
    });
    bench.say("add up");
    bench.run().model(calls(&[BAD]));
    assert_eq!(bench.dones(), [DoneReason::MaxTurns]);
}

#[test]
fn h07_a_value_survives_a_sibling_that_waits_for_a_person_and_the_death_of_runs() {
    let bench = owing();
    bench.say("edit it and add up");
    bench.run().model(calls(&["edit", GOOD]));
    assert!(bench.approve(&bench.asked()).is_in());
    let run = bench.run();
    bench.crash(run);
    let mut run = bench.run();
    if !run.is_over() {
        run.returns("c1-0", "edited");
    }
    assert_eq!(bench.dones(), [DoneReason::ToolStop]);
    assert!(value(&bench).is_some());
    check::at_rest(&bench);
}

#[test]
fn h07_a_tool_of_that_name_is_left_alone() {
    let mut agent = AgentSpec::new("a");
    let mut tool = crate::world::agent().tools.remove(0);
    tool.name = holdover_core::ids::ToolName::new("finish").unwrap();
    agent.tools.push(tool);
    let output = OutputSpec::beside(&agent.tools, serde_json::json!({})).unwrap();
    assert_eq!(output.tool.as_str(), "finish_2");
}
