//! The progress of a tool that an agent file declares as a program, and a request to stop that it heeds.
//!
//! Requirements: A50, B33.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use support::{Fixture, is_written, wait_until};

const AGENT: &str = r#"
model = "scripted:script.toml"
root = "files"

[limits]
stop_grace_ms = 60000

[[tool]]
name = "count"
description = "Counts"
command = ["./count.sh"]
timeout_seconds = 600

[[approval]]
tool = "count"
action = "allow"
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "count", nth = 1 }
calls = [{ tool = "count" }]

[[turns]]
when = { result_of = "count" }
say = "Counted."
"#;

/// A tool that prints its progress until `gate` exists. It writes `ended` when it is asked to end.
const COUNT: &str = r#"#!/bin/sh
trap 'echo half; echo yes >ended; exit 0' TERM
i=0
until [ -e gate ]; do
    i=$((i + 1))
    echo "step $i" >&2
    kill -0 "$PPID" 2>/dev/null || exit 1
    sleep 0.05
done
echo "all"
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("agent.toml", AGENT);
    fixture.write("script.toml", SCRIPT);
    fixture.write("count.sh", COUNT);
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.path("count.sh"), runnable).expect("it may be run");
    fixture
}

/// Returns the reports of calls that another process sees.
fn reports(fixture: &Fixture) -> Vec<Value> {
    let shown = fixture.run(&["events", "s", "--deltas", "--json"]);
    if shown.code != Some(0) {
        return Vec::new();
    }
    let deltas = shown.lines().into_iter().map(|line| line["delta"].clone());
    deltas.filter(|delta| delta["type"] == "call_progress").collect()
}

#[test]
fn a50_progress_of_a_command_is_followed_from_another_process() {
    let fixture = fixture();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "count"]);
    wait_until("two reports are shown", || reports(&fixture).len() >= 2);
    let [first, second, ..] = &reports(&fixture)[..] else { panic!("reports are gone") };
    for report in [first, second] {
        assert_eq!((&report["call"], &report["tool"]), (&"c1-0".into(), &"count".into()));
        assert!(report["message"].as_str().is_some_and(|text| text.starts_with("step ")), "{report}");
    }
    let last = first["message"].as_str().and_then(|text| text.lines().last()).expect("a line");
    let next = second["message"].as_str().and_then(|text| text.lines().next()).expect("a line");
    let number = |line: &str| line.trim_start_matches("step ").parse::<u32>().expect("a number");
    assert_eq!(number(next), number(last) + 1, "nothing between two reports is left out");
    fixture.run(&["events", "s", "--deltas"]).ends(0).says("call c1-0 of count: step ");
    fixture.write("files/gate", "");
    running.end().ends(0).says("Counted.");
    fixture.run(&["events", "s", "--deltas", "--json"]).ends(0);
    assert_eq!(reports(&fixture).len(), 0, "reports are not kept");
}

#[test]
fn b33_a_command_whose_turn_is_stopped_is_asked_to_end_and_the_model_is_told_what_it_had_printed() {
    let fixture = fixture();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "count"]);
    wait_until("it runs", || !reports(&fixture).is_empty());
    fixture.run(&["interrupt", "s"]).ends(20);
    running.end().ends(20);
    assert!(is_written(&fixture.path("files/ended")));
    let shown = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0).lines();
    let result = shown.iter().find(|line| line["message"]["role"] == "tool").expect("a result");
    let content = result["message"]["content"].as_str().expect("a text");
    let told = "stopped (user:cancelled); it may have done part of its work\nstdout:\nhalf\nstderr:\nstep 1";
    assert!(content.starts_with(told), "{content}");
    assert_eq!(result["message"]["status"], "error");
}
