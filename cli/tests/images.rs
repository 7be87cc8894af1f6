//! Pictures that are attached to a message or an answer.
//!
//! Requirements: A51.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const AGENT: &str = r#"
name = "looker"
model = "scripted:script.toml"
tools = ["read_file"]
root = "."
"#;

const SCRIPT: &str = r#"
[[turns]]
when = { result_of = "read_file" }
say = "I have seen it."

[[turns]]
when = { user_contains = "read" }
calls = [{ tool = "read_file", arguments = { path = "plan.png" } }]

[[turns]]
say = "A plan."
"#;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("looker.toml", AGENT);
    fixture.write("script.toml", SCRIPT);
    std::fs::write(fixture.path("plan.png"), PNG).unwrap();
    fixture
}

#[test]
fn a51_a_picture_is_said_with_a_message_and_one_that_is_none_changes_nothing() {
    let fixture = fixture();
    let run = ["run", "looker.toml", "--session", "s", "--image"];
    fixture.write("plan.txt", "a plan");
    let mut large = PNG.to_vec();
    large.resize((1 << 20) + 1, 0);
    std::fs::write(fixture.path("large.png"), &large).unwrap();
    for (file, why) in [
        ("plan.txt", "plan.txt: is no picture that models read: PNG, JPEG, GIF or WebP"),
        ("none.png", "none.png: No such file"),
        ("large.png", "large.png: a picture has at most 1048576 bytes"),
    ] {
        fixture.run(&[&run[..], &[file, "look"]].concat()).fails(2, &[why]);
    }
    // The run did not begin: there is no store.
    fixture.run(&["sessions", "list"]).fails(1, &["there is no"]);

    fixture.run(&[&run[..], &["plan.png", "look"]].concat()).ends(0).says("A plan.");
    fixture.run(&["send", "s", "--image", "plan.png", "--image", "plan.png", "and at these"]).ends(0);
    fixture.run(&["send", "s", "read it"]).ends(0).says("I have seen it.");
    let messages = fixture.run(&["sessions", "messages", "s"]).ends(0);
    assert_eq!(messages.out.matches("> [a picture: image/png, 8 bytes]").count(), 3, "{messages:#?}");
    assert!(messages.out.contains("[plan.png: image/png, 8 bytes]"), "{messages:#?}");
    let told = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert_eq!(told.out.matches("iVBORw0KGgo=").count(), 4, "{told:#?}");
}

#[test]
fn a51_a_picture_is_shown_with_an_answer() {
    let fixture = Fixture::new();
    std::fs::write(fixture.path("plan.png"), PNG).unwrap();
    fixture.run(&["run", "agent.toml", "--session", "s", "ask"]).ends(10);
    let answer = ["answer", "s", "--image", "plan.png"];
    fixture.run(&[&answer[..], &["--error", "blue"]].concat()).ends(2);
    fixture.run(&[&answer[..], &["blue"]].concat()).ends(0).says("Blue it is.");
    let told = fixture.run(&["sessions", "messages", "s", "--json"]).ends(0);
    assert_eq!(told.out.matches("iVBORw0KGgo=").count(), 1, "{told:#?}");
    // Repeating the answer changes nothing. Without the picture it counts as another answer, which is
    // refused.
    fixture.run(&[&answer[..], &["c1-0", "blue"]].concat()).ends(0);
    fixture.run(&["answer", "s", "c1-0", "blue"]).fails(1, &["it has its result already"]);
}
