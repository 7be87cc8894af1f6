//! A worker that ends by itself leaves nothing behind that it had begun.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use futures::future::join_all;
use holdover_core::ids::{
    Incarnation, OperationId, QueueLabel, SessionId, SessionKey, StateFormat, TenantId,
};
use holdover_core::payload::Payload;
use holdover_core::store::{Labels, NewSession, Start, StateStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use support::Fixture;

/// So many that a list of them takes longer than a claim.
const AT_REST: u128 = 3_000;

/// Sessions that rest, all of them younger than what is there.
fn add_sessions_at_rest(fixture: &Fixture) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = SqliteStore::open(SqliteOptions::new(fixture.path("holdover.db"))).await.unwrap();
        let created = (0..AT_REST).map(|number| {
            let id = SessionId::new(format!("rests-{number}")).unwrap();
            store.create_session(NewSession {
                key: SessionKey::new(TenantId::new("default").unwrap(), id),
                incarnation: Incarnation(uuid::Uuid::from_u128(number + 1)),
                operation: OperationId::new("create").unwrap(),
                queue: QueueLabel::new("q").unwrap(),
                labels: Labels::default(),
                definition: Payload::new("{}"),
                format: StateFormat(1),
                items: Vec::new(),
                start: Start::WithItems,
            })
        });
        for created in join_all(created).await {
            created.unwrap();
        }
        store.close().await;
    });
}

#[test]
fn a_worker_that_ends_idle_has_left_no_session_held() {
    let fixture = Fixture::new();
    fixture.run(&["run", "agent.toml", "--session", "s", "--detach", "hello"]).ends(0);
    add_sessions_at_rest(&fixture);
    // The session that is due is the last of the list: it is claimed while the list is read.
    fixture.run(&["work", "--until-idle"]).ends(0).says("session s: completed").says("idle");
    let shown = fixture.run(&["sessions", "show", "s", "--json"]).ends(0).last();
    assert_eq!((&shown["status"], &shown["alarm"]), (&"idle".into(), &serde_json::Value::Null));
}
