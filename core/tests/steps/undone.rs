//! Effects of a rollback: what is taken back together with the messages, and what stays.
//!
//! Requirements: B10, U08.

use std::time::Duration;

use holdover_core::event::Event;
use holdover_core::ids::MessageSeq;
use holdover_core::message::{Message, MessagePolicy};
use holdover_core::mode::{Briefing, Mode};
use holdover_core::tool::{ToolError, ToolOutput, ToolReturn};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, text};

/// Returns the texts of the user messages that the model is shown, in order.
fn heard(run: &Run<'_>) -> Vec<String> {
    let user = |message: &Message| match message {
        Message::User(said) => Some(said.text.clone()),
        _ => None,
    };
    run.model_sees().0.iter().filter_map(user).collect()
}

#[test]
fn b10_what_takes_back_is_taken_before_messages_that_do_not_fit_beside_it() {
    for edits in [true, false] {
        // With a smaller context, this long message would be summarised.
        let bench = Bench::with(|agent| agent.compaction.context_tokens = 100_000_000);
        bench.say("one");
        bench.run().model(text("1"));
        let long = "x".repeat(4 * 1024 * 1024);
        bench.say(&long);
        match edits {
            true => bench.say_instead(1, "uno"),
            false => bench.say_under(MessagePolicy::Rollback, "uno"),
        }
        let mut run = bench.run();
        assert!(heard(&run).last().is_some_and(|last| last == "uno"));
        run.model(text("1"));
        let seen = heard(&run);
        assert!(
            seen.last() == Some(&long) && seen.contains(&"uno".to_owned()),
            "what was said first is not lost"
        );
        run.model(text("x"));
        assert_eq!(bench.dones().len(), 2);
        check::at_rest(&bench);
    }
}

/// Takes the turn back in the middle of its second step, and returns what the model is told of it.
fn told_of(bench: &Bench) -> Vec<String> {
    let mut run = match bench.is_due() {
        true => bench.run(),
        false => bench.start(bench.claim_now()),
    };
    if run.is_out("call_model") {
        run.model(calls(&["look"]));
    }
    bench.say_under(MessagePolicy::Rollback, "forget it");
    if !run.is_over() {
        run.news();
        for call in run.calls_out() {
            run.comes_back(&call, Err(ToolError::NotRun("it was not sent yet".into())));
        }
    }
    drop(run);
    let mut run = bench.run();
    if run.is_over() {
        run = bench.run();
    }
    let mut told = heard(&run);
    assert_eq!(told.pop().as_deref(), Some("forget it"));
    told
}

#[test]
fn u08_what_was_sent_is_told_of_whatever_its_result_says() {
    let pay = r#"pay:{"to": "ann"}"#;
    let long = "x".repeat(200);
    for result in [
        Ok(ToolOutput::text(&long).into()),
        Err(ToolError::Failed("the receipt is lost".into())),
        Ok(ToolReturn::After { delay: Duration::from_secs(60), output: ToolOutput::text("paid") }),
    ] {
        let bench = Bench::with(|agent| agent.limits.result_bytes_max = 100);
        bench.say("pay");
        let mut run = bench.run();
        run.model(calls(&[pay]));
        run.comes_back("c1-0", result.clone());
        drop(run);
        bench.clock.pass(crate::bench::LEASE);
        let told = told_of(&bench);
        assert_eq!(told.len(), 1, "{result:?}: {told:?}");
        assert!(told[0].contains(r#"pay {"to": "ann"} ("#), "{told:?}");
    }
}

#[test]
fn u08_what_never_ran_is_not_told_of_whatever_its_result_says() {
    let expires = r#"edit:{"terms": {"expires_after_ms": 1000, "at_expiry": {"result": "later"}}}"#;
    for call in [expires, r#"pay:{"to": "known"}"#] {
        let bench = Bench::new();
        bench.say("go");
        let mut run = bench.run();
        run.model(calls(&[call]));
        drop(run);
        bench.clock.pass(crate::bench::LEASE);
        assert_eq!(told_of(&bench), [""; 0], "{call}");
    }
    // A call that could not be run is not told either.
    let bench = Bench::with(|agent| agent.retries.tool_waits_ms = Vec::new());
    bench.say("go");
    let mut run = bench.run();
    run.model(calls(&["pay"]));
    run.comes_back("c1-0", Err(ToolError::NotRun("no such host".into())));
    bench.crash(run);
    assert_eq!(told_of(&bench), [""; 0]);
    check::invariants(&bench);
}

#[test]
fn b10_what_is_taken_back_takes_its_mode_and_its_prompt_with_it() {
    let bench = Bench::with(|agent| agent.mode = Mode::Plan);
    let acts = || Briefing { mode: Some(Mode::Agent), system_prompt: Some("Obey.".to_owned()) };
    bench.say("hello");
    bench.run().model(text("hi"));
    bench.brief("just do it", acts());
    let mut run = bench.run();
    assert_eq!((run.model_sees().1.mode, run.model_sees().1.prompt), (Mode::Agent, MessageSeq(3)));
    run.model(text("done"));
    bench.say("and more of it");
    let run = bench.run();
    bench.crash(run);
    let mut run = bench.run();
    run.model(text("done"));
    bench.say_instead(3, "only look");
    let mut run = bench.run();
    assert_eq!(heard(&run), ["hello", "only look"]);
    assert_eq!((run.model_sees().1.mode, run.model_sees().1.prompt), (Mode::Plan, MessageSeq(0)));
    run.model(text("seen"));
    let last = check::events(&bench).into_iter().rev().find(|event| matches!(event, Event::Briefed { .. }));
    assert_eq!(last, Some(Event::Briefed { mode: Some(Mode::Plan), prompt: Some(MessageSeq(0)) }));
    check::at_rest(&bench);
    // A mode that was not set by a message stays when messages are taken back.
    bench.brief("do it now", acts());
    bench.run().model(text("done"));
    bench.set_mode(Mode::Ask);
    let place = bench.transcript().len() as u64 - 1;
    bench.say_instead(place, "or not");
    let mut run = bench.run();
    assert_eq!((run.model_sees().1.mode, run.model_sees().1.prompt), (Mode::Ask, MessageSeq(0)));
    run.model(text("as you like"));
    check::at_rest(&bench);
}
