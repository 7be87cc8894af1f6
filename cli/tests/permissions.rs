//! The permissions of an agent: rules on arguments, modes, tools that only people may use, and gates asked
//! over HTTP.
//!
//! Requirements: A46, C20, C25, C30, C31, C32, U05, U06.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;

use support::Fixture;

/// Returns a fixture with the usual agent, with `head` at the top of its file and its approval rules replaced.
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

/// Requirements: A46, C20.
#[test]
fn c31_a_rule_may_name_arguments() {
    let rule = |action: &str, path: &str| {
        format!("[[approval]]\ntool = 'write_file'\naction = '{action}'\narguments = {{ path = '{path}' }}\n")
    };
    // The script writes `note.txt`.
    agent("", &rule("ask", "*.txt")).run(&WRITES).ends(10);
    agent("", &rule("ask", "*.md")).run(&WRITES).ends(0).says("Written.");
    let fixture = agent("", &rule("deny", "note.*"));
    fixture.run(&WRITES);
    assert!(!fixture.has("files/note.txt"));
    let denied = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert!(denied.out.contains(r#""rule":"rule 1: write_file where path=note.*""#), "{denied:#?}");
    assert!(denied.out.contains(r#""status":"denied""#), "{denied:#?}");
}

/// Requirements: U06.
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

/// Starts a gate that answers one request. Returns its URL, and a thread that returns the request.
fn gate(answer: &'static str) -> (String, std::thread::JoinHandle<String>) {
    gate_saying([answer])
}

/// Starts a gate that answers one request after the other. Returns its URL, and a thread that returns the
/// last request.
fn gate_saying<const N: usize>(answers: [&'static str; N]) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let hears = move |answer: &str| {
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
    };
    let asked = std::thread::spawn(move || answers.map(hears)[N - 1].clone());
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
fn u05_a_gate_says_over_http_whose_approval_a_call_takes() {
    let asks = r#"{"verdict": "needs_approval", "prompt": "is it wise?",
        "terms": {"approvers": {"names": ["ann", "bob", "eve"], "needed": 2}}}"#;
    let (url, asked) = gate_saying([asks, asks]);
    let fixture = agent("", &format!("[gate]\nurl = '{url}'\n"));
    fixture.run(&WRITES).ends(10).says("0 of 2 approvals, from ann, bob, eve");
    let stranger = fixture.run(&["approve", "s", "--as", "mallory"]);
    assert!(stranger.err.contains("mallory may not decide on it, only ann, bob, eve"), "{stranger:#?}");
    fixture.run(&["approve", "s", "--as", "bob"]).ends(10);
    fixture.run(&["sessions", "pending"]).ends(0).says("1 of 2 approvals").says("approved by bob");
    assert!(!fixture.has("files/note.txt"), "one is not enough");
    fixture.run(&["approve", "s", "--as", "ann"]).ends(0).says("Written.");
    let asked = asked.join().unwrap();
    assert!(asked.contains(r#""approved":true"#), "it is asked again when enough have approved: {asked}");
}

/// Requirements: C32.
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
    // The printed command has a placeholder for the name. Once only one person is left to decide, it has that
    // name.
    let asked = fixture.shell(&asked.command("approve").replace("YOUR NAME", "ann")).ends(10);
    assert!(asked.command("approve").contains("--as bob"), "{asked:#?}");
    let listed = fixture.run(&["sessions", "pending", "s"]).ends(0);
    assert!(listed.out.contains("1 of 2 approvals, from ann, bob"), "{listed:#?}");
    assert!(listed.out.contains("approved by ann"), "{listed:#?}");
    fixture.shell(&asked.command("approve")).ends(0).says("Written.");
    assert!(fixture.has("files/note.txt"));
}

/// Returns everything that the commands show of the session.
fn shown(fixture: &Fixture) -> String {
    let show = |words: &[&str]| fixture.run(&[words, &["s", "--json"]].concat()).ends(0).out;
    show(&["sessions", "show"]) + &show(&["sessions", "messages"]) + &show(&["sessions", "pending"])
}

#[test]
fn c25_an_edit_that_would_not_run_is_refused_before_anything_is_stored() {
    let rules = "[[approval]]\ntool = 'write_file'\naction = 'deny'\narguments = { path = '*.md' }\n\
                 [[approval]]\ntool = 'write_file'\naction = 'ask'\n";
    // The same holds with an additional HTTP gate, which is asked only when the call is about to run.
    let (url, _asked) = gate(r#"{"verdict": "allow"}"#);
    for rules in [rules.to_owned(), format!("{rules}[gate]\nurl = '{url}'\n")] {
        let fixture = agent("", &rules);
        fixture.run(&WRITES).ends(10);
        let before = shown(&fixture);
        for (edit, why) in [
            (r#"{"path": 5, "content": "x"}"#, "session s: call c1-0: /path: 5 is not of type \"string\""),
            (
                r#"{"path": "note.txt"}"#,
                "session s: call c1-0: arguments: \"content\" is a required property",
            ),
            (r#"{"path": "a", "content": "", "mode": 1}"#, "session s: call c1-0: arguments: "),
            (r#"{"path": "x.md", "content": ""}"#, "session s: call c1-0: the policy denies it: "),
        ] {
            for detach in [&[][..], &["--detach"]] {
                let ran = fixture.run(&[&["approve", "s", "--edit", edit], detach].concat());
                let ran = ran.fails(2, &[why, "; nothing was decided"]);
                assert!(!ran.out.contains("approved"), "{ran:#?}");
            }
        }
        assert_eq!(shown(&fixture), before, "nothing was changed");
    }
}

#[test]
fn c25_an_approval_that_the_gate_denies_all_the_same_is_told_to_who_gave_it() {
    let (url, _asked) =
        gate_saying([r#"{"verdict": "needs_approval"}"#, r#"{"verdict": "deny", "reason": "not this one"}"#]);
    let fixture = agent("", &format!("[gate]\nurl = '{url}'\n"));
    fixture.run(&WRITES).ends(10);
    let script = fixture.read("script.toml");
    fixture.write("script.toml", &format!("{script}\n[[turns]]\nsay = 'Then not.'\n"));
    let ran = fixture.run(&["approve", "s", "--edit", r#"{"path": "x.txt", "content": ""}"#]);
    let ran =
        ran.fails(1, &["session s: call c1-0: it was approved, and the policy denied it: ", "not this one"]);
    ran.says("Then not.");
    assert!(!fixture.has("files/x.txt"));
}

#[test]
fn u06_what_cannot_stand_for_the_rest_of_the_session_is_refused_and_changes_nothing() {
    let ask = "[[approval]]\ntool = 'write_file'\naction = 'ask'\n";
    let fixture = agent("", ask);
    fixture.run(&WRITES).ends(10);
    let before = shown(&fixture);
    let always = |only: &str| fixture.run(&["approve", "s", "--always", "--only", only]);
    always("unknown=*")
        .fails(2, &["session s: call c1-0: only: this call has no argument \"unknown\"; nothing"]);
    always("path=*.md").fails(2, &["call c1-0: only: the arguments of this call do not fit path=*.md"]);
    let edit = r#"{"path": "a.md", "content": ""}"#;
    fixture
        .run(&["approve", "s", "--always", "--only", "path=*.txt", "--edit", edit])
        .fails(2, &["do not fit"]);
    assert_eq!(shown(&fixture), before, "nothing was changed");
    fixture.run(&["approve", "s", "--always", "--only", "path=*.md", "--edit", edit]).ends(0);

    let named =
        agent("", &format!("{ask}terms = {{ approvers = {{ names = ['ann', 'bob'], needed = 1 }} }}\n"));
    named.run(&WRITES).ends(10);
    let before = shown(&named);
    named
        .run(&["approve", "s", "--as", "ann", "--always"])
        .fails(2, &["call c1-0: who must approve is laid down for each call", "nothing was decided"]);
    assert_eq!(shown(&named), before, "nothing was changed");
    named.run(&["approve", "s", "--as", "ann"]).ends(0).says("Written.");
}

#[test]
fn c25_a_call_is_aborted_from_the_command_line_and_the_others_of_its_step_with_it() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "two"]).ends(10);
    fixture.run(&["deny", "s", "c1-0", "--abort", "--reason", "wrong files", "--detach"]).ends(0);
    fixture.run(&["deny", "s", "c1-0", "--reason", "wrong files", "--detach"]).ends(0).says("already");
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert!(!fixture.has("files/a.txt") && !fixture.has("files/b.txt"));
    let shown = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0).lines();
    let results = shown.iter().filter(|line| line["message"]["role"] == "tool").map(|line| &line["message"]);
    let results: Vec<_> = results.map(|result| (&result["status"], &result["content"])).collect();
    let [(first, text), (second, _)] = results[..] else { panic!("{shown:#?}") };
    assert_eq!((first, text), (&"rejected_by_user".into(), &"Function call aborted: wrong files".into()));
    assert_eq!(second, "cancelled");
}

#[test]
fn c25_an_abort_after_a_plain_denial_is_refused_and_not_called_the_same() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "two"]).ends(10);
    fixture.run(&["deny", "s", "c1-0", "--detach"]).ends(0);
    fixture.run(&["deny", "s", "c1-0", "--abort", "--detach"]).fails(1, &["call c1-0", "was denied already"]);
    fixture.run(&["deny", "s", "c1-0", "--detach"]).ends(0).says("nothing was changed");
}
