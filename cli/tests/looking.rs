//! Looking at a session from every side, and deleting it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use serde_json::Value;
use support::{Fixture, wait_until};

#[test]
fn every_run_is_listed_with_how_it_ended() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["approve", "s"]).ends(0);
    let runs = fixture.run(&["sessions", "runs", "s", "--json"]).ends(0).lines();
    let ended: Vec<&str> = runs.iter().map(|run| run["outcome"].as_str().expect("an outcome")).collect();
    assert_eq!(ended, ["suspended_client_tool", "completed"]);
    assert_eq!((&runs[1]["run"], &runs[1]["found"]), (&2.into(), &"suspended".into()));
    let ran = fixture.run(&["sessions", "runs", "s"]).ends(0).says("RUN").says("suspended_client_tool");
    assert_eq!(ran.out.lines().count(), 3);
}

#[test]
fn what_is_owed_is_listed_soonest_deadline_first() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "late", "write"]).ends(10);
    let agent = fixture.read("agent.toml");
    fixture.write("hasty.toml", &format!("{agent}\n[limits]\nanswer_timeout_ms = 60_000\n"));
    fixture.run(&["run", "hasty.toml", "--session", "soon", "ask"]).ends(10);
    let lines = fixture.run(&["sessions", "pending", "--json"]).ends(0).lines();
    let sessions: Vec<&str> = lines.iter().map(|line| line["session"].as_str().expect("an id")).collect();
    assert_eq!(sessions, ["soon", "late"]);
    assert_eq!((&lines[1]["kind"], &lines[1]["answered"]), (&"approval".into(), &false.into()));
    let of_one = fixture.run(&["sessions", "pending", "late", "--json"]).ends(0).lines();
    assert_eq!(of_one, lines[1..]);
    fixture.run(&["approve", "late", "--detach"]).ends(0);
    fixture.run(&["sessions", "pending", "late"]).ends(0).says("is answered; a run takes it up");
    let ran = fixture.run(&["sessions", "pending"]).ends(0).says("Which colour?");
    fixture.shell(&ran.command("answer").replace("YOUR ANSWER", "blue")).ends(0).says("Blue it is.");
}

#[test]
fn the_history_holds_every_move_from_the_first_to_the_last() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["approve", "s", "--always"]).ends(0);
    let rows = fixture.run(&["sessions", "history", "s", "--json"]).ends(0).lines();
    let field = |row: &Value, name: &str| row[name].as_str().expect("a name").to_owned();
    assert_eq!(field(&rows[0], "from"), "idle");
    assert_eq!(rows[0]["on"]["input"], "turn_requested");
    assert!(rows.iter().all(|row| row["at"].is_u64() && row["cursor"].is_string()));
    let approved = rows.iter().find(|row| row["on"]["does"]["is"] == "approved").expect("the approval");
    assert_eq!((&approved["on"]["call"], &approved["on"]["does"]["always"]), (&"c1-0".into(), &true.into()));
    let ran = fixture.run(&["sessions", "history", "s"]).ends(0);
    assert_eq!(ran.out.lines().count(), rows.len());
    ran.says("turn_requested  by a message").says("c1-0 is approved for the rest of the session");
}

#[test]
fn events_go_on_after_a_cursor_and_come_as_they_happen() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let seen = fixture.run(&["events", "s", "--json"]).ends(0).lines();
    let cursor = seen.last().and_then(|line| line["cursor"].as_str()).expect("a cursor");
    let following = fixture.start(&["events", "s", "--follow", "--json", "--after", cursor]);
    fixture.run(&["approve", "s"]).ends(0);
    let all = fixture.run(&["events", "s", "--json"]).ends(0).lines();
    wait_until("it has them all", || following.lines_so_far() >= all.len() - seen.len());
    following.signal(rustix::process::Signal::INT);
    assert_eq!(following.end().ends(0).lines(), &all[seen.len()..], "without gap or repeat");
}

#[test]
fn a_deleted_session_is_gone_and_one_that_runs_is_kept() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let cursor = fixture.run(&["events", "s", "--json"]).ends(0).last();
    fixture.run(&["sessions", "delete", "s"]).ends(0).says("session s: deleted");
    fixture.run(&["sessions", "delete", "s"]).fails(1, &["session s: there is no such session"]);
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let cursor = cursor["cursor"].as_str().expect("a cursor");
    fixture.run(&["events", "s", "--after", cursor]).fails(1, &["session"]);

    let running = fixture.start(&["run", "agent.toml", "--session", "r", "linger"]);
    wait_until("the command runs", || fixture.has("files/marker"));
    fixture.run(&["sessions", "delete", "r"]).fails(1, &["session r: a run holds it", "--force"]);
    fixture.run(&["sessions", "show", "r"]).ends(0).says("active");
    fixture.run(&["sessions", "delete", "r", "--force", "--json"]).ends(0);
    fixture.run(&["sessions", "show", "r"]).fails(1, &["there is no such session"]);
    running.signal(rustix::process::Signal::TERM);
}

#[test]
fn a_shell_gets_its_completions() {
    let fixture = Fixture::new();
    for (shell, word) in
        [("bash", "complete -F"), ("zsh", "#compdef holdover"), ("fish", "complete -c holdover")]
    {
        let ran = fixture.run(&["completions", shell]).ends(0).says(word);
        assert!(ran.out.contains("approve"), "{shell}");
    }
    let checked = fixture.shell(&format!("{} completions bash | bash -n", support::HOLDOVER));
    assert!(checked.err.is_empty(), "{checked:#?}");
}

#[test]
fn quiet_prints_how_it_ended_and_nothing_else() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "--quiet", "hello"]).ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("session s: completed (model_stop)\n", ""));
    fixture.run(&["run", "agent.toml", "--session", "t", "-q", "write"]).ends(10).command("approve");
    fixture.run(&["sessions", "list", "-q", "--json"]).ends(2);
}
