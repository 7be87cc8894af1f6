//! Locks that operations wait for.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::{Duration, Instant};

use holdover_launcher::shared;
use holdover_store::ids::{Incarnation, StateFormat};
use holdover_store::payload::Payload;
use holdover_store::{
    CheckpointQuery, CommitOutcome, DeleteOutcome, Deletion, ForkOutcome, Labels, NewFork, NewState,
    PageRequest, Retry, SessionStatus, StateStore, StoreErrorKind,
};
use holdover_store_postgres::PostgresStore;
use support::{Admin, commit, id, key, options, running, schema_of};

/// A fork that waits for its key locks its source: once a deletion has returned, no fork of the deleted
/// session appears.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_not_deleted_under_a_fork_and_its_commits_go_on() {
    let url = shared::postgres_url();
    let options = options(url).application("forks and deletes");
    let schema = schema_of(&options);
    let store = PostgresStore::open(options.clone()).await.unwrap();
    let claim = running(&store, "s").await;
    store.commit(&claim.fence, commit(1)).await.unwrap();
    let checkpoints = CheckpointQuery { key: key("s"), id: None, page: PageRequest::default() };
    let checkpoint = store.list_checkpoints(&checkpoints).await.unwrap().items[0].id;
    // Another connection is about to create a session under the key of the fork.
    let (mut holder, mut admin) = (Admin::at(url).await, Admin::at(url).await);
    holder
        .run(&format!(
            "BEGIN; INSERT INTO {schema}.session (tenant, id, incarnation, created_by, queue, created_at, status, version, \
             epoch, format, found, updated_at, token) VALUES ('acme', 'fork', '', 'c', 'q', 0, 'idle', 1, 0, 1, 'idle', 0, 1)"
        ))
        .await;
    let fork = NewFork {
        source: claim.fence.incarnation,
        key: key("fork"),
        incarnation: Incarnation(uuid::Uuid::from_u128(77)),
        operation: id("fork"),
        queue: id("queue"),
        labels: Labels::default(),
        definition: Payload::new("{}"),
        status: SessionStatus::Idle,
        state: NewState { format: StateFormat(1), payload: Payload::new("{}") },
        messages: Vec::new(),
        events: Vec::new(),
    };
    let forks = tokio::spawn({
        let store = store.clone();
        async move { store.fork_session(&key("s"), checkpoint, fork).await }
    });
    admin.until_waiting("forks and deletes", 1).await;
    let saved = store.commit(&claim.fence, commit(2)).await.unwrap();
    assert!(matches!(saved, CommitOutcome::Committed(_)), "{saved:?}");
    let mut deletes = tokio::spawn({
        let store = store.clone();
        async move { store.delete_session(&key("s"), Deletion::FORCE).await }
    });
    tokio::select! {
        () = admin.until_waiting("forks and deletes", 2) => {}
        deleted = &mut deletes => panic!("under the fork: {deleted:?}"),
    }
    holder.run("ROLLBACK").await;
    let forked = forks.await.unwrap().unwrap();
    assert_eq!(deletes.await.unwrap().unwrap(), DeleteOutcome::Deleted);
    let there = store.load_session(&key("fork")).await.unwrap();
    // On a slow machine the fork may have timed out, so that the deletion came first.
    assert_eq!(matches!(forked, ForkOutcome::Forked { .. }), there.is_some(), "{forked:?}");
    store.close().await;
}

/// Everything that a call waits for shares one time limit: earlier writes of its session, the lock, the
/// answer.
#[tokio::test(flavor = "multi_thread")]
async fn writes_of_one_session_that_somebody_holds_all_end_in_time_and_have_changed_nothing() {
    const TIMEOUT: Duration = Duration::from_secs(6);
    let url = shared::postgres_url();
    let options = options(url).operation_timeout(TIMEOUT);
    let schema = schema_of(&options);
    let store = PostgresStore::open(options).await.unwrap();
    let claim = running(&store, "s").await;
    let mut holder = Admin::at(url).await;
    holder.run(&format!("BEGIN; SELECT 1 FROM {schema}.session FOR UPDATE")).await;
    let began = Instant::now();
    let writes = (1..=4).map(|nth| store.commit(&claim.fence, commit(nth)));
    let errors = futures::future::join_all(writes).await;
    let took = began.elapsed();
    for error in errors {
        let error = error.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    }
    assert!(took < TIMEOUT + TIMEOUT / 5, "{took:?}");
    holder.run("ROLLBACK").await;
    assert!(matches!(store.commit(&claim.fence, commit(1)).await.unwrap(), CommitOutcome::Committed(_)));
    store.close().await;
}
