//! The custom state that tools keep for a session.
//!
//! Requirements: H18.

use std::time::Duration;

use holdover_core::custom::{CustomState, STATE_BYTES_MAX, STATE_DEPTH_MAX, StateChange};
use holdover_core::engine::CallOut;
use holdover_core::event::Event;
use holdover_core::message::{ClientAnswer, Message, ResultStatus};
use holdover_core::payload::Payload;
use holdover_core::store::SessionStatus;
use holdover_core::tool::{ToolOutput, ToolReturn};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::check;
use crate::run::Run;
use crate::world::{calls, state_rules, text};

fn go(bench: &Bench) -> Run<'_> {
    bench.say("go");
    bench.run()
}

fn changes(value: Value) -> ToolOutput {
    let changes: Vec<StateChange> = serde_json::from_value(value).unwrap();
    ToolOutput { changes, ..ToolOutput::text("done") }
}

fn set(key: &str, value: impl Into<Value>) -> ToolOutput {
    ToolOutput::text("done").set(key, value)
}

fn custom(bench: &Bench) -> Value {
    bench.machine().custom.to_value()
}

fn conflicts(bench: &Bench) -> Vec<(String, Vec<String>)> {
    let told = check::events(bench).into_iter().filter_map(|event| match event {
        Event::StateConflict { key, calls } => Some((key, calls.iter().map(ToString::to_string).collect())),
        _ => None,
    });
    told.collect()
}

fn sent(bench: &Bench, call: &str) -> CallOut {
    bench.sends.borrow().iter().rfind(|send| send.id.as_str() == call).cloned().expect("it was sent")
}

#[test]
fn h18_calls_side_by_side_change_the_state_in_call_order_and_what_clashes_is_told() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "put", "look"]));
    let ours = json!([
        { "does": "set", "key": "plan", "value": "first" },
        { "does": "append", "key": "log", "value": 1 },
        { "does": "set", "key": "same", "value": true },
    ]);
    let theirs = json!([
        { "does": "set", "key": "plan", "value": "second" },
        { "does": "append", "key": "log", "value": 2 },
        { "does": "set", "key": "same", "value": true },
    ]);
    // The later call ends first.
    run.comes_back("c1-1", Ok(changes(theirs).into()));
    run.comes_back("c1-2", Ok(ToolOutput::text("seen").append("log", 3).into()));
    assert_eq!(custom(&bench), json!({}), "nothing changes before the step is over");
    run.comes_back("c1-0", Ok(changes(ours).into()));
    assert_eq!(custom(&bench), json!({ "plan": "second", "log": [1, 2, 3], "same": true }));
    let clash = ("plan".to_owned(), vec!["c1-0".to_owned(), "c1-1".to_owned()]);
    assert_eq!(conflicts(&bench), [clash], "to append, and to say the same, is no conflict");
    let told = bench.transcript().into_iter().find_map(|message| match message {
        Message::Notice(notice) => Some(notice.text),
        _ => None,
    });
    let words = "custom state changed: log, plan, same; \
                 c1-0, c1-1 changed plan side by side, and the last of them won";
    assert_eq!(told.as_deref(), Some(words));
    // Calls that touch the same resource run one after the other, so their changes do not conflict.
    run.model(calls(&["pay", "bill"]));
    assert_eq!(sent(&bench, "c2-0").state.to_value(), custom(&bench));
    run.comes_back("c2-0", Ok(set("plan", "third").into()));
    let shown = sent(&bench, "c2-1").state;
    assert_eq!(shown.get("plan"), Some(&json!("second")), "all calls of a step are shown the same");
    run.comes_back("c2-1", Ok(ToolOutput::text("gone").delete("plan").into()));
    assert_eq!((conflicts(&bench).len(), custom(&bench)), (1, json!({ "log": [1, 2, 3], "same": true })));
    // To replace or to delete a list clashes with appending to it.
    for (step, change) in [(3, set("log", json!([]))), (4, ToolOutput::text("gone").delete("log"))] {
        run.model(calls(&["note", "put"]));
        let [replaces, appends] = [0, 1].map(|at| format!("c{step}-{at}"));
        run.comes_back(&replaces, Ok(change.into()));
        run.comes_back(&appends, Ok(ToolOutput::text("put").append("log", step).into()));
        assert_eq!(conflicts(&bench).last(), Some(&("log".to_owned(), vec![replaces, appends])));
        assert_eq!(custom(&bench), json!({ "log": [step], "same": true }));
    }
    run.model(text("done"));
    assert_eq!(conflicts(&bench).len(), 3);
    check::at_rest(&bench);
}

#[test]
fn h18_what_breaks_the_schema_or_the_bound_is_an_error_that_says_so_and_changes_nothing() {
    let bench = Bench::with(|agent| {
        let list = json!({ "type": "array", "maxItems": 1 });
        agent.state = state_rules(json!({
            "properties": { "log": list, "word": { "type": "string" }, "big": {} },
            "additionalProperties": false,
        }));
    });
    let mut run = go(&bench);
    run.model(calls(&["note", "put", "look", "serial"]));
    run.comes_back("c1-0", Ok(set("word", "a").append("log", 1).into()));
    // This change would give `log` two items, more than the schema allows.
    run.comes_back("c1-1", Ok(set("word", "b").append("log", 2).into()));
    run.comes_back("c1-2", Ok(set("nothing", "of ours").into()));
    run.comes_back("c1-3", Ok(set("big", "x".repeat(STATE_BYTES_MAX)).into()));
    run.model(calls(&["note", "put", "look"]));
    run.comes_back("c2-0", Ok(ToolOutput::text("done").append("word", "c").into()));
    let most = "x".repeat(STATE_BYTES_MAX / 2);
    for call in ["c2-1", "c2-2"] {
        run.comes_back(call, Ok(ToolOutput::text("done").append("big", most.clone()).into()));
    }
    run.model(text("done"));
    use ResultStatus::{Done, Error};
    assert_eq!(bench.statuses(), [Done, Error, Error, Error, Error, Done, Error]);
    let told: Vec<String> = bench.results().into_iter().map(|result| result.content).collect();
    let said = |at: usize, what: &str| {
        let begins = told[at].starts_with("it ran, but the custom state is left as it was: ");
        assert!(begins && told[at].contains(what) && told[at].ends_with("It said: done"), "{}", told[at]);
    };
    said(1, "would not fit its schema: /log: ");
    said(2, "'nothing' was unexpected");
    said(3, "its changes have");
    said(4, "\"word\" holds no list to append to");
    said(6, "the state would have");
    assert_eq!(custom(&bench), json!({ "word": "a", "log": [1], "big": [most] }));
    check::at_rest(&bench);
}

#[test]
fn h18_a_staged_change_outlives_its_run_and_is_made_once() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "put"]));
    run.comes_back("c1-0", Ok(ToolOutput::text("noted").append("log", "note").into()));
    assert_eq!(bench.session().staged.results.len(), 1, "its sibling is out");
    bench.crash(run);
    let mut run = bench.run();
    run.hold("commit");
    run.comes_back("c1-1", Ok(ToolOutput::text("put").append("log", "put").into()));
    // The commit that ends the step is in flight when the run dies.
    assert!(run.is_out("commit"));
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!((bench.sent("c1-0"), custom(&bench)), (1, json!({})));
    assert!(sent(&bench, "c1-1").state.is_empty(), "it is shown what it was shown the first time");
    run.comes_back("c1-1", Ok(ToolOutput::text("put").append("log", "put").into()));
    run.model(text("done"));
    assert_eq!(custom(&bench), json!({ "log": ["note", "put"] }));
    check::at_rest(&bench);
}

#[test]
fn h18_a_result_that_is_due_later_changes_the_state_when_it_is_due_if_it_still_can() {
    let later = |output: ToolOutput| Ok(ToolReturn::After { delay: Duration::from_secs(9), output });
    let bench = Bench::with(|agent| {
        let list = json!({ "type": "array", "maxItems": 1 });
        agent.state = state_rules(json!({ "properties": { "log": list } }));
    });
    let mut run = go(&bench);
    run.model(calls(&["note", "put", "pay", "look"]));
    run.comes_back("c1-0", later(ToolOutput::text("noted").append("log", 1)));
    run.comes_back("c1-1", later(set("word", "later")));
    run.comes_back("c1-2", later(set("log", "none")));
    run.returns("c1-3", "seen");
    assert_eq!((bench.status(), custom(&bench)), (SessionStatus::Suspended, json!({})));
    bench.clock.pass(Duration::from_secs(9));
    let mut run = bench.run();
    run.model(text("done"));
    use ResultStatus::{Done, Error};
    assert_eq!(bench.statuses(), [Done, Done, Error, Done]);
    assert_eq!(custom(&bench), json!({ "log": [1], "word": "later" }));
    check::at_rest(&bench);

    // Each of the two results fits alone. When both are due, the second no longer fits.
    let mut run = go(&bench);
    run.model(calls(&["note", "put"]));
    run.comes_back("c3-0", later(ToolOutput::text("gone").delete("log").append("log", 2)));
    run.comes_back("c3-1", later(ToolOutput::text("more").delete("log").append("log", 3).append("log", 4)));
    assert_eq!(bench.status(), SessionStatus::Suspended);
    bench.clock.pass(Duration::from_secs(9));
    let mut run = bench.run();
    run.model(text("done"));
    assert_eq!(bench.statuses()[4..], [Done, Error]);
    check::at_rest(&bench);
}

#[test]
fn h18_a_session_that_is_taken_back_has_the_state_of_then() {
    let bench = Bench::new();
    for turn in ["one", "two", "three"] {
        bench.say(turn);
        let mut run = bench.run();
        run.model(calls(&["note"]));
        let call = bench.sends.borrow().last().unwrap().id.to_string();
        run.comes_back(&call, Ok(set("turn", turn).append("log", turn).into()));
        run.model(text("done"));
    }
    assert_eq!(custom(&bench), json!({ "turn": "three", "log": ["one", "two", "three"] }));
    // Each turn has five messages: the request, the call, its result, the notice of the change, and the answer.
    assert_eq!(bench.transcript().len(), 15);
    bench.say_instead(11, "three again");
    bench.run().model(text("done"));
    assert_eq!(custom(&bench), json!({ "turn": "two", "log": ["one", "two"] }));
    // This edit reaches back over messages that were already taken back.
    bench.say_instead(6, "two again");
    let mut run = bench.run();
    assert_eq!(custom(&bench), json!({ "turn": "one", "log": ["one"] }));
    run.model(calls(&["note"]));
    let call = bench.sends.borrow().last().unwrap().clone();
    assert_eq!(call.state.to_value(), json!({ "turn": "one", "log": ["one"] }));
    run.comes_back(call.id.as_str(), Ok(ToolOutput::text("gone").delete("turn").delete("log").into()));
    run.model(text("done"));
    assert_eq!(custom(&bench), json!({}));
    bench.say_instead(1, "one again");
    bench.run().model(text("done"));
    assert_eq!(custom(&bench), json!({}));
    check::at_rest(&bench);
}

#[test]
fn h18_a_stopped_step_keeps_what_its_done_calls_changed() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note", "put"]));
    run.comes_back("c1-0", Ok(set("word", "kept").into()));
    bench.interrupt(holdover_core::store::InterruptKind::Soft);
    run.news();
    run.comes_back("c1-1", Err(holdover_core::tool::ToolError::Lost("gone".into())));
    assert_eq!((bench.status(), custom(&bench)), (SessionStatus::Interrupted, json!({ "word": "kept" })));
    check::at_rest(&bench);
}

#[test]
fn h18_a_session_without_custom_state_stores_nothing_for_it() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["note"]));
    run.returns("c1-0", "noted");
    run.model(text("done"));
    let state = bench.session().state.unwrap();
    let stored: Value = state.parse().unwrap();
    assert_eq!((stored.get("custom"), bench.machine().custom), (None, CustomState::default()));
    assert_eq!(bench.roles(), ["user", "assistant", "tool", "assistant"]);
}

/// Answers the open call of a client.
fn answers(bench: &Bench, answer: &ClientAnswer) {
    bench.answer_with(&bench.asked().id, Payload::json(answer).unwrap());
}

#[test]
fn h18_an_answer_of_a_client_changes_the_state_when_its_step_is_over() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["ask", "note"]));
    run.comes_back("c1-1", Ok(ToolOutput::text("noted").append("log", "note").into()));
    assert_eq!((bench.status(), custom(&bench)), (SessionStatus::Suspended, json!({})));
    answers(&bench, &ClientAnswer::done("blue").append("log", "ask").set("colour", "blue").delete("old"));
    // The run dies while the commit that ends the step is in flight. The next run makes the changes once.
    let run = Run::holding(&bench, bench.claim().unwrap(), &["commit"]);
    assert!(run.is_out("commit") && custom(&bench) == json!({}));
    bench.crash(run);
    let mut run = bench.run();
    assert_eq!(custom(&bench), json!({ "colour": "blue", "log": ["ask", "note"] }), "in call order");
    run.model(calls(&["pay"]));
    assert_eq!(sent(&bench, "c2-0").state.to_value(), custom(&bench));
    run.returns("c2-0", "paid");
    run.model(text("done"));
    assert_eq!(bench.results()[0].changes.len(), 3);
    check::at_rest(&bench);
    // The changes are taken back with the message that led to them.
    bench.say_instead(1, "go again");
    bench.run().model(text("done"));
    assert_eq!(custom(&bench), json!({}));
}

#[test]
fn h18_an_answer_of_a_client_that_failed_or_cannot_be_applied_changes_nothing() {
    let set = |answer: ClientAnswer| answer.set("word", "b");
    for (answer, status, told) in [
        (set(ClientAnswer::failed("torn")), ResultStatus::Error, "torn"),
        (set(ClientAnswer::done(r#"{"error": "torn"}"#)), ResultStatus::Error, r#"{"error": "torn"}"#),
        (
            set(ClientAnswer::done("seen")).append("word", "c"),
            ResultStatus::Error,
            "it ran, but the custom state is left as it was: \"word\" holds no list to append to. It said: seen",
        ),
        (
            ClientAnswer::done("seen").set("big", "x".repeat(STATE_BYTES_MAX)),
            ResultStatus::Error,
            "it ran, but the custom state is left as it was: its changes have 65575 bytes, at most 65536 are allowed. It \
             said: seen",
        ),
        (ClientAnswer::done("seen").delete("no such key"), ResultStatus::Done, "seen"),
    ] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model(calls(&["note"]));
        run.comes_back("c1-0", Ok(ToolOutput::text("noted").set("word", "a").into()));
        run.model(calls(&["ask"]));
        answers(&bench, &answer);
        bench.run().model(text("done"));
        let result = bench.results().remove(1);
        assert_eq!((result.status, result.content.as_str()), (status, told));
        assert_eq!(custom(&bench), json!({ "word": "a" }));
        check::at_rest(&bench);
    }
}

#[test]
fn h18_a_value_that_is_nested_too_deeply_is_refused_and_the_session_stays_readable() {
    for (levels, kept) in [(STATE_DEPTH_MAX, true), (STATE_DEPTH_MAX + 1, false), (121, false)] {
        let bench = Bench::new();
        let mut run = go(&bench);
        run.model(calls(&["ask", "put"]));
        let nested = (0..levels).fold(json!(1), |inner, _| json!([inner]));
        answers(&bench, &ClientAnswer::done("blue").set("deep", nested));
        run.news();
        bench.crash(run);
        let mut run = bench.run();
        run.comes_back("c1-1", Ok(ToolOutput::text("put").into()));
        run.model(text("done"));
        assert_eq!(custom(&bench).get("deep").is_some(), kept, "{levels}");
        check::at_rest(&bench);
    }
}

#[test]
fn h18_an_answer_without_changes_is_stored_as_before() {
    let stored = serde_json::to_string(&ClientAnswer::done("blue")).unwrap();
    assert_eq!(stored, r#"{"is_error":false,"content":"blue"}"#);
    let read: ClientAnswer = serde_json::from_str(r#"{"content":"blue"}"#).unwrap();
    assert_eq!(read, ClientAnswer::done("blue"));
}

#[test]
fn h18_an_answer_that_comes_while_its_sibling_runs_outlives_the_run() {
    let bench = Bench::new();
    let mut run = go(&bench);
    run.model(calls(&["ask", "put"]));
    answers(&bench, &ClientAnswer::done("blue").set("colour", "blue"));
    run.news();
    assert_eq!((bench.pending().len(), custom(&bench)), (0, json!({})), "the answer was taken");
    bench.crash(run);
    let mut run = bench.run();
    assert!(sent(&bench, "c1-1").state.is_empty(), "the step is the same");
    run.comes_back("c1-1", Ok(ToolOutput::text("put").append("log", "put").into()));
    run.model(text("done"));
    assert_eq!(custom(&bench), json!({ "colour": "blue", "log": ["put"] }));
    check::at_rest(&bench);
}
