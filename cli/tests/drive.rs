//! Commands that run sessions, list them and show them.
//!
//! Requirements: C06, D01.

mod support;

use serde_json::{Value, json};
use support::Fixture;

#[test]
fn a_run_is_logged_as_over_once() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hello"]).ends(0);
    let mut work = fixture.command(&["work", "--until-idle"]);
    let ran = Fixture::start_that({
        work.env("HOLDOVER_LOG", "holdover_runtime_local=debug");
        work
    });
    let ran = ran.end().ends(0);
    assert_eq!(ran.err.matches("run over").count(), 1, "{ran:#?}");
}

#[test]
fn a_run_ends_with_the_turn() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    assert_eq!(
        ran.out, "session s\n> hello\nGood day.\nsession s: completed (model_stop)\n",
        "plain text when nobody reads along"
    );
    assert_eq!(ran.err, "");
}

#[test]
fn json_is_one_object_a_line_and_the_last_one_is_the_outcome() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--json", "hello"]).ends(0);
    let lines = ran.lines();
    let (last, events) = lines.split_last().expect("lines");
    let session = last["session"].as_str().expect("a session");
    assert_eq!(session.len(), 16);
    assert_eq!(last["outcome"], serde_json::json!({ "kind": "completed", "reason": "model_stop" }));
    let places: Vec<u64> = events.iter().map(|event| event["seq"].as_u64().expect("a place")).collect();
    assert_eq!(places, (1..=places.len() as u64).collect::<Vec<_>>(), "without gap or repeat");
    assert!(events.iter().all(|event| event["cursor"].is_string() && event["event"]["type"].is_string()));
    let said = events.iter().rfind(|event| event["event"]["type"] == "message").expect("a message");
    assert_eq!(said["message"]["parts"][0]["text"], "Good day.");

    let again = fixture.run(&["events", session, "--json"]).ends(0);
    assert_eq!(again.lines(), events, "the same from the store");
    let after = events[2]["cursor"].as_str().expect("a cursor");
    let rest = fixture.run(&["events", session, "--json", "--after", after]).ends(0);
    assert_eq!(rest.lines(), &events[3..]);
}

#[test]
fn a_message_comes_from_standard_input() {
    let fixture = Fixture::new();
    fixture.run_with(&["run", "agent.toml", "-"], "hello\n").ends(0).says("Good day.");
    fixture.run_with(&["run", "agent.toml"], "hello\n").ends(0).says("Good day.");
    fixture.run(&["run", "agent.toml"]).fails(2, &["the message is empty"]);
}

#[test]
fn a_session_goes_on_with_what_is_sent() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let ran = fixture.run(&["send", "s", "hello again"]).ends(0).says("> hello again\nGood day.\n");
    assert!(!ran.out.contains("> hello\n"), "only what is new: {ran:#?}");
    fixture
        .run(&["sessions", "messages", "s"])
        .ends(0)
        .says("message 1\n> hello\nGood day.\nmessage 3\n> hello again\nGood day.\n");
    fixture.run(&["run", "agent.toml", "--session", "s", "hello anew"]).ends(0).says("> hello anew\n");
}

#[test]
fn a_key_starts_one_turn() {
    let fixture = Fixture::new();
    let first = fixture.run(&["run", "agent.toml", "--key", "k", "--json", "hello"]).ends(0);
    let second = fixture.run(&["run", "agent.toml", "--key", "k", "--json", "hello"]).ends(0);
    let mut last = second.last();
    assert_eq!(last.as_object_mut().and_then(|last| last.remove("duplicate")), Some(json!(true)));
    assert_eq!(first.last(), last);
    let session = first.last()["session"].as_str().expect("a session").to_owned();
    assert_eq!(fixture.run(&["sessions", "messages", &session, "--json"]).lines().len(), 2);
    fixture.run(&["run", "agent.toml", "--key", "k", "hello there"]).fails(1, &["used before"]);
    fixture.run(&["send", &session, "--key", "m", "--detach", "hello"]).ends(0).says("accepted");
    fixture.run(&["send", &session, "--key", "m", "--detach", "hello"]).ends(0).says("duplicate");
    fixture.run(&["send", &session, "--key", "m", "--detach", "other"]).fails(1, &["used before"]);
}

#[test]
fn c06_a_message_has_a_number_by_which_its_turn_is_found() {
    let fixture = Fixture::new();
    let turn = |item: &Value| {
        fixture.run(&["sessions", "turn", "s", &item.to_string(), "--json"]).ends(0).last()["turn"].clone()
    };
    let detached = ["run", "agent.toml", "--session", "s", "--detach", "--json", "hello"];
    let first = fixture.run(&detached).ends(0).last()["item"].clone();
    assert_eq!(turn(&first), Value::Null, "no turn has it yet");
    fixture.run(&["sessions", "turn", "s", &first.to_string()]).ends(0).says("no turn has taken message 1");
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert_eq!(turn(&first), 1);
    // What runs here says the turn itself.
    let ran = fixture.run(&["send", "s", "--json", "hello"]).ends(0).last();
    assert_eq!((turn(&ran["item"]), &ran["response"]["turn"]), (json!(2), &json!(2)), "{ran}");
    let left = fixture.run(&["send", "s", "--detach", "--key", "k", "--json", "hello"]).ends(0).last();
    let again = fixture.run(&["send", "s", "--detach", "--key", "k", "--json", "hello"]).ends(0).last();
    assert_eq!((&again["item"], &again["delivered"]), (&left["item"], &json!("duplicate")));
    fixture.run(&["work", "--until-idle"]).ends(0);
    let shown = fixture.run(&["sessions", "turn", "s", &left["item"].to_string()]).ends(0);
    shown.says("turn 3 took message 3, as message 5 of the transcript");
}

/// Requirements: C06.
#[test]
fn a_worker_does_what_is_left_to_it() {
    let fixture = Fixture::new();
    for session in ["a", "b", "c"] {
        let ran =
            fixture.run(&["run", "agent.toml", "--session", session, "--detach", "--json", "hello"]).ends(0);
        assert_eq!(ran.last()["outcome"], Value::Null);
    }
    // The agent's definition is stored with its sessions; the file is no longer needed.
    std::fs::remove_file(fixture.path("agent.toml")).expect("the agent file is removed");
    let worked = fixture
        .run(&["work", "--until-idle", "--max-running", "2"])
        .ends(0)
        .says("idle; 3 runs: 3 completed\n");
    for session in ["a", "b", "c"] {
        assert!(worked.out.contains(&format!("session {session}: completed")), "{worked:#?}");
    }
    for session in ["a", "b", "c"] {
        fixture.run(&["sessions", "messages", session]).ends(0).says("Good day.");
    }
    fixture.run(&["send", "a", "--detach", "nonsense"]).ends(0);
    let lines = fixture.run(&["work", "--until-idle", "--json"]).ends(0).lines();
    assert_eq!(lines[0], json!({ "session": "a", "outcome": { "kind": "failed" } }), "{lines:#?}");
    // A turn that failed does not make the worker fail.
    assert_eq!(
        (&lines[1]["stopped"], &lines[1]["runs"]),
        (&json!("idle"), &json!({ "failed": 1 })),
        "{lines:#?}"
    );
    fixture.run(&["send", "b", "--detach", "ask"]).ends(0);
    fixture.run(&["work", "--until-idle"]).ends(0).says("idle; 1 run: 1 waits for approval or an answer\n");
    let idle = fixture.run(&["work", "--until-idle"]).ends(0);
    assert!(idle.out.ends_with(": idle\n"), "{idle:#?}");
    fixture.run(&["work", "--help"]).ends(0).says("Exit code 0 means that the worker has done its work");
}

#[test]
fn h24_sessions_are_listed_by_label_and_by_time_of_creation_and_change() {
    let fixture = Fixture::new();
    let labels = ["--label", "user=ada", "--label", "urgent="];
    fixture.run(&[&["run", "agent.toml", "--session", "old", "hello"], &labels[..]].concat()).ends(0);
    fixture.run(&["run", "agent.toml", "--session", "new", "--label", "user=ada", "hello"]).ends(0);
    let lines =
        |words: &[&str]| fixture.run(&[&["sessions", "list", "--json"], words].concat()).ends(0).lines();
    let ids = |words: &[&str]| -> Vec<String> {
        lines(words).iter().map(|line| line["session"].as_str().expect("an id").to_owned()).collect()
    };
    let at = |id: &str, what: &str| -> String {
        let all = lines(&[]);
        all.iter().find(|line| line["session"] == id).expect("it is listed")[what].to_string()
    };
    let none = Vec::<String>::new();
    assert_eq!(ids(&["--label", "user=ada"]), ["new", "old"]);
    assert_eq!(ids(&["--label", "user=ada", "--label", "urgent="]), ["old"]);
    assert_eq!(ids(&["--label", "user=ada", "--agent", "other"]), none);
    assert_eq!(
        lines(&["--label", "urgent="])[0]["labels"],
        json!({"agent": "tester", "program": "holdover", "urgent": "", "user": "ada"})
    );

    let born = at("new", "created_at");
    assert_eq!(ids(&["--created-since", &born]), ["new"]);
    assert_eq!(ids(&["--created-before", &born]), ["old"]);
    assert_eq!(ids(&["--created-since", "2h"]), ["new", "old"]);
    assert_eq!(ids(&["--created-since", "2h", "--created-before", "1h"]), none);
    assert_eq!(ids(&["--created-since", "2024-05-01T12:00:00+02:00"]), ["new", "old"]);
    assert_eq!(ids(&["--created-before", "2024-05-01"]), none);

    let changed = at("new", "updated_at");
    fixture.run(&["send", "old", "hello"]).ends(0);
    assert_eq!(ids(&["--changed-since", &at("old", "updated_at")]), ["old"]);
    assert_eq!(ids(&["--changed-since", &changed]), ["new", "old"]);
    assert_eq!(ids(&["--changed-before", &at("old", "updated_at")]), ["new"]);
    assert_eq!(ids(&["--changed-since", &changed, "--label", "urgent="]), ["old"]);

    fixture.run(&["sessions", "fork", "old", "--to", "again"]).ends(0);
    assert_eq!(ids(&["--label", "forked_from=old"]), ["again"]);

    let list = |words: &[&str]| fixture.run(&[&["sessions", "list"], words].concat());
    for flag in ["--created-since", "--created-before", "--changed-since", "--changed-before"] {
        let said = list(&[flag, "yesterday"]).ends(2).err;
        let first = said.lines().next().unwrap_or_default();
        assert!(first.contains(flag) && first.contains("write how long ago, as 2h, or an instant"), "{said}");
    }
    list(&["--created-since", "1h", "--created-before", "2h"])
        .fails(2, &["--created-before", "--created-since"]);
    list(&["--changed-since", "1h", "--changed-before", "1h"]).fails(2, &["--changed-before"]);
    list(&["--label", "user=ada", "--label", "user=bob"]).fails(2, &["--label", "user=ada", "user=bob"]);
    list(&["--label", "user"]).ends(2);
    list(&["--help"]).ends(0).says("--changed-since 2h");
}

#[test]
fn h24_a_list_goes_on_where_another_ended() {
    let fixture = Fixture::new();
    let label = "user=ada o'neill";
    let run =
        |id: &str| fixture.run(&["run", "agent.toml", "--session", id, "--label", label, "hello"]).ends(0);
    for id in ["a", "b", "c", "d", "e"] {
        run(id);
    }
    fixture.run(&["run", "agent.toml", "--session", "another", "hello"]).ends(0);
    let rows = |out: &str| -> Vec<String> {
        out.lines().skip(1).filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
    };
    let asked =
        ["sessions", "list", "--limit", "2", "--status", "idle", "--status", "failed", "--label", label];
    let asked = [&asked[..], &["--changed-since", "2h", "--created-since", "1971-01-01"]].concat();
    let mut ran = fixture.run(&asked).ends(0);
    let mut walked = Vec::new();
    while let Some((_, next)) = ran.err.split_once("there may be more sessions: ") {
        walked.push(rows(&ran.out));
        assert!(walked.len() < 4, "{walked:?}");
        // Sessions that are created meanwhile do not appear on the remaining pages.
        run(&format!("new-{}", walked.len()));
        ran = fixture.shell(next).ends(0);
    }
    walked.push(rows(&ran.out));
    assert_eq!(walked, [vec!["e", "d"], vec!["c", "b"], vec!["a"]]);

    // The same as JSON: the last line has the cursor of the next page, if there is one.
    let page = |words: &[&str]| -> (Vec<String>, Option<String>) {
        let words = [&["sessions", "list", "--json", "--limit", "4"], words].concat();
        let ran = fixture.run(&words).ends(0);
        assert_eq!(ran.err, "");
        let mut lines = ran.lines();
        let next = lines.last().and_then(|line| Some(line.get("next")?.as_str()?.to_owned()));
        lines.truncate(lines.len() - usize::from(next.is_some()));
        (lines.iter().map(|line| line["session"].as_str().expect("an id").to_owned()).collect(), next)
    };
    let (first, next) = page(&[]);
    assert_eq!(first, ["new-2", "new-1", "another", "e"]);
    let next = next.expect("there are more");
    assert_eq!(page(&["--after", &next]), (["d", "c", "b", "a"].map(str::to_owned).into(), None));

    let list = |words: &[&str]| fixture.run(&[&["sessions", "list", "--after", &next], words].concat());
    for other in [&["--status", "idle"][..], &["--changed-since", "2h"], &["--tenant", "other"]] {
        list(other).fails(2, &["--after: ", "another query", "instants instead of ages"]);
    }
    let refused = fixture.run(&["sessions", "list", "--after", "here"]).ends(2).err;
    assert!(refused.contains("--after") && refused.contains("not a cursor"), "{refused}");
}

#[test]
fn sessions_are_listed_and_shown() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "done", "hello"]).ends(0);
    fixture.run(&["run", "agent.toml", "--session", "waits", "write"]).ends(10);
    let ids = |words: &[&str]| -> Vec<String> {
        let ran = fixture.run(&[&["sessions", "list", "--json"], words].concat()).ends(0);
        ran.lines().iter().map(|line| line["session"].as_str().expect("an id").to_owned()).collect()
    };
    assert_eq!(ids(&[]), ["waits", "done"]);
    assert_eq!(ids(&["--limit", "2"]), ["waits", "done"]);
    let said = |limit: &str| fixture.run(&["sessions", "list", "--limit", limit]).ends(0).err;
    assert!(said("1").contains("there may be more sessions: ") && said("2").is_empty());
    assert_eq!(ids(&["--status", "suspended"]), ["waits"]);
    assert_eq!(ids(&["--status", "waiting"]), ["waits"], "as lists show it");
    assert_eq!(ids(&["--agent", "tester", "--status", "idle"]), ["done"]);
    assert_eq!(ids(&["--agent", "other"]), Vec::<String>::new());
    assert_eq!(ids(&["--tenant", "other"]), Vec::<String>::new());
    fixture.run(&["sessions", "list"]).ends(0).says("SESSION").says("waits for approval");
    fixture.run(&["sessions", "list", "--status", "asleep"]).ends(2);
    let shown = fixture.run(&["sessions", "show", "waits", "--json"]).ends(0).last();
    assert_eq!(shown["status"], "suspended");
    assert_eq!(shown["outcome"]["kind"], "suspended_client_tool");
    assert_eq!(shown["outcome"]["owed"][0]["arguments"]["path"], "note.txt");
    fixture.run(&["sessions", "show", "waits"]).ends(0).says("approve ");
    fixture.run(&["sessions", "show", "done"]).ends(0).says("completed (model_stop)");
    fixture.run(&["events", "done"]).ends(0).says("turn 1 is done: model_stop");
}

#[test]
fn a_turn_that_failed_is_taken_up_again() {
    let fixture = Fixture::new();
    let script = fixture.read("script.toml");
    fixture.write("script.toml", "turns = [{ when = { user_contains = 'nothing' }, say = 'never' }]");
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "--json", "hello"]).ends(1);
    assert_eq!(ran.last()["outcome"]["kind"], "failed");
    assert_eq!(ran.last()["outcome"]["error"]["code"], "model.configuration");
    fixture.run(&["retry", "s"]).ends(1).says("no turn fits");
    fixture.write("better.toml", &script);
    fixture.run(&["retry", "s", "--model", "scripted:better.toml"]).ends(0).says("Good day.");
    fixture.run(&["retry", "s"]).fails(1, &["session s", "at rest"]);
}

#[test]
fn a_durable_timer_is_followed() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--json", "rest"]).ends(0);
    let suspended = ran.lines().iter().any(|line| line["event"]["kind"] == "suspended_until");
    assert!(suspended && ran.out.contains("Rested."), "{ran:#?}");
}

#[test]
fn a_session_keeps_its_agent_and_says_so() {
    let fixture = Fixture::new();
    let run = || fixture.run(&["run", "agent.toml", "--session", "s", "write"]);
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    let agent = fixture.read("agent.toml");
    fixture.write("agent.toml", &agent.replace(r#""ask""#, r#""allow""#));
    let ran = run().ends(10);
    assert!(ran.err.contains("session s keeps the agent it was created with"), "{ran:#?}");
    fixture.write("agent.toml", &agent);
    assert_eq!(run().err, "");
}

#[test]
fn another_agent_does_not_take_a_session_over() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.write("other.toml", "model = 'scripted:script.toml'\n");
    fixture.run(&["run", "other.toml", "--session", "s", "hello"]).fails(1, &["session", "tester", "other"]);
}

/// Requirements: D01.
#[test]
fn the_machine_is_printed() {
    let fixture = Fixture::new();
    fixture.run(&["machine"]).ends(0).says("turn_requested");
    fixture.run(&["machine", "--mermaid"]).ends(0).says("stateDiagram-v2\n");
    let table = fixture.run(&["machine", "--json"]).ends(0).lines();
    assert!(table.len() > 20 && table.iter().all(|row| row["to"].is_array()), "one object a line");
    assert!(!fixture.has("holdover.db"), "no store is opened for it");
}

#[test]
fn a_reader_that_goes_away_does_no_harm() {
    let fixture = Fixture::new();
    let line = format!("{} run agent.toml --session s hello | head -n 1", support::HOLDOVER);
    let ran = fixture.shell(&line).ends(0);
    assert_eq!((ran.out.as_str(), ran.err.as_str()), ("session s\n", ""));
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("Good day.");
}
