//! `holdover serve`: sessions over HTTP, by several processes on one store, for callers with tokens.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::process::Command;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Fixture, Running, wait_until};

const AGENT: &str = r#"
name = "clerk"
model = "scripted:script.toml"
root = "files"
tools = ["write_file"]

[[approval]]
tool = "write_file"
action = "ask"
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { result_of = "write_file", result_status = "done" }
say = "It is written down."

[[turns]]
when = { user_contains = "note", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "rain" } }]
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("script.toml", SCRIPT);
    fixture.write("agent.toml", AGENT);
    fixture
}

/// Starts a server, and returns it with its URL.
fn serve(fixture: &Fixture, words: &[&str]) -> (Running, String) {
    let words =
        [&["--json", "serve", "agent.toml", "--listen", "127.0.0.1:0", "--lease", "2s"], words].concat();
    let running = fixture.start(&words);
    wait_until("it listens", || running.lines_so_far() > 0);
    let said: Value = serde_json::from_str(running.text_so_far().lines().next().unwrap()).unwrap();
    (running, said["listens"].as_str().unwrap().to_owned())
}

/// Makes a token, and returns it with its id.
fn token(fixture: &Fixture, name: &str, may: &str) -> (String, String) {
    let words = ["tokens", "create", "--name", name, "--may", may, "--expires", "1h", "--json"];
    let made = fixture.run(&words).ends(0).lines()[0].clone();
    let text = |field: &str| made[field].as_str().unwrap().to_owned();
    (text("token"), text("id"))
}

/// Sends a request with curl. Returns the status and the body.
fn ask(url: &str, token: &str, words: &[&str]) -> (u16, String) {
    let mut curl = Command::new("curl");
    curl.args([
        "-sS",
        "--max-time",
        "30",
        "-w",
        "\n%{http_code}",
        "-H",
        &format!("authorization: Bearer {token}"),
    ]);
    let out = curl.args(words).arg(url).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let (body, status) = text.rsplit_once('\n').unwrap();
    (status.parse().unwrap(), body.to_owned())
}

fn post(url: &str, token: &str, body: &Value) -> (u16, Value) {
    let (status, body) = ask(url, token, &["-H", "content-type: application/json", "-d", &body.to_string()]);
    (status, serde_json::from_str(&body).unwrap())
}

fn get(url: &str, token: &str) -> Value {
    let (status, body) = ask(url, token, &[]);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_session_is_started_at_one_server_and_decided_at_another_after_the_first_was_killed() {
    let fixture = fixture();
    let (ann, _) = token(&fixture, "ann", "read,send,decide");
    let ((first, one), (second, other)) = (serve(&fixture, &[]), serve(&fixture, &[]));
    let new = json!({ "agent": "clerk", "message": "make a note", "session": "s" });
    assert_eq!(post(&format!("{one}/v1/sessions"), &ann, &new).0, 201);
    let (status, _) = ask(&format!("{one}/v1/sessions/s/events?until=parked"), &ann, &[]);
    assert_eq!(status, 200);
    first.signal(Signal::KILL);
    drop(first);

    let pending = get(&format!("{other}/v1/pending?kind=approval"), &ann)["items"][0].clone();
    assert_eq!((&pending["session"], &pending["tool"]), (&json!("s"), &json!("write_file")));
    let approve = format!("{other}/v1/sessions/s/pending/{}/approve", pending["id"].as_str().unwrap());
    let (status, said) = post(&approve, &ann, &json!({ "digest": pending["digest"] }));
    assert_eq!((status, &said["accepted"]), (202, &json!(true)), "{said}");
    let (_, stream) = ask(&format!("{other}/v1/sessions/s/events?until=rest"), &ann, &[]);
    assert!(stream.contains("event: end"), "{stream}");
    let shown = get(&format!("{other}/v1/sessions/s"), &ann);
    assert_eq!((&shown["status"], &shown["result"]["text"]), (&json!("idle"), &json!("It is written down.")));
    assert_eq!(fixture.read("files/note.txt"), "rain");
    // The name of the token is what the transcript records, also for those who look with the command line.
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("ann");
    second.signal(Signal::TERM);
    second.end().ends(0);
}

#[test]
fn a_server_that_is_told_to_stop_ends_its_streams_with_their_cursors() {
    let fixture = fixture();
    let (ann, _) = token(&fixture, "ann", "read,send");
    let (server, url) = serve(&fixture, &[]);
    let new = json!({ "agent": "clerk", "message": "make a note", "session": "s" });
    assert_eq!(post(&format!("{url}/v1/sessions"), &ann, &new).0, 201);
    let events = format!("{url}/v1/sessions/s/events");
    let reader = std::thread::spawn(move || ask(&events, &ann, &["-N"]));
    // The session waits for a person, so the stream waits, too.
    let waits = || !fixture.run(&["sessions", "pending", "--json"]).ends(0).lines().is_empty();
    wait_until("a person is asked", waits);
    server.signal(Signal::TERM);
    server.end().ends(0);
    let (status, stream) = reader.join().unwrap();
    assert_eq!(status, 200);
    assert!(stream.contains(r#""reason":"stopping""#), "{stream}");
    let ids: Vec<&str> = stream.lines().filter_map(|line| line.strip_prefix("id: ")).collect();
    assert!(ids.len() > 3 && stream.contains(&format!(r#""cursor":"{}""#, ids[ids.len() - 1])), "{stream}");
}

#[test]
fn callers_need_a_token_that_still_holds() {
    let fixture = fixture();
    let (ann, id) = token(&fixture, "ann", "read");
    let (_server, url) = serve(&fixture, &[]);
    let sessions = format!("{url}/v1/sessions");
    assert_eq!(ask(&sessions, &ann, &[]).0, 200);
    assert_eq!(ask(&sessions, "hld_made_up", &[]).0, 401);
    assert_eq!(post(&sessions, &ann, &json!({ "agent": "clerk", "message": "x" })).0, 403);
    assert_eq!(ask(&sessions, &ann, &["-H", "host: evil.example"]).0, 403);
    assert_eq!(ask(&sessions, &ann, &["-H", "origin: https://evil.example"]).0, 403);
    let listed = fixture.run(&["tokens", "list", "--json"]).ends(0).lines();
    assert_eq!((listed.len(), &listed[0]["name"], &listed[0]["may"]), (1, &json!("ann"), &json!(["read"])));
    assert!(!listed[0].to_string().contains(&ann), "the token itself is not kept");
    assert!(fixture.run(&["tokens", "list", "--tenant", "other", "--json"]).ends(0).lines().is_empty());
    fixture.run(&["tokens", "revoke", &id, "--tenant", "other"]).fails(1, &["there is no such token"]);
    fixture.run(&["tokens", "revoke", &id]).ends(0).says("revoked");
    wait_until("the token is refused", || ask(&sessions, &ann, &[]).0 == 401);
    fixture.run(&["tokens", "revoke", &id]).fails(1, &["there is no such token"]);
    let fly = fixture.run(&["tokens", "create", "--name", "ann", "--may", "fly"]).ends(2);
    assert!(fly.err.contains("there are read, send, decide and operate"), "{}", fly.err);
    fixture
        .run(&["tokens", "create", "--name", "ann", "--may", "read", "--expires", "2020-01-01"])
        .fails(2, &["past"]);
    fixture
        .run(&["tokens", "create", "--name", "ann", "--may", "read", "--tenant", "holdover"])
        .fails(2, &["reserved"]);
    fixture.run(&["doctor", "--tenant", "holdover"]).ends(0);
    fixture.run(&["tokens", "create", "--name", " ", "--may", "read"]).fails(2, &["name"]);
    fixture.run(&["tokens", "list"]).ends(0).says("no tokens");
}

/// A server that others can reach takes no tasks without a token, and no requests of other hosts.
#[test]
fn what_a_server_lets_in_depends_on_who_can_reach_it() {
    let fixture = fixture();
    let (ann, _) = token(&fixture, "ann", "read");
    let task = json!({ "id": "t", "task": "make a note" });
    let (_here, url) = serve(&fixture, &[]);
    let taken = |url: &str, host: &str| {
        let body = task.to_string();
        let words = ["-H", "content-type: application/json", "-H", host, "-d", &body];
        ask(&format!("{url}/agents/clerk/tasks"), "none", &words).0
    };
    assert_eq!(taken(&url, "x: y"), 200, "from a program of this machine");
    let (_public, url) = serve(&fixture, &["--host", "agents.example", "--origin", "https://app.example"]);
    assert_eq!(taken(&url, "host: agents.example"), 401, "from anybody who reaches the proxy");
    let sessions = format!("{url}/v1/sessions");
    assert_eq!(ask(&sessions, &ann, &["-H", "host: agents.example"]).0, 200);
    assert_eq!(ask(&sessions, &ann, &["-H", "host: evil.example"]).0, 403);
    assert_eq!(ask(&sessions, &ann, &["-H", "origin: https://app.example"]).0, 200);
    assert_eq!(ask(&sessions, &ann, &["-H", "origin: https://evil.example"]).0, 403);
    let wrong = ["serve", "agent.toml", "--listen", "127.0.0.1:0", "--origin", "app.example"];
    fixture.run(&wrong).fails(2, &["--origin", "app.example"]);
    let words = ["tokens", "create", "--name", "eve", "--may", "read", "--tenant", "other", "--json"];
    let made = fixture.run(&words).ends(0).lines()[0].clone();
    let theirs = made["token"].as_str().unwrap();
    assert_eq!(ask(&sessions, theirs, &[]).0, 401, "the worker here does not run sessions of that tenant");
    let (_all, url) = serve(&fixture, &["--all-tenants"]);
    assert_eq!(ask(&format!("{url}/v1/sessions"), theirs, &[]).0, 200);
}

const GATED: &str = r#"
name = "porter"
model = "scripted:gated.toml"
root = "files"

[[tool]]
name = "carry"
description = "Waits until the gate is open"
command = ["sh", "-c", "touch began; until [ -e gate ]; do sleep 0.02; done; echo carried"]
effect = "read_only"
parameters = { type = "object" }

[[approval]]
tool = "carry"
action = "allow"
"#;

const GATED_SCRIPT: &str = r#"
[[turns]]
when = { result_of = "carry", result_status = "done" }
say = "It is there."

[[turns]]
calls = [{ tool = "carry", arguments = {} }]
"#;

#[test]
fn a_server_that_is_told_to_stop_is_not_ready_while_its_runs_go_on() {
    let fixture = fixture();
    fixture.write("gated.toml", GATED_SCRIPT);
    fixture.write("porter.toml", GATED);
    let (ann, _) = token(&fixture, "ann", "read,send");
    let (server, url) = serve(&fixture, &["porter.toml", "--drain", "turn"]);
    let offered = get(&format!("{url}/v1/agents"), &ann);
    assert_eq!(offered["items"].as_array().map(Vec::len), Some(2), "each file gives an agent: {offered}");
    let ready = format!("{url}/v1/ready");
    assert_eq!(ask(&ready, "none", &[]).0, 200);
    let new = json!({ "agent": "porter", "message": "carry it", "session": "s" });
    assert_eq!(post(&format!("{url}/v1/sessions"), &ann, &new).0, 201);
    wait_until("the call runs", || fixture.has("files/began"));
    let events = format!("{url}/v1/sessions/s/events");
    let token = ann.clone();
    let reader = std::thread::spawn(move || ask(&events, &token, &["-N"]));

    server.signal(Signal::TERM);
    wait_until("it is not ready", || ask(&ready, "none", &[]).0 == 503);
    assert_eq!(ask(&format!("{url}/v1/health"), "none", &[]).0, 200, "it lives");
    assert_eq!(get(&format!("{url}/v1/sessions/s"), &ann)["status"], "active", "its run goes on");
    let new = json!({ "agent": "clerk", "message": "make a note", "session": "later" });
    let (status, said) = post(&format!("{url}/v1/sessions"), &ann, &new);
    assert_eq!(status, 201, "it is stored, for other workers: {said}");
    assert!(!reader.is_finished(), "streams go on");

    fixture.write("files/gate", "");
    server.end().ends(0);
    let (_, stream) = reader.join().unwrap();
    assert!(stream.contains(r#""type":"done""#) && stream.contains("event: end"), "{stream}");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).lines()[0].clone();
    assert_eq!(shown["status"], "idle", "the turn was finished here: {shown}");
}

#[test]
fn a_server_lingers_so_that_load_balancers_learn_that_it_stops() {
    let fixture = fixture();
    let (ann, _) = token(&fixture, "ann", "read");
    let (server, url) = serve(&fixture, &["--linger", "10m"]);
    server.signal(Signal::TERM);
    wait_until("it is not ready", || ask(&format!("{url}/v1/ready"), "none", &[]).0 == 503);
    assert_eq!(
        ask(&format!("{url}/v1/sessions"), &ann, &[]).0,
        200,
        "it has no run, and answers all the same"
    );
    server.signal(Signal::TERM);
    server.end().ends(143);
}
