//! Transactions that change the caller's own tables and a session together.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use holdover_store::ids::*;
use holdover_store::payload::Payload;
use holdover_store::*;
use holdover_store_sqlite::rusqlite::{self, Connection, ErrorCode};
use holdover_store_sqlite::{SqliteStore, SqliteTransaction};
use support::*;

async fn store_with_accounts(folder: &Folder) -> SqliteStore {
    let store = folder.store().await;
    folder.sql("CREATE TABLE app_account (id INTEGER PRIMARY KEY, cents INTEGER NOT NULL)").await;
    folder.sql("INSERT INTO app_account VALUES (7, 1000)").await;
    store
}

fn pay(conn: &Connection) -> rusqlite::Result<usize> {
    conn.execute("UPDATE app_account SET cents = cents - 500 WHERE id = 7", [])
}

fn cents_in(conn: &Connection) -> i64 {
    conn.query_row("SELECT cents FROM app_account WHERE id = 7", [], |row| row.get(0)).unwrap()
}

/// Reads the account through a connection of its own.
fn cents(folder: &Folder) -> i64 {
    cents_in(&Connection::open(folder.file()).unwrap())
}

/// Begins a transaction and makes a payment in it.
async fn paid(store: &SqliteStore) -> SqliteTransaction {
    let mut transaction = store.begin().await.unwrap();
    assert_eq!(transaction.run(pay).await.unwrap(), Ok(1));
    assert_eq!(transaction.run(cents_in).await.unwrap(), 500, "it sees what it wrote");
    transaction
}

#[tokio::test]
async fn is_there_with_the_commit_in_one_sync() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let before = store.writer_counts();
    let transaction = paid(&store).await;
    assert_eq!(cents(&folder), 1000, "nobody sees it yet");
    let within = transaction.into_store();
    receipt(within.commit(&claim.fence, saying("c", "paid")).await.unwrap());
    assert_eq!(store.writer_counts().groups - before.groups, 1);
    assert_eq!((cents(&folder), messages(&store, &claim.fence.key).await), (500, vec!["paid".to_owned()]));
    // The transaction is good for one write.
    let error = within.commit(&claim.fence, saying("d", "again")).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::InvalidArgument, Retry::Never), "{error}");
    assert!(error.to_string().contains("it was committed"), "{error}");
    // The run goes on as before; what the store remembered of its session is still valid.
    receipt(store.commit(&claim.fence, saying("d", "more")).await.unwrap());
    assert_eq!(messages(&store, &claim.fence.key).await, ["paid", "more"]);
}

#[tokio::test]
async fn is_not_there_without_the_commit() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let key = &claim.fence.key;
    // Transactions dropped before and after they became a store.
    drop(paid(&store).await);
    drop(paid(&store).await.into_store());
    // The fence of a run that has ended.
    let old = Fence { epoch: Epoch(0), ..claim.fence.clone() };
    let outcome = paid(&store).await.into_store().commit(&old, saying("c", "late")).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::StaleFence { .. }), "{outcome:?}");
    // A commit with a wrong expected version.
    let another = Commit { expected_version: Some(Version(77)), ..saying("c", "late") };
    let outcome = paid(&store).await.into_store().commit(&claim.fence, another).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::VersionConflict { .. }), "{outcome:?}");
    receipt(store.commit(&claim.fence, saying("c", "once")).await.unwrap());
    assert_eq!((cents(&folder), messages(&store, key).await), (1000, vec!["once".to_owned()]));
}

/// If the outcome is unknown, the caller repeats the whole transaction; it takes effect once.
#[tokio::test]
async fn that_is_repeated_has_happened_once() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    for _ in 0..3 {
        receipt(paid_once(&store, &claim).await);
        assert_eq!((cents(&folder), messages(&store, &claim.fence.key).await.len()), (500, 1));
    }
}

async fn paid_once(store: &SqliteStore, claim: &Claim) -> CommitOutcome {
    let mut transaction = store.begin().await.unwrap();
    assert_eq!(transaction.run(pay).await.unwrap(), Ok(1));
    transaction.into_store().commit(&claim.fence, saying("c", "paid")).await.unwrap()
}

#[tokio::test]
async fn passes_a_layer_like_any_other() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let within = Layered::<Arc<dyn StateStore>, _>::new(paid(&store).await.into_store(), Shouts);
    receipt(within.commit(&claim.fence, saying("c", "paid")).await.unwrap());
    assert_eq!((cents(&folder), messages(&store, &claim.fence.key).await), (500, vec!["PAID".to_owned()]));
}

/// A layer that replaces every commit's message by `PAID`.
struct Shouts;

#[async_trait::async_trait]
impl Layer for Shouts {
    async fn around(&self, mut request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Commit(_, commit) = &mut request {
            commit.messages = vec![NewMessage::Inline(Payload::new("PAID"))];
        }
        request.perform(&store).await
    }
}

#[tokio::test]
async fn others_wait_until_it_ends() {
    let folder = Folder::new();
    let (store, peer) = (store_with_accounts(&folder).await, folder.store().await);
    let (a, b) = (claimed(&store, "a").await, claimed(&store, "b").await);
    let transaction = paid(&store).await;
    let beside = tokio::spawn({
        let (store, fence) = (store.clone(), b.fence.clone());
        async move { store.commit(&fence, saying("c", "beside")).await.unwrap() }
    });
    let elsewhere = tokio::spawn({
        let fence = b.fence.clone();
        async move { peer.deliver(&fence.key, message("m", "hello")).await.unwrap() }
    });
    receipt(transaction.into_store().commit(&a.fence, saying("c", "paid")).await.unwrap());
    receipt(beside.await.unwrap());
    assert!(matches!(elsewhere.await.unwrap(), Delivery::Accepted { .. }));
    assert_eq!(cents(&folder), 500);
}

#[tokio::test]
async fn that_stays_open_is_undone_and_says_so() {
    let folder = Folder::new();
    drop(store_with_accounts(&folder).await);
    let options = folder.options().operation_timeout(Duration::from_secs(1));
    let store = SqliteStore::open(options).await.unwrap();
    let claim = claimed(&store, "s").await;
    let mut transaction = paid(&store).await;
    // The commit waits for the transaction, so it can return only after the transaction has ended.
    receipt(store.commit(&claim.fence, saying("c", "meanwhile")).await.unwrap());
    let error = transaction.run(pay).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    assert!(error.to_string().contains("open for"), "{error}");
    let error = transaction.into_store().commit(&claim.fence, saying("d", "late")).await.unwrap_err();
    assert!(error.to_string().contains("open for"), "{error}");
    assert_eq!(
        (cents(&folder), messages(&store, &claim.fence.key).await),
        (1000, vec!["meanwhile".to_owned()])
    );
}

/// Statements that would end the transaction or touch the store's tables are refused, and the transaction
/// goes on.
#[tokio::test]
async fn cannot_be_ended_by_its_code_nor_touch_what_is_not_its_own() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let mut transaction = paid(&store).await;
    let refused = [
        "COMMIT",
        "ROLLBACK",
        "BEGIN",
        "ATTACH ':memory:' AS other",
        "PRAGMA synchronous = OFF",
        "UPDATE session SET epoch = 99",
        "DELETE FROM MESSAGE",
        "INSERT INTO label VALUES (1, 'a', 'b')",
        "DROP TABLE event",
        "ALTER TABLE state RENAME TO app_state",
        "CREATE INDEX app_index ON message (at)",
        "CREATE TRIGGER app_trigger AFTER INSERT ON message BEGIN UPDATE app_account SET cents = 0; END",
        "CREATE TABLE Holdover_new (a)",
        "CREATE TEMP TABLE item (id)",
        "CREATE TEMP VIEW session AS SELECT 1",
    ];
    for sql in refused {
        let answer = transaction.run(move |conn| conn.execute(sql, [])).await.unwrap();
        let code = answer.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        assert_eq!(code, Some(ErrorCode::AuthorizationForStatementDenied), "{sql}: {answer:?}");
    }
    let allowed = [
        "PRAGMA TABLE_INFO(session)",
        "SAVEPOINT mine",
        "UPDATE app_account SET cents = 0",
        "ROLLBACK TO mine",
        "RELEASE mine",
        "CREATE TABLE app_note (text TEXT)",
        "CREATE INDEX app_note_text ON app_note (text)",
        "INSERT INTO app_note SELECT id FROM session",
    ];
    for sql in allowed {
        transaction
            .run(move |conn| conn.execute_batch(sql))
            .await
            .unwrap()
            .unwrap_or_else(|e| panic!("{sql}: {e}"));
    }
    receipt(transaction.into_store().commit(&claim.fence, saying("c", "paid")).await.unwrap());
    assert_eq!(cents(&folder), 500);
    let noted = Connection::open(folder.file()).unwrap();
    let noted: String = noted.query_row("SELECT text FROM app_note", [], |row| row.get(0)).unwrap();
    assert_eq!(noted, "s");
}

/// The guard checks names, so it sees neither a rollback by SQLite itself nor a statement that the store has
/// prepared. Nevertheless nothing is committed, not even by a transaction that begins after the lost one.
#[tokio::test]
async fn that_is_ended_behind_the_back_of_the_guard_leaves_nothing() {
    type Ends = fn(&Connection);
    let ends: [(&str, Ends); 3] = [
        ("a conflict", |conn| {
            conn.execute("INSERT OR ROLLBACK INTO app_account VALUES (7, 0)", []).unwrap_err();
        }),
        ("a conflict, and another transaction", |conn| {
            conn.execute("INSERT OR ROLLBACK INTO app_account VALUES (7, 0)", []).unwrap_err();
            conn.execute_batch("SAVEPOINT mine; UPDATE app_account SET cents = 1").unwrap();
        }),
        ("a statement of the store", |conn| {
            conn.prepare_cached("COMMIT").unwrap().execute([]).unwrap_err();
        }),
    ];
    for (what, end) in ends {
        let folder = Folder::new();
        let store = store_with_accounts(&folder).await;
        let claim = claimed(&store, "s").await;
        let mut transaction = paid(&store).await;
        let later = "UPDATE app_account SET cents = cents - 1";
        transaction.run(move |conn| (end(conn), conn.execute(later, []).is_ok())).await.unwrap();
        let error = transaction.run(pay).await.unwrap_err();
        assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{what}: {error}");
        let within = transaction.into_store();
        let error = within.commit(&claim.fence, saying("c", "late")).await.unwrap_err();
        assert!(error.to_string().contains("SQLite undid it"), "{what}: {error}");
        receipt(store.commit(&claim.fence, saying("c", "goes on")).await.unwrap());
        assert_eq!((cents(&folder), messages(&store, &claim.fence.key).await.len()), (1000, 1), "{what}");
    }
}

#[tokio::test]
async fn a_statement_of_it_ends_when_its_time_is_over() {
    let folder = Folder::new();
    drop(store_with_accounts(&folder).await);
    let options = folder.options().operation_timeout(Duration::from_secs(1));
    let store = SqliteStore::open(options).await.unwrap();
    let mut transaction = paid(&store).await;
    let endless = "WITH RECURSIVE c (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 1000000000000) \
         SELECT sum(n) FROM c";
    let counted = transaction.run(|conn| conn.query_row(endless, [], |row| row.get::<_, i64>(0))).await;
    let code = counted.unwrap().unwrap_err().sqlite_error_code();
    assert_eq!(code, Some(ErrorCode::OperationInterrupted));
    let error = transaction.run(pay).await.unwrap_err();
    assert!(error.to_string().contains("open for"), "{error}");
    let claim = claimed(&store, "s").await;
    receipt(store.commit(&claim.fence, saying("c", "goes on")).await.unwrap());
    assert_eq!(cents(&folder), 1000);
}

#[tokio::test]
async fn whoever_follows_the_session_is_told() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let watch = Watch::Session(claim.fence.key.clone());
    let mut told = std::pin::pin!(store.wait_for_change(watch, Duration::from_secs(600)));
    let early = std::future::poll_fn(|cx| std::task::Poll::Ready(told.as_mut().poll(cx))).await;
    assert!(early.is_pending(), "nothing has changed");
    receipt(paid_once(&store, &claim).await);
    tokio::time::timeout(Duration::from_secs(60), told).await.expect("it is told").unwrap();
}

/// The guard knows the names of all tables in the file.
#[tokio::test]
async fn all_tables_of_the_store_are_guarded() {
    let folder = Folder::new();
    let store = folder.store().await;
    let conn = Connection::open(folder.file()).unwrap();
    let mut tables = conn.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").unwrap();
    let tables: Vec<String> =
        tables.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap();
    assert!(tables.len() > 10, "{tables:?}");
    let mut transaction = store.begin().await.unwrap();
    for table in tables {
        let sql = format!("DELETE FROM {table}");
        let answer = transaction.run(move |conn| conn.execute(&sql, [])).await.unwrap();
        let code = answer.as_ref().err().and_then(rusqlite::Error::sqlite_error_code);
        assert_eq!(code, Some(ErrorCode::AuthorizationForStatementDenied), "{table}: {answer:?}");
    }
}

#[tokio::test]
async fn a_panic_in_it_is_the_callers_and_undoes_it() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    let claim = claimed(&store, "s").await;
    let mut transaction = paid(&store).await;
    let panicked = tokio::spawn(async move { transaction.run(|_| panic!("in the middle")).await });
    assert!(panicked.await.unwrap_err().is_panic());
    receipt(store.commit(&claim.fence, saying("c", "goes on")).await.unwrap());
    assert_eq!(cents(&folder), 1000);
}

#[tokio::test]
async fn many_writes_at_once_are_refused() {
    let folder = Folder::new();
    let store = store_with_accounts(&folder).await;
    for id in ["a", "b"] {
        let new = NewSession { items: vec![message("m", "hello")], ..new_session(&key(id)) };
        store.create_session(new).await.unwrap();
    }
    let error = paid(&store).await.into_store().claim_due(claim_due(&["r1", "r2"])).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{error}");
    assert_eq!(cents(&folder), 1000);
    assert_eq!(store.claim_due(claim_due(&["r1", "r2"])).await.unwrap().len(), 2);
}

#[tokio::test]
async fn a_store_that_is_closed_begins_none() {
    let folder = Folder::new();
    let store = folder.store().await;
    store.close().await;
    let error = store.begin().await.unwrap_err();
    assert!(error.to_string().contains("closed"), "{error}");
}
