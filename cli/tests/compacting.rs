//! Long sessions: summaries, and sessions that are rebuilt from their history.
//!
//! Requirements: D19.

mod support;

use support::Fixture;

const AGENT: &str = r#"
name = "talker"
model = "scripted:talk.toml"

[compaction]
kept_turns = 1
"#;

/// A model that answers, and that writes summaries of the conversation.
const TALK: &str = r###"
[[turns]]
when = { user_contains = "AGENT: Good day." }
say = "## Current State\nwe have met\n## Original Task\nto greet"

[[turns]]
when = { user_contains = "third" }
say = "And so we meet again."

[[turns]]
when = { user_contains = "hello" }
say = "Good day."
"###;

fn met_twice() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("talker.toml", AGENT);
    fixture.write("talk.toml", TALK);
    fixture.run(&["run", "talker.toml", "--session", "s", "hello"]).ends(0);
    fixture.run(&["send", "s", "hello again"]).ends(0);
    fixture
}

#[test]
fn a71_what_is_old_is_summarised_when_somebody_asks_for_it() {
    let fixture = met_twice();
    let ran = fixture.run(&["compact", "s"]).ends(0);
    ran.says("• older messages are summarised").says("we have met").says("• summarised: ");
    // No message was deleted, and the session can go on.
    let messages = fixture.run(&["sessions", "messages", "s"]).ends(0);
    messages
        .says("> hello\n")
        .says("• summary of all before message 3:\n  ## Current State\n  we have met\n");
    fixture.run(&["sessions", "show", "s"]).ends(0).says("idle");
    fixture.run(&["send", "s", "a third time"]).ends(0).says("And so we meet again.");
    let ended = &fixture.run(&["events", "s", "--json"]).ends(0);
    assert_eq!(ended.out.matches(r#""type":"compaction_ended""#).count(), 1, "{ended:#?}");
}

#[test]
fn where_nothing_is_old_nothing_is_changed() {
    let fixture = met_twice();
    fixture.run(&["compact", "s"]).ends(0).says("• summarised: ");
    fixture.run(&["compact", "s"]).ends(0).says("• nothing is old enough to be summarised");
    let messages = fixture.run(&["sessions", "messages", "s"]).ends(0);
    assert_eq!(messages.out.matches("summary of all").count(), 1, "{messages:#?}");
}

#[test]
fn only_a_session_at_rest_is_summarised() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "write"]).ends(10);
    fixture
        .run(&["compact", "s"])
        .fails(1, &["session s: it is waiting; only a session at rest can be compacted"]);
    fixture.run(&["compact", "nobody"]).fails(1, &["session nobody: there is no such session"]);
}

/// Requirements: D19.
#[test]
fn c57_a_session_is_rebuilt_from_its_history_alone() {
    let fixture = met_twice();
    fixture.run(&["compact", "s"]).ends(0);
    let ran = fixture.run(&["sessions", "replay", "s"]).ends(0);
    ran.says(" rows lead to done, and so says its state");
    let last = fixture.run(&["sessions", "replay", "s", "--json"]).ends(0).last();
    assert_eq!((&last["agrees"], &last["ends_in"]), (&true.into(), &"done".into()));
    fixture.run(&["sessions", "replay", "nobody"]).fails(1, &["there is no such session"]);
}

#[test]
fn the_ways_through_the_machine_are_shown_to_a_depth() {
    let fixture = Fixture::new();
    let ran = fixture.run(&["machine", "--paths", "6"]).ends(0);
    ran.says("idle -turn_requested-> provisioning").says("-torn_down-> done\n").says(" …\n");
    let first = fixture.run(&["machine", "--paths", "1", "--json"]).ends(0);
    assert!(first.out.contains(r#""rests":false"#), "{first:#?}");
    fixture.run(&["machine", "--paths", "13"]).ends(2);
}
