//! Tests of files with earlier schemas.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::num::NonZeroU32;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::time::Timestamp;
use holdover_store::*;
use support::*;

/// SQL that turns schema 5 back into schema 1.
const BACK_TO_1: &str = "ALTER TABLE session RENAME COLUMN operation TO created_by; ALTER TABLE session DROP COLUMN token; \
     DROP TABLE tombstone; ALTER TABLE event DROP COLUMN sizes; DROP INDEX session_resting; DROP TABLE delta; DROP TABLE checkpoint; \
     ALTER TABLE session DROP COLUMN stream_run; ALTER TABLE session DROP COLUMN stream_number; \
     ALTER TABLE session DROP COLUMN stream_last; ALTER TABLE session DROP COLUMN stream_open; \
     PRAGMA user_version = 1";

/// Returns every table and index with its columns.
async fn shape(folder: &Folder) -> Vec<(String, String)> {
    let mut raw = folder.raw().await;
    let names = "SELECT s.type || ' ' || s.name, group_concat(c.name || ' ' || c.type || ' ' || c.\"notnull\") \
         FROM sqlite_schema s, pragma_table_xinfo(s.name) c GROUP BY 1 ORDER BY 1";
    let shape = sqlx::query_as(names).fetch_all(&mut raw).await.unwrap();
    sqlx::Connection::close(raw).await.unwrap();
    shape
}

/// Makes a file as a program with schema 1 left it, with one claimed session that has a message.
async fn file_of_schema_1() -> (Folder, Fence) {
    let folder = Folder::new();
    let store = folder.store().await;
    let fence = claimed(&store, "s").await.fence;
    receipt(store.commit(&fence, saying("c1", "hello")).await.unwrap());
    store.close().await;
    folder.sql(BACK_TO_5).await;
    folder.sql(BACK_TO_1).await;
    (folder, fence)
}

#[tokio::test]
async fn a_file_of_schema_1_is_brought_up_to_date_and_loses_nothing() {
    let (folder, fence) = file_of_schema_1().await;
    let original = Folder::new();
    let mut raw = sqlx::ConnectOptions::connect(
        &sqlx::sqlite::SqliteConnectOptions::new().filename(original.file()).create_if_missing(true),
    )
    .await
    .unwrap();
    sqlx::raw_sql(include_str!("../schema/0001.sql")).execute(&mut raw).await.unwrap();
    sqlx::Connection::close(raw).await.unwrap();
    assert_eq!(shape(&folder).await, shape(&original).await, "it is schema 1");

    let store = folder.store().await;
    let fresh = Folder::new();
    fresh.store().await.close().await;
    assert_eq!(shape(&folder).await, shape(&fresh).await, "it is the newest");
    assert_eq!(messages(&store, &fence.key).await, ["hello"]);

    // The run that held the session goes on, and all later features work on it.
    let batch = DeltaBatch { stream: 1, first: 1, deltas: vec![Payload::new("a"), Payload::new("b")] };
    let appended = store.append_deltas(&fence, batch).await.unwrap();
    assert!(matches!(appended, DeltaOutcome::Appended(_)), "{appended:?}");
    let page = store.read_events(&fence.key, &EventCursor::START, 10).await.unwrap();
    let EventPage::Events { stream: Some(shown), .. } = page else { panic!("no stream: {page:?}") };
    assert_eq!(shown.deltas.len(), 2);
    let state = NewState { format: StateFormat(1), payload: Payload::new("state") };
    let last = Commit {
        state: Some(state.clone()),
        checkpoint: true,
        streamed: Some(1),
        release: to(SessionStatus::Idle),
        ..saying("c2", "there")
    };
    let at = CheckpointId(receipt(store.commit(&fence, last).await.unwrap()).version.0);
    let new = NewFork {
        source: fence.incarnation,
        key: key("fork"),
        incarnation: Incarnation(uuid::Uuid::from_u128(2)),
        operation: OperationId::new("fork").unwrap(),
        queue: QueueLabel::new("queue").unwrap(),
        labels: Labels::default(),
        definition: Payload::new("definition"),
        status: SessionStatus::Idle,
        state,
        messages: vec![],
        events: vec![],
    };
    let forked = store.fork_session(&fence.key, at, new).await.unwrap();
    assert!(matches!(forked, ForkOutcome::Forked { .. }), "{forked:?}");
    assert_eq!(messages(&store, &key("fork")).await, ["hello", "there"]);
    let rule = RetentionRule {
        tenant: None,
        status: vec![],
        unchanged_since: Timestamp::from_ms(i64::MAX),
        remove: Remove::Sessions,
        limit: NonZeroU32::MAX,
        after: None,
    };
    assert_eq!(store.purge(&rule).await.unwrap().sessions, 2);
    assert_eq!(store.create_session(new_session(&key("s"))).await.unwrap(), CreateOutcome::Deleted);
}

async fn labelled(store: &holdover_store_sqlite::SqliteStore, labels: &[(&str, &str)]) -> Vec<String> {
    let mut query = SessionQuery::all(TenantId::new("tenant").unwrap());
    query.labels = labels.iter().copied().collect();
    let page = store.list_sessions(&query).await.unwrap();
    page.items.iter().map(|summary| summary.key.id.to_string()).collect()
}

fn with_labels(id: &str, operation: &str, labels: &[(&str, &str)]) -> NewSession {
    let operation = OperationId::new(operation).unwrap();
    NewSession { operation, labels: labels.iter().copied().collect(), ..new_session(&key(id)) }
}

#[tokio::test]
async fn sessions_of_schema_6_are_found_by_their_labels() {
    let folder = Folder::new();
    let store = folder.store().await;
    for (id, user) in [("a", "kim"), ("b", "lee"), ("c", "kim")] {
        let new = with_labels(id, "create", &[("agent", "x"), ("user", user), ("all\0", "")]);
        store.create_session(new).await.unwrap();
    }
    store.create_session(with_labels("bare", "create", &[])).await.unwrap();
    store.close().await;
    folder.sql(BACK_TO_6).await;
    // A row that belongs to no session.
    folder.sql("INSERT INTO label VALUES (99, 'user', 'kim')").await;
    let store = folder.store().await;
    let ids = async |labels: &[(&str, &str)]| {
        let mut ids = labelled(&store, labels).await;
        ids.sort();
        ids
    };
    assert_eq!(ids(&[("user", "kim")]).await, ["a", "c"]);
    assert_eq!(ids(&[("agent", "x"), ("all\0", ""), ("user", "lee")]).await, ["b"]);
    assert_eq!(ids(&[("agent", "x")]).await, ["a", "b", "c"]);

    // A deleted session is not found. A new session with the same key is found only by its own labels.
    store.delete_session(&key("a"), Deletion::FORCE).await.unwrap();
    assert_eq!(ids(&[("user", "kim")]).await, ["c"]);
    let again = NewSession {
        incarnation: Incarnation(uuid::Uuid::from_u128(9)),
        ..with_labels("a", "create again", &[("user", "lee")])
    };
    let created = store.create_session(again).await.unwrap();
    assert!(matches!(created, CreateOutcome::Created { .. }), "{created:?}");
    assert_eq!(ids(&[("user", "kim")]).await, ["c"]);
    assert_eq!(ids(&[("user", "lee")]).await, ["a", "b"]);
    assert_eq!(ids(&[("agent", "x")]).await, ["b", "c"]);
    store.close().await;
    let mut raw = folder.raw().await;
    let left: i64 = sqlx::query_scalar("SELECT count(*) FROM label").fetch_one(&mut raw).await.unwrap();
    assert_eq!(left, 7, "no label of what is gone");
}

/// Returns the ids of a page of a tenant's dead letters, and the cursor of the next page.
async fn letters(
    store: &holdover_store_sqlite::SqliteStore,
    after: Option<PageCursor>,
    limit: u32,
) -> (Vec<String>, Option<PageCursor>) {
    let page = PageRequest { after, limit: NonZeroU32::new(limit) };
    let kind = Some(PendingKind::DeadLetter);
    let query = PendingQuery { kind, page, ..PendingQuery::all(TenantId::new("tenant").unwrap()) };
    let page = store.list_pending(&query).await.unwrap();
    (page.items.iter().map(|call| call.id.to_string()).collect(), page.next)
}

/// The cursor that programs with schema 8 give after the call `second` of the session `s` in a list of dead letters.
const CURSOR: &str = "021102ce3f06e364f764ff1f8edea4b1b700800400000000000273007365636f6e64888d259c";

#[tokio::test]
async fn calls_of_schema_8_are_listed_by_kind_and_a_walk_that_began_before_goes_on() {
    let folder = Folder::new();
    let store = folder.store().await;
    let fence = claimed(&store, "s").await.fence;
    let call = |id: &str, kind: PendingKind, deadline: Option<i64>| NewPending {
        id: PendingId::new(id).unwrap(),
        call: CallId::new("call").unwrap(),
        kind,
        needed: 1,
        deadline: deadline.map(|ms| Timestamp::from_ms((1 << 50) + ms)),
        body: Payload::new("{}"),
    };
    use PendingKind::{Approval, DeadLetter};
    let open = vec![
        call("late", DeadLetter, None),
        call("a1", Approval, Some(1)),
        call("third", DeadLetter, Some(3)),
        call("first", DeadLetter, Some(1)),
        call("a2", Approval, Some(2)),
        call("second", DeadLetter, Some(2)),
    ];
    receipt(store.commit(&fence, Commit { open, ..commit("c1") }).await.unwrap());
    store.close().await;
    folder.sql(BACK_TO_8).await;

    let store = folder.store().await;
    let (first, next) = letters(&store, None, 2).await;
    assert_eq!(first, ["first", "second"]);
    assert_eq!(next.as_ref().map(PageCursor::as_str), Some(CURSOR), "programs with schema 8 give it, too");
    assert_eq!(letters(&store, next, 9).await.0, ["third", "late"]);
    assert_eq!(letters(&store, None, 9).await.0, ["first", "second", "third", "late"]);
    let open = vec![call("new", DeadLetter, Some(0))];
    let close = vec![PendingId::new("second").unwrap()];
    receipt(store.commit(&fence, Commit { open, close, ..commit("c2") }).await.unwrap());
    assert_eq!(letters(&store, None, 9).await.0, ["new", "first", "third", "late"]);
    store.close().await;
}
