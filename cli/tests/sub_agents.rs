//! Sub-agents of an agent file, whose sessions any process can run.
//!
//! Requirements: A61, A63, A64.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::{Fixture, Ran};

const AGENT: &str = r#"
name = "chief"
model = "scripted:chief.toml"
root = "files"
tools = ["read_file", "write_file"]

[[approval]]
tool = "write_file"
action = "ask"

[[agent]]
name = "clerk"
description = "Writes and reads."
instructions = "You are a clerk."
tools = ["read_file", "write_file"]
permissions = "full"
"#;

/// An agent whose sub-agent may use a skill and a program of its parent.
const MIXING: &str = r#"
name = "chief"
model = "scripted:chief.toml"
root = "files"
skills = ["skills"]
always_allow = ["stamp"]

[[tool]]
name = "stamp"
description = "Stamps"
command = ["sh", "-c", "echo stamped > stamped"]
dangerous = true

[[agent]]
name = "mixer"
description = "Mixes."
instructions = "You are a mixer."
tools = ["read_skill", "stamp"]
"#;

const MIXING_SCRIPT: &str = r#"
[[turns]]
when = { system_contains = "How to mix ink", user_contains = "task", nth = 1 }
calls = [{ tool = "read_skill", arguments = { name = "ink" } }, { tool = "stamp", arguments = {} }]

[[turns]]
when = { system_contains = "You are a mixer.", result_of = "stamp", result_status = "done" }
say = "The ink is mixed."

[[turns]]
when = { result_of = "mixer", result_contains = "is mixed" }
say = "There is ink."

[[turns]]
when = { user_contains = "ink", nth = 1 }
calls = [{ tool = "mixer", arguments = { tasks = ["your task"] } }]
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { system_contains = "You are a clerk.", user_contains = "read", nth = 1 }
calls = [{ tool = "read_file", arguments = { path = "note.txt" } }]

[[turns]]
when = { system_contains = "You are a clerk.", user_contains = "write", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "blue" } }]

[[turns]]
when = { system_contains = "You are a clerk.", result_of = "read_file", result_contains = "green", result_status = "done" }
say = "The note says green."

[[turns]]
when = { system_contains = "You are a clerk.", result_of = "write_file", result_status = "done" }
say = "The note is written."

[[turns]]
when = { result_of = "clerk", result_contains = "says green" }
say = "The clerk read green."

[[turns]]
when = { result_of = "clerk", result_contains = "is written" }
say = "The clerk wrote it."

[[turns]]
when = { user_contains = "look", nth = 1 }
calls = [{ tool = "clerk", arguments = { tasks = ["read the note"] } }]

[[turns]]
when = { user_contains = "note", nth = 1 }
calls = [{ tool = "clerk", arguments = { tasks = ["write the note"] } }]
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("chief.toml", SCRIPT);
    fixture.write("agent.toml", AGENT);
    fixture.write("files/note.txt", "green");
    fixture
}

fn work(fixture: &Fixture) -> Ran {
    fixture.run(&["work", "--until-idle"]).ends(0)
}

/// Returns the id of the only child session.
fn child(fixture: &Fixture) -> String {
    let listed = fixture.run(&["sessions", "list", "--json"]).ends(0);
    let ids = listed.lines().into_iter().map(|line| line["session"].as_str().unwrap().to_owned());
    let children: Vec<String> = ids.filter(|id| id.starts_with("child-")).collect();
    assert_eq!(children.len(), 1, "{listed:#?}");
    children.into_iter().next().unwrap()
}

#[test]
fn a61_a_worker_runs_the_child_and_the_parent_ends_with_its_result() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "look"]).ends(0);
    // The agent file is no longer needed: the definition is stored with the sessions.
    fixture.write("agent.toml", "");
    work(&fixture);
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("The clerk read green.");
    let id = child(&fixture);
    fixture.run(&["sessions", "show", &id]).ends(0).says("chief>clerk").says("chief.toml");
}

#[test]
fn a63_a_child_that_another_process_runs_passes_the_rules_of_its_parent() {
    let fixture = fixture();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "note"]).ends(0);
    work(&fixture);
    assert_eq!(fixture.read("files/note.txt"), "green", "a person is asked first");
    let id = child(&fixture);
    fixture.run(&["sessions", "show", &id]).says("write_file");
    fixture.run(&["approve", &id, "--detach"]).ends(0);
    work(&fixture);
    assert_eq!(fixture.read("files/note.txt"), "blue");
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("The clerk wrote it.");
}

#[test]
fn a61_a_child_that_another_process_runs_has_the_skills_and_programs_that_it_may_use() {
    let fixture = fixture();
    std::fs::create_dir_all(fixture.path("skills/ink")).unwrap();
    fixture
        .write("skills/ink/SKILL.md", "---\nname: ink\ndescription: How to mix ink\n---\nStir it twice.\n");
    fixture.write("chief.toml", MIXING_SCRIPT);
    fixture.write("agent.toml", MIXING);
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "ink"]).ends(0);
    work(&fixture);
    fixture.run(&["sessions", "messages", "s"]).ends(0).says("There is ink.");
    fixture.run(&["sessions", "messages", &child(&fixture)]).ends(0).says("Stir it twice.");
    assert!(fixture.has("files/stamped"), "it ran in the root");
}

/// Agents on three levels: the chief has a clerk, and the clerk has a page.
const THREE: &str = r#"
name = "chief"
model = "scripted:three.toml"
root = "files"
tools = ["read_file", "write_file"]

[[approval]]
tool = "write_file"
action = "ask"

[[agent]]
name = "clerk"
description = "Passes on."
instructions = "You are a clerk."
tools = ["write_file"]

[[agent.agent]]
name = "page"
description = "Writes."
instructions = "You are a page."
tools = ["write_file"]
"#;

const THREE_SCRIPT: &str = r#"
[[turns]]
when = { system_contains = "You are a page.", user_contains = "write", nth = 1 }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "blue" } }]

[[turns]]
when = { system_contains = "You are a page.", result_of = "write_file", result_status = "done" }
say = "Written."

[[turns]]
when = { system_contains = "You are a clerk.", user_contains = "note", nth = 1 }
calls = [{ tool = "page", arguments = { tasks = ["write the note"] } }]

[[turns]]
when = { system_contains = "You are a clerk.", result_of = "page" }
say = "The page wrote it."

[[turns]]
when = { result_of = "clerk", result_contains = "The page wrote it." }
say = "The clerk had it written."

[[turns]]
when = { user_contains = "go", nth = 1 }
calls = [{ tool = "clerk", arguments = { tasks = ["see to the note"] } }]
"#;

#[test]
fn h25_an_approval_of_a_grandchild_is_shown_and_given_at_the_root_without_any_worker() {
    let fixture = fixture();
    fixture.write("three.toml", THREE_SCRIPT);
    fixture.write("agent.toml", THREE);
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "go", "--json"]).ends(10);
    let last = ran.lines().pop().unwrap();
    assert_eq!(last["outcome"]["kind"], "suspended_awaiting_children", "{last:#}");
    let owed = last["outcome"]["owed"].as_array().unwrap();
    assert_eq!(owed.len(), 2, "{owed:#?}");
    assert_eq!((&owed[0]["tool"], &owed[0]["session"]), (&"clerk".into(), &"s".into()));
    assert_eq!((&owed[1]["tool"], &owed[1]["kind"]), (&"write_file".into(), &"approval".into()));
    assert!(owed[1]["answer"].is_array(), "{owed:#?}");
    assert_eq!(fixture.read("files/note.txt"), "green", "a person is asked first");

    fixture.run(&["sessions", "show", "s"]).ends(0).says("in session child-").says("holdover approve");
    let pending = fixture.run(&["sessions", "pending", "s", "--json"]).ends(0).lines();
    let asked = pending.iter().find(|call| call["kind"] == "approval").unwrap();
    assert_eq!(asked["session"], owed[1]["session"]);

    // The command names only the root session, and the whole tree goes on.
    fixture.run(&["approve", "s"]).ends(0).says("The clerk had it written.");
    assert_eq!(fixture.read("files/note.txt"), "blue");
    let id = asked["pending"].as_str().unwrap();
    fixture.run(&["approve", id]).ends(0).says("was approved already");
}

#[test]
fn an_approval_by_its_id_goes_on_with_the_tree_that_waits_for_it() {
    let fixture = fixture();
    fixture.write("three.toml", THREE_SCRIPT);
    fixture.write("agent.toml", THREE);
    fixture.run(&["run", "agent.toml", "--session", "s", "go"]).ends(10);
    let pending = fixture.run(&["sessions", "pending", "--json"]).ends(0).lines();
    let asked = pending.iter().find(|call| call["kind"] == "approval").unwrap();
    let ran = fixture.run(&["approve", asked["pending"].as_str().unwrap()]).ends(0);
    ran.says("The clerk had it written.");
}

#[test]
fn a_tree_is_shown_with_what_each_session_waits_for_and_what_all_have_used() {
    let fixture = fixture();
    fixture.write("three.toml", THREE_SCRIPT);
    fixture.write("agent.toml", THREE);
    fixture.run(&["run", "agent.toml", "--session", "s", "go"]).ends(10);
    let shown = fixture.run(&["sessions", "tree", "s"]).ends(0);
    let lines: Vec<&str> = shown.out.lines().collect();
    assert!(lines[0].starts_with("s ") && lines[0].contains("waits for other sessions"), "{}", shown.out);
    assert!(lines[1].starts_with("  child-") && lines[1].contains("chief>clerk "), "{}", shown.out);
    assert!(lines[2].starts_with("    child-") && lines[2].contains("waits for approval"), "{}", shown.out);

    fixture.run(&["approve", "s"]).ends(0);
    let rest = fixture.run(&["sessions", "tree", "s", "--json"]).ends(0).lines();
    assert_eq!(rest.len(), 2, "its call has ended: {rest:#?}");
    let all = fixture.run(&["sessions", "tree", "s", "--all", "--json"]).ends(0).lines();
    assert_eq!(all.len(), 4, "{all:#?}");
    assert_eq!((&all[2]["depth"], &all[2]["parent"]), (&2.into(), &all[1]["session"]));
    assert_eq!(all[2]["waits"], false);
    assert_eq!(all[3]["usage"], all[0]["usage"], "the root has the usage of all, and it counts once");
    assert_eq!(rest[1]["usage"], all[0]["usage"]);
    assert_eq!(all[0]["usage"]["model_calls"], 6);
}

#[test]
fn a65_the_events_of_children_are_printed_with_their_names_and_followed_from_one_cursor() {
    let fixture = fixture();
    fixture.write("three.toml", THREE_SCRIPT);
    fixture.write("agent.toml", THREE);
    let ran = fixture.run(&["run", "agent.toml", "--session", "s", "go"]).ends(10);
    let ran = ran.says("  clerk[1]  > see to the note").says("    page[1]  → write_file");
    assert!(!ran.out.contains("page[1]  • completed"), "it waits:\n{}", ran.out);
    let seen = fixture.run(&["events", "s", "--tree", "--json"]).ends(0).lines();

    // When the session goes on, only later events are printed.
    let ran = fixture.run(&["approve", "s", "--json"]).ends(0);
    let went_on: Vec<_> = ran.lines().into_iter().filter(|line| line["event"].is_object()).collect();
    let cursor = seen.last().unwrap()["cursor"].as_str().unwrap();
    let after = fixture.run(&["events", "s", "--tree", "--json", "--after", cursor]).ends(0).lines();
    let events = |lines: &[serde_json::Value]| {
        let mut events: Vec<_> =
            lines.iter().map(|line| (line["child"]["session"].to_string(), line["seq"].as_u64())).collect();
        events.sort();
        events
    };
    assert_eq!(events(&went_on), events(&after));
    let all = fixture.run(&["events", "s", "--tree", "--json"]).ends(0).lines();
    assert_eq!(events(&[seen.clone(), after].concat()), events(&all));

    let page = all.iter().find(|line| line["child"]["agent"] == "page").unwrap();
    assert_eq!((&page["child"]["depth"], &page["child"]["index"]), (&2.into(), &0.into()));
    assert!(page["child"]["parent"].as_str().unwrap().starts_with("child-"), "{page:#}");
    let said: Vec<_> = all.iter().filter(|line| line["message"]["role"] == "assistant").collect();
    assert_eq!(said.len(), 6, "every message of each of the three: {said:#?}");

    let root = fixture.run(&["events", "s", "--json"]).ends(0).lines();
    assert!(root.iter().all(|line| line["child"].is_null()));
    let rest = fixture.run(&["events", "s", "--json", "--after", cursor]).ends(0).lines();
    assert!(!rest.is_empty() && rest.len() < root.len(), "the cursor of a tree holds that of its root");
    let refused = fixture.run(&["events", "s", "--tree", "--after", "xyz"]).ends(2);
    assert!(refused.err.contains("--after") && refused.err.contains("not a cursor"), "{}", refused.err);
}
