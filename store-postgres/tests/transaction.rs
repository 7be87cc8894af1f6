//! Transactions that change the caller's own tables and a session together.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test may panic")]

mod support;

use std::time::Duration;

use holdover_launcher::shared;
use holdover_store::ids::{Epoch, Fence};
use holdover_store::payload::Payload;
use holdover_store::{
    Commit, CommitOutcome, Delivery, InboxItem, ItemKind, MessageRange, Retry, StateStore,
    StateStoreExt as _, StoreErrorKind, Wake,
};
use holdover_store_postgres::{PostgresOptions, PostgresStore, PostgresTransaction};
use support::{Admin, commit, id, options, running, schema_of};

/// A store, with a table of the caller in the same database.
struct Site {
    options: PostgresOptions,
    store: PostgresStore,
    account: String,
    admin: Admin,
}

impl Site {
    async fn new() -> Self {
        Self::with(options(shared::postgres_url())).await
    }

    async fn with(options: PostgresOptions) -> Self {
        let mut admin = Admin::at(shared::postgres_url()).await;
        let account = format!("account_{}", schema_of(&options));
        admin.run(&format!("CREATE TABLE {account} (id bigint PRIMARY KEY, cents bigint)")).await;
        admin.run(&format!("INSERT INTO {account} VALUES (7, 1000)")).await;
        let store = PostgresStore::open(options.clone()).await.unwrap();
        Self { options, store, account, admin }
    }

    /// Begins a transaction and makes a payment in it.
    async fn paid(&self) -> PostgresTransaction {
        let mut transaction = self.store.begin().await.unwrap();
        self.pay(&mut transaction).await;
        transaction
    }

    async fn pay(&self, transaction: &mut PostgresTransaction) {
        let pay = format!("UPDATE {} SET cents = cents - 500 WHERE id = 7", self.account);
        run(transaction, &pay).await.unwrap();
    }

    async fn cents(&mut self) -> i64 {
        self.admin.number(&format!("SELECT cents FROM {}", self.account)).await
    }

    async fn messages(&self, fence: &Fence) -> usize {
        let all =
            MessageRange::new(holdover_store::ids::MessageSeq(1), holdover_store::ids::MessageSeq(u64::MAX));
        self.store.read_all_messages(&fence.key, &[all]).await.unwrap().len()
    }
}

async fn run(transaction: &mut PostgresTransaction, sql: &str) -> Result<u64, sqlx::Error> {
    let conn = transaction.connection().unwrap();
    let run = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).execute(conn).await;
    run.map(|done| done.rows_affected())
}

async fn setting(transaction: &mut PostgresTransaction, name: &str) -> String {
    let asked = sqlx::query_scalar("SELECT current_setting($1)").bind(name.to_owned());
    asked.fetch_one(transaction.connection().unwrap()).await.unwrap()
}

fn committed(outcome: CommitOutcome) {
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn is_there_with_the_commit() {
    let mut site = Site::new().await;
    let claim = running(&site.store, "s").await;
    let transaction = site.paid().await;
    assert_eq!(site.cents().await, 1000, "nobody sees it yet");
    let within = transaction.into_store();
    committed(within.commit(&claim.fence, commit(1)).await.unwrap());
    assert_eq!((site.cents().await, site.messages(&claim.fence).await), (500, 1));
    // The transaction is good for one write.
    let error = within.commit(&claim.fence, commit(2)).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{error}");
    // The run goes on as before; what the store remembered of its session is still valid.
    committed(site.store.commit(&claim.fence, commit(2)).await.unwrap());
    assert_eq!(site.messages(&claim.fence).await, 2);
    site.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn is_not_there_without_the_commit() {
    let mut site = Site::new().await;
    let claim = running(&site.store, "s").await;
    drop(site.paid().await);
    drop(site.paid().await.into_store());
    site.paid().await.roll_back().await.unwrap();
    // The fence of a run that has ended.
    let old = Fence { epoch: Epoch(0), ..claim.fence.clone() };
    let outcome = site.paid().await.into_store().commit(&old, commit(1)).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::StaleFence { .. }), "{outcome:?}");
    // A commit with a wrong expected version.
    let another = Commit { expected_version: Some(holdover_store::ids::Version(77)), ..commit(1) };
    let outcome = site.paid().await.into_store().commit(&claim.fence, another).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::VersionConflict { .. }), "{outcome:?}");
    // After a failed statement of the caller, the server has aborted the transaction.
    let mut transaction = site.paid().await;
    run(&mut transaction, "SELECT 1 / 0").await.unwrap_err();
    let error = transaction.into_store().commit(&claim.fence, commit(1)).await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::InvalidArgument, Retry::Never), "{error}");
    // A payment above the balance, which a deferred trigger finds when the transaction ends.
    let late = format!(
        "CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON {} DEFERRABLE INITIALLY DEFERRED FOR EACH ROW \
         WHEN (NEW.cents < 0) EXECUTE FUNCTION raise_{}()",
        site.account, site.account
    );
    let raises = format!(
        "CREATE FUNCTION raise_{}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'too little'; END $$",
        site.account
    );
    site.admin.run(&raises).await;
    site.admin.run(&late).await;
    let mut transaction = site.paid().await;
    site.pay(&mut transaction).await;
    site.pay(&mut transaction).await;
    let error = transaction.into_store().commit(&claim.fence, commit(1)).await.unwrap_err();
    assert!(error.to_string().contains("too little") && error.retry == Retry::Never, "{error:?}");
    assert_eq!((site.cents().await, site.messages(&claim.fence).await), (1000, 0));
    site.store.close().await;
}

/// If the outcome is unknown, the caller repeats the whole transaction; it takes effect once.
#[tokio::test(flavor = "multi_thread")]
async fn that_is_repeated_has_happened_once() {
    let mut site = Site::new().await;
    let claim = running(&site.store, "s").await;
    for _ in 0..3 {
        committed(site.paid().await.into_store().commit(&claim.fence, commit(1)).await.unwrap());
        assert_eq!((site.cents().await, site.messages(&claim.fence).await), (500, 1));
    }
    site.store.close().await;
}

/// A write that loses a race is retried in the same transaction.
#[tokio::test(flavor = "multi_thread")]
async fn stays_open_while_a_race_is_lost() {
    let mut site = Site::with(options(shared::postgres_url()).application("a race in a transaction")).await;
    let claim = running(&site.store, "s").await;
    let schema = schema_of(&site.options);
    let (mut holder, mut admin) =
        (Admin::at(shared::postgres_url()).await, Admin::at(shared::postgres_url()).await);
    holder.run(&format!("BEGIN; UPDATE {schema}.session SET token = token + 1")).await;
    let within = site.paid().await.into_store();
    let fence = claim.fence.clone();
    let commits = tokio::spawn(async move { within.commit(&fence, commit(1)).await });
    admin.until_waiting("a race in a transaction", 1).await;
    holder.run("COMMIT").await;
    committed(commits.await.unwrap().unwrap());
    assert_eq!((site.cents().await, site.messages(&claim.fence).await), (500, 1));
    site.store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_one_write_commits_it() {
    let mut site = Site::new().await;
    let created = site.paid().await.into_store().create_session(support::new_session("new")).await.unwrap();
    assert!(matches!(created, holdover_store::CreateOutcome::Created { .. }), "{created:?}");
    assert_eq!(site.cents().await, 500);
    let item = InboxItem {
        key: id("paid"),
        kind: ItemKind::Message { wake: Wake::Now },
        incarnation: None,
        payload: Payload::new("paid"),
    };
    let delivered = site.paid().await.into_store().deliver(&support::key("new"), item).await.unwrap();
    assert!(matches!(delivered, Delivery::Accepted { .. }), "{delivered:?}");
    assert_eq!(site.cents().await, 0);
    site.store.close().await;
}

/// A repeated delivery writes nothing, so it locks nothing.
#[tokio::test(flavor = "multi_thread")]
async fn holds_no_session_that_it_does_not_write() {
    let mut site = Site::new().await;
    let claim = running(&site.store, "s").await;
    let item = InboxItem {
        key: id("once"),
        kind: ItemKind::Message { wake: Wake::Quiet },
        incarnation: None,
        payload: Payload::new("once"),
    };
    let first = site.store.deliver(&claim.fence.key, item.clone()).await.unwrap();
    let within = site.paid().await.into_store();
    let again = within.deliver(&claim.fence.key, item).await.unwrap();
    assert!(
        matches!((&first, &again), (Delivery::Accepted { seq }, Delivery::Duplicate { seq: of }) if seq == of)
    );
    committed(site.store.commit(&claim.fence, commit(1)).await.unwrap());
    committed(within.commit(&claim.fence, commit(2)).await.unwrap());
    assert_eq!((site.cents().await, site.messages(&claim.fence).await), (500, 2));
    site.store.close().await;
}

/// The caller's code may change settings and begin nested transactions. The next transaction begins with the
/// original settings.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_in_it_is_reset() {
    let mut site = Site::with(options(shared::postgres_url()).transactions_max(1)).await;
    let claim = running(&site.store, "s").await;
    let mut transaction = site.paid().await;
    let limit = setting(&mut transaction, "statement_timeout").await;
    let sets = "SET search_path = nowhere; SET synchronous_commit = off; SET statement_timeout = 0; \
        SET enable_seqscan = off; CREATE TEMP TABLE mine (a int); SELECT pg_advisory_lock(77)";
    run(&mut transaction, sets).await.unwrap();
    {
        use sqlx::Connection as _;
        let within = transaction.connection().unwrap().begin().await.unwrap();
        within.commit().await.unwrap();
    }
    let durable = format!(
        "CREATE FUNCTION synced_{0}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
         INSERT INTO {0} VALUES (8, (current_setting('synchronous_commit') = 'on')::int); RETURN NEW; END $$; \
         CREATE TRIGGER synced AFTER INSERT ON {1}.message FOR EACH ROW EXECUTE FUNCTION public.synced_{0}()",
        format_args!("public.{}", site.account),
        schema_of(&site.options)
    )
    .replace("synced_public.", "synced_");
    site.admin.run(&durable).await;
    committed(transaction.into_store().commit(&claim.fence, commit(1)).await.unwrap());
    let synced = site.admin.number(&format!("SELECT cents FROM {} WHERE id = 8", site.account)).await;
    assert_eq!(synced, 1, "what the caller sets does not make the store's commit less durable");
    let mut next = site.store.begin().await.unwrap();
    let were = [
        ("search_path", "\"$user\", public"),
        ("synchronous_commit", "on"),
        ("enable_seqscan", "on"),
        ("statement_timeout", limit.as_str()),
    ];
    for (name, was) in were {
        assert_eq!(setting(&mut next, name).await, was, "{name}");
    }
    run(&mut next, "SELECT FROM mine").await.unwrap_err();
    drop(next);
    assert_eq!(
        site.admin.number("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 77").await,
        0
    );
    site.store.close().await;
}

/// If the caller's code has ended the transaction, nothing of the session is written, and the write fails.
#[tokio::test(flavor = "multi_thread")]
async fn that_was_ended_by_its_code_is_found_out() {
    let site = Site::new().await;
    let claim = running(&site.store, "s").await;
    for end in ["COMMIT", "ROLLBACK"] {
        let mut transaction = site.paid().await;
        run(&mut transaction, end).await.unwrap();
        let error = transaction.into_store().commit(&claim.fence, commit(1)).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::InvalidArgument, "{end}: {error}");
        assert_eq!(site.messages(&claim.fence).await, 0, "{end}");
    }
    site.store.close().await;
}

/// At most `transactions_max` transactions are open at once, and the store's own calls go on beside them.
#[tokio::test(flavor = "multi_thread")]
async fn leaves_the_store_its_connections() {
    let options = options(shared::postgres_url()).connections_max(2).transactions_max(2);
    let mut site = Site::with(options.wait_max(Duration::from_millis(200))).await;
    let claim = running(&site.store, "s").await;
    let (mut first, second) = (site.store.begin().await.unwrap(), site.store.begin().await.unwrap());
    site.pay(&mut first).await;
    let error = site.store.begin().await.unwrap_err();
    assert_eq!((error.kind, error.retry), (StoreErrorKind::Unavailable, Retry::Later), "{error}");
    committed(site.store.commit(&claim.fence, commit(1)).await.unwrap());
    second.roll_back().await.unwrap();
    let third = site.store.begin().await.unwrap();
    committed(first.into_store().commit(&claim.fence, commit(2)).await.unwrap());
    drop(third);
    assert_eq!((site.cents().await, site.messages(&claim.fence).await), (500, 2));
    site.store.close().await;
}
