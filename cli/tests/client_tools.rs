//! Tools of an agent file that a client runs, and the custom state that declared tools keep.
//!
//! Requirements: H09, H18.

#![allow(clippy::expect_used, reason = "a test may panic")]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use support::{Fixture, HOLDOVER, is_written, wait_until};

const PAGE: &str = include_str!("../../docs/how-to/tools.md");

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "Scan page 7", nth = 1 }
calls = [{ tool = "scan", arguments = { page = 7 } }]

[[turns]]
when = { user_contains = "Scan page 8", nth = 1 }
calls = [{ tool = "scan", arguments = { page = 8 } }]

[[turns]]
when = { user_contains = "Scan page 9", nth = 1 }
calls = [{ tool = "scan", arguments = { page = 9 } }]

[[turns]]
when = { user_contains = "Scan no page", nth = 1 }
calls = [{ tool = "scan", arguments = { page = "none" } }]

[[turns]]
when = { user_contains = "count", nth = 1 }
calls = [{ tool = "tally", arguments = {} }]

[[turns]]
when = { user_contains = "again", nth = 1 }
calls = [{ tool = "tally", arguments = {} }, { tool = "tally", arguments = {} }]

[[turns]]
when = { user_contains = "much more", nth = 1 }
calls = [{ tool = "tally", arguments = {} }]

[[turns]]
when = { user_contains = "delegate", nth = 1 }
calls = [{ tool = "clerk", arguments = { tasks = ["Scan page 7"] } }]

[[turns]]
when = { result_of = "clerk" }
say = "The clerk is done."

[[turns]]
when = { result_of = "scan", result_contains = "12.50", result_status = "done" }
say = "It costs 12.50."

[[turns]]
when = { result_of = "scan", result_status = "error" }
say = "There is no scan."

[[turns]]
when = { result_of = "scan" }
say = "It was not asked for."

[[turns]]
when = { result_of = "tally", result_status = "done" }
say = "Counted."

[[turns]]
when = { result_of = "tally", result_status = "error" }
say = "Not counted."
"#;

/// Returns the code block of the page that begins so.
fn block(language: &str, beginning: &str) -> &'static str {
    let head = format!("```{language}\n");
    let mut blocks = PAGE.split(head.as_str()).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.find(|block| block.starts_with(beginning)).expect(beginning)
}

fn scan() -> &'static str {
    block("toml", "[[tool]]\nname = \"scan\"")
}

fn agent(fixture: &Fixture, tools: &str) {
    fixture.write("desk.toml", &format!("model = 'scripted:script.toml'\nroot = 'files'\n{tools}"));
    fixture.write("script.toml", SCRIPT);
}

fn program(fixture: &Fixture, name: &str, text: &str) {
    fixture.write(name, text);
    let runnable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(fixture.path(name), runnable).expect("it may be run");
}

/// Returns the custom state of a session.
fn custom(fixture: &Fixture, session: &str) -> Value {
    fixture.run(&["sessions", "show", session, "--json"]).ends(0).last()["custom"].clone()
}

#[test]
fn c53_an_answer_to_a_fallback_may_be_repeated() {
    let fixture = Fixture::new();
    let broken = "[[tool]]\nname = 'tally'\ndescription = ''\ncommand = ['no-such-program']\n";
    let top = "tool_fallbacks = { tally = 'scan' }\n[retries]\ntool_waits_ms = []\n";
    agent(&fixture, &format!("{top}{broken}{}", scan().replace("required", "x_required")));
    fixture.run(&["run", "desk.toml", "--session", "s", "count"]).ends(10);
    fixture.run(&["answer", "s", "c1-0", "12.50"]).ends(0);
    fixture.run(&["answer", "s", "c1-0", "12.50"]).ends(0).says("answered already");
    fixture.run(&["answer", "s", "c1-0", "2.50"]).fails(1, &["has its result already"]);
}

#[test]
fn h09_the_steps_of_the_page_lead_to_its_end() {
    let fixture = Fixture::new();
    agent(&fixture, scan());
    let binary = Path::new(HOLDOVER).parent().expect("a folder").display().to_string();
    let mut said = String::new();
    for step in block("sh", "holdover run desk.toml").lines() {
        let code = if step.contains("exit code 10") { 10 } else { 0 };
        said += &fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(code).out;
    }
    for words in ["scan", "{\"page\":7}", "It costs 12.50.", "There is no scan."] {
        assert!(said.contains(words), "{words}: {said}");
    }
    fixture.run(&["sessions", "messages", "desk"]).ends(0).says("the paper is torn");
    fixture.run(&["send", "desk", "Scan page 9"]).ends(10);
    let step = block("sh", "holdover answer desk --change");
    fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(0).says("It costs 12.50.");
    assert_eq!(custom(&fixture, "desk"), json!({ "pages": [9] }));
}

#[test]
fn h09_any_process_finds_the_tool_with_the_session_and_knows_how_long_it_may_take() {
    let fixture = Fixture::new();
    agent(&fixture, scan());
    let ran = fixture.run(&["run", "desk.toml", "--session", "s", "--json", "Scan page 7"]).ends(10);
    let owed = &ran.last()["outcome"]["owed"][0];
    assert_eq!((&owed["kind"], &owed["tool"]), (&json!("client_tool"), &json!("scan")));
    assert_eq!(owed["arguments"], json!({ "page": 7 }));
    let pending = fixture.run(&["sessions", "pending", "s", "--json"]).ends(0).last();
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    let at = |value: &Value| value.as_u64().unwrap_or_else(|| panic!("{value}: {pending:#}"));
    let takes = at(&pending["deadline"]) - at(&shown["created_at"]);
    assert!((3_600_000..3_660_000).contains(&takes), "{takes}");
    // The file is not needed any more.
    agent(&fixture, "");
    fixture.run(&["answer", "s", "Total: 12.50 euros", "--detach"]).ends(0);
    fixture.run(&["resume", "s"]).ends(0).says("It costs 12.50.");

    agent(&fixture, &scan().replace("3600", "\"none\""));
    fixture.run(&["run", "desk.toml", "--session", "t", "Scan page 7"]).ends(10);
    assert_eq!(fixture.run(&["sessions", "pending", "t", "--json"]).ends(0).last()["deadline"], Value::Null);
}

#[test]
fn h09_each_wrong_answer_is_refused_and_the_call_waits_as_before() {
    let fixture = Fixture::new();
    agent(&fixture, &format!("{}[limits]\nresult_bytes_max = 20\n[state]\nbytes_max = 60\n", scan()));
    fixture.run(&["run", "desk.toml", "--session", "s", "Scan page 7"]).ends(10);
    let set = |value: &str| format!(r#"{{"does":"set","key":"k","value":"{value}"}}"#);
    let before = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).out;
    for (words, code, why) in [
        (&["answer", "s", "c9-9", "12.50"][..], 1, "session s: call c9-9: "),
        (&["answer", "nobody", "12.50"], 1, "session nobody: there is no such session"),
        (&["approve", "s"], 1, "no call waits for approval; call c1-0 waits for an answer"),
        (
            &["answer", "s", "it is 12.50 and that is much"],
            2,
            "call c1-0: result: 28 bytes, at most 20 are allowed",
        ),
        (
            &["answer", "s", "12.50", "--change", &set("0123456789012345678901234567890")],
            2,
            "call c1-0: changes: 68 bytes, at most 60 are allowed",
        ),
    ] {
        fixture.run(words).fails(code, &[why]);
    }
    for (words, why) in [
        (&["--change", "{}"][..], "missing field `does`"),
        (&["--change", r#"{"does":"put","key":"k"}"#], "expected one of `set`, `append`, `delete`"),
        (&["--change", &set("v"), "--error"], "--error"),
    ] {
        let ran = fixture.run(&[&["answer", "s", "12.50"], words].concat()).ends(2);
        assert!(ran.err.contains("--change") && ran.err.contains(why), "{}", ran.err);
    }
    assert_eq!(fixture.run(&["sessions", "show", "s", "--json"]).ends(0).out, before);

    let answer = ["answer", "s", "c1-0", "12.50", "--change", &set("v")];
    fixture.run(&[&answer[..], &["--detach"]].concat()).ends(0).says("left to a worker");
    for when in ["before a run has read the answer", "after the call has ended"] {
        fixture
            .run(&[&answer[..], &["--detach"]].concat())
            .ends(0)
            .says("answered already; nothing was changed");
        fixture.run(&["answer", "s", "c1-0", "12.50", "--detach"]).fails(1, &["session s: call c1-0: "]);
        if when.starts_with("before") {
            fixture.run(&["resume", "s"]).ends(0).says("It costs 12.50.");
        }
    }
    assert_eq!(custom(&fixture, "s"), json!({ "k": "v" }));
    fixture.run(&["sessions", "replay", "s"]).ends(0);
}

#[test]
fn a_call_that_does_not_fit_or_would_need_approval_is_not_asked_for() {
    let fixture = Fixture::new();
    agent(&fixture, scan());
    fixture.run(&["run", "desk.toml", "Scan no page"]).ends(0).says("There is no scan.");
    for more in
        ["[[approval]]\ntool = 'scan'\naction = 'ask'\n", "[[approval]]\ntool = 's*'\naction = 'deny'\n"]
    {
        agent(&fixture, &format!("{}{more}", scan()));
        fixture.run(&["run", "desk.toml", "Scan page 7"]).ends(0).says("It was not asked for.");
    }
}

#[test]
fn h18_the_program_of_the_page_counts_and_the_rules_of_the_page_hold() {
    let fixture = Fixture::new();
    agent(&fixture, block("toml", "[[tool]]\nname = \"tally\""));
    program(&fixture, "tally.sh", block("sh", "#!/bin/sh\ncount="));
    fixture.run(&["run", "desk.toml", "--session", "s", "count"]).ends(0).says("Counted.");
    assert_eq!(custom(&fixture, "s"), json!({ "count": 1 }));
    // Both calls of a step read the state as it was when the step began. Another process runs this turn.
    fixture.run(&["send", "s", "again"]).ends(0).says("Counted.");
    assert_eq!(custom(&fixture, "s"), json!({ "count": 2 }));
    fixture.run(&["send", "s", "count more, much more"]).ends(0);
    assert_eq!(custom(&fixture, "s"), json!({ "count": 3 }));
    fixture.run(&["run", "desk.toml", "--session", "t", "count"]).ends(0);
    fixture.run(&["sessions", "show", "s"]).ends(0).says("custom    {\"count\":3}");
    fixture.run(&["sessions", "replay", "s"]).ends(0);

    // The schema stored with the session allows no more than 3.
    program(&fixture, "tally.sh", &block("sh", "#!/bin/sh\ncount=").replace("+ 1", "+ 3"));
    fixture.run(&["send", "t", "much more"]).ends(0).says("Not counted.");
    assert_eq!(custom(&fixture, "t"), json!({ "count": 1 }));
    fixture.run(&["sessions", "messages", "t"]).ends(0).says("the state would not fit its schema: /count: ");

    program(&fixture, "tally.sh", "#!/bin/sh\necho counted\n");
    fixture.run(&["run", "desk.toml", "--session", "u", "count"]).ends(0).says("Not counted.");
    fixture.run(&["sessions", "messages", "u"]).ends(0).says("the program's output is no result: ");
}

/// A program that records its input, and ends once `gate` exists. It also ends if the process that started it is gone.
const SLOW: &str = r#"#!/bin/sh
cat >>sends
echo >>sends
until [ -e gate ]; do kill -0 "$PPID" 2>/dev/null || exit 1; sleep 0.02; done
echo '{"result": 1, "changes": [{"does": "append", "key": "log", "value": 1}]}'
"#;

#[test]
fn h18_a_killed_program_is_sent_the_same_state_again_and_changes_it_once() {
    let fixture = Fixture::new();
    agent(
        &fixture,
        &block("toml", "[[tool]]\nname = \"tally\"").replace("[state]", "effect = 'idempotent'\n[state]"),
    );
    program(&fixture, "tally.sh", SLOW);
    let doomed = fixture.start(&["run", "desk.toml", "--session", "s", "--lease", "1s", "count"]);
    wait_until("it is sent", || is_written(&fixture.path("files/sends")));
    doomed.signal(Signal::KILL);
    assert_eq!(doomed.end().code, None, "it was killed");
    fixture.write("files/gate", "");
    fixture.run(&["resume", "s"]).ends(0).says("Counted.");
    assert_eq!(fixture.read("files/sends"), "{\"arguments\":{},\"state\":{}}\n".repeat(2));
    assert_eq!(custom(&fixture, "s"), json!({ "log": [1] }));
}

#[test]
fn a_sub_agent_that_lists_the_tool_is_answered_at_the_root_and_has_a_state_of_its_own() {
    let fixture = Fixture::new();
    let clerk = "[[agent]]\nname = 'clerk'\ndescription = 'Scans'\ntools = ['scan']\n";
    agent(&fixture, &format!("{}{clerk}", scan()));
    fixture.run(&["run", "desk.toml", "--session", "s", "delegate"]).ends(10).says("scan");
    let child = fixture.run(&["sessions", "pending", "s", "--json"]).ends(0).last()["session"].clone();
    let child = child.as_str().expect("a session");
    let change = r#"{"does":"set","key":"total","value":1250}"#;
    let ran = fixture.run(&["answer", "s", "--change", change, "Total: 12.50 euros"]).ends(0);
    ran.says("It costs 12.50.").says("The clerk is done.");
    assert_eq!((custom(&fixture, child), custom(&fixture, "s")), (json!({ "total": 1250 }), json!({})));
}
