//! Tests of the checks when a database is opened, and of the resulting capabilities.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may fail where it stands")]

mod support;

use std::process::{Command, Stdio};

use holdover_store::ids::SessionKey;
use holdover_store::payload::Payload;
use holdover_store::*;
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
    // Read from the file, not asked of the store: WAL is a property of the file.
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
    receipt(store.commit(&claim.fence, said).await.unwrap());
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

/// Returns the texts of a page of events, and the cursor of the next page.
async fn told(
    store: &SqliteStore,
    key: &SessionKey,
    after: &EventCursor,
    limit: u32,
) -> (Vec<String>, EventCursor) {
    let page = store.read_events(key, after, limit).await.unwrap();
    let EventPage::Events { events, next, .. } = page else { panic!("no events: {page:?}") };
    let text =
        |event: &StoredEvent| format!("{} {}", event.seq, String::from_utf8_lossy(event.payload.bytes()));
    (events.iter().map(text).collect(), next)
}

#[tokio::test]
async fn a_file_of_the_schema_before_is_brought_up_to_date_and_its_events_are_read() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let telling = |operation: &str, events: &[&'static str]| Commit {
        events: events.iter().map(|event| Payload::new(*event)).collect(),
        ..commit(operation)
    };
    // Gives each event a row of its own, as schemas before the conversion did.
    for (operation, event) in [("c1", "one"), ("c2", "two")] {
        let commit = telling(operation, &[event]);
        receipt(store.commit(&claim.fence, commit).await.unwrap());
    }
    store.close().await;
    let back_to_2 = "ALTER TABLE session RENAME COLUMN operation TO created_by; \
         ALTER TABLE session DROP COLUMN token; DROP TABLE tombstone; ALTER TABLE event DROP COLUMN sizes; \
         PRAGMA user_version = 2";
    folder.sql(BACK_TO_5).await;
    folder.sql(back_to_2).await;

    let store = folder.store().await;
    let commit = telling("c3", &["three", "", "five"]);
    receipt(store.commit(&claim.fence, commit).await.unwrap());
    let key = &claim.fence.key;
    let all = ["1 one", "2 two", "3 three", "4 ", "5 five"];
    for limit in 1..=6 {
        let (mut found, mut after) = (Vec::new(), EventCursor::START);
        while found.len() < all.len() {
            let (page, next) = told(&store, key, &after, limit).await;
            assert!(!page.is_empty() && page.len() <= limit as usize, "limit {limit}: {page:?}");
            found.extend(page);
            after = next;
        }
        assert_eq!(found, all, "limit {limit}");
    }
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

#[tokio::test]
async fn once_a_newer_version_has_raised_the_schema_an_older_process_touches_nothing() {
    let folder = Folder::new();
    let store = folder.store().await;
    let claim = claimed(&store, "s").await;
    let key = &claim.fence.key;
    let newer = |error: StoreError| {
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Newer, Retry::Never), "{error}");
        assert!(error.detail.contains("raised the schema"), "{error}");
    };
    let raise = sqlx::AssertSqlSafe("PRAGMA user_version = 1000");
    let mut raw = folder.raw().await;
    let version: i64 = sqlx::query_scalar("PRAGMA user_version").fetch_one(&mut raw).await.unwrap();
    sqlx::raw_sql(raise).execute(&mut raw).await.unwrap();
    newer(store.commit(&claim.fence, saying("c1", "said")).await.unwrap_err());
    newer(store.renew_lease(&claim.fence, LEASE).await.unwrap_err());
    newer(store.deliver(key, message("m", "said")).await.unwrap_err());
    newer(store.load_session(key).await.unwrap_err());
    newer(store.claim_due(claim_due(&["r"])).await.unwrap_err());
    newer(store.begin().await.map(|_| ()).unwrap_err());
    let back = sqlx::AssertSqlSafe(format!("PRAGMA user_version = {version}"));
    sqlx::raw_sql(back).execute(&mut raw).await.unwrap();
    assert_eq!(store.load_session(key).await.unwrap().unwrap(), claim.session, "untouched");
    receipt(store.commit(&claim.fence, saying("c1", "said")).await.unwrap());
}
