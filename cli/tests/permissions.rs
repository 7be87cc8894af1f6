//! What an agent may do: rules on arguments, modes, tools for people alone, a gate that is asked over HTTP.
//!
//! Requirements: A46, C20, C30, C31, C32, U05, U06.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use support::Fixture;

/// The usual agent with these lines at its head, and rules of its own.
fn agent(head: &str, rules: &str) -> Fixture {
    let fixture = Fixture::new();
    let text = format!(
        "name = 'tester'\nmodel = 'scripted:script.toml'\nroot = 'files'\n\
         tools = ['read_file', 'write_file', 'run_command']\n{head}\n{rules}"
    );
    fixture.write("agent.toml", &text);
    fixture
}

const WRITES: [&str; 5] = ["run", "agent.toml", "--session", "s", "write"];

#[test]
fn c31_a_rule_may_name_arguments() {
    let rule = |action: &str, path: &str| {
        format!("[[approval]]\ntool = 'write_file'\naction = '{action}'\narguments = {{ path = '{path}' }}\n")
    };
    // The script writes note.txt.
    agent("", &rule("ask", "*.txt")).run(&WRITES).ends(10);
    agent("", &rule("ask", "*.md")).run(&WRITES).ends(0).says("Written.");
    let fixture = agent("", &rule("deny", "note.*"));
    fixture.run(&WRITES);
    assert!(!fixture.has("files/note.txt"));
    let denied = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert!(denied.out.contains(r#""rule":"rule 1: write_file where path=note.*""#), "{denied:#?}");
    assert!(denied.out.contains(r#""status":"denied""#), "{denied:#?}");
}

#[test]
fn c30_the_mode_decides_what_no_rule_denies() {
    let ask = "[[approval]]\ntool = 'write_file'\naction = 'ask'\n";
    agent("permissions = 'manual'", "").run(&WRITES).ends(10);
    agent("permissions = 'auto'", "").run(&WRITES).ends(0).says("Written.");
    agent("permissions = 'full'", ask).run(&WRITES).ends(0).says("Written.");
}

#[test]
fn c30_what_was_approved_for_the_rest_of_the_session_runs_in_every_mode() {
    let ask = "[[approval]]\ntool = 'write_file'\naction = 'ask'\n";
    for mode in ["manual", "auto"] {
        let fixture = agent(&format!("permissions = '{mode}'"), ask);
        fixture.run(&WRITES).ends(10);
        fixture.run(&["approve", "s", "--always"]).ends(0).says("Written.");
        fixture.run(&["send", "s", "write"]).ends(0).says("Written.");
    }
}

#[test]
fn u06_what_is_for_people_alone_is_refused() {
    let fixture = agent("permissions = 'full'\nhuman_only = ['write_file']", "");
    fixture.run(&WRITES);
    assert!(!fixture.has("files/note.txt"));
    let denied = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert!(denied.out.contains(r#""denied_by":"human_only""#), "{denied:#?}");
}

#[test]
fn u06_an_approval_may_stand_for_some_arguments() {
    let fixture = agent("", "[[approval]]\ntool = 'write_file'\naction = 'ask'\n");
    fixture.run(&WRITES).ends(10);
    fixture.run(&["approve", "s", "--only", "path=*.txt"]).ends(2);
    fixture.run(&["approve", "s", "--always", "--only", "path"]).ends(2);
    fixture.run(&["approve", "s", "--always", "--only", "path=*.txt"]).ends(0).says("Written.");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("write_file where path=*.txt, for the rest");
    let messages = fixture.run(&["sessions", "messages", "s"]).ends(0);
    messages.says("approved for the rest of the session where path=*.txt");
    fixture.run(&["send", "s", "write"]).ends(0).says("Written.");
}

/// A gate that answers one question so; its address, and a place where the question will be.
fn gate(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let asked = std::thread::spawn(move || {
        let (connection, _) = listener.accept().unwrap();
        let mut reader = BufReader::new(connection.try_clone().unwrap());
        let (mut head, mut line) = (String::new(), String::new());
        while reader.read_line(&mut line).unwrap() > 2 {
            head.push_str(&std::mem::take(&mut line).to_lowercase());
        }
        let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().trim();
        let mut body = vec![0; length.parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        let bytes = answer.len();
        write!(
            &connection,
            "HTTP/1.1 200 OK\r\ncontent-length: {bytes}\r\nconnection: close\r\n\r\n{answer}"
        )
        .unwrap();
        head + &String::from_utf8(body).unwrap()
    });
    (url, asked)
}

#[test]
fn c21_a_gate_is_asked_over_http_besides_the_rules() {
    let (url, asked) = gate(r#"{"verdict": "needs_approval", "prompt": "is it wise?"}"#);
    let fixture =
        agent("permissions = 'full'", &format!("[gate]\nurl = '{url}'\nbearer_env = 'GATE_TOKEN'\n"));
    fixture.run(&WRITES).fails(2, &["gate: bearer_env: the environment variable GATE_TOKEN is not set"]);
    let mut command = fixture.command(&WRITES);
    let output = command.env("GATE_TOKEN", "s3cret").output().unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(10), "{shown}");
    assert!(shown.contains("is it wise?"), "{shown}");
    let asked = asked.join().unwrap();
    assert!(asked.contains("authorization: bearer s3cret"), "{asked}");
    assert!(asked.contains(r#""tool":"write_file""#) && asked.contains(r#""session":"s""#), "{asked}");
}

#[test]
fn c22_a_gate_that_is_away_denies() {
    let url = format!("http://127.0.0.1:{}/", holdover_launcher::free_port().unwrap());
    let fixture = agent("", &format!("[gate]\nurl = '{url}'\n"));
    fixture.run(&WRITES);
    assert!(!fixture.has("files/note.txt"));
    let denied = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert!(denied.out.contains(r#""denied_by":"gate_unavailable""#), "{denied:#?}");
}

#[test]
fn u05_two_people_approve_and_the_list_shows_who_has() {
    let rule = "[[approval]]\ntool = 'write_file'\naction = 'ask'\n\
                terms = { approvers = { names = ['ann', 'bob'], needed = 2 } }\n";
    let fixture = agent("", rule);
    let asked = fixture.run(&WRITES).ends(10);
    fixture.run(&["approve", "s"]).fails(1, &["may not decide on it, only ann, bob"]);
    // The printed command has the place of a name; once one alone is left to decide, it has the name.
    let asked = fixture.shell(&asked.command("approve").replace("YOUR NAME", "ann")).ends(10);
    assert!(asked.command("approve").contains("--as bob"), "{asked:#?}");
    let listed = fixture.run(&["sessions", "pending", "s"]).ends(0);
    assert!(listed.out.contains("1 of 2 approvals, from ann, bob"), "{listed:#?}");
    assert!(listed.out.contains("approved by ann"), "{listed:#?}");
    fixture.shell(&asked.command("approve")).ends(0).says("Written.");
    assert!(fixture.has("files/note.txt"));
}
