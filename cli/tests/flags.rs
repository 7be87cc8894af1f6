//! Flags with invalid values change nothing, and a message that no worker could serve is taken up later.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

fn messages(fixture: &Fixture) -> usize {
    fixture.run(&["sessions", "messages", "s", "--json"]).ends(0).lines().len()
}

fn unread(fixture: &Fixture) -> serde_json::Value {
    fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last()["unread"].clone()
}

#[test]
fn a_model_that_cannot_be_is_refused_before_anything_is_said() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let before = messages(&fixture);
    let flags: [&[&str]; 2] = [&["--model", "scripted:nope.toml"], &["--base-url", "http://127.0.0.1:1"]];
    for flags in flags {
        for command in [&["send", "s", "hi"][..], &["approve", "s"], &["deny", "s"]] {
            fixture.run(&[command, flags].concat()).fails(2, &["session s: nothing was done: "]);
        }
    }
    assert_eq!((messages(&fixture), unread(&fixture)), (before, 0.into()));
    fixture.run(&["approve", "s"]).ends(0).says("Written.");
}

#[test]
fn a_message_that_no_worker_could_serve_is_taken_up() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "write"]).ends(0);
    let script = fixture.path("script.toml");
    let away = fixture.path("away.toml");
    std::fs::rename(&script, &away).unwrap();
    fixture.run(&["work", "--until-idle"]);
    assert_eq!(unread(&fixture), 1);
    std::fs::rename(&away, &script).unwrap();
    fixture.run(&["resume", "s"]).ends(10).says("write_file");
    assert_eq!(unread(&fixture), 0);
}

#[test]
fn a_time_to_wait_is_given_with_an_equals_sign_so_that_a_message_is_none() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--wait=1ms", "write"]).ends(11);
    fixture.run(&["send", "s", "--wait=1ms", "again"]).ends(11);
    let said = fixture.run(&["send", "s", "--wait", "hello", "--detach"]);
    assert!(said.ends(2).err.contains("--wait[=<TIME>]"), "it is the pair that is refused, not the message");
}

#[test]
fn what_interrupt_alone_can_do_abort_does_not_offer() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["abort", "s", "--call", "c1-0"]).ends(2);
    fixture.run(&["sessions", "list", "--limit", "0"]).ends(2);
}
