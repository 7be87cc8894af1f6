//! Tools of MCP servers that an agent file names.
//!
//! Requirement: D22.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "echo", nth = 1 }
calls = [{ tool = "mcp__test__echo", arguments = { text = "hello" } }]

[[turns]]
when = { user_contains = "fail", nth = 1 }
calls = [{ tool = "mcp__test__fail", arguments = {} }]

[[turns]]
when = { result_of = "mcp__test__echo", result_status = "done", result_contains = "you said hello" }
say = "It answered."

[[turns]]
when = { result_of = "mcp__test__fail", result_status = "error", result_contains = "it is broken" }
say = "It failed."
"#;

/// An agent with the server of the client's own tests, which writes down what it is told.
fn fixture(more: &str) -> Fixture {
    let fixture = Fixture::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.mjs");
    let record = fixture.path("record");
    let line = format!("RECORD='{}' exec node '{server}'", record.display());
    fixture.write(
        "agent.toml",
        &format!("model = 'scripted:script.toml'\n{more}\n[[mcp]]\nname = 'test'\ncommand = ['sh', '-c', \"\"\"{line}\"\"\"]\n"),
    );
    fixture.write("script.toml", SCRIPT);
    fixture
}

const ALLOWED: &str = "[[approval]]\ntool = 'mcp__test__*'\naction = 'allow'\n";

#[test]
fn a_result_and_an_error_both_reach_the_model() {
    let fixture = fixture(ALLOWED);
    fixture.run(&["run", "agent.toml", "echo"]).ends(0).says("It answered.");
    fixture.run(&["run", "agent.toml", "fail"]).ends(0).says("It failed.");
}

#[test]
fn a_call_that_nobody_allowed_waits_and_any_process_goes_on_without_asking_the_server_anew_what_it_has() {
    let fixture = fixture("");
    fixture.run(&["run", "agent.toml", "--session", "s", "echo"]).ends(10);
    assert!(!fixture.read("record").contains("call echo"), "it is dangerous: a person is asked");
    fixture.write("agent.toml", "model = 'scripted:script.toml'\n");
    fixture.run(&["approve", "s"]).ends(0).says("It answered.");
    let sent = fixture.read("record").lines().filter(|line| line.starts_with("call echo ")).count();
    assert_eq!(sent, 1);
}

#[test]
fn what_the_file_says_of_a_tool_that_the_server_does_not_have_is_refused_before_anything_is_made() {
    for (more, why) in [
        ("[[approval]]\ntool = 'mcp__test__ecoh'\naction = 'allow'\n", "mcp server \"test\" has none such"),
        ("human_only = ['mcp__test__ecoh']\n", "mcp server \"test\" has no tool mcp__test__ecoh"),
        ("human_only = ['mcp__toast__echo']\n", "is none of the agent's tools"),
    ] {
        let fixture = fixture(more);
        fixture.run(&["run", "agent.toml", "echo"]).fails(2, &[why]);
        assert!(!fixture.has("holdover.db"), "{why}");
    }
}
