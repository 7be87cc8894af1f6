//! A session whose state does not follow from its history is reported.
//!
//! Requirements: C57.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use holdover_core::engine::STATE_FORMAT;
use holdover_core::ids::SessionKey;
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Commit, CommitOutcome, NewState, OutcomeKind, Release, RunEnd, SessionStatus,
    StateStore,
};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use support::Fixture;

/// Changes the stored state of session `s` in a way that no command offers.
async fn doctor_state(fixture: &Fixture, change: impl FnOnce(&mut Value)) {
    let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
    let key = SessionKey::new("default".parse().unwrap(), "s".parse().unwrap());
    let one = ClaimOne {
        run: "doctors".parse().unwrap(),
        worker: "nobody".parse().unwrap(),
        lease: Duration::from_secs(30),
        expected_version: None,
        items: Vec::new(),
    };
    let ClaimOutcome::Claimed(claim) = store.claim_session(&key, one).await.unwrap() else {
        panic!("it rests")
    };
    let mut state: Value = claim.session.state.as_ref().unwrap().parse().unwrap();
    change(&mut state);
    let commit = Commit {
        state: Some(NewState { format: STATE_FORMAT, payload: Payload::json(&state).unwrap() }),
        run: Some(RunEnd { outcome: OutcomeKind::Released, detail: Payload::new("") }),
        release: Some(Release::To { status: SessionStatus::Idle, deadline: None, wake_on: 0 }),
        ..Commit::new("doctors".parse().unwrap())
    };
    let written = store.commit(&claim.fence, commit).await.unwrap();
    assert!(matches!(written, CommitOutcome::Committed(_)), "{written:?}");
    store.close().await;
}

#[test]
fn c57_a_state_that_its_history_does_not_make_is_told_with_the_place_and_exit_code_1() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "hello"]).ends(0);
    fixture.run(&["sessions", "replay", "s"]).ends(0);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(doctor_state(&fixture, |state| state["usage"]["model_calls"] = json!(9)));

    let ran = fixture.run(&["sessions", "replay", "s"]).ends(1);
    assert_eq!(ran.out, "session s: usage.model_calls: the rows say 1, the state says 9\n");
    let told = fixture.run(&["sessions", "replay", "s", "--json"]).ends(1).last();
    assert_eq!(
        (&told["agrees"], &told["ends_in"], &told["broken"]),
        (&json!(false), &json!("done"), &json!(null))
    );
    assert_eq!(told["differences"], json!([{ "place": "usage.model_calls", "rows": 1, "state": 9 }]));
}
