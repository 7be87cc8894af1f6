//! Tools of the MCP servers that an agent file names.
//!
//! Requirements: D22, H14.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use support::{Fixture, wait_until};

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "echo", nth = 1 }
calls = [{ tool = "mcp__test__echo", arguments = { text = "hello" } }]

[[turns]]
when = { user_contains = "fail", nth = 1 }
calls = [{ tool = "mcp__test__fail", arguments = {} }]

[[turns]]
when = { result_of = "mcp__test__echo", result_status = "done", result_contains = "you said hello" }
say = "It answered."

[[turns]]
when = { result_of = "mcp__test__fail", result_status = "error", result_contains = "it is broken" }
say = "It failed."
"#;

/// Returns a fixture whose agent has the MCP server of the client's own tests, which records what it receives.
fn fixture(more: &str) -> Fixture {
    let fixture = Fixture::new();
    let server = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp/tests/server.mjs");
    let record = fixture.path("record");
    let line = format!("RECORD='{}' exec node '{server}'", record.display());
    fixture.write(
        "agent.toml",
        &format!("model = 'scripted:script.toml'\n{more}\n[[mcp]]\nname = 'test'\ncommand = ['sh', '-c', \"\"\"{line}\"\"\"]\n"),
    );
    fixture.write("script.toml", SCRIPT);
    fixture
}

const ALLOWED: &str = "[[approval]]\ntool = 'mcp__test__*'\naction = 'allow'\n";

/// Requirements: D22.
#[test]
fn a_result_and_an_error_both_reach_the_model() {
    let fixture = fixture(ALLOWED);
    fixture.run(&["run", "agent.toml", "echo"]).ends(0).says("It answered.");
    fixture.run(&["run", "agent.toml", "fail"]).ends(0).says("It failed.");
}

#[test]
fn a_call_that_nobody_allowed_waits_and_any_process_goes_on_without_asking_the_server_anew_what_it_has() {
    let fixture = fixture("");
    fixture.run(&["run", "agent.toml", "--session", "s", "echo"]).ends(10);
    assert!(!fixture.read("record").contains("call echo"), "it is dangerous: a person is asked");
    fixture.write("agent.toml", "model = 'scripted:script.toml'\n");
    fixture.run(&["approve", "s"]).ends(0).says("It answered.");
    let sent = fixture.read("record").lines().filter(|line| line.starts_with("call echo ")).count();
    assert_eq!(sent, 1);
}

/// Returns the number of processes that a process has started and that live, and of its sockets and pipes.
fn held_by(process: u32) -> (usize, usize) {
    let folder = std::path::PathBuf::from(format!("/proc/{process}"));
    let listed = |name: &str| std::fs::read_dir(folder.join(name)).expect("it lives").filter_map(Result::ok);
    let children = |task: std::fs::DirEntry| {
        let children = std::fs::read_to_string(task.path().join("children")).unwrap_or_default();
        children.split_whitespace().count()
    };
    let links = |file: std::fs::DirEntry| {
        let target = std::fs::read_link(file.path()).unwrap_or_default();
        target.to_string_lossy().starts_with("socket:") || target.to_string_lossy().starts_with("pipe:")
    };
    (listed("task").map(children).sum(), listed("fd").filter_map(|file| links(file).then_some(())).count())
}

/// A program keeps one connection to a server for as long as it runs. A session that waits adds nothing to it.
#[test]
fn h14_sessions_that_wait_hold_no_connection_to_an_mcp_server_beside_that_of_the_worker() {
    let fixture = fixture("[[approval]]\ntool = 'mcp__test__echo'\naction = 'allow'\n");
    let then =
        SCRIPT.replace("say = \"It answered.\"", "calls = [{ tool = \"mcp__test__fail\", arguments = {} }]");
    fixture.write("script.toml", &then);
    let worker = fixture.start(&["work"]);
    let mut held = Vec::new();
    for session in ["one", "two", "three"] {
        fixture.run(&["run", "agent.toml", "--session", session, "--detach", "echo"]).ends(0);
        wait_until("it waits for a person", || {
            fixture.run(&["sessions", "pending", session]).ends(0).out.contains("mcp__test__fail")
                && fixture.run(&["sessions", "show", session]).ends(0).out.contains("waiting")
        });
        held.push(held_by(worker.id()));
    }
    assert_eq!(held[0].0, 1, "the server is a process of the worker");
    assert_eq!(held, [held[0]; 3]);
    drop(worker);
    // Nothing of it was needed: another process goes on.
    fixture.run(&["approve", "two"]).ends(0).says("It failed.");
}

#[test]
fn what_the_file_says_of_a_tool_that_the_server_does_not_have_is_refused_before_anything_is_made() {
    for (more, why) in [
        (
            "[[approval]]\ntool = 'mcp__test__ecoh'\naction = 'allow'\n",
            "mcp server \"test\" has no tool that matches",
        ),
        (
            "[[hook]]\nname = 'h'\npoints = ['after_tool']\ncommand = ['true']\n\
             tools = ['mcp__test__*', 'mcp__test__ecoh*']\n",
            "hook \"h\": tools: \"mcp__test__ecoh*\": mcp server \"test\" has no tool that matches",
        ),
        ("human_only = ['mcp__test__ecoh']\n", "mcp server \"test\" has no tool mcp__test__ecoh"),
        ("human_only = ['mcp__toast__echo']\n", "is none of the agent's tools"),
    ] {
        let fixture = fixture(more);
        fixture.run(&["run", "agent.toml", "echo"]).fails(2, &[why]);
        assert!(!fixture.has("holdover.db"), "{why}");
    }
}

/// Returns the URL of a server that gives every request the same answer.
fn answers(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let connection = connection.expect("a request");
            let (mut reader, mut line, mut length) = (BufReader::new(&connection), String::new(), 0);
            while reader.read_line(&mut line).is_ok_and(|read| read > 2) {
                let line = std::mem::take(&mut line).to_lowercase();
                length =
                    line.strip_prefix("content-length: ").map_or(length, |n| n.trim().parse().unwrap_or(0));
            }
            let mut body = vec![0; length];
            let _ = reader.read_exact(&mut body);
            let (head, body) = answer.rsplit_once("\n").expect("two lines");
            let rest = format!("content-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
            let _ = write!(&connection, "HTTP/1.1 {head}\r\n{rest}");
        }
    });
    format!("url = 'http://127.0.0.1:{port}/mcp?key=s3cret'")
}

#[test]
fn a_server_that_cannot_be_asked_is_named_in_plain_words_with_what_was_tried() {
    let reads = |says: &str| format!("command = ['sh', '-c', 'read it; {says}; cat > rest']");
    let nobody = format!("url = 'http://127.0.0.1:{}/mcp'", holdover_launcher::free_port().expect("a port"));
    let answer = |result: &str| reads(&format!(r#"echo "{{\"jsonrpc\":\"2.0\",\"id\":0,{result}}}""#));
    for (server, said) in [
        (
            "command = ['no-such-program']".to_owned(),
            "program \"no-such-program\": could not be started: No such file or directory\n",
        ),
        (
            "command = ['true']".to_owned(),
            "program \"true\": it ended, or closed its output, before it answered\n",
        ),
        (
            reads("echo oops >&2; exit 3"),
            "program \"sh\": it ended, or closed its output, before it answered; it said: oops\n",
        ),
        (
            answer(r#"\"error\":{\"code\":-1,\"message\":\"go away\"}"#),
            "program \"sh\": it refuses: go away\n",
        ),
        (answer(r#"\"result\":{\"a\":1}"#), "program \"sh\": it answers, but not as an MCP server does\n"),
        (nobody, "/mcp: it could not be reached: Connection refused\n"),
        (answers("500 Oops\nboom"), "/mcp: it answers HTTP 500\n"),
        (answers("404 Not Found\n<html>"), "/mcp: it answers HTTP 404 Not Found: <html>\n"),
        (
            answers("401 Who\r\nwww-authenticate: Bearer\nno"),
            "/mcp: it wants a token; name its variable in bearer_env\n",
        ),
        (
            answers("200 OK\r\ncontent-type: text/html\n<html>"),
            "/mcp: it answers, but not as an MCP server does: with text/html\n",
        ),
        (
            answers("200 OK\r\ncontent-type: application/json\n{\"a\":1}"),
            "/mcp: it answers, but not as an MCP server does\n",
        ),
    ] {
        let fixture = Fixture::new();
        fixture.write(
            "agent.toml",
            &format!("model = 'scripted:script.toml'\n[[mcp]]\nname = 'files'\n{server}\n"),
        );
        let ran = fixture.run(&["run", "agent.toml", "hello"]);
        let ran = ran.fails(2, &["error: agent.toml: mcp server \"files\": ", said]);
        assert!(!ran.err.contains("::") && !ran.err.contains("s3cret"), "{ran:#?}");
        assert!(!fixture.has("holdover.db"), "nothing was made");
    }
}

#[test]
fn a_server_that_ends_in_the_middle_of_a_call_is_named_and_so_is_the_tool() {
    let fixture = fixture("[[approval]]\ntool = 'mcp__test__*'\naction = 'allow'\n");
    fixture.write(
        "script.toml",
        "[[turns]]\nwhen = { nth = 1 }\ncalls = [{ tool = 'mcp__test__die', arguments = {} }]\n[[turns]]\nsay = 'Well.'\n",
    );
    fixture.run(&["run", "agent.toml", "--session", "s", "x"]).ends(0).says("Well.");
    let told = fixture.run(&["sessions", "messages", "s"]).ends(0);
    told.says("mcp server \"test\": program \"sh\": its tool die was called: it ended, or closed its output, before");
}
