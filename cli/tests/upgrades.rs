//! `sessions check` reports what an upgrade would break, before it is made.
//!
//! Requirements: U09.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::json;
use support::Fixture;

#[test]
fn u09_the_sessions_are_listed_that_would_not_go_on_and_why() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "waits", "write"]).ends(10);
    fixture.run(&["run", "agent.toml", "--session", "rests", "hello"]).ends(0);
    let other = fixture.read("agent.toml").replace("name = \"tester\"", "name = \"other\"");
    fixture.write("other.toml", &other);
    fixture.run(&["run", "other.toml", "--session", "others", "write"]).ends(10);
    fixture.run(&["sessions", "check"]).ends(0).says("nothing would break");
    fixture.run(&["sessions", "check", "agent.toml"]).ends(0).says("nothing would break");

    // The new file leaves out the tool of a call that waits.
    let poorer = fixture.read("agent.toml").replace("\"write_file\", ", "");
    let poorer = poorer.replace("tool = \"write_file\"", "tool = \"read_file\"");
    fixture.write("poorer.toml", &poorer);
    let ran = fixture.run(&["sessions", "check", "poorer.toml"]).ends(1);
    assert_eq!(ran.out, "session waits (waiting): call c1-0: its agent has no tool write_file here\n");
    let found = fixture.run(&["sessions", "check", "poorer.toml", "--json"]).ends(1).lines();
    assert_eq!(found.len(), 1);
    assert_eq!(
        (&found[0]["session"], &found[0]["breaks"]),
        (&json!("waits"), &json!([{ "breaks": "missing_tool", "call": "c1-0", "tool": "write_file" }]))
    );

    // The script that the sessions were begun with is deleted.
    std::fs::remove_file(fixture.path("script.toml")).expect("it was there");
    let ran = fixture.run(&["sessions", "check"]).ends(1);
    assert_eq!(ran.out.lines().count(), 3, "{ran:?}");
    ran.says("session rests (at rest): its agent is not here: agent.not_built: ");
    fixture.run(&["sessions", "check", "nothing.toml"]).fails(2, &["nothing.toml"]);
    // The check started no run.
    let runs = fixture.run(&["sessions", "runs", "waits", "--json"]).ends(0).lines();
    assert_eq!(runs.len(), 1);
}
