//! Checkpoints, forks, retention, and messages that are followed while they are streamed.
//!
//! Requirements: A15.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::{Value, json};
use support::{Fixture, wait_until};

#[test]
fn a_session_is_forked_from_where_it_parked_and_decided_otherwise() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let parked = fixture.run(&["sessions", "checkpoints", "s", "--json"]).ends(0).lines();
    assert_eq!((parked.len(), &parked[0]["state"]), (1, &json!("confirming")));
    fixture.run(&["approve", "s"]).ends(0).says("Written.");
    std::fs::remove_file(fixture.path("files/note.txt")).unwrap();
    let all = fixture.run(&["sessions", "checkpoints", "s", "--json"]).ends(0).lines();
    assert_eq!((all.last(), &all[0]["state"]), (parked.first(), &json!("done")), "newest first");

    let before = fixture.run(&["events", "s", "--json"]).ends(0).out;
    let at = parked[0]["checkpoint"].to_string();
    let words = ["sessions", "fork", "s", "--at", &at, "--to", "t", "--label", "why=test", "--json"];
    let forked = fixture.run(&words).ends(0).last();
    assert_eq!(forked["status"], "interrupted");
    assert_eq!(forked["forked_from"], json!({ "session": "s", "checkpoint": parked[0]["checkpoint"] }));
    fixture.run(&["sessions", "messages", "t"]).ends(0).says("system:forked");
    fixture.run(&["events", "t"]).ends(0).says(&format!("forked from default/s at checkpoint {at}"));
    assert_eq!(fixture.run(&["sessions", "pending", "t", "--json"]).ends(0).lines(), Vec::<Value>::new());
    fixture.run(&["send", "t", "write"]).ends(10);
    fixture.run(&["deny", "t"]).ends(0).says("Not written.");
    assert!(!fixture.has("files/note.txt"));
    assert_eq!(fixture.run(&["events", "s", "--json"]).ends(0).out, before, "the source is as it was");

    fixture.run(&words).fails(1, &["session default/t", "exists already"]);
    fixture
        .run(&["sessions", "fork", "s", "--at", "99"])
        .fails(1, &["session default/s", "no checkpoint 99"]);
    fixture.run(&["sessions", "fork", "nobody"]).fails(1, &["nobody"]);
    fixture.run(&["sessions", "fork", "s", "--at", "first"]).ends(2);
}

#[test]
fn one_is_no_plural() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let shown = fixture.run(&["sessions", "show", "s"]).ends(0);
    assert!(shown.out.contains(" 1 model call, 0 tool calls, "), "{shown:#?}");
    fixture.run(&["events", "s"]).ends(0).says(" ended after 1 step\n");
    fixture.run(&["sessions", "purge", "--unchanged-for", "0s", "--checkpoints", "0"]).ends(2);
    fixture.run(&["send", "s", "hello"]).ends(0);
    fixture
        .run(&["sessions", "purge", "--unchanged-for", "0s", "--checkpoints", "1"])
        .ends(0)
        .says("1 checkpoint removed\n");
    fixture.run(&["sessions", "purge", "--unchanged-for", "0s"]).ends(0).says("1 session removed\n");
    fixture.run(&["sessions", "purge", "--unchanged-for", "0s"]).ends(0).says("0 sessions removed\n");
}

#[test]
fn what_rests_is_purged_and_what_waits_is_not() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "done", "hello"]).ends(0);
    fixture.run(&["send", "done", "hello"]).ends(0);
    fixture.run(&["run", "agent.toml", "--session", "waits", "write"]).ends(10);
    let purge = |words: &[&str]| -> (Value, Value) {
        let words = [&["sessions", "purge", "--json"], words].concat();
        let last = fixture.run(&words).ends(0).last();
        (last["sessions"].clone(), last["checkpoints"].clone())
    };
    assert_eq!(purge(&["--unchanged-for", "1h"]), (json!(0), json!(0)));
    assert_eq!(purge(&["--unchanged-for", "0s", "--status", "failed"]), (json!(0), json!(0)));
    assert_eq!(purge(&["--unchanged-for", "0s", "--tenant", "other"]), (json!(0), json!(0)));
    assert_eq!(purge(&["--unchanged-for", "0s", "--checkpoints", "1"]), (json!(0), json!(1)));
    assert_eq!(purge(&["--unchanged-for", "0s"]), (json!(1), json!(0)));
    let left = fixture.run(&["sessions", "list", "--json"]).ends(0).lines();
    assert_eq!((left.len(), &left[0]["session"]), (1, &json!("waits")));
    fixture.run(&["sessions", "purge", "--unchanged-for", "0s", "--status", "active"]).ends(2);
    fixture.run(&["sessions", "purge"]).ends(2);
}

/// Requirements: A15.
#[test]
fn deltas_are_followed_from_another_process_and_end_with_the_message() {
    let fixture = Fixture::new();
    let words = "one two three four five six seven eight nine ten";
    let script = format!("stream = {{ delay_ms = 150 }}\n[[turns]]\nsay = '{words}'\n");
    fixture.write("script.toml", &script);
    let run = fixture.start(&["run", "agent.toml", "--session", "s", "hello"]);
    wait_until("the session is there", || fixture.run(&["sessions", "show", "s"]).code == Some(0));
    let log = std::fs::File::create(fixture.path("followed")).unwrap();
    let words_of = ["events", "s", "--follow", "--deltas", "--json"];
    let mut follower = fixture.command(&words_of).stdout(log).spawn().unwrap();
    run.end().ends(0);
    let log = fixture.run(&["events", "s", "--json"]).ends(0).lines();
    let end = log.last().unwrap()["cursor"].as_str().unwrap().to_owned();
    wait_until("the follower has seen the end", || fixture.read("followed").contains(&end));
    follower.kill().unwrap();
    follower.wait().unwrap();
    let shown = fixture.read("followed");
    let lines: Vec<Value> = shown.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let deltas: Vec<&Value> = lines.iter().filter(|line| line["delta"].is_object()).collect();
    assert!(deltas.len() >= 2, "{shown:#?}");
    let places: Vec<u64> = deltas.iter().map(|delta| delta["place"].as_u64().unwrap()).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>(), "without gap or repeat");
    let said: String = deltas.iter().map(|delta| delta["delta"]["text"].as_str().unwrap()).collect();
    assert!(words.starts_with(said.as_str()), "{said}");
    let message = lines.iter().find(|line| line["event"]["role"] == "assistant").unwrap();
    assert_eq!(message["event"]["stream"], deltas[0]["stream"], "it takes the place of its deltas");
    // After a cursor within the stream, reading goes on with the message that replaced the stream.
    let within = deltas[0]["cursor"].as_str().unwrap();
    let rest = fixture.run(&["events", "s", "--deltas", "--json", "--after", within]).ends(0).lines();
    let missed = lines.iter().skip_while(|line| line["cursor"] != within).skip(1);
    let missed: Vec<&Value> = missed.filter(|line| line["delta"].is_null()).collect();
    let places = |lines: Vec<&Value>| lines.iter().map(|line| line["seq"].clone()).collect::<Vec<_>>();
    assert_eq!(places(rest.iter().collect()), places(missed), "without gap or repeat");
}
