//! Session names with invisible characters: none can be created, existing ones stay readable, and none
//! affects a terminal.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use holdover_core::ids::{Incarnation, OperationId, QueueLabel, SessionKey, StateFormat};
use holdover_core::payload::Payload;
use holdover_core::store::{Labels, NewSession, Start, StateStore};
use holdover_core::text::is_hidden;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::Fixture;

/// A name with a character that reverses the direction of the text after it, and a zero-width space.
const ODD: &str = "gnp.\u{202e}exe notes\u{200b}";

/// Creates a session with this name, as an earlier version would have.
fn made_earlier(fixture: &Fixture, id: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let new = NewSession {
            key: SessionKey::new("default".parse().unwrap(), id.parse().unwrap()),
            incarnation: Incarnation(uuid::Uuid::from_u128(7)),
            operation: OperationId::new("made").unwrap(),
            queue: "te\u{202e}ster".parse::<QueueLabel>().unwrap(),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: Vec::new(),
            start: Start::WithItems,
        };
        store.create_session(new).await.unwrap();
        store.close().await;
    });
}

#[test]
fn no_new_session_has_a_name_that_hides_something() {
    let fixture = Fixture::new();
    for (odd, why) in [
        (ODD, "contains the invisible character U+202E at byte 4"),
        ("two words", "contains a blank at byte 3"),
        ("zero\u{200d}width", "contains the invisible character U+200D at byte 4"),
    ] {
        for more in [&["hello"][..], &["--detach", "hello"]] {
            let words = [&["run", "agent.toml", "--session", odd], more].concat();
            let ran = fixture.run(&words).fails(2, &[why, "choose another name"]);
            assert!(ran.err.trim_end().chars().all(|c| !is_hidden(c)), "{ran:#?}");
        }
    }
    fixture.run(&["run", "agent.toml", "--session", "plain", "hello"]).ends(0);
    fixture.run(&["sessions", "fork", "plain", "--to", ODD]).fails(2, &["U+202E"]);
    let handoff = ["sessions", "handoff", "plain", "--to", ODD, "--goal", "x"];
    fixture.run(&handoff).fails(2, &["U+202E"]);
}

#[test]
fn a_name_that_exists_can_be_used_and_is_shown_with_what_it_hides() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "plain", "hello"]).ends(0);
    made_earlier(&fixture, ODD);
    for words in
        [&["sessions", "list"][..], &["sessions", "show", ODD], &["doctor"], &["sessions", "delete", ODD]]
    {
        let ran = fixture.run(words).ends(0);
        assert!(ran.out.contains(r"gnp.\u{202e}exe notes\u{200b}") || words == ["doctor"], "{ran:#?}");
        assert!(ran.out.chars().all(|c| c == '\n' || !is_hidden(c)), "{ran:#?}");
    }
}

#[test]
fn programs_read_the_name_itself() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "plain", "hello"]).ends(0);
    made_earlier(&fixture, ODD);
    let ran = fixture.run(&["sessions", "list", "--json"]).ends(0);
    assert!(ran.lines().iter().any(|line| line["session"] == ODD), "{ran:#?}");
    assert!(ran.out.chars().all(|c| c == '\n' || !is_hidden(c)), "as JSON escapes it: {ran:#?}");
}
