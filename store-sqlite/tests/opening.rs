//! What is checked when a database is opened, and what the capabilities then say.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::num::NonZeroU32;
use std::process::{Command, Stdio};

use holdover_core::ids::*;
use holdover_core::payload::Payload;
use holdover_core::store::*;
use holdover_core::time::Timestamp;
use holdover_store_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use support::*;

async fn refused(options: SqliteOptions) -> StoreError {
    match SqliteStore::open(options).await {
        Ok(_) => panic!("opened"),
        Err(error) => error,
    }
}

fn check(error: &StoreError, kind: StoreErrorKind, says: &str) {
    let line = error.to_string();
    assert_eq!((error.kind, error.operation, error.retry), (kind, "open", Retry::Never), "{line}");
    assert!(line.contains(says) && !line.contains('\n'), "{line}");
}

#[tokio::test]
async fn safe_settings_are_asked_for_and_read_back() {
    let folder = Folder::new();
    let store = folder.store().await;
    let capabilities = store.capabilities();
    assert!(capabilities.backend.starts_with("SQLite 3."), "{capabilities:?}");
    assert_eq!(capabilities.commit_survives, CommitSurvives::PowerCut);
    assert_eq!(capabilities.shared_by, SharedBy::Machine);
    assert!(!capabilities.change_hints_across_processes);
    let setting = |name: &str| {
        let found = capabilities.settings.iter().find(|(n, _)| n == name);
        found.unwrap_or_else(|| panic!("{name}: {capabilities:?}")).1.clone()
    };
    assert_eq!((setting("journal_mode"), setting("synchronous")), ("wal".into(), "full".into()));
    assert_eq!(setting("mmap_size"), "0");
    // Looked at from outside, not asked of the store: WAL is a property of the file.
    let mut raw = folder.raw().await;
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&mut raw).await.unwrap();
    assert_eq!(mode, "wal");
}

#[tokio::test]
async fn normal_promises_less_and_is_named() {
    let folder = Folder::new();
    let store = SqliteStore::open(folder.options().synchronous(Synchronous::Normal)).await.unwrap();
    let capabilities = store.capabilities();
    assert_eq!(capabilities.commit_survives, CommitSurvives::ProcessKill);
    assert!(capabilities.settings.contains(&("synchronous".into(), "normal".into())), "{capabilities:?}");
}

#[tokio::test]
async fn a_text_file_is_refused_and_kept() {
    let folder = Folder::new();
    let text = "this is a letter, and no database at all. ".repeat(40);
    std::fs::write(folder.file(), &text).unwrap();
    check(&refused(folder.options()).await, StoreErrorKind::Corrupt, "holdover.db");
    assert_eq!(std::fs::read_to_string(folder.file()).unwrap(), text);
}

#[tokio::test]
async fn a_newer_schema_is_refused_and_kept() {
    let folder = Folder::new();
    folder.store().await.close().await;
    folder.sql("PRAGMA user_version = 99").await;
    let before = std::fs::read(folder.file()).unwrap();
    check(&refused(folder.options()).await, StoreErrorKind::Newer, "schema 99");
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
}

#[tokio::test]
async fn somebody_elses_database_is_refused_and_kept() {
    let folder = Folder::new();
    let mut raw = sqlx::ConnectOptions::connect(
        &sqlx::sqlite::SqliteConnectOptions::new().filename(folder.file()).create_if_missing(true),
    )
    .await
    .unwrap();
    sqlx::raw_sql("CREATE TABLE theirs (a)").execute(&mut raw).await.unwrap();
    sqlx::Connection::close(raw).await.unwrap();
    let before = std::fs::read(folder.file()).unwrap();
    check(&refused(folder.options()).await, StoreErrorKind::Corrupt, "something else");
    assert_eq!(std::fs::read(folder.file()).unwrap(), before);
}

#[tokio::test]
async fn places_that_cannot_be_used_are_refused_by_name() {
    let folder = Folder::new();
    let missing = folder.path().join("missing").join("holdover.db");
    check(&refused(SqliteOptions::new(&missing)).await, StoreErrorKind::Unavailable, "missing/holdover.db");
    check(&refused(SqliteOptions::new(folder.path())).await, StoreErrorKind::Unavailable, "is a folder");
    check(&refused(SqliteOptions::new(":memory:")).await, StoreErrorKind::InvalidArgument, ":memory:");
    assert!(!missing.exists());
}

#[tokio::test]
async fn a_name_with_special_characters_is_a_name() {
    let folder = Folder::new();
    let file = folder.path().join("file:a b%20?mode=ro#x.db");
    let store = SqliteStore::open(SqliteOptions::new(&file)).await.unwrap();
    claimed(&store, "s").await;
    assert!(file.is_file());
}

#[tokio::test]
async fn what_was_written_is_there_after_opening_again() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let said = saying("c", "hello");
    receipt(store.save_state_and_promote_staging(&claim.fence, said).await.unwrap());
    let before = store.load_session(&claim.fence.key).await.unwrap();
    store.close().await;
    let closed = store.load_session(&claim.fence.key).await.unwrap_err();
    assert_eq!(closed.kind, StoreErrorKind::Unavailable);
    let closed = store.deliver(&claim.fence.key, message("m", "late")).await.unwrap_err();
    assert_eq!((closed.kind, closed.retry), (StoreErrorKind::Unavailable, Retry::Never));

    let store = SqliteStore::open_url(&format!("sqlite://{}", folder.file().display())).await.unwrap();
    assert_eq!(store.load_session(&claim.fence.key).await.unwrap(), before);
    assert_eq!(messages(&store, &claim.fence.key).await, ["hello"]);
}

/// What leads from schema 2 back to schema 1.
const BACK_TO_1: &str = "DROP INDEX session_resting; DROP TABLE delta; DROP TABLE checkpoint; \
     ALTER TABLE session DROP COLUMN stream_run; ALTER TABLE session DROP COLUMN stream_number; \
     ALTER TABLE session DROP COLUMN stream_last; ALTER TABLE session DROP COLUMN stream_open; \
     PRAGMA user_version = 1";

/// Every table and index with its columns.
async fn shape(folder: &Folder) -> Vec<(String, String)> {
    let mut raw = folder.raw().await;
    let names = "SELECT s.type || ' ' || s.name, group_concat(c.name || ' ' || c.type || ' ' || c.\"notnull\") \
         FROM sqlite_schema s, pragma_table_xinfo(s.name) c GROUP BY 1 ORDER BY 1";
    let shape = sqlx::query_as(names).fetch_all(&mut raw).await.unwrap();
    sqlx::Connection::close(raw).await.unwrap();
    shape
}

/// A file as a program with schema 1 left it: one session, claimed, with a message.
async fn file_of_schema_1() -> (Folder, Fence) {
    let folder = Folder::new();
    let store = folder.store().await;
    let fence = claimed(&store, "s").await.fence;
    receipt(store.save_state_and_promote_staging(&fence, saying("c1", "hello")).await.unwrap());
    store.close().await;
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

    // The run that held the session goes on, and everything that came with schema 2 works on it.
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
    let at =
        CheckpointId(receipt(store.save_state_and_promote_staging(&fence, last).await.unwrap()).version.0);
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
    };
    assert_eq!(store.purge(&rule).await.unwrap().sessions, 2);
}

const PROCESSES: usize = 12;

#[test]
fn many_processes_open_one_new_file_at_once() {
    let folder = Folder::new();
    let child = |n: usize| {
        Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "--ignored", "child_opens_and_creates_a_session"])
            .env("HOLDOVER_TEST_FILE", folder.file())
            .env("HOLDOVER_TEST_SESSION", format!("s{n}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..PROCESSES).map(child).collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}");
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = folder.store().await;
        let all = SessionQuery::all(key("s").tenant);
        assert_eq!(store.list_sessions(&all).await.unwrap().items.len(), PROCESSES);
    });
}

#[tokio::test]
#[ignore = "a process of the test above"]
async fn child_opens_and_creates_a_session() {
    let store =
        SqliteStore::open(SqliteOptions::new(std::env::var_os("HOLDOVER_TEST_FILE").unwrap())).await.unwrap();
    claimed(&store, &std::env::var("HOLDOVER_TEST_SESSION").unwrap()).await;
    store.close().await;
}
