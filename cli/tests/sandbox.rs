//! An agent file with a sandbox.
//!
//! Requirements: C11, C45.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = r#"
model = "scripted:script.toml"
root = "files"
tools = ["write_file", "run_command", "read_file"]

[sandbox]
root = "rooms"
SANDBOX

[[approval]]
tool = "run_command"
action = "allow"
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "go", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "written inside" } }]

[[turns]]
when = { result_of = "write_file" }
calls = [{ tool = "run_command", arguments = { command = "cat note.txt; ls" } }]

[[turns]]
when = { result_of = "run_command", result_contains = "written inside" }
say = "It was there."
"#;

fn fixture(sandbox: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("agent.toml", &AGENT.replace("SANDBOX", sandbox));
    fixture.write("script.toml", SCRIPT);
    fixture
}

#[test]
fn c11_c45_files_and_commands_work_in_the_sandbox_that_run_names_and_nothing_is_left_of_it() {
    let fixture = fixture("");
    let ran = fixture.command(&["run", "agent.toml", "go"]).output().expect("it runs");
    let (said, told) = (String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
    assert!(ran.status.success() && said.contains("It was there."), "{said}{told}");
    let named = format!("{said}{told}");
    assert!(
        named.contains("sandbox: bubblewrap, no network")
            || named.contains("sandbox: plain folder, no walls"),
        "{named}"
    );
    let left = std::fs::read_dir(fixture.path("rooms")).expect("the root was made").count();
    assert_eq!(left, 0);
    assert!(!fixture.path("files/note.txt").exists());
}

#[test]
fn walls_that_are_required_and_missing_are_refused_before_anything_is_stored() {
    let fixture = fixture("walls = \"required\"\nbubblewrap = \"no-such-bubblewrap\"");
    let ran = fixture.command(&["run", "agent.toml", "go"]).output().expect("it runs");
    let told = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{told}");
    assert!(
        told.contains("walls are required, and there are none: no-such-bubblewrap: No such file"),
        "{told}"
    );
}
