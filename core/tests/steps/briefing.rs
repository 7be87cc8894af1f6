//! Briefings: the mode of an agent, and a caller's own system prompt.
//!
//! Requirements: B11, B15, C13, C14.

use holdover_core::event::Event;
use holdover_core::ids::MessageSeq;
use holdover_core::machine::DoneReason;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::store::{InterruptKind, SessionStatus};
use holdover_core::tool::ToolError;

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, overloaded, text};

fn mode(run: &Run<'_>) -> Mode {
    run.model_sees().1.mode
}

fn in_mode(mode: Mode) -> Briefing {
    Briefing { mode: Some(mode), system_prompt: None }
}

fn briefings(bench: &Bench) -> Vec<(Option<Mode>, Option<MessageSeq>)> {
    let briefed = |event| match event {
        Event::Briefed { mode, prompt } => Some((mode, prompt)),
        _ => None,
    };
    check::events(bench).into_iter().filter_map(briefed).collect()
}

/// Requirements: B15.
#[test]
fn b11_a_mode_comes_with_a_message_and_stays_over_turns_and_deaths() {
    let bench = Bench::new();
    bench.brief("look around", in_mode(Mode::Plan));
    let mut run = bench.run();
    assert_eq!(mode(&run), Mode::Plan);
    run.model(text("it looks fine"));
    bench.say("and there?");
    let run = bench.run();
    assert_eq!(mode(&run), Mode::Plan, "the next turn");
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(mode(&run), Mode::Plan, "another run");
    run.model(text("fine, too"));
    assert_eq!(briefings(&bench), [(Some(Mode::Plan), None)]);
    check::at_rest(&bench);
}

#[test]
fn c13_in_plan_and_ask_a_tool_that_could_change_something_is_not_there() {
    for quiet in [Mode::Plan, Mode::Ask] {
        let bench = Bench::with(|agent| agent.mode = quiet);
        bench.say("pay the bill");
        let mut run = bench.run();
        run.model(calls(&["pay", "look"]));
        assert_eq!(run.calls_out(), ["c1-1"], "a read-only tool runs");
        run.returns("c1-1", "a bill");
        let refused = bench.results().remove(0);
        assert_eq!(refused.status, ResultStatus::Error);
        assert_eq!(refused.content, "there is no tool \"pay\" now; there are: look, peep, ask");
        // A message switches the mode to `Agent`, which applies from the next step on.
        bench.brief("do it", in_mode(Mode::Agent));
        run.news();
        run.model(calls(&["look"]));
        run.returns("c2-0", "a bill");
        assert_eq!(mode(&run), Mode::Agent);
        run.model(calls(&["pay"]));
        run.returns("c3-0", "paid");
        run.model(text("done"));
        check::at_rest(&bench);
    }
}

#[test]
fn a_mode_that_is_set_wakes_nobody_and_counts_from_the_next_step_on() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    bench.set_mode(Mode::Ask);
    run.news();
    assert_eq!(run.calls_out(), ["c1-0"], "what was asked for in the old mode goes on");
    run.returns("c1-0", "noted");
    assert_eq!(mode(&run), Mode::Ask);
    run.model(text("done"));
    check::at_rest(&bench);

    bench.set_mode(Mode::Plan);
    assert!(!bench.is_due());
    bench.say("again");
    let mut run = bench.run();
    assert_eq!(mode(&run), Mode::Plan);
    run.model(text("done"));
    check::at_rest(&bench);
    assert_eq!(briefings(&bench), [(Some(Mode::Ask), None), (Some(Mode::Plan), None)]);
}

#[test]
fn of_several_modes_the_one_that_was_set_last_counts_however_they_came() {
    let bench = Bench::new();
    bench.set_mode(Mode::Ask);
    bench.brief("one", in_mode(Mode::Plan));
    let mut run = bench.run();
    assert_eq!(mode(&run), Mode::Plan);
    run.model(text("done"));
    bench.brief("two", in_mode(Mode::Agent));
    bench.set_mode(Mode::Ask);
    let mut run = bench.run();
    assert_eq!(mode(&run), Mode::Ask);
    run.model(text("done"));
    check::at_rest(&bench);
}

#[test]
fn a_mode_that_is_set_while_a_turn_ends_is_not_lost() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    bench.set_mode(Mode::Plan);
    bench.interrupt(InterruptKind::Soft);
    run.news();
    assert!(run.is_over());
    bench.say("go on");
    assert_eq!(mode(&bench.run()), Mode::Plan);
}

#[test]
fn c14_a_prompt_of_the_callers_stands_in_its_message_until_another_comes() {
    let bench = Bench::new();
    let prompt = |text: &str| Briefing { mode: None, system_prompt: Some(text.to_owned()) };
    bench.brief("hello", prompt("You are a parrot."));
    let mut run = bench.run();
    assert_eq!(run.model_sees().1.prompt, MessageSeq(1));
    let Message::User(said) = bench.transcript().remove(0) else { panic!("a message") };
    assert_eq!((said.text.as_str(), said.briefing), ("hello", prompt("You are a parrot.")));
    run.model(text("hello"));
    bench.say("again");
    let run = bench.run();
    assert_eq!(run.model_sees().1.prompt, MessageSeq(1));
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(run.model_sees().1.prompt, MessageSeq(1));
    run.model(text("again"));
    bench.brief("and now?", prompt(""));
    let mut run = bench.run();
    assert_eq!(run.model_sees().1.prompt, MessageSeq(0), "the agent's own again");
    run.model(text("now"));
    check::at_rest(&bench);
}

#[test]
fn b11_a_mode_that_is_set_while_the_model_is_to_be_asked_again_counts_from_the_next_step_on() {
    for hurried in [false, true] {
        let bench = Bench::new();
        bench.say("go");
        bench.run().model_fails(overloaded(None));
        assert_eq!(bench.status(), SessionStatus::Suspended);
        bench.set_mode(Mode::Ask);
        if hurried {
            bench.retry();
        } else {
            bench.clock.pass(bench.alarm_in().expect("it is tried again"));
        }
        let mut run = bench.run();
        assert_eq!(mode(&run), Mode::Agent, "the same step once more");
        run.model(calls(&["note"]));
        run.returns("c1-0", "noted");
        assert_eq!(mode(&run), Mode::Ask);
        run.model(text("done"));
        assert_eq!((bench.dones(), bench.session().unread), (vec![DoneReason::ModelStop], 0));
        check::at_rest(&bench);
    }
}

#[test]
fn b11_a_mode_that_is_set_while_a_call_is_to_be_sent_again_counts_from_the_next_step_on() {
    let bench = Bench::new();
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["note"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    bench.set_mode(Mode::Ask);
    bench.retry();
    let mut run = bench.run();
    run.returns("c1-0", "noted");
    assert_eq!(mode(&run), Mode::Ask);
    run.model(text("done"));
    assert_eq!((bench.dones(), bench.session().unread), (vec![DoneReason::ModelStop], 0));
    check::at_rest(&bench);
}
