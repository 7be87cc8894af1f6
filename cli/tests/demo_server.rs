//! `holdover serve --demo`, and the link for the person at the terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::path::Path;
use std::process::Command;

use rustix::process::Signal;
use serde_json::Value;
use support::{Fixture, Running, wait_until};

/// Runs commands of a shell, and returns what they print.
fn shell(commands: &str) -> String {
    let out = Command::new("bash").args(["-euo", "pipefail", "-c", commands]).output().unwrap();
    assert!(out.status.success(), "{}{}", commands, String::from_utf8_lossy(&out.stderr));
    String::from_utf8(out.stdout).unwrap()
}

/// Starts a server, and returns it with what it says of itself.
fn serve(fixture: &Fixture, words: &[&str]) -> (Running, Value) {
    let words = [&["--json", "serve", "--listen", "127.0.0.1:0"], words].concat();
    let running = fixture.start(&words);
    wait_until("it listens", || running.lines_so_far() > 0);
    let said = serde_json::from_str(running.text_so_far().lines().next().unwrap()).unwrap();
    (running, said)
}

/// The commands that the demo prints, as a person would copy them.
#[test]
fn a_newcomer_meets_the_agent_of_the_demo_with_the_commands_that_it_prints() {
    let fixture = Fixture::new();
    let running = fixture.start(&["serve", "--demo", "--listen", "127.0.0.1:0"]);
    let said = || running.text_so_far();
    wait_until("the commands are printed", || said().contains("/v1/sessions/first\n\n"));
    let text = said();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 8, "{text}");
    let printed = shell(&commands.join("\n"));
    // It fails in the middle of its text, takes that back, and says it again.
    let place = |what: &str| printed.find(what).unwrap_or_else(|| panic!("{what} in {printed}"));
    assert!(
        place("event: dropped") < place("I write the notes of the release from them, and ask before I do.")
    );
    assert!(printed.contains("the provider hung up"), "{printed}");
    let shown: Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!(shown["result"]["text"], "The notes are written: see NOTES.md.", "{shown}");
    running.signal(Signal::TERM);
    running.end().ends(0);
    assert!(!fixture.path("holdover.db").exists(), "nothing is left in the folder of the user");
}

#[test]
fn the_folder_of_the_demo_is_removed() {
    let fixture = Fixture::new();
    let folders = || {
        let all = std::fs::read_dir(std::env::temp_dir()).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap_or_default());
        names.filter(|name| name.starts_with("holdover-serve-")).collect::<std::collections::BTreeSet<_>>()
    };
    let before = folders();
    let (running, said) = serve(&fixture, &["--demo"]);
    assert_eq!(said["agents"], serde_json::json!(["guide"]));
    let made: Vec<String> = folders().difference(&before).cloned().collect();
    assert!(!made.is_empty());
    running.signal(Signal::INT);
    running.end().ends(0);
    wait_until("the folder is removed", || {
        made.iter().any(|name| !Path::new(&std::env::temp_dir()).join(name).exists())
    });
}

#[test]
fn a_link_is_made_while_there_are_no_tokens_and_only_for_this_machine() {
    let fixture = Fixture::new();
    fixture.write("script.toml", "turns = [{ say = 'Good day' }]");
    fixture.write("agent.toml", "name = \"clerk\"\nmodel = \"scripted:script.toml\"\n");
    let (_server, said) = serve(&fixture, &["agent.toml"]);
    let (base, link) = (said["listens"].as_str().unwrap(), said["link"].as_str().unwrap());
    let token = shell(&format!("curl -sS {link}"));
    let token = token.trim();
    let status = |words: &str| shell(&format!("curl -sS -o /dev/null -w '%{{http_code}}' {words}"));
    assert_eq!(status(link), "410", "it is opened once");
    assert_eq!(status(&format!("-H 'authorization: Bearer {token}' {base}/v1/sessions")), "200");
    assert_eq!(status(&format!("{base}/v1/sessions")), "401");
    let (_public, said) = serve(&fixture, &["agent.toml", "--host", "agents.example"]);
    assert_eq!(said.get("link"), None, "others may reach it");
    fixture.run(&["tokens", "create", "--name", "ann", "--may", "read"]).ends(0);
    let (_later, said) = serve(&fixture, &["agent.toml"]);
    assert_eq!(said.get("link"), None, "there is a token");
    let both = fixture.run(&["serve", "agent.toml", "--demo"]).ends(2);
    assert!(both.err.contains("--demo"), "{}", both.err);
}
