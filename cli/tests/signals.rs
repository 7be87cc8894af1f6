//! Commands that receive a signal to stop, once or twice.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Fixture, Running, is_written, wait_until};

/// Returns a fixture whose agent gives calls a long time to stop.
fn patient() -> Fixture {
    let fixture = Fixture::new();
    let agent = fixture.read("agent.toml");
    fixture.write("agent.toml", &format!("{agent}\n[limits]\nstop_grace_ms = 60_000\n"));
    fixture
}

/// Starts a run, and waits until its command is running.
fn lingering(fixture: &Fixture) -> Running {
    let words = ["run", "agent.toml", "--session", "s", "--lease", "1s", "--json", "linger"];
    let running = fixture.start(&words);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running
}

/// Starts a worker, and waits until the command of its session is running.
fn serving(fixture: &Fixture, words: &[&str]) -> Running {
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "linger"]).ends(0);
    let worker = fixture.start(&[&["work", "--json"], words].concat());
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    worker
}

#[test]
fn a_second_ctrl_c_leaves_the_session_where_it_is() {
    let fixture = patient();
    let running = lingering(&fixture);
    running.signal(Signal::INT);
    running.notes("interrupting the session; Ctrl-C again leaves it as it is");
    running.signal(Signal::INT);
    let ran = running.end().ends(130);
    assert!(ran.err.contains("session s: left where it is; the next run ends the turn"), "{ran:#?}");
    assert_eq!(ran.last(), json!({ "session": "s", "outcome": Value::Null, "item": 1 }));
    fixture.run(&["sessions", "show", "s"]).ends(0).says("running").says("soft is asked for: Ctrl-C");
}

#[test]
fn a_run_whose_terminal_is_gone_leaves_the_session_to_others() {
    for signal in [Signal::HUP, Signal::TERM] {
        let fixture = patient();
        let running = lingering(&fixture);
        running.signal(signal);
        let ran =
            running.end().fails(143, &["session s: left where it is; holdover resume takes it up again"]);
        assert_eq!(ran.last(), json!({ "session": "s", "outcome": Value::Null, "item": 1 }), "{signal:?}");
        fixture.run(&["resume", "s"]).ends(0).says("It had begun.");
    }
}

#[test]
fn a_worker_that_is_told_twice_stops_at_once() {
    let fixture = Fixture::new();
    let worker = serving(&fixture, &[]);
    worker.signal(Signal::TERM);
    worker.notes("a second signal stops at once");
    worker.signal(Signal::INT);
    assert_eq!(worker.end().ends(130).last()["stopped"], "stopped at once");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("running");
}

#[test]
fn a_worker_that_drops_what_does_not_end_in_time_says_so() {
    let fixture = Fixture::new();
    let worker = serving(&fixture, &["--grace", "200ms"]);
    let told = Instant::now();
    worker.signal(Signal::TERM);
    let ran = worker.end().ends(143);
    assert!(told.elapsed() < Duration::from_secs(20), "it does not wait for the default");
    assert_eq!(ran.last()["stopped"], "stopped late");
    assert!(ran.err.contains("left for others to take over: 1 session\n"), "{ran:#?}");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("running");
}

/// Tests a deploy: the first command is running when the worker is told to stop, and it finishes. The second command
/// starts only with `--drain turn`.
#[test]
fn a_worker_that_is_told_to_stop_starts_nothing_more_unless_it_is_told_otherwise() {
    for (drain, did) in [("calls", "first\n"), ("turn", "first\nsecond\n")] {
        let fixture = Fixture::new();
        let first = "echo begun > marker; while [ ! -e open ]; do sleep 0.05; done; echo first >> did";
        fixture.write(
            "script.toml",
            &format!(
                "[[turns]]\nwhen = {{ user_contains = 'linger', nth = 1 }}\ncalls = [\n\
                 {{ tool = 'run_command', arguments = {{ command = '{first}' }} }},\n\
                 {{ tool = 'run_command', arguments = {{ command = 'echo second >> did' }} }},\n]\n\
                 [[turns]]\nwhen = {{ result_of = 'run_command' }}\nsay = 'All done.'\n"
            ),
        );
        let worker = serving(&fixture, &["--drain", drain]);
        worker.signal(Signal::TERM);
        worker.notes("stopping once running calls have returned");
        fixture.write("files/open", "");
        assert_eq!(worker.end().ends(0).last()["stopped"], "stopped");
        assert_eq!(fixture.read("files/did"), did, "{drain}");
        let status = if drain == "calls" { "status    waiting" } else { "status    at rest" };
        fixture.run(&["sessions", "show", "s"]).ends(0).says(status);
        fixture.run(&["work", "--until-idle"]).ends(0);
        assert_eq!(fixture.read("files/did"), "first\nsecond\n", "each once");
        fixture.run(&["sessions", "show", "s"]).ends(0).says("status    at rest");
        fixture.run(&["sessions", "replay", "s"]).ends(0);
    }
}

#[test]
fn an_interrupt_says_whom_it_waits_for() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "12s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::KILL);
    running.end();
    let ran = fixture.run(&["interrupt", "s"]).ends(20).says("interrupted");
    assert!(ran.err.contains("holds the session until ") && ran.err.contains("does not let go"), "{ran:#?}");
    assert_eq!(ran.err.lines().count(), 1, "said once: {ran:#?}");
}

#[test]
fn the_demo_that_is_terminated_leaves_no_folder() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["demo"]);
    command.env("TMPDIR", fixture.path("files"));
    let demo = Fixture::start_that(command);
    wait_until("it plays", || demo.text_so_far().contains("2. A second process approves"));
    demo.signal(Signal::TERM);
    demo.end().fails(143, &["the demo was stopped"]);
    assert_eq!(std::fs::read_dir(fixture.path("files")).unwrap().count(), 0, "it left its folder");
}

#[cfg(feature = "conformance")]
#[test]
fn a_suite_that_is_stopped_says_how_far_it_was_and_leaves_no_folder() {
    use std::path::Path;

    for (signal, code) in [(Signal::TERM, 143), (Signal::INT, 130)] {
        let fixture = Fixture::new();
        let suite = fixture.start(&["conformance", "--store", "sqlite:files", "--json"]);
        // Every case has a folder of its own within the folder of the suite.
        let folders = |within: &Path| {
            let entries = std::fs::read_dir(within).into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
        };
        let runs_cases = || folders(&fixture.path("files")).iter().any(|suite| !folders(suite).is_empty());
        wait_until("it runs cases", runs_cases);
        suite.signal(signal);
        let ran = suite.end().ends(code);
        assert!(ran.err.contains("error: the suite was stopped: "), "{ran:#?}");
        assert!(!ran.err.contains("panicked"), "{ran:#?}");
        let last = ran.last();
        assert!(last["stopped"] == true && last["begun"].as_u64() > Some(0), "{last}");
        assert_eq!(std::fs::read_dir(fixture.path("files")).unwrap().count(), 0, "it left its folder");
    }
}
