//! Handoffs: a new session works on a goal, with the relevant context of the old session.
//!
//! Requirements: B50, H26.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::{Value, json};
use support::Fixture;

const AGENT: &str = r#"
name = "talker"
model = "scripted:talk.toml"
"#;

/// A model that answers, and that makes extracts for handoffs.
const TALK: &str = r###"
[[turns]]
when = { user_contains = "THE GOAL: " }
say = "## Background\nthe blue paint is in the shed"

[[turns]]
when = { user_contains = "paint the door" }
say = "The door is blue now."

[[turns]]
when = { user_contains = "paint the window" }
say = "The window is blue now."

[[turns]]
when = { user_contains = "hello" }
say = "Good day."
"###;

/// A model that fails to make extracts.
const MUTE: &str = r#"
[[turns]]
when = { user_contains = "THE GOAL: " }
say = ""
fail = [{ attempt = 0, kind = "auth", detail = "out of ink" }]
"#;

const GOAL: &str = "paint the door";

fn talked() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("talker.toml", AGENT);
    fixture.write("talk.toml", TALK);
    fixture.run(&["run", "talker.toml", "--session", "s", "hello"]).ends(0);
    fixture
}

fn interaction(fixture: &Fixture, session: &str) -> Value {
    fixture.run(&["sessions", "show", session, "--json"]).ends(0).last()["state"]["interaction"].clone()
}

#[test]
fn b50_a_goal_is_worked_on_with_what_matters_for_it() {
    let fixture = talked();
    let before = fixture.run(&["events", "s", "--json"]).ends(0).out;
    let ran = fixture.run(&["sessions", "handoff", "s", "--goal", GOAL, "--session", "t"]).ends(0);
    ran.says("session t: handed over from s\n")
        .says("• what matters for the goal is extracted\n")
        .says("the blue paint is in the shed")
        .says("• handed over: ")
        .says("The door is blue now.");
    let messages = fixture.run(&["sessions", "messages", "t"]).ends(0);
    messages
        .says("> hello\n")
        .says("• extract for a handoff of all before message 3:\n")
        .says("> paint the door\n");
    fixture.run(&["events", "t"]).ends(0).says("handed over from default/s at checkpoint ");
    fixture.run(&["sessions", "history", "t"]).ends(0).says("works on the goal behind message 2");
    fixture.run(&["sessions", "replay", "t"]).ends(0);
    assert_eq!(interaction(&fixture, "t"), "user-message-reply");
    assert_eq!(fixture.run(&["events", "s", "--json"]).ends(0).out, before, "the source is as it was");
    let again = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "t"];
    fixture.run(&again).fails(1, &["session default/t", "exists already"]);
}

#[test]
fn b50_a_draft_says_what_can_be_done_with_it() {
    let fixture = talked();
    let words = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "t", "--draft"];
    let ran = fixture.run(&words).ends(0);
    let ran = ran
        .says("it has a goal, and nobody works on it yet\n")
        .says("  holdover resume t\n")
        .says("  holdover send t --instead-of 3 ");
    assert!(!ran.out.contains("blue now"), "{ran:#?}");
    assert_eq!(interaction(&fixture, "t"), "user-message-initial");
    fixture.run(&["resume", "t"]).ends(0).says("The door is blue now.");
    let words = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "u", "--draft", "--json"];
    let ran = fixture.run(&words).ends(0);
    assert_eq!(ran.lines()[0], json!({ "session": "u", "handed_over_from": "s", "goal": 3 }));
    assert_eq!(ran.last()["outcome"]["kind"], "interrupted");
    fixture
        .run(&["send", "u", "--instead-of", "3", "paint the window"])
        .ends(0)
        .says("The window is blue now.");
}

#[test]
fn b50_a_worker_does_it_and_a_repeat_finds_the_same_session() {
    let fixture = talked();
    let words = ["sessions", "handoff", "s", "--goal", GOAL, "--key", "k", "--detach", "--json"];
    let made = fixture.run(&words).ends(0).last();
    assert_eq!((&made["delivered"], &made["outcome"]), (&json!("accepted"), &Value::Null));
    let id = made["session"].as_str().unwrap().to_owned();
    assert_eq!(interaction(&fixture, &id), "handoff");
    assert_eq!(fixture.run(&words).ends(0).last()["session"], json!(id));
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(interaction(&fixture, &id), "user-message-reply");
    assert_eq!(fixture.run(&words).ends(0).last()["session"], json!(id));
    let messages = fixture.run(&["sessions", "messages", &id]).ends(0).out;
    assert_eq!(messages.matches("The door is blue now.").count(), 1, "{messages}");
    // A later message in the new session does not change its goal.
    fixture.run(&["send", &id, "paint the window"]).ends(0);
    assert_eq!(fixture.run(&words).ends(0).lines()[0]["goal"], json!(3));
    let other = ["sessions", "handoff", "s", "--goal", "paint the window", "--key", "k"];
    fixture.run(&other).fails(1, &["exists already"]);
}

#[test]
fn b50_a_worker_does_it_and_is_waited_for() {
    let fixture = talked();
    let handoff = |to: &str, more: &[&str]| {
        fixture.run(&[&["sessions", "handoff", "s", "--goal", GOAL, "--to", to], more].concat())
    };
    handoff("t", &["--wait=0s"]).ends(11).says("session t: not taken up yet (done)");
    let working = fixture.start(&["work"]);
    handoff("u", &["--wait=50s"]).ends(0).says("The door is blue now.");
    let draft = handoff("v", &["--wait=50s", "--draft"]).ends(0).says("  holdover resume v\n");
    assert!(!draft.out.contains("blue now"), "{draft:#?}");
    working.signal(rustix::process::Signal::TERM);
    handoff("w", &["--wait=1s", "--detach"]).ends(2);
}

#[test]
fn b50_an_extract_that_cannot_be_made_is_said_and_tried_again() {
    let fixture = talked();
    fixture.write("talk.toml", MUTE);
    let words = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "t"];
    fixture.run(&words).ends(1).says("! no extract: ").says("out of ink");
    assert_eq!(interaction(&fixture, "t"), "handoff");
    fixture.write("talk.toml", TALK);
    fixture.run(&["retry", "t"]).ends(0).says("The door is blue now.");
}

#[test]
fn b50_what_cannot_be_handed_over_is_refused() {
    let fixture = talked();
    let handoff = |words: &[&str]| fixture.run(&[&["sessions", "handoff"], words].concat());
    handoff(&["s", "--goal", " "]).fails(2, &["session s: the goal is empty"]);
    handoff(&["s"]).ends(2);
    handoff(&["s", "--goal", GOAL, "--at", "99"]).fails(1, &["session default/s", "no checkpoint 99"]);
    handoff(&["nobody", "--goal", GOAL]).fails(1, &["session nobody: there is no such session"]);
    handoff(&["s", "--goal", GOAL, "--model", "scripted:nope.toml"])
        .fails(2, &["session s: nothing was done: "]);
    assert_eq!(fixture.run(&["sessions", "list", "--json"]).ends(0).lines().len(), 1, "nothing was made");
    let help = handoff(&["--help"]).ends(0);
    help.says("--goal <GOAL>").says("--draft").says("Examples:");
}

#[test]
fn h26_the_agent_of_another_file_goes_on() {
    let fixture = talked();
    let painter = "name = 'painter'\nmodel = 'scripted:paint.toml'\ninstructions = 'You paint.'\n";
    fixture.write("painter.toml", painter);
    let paints =
        "when = { system_contains = 'You paint.', user_contains = 'paint the door' }\nsay = 'Painted.'";
    let extracts = "when = { user_contains = 'THE GOAL: ' }\nsay = 'the blue paint is in the shed'";
    fixture.write("paint.toml", &format!("[[turns]]\n{extracts}\n[[turns]]\n{paints}\n"));
    let words = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "t", "--agent", "painter.toml"];
    fixture.run(&words).ends(0).says("the blue paint is in the shed").says("Painted.");
    fixture.run(&["sessions", "list"]).ends(0).says("painter").says("talker");
    fixture
        .run(&["sessions", "history", "t"])
        .ends(0)
        .says("another agent works on the goal behind message 2");
    fixture.run(&["sessions", "replay", "t"]).ends(0);
    // Any process can go on with the new session.
    fixture.run(&["send", "t", "and again: paint the door"]).ends(0).says("Painted.");
    let none = ["sessions", "handoff", "s", "--goal", GOAL, "--to", "u", "--agent", "none.toml"];
    fixture.run(&none).fails(2, &["none.toml"]);
    fixture.run(&["sessions", "show", "u"]).fails(1, &["session u", "there is no such session"]);
}
