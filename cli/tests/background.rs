//! Children in the background, from the command line.
//!
//! Requirements: H21.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = r#"
name = "chief"
model = "scripted:chief.toml"
root = "files"
tools = ["read_file", "write_file"]

[[approval]]
tool = "write_file"
action = "ask"

[[approval]]
tool = "stop_child"
action = "ask"

[[agent]]
name = "clerk"
description = "Writes and reads."
instructions = "You are a clerk."
tools = ["read_file", "write_file"]
background = true
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { system_contains = "You are a clerk.", user_contains = "write", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "blue" } }]

[[turns]]
when = { system_contains = "You are a clerk.", user_contains = "write", result_of = "write_file" }
say = "The note is written."

[[turns]]
when = { system_contains = "You are a clerk." }
say = "The note says green."

[[turns]]
when = { user_contains = "has ended", nth = 1 }
say = "The clerk is done."

[[turns]]
when = { result_of = "clerk" }
say = "I go on meanwhile."

[[turns]]
when = { user_contains = "look", nth = 1 }
calls = [{ tool = "clerk", arguments = { tasks = ["write the note"], background = true } }]

[[turns]]
say = "Ready."
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("chief.toml", SCRIPT);
    fixture.write("agent.toml", AGENT);
    fixture.write("files/note.txt", "green");
    fixture
}

#[test]
fn h21_a_model_begins_a_child_and_goes_on_and_a_worker_runs_the_child_and_tells_the_model() {
    let fixture = fixture();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "look"]).ends(0);
    ran.says("I go on meanwhile.").says("1 child goes on in the background").says("sessions children s");
    fixture.run(&["work", "--until-idle"]).ends(0);
    let listed = fixture.run(&["sessions", "children", "s", "--json"]).ends(0).lines();
    assert_eq!(listed[0]["standing"], "waits", "{listed:?}");
    let child = listed[0]["session"].as_str().unwrap().to_owned();
    fixture.run(&["sessions", "tree", "s"]).ends(0).says(&child);
    fixture.run(&["approve", "s", "--detach"]).ends(0);
    // The agent file is no longer needed: the definition is stored with the sessions.
    fixture.write("agent.toml", "");
    fixture.run(&["work", "--until-idle"]).ends(0);
    let told = fixture.run(&["sessions", "messages", "s"]).ends(0);
    told.says(&format!("[clerk {child} has ended]")).says("The note is written.").says("The clerk is done.");
    fixture.run(&["sessions", "children", "s"]).ends(0).says(&format!("{child}  clerk  done; "));
    fixture.run(&["sessions", "replay", "s"]).ends(0);
    let events = fixture.run(&["events", "s", "--tree"]).ends(0);
    events.says("1 child of clerk in the background").says("clerk[1]");
    let history = fixture.run(&["sessions", "history", "s"]).ends(0);
    history.says("begins 1 other session in the background").says(&format!("{child} has ended"));
}

#[test]
fn h21_a_child_is_begun_from_the_command_line_once_for_a_key() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let begin = ["sessions", "begin", "s", "clerk", "read the note", "--key", "one"];
    fixture.run(&begin).ends(0).says("The note says green.").says("The clerk is done.");
    fixture.run(&begin).ends(0);
    let listed = fixture.run(&["sessions", "children", "s", "--json"]).ends(0).lines();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["standing"], "done");
}

#[test]
fn h21_the_end_of_a_quiet_child_begins_no_turn_and_its_approval_is_given_at_its_parent() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let begin =
        ["sessions", "begin", "s", "clerk", "write the note", "--quiet-end", "--detached", "--detach"];
    fixture.run(&begin).ends(0).says("child-");
    fixture.run(&["work", "--until-idle"]).ends(0);
    fixture.run(&["sessions", "children", "s"]).ends(0).says("clerk  waits, quiet, detached");
    fixture.run(&["sessions", "pending", "s"]).ends(0).says("write_file");
    assert_eq!(fixture.read("files/note.txt"), "green", "a person is asked first");
    fixture.run(&["approve", "s", "--detach"]).ends(0);
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(fixture.read("files/note.txt"), "blue");
    fixture.run(&["sessions", "children", "s"]).ends(0).says("clerk  done");
    let said = fixture.run(&["sessions", "messages", "s"]).ends(0);
    assert!(!said.out.contains("has ended"), "{said:#?}");
}

#[test]
fn a_child_that_the_agent_does_not_have_is_refused_by_name() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let refused = fixture.run(&["sessions", "begin", "s", "nobody", "read the note"]);
    refused.fails(1, &["sub-agent nobody: the agent has no such sub-agent"]);
    fixture.run(&["sessions", "children", "s"]).ends(0).says("no children in the background");
}
