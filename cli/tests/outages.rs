//! A store on a full disk: every process that waits for the store reports that it waits, and why.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::Command;

use support::{Fixture, HOLDOVER, Ran, Running};

/// A model that calls a tool which fills the store's disk, and then takes one more step.
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

/// The URL of the store in these tests.
const STORE: &str = "sqlite:disk/holdover.db";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("script.toml", SCRIPT);
    std::fs::create_dir(fixture.path("disk")).unwrap();
    fixture
}

/// Returns a command that runs a shell line with `disk` as a private file system of 2 MiB.
fn on_small_disk(fixture: &Fixture, line: &str) -> Command {
    let mount = "mount -t tmpfs -o size=2M tmpfs disk && exec sh -c \"$0\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", mount, line]);
    command.env_remove("HOLDOVER_STORE").env_remove("HOLDOVER_LOG").env("TERM", "dumb");
    command.current_dir(fixture.path(""));
    command
}

/// A shell line that makes room on the disk once the file `room` exists.
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
fn a_worker_on_a_full_disk_logs_that_it_waits() {
    let fixture = fixture();
    let run = format!("{HOLDOVER} run agent.toml --store {STORE} --session s --detach fill");
    let work = format!("{HOLDOVER} work --store {STORE} --until-idle");
    let running =
        Fixture::start_that(on_small_disk(&fixture, &format!("{run}; {work} & {MAKE_ROOM}; wait $!")));
    running.notes("waiting for the store");
    let ran = make_room(&fixture, running).ends(0).says("session s: completed");
    assert!(ran.err.contains("WARN") && ran.err.contains("the store answers again"), "{ran:#?}");
}

/// A command that fills the disk and has a large result. The store's log still has room for writes smaller
/// than the commit of that result.
const LARGE: &str = "head -c 64M /dev/zero > ../disk/rest; head -c 400000 /dev/zero | tr '\\\\0' x";

#[test]
fn whoever_waits_in_vain_is_told_that_the_disk_is_full_though_its_log_takes_small_writes() {
    let fixture = fixture();
    fixture.write("script.toml", &SCRIPT.replace("head -c 64M /dev/zero > ../disk/rest; echo filled", LARGE));
    let run = format!("{HOLDOVER} run agent.toml --store {STORE} --session s --key k fill");
    let work = format!("{HOLDOVER} work --store {STORE} --until-idle");
    let look = format!("while [ ! -e look ]; do sleep 0.02; done; {run} --wait=1s; echo code $?");
    let line = format!("{run} --detach; {work} & {look}; {MAKE_ROOM}; wait $!");
    let running = Fixture::start_that(on_small_disk(&fixture, &line));
    running.notes("waiting for the store");
    fixture.write("look", "");
    running.notes("still running, and the disk of sqlite:disk/holdover.db is full: ");
    let ran = make_room(&fixture, running).ends(0);
    ran.says("code 1").says("session s: completed");
}

#[test]
fn a_session_that_cannot_be_stored_at_all_is_an_error_at_once() {
    let fixture = fixture();
    let run = format!("{HOLDOVER} run agent.toml --store {STORE} --session s");
    let line = format!("{run} hello; head -c 64M /dev/zero > disk/rest; {run} --wait=60s fill");
    let ran = Fixture::start_that(on_small_disk(&fixture, &line)).end().ends(1);
    assert!(ran.err.lines().last().is_some_and(|line| line.contains(": full: ")), "{ran:#?}");
}
