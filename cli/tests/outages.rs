//! A store on a disk that is full: whoever waits for it is told, and why.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::Command;

use support::{Fixture, HOLDOVER, Ran, Running, wait_until};

/// A tool that fills the disk on which the store lies, and one more step.
const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "fill", nth = 1 }
calls = [{ tool = "run_command", arguments = { command = "head -c 64M /dev/zero > ../disk/rest; echo filled" } }]

[[turns]]
when = { result_of = "run_command" }
say = "Done."

[[turns]]
when = { user_contains = "hello" }
say = "Good day."
"#;

/// The store of these tests.
const STORE: &str = "sqlite:disk/holdover.db";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("script.toml", SCRIPT);
    std::fs::create_dir(fixture.path("disk")).unwrap();
    fixture
}

/// Runs a shell line where `disk` is a file system of 2 MiB that nobody else sees.
fn on_small_disk(fixture: &Fixture, line: &str) -> Command {
    let mount = "mount -t tmpfs -o size=2M tmpfs disk && exec sh -c \"$0\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, line]);
    command.env_remove("HOLDOVER_STORE").env_remove("HOLDOVER_LOG").env("TERM", "dumb");
    command.current_dir(fixture.path(""));
    command
}

/// Makes room on the disk once it is told to.
const MAKE_ROOM: &str = "while [ ! -e room ]; do sleep 0.02; done; rm disk/rest";

fn make_room(fixture: &Fixture, running: Running) -> Ran {
    fixture.write("room", "");
    running.end()
}

#[test]
fn a_run_on_a_full_disk_says_at_once_that_it_waits_and_goes_on_when_there_is_room() {
    let fixture = fixture();
    let run = format!("{HOLDOVER} run agent.toml --store {STORE} --session s fill");
    let running = Fixture::start_that(on_small_disk(&fixture, &format!("{run} & {MAKE_ROOM}; wait $!")));
    running.notes("session s: waiting for the store since 2");
    running.notes("database or disk is full");
    let ran = make_room(&fixture, running).ends(0).says("Done.");
    assert!(ran.err.contains("session s: the store answers again, after "), "{ran:#?}");
    assert!(!ran.err.contains("ms:"), "an instant is one for people: {ran:#?}");
}

#[test]
fn who_waits_for_a_worker_whose_disk_is_full_is_told_the_cause() {
    let fixture = fixture();
    let say = format!("{HOLDOVER} run agent.toml --store {STORE} --session s --key k");
    let (detach, wait) = (format!("{say} --detach fill"), format!("{say} --wait=0s fill"));
    // The worker tells on its log that it waits; then somebody looks how far it is.
    let line = format!(
        "{detach}; {HOLDOVER} work --store {STORE} --until-idle 2> log & \
         until grep -q 'waiting for the store' log; do sleep 0.02; done; \
         {wait} > waited 2>&1; echo $? >> waited; {MAKE_ROOM}; wait $!; \
         {HOLDOVER} sessions show s --store {STORE}"
    );
    let running = Fixture::start_that(on_small_disk(&fixture, &line));
    wait_until("it was waited", || fixture.has("waited") && fixture.read("waited").ends_with("\n1\n"));
    let waited = fixture.read("waited");
    assert!(waited.starts_with("error: ") && waited.contains(": full: "), "{waited}");
    make_room(&fixture, running).ends(0).says("outcome   completed");
    let log = fixture.read("log");
    assert!(log.contains("WARN") && log.contains("the store answers again"), "{log}");
}

#[test]
fn a_session_that_cannot_be_stored_at_all_is_an_error_at_once() {
    let fixture = fixture();
    let run = format!("{HOLDOVER} run agent.toml --store {STORE} --session s");
    let line = format!("{run} hello; head -c 64M /dev/zero > disk/rest; {run} --wait=60s fill");
    let ran = Fixture::start_that(on_small_disk(&fixture, &line)).end().ends(1);
    assert!(ran.err.lines().last().is_some_and(|line| line.contains(": full: ")), "{ran:#?}");
}
