//! Tools that an agent file declares as programs.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use support::{Fixture, is_written, wait_until};

const AGENT: &str = r#"
model = "scripted:script.toml"
root = "files"
tools = ["read_file"]

[[tool]]
name = "charge"
description = "Charges a card"
command = ["./charge.sh", "--live"]
effect = "idempotent"
parameters = { type = "object", properties = { cents = { type = "integer" } }, required = ["cents"] }

[[approval]]
tool = "charge"
action = "ACTION"
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "charge", nth = 1 }
calls = [{ tool = "charge", arguments = { cents = 300 } }]

[[turns]]
when = { user_contains = "wrong", nth = 1 }
calls = [{ tool = "charge", arguments = { cents = "many" } }]

[[turns]]
when = { result_of = "charge", result_status = "done", result_contains = "--live charged" }
say = "Charged."

[[turns]]
when = { result_of = "charge", result_status = "error" }
say = "Not charged."
"#;

/// A tool that records its input, and ends once `gate` exists. It also ends if the process that started it is
/// gone.
const CHARGE: &str = r#"#!/bin/sh
echo "$HOLDOVER_IDEMPOTENCY_KEY $HOLDOVER_SESSION $(cat)" >>sends
until [ -e gate ]; do kill -0 "$PPID" 2>/dev/null || exit 1; sleep 0.02; done
echo "$1 charged"
"#;

fn fixture(action: &str) -> Fixture {
    use std::os::unix::fs::PermissionsExt;
    let fixture = Fixture::new();
    fixture.write("agent.toml", &AGENT.replace("ACTION", action));
    fixture.write("script.toml", SCRIPT);
    fixture.write("charge.sh", CHARGE);
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.path("charge.sh"), runnable).expect("it may be run");
    fixture
}

#[test]
fn any_process_finds_it_with_the_session() {
    let fixture = fixture("ask");
    fixture.write("files/gate", "");
    fixture.run(&["run", "agent.toml", "--session", "s", "charge"]).ends(10);
    fixture.write("agent.toml", "model = 'scripted:script.toml'\n");
    fixture.run(&["approve", "s"]).ends(0).says("Charged.");
    let sends = fixture.read("files/sends");
    assert!(sends.ends_with(" s {\"cents\":300}\n") && sends.lines().count() == 1, "{sends}");
}

#[test]
fn arguments_that_do_not_fit_its_schema_do_not_reach_it() {
    let fixture = fixture("allow");
    fixture.run(&["run", "agent.toml", "wrong"]).ends(0).says("Not charged.");
    assert!(!fixture.has("files/sends"));
}

#[test]
fn a_killed_idempotent_call_is_sent_again_with_its_key_and_its_bytes() {
    let fixture = fixture("allow");
    let doomed = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "charge"]);
    wait_until("it is sent", || is_written(&fixture.path("files/sends")));
    doomed.signal(rustix::process::Signal::KILL);
    assert_eq!(doomed.end().code, None, "it was killed");
    fixture.write("files/gate", "");
    fixture.run(&["resume", "s"]).ends(0).says("Charged.");
    let sends = fixture.read("files/sends");
    let sends: Vec<&str> = sends.lines().collect();
    assert!(sends.len() == 2 && sends[0] == sends[1], "{sends:?}");
}

#[test]
fn one_that_cannot_be_is_refused_before_anything_begins() {
    let fixture = fixture("allow");
    std::fs::remove_file(fixture.path("charge.sh")).expect("it was there");
    fixture
        .run(&["run", "agent.toml", "charge"])
        .fails(2, &["agent.toml: line 6: tool charge: ", "charge.sh: "]);
    fixture.write(
        "agent.toml",
        "model = 'scripted:script.toml'\n[[tool]]\nname = 'a'\ndescription = ''\ncommand = ['true']\n\
         parameters = { type = 'object', properties = 3 }\n",
    );
    fixture.run(&["run", "agent.toml", "charge"]).fails(2, &["agent.toml: ", "tool a: parameters: "]);
    assert!(!fixture.has("holdover.db"));
}
