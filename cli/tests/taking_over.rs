//! Takeovers from the command line: another agent goes on in a new session.
//!
//! Requirements: H26.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = r#"
name = "desk"
model = "scripted:desk.toml"
root = "files"
tools = ["read_file", "write_file"]

[[agent]]
name = "painter"
description = "Paints. Hand over to it when you know what to paint."
instructions = "You are a painter."
tools = ["write_file"]
takes_over = true
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { system_contains = "hand the work of an agent over" }
say = "The paint is blue."

[[turns]]
when = { system_contains = "You are a painter.", result_of = "write_file" }
say = "The door is painted."

[[turns]]
when = { system_contains = "You are a painter." }
calls = [{ tool = "write_file", arguments = { path = "door.txt", content = "blue" } }]

[[turns]]
calls = [{ tool = "painter", arguments = { goal = "Paint the door" } }]
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("desk.toml", SCRIPT);
    fixture.write("agent.toml", AGENT);
    std::fs::create_dir_all(fixture.path("files")).unwrap();
    fixture
}

#[test]
fn h26_run_goes_on_with_the_session_that_takes_over() {
    let fixture = fixture();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "the door"]).ends(0);
    let ran = ran.says("painter takes over").says("The door is painted.").says("session next-");
    assert_eq!(ran.out.matches("The door is painted.").count(), 1, "{ran:#?}");
    assert_eq!(fixture.read("files/door.txt"), "blue");
    let forks = fixture.run(&["sessions", "list", "--label", "forked_from=s", "--json"]).ends(0).lines();
    let heir = forks[0]["session"].as_str().unwrap();
    fixture.run(&["sessions", "show", heir]).ends(0).says("desk>painter");
    fixture.run(&["sessions", "history", "s"]).ends(0).says(&format!("hands over to painter: {heir}"));
    for session in ["s", heir] {
        fixture.run(&["sessions", "replay", session]).ends(0);
    }
}

#[test]
fn h26_a_worker_that_never_saw_the_file_runs_the_session_that_takes_over() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "the door"]).ends(0);
    fixture.write("agent.toml", "");
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(fixture.read("files/door.txt"), "blue");
    let forks = fixture.run(&["sessions", "list", "--label", "forked_from=s", "--json"]).ends(0).lines();
    fixture.run(&["abort", "s"]).ends(20);
    fixture.run(&["work", "--until-idle"]).ends(0);
    let heir = forks[0]["session"].as_str().unwrap();
    let shown = fixture.run(&["sessions", "show", heir, "--json"]).ends(0).last();
    assert_eq!(shown["status"], "aborted", "an abort follows: {shown}");
}

#[test]
fn what_is_for_agents_that_are_given_tasks_is_refused_for_one_that_takes_over() {
    let fixture = fixture();
    fixture.write("agent.toml", &AGENT.replace("takes_over = true", "takes_over = true\nfan_out_max = 2"));
    fixture.run(&["run", "agent.toml", "the door"]).fails(2, &["agent[0].fan_out_max", "takes over"]);
}
