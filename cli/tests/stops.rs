//! Interrupts, the death of a process, and takeovers.
//!
//! Requirements: D11.

mod support;

use rustix::process::Signal;
use support::{Fixture, is_written, wait_until};

#[test]
fn a_suspended_session_is_interrupted_and_taken_up_again() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    // An interrupt does not need the agent.
    std::fs::rename(fixture.path("script.toml"), fixture.path("gone.toml")).expect("the script is moved");
    let ran = fixture.run(&["interrupt", "s", "--reason", "lunch", "--json"]).ends(20);
    assert_eq!(ran.last()["outcome"]["kind"], "interrupted");
    std::fs::rename(fixture.path("gone.toml"), fixture.path("script.toml")).expect("the script is back");
    fixture.run(&["approve", "s", "c1-0"]).fails(1, &["is not pending"]);
    fixture.run(&["interrupt", "s"]).ends(20).says("at rest");
    fixture.run(&["send", "s", "hello"]).ends(0).says("Good day.");
    fixture.run(&["interrupt", "s"]).ends(0).says("at rest");
}

#[test]
fn an_aborted_session_is_over() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let ran = fixture.run(&["abort", "s", "--json"]).ends(20);
    assert_eq!(ran.last()["outcome"]["kind"], "aborted");
    fixture.run(&["abort", "s"]).ends(20).says("aborted");
    fixture.run(&["send", "s", "hello"]).fails(1, &["session", "aborted"]);
    fixture.run(&["resume", "s"]).fails(1, &["session", "aborted"]);
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).fails(1, &["aborted"]);
    assert!(!fixture.has("files/note.txt"));
}

#[test]
fn a_running_session_is_interrupted_from_another_process() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).fails(1, &["session s", "holds it until"]);
    fixture.run(&["interrupt", "s"]).ends(20).says("interrupted");
    running.end().ends(20).says("interrupted");
}

#[test]
fn c61_what_an_answer_had_come_to_when_it_was_stopped_is_shown_as_such() {
    let fixture = Fixture::new();
    let words = "one ".repeat(1_000);
    fixture.write("script.toml", &format!("stream = {{ delay_ms = 150 }}\n[[turns]]\nsay = '{words}'\n"));
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "hello"]);
    wait_until("the session is there", || fixture.run(&["sessions", "show", "s"]).code == Some(0));
    let came = || fixture.run(&["events", "s", "--deltas", "--json"]).out.contains("one");
    wait_until("something of the answer has come", came);
    fixture.run(&["interrupt", "s"]).ends(20);
    running.end().ends(20);
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("> hello\none").says("one\n(stopped here)");
    let kept = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0).last();
    assert_eq!((&kept["message"]["role"], &kept["message"]["aborted"]), (&"assistant".into(), &true.into()));
}

#[test]
fn ctrl_c_interrupts() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::INT);
    running.end().ends(20).says("interrupted");
    fixture.run(&["sessions", "list", "--status", "interrupted"]).ends(0).says("interrupted");
}

#[test]
fn a_run_that_is_terminated_leaves_its_session_and_no_command() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::TERM);
    running.end().fails(143, &["session s", "holdover resume"]);
    fixture.run(&["resume", "s"]).ends(0).says("It had begun.");
    assert!(!fixture.has("files/survived"), "the command was stopped before its parent ended");
}

#[test]
fn a_worker_that_is_told_to_stop_ends_in_good_order() {
    let fixture = Fixture::new();
    let worker = fixture.start(&["work"]);
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hello"]).ends(0);
    let idle = || fixture.run(&["sessions", "messages", "s"]).out.contains("Good day.");
    wait_until("the worker has done it", idle);
    worker.signal(Signal::TERM);
    worker.end().ends(0).says("stopped");
}

/// Requirements: D11.
#[test]
fn a_killed_run_is_recovered_by_a_worker() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::KILL);
    assert_eq!(running.end().code, None, "it was killed");
    wait_until("the command sees that its parent is gone", || fixture.has("files/survived"));
    fixture.run(&["work", "--until-idle"]).ends(0);
    let told = fixture.run(&["sessions", "messages", "s"]).ends(0).says("It had begun.");
    assert_eq!(told.out.matches("← run_command in doubt").count(), 1, "{told:#?}");
    assert_eq!(told.out.matches("→ run_command").count(), 1, "{told:#?}");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!(shown["outcome"]["kind"], "completed");
    assert_eq!(shown["runs"][0]["outcome"], "lost");
}

#[test]
fn a_killed_run_is_taken_over_by_resume() {
    let fixture = Fixture::new();
    let running = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::KILL);
    running.end();
    let ran = fixture.run(&["resume", "s"]).ends(0).says("takes over").says("It had begun.");
    assert!(ran.err.contains("holds the session until"), "{ran:#?}");
}

#[test]
fn the_demo_keeps_its_word() {
    let fixture = Fixture::new();
    let mut command = fixture.command(&["demo"]);
    command.env("TMPDIR", fixture.path("files"));
    let output = command.output().expect("it starts");
    assert_eq!(output.status.code(), Some(0), "{output:#?}");
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    for part in ["exit code 10", "killed by signal 9", "run_command in doubt", "completed. Durable"] {
        assert!(said.contains(part), "{part:?} in {said}");
    }
    let left: Vec<_> = std::fs::read_dir(fixture.path("files")).expect("a folder").collect();
    assert!(left.is_empty(), "{left:?}");
}
