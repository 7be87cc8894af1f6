//! Calls in doubt on the command line: they are listed with the commands that settle them. Plays the example of
//! docs/how-to/failures.md.
//!
//! Requirements: U03.

mod support;

use rustix::process::Signal;
use support::{Fixture, is_written, wait_until};

const PAGE: &str = include_str!("../../docs/how-to/failures.md");

/// Returns the code block in this language that contains `part`.
fn block(language: &str, part: &str) -> &'static str {
    let begins = format!("```{language}\n");
    let blocks = PAGE.split(begins.as_str()).skip(1).filter_map(|rest| Some(rest.split_once("```")?.0));
    blocks.into_iter().find(|block| block.contains(part)).unwrap_or_default()
}

/// A session `notes` at rest whose process was killed in the middle of its call `c1-0`.
fn killed() -> Fixture {
    let fixture = Fixture::new();
    let agent = format!("{}{}", block("toml", "in_doubt"), fixture.read("agent.toml"));
    fixture.write("agent.toml", &agent);
    let running = fixture.start(&["run", "agent.toml", "--session", "notes", "--lease", "1s", "linger"]);
    wait_until("the command runs", || is_written(&fixture.path("files/marker")));
    running.signal(Signal::KILL);
    running.end();
    fixture.run(&["resume", "notes"]).ends(0).says("It had begun.");
    fixture
}

#[test]
fn u03_a_call_in_doubt_is_listed_and_settled_as_the_page_says() {
    let fixture = killed();
    let listed = fixture.run(&["sessions", "pending"]).ends(0);
    listed
        .says("run_command (c1-0) waits for word of what became of a call")
        .says("result of this call was lost");
    let json = fixture.run(&["sessions", "pending", "--json"]).ends(0).last();
    let pending = json["pending"].as_str().expect("an id").to_owned();
    assert_eq!(json["kind"], "in_doubt");
    assert_eq!(json["done"], serde_json::json!(["holdover", "settle", pending, "--done", "-"]));
    assert_eq!(json["not_done"], serde_json::json!(["holdover", "settle", pending, "--not-done"]));
    fixture
        .run(&["sessions", "show", "notes"])
        .ends(0)
        .says("run_command (c1-0) waits for word of what became of a call");
    fixture.run(&["doctor"]).ends(0);
    let asked = fixture.run(&["events", "notes"]).ends(0).out.matches("model").count();

    fixture.run(&["settle", "notes"]).ends(2);
    fixture.run(&["settle", "notes", "--done", "x", "--not-done"]).ends(2);
    fixture.run(&["settle", "notes", "c9-9", "--not-done"]).fails(1, &["session notes: call c9-9: "]);
    fixture.run(&["settle", "notes", "--not-done", "--as", " "]).fails(1, &["the name of who settles"]);
    fixture.run(&["approve", "notes"]).fails(1, &["no call waits for approval", "c1-0"]);

    let binary = std::path::Path::new(support::HOLDOVER).parent().expect("a folder").display().to_string();
    for step in block("sh", "holdover settle").lines() {
        fixture.shell(&format!("PATH={binary}:$PATH; {step}")).ends(0);
    }
    let told = fixture.run(&["sessions", "messages", "notes"]).ends(0);
    told.says("which ended in doubt, is settled by Ada").says("← run_command in doubt");
    fixture.run(&["sessions", "pending"]).ends(0).says("nothing is owed");
    let events = fixture
        .run(&["events", "notes"])
        .ends(0)
        .says("call c1-0 of run_command is settled by Ada: it was done");
    assert_eq!(events.out.matches("model").count(), asked, "no model was asked");
    fixture.run(&["sessions", "show", "notes"]).ends(0).says("settled   [call c1-0 of run_command ");
    fixture.run(&["sessions", "replay", "notes"]).ends(0);

    fixture.run(&["settle", &pending, "--not-done"]).fails(1, &["session notes: call c1-0: is not pending"]);
}

#[test]
fn a_settlement_is_repeated_and_left_to_a_worker() {
    let fixture = killed();
    let json = fixture.run(&["sessions", "pending", "--json"]).ends(0).last();
    let pending = json["pending"].as_str().expect("an id");
    let settle = ["settle", pending, "--not-done", "--reason", "no trace of it", "--detach"];
    fixture.run(&settle).ends(0).says("accepted; left to a worker");
    fixture.run(&settle).ends(0).says("was settled so already; nothing was changed");
    let last = fixture.run(&[&settle[..], &["--json"]].concat()).ends(0).last();
    assert_eq!((&last["delivered"], &last["call"]), (&"duplicate".into(), &"c1-0".into()));
    fixture.run(&["work", "--until-idle"]).ends(0);
    fixture.run(&["sessions", "messages", "notes"]).ends(0).says("it was not done").says("no trace of it");
    fixture.run(&["sessions", "list"]).ends(0).says("at rest");
}
