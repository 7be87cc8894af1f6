//! Messages that no turn has taken yet, and notes that start no turn.
//!
//! Requirements: B11, U08.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::json;
use support::{Fixture, Ran};

/// Returns the texts of the queued messages, each with the id of its inbox item.
fn queued(fixture: &Fixture) -> Vec<(String, String)> {
    let lines = fixture.run(&["sessions", "queue", "s", "--json"]).ends(0).lines();
    lines
        .iter()
        .map(|line| (line["item"].to_string(), line["text"].as_str().unwrap_or_default().to_owned()))
        .collect()
}

fn said(fixture: &Fixture) -> Vec<String> {
    let ran: Ran = fixture.run(&["sessions", "messages", "s"]).ends(0);
    ran.out.lines().filter_map(|line| line.strip_prefix("> ").map(str::to_owned)).collect()
}

#[test]
fn u08_what_waits_is_listed_replaced_and_withdrawn() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["sessions", "queue", "s"]).ends(0).says("nothing waits");
    for text in ["hello one", "hello two", "hello three"] {
        fixture.run(&["send", "s", text, "--policy", "enqueue", "--detach"]).ends(0);
    }
    let waiting = queued(&fixture);
    let texts: Vec<&str> = waiting.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(texts, ["hello one", "hello two", "hello three"]);
    fixture.run(&["sessions", "queue", "s"]).ends(0).says("(enqueue) hello two");
    let [(first, _), (second, _), _] = &waiting[..] else { panic!("{waiting:?}") };
    fixture.run(&["sessions", "replace", "s", first, "hello at last"]).ends(0).says("is replaced");
    let withdrawn = fixture.run(&["sessions", "withdraw", "s", second, "--json"]).ends(0).last();
    assert_eq!(withdrawn["withdrawn"], true);
    assert_eq!(queued(&fixture).len(), 2);
    fixture.run(&["sessions", "withdraw", "s", second]).fails(1, &["session s: no message", second, "waits"]);
    fixture.run(&["sessions", "withdraw", "s", "first"]).ends(2);
    fixture.run(&["approve", "s", "--detach"]).ends(0);
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(said(&fixture), ["write", "hello at last", "hello three"]);
    fixture.run(&["sessions", "replace", "s", first, "too late"]).fails(1, &["session s: no message", first]);
}

#[test]
fn b11_a_note_wakes_nobody_and_is_told_with_what_is_said_next() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let noted = fixture.run(&["send", "s", "--note", "I ran cargo fmt", "--json"]).ends(0).last();
    assert_eq!(noted, json!({ "session": "s", "delivered": "accepted", "item": 2 }));
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(said(&fixture), ["hello"]);
    fixture.run(&["send", "s", "hello again"]).ends(0);
    assert_eq!(said(&fixture), ["hello", "I ran cargo fmt", "hello again"]);
    fixture.run(&["send", "s", "--note", "--detach", "no"]).ends(2);
}

#[test]
fn b14_b21_a_correction_is_sent_from_the_command_line_and_marked_for_the_model() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.run(&["send", "s", "--correction-by", "reviewer", "hello in French"]).ends(0);
    let marked = "[course correction by reviewer, not said by the user] hello in French";
    assert_eq!(said(&fixture), ["hello", marked]);
    fixture.run(&["send", "s", "--correction-by", "reviewer", "--note", "no"]).ends(2);
}
