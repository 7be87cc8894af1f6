//! A deleted long session is gone at once; its rows are removed piece by piece.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::time::{Duration, Instant};

use holdover_store::ids::Incarnation;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_sqlite::SqliteStore;
use sqlx::Connection;
use support::*;

/// The number of messages in a long session.
const LONG: usize = 4_000;
/// The number of writes after the deletion. The store removes one piece after each of them.
const WRITES: usize = 20;

/// Creates a session with many messages and claims it.
async fn long(store: &SqliteStore, id: &str) -> Claim {
    let claim = claimed(store, id).await;
    for n in 0..LONG / 1_000 {
        let messages = (0..1_000).map(|m| NewMessage::Inline(Payload::new(format!("-secret-{id}-{n}-{m}-"))));
        let said = Commit { messages: messages.collect(), ..commit(&format!("c{n}")) };
        receipt(store.commit(&claim.fence, said).await.unwrap());
    }
    claim
}

/// Returns the number of messages in the file, and the number of removed sessions that still have rows.
async fn left(folder: &Folder) -> (i64, i64) {
    let mut conn = folder.raw().await;
    let counts = "SELECT (SELECT count(*) FROM message), (SELECT count(*) FROM holdover_removed)";
    let left = sqlx::query_as(counts).fetch_one(&mut conn).await.unwrap();
    conn.close().await.unwrap();
    left
}

#[tokio::test]
async fn a_long_session_is_gone_at_once_and_nothing_is_left_of_it_in_the_end() {
    let folder = Folder::new();
    let store = folder.store().await;
    let gone = long(&store, "gone").await.fence.key;
    assert!(times(&folder, "-secret-") >= LONG, "they are there");
    assert_eq!(store.delete_session(&gone, Deletion::FORCE).await.unwrap(), DeleteOutcome::Deleted);
    assert_eq!(store.load_session(&gone).await.unwrap(), None);
    // Creates the same key again, while rows of the deleted session may still exist.
    let again = NewSession {
        incarnation: Incarnation(uuid::Uuid::from_u128(2)),
        operation: "again".parse().unwrap(),
        start: Start::Claimed(claim_one("again")),
        ..new_session(&gone)
    };
    let created = store.create_session(again).await.unwrap();
    let CreateOutcome::Created { claim: Some(again), .. } = created else { panic!("{created:?}") };
    receipt(store.commit(&again.fence, saying("c", "hello")).await.unwrap());
    assert_eq!(messages(&store, &gone).await, ["hello"]);
    for n in 0..WRITES {
        store.create_session(new_session(&key(&format!("other-{n}")))).await.unwrap();
    }
    assert_eq!(left(&folder).await, (1, 0));
    assert!(is_erased(&store, &folder, "-secret-").await);
    assert_eq!(messages(&store, &gone).await, ["hello"]);
}

#[tokio::test]
async fn what_a_crash_left_is_removed_by_whoever_opens_the_file_next() {
    let folder = Folder::new();
    let store = folder.store().await;
    long(&store, "gone").await;
    store.close().await;
    // The state after a crash between the first transaction of a deletion and the next.
    folder
        .sql("INSERT INTO holdover_removed SELECT sid FROM session WHERE id = 'gone'; DELETE FROM session WHERE id = 'gone'")
        .await;
    assert_eq!(left(&folder).await, (LONG as i64, 1));
    let store = folder.store().await;
    for n in 0..WRITES {
        store.create_session(new_session(&key(&format!("other-{n}")))).await.unwrap();
    }
    assert_eq!(left(&folder).await, (0, 0));
    assert!(is_erased(&store, &folder, "-secret-").await);
}

#[tokio::test]
async fn while_nobody_writes_the_rest_goes_by_itself() {
    let folder = Folder::new();
    let store = folder.store().await;
    let gone = long(&store, "gone").await.fence.key;
    store.delete_session(&gone, Deletion::FORCE).await.unwrap();
    let began = Instant::now();
    while left(&folder).await != (0, 0) {
        assert!(began.elapsed() < Duration::from_secs(30), "something is left: {:?}", left(&folder).await);
    }
}
