//! Answers to the calls of a session that wait for people: approvals, denials, answers.
//!
//! Requirements: H14.

mod support;

use std::time::{SystemTime, UNIX_EPOCH};

use support::{Fixture, wait_until};

/// Requirements: H14.
#[test]
fn the_printed_command_answers_the_suspension() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "write"]).ends(10);
    assert!(!fixture.has("files/note.txt"));
    let ran = ran.says("it writes").says("| it's\n").says("write_file (c1-0) waits for approval, until ");
    fixture.shell(&ran.command("approve")).ends(0).says("Written.\n");
    assert_eq!(fixture.read("files/note.txt"), "it's\nwritten\n");
}

#[test]
fn the_printed_command_names_store_and_tenant() {
    let fixture = Fixture::new();
    let common = ["--store", "sqlite:other place.db", "--tenant", "o'neill"];
    let ran = fixture.run(&[&["run", "agent.toml", "write"], &common[..]].concat()).ends(10);
    let command = ran.command("deny");
    assert!(command.ends_with(r"--store 'sqlite:other place.db' --tenant 'o'\''neill'"), "{command}");
    fixture.shell(&command).ends(0).says("Not written.\n");
    assert!(!fixture.has("files/note.txt") && !fixture.has("holdover.db"));
}

#[test]
fn json_names_what_is_owed_and_how_it_is_answered() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "--json", "write"]).ends(10);
    let last = ran.last();
    assert_eq!(last["session"], "s");
    assert_eq!(last["outcome"]["kind"], "suspended_client_tool");
    let owed = &last["outcome"]["owed"][0];
    assert_eq!(owed["call"], "c1-0");
    assert_eq!(owed["tool"], "write_file");
    assert_eq!(owed["kind"], "approval");
    assert_eq!(owed["prompt"], "it writes");
    assert_eq!(owed["arguments"]["path"], "note.txt");
    assert!(owed["deadline"].is_u64());
    let pending = &fixture.run(&["sessions", "pending", "s", "--json"]).ends(0).last()["pending"];
    assert_eq!(owed["answer"], serde_json::json!(["holdover", "approve", pending]));
    assert_eq!(owed["deny"], serde_json::json!(["holdover", "deny", pending]));
    let done = fixture.run(&["approve", "s", "--by", "Ada", "--json"]).ends(0);
    assert_eq!(done.last()["outcome"]["kind"], "completed");
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("• approved by Ada  (c1-0)");
}

#[test]
fn a_person_may_change_what_runs() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    for (words, why) in [
        (&["--edit", "{"][..], "--edit: arguments: not JSON"),
        (&["--edit", ""], "--edit: it is empty"),
        (&["--edit", r#"{"path": "a", "path": "b"}"#], "--edit: arguments: "),
        (&["--edit", "@no-such-file"], "no-such-file: "),
    ] {
        fixture.run(&[&["approve", "s"], words].concat()).fails(2, &[why]);
    }
    let arguments = r#"{"path":"note.txt","content":"otherwise"}"#;
    fixture.run(&["approve", "s", "--edit", arguments]).ends(0);
    assert_eq!(fixture.read("files/note.txt"), "otherwise");
}

#[test]
fn a_refusal_reaches_the_model() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["deny", "s", "--reason", "not today"]).ends(0).says("Not written.");
    assert!(!fixture.has("files/note.txt"));
    let told = fixture.run(&["sessions", "messages", "s"]).ends(0);
    told.says(
        "• denied: not today  (c1-0)\n← write_file error  (c1-0)\n  Permission denied by user: not today\n",
    );
}

#[test]
fn a_question_is_answered() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "ask"]).ends(10);
    let command = ran.says("Which colour?").command("answer").replace("YOUR ANSWER", "blue, please");
    fixture.shell(&command).ends(0).says("Blue it is.");
    fixture.run(&["run", "agent.toml", "--session", "t", "ask"]).ends(10);
    fixture.run(&["answer", "t", "--error", "nobody knows"]).ends(0).says("No colour then.");
    let ran = fixture.run(&["run", "agent.toml", "--session", "u", "--json", "ask"]).ends(10);
    let owed = &ran.last()["outcome"]["owed"][0];
    assert_eq!(owed["kind"], "client_tool");
    let pending = &fixture.run(&["sessions", "pending", "u", "--json"]).ends(0).last()["pending"];
    assert_eq!(owed["answer"], serde_json::json!(["holdover", "answer", pending, "-"]));
    let pending = pending.as_str().expect("an id");
    fixture.run_with(&["answer", pending, "-"], "blue\n").ends(0).says("Blue it is.");
}

#[test]
fn one_of_two_calls_must_be_named() {
    let fixture = Fixture::new();
    fixture
        .run(&["run", "agent.toml", "--session", "s", "two"])
        .ends(10)
        .says("session s: waits for 2 approvals");
    fixture.run(&["approve", "s"]).fails(1, &["2 calls wait", "c1-0, c1-1"]);
    fixture.run(&["approve", "s", "c1-1"]).ends(10).says("c1-0");
    assert!(fixture.has("files/b.txt") && !fixture.has("files/a.txt"));
    fixture.run(&["deny", "s"]).ends(0).says("Written.");
    assert!(!fixture.has("files/a.txt"));
}

#[test]
fn an_answer_given_twice_is_said_so_and_another_one_is_refused() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["approve", "s", "c1-0", "--detach"]).ends(0).says("left to a worker");
    // Before a run has read the approval.
    fixture.run(&["approve", "s", "c1-0"]).ends(0).says("approved already");
    fixture.run(&["deny", "s", "c1-0"]).fails(1, &["call c1-0", "approved already"]);
    fixture.run(&["approve", "s"]).fails(1, &["no call waits for approval"]);
    assert!(!fixture.has("files/note.txt"));
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert!(fixture.has("files/note.txt"));
    // After the call was carried out.
    fixture.run(&["approve", "s", "c1-0"]).ends(0).says("approved already");
    fixture.run(&["deny", "s", "c1-0"]).fails(1, &["call c1-0", "approved already"]);
    fixture.run(&["approve", "s", "c9-9"]).fails(1, &["call c9-9", "is not pending"]);

    fixture.run(&["run", "agent.toml", "--session", "t", "ask"]).ends(10);
    fixture.run(&["answer", "t", "c1-0", "blue", "--detach"]).ends(0);
    fixture.run(&["answer", "t", "c1-0", "blue"]).ends(0).says("answered already");
    fixture.run(&["answer", "t", "c1-0", "red"]).fails(1, &["answered already"]);
    fixture.run(&["resume", "t"]).ends(0).says("Blue it is.");
    fixture.run(&["answer", "t", "c1-0", "blue"]).ends(0).says("answered already");
    fixture.run(&["answer", "t", "c1-0", "red"]).fails(1, &["call c1-0", "has its result already"]);
}

#[test]
fn a_printed_command_survives_any_id() {
    let fixture = Fixture::new();
    for id in ["-x", "--help", "it's$HOME", "../a;b", "%", "#`x`"] {
        let session = format!("--session={id}");
        let ran = fixture.run(&["run", "agent.toml", &session, "--tenant=-t", "ask"]).ends(10);
        let command = ran.command("answer").replace("YOUR ANSWER", "blue");
        fixture.shell(&command).ends(0).says("Blue it is.");
    }
}

#[test]
fn where_the_rest_of_long_arguments_is_shown_is_said() {
    let fixture = Fixture::new();
    let content = "x".repeat(5_000);
    let call = format!("{{ tool = 'write_file', arguments = {{ path = 'long', content = '{content}' }} }}");
    fixture.write("script.toml", &format!("turns = [{{ calls = [{call}] }}]"));
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    let ran = ran.says("5000 bytes in all: holdover sessions messages");
    assert!(!ran.out.contains(&content));
    fixture.run(&["sessions", "messages", "s"]).ends(0).says(&content);
}

#[test]
fn a_deadline_that_passed_is_named() {
    let fixture = Fixture::new();
    let agent = fixture.read("agent.toml");
    fixture.write("agent.toml", &format!("{agent}\n[limits]\nanswer_timeout_ms = 2_000\n"));
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "--json", "ask"]).ends(10);
    let deadline = ran.last()["outcome"]["owed"][0]["deadline"].as_u64().expect("a deadline");
    let now = || SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_millis();
    wait_until("the deadline has passed", || now() > u128::from(deadline));
    fixture.run(&["answer", "s", "c1-0", "blue"]).fails(1, &["call c1-0", "its deadline passed at"]);
    fixture.run(&["resume", "s"]).ends(0).says("No colour then.");
}

#[test]
fn an_answer_of_the_wrong_kind_is_refused() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["answer", "s", "yes"]).fails(1, &["c1-0 waits for approval"]);
    fixture.run(&["answer", "s", "c1-0", "yes"]).fails(1, &["c1-0"]);
    fixture.run(&["run", "agent.toml", "--session", "t", "hello"]).ends(0);
    fixture.run(&["approve", "t"]).fails(1, &["session t", "no call waits"]);
}

#[test]
fn other_arguments_come_from_a_file_or_from_standard_input() {
    let fixture = Fixture::new();
    let arguments = |content: &str| format!(r#"{{"path": "note.txt", "content": "{content}"}}"#);
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.write("edit.json", &arguments("from a file"));
    fixture.run(&["approve", "s", "--edit", "@edit.json"]).ends(0);
    assert_eq!(fixture.read("files/note.txt"), "from a file");
    fixture.run(&["run", "agent.toml", "--session", "t", "write"]).ends(10);
    fixture.run_with(&["approve", "t", "--edit", "-"], &arguments("from standard input")).ends(0);
    assert_eq!(fixture.read("files/note.txt"), "from standard input");
}

#[test]
fn a_tool_is_approved_for_the_rest_of_the_session() {
    let fixture = Fixture::new();
    fixture.write("script.toml", WRITES_TWICE);
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture.run(&["approve", "s", "--always", "--by", "Ada"]).ends(0).says("Twice.");
    assert!(fixture.has("files/a.txt") && fixture.has("files/b.txt"), "nobody was asked about the second");
    fixture.run(&["approve", "s", "c1-0", "--always"]).ends(0).says("approved already");
    // The approval as it was first given, without `--always`.
    fixture
        .run(&["approve", "s", "c1-0"])
        .ends(0)
        .says("call c1-0 was approved already; nothing was changed");
    fixture.run(&["deny", "s", "c1-0"]).fails(1, &["approved already, for the rest of the session, by Ada"]);
    fixture
        .run(&["sessions", "messages", "s"])
        .ends(0)
        .says("• approved for the rest of the session by Ada  (c1-0)");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("approved  write_file, for the rest of the session");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!(shown["always"], serde_json::json!(["write_file"]));
    // Without `--always`, each call needs its own approval.
    fixture.run(&["run", "agent.toml", "--session", "t", "write"]).ends(10);
    fixture.run(&["approve", "t"]).ends(10).says("c2-0");
}

/// Two calls of one tool, one after the other.
const WRITES_TWICE: &str = r#"
[[turns]]
when = { user_contains = "write", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "a.txt", content = "a" } }]

[[turns]]
when = { result_of = "write_file", nth = 2 }
calls = [{ tool = "write_file", arguments = { path = "b.txt", content = "b" } }]

[[turns]]
say = "Twice."
"#;

#[test]
fn several_calls_are_decided_at_once_also_of_several_sessions() {
    let fixture = Fixture::new();
    for session in ["s", "t"] {
        fixture.run(&["run", "agent.toml", "--session", session, "two"]).ends(10);
    }
    fixture.run(&["approve", "s", "c1-0", "c1-1"]).ends(0).says("call c1-0 approved").says("Written.");
    let waiting = fixture.run(&["sessions", "pending", "t", "--json"]).ends(0).lines();
    let ids: Vec<&str> = waiting.iter().map(|line| line["pending"].as_str().expect("an id")).collect();
    let made_up = &["approve", ids[0], "made-up"];
    fixture.run(made_up).fails(1, &["made-up", "no pending call has this id"]);
    assert_eq!(fixture.run(&["sessions", "pending"]).ends(0).out.matches("waits for approval").count(), 2);
    fixture.run(&["deny", ids[0], ids[1], "--reason", "no"]).ends(0).says("Not written.");
    fixture.run(&["approve", "s", "c1-0", "c1-1", "--edit", "{}"]).fails(2, &["fit one call"]);
    fixture.run(&["run", "agent.toml", "--session", "u", "two"]).ends(10);
    let unfit = &["approve", "u", "c1-0", "c1-1", "--always", "--only", "path=a.txt"];
    fixture.run(unfit).fails(2, &["c1-1", "only: the arguments of this call do not fit path=a.txt"]);
    assert_eq!(fixture.run(&["sessions", "pending"]).ends(0).out.matches("waits for approval").count(), 2);
    fixture.run(&["approve", "u", "c1-0", "c1-1"]).ends(0).says("Written.");
    fixture.run(&["sessions", "pending"]).ends(0).says("nothing is owed");
}
