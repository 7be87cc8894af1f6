//! Turns of tenants when workers share a handle.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use holdover_store_memory::MemoryStore;
use uuid::Uuid;

async fn put(store: &MemoryStore, queue: &str, tenant: &str, nth: u32, alarm: i64) {
    let new = NewSession {
        key: SessionKey::new(tenant.parse().unwrap(), format!("s{nth}").parse().unwrap()),
        incarnation: Incarnation(Uuid::new_v4()),
        operation: format!("create-{}", Uuid::new_v4()).parse().unwrap(),
        queue: queue.parse().unwrap(),
        labels: Labels::default(),
        definition: Payload::new("{}"),
        format: StateFormat(1),
        items: vec![],
        start: Start::At(Timestamp::from_ms(alarm)),
    };
    store.create_session(new).await.unwrap();
}

/// Claims one session of a queue and returns its tenant.
async fn served(store: &MemoryStore, queue: &str) -> String {
    let claim = ClaimDue {
        runs: vec![format!("run-{}", Uuid::new_v4()).parse().unwrap()],
        worker: "worker".parse().unwrap(),
        lease: Duration::from_secs(600),
        queues: Queues::Named(vec![queue.parse().unwrap()]),
        newest_format: StateFormat(1),
        tenant: None,
    };
    let claims = store.claim_due(claim).await.unwrap();
    assert_eq!(claims.len(), 1);
    claims[0].fence.key.tenant.to_string()
}

#[tokio::test]
async fn a_worker_of_another_queue_takes_nobodys_turn() {
    let store = MemoryStore::new();
    for nth in 0..20 {
        put(&store, "a", "m", nth, 0).await;
        put(&store, "b", "n", nth, 0).await;
    }
    put(&store, "b", "z", 0, 1).await;
    let mut of_b = Vec::new();
    for _ in 0..3 {
        assert_eq!(served(&store, "a").await, "m");
        of_b.push(served(&store, "b").await);
    }
    assert_eq!(of_b, ["n", "z", "n"]);
}

#[tokio::test]
async fn an_alarm_at_the_end_of_time_is_as_good_as_none() {
    let store = MemoryStore::new();
    put(&store, "a", "m", 0, i64::MAX).await;
    put(&store, "b", "n", 0, 0).await;
    let all = ClaimDue {
        runs: vec!["r1".parse().unwrap(), "r2".parse().unwrap()],
        worker: "worker".parse().unwrap(),
        lease: Duration::from_secs(600),
        queues: Queues::All,
        newest_format: StateFormat(u32::MAX),
        tenant: None,
    };
    assert_eq!(store.claim_due(all).await.unwrap().len(), 1);
}
