//! Commands that show a session or list sessions, and the deletion of sessions.
//!
//! Requirements: D18.

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
    let ran =
        fixture.run(&["sessions", "runs", "s"]).ends(0).says("RUN").says("waits for approval or an answer");
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
    fixture.run(&["run", "agent.toml", "--session", "rests", "hello"]).ends(0);
    let statuses = || {
        let listed = fixture.run(&["sessions", "list"]).ends(0).out;
        ["late", "soon", "rests"].map(|id| {
            let line = listed.lines().find(|line| line.starts_with(id)).expect("its line");
            line.split("  ")
                .map(str::trim)
                .filter(|word| !word.is_empty())
                .nth(1)
                .expect("a status")
                .to_owned()
        })
    };
    assert_eq!(statuses(), ["waits for approval", "waits for an answer", "at rest"]);
    fixture.run(&["approve", "late", "--detach", "--by", "ann"]).ends(0);
    assert_eq!(statuses(), ["waits for a worker", "waits for an answer", "at rest"]);
    fixture
        .run(&["sessions", "pending", "late"])
        .ends(0)
        .says("is answered by ann at ")
        .says("; a run takes it up");
    let answered = fixture.run(&["sessions", "pending", "late", "--json"]).ends(0).lines().remove(0);
    assert_eq!((&answered["answered"], &answered["answered_by"]), (&true.into(), &"ann".into()));
    assert!(answered["answered_at"].is_number(), "{answered}");
    let ran = fixture.run(&["sessions", "pending"]).ends(0).says("Which colour?");
    fixture.shell(&ran.command("answer").replace("YOUR ANSWER", "blue")).ends(0).says("Blue it is.");
}

/// Requirements: D18.
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
    // The moves are in order and complete: each begins in the state in which the one before it ended.
    for two in rows.windows(2) {
        assert_eq!(two[0]["to"], two[1]["from"], "{two:#?}");
        assert!(two[0]["at"].as_u64() <= two[1]["at"].as_u64(), "{two:#?}");
    }
    let approved = rows.iter().find(|row| row["on"]["does"]["is"] == "approved").expect("the approval");
    assert_eq!((&approved["on"]["call"], &approved["on"]["does"]["always"]), (&"c1-0".into(), &true.into()));
    let ran = fixture.run(&["sessions", "history", "s"]).ends(0);
    assert_eq!(ran.out.lines().count(), rows.len());
    ran.says("turn_requested  provisioning  by a message")
        .says("c1-0 is approved for the rest of the session");
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
    fixture.run(&["sessions", "show", "r"]).ends(0).says("running");
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
fn quiet_prints_the_answer_or_how_it_ended_and_nothing_else() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "--quiet", "hello"]).ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("Good day.\n", ""));
    let waits = fixture.run(&["run", "agent.toml", "--session", "t", "-q", "write"]).ends(10);
    assert!(waits.out.starts_with("session t: waits for approval\n"), "{waits:#?}");
    let ran = fixture.shell(&format!("{} -q", waits.command("approve"))).ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("Written.\n", ""), "the last that it said");
    fixture.write("mute.toml", "turns = [{ say = ' ' }]");
    let mute = ["run", "agent.toml", "--model", "scripted:mute.toml", "--session", "m", "-q", "hello"];
    let ran = fixture.run(&mute).ends(0);
    assert_eq!(ran.out, "session m: completed (model_stop)\n", "there is no answer");
    let ran = fixture.run_on_terminal(&["send", "s", "-q", "hello"]).ends(0);
    assert_eq!(ran.out.replace('\r', ""), "Good day.\n");
    fixture.run(&["sessions", "list", "-q", "--json"]).ends(2);
}

#[test]
fn who_follows_a_quiet_session_ends_with_its_reader() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let follow = format!("timeout 50 {} events s --follow", support::HOLDOVER);
    let lines = fixture.run(&["events", "s"]).ends(0).out.lines().count();
    // The reader goes away in the middle of the events, or after the last of them.
    for wanted in [1, lines] {
        let ran = fixture.shell(&format!("{{ {follow}; echo \"code $?\" >&2; }} | head -n {wanted}")).ends(0);
        assert_eq!((ran.out.lines().count(), ran.err.as_str()), (wanted, "code 0\n"), "{ran:#?}");
    }
}

#[test]
fn a_cursor_of_another_session_is_not_said_to_be_of_a_deleted_one() {
    let fixture = Fixture::new();
    for session in ["s", "t"] {
        fixture.run(&["run", "agent.toml", "--session", session, "hello"]).ends(0);
    }
    let last = fixture.run(&["events", "t", "--json"]).ends(0).last();
    let ran = fixture.run(&["events", "s", "--after", last["cursor"].as_str().unwrap()]);
    ran.fails(1, &["session s: the cursor belongs to another session, or to a deleted session of this name"]);
}

#[test]
fn looking_changes_no_file() {
    let fixture = Fixture::new();
    fixture.write("empty.db", "");
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.set_schema("holdover.db", 1);
    let before = std::fs::read(fixture.path("holdover.db")).expect("a file");
    for words in [
        &["sessions", "list"][..],
        &["sessions", "show", "s"],
        &["sessions", "messages", "s"],
        &["sessions", "runs", "s"],
        &["sessions", "pending"],
        &["sessions", "history", "s"],
        &["sessions", "checkpoints", "s"],
        &["events", "s"],
    ] {
        fixture.run(words).fails(1, &["has schema 1, the newest is"]);
        assert_eq!(std::fs::read(fixture.path("holdover.db")).expect("a file"), before, "{words:?}");
    }
    let in_empty =
        [&["sessions", "list"][..], &["events", "s"], &["sessions", "delete", "s"], &["send", "s", "x"]];
    for words in in_empty {
        let ran = fixture.run(&[words, &["--store", "sqlite:empty.db"]].concat());
        ran.fails(1, &["sqlite:empty.db", "is empty"]);
        assert_eq!(std::fs::metadata(fixture.path("empty.db")).expect("a file").len(), 0, "{words:?}");
    }
    let ran = fixture.run(&["sessions", "list", "--store", "sqlite:agent.toml/x.db"]);
    ran.fails(1, &["agent.toml/x.db", "Not a directory"]);
}

#[test]
fn a_shell_offers_what_there_is_to_choose_from() {
    let bash = Fixture::new().run(&["completions", "bash"]).ends(0).out;
    let all = "idle active suspended interrupted failed aborted";
    for words in ["core durable distributed", all, "idle interrupted failed aborted"] {
        assert!(bash.contains(&format!("\"{words}\"")), "{words}");
    }
    assert!(!bash.contains("--child"), "what the suite starts is nobody else's");
}
