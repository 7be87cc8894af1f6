//! Hooks and summarisers of an agent file: programs, servers and models.
//!
//! Requirements: A34, B32, C36.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use support::{Fixture, is_written, wait_until};

const PAGE: &str = include_str!("../../docs/how-to/hooks.md");

/// Returns the first code block of the page that begins so.
fn block(beginning: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("```{beginning}")).unwrap();
    let rest = rest.split_once("```").unwrap().0;
    rest.trim_start()
}

fn write_runnable(fixture: &Fixture, name: &str, text: &str) {
    fixture.write(name, text);
    std::fs::set_permissions(fixture.path(name), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn c36_the_example_of_the_page_hides_a_part_of_a_result() {
    let fixture = Fixture::new();
    fixture.write("agent.toml", block("toml\n# agent.toml"));
    fixture.write("script.toml", block("toml\n# script.toml"));
    fixture.write(
        "redact.py",
        &format!("#!/usr/bin/env python3\n{}", block("python\n#!/usr/bin/env python3\n")),
    );
    let steps = block("sh\n");
    let binary = std::path::Path::new(support::HOLDOVER).parent().unwrap().display().to_string();
    let ran = fixture.shell(&format!("set -e; PATH={binary}:$PATH; {steps}")).ends(0);
    ran.says("Paid by card.").says("[card number]");
    let messages = fixture.run(&["sessions", "messages", "order", "--json"]).ends(0);
    assert!(!messages.out.contains("4111111111111111"), "{messages:#?}");
}

/// An agent that reads a file and says what it saw, with this table.
fn agent(more: &str) -> Fixture {
    let fixture = Fixture::new();
    fixture.write(
        "agent.toml",
        &format!("model = 'scripted:script.toml'\nroot = 'files'\ntools = ['read_file']\n{more}"),
    );
    fixture.write(
        "script.toml",
        "[[turns]]\nwhen = { nth = 1 }\ncalls = [{ tool = 'read_file', arguments = { path = 'a.txt' } }]\n\
         [[turns]]\nwhen = { result_contains = 'plain' }\nsay = 'It is plain.'\n\
         [[turns]]\nwhen = { result_contains = 'hidden' }\nsay = 'It is hidden.'\n\
         [[turns]]\nsay = 'It is refused.'\n",
    );
    fixture.write("files/a.txt", "plain\n");
    fixture
}

const RUN: [&str; 5] = ["run", "agent.toml", "--session", "s", "read"];

#[test]
fn c36_any_process_finds_the_hooks_with_the_session_and_failures_mean_what_the_file_says() {
    for (line, on_failure, says) in [
        (
            r#"cat >seen; echo '{"verdict":"rewrite","result":{"content":"hidden"}}'"#,
            "closed",
            "It is hidden.",
        ),
        ("exit 0", "closed", "It is plain."),
        ("echo broken >&2; exit 1", "open", "It is plain."),
        ("echo broken >&2; exit 1", "closed", "It is refused."),
        ("echo $SECRET_OF_MINE >&2; sleep 600", "closed", "It is refused."),
    ] {
        let hook = format!(
            "[[approval]]\ntool = 'read_file'\naction = 'ask'\n\
             [[hook]]\nname = 'h'\npoints = ['after_tool']\ncommand = ['./hook.sh']\ntools = ['read_*']\n\
             timeout_ms = 2000\non_failure = {{ after_tool = '{on_failure}' }}\n"
        );
        let fixture = agent(&hook);
        write_runnable(&fixture, "hook.sh", &format!("#!/bin/sh\n{line}\n"));
        fixture.run(&RUN).ends(10);
        // The agent file is no longer needed.
        fixture.write("agent.toml", "model = 'scripted:script.toml'\n");
        fixture.run(&["approve", "s"]).ends(0).says(says);
        if fixture.has("files/seen") {
            let seen = fixture.read("files/seen");
            assert!(
                seen.starts_with(r#"{"version":1,"point":"after_tool","hook":"h","session":{"#),
                "{seen}"
            );
        }
    }
}

#[test]
fn c36_a_hook_over_http_gets_its_token_and_redirects_are_not_followed() {
    for (status, answer, says) in [
        ("200 OK", r#"{"verdict":"deny","reason":"no"}"#, "It is refused."),
        ("204 No Content", "", "It is plain."),
        // A failure before a tool is closed by default.
        ("307 Temporary Redirect\r\nlocation: http://127.0.0.1:9/", "", "It is refused."),
        ("200 OK", "[]", "It is refused."),
    ] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/h", listener.local_addr().unwrap());
        let server = std::thread::spawn(move || {
            let (connection, _) = listener.accept().unwrap();
            let mut reader = BufReader::new(connection.try_clone().unwrap());
            let (mut head, mut line) = (String::new(), String::new());
            while reader.read_line(&mut line).unwrap() > 2 {
                head.push_str(&std::mem::take(&mut line).to_lowercase());
            }
            let length = head.split("content-length: ").nth(1).unwrap().lines().next().unwrap().trim();
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body).unwrap();
            let length = answer.len();
            write!(
                &connection,
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{answer}"
            )
            .unwrap();
            (head, String::from_utf8(body).unwrap())
        });
        let hook = format!(
            "[[hook]]\nname = 'h'\npoints = ['before_tool']\nurl = '{url}'\nbearer_env = 'HOOK_TOKEN'\n"
        );
        let fixture = agent(&hook);
        fixture
            .run(&RUN)
            .fails(2, &["hook \"h\": bearer_env: the environment variable HOOK_TOKEN is not set"]);
        let output = fixture.command(&RUN).env("HOOK_TOKEN", "s3cret").output().unwrap();
        let shown = String::from_utf8(output.stdout).unwrap();
        assert!(shown.contains(says), "{status} {answer}: {shown}");
        let (head, body) = server.join().unwrap();
        assert!(head.contains("authorization: bearer s3cret"), "{head}");
        assert!(body.contains(r#""arguments":{"path":"a.txt"}"#), "{body}");
    }
}

#[test]
fn c36_a_hook_is_asked_again_by_the_next_process_if_the_first_one_dies() {
    let hook =
        "[[hook]]\nname = 'h'\npoints = ['before_tool']\ncommand = ['./hook.sh']\ntimeout_ms = 60000\n";
    let fixture = agent(hook);
    // The hook ends once `gate` exists, or if the process that started it is gone.
    write_runnable(
        &fixture,
        "hook.sh",
        "#!/bin/sh\necho asked >>asked\nuntil [ -e gate ]; do kill -0 \"$PPID\" 2>/dev/null || exit 1; sleep 0.02; done\n",
    );
    let doomed = fixture.start(&["run", "agent.toml", "--session", "s", "--lease", "1s", "read"]);
    wait_until("the hook is asked", || is_written(&fixture.path("files/asked")));
    doomed.signal(rustix::process::Signal::KILL);
    assert_eq!(doomed.end().code, None, "it was killed");
    fixture.write("files/gate", "");
    fixture.run(&["resume", "s"]).ends(0).says("It is plain.");
    assert_eq!(fixture.read("files/asked"), "asked\nasked\n");
}

#[test]
fn a34_old_results_are_shortened_by_a_program_or_a_model() {
    // Reads so often that old results are cleared, and slowly, because no run waits for a summary.
    let reads = "say = 'I read it.'\ncalls = [{ tool = 'read_file', arguments = { path = 'a.txt' } }]\n";
    for (summariser, short) in [
        ("{ command = ['./shorten.sh'] }", "read by a program"),
        ("{ model = 'scripted:short.toml' }", "read by a model"),
    ] {
        let fixture = agent(&format!(
            "loops = {{ stop_at = 0 }}\n[compaction]\nclear_results_over = 2\nkept_results = 1\nsummariser = {summariser}\n"
        ));
        write_runnable(
            &fixture,
            "shorten.sh",
            "#!/bin/sh\ncat >seen; echo '{\"text\":\"read by a program\"}'\n",
        );
        fixture.write("short.toml", "[[turns]]\nsay = 'read by a model'\n");
        fixture.write("files/a.txt", &"a line that is long enough to be worth a summary\n".repeat(20));
        let steps = (1..=6).map(|nth| format!("[[turns]]\nwhen = {{ nth = {nth} }}\n{reads}\n"));
        let script = format!("{}[[turns]]\nsay = 'done'\n", steps.collect::<String>());
        fixture.write("script.toml", &format!("stream = {{ delay_ms = 120 }}\n{script}"));
        fixture.run(&RUN).ends(0).says("done");
        let messages = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
        assert!(messages.out.contains(short), "{messages:#?}");
        if summariser.contains("command") {
            let seen = fixture.read("files/seen");
            assert!(seen.starts_with(r#"{"version":1,"point":"summarise_result","session":{"#), "{seen}");
        }
    }
}

#[test]
fn c36_a_hook_that_cannot_be_is_refused_before_anything_begins() {
    let at = |more: &str| format!("[[hook]]\nname = 'h'\n{more}\n");
    for (more, words) in [
        (
            at("points = ['after_tools']\ncommand = ['true']"),
            &["line 6: hook[0].points[0]: ", "after_tool"][..],
        ),
        (at("points = ['after_tool']"), &["line 4: hook \"h\": give either command or url"]),
        (at("points = []\ncommand = ['true']"), &["line 4: hook \"h\": points: is empty"]),
        (at("points = ['after_tool']\ncommand = ['./none.sh']"), &["hook \"h\": command: ", "none.sh: "]),
        (
            at("points = ['after_tool']\ncommand = ['no-such-program-here']"),
            &["hook \"h\": command: no-such-program-here: is in no folder of PATH"],
        ),
        (
            at("points = ['after_tool']\ncommand = ['true']\ntools = ['write_*']"),
            &["hook \"h\": tools: \"write_*\" is none of the agent's tools"],
        ),
        (
            at("points = ['after_tool']\ncommand = ['true']\ntimeout_ms = 0"),
            &["hook \"h\": timeout_ms: is zero"],
        ),
        (
            at("points = ['after_tool']\ncommand = ['true']\non_failure = 'no'"),
            &["line 8: hook[0].on_failure: ", "open"],
        ),
        (at("points = ['after_tool']\nurl = 'http://hooks.example'\nbearer_env = 'A'"), &["unencrypted"]),
        (
            format!("{0}{0}", at("points = ['after_tool']\ncommand = ['true']")),
            &["line 8: hook \"h\": is declared twice"],
        ),
        (
            "[compaction]\nsummariser = {}\n".to_owned(),
            &["line 5: compaction.summariser: give one of command, url and"],
        ),
        ("[compaction]\nkept = 3\n".to_owned(), &["line 5: compaction.kept: there is no such key"]),
        (
            "[compaction]\nsummariser = { program = ['a'] }\n".to_owned(),
            &["line 5: compaction.summariser.program: "],
        ),
    ] {
        let fixture = agent(&more);
        fixture.run(&RUN).fails(2, words);
        assert!(!fixture.has("holdover.db"), "{more}");
    }
}
