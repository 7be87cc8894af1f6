//! A session that no command can read is set aside, shown, and replayed once it can be read.
//!
//! Requirements: C03.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use holdover_core::ids::SessionKey;
use holdover_core::payload::Payload;
use holdover_core::store::{ClaimOne, ClaimOutcome, Commit, CommitOutcome, NewState, Release, StateStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use support::Fixture;

/// Returns the commands of docs/how-to/failures.md, for this session and its letter.
fn commands_of_the_page(session: &str, letter: &str) -> Vec<Vec<String>> {
    let page = include_str!("../../docs/how-to/failures.md");
    let (_, section) = page.split_once("## Sessions that cannot be read").unwrap();
    let (_, block) = section.split_once("```sh\n").unwrap();
    let (block, _) = block.split_once("```").unwrap();
    let named = |word: &str| match word {
        "SESSION" => session.to_owned(),
        "LETTER" => letter.to_owned(),
        word => word.to_owned(),
    };
    let words = |line: &str| {
        let command = line.split_once('#').map_or(line, |(command, _)| command);
        command.split_whitespace().skip(1).map(named).collect()
    };
    block.lines().map(words).collect()
}

/// Gives the stored state of session `s` this name, as a newer version could. Returns the name that it had.
fn rename_state(fixture: &Fixture, name: &str) -> String {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let key = SessionKey::new("default".parse().unwrap(), "s".parse().unwrap());
        let one = ClaimOne {
            run: "newer".parse().unwrap(),
            worker: "newer".parse().unwrap(),
            lease: Duration::from_secs(30),
            expected_version: None,
            items: Vec::new(),
        };
        let ClaimOutcome::Claimed(claim) = store.claim_session(&key, one).await.unwrap() else {
            panic!("it rests")
        };
        let mut state: Value = claim.session.state.as_ref().unwrap().parse().unwrap();
        let before = state["state"]["state"].as_str().unwrap().to_owned();
        state["state"]["state"] = json!(name);
        let commit = Commit {
            state: Some(NewState { format: claim.session.format, payload: Payload::json(&state).unwrap() }),
            release: Some(Release::To { status: claim.found, deadline: None, wake_on: 0 }),
            ..Commit::new("newer".parse().unwrap())
        };
        let written = store.commit(&claim.fence, commit).await.unwrap();
        assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
        store.close().await;
        before
    })
}

#[test]
fn c03_a_session_that_cannot_be_read_is_set_aside_shown_and_replayed_as_the_page_says() {
    let fixture = Fixture::new();
    fixture.write("clerk.toml", "name = 'clerk'\nmodel = 'scripted:says.toml'\n");
    fixture.write("says.toml", "[[turns]]\nsay = 'Hello.'\n[[turns]]\nsay = 'More of it.'\n");
    fixture.run(&["run", "clerk.toml", "--session", "s", "hello"]).ends(0);
    let known = rename_state(&fixture, "dreaming");
    let refused = fixture.run(&["send", "s", "more"]).ends(1);
    assert!(refused.err.contains("unknown variant `dreaming`"), "{refused:#?}");

    let why = "no handler for state `dreaming`";
    fixture.run(&["dead", "list"]).ends(0).says(why).says("could not read the session").says("dead replay");
    fixture.run(&["sessions", "list"]).ends(0).says("failed (dead letter)");
    fixture
        .run(&["sessions", "show", "s"])
        .ends(0)
        .says("failed (dead letter)")
        .says(why)
        .says("dead replay");
    fixture.run(&["doctor"]).ends(1).says("1 dead letter").says("dead list");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!((&shown["status"], &shown["unread"]), (&json!("failed"), &json!(1)));
    assert_eq!(shown["dead_letters"][0]["prompt"], json!(format!("engine.unreadable: {why}")));
    let letter = fixture.run(&["dead", "list", "--json"]).ends(0).last();
    assert_eq!((&letter["cause"], &letter["turn"]), (&json!("unreadable"), &json!(1)));

    // A replay by a program that cannot read it either leaves it as it was.
    fixture.run(&["dead", "replay", "--all"]).ends(0).says("session s: tries again");
    fixture.run(&["work", "--until-idle"]).ends(0);
    let again = fixture.run(&["dead", "list", "--json"]).ends(0).last();
    assert_ne!(again["letter"], letter["letter"]);
    assert_eq!(again["replayed"], json!(false));

    rename_state(&fixture, &known);
    for command in commands_of_the_page("s", again["letter"].as_str().unwrap()) {
        fixture.run(&command.iter().map(String::as_str).collect::<Vec<_>>()).ends(0);
    }
    fixture.run(&["dead", "list"]).ends(0).says("no dead letters");
    let after = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!((&after["status"], &after["unread"], &after["turns"]), (&json!("idle"), &json!(0), &json!(2)));
    assert_eq!(after["dead_letters"], json!([]));
}
