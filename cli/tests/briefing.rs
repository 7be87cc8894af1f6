//! The instructions of an agent: the mode, the system prompt, the skills.
//!
//! Requirements: B11, C13, C14.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = r#"
name = "reader"
model = "scripted:script.toml"
identity = "the clerk of the house"
instructions = "Answer in verse."
skills = ["skills"]
tools = ["read_file", "write_file"]
root = "files"
"#;

/// A model whose answers show which instructions it received.
const SCRIPT: &str = r#"
[[turns]]
when = { result_of = "read_skill", result_contains = "Sort them by month." }
say = "I have read how."

[[turns]]
when = { result_of = "write_file" }
say = "I tried."

[[turns]]
when = { system_contains = "Speak like a pirate." }
say = "Arr."

[[turns]]
when = { user_contains = "file them", system_contains = "invoices: How invoices are filed" }
calls = [{ tool = "read_skill", arguments = { name = "invoices" } }]

[[turns]]
when = { user_contains = "write" }
calls = [{ tool = "write_file", arguments = { path = "note.txt", content = "x" } }]

[[turns]]
when = { system_contains = "the clerk of the house" }
say = "At your service."
"#;

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("reader.toml", AGENT);
    fixture.write("script.toml", SCRIPT);
    std::fs::create_dir_all(fixture.path("skills/invoices")).expect("a folder");
    let skill = "---\nname: invoices\ndescription: How invoices are filed\n---\nSort them by month.\n";
    fixture.write("skills/invoices/SKILL.md", skill);
    fixture
}

#[test]
fn c13_the_skills_of_the_file_are_listed_in_the_prompt_and_read_when_they_are_needed() {
    let fixture = fixture();
    fixture.run(&["run", "reader.toml", "--session", "s", "hi"]).ends(0).says("At your service.");
    fixture.run(&["send", "s", "file them"]).ends(0).says("I have read how.");
    // The skills are read again with the agent file, and a faulty one is an error.
    fixture.write("skills/invoices/SKILL.md", "no head");
    fixture.run(&["run", "reader.toml", "hi"]).fails(2, &["skills", "SKILL.md"]);
}

#[test]
fn c14_a_system_prompt_of_ones_own_replaces_the_agents_from_its_message_on() {
    let fixture = fixture();
    let pirate = "Speak like a pirate.";
    let ran = fixture.run(&["run", "reader.toml", "--session", "s", "--system-prompt", pirate, "hi"]);
    ran.ends(0).says("Arr.");
    fixture.run(&["send", "s", "and now?"]).ends(0).says("Arr.");
    fixture.run(&["send", "s", "--system-prompt", "", "and now?"]).ends(0).says("At your service.");
}

#[test]
fn b11_the_mode_of_a_session_is_set_and_holds_in_other_processes() {
    let fixture = fixture();
    fixture.run(&["run", "reader.toml", "--session", "s", "hi"]).ends(0);
    fixture
        .run(&["sessions", "mode", "s", "plan"])
        .ends(0)
        .says("session s: mode plan from its next step on");
    fixture.run(&["work", "--until-idle"]).ends(0);
    fixture.run(&["send", "s", "write it"]).ends(0).says("I tried.");
    assert!(!fixture.has("files/note.txt"), "it plans");
    fixture.run(&["send", "s", "--mode", "agent", "write it"]).ends(0).says("I tried.");
    assert!(fixture.has("files/note.txt"));
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!(shown["machine"]["mode"], "agent");
    fixture.run(&["sessions", "mode", "s", "sideways"]).ends(2);
    fixture.run(&["sessions", "mode", "nobody", "plan"]).fails(1, &["session nobody"]);
}
