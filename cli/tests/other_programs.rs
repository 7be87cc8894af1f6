//! Two programs with separate stores: sessions of one give tasks to the agents of the other.
//!
//! Requirements: H21.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use rustix::process::Signal;
use serde_json::json;
use support::{Fixture, Running, wait_until};

const TOKEN: &str = "a-token-of-the-geologists";

const CHIEF: &str = r#"
name = "chief"
model = "scripted:chief.toml"

[[agent]]
name = "geologist"
description = "Knows the ground."
url = "URL"
token_env = "GEOLOGY_TOKEN"
look_every_seconds = EVERY
"#;

const CHIEF_SCRIPT: &str = r#"
[[turns]]
when = { result_of = "geologist", result_contains = "clay", result_status = "done" }
say = "There is clay."

[[turns]]
when = { user_contains = "ground", nth = 1 }
calls = [{ tool = "geologist", arguments = { tasks = ["look at the ground"] } }]
"#;

const GEOLOGIST: &str = r#"
name = "geologist"
model = "scripted:geologist.toml"
root = "files"
tools = ["write_file"]

[[approval]]
tool = "write_file"
action = "ask"
"#;

const GEOLOGIST_SCRIPT: &str = r#"
[[turns]]
when = { result_of = "write_file", result_status = "done" }
say = "It is clay."

[[turns]]
when = { user_contains = "ground", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "found.txt", content = "clay" } }]
"#;

/// Returns the fixture of the program whose agent takes tasks.
fn there() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("geologist.toml", GEOLOGIST_SCRIPT);
    fixture.write("agent.toml", GEOLOGIST);
    fixture
}

/// Returns the fixture of the program whose session gives the tasks.
fn here(url: &str, look_every_seconds: u32) -> Fixture {
    let fixture = Fixture::new();
    fixture.write("chief.toml", CHIEF_SCRIPT);
    let agent = CHIEF.replace("URL", url).replace("EVERY", &look_every_seconds.to_string());
    fixture.write("agent.toml", &agent);
    fixture
}

/// Returns a command with the token in its environment.
fn knowing(fixture: &Fixture, words: &[&str]) -> Command {
    let mut command = fixture.command(words);
    command.env("GEOLOGY_TOKEN", TOKEN);
    command
}

/// Starts a server, and returns it with the URL at which it listens.
fn serve(fixture: &Fixture, words: &[&str]) -> (Running, String) {
    let running = Fixture::start_that(knowing(fixture, &[&["--json", "serve"], words].concat()));
    wait_until("it listens", || running.lines_so_far() > 0);
    let said: serde_json::Value =
        serde_json::from_str(running.text_so_far().lines().next().unwrap()).unwrap();
    (running, said["listens"].as_str().unwrap().to_owned())
}

fn free_port() -> u16 {
    TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Waits until the agent of `there` asks for approval, and approves.
fn approve(there: &Fixture) {
    let asked = || there.run(&["sessions", "pending", "--json"]).ends(0).lines();
    wait_until("it asks a person", || asked().len() == 1);
    let session = asked()[0]["session"].as_str().unwrap().to_owned();
    there.run(&["approve", &session, "--detach"]).ends(0);
}

#[test]
fn h21_a_command_that_nobody_reaches_waits_for_an_agent_of_another_program() {
    let there = there();
    let (_serves, url) =
        serve(&there, &["agent.toml", "--listen", "127.0.0.1:0", "--token-env", "GEOLOGY_TOKEN"]);
    let here = here(&format!("{url}/agents/geologist/tasks"), 1);
    // Without the token the task is refused, and the error does not show it.
    let told = here.run(&["run", "agent.toml", "--session", "lost", "how is the ground?"]);
    assert!(told.out.contains("GEOLOGY_TOKEN") && !told.out.contains(TOKEN), "{told:#?}");
    let runs =
        Fixture::start_that(knowing(&here, &["run", "agent.toml", "--session", "s", "how is the ground?"]));
    approve(&there);
    runs.end().ends(0).says("There is clay.");
    assert_eq!(there.read("files/found.txt"), "clay");
    let listed = there.run(&["sessions", "list", "--json"]).ends(0).lines();
    assert_eq!(listed.len(), 1, "one task, one session: {listed:?}");
    let usage = &here.run(&["sessions", "show", "s", "--json"]).ends(0).lines()[0]["usage"];
    let theirs =
        &there.run(&["sessions", "show", listed[0]["session"].as_str().unwrap(), "--json"]).ends(0).lines()
            [0]["usage"];
    assert_eq!(theirs["model_calls"], json!(2));
    assert_eq!(usage["model_calls"], json!(4), "two of its own, and those of the task");
}

#[test]
fn h21_an_outcome_is_sent_although_both_programs_were_killed_meanwhile() {
    let (there, port) = (there(), free_port());
    let address = format!("http://127.0.0.1:{port}");
    let listen = format!("127.0.0.1:{}", free_port());
    let here = here(&format!("http://{listen}/agents/geologist/tasks"), 3_600);
    let offers: &[&str] =
        &["agent.toml", "--listen", &listen, "--token-env", "GEOLOGY_TOKEN", "--replies-to", &address];
    let (serves, _) = serve(&there, offers);
    let takes: &[&str] = &["--listen", &format!("127.0.0.1:{port}"), "--address", &address];
    let (takes_outcomes, _) = serve(&here, takes);
    here.run(&["run", "agent.toml", "--session", "s", "--detach", "how is the ground?"]).ends(0);
    let pending = || there.run(&["sessions", "pending", "--json"]).ends(0).lines();
    wait_until("the task waits for a person", || pending().len() == 1);
    let status = || here.run(&["sessions", "show", "s", "--json"]).ends(0).lines()[0].clone();
    wait_until("the session waits for the task", || {
        status()["outcome"]["kind"] == json!("suspended_awaiting_children")
    });
    for running in [serves, takes_outcomes] {
        running.signal(Signal::KILL);
        running.end();
    }
    let _takes_outcomes = serve(&here, takes);
    let _serves = serve(&there, offers);
    approve(&there);
    wait_until("the outcome comes", || status()["status"] == json!("idle"));
    here.run(&["sessions", "messages", "s"]).ends(0).says("There is clay.");
}

#[test]
fn h21_a_server_of_this_machine_answers_no_request_under_another_name() {
    let there = there();
    let (_serves, url) = serve(&there, &["agent.toml", "--listen", "127.0.0.1:0"]);
    let address = url.trim_start_matches("http://");
    let answer = |host: &str| {
        let mut stream = TcpStream::connect(address).unwrap();
        let request =
            format!("GET /agents/geologist/tasks/t HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).unwrap();
        said.split(' ').nth(1).unwrap().to_owned()
    };
    for host in [address, "localhost", "LOCALHOST:1", "[::1]:80"] {
        assert_eq!(answer(host), "410", "{host}");
    }
    for host in ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", "", "0.0.0.0"] {
        assert_eq!(answer(host), "403", "{host}");
    }
}

#[test]
fn h21_a_stop_reaches_the_task() {
    let there = there();
    let (serves, url) =
        serve(&there, &["agent.toml", "--listen", "127.0.0.1:0", "--token-env", "GEOLOGY_TOKEN"]);
    let here = here(&format!("{url}/agents/geologist/tasks"), 3_600);
    let runs =
        Fixture::start_that(knowing(&here, &["run", "agent.toml", "--session", "s", "how is the ground?"]));
    let listed = || there.run(&["sessions", "list", "--json"]).ends(0).lines();
    wait_until("the task has come", || listed().len() == 1);
    let stopped = knowing(&here, &["interrupt", "s"]).output().unwrap();
    assert_eq!(stopped.status.code(), Some(20), "{stopped:?}");
    wait_until("the task is stopped", || listed()[0]["status"] == json!("aborted"));
    runs.end().ends(20);
    serves.signal(Signal::TERM);
    serves.end().ends(0);
}

#[test]
fn h21_what_would_let_anybody_give_tasks_is_refused() {
    let there = there();
    let at = |address: &'static str| ["serve", "agent.toml", "--listen", address];
    for (words, why) in [
        (&["--token-env", "NO_SUCH_VARIABLE"][..], "--token-env NO_SUCH_VARIABLE: is not set"),
        (&["--address", "ftp://x"], "--address ftp://x: "),
        (&["--replies-to", "x"], "--replies-to x: "),
        (&["agent.toml"], "another file names its agent so"),
        (&["missing.toml"], "missing.toml"),
    ] {
        there.run(&[&at("127.0.0.1:0")[..], words].concat()).fails(2, &[why]);
    }
    assert!(!there.has("holdover.db"), "nothing was begun");
}

/// A server that everybody reaches, and that knows no token, takes tasks from nobody.
#[test]
fn h21_nobody_gives_tasks_without_a_token_to_a_server_that_everybody_reaches() {
    let there = there();
    for words in [&["--listen", "0.0.0.0:0"][..], &["--listen", "127.0.0.1:0", "--host", "geology.example"]] {
        let (_serves, url) = serve(&there, &[&["agent.toml"][..], words].concat());
        let out = Command::new("curl")
            .args(["-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "content-type: application/json"])
            .args([
                "-d",
                r#"{"id":"t","task":"look at the ground"}"#,
                &format!("{url}/agents/geologist/tasks"),
            ])
            .output()
            .unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), "401", "{words:?}");
    }
    assert!(there.run(&["sessions", "list", "--json"]).ends(0).lines().is_empty());
}
