//! Messages for later and named signals: the page about them is played, and wrong use is refused.

#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test may panic")]

mod support;

use support::Fixture;

const PAGE: &str = include_str!("../../docs/how-to/later-and-signals.md");

const SCRIPT: &str = r#"
[[turns]]
when = { user_contains = "order", nth = 1 }
calls = [{ tool = "wait_for", arguments = { name = "paid", within_seconds = 3600 } }]

[[turns]]
when = { result_of = "wait_for", result_contains = "12", result_status = "done" }
say = "Shipped."

[[turns]]
when = { user_contains = "stale", nth = 1 }
calls = [{ tool = "wait_for", arguments = { name = "never", within_seconds = 1 } }]

[[turns]]
when = { result_of = "wait_for", result_contains = "timed out", result_status = "error" }
say = "Nobody paid."

[[turns]]
say = "Good day."
"#;

fn blocks(language: &str) -> Vec<&'static str> {
    let begins = format!("```{language}\n");
    PAGE.split(begins.as_str()).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect()
}

fn fixture() -> Fixture {
    let fixture = Fixture::new();
    fixture.write("play.toml", SCRIPT);
    fixture.write("clerk.toml", &blocks("toml")[0].replace("openai:gpt-5-mini", "scripted:play.toml"));
    fixture
}

/// Plays the commands of a block of the page, one after the other.
fn play(fixture: &Fixture, block: &str) {
    let binary = std::path::Path::new(support::HOLDOVER).parent().expect("a folder").display().to_string();
    for step in block.lines() {
        fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(0);
    }
}

#[test]
fn messages_for_later_are_queued_taken_back_and_taken_at_their_instant() {
    let fixture = fixture();
    play(&fixture, blocks("sh")[0]);
    let queued = fixture.run(&["sessions", "queue", "notes"]).ends(0);
    queued.says("for 2050-05-01T08:00:00Z").says("The daily round");
    let shown = fixture.run(&["sessions", "queue", "notes", "--json"]).ends(0).last();
    assert_eq!(shown["not_before"], 2_535_004_800_000_i64);
    fixture.run(&["work", "--until-idle"]).ends(0);
    assert!(!fixture.run(&["sessions", "queue", "notes"]).ends(0).out.contains("build"), "withdrawn");
    fixture.run(&["sessions", "show", "notes"]).ends(0).says("due").says("2050-05-01T08:00:00Z");
    let sent = fixture.run(&["send", "notes", "--at", "0s", "hello", "--json"]).ends(0).last();
    assert_eq!((&sent["delivered"], &sent["item"]), (&"accepted".into(), &4.into()));
    fixture.run(&["work", "--until-idle"]).ends(0);
    let messages = fixture.run(&["sessions", "messages", "notes"]).ends(0);
    assert!(messages.out.contains("hello") && !messages.out.contains("daily"), "{messages:#?}");
    // A message for now is not held up, and its command does not wait for the other one.
    fixture.run(&["send", "notes", "now"]).ends(0).says("Good day.");
}

#[test]
fn a_call_waits_for_a_signal_that_another_command_sends() {
    let fixture = fixture();
    fixture.run(&["run", "clerk.toml", "--session", "order-7", "An order"]).ends(10).says("the signal paid");
    fixture.run(&["sessions", "show", "order-7"]).ends(0).says("waits for the signal paid").says("signal ");
    let shown = fixture.run(&["sessions", "show", "order-7", "--json"]).ends(0).last();
    assert_eq!(shown["outcome"]["owed"][0]["signal"], "paid", "{shown:#}");
    let other = fixture.run(&["signal", "order-7", "sent", "--key", "s"]).ends(0);
    other.says("accepted; held until a call waits for it");
    play(&fixture, blocks("sh")[1]);
    fixture.run(&["sessions", "messages", "order-7"]).ends(0).says(r#"{"sum": 12}"#).says("Shipped.");
    fixture.run(&["sessions", "show", "order-7"]).ends(0).says("1 held: sent");
    fixture.run(&["signal", "order-7", "sent", "--key", "s"]).ends(0).says("duplicate");
    fixture.run(&["sessions", "history", "order-7"]).ends(0).says("waits for the signal paid");
}

#[test]
fn a_wait_that_is_too_long_times_out_by_itself() {
    let fixture = fixture();
    fixture.run(&["run", "clerk.toml", "--session", "s", "stale"]).ends(10);
    fixture.run(&["work", "--until-idle"]).ends(0);
    while !fixture.run(&["sessions", "messages", "s"]).ends(0).out.contains("Nobody paid.") {
        fixture.run(&["work", "--until-idle"]).ends(0);
    }
}

#[test]
fn wrong_instants_names_and_bodies_are_refused() {
    let fixture = fixture();
    fixture.run(&["run", "clerk.toml", "--session", "s", "hello"]).ends(0);
    for (words, why) in [
        (&["send", "s", "--at", "tomorrow", "x"][..], "write how long from now"),
        (&["send", "s", "--at", "+1h", "--note", "x"], "cannot be used with"),
        (&["send", "s", "--at", "+1h", "--wait", "x"], "cannot be used with"),
        (&["signal", "s", "a b"], "signal name contains ' '"),
        (&["signal", "s", "paid", "--body", "{"], "--body: it is not JSON"),
    ] {
        let refused = fixture.run(words).ends(2);
        assert!(refused.err.contains(why), "{refused:#?}");
    }
    fixture.run(&["signal", "nowhere", "paid"]).ends(1);
    fixture.run(&["send", "s", "--at", "+1h", "--key", "k", "x"]).ends(0);
    let other = fixture.run(&["send", "s", "--at", "+2h", "--key", "k", "x"]).ends(1);
    assert!(other.err.contains("the key was used before for something else"), "{other:#?}");
    let show = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!(show["unread"], 1, "what is refused is not stored: {show:#}");
}
