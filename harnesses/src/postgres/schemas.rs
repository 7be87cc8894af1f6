//! The schemas of a test database, which are created, emptied and reused, and the clocks that they use.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};

use holdover_store::StoreError;
use holdover_store_postgres::{PostgresOptions, PostgresStore, sqlx};
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::sync::OnceCell;
use uuid::Uuid;

/// The time at which every clock starts: an arbitrary instant in 2027.
const START_MS: i64 = 1_800_000_000_000;

/// The SQL that creates the table of all clocks, which has one row for each harness.
const CLOCKS: &str = "CREATE SCHEMA IF NOT EXISTS holdover_clocks; \
     CREATE TABLE IF NOT EXISTS holdover_clocks.clock (harness text PRIMARY KEY, now bigint NOT NULL)";
const ALONE: &str = "SELECT pg_advisory_xact_lock(727100)";

/// The SQL that prepares a schema for tests. It creates a table that names the harness whose clock the schema uses
/// (none at first), and a function that reads that clock.
const GO_BY_A_ROW: &str = "CREATE TABLE holdover.goes_by (harness text NOT NULL); \
     INSERT INTO holdover.goes_by VALUES (''); \
     CREATE OR REPLACE FUNCTION holdover.now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS \
     $$ SELECT c.now FROM holdover_clocks.clock c JOIN holdover.goes_by g ON g.harness = c.harness $$";

/// Returns the SQL expression that reads the clock of a test schema.
pub(super) fn clock(schema: &str) -> String {
    format!("\"{schema}\".now_ms()")
}

/// Every table with rows of sessions. Deleting the rows is faster than truncating the tables while there are few rows.
const TABLES: [&str; 14] = [
    "session",
    "label",
    "definition",
    "state",
    "message",
    "event",
    "delta",
    "checkpoint",
    "item",
    "staged",
    "start_mark",
    "pending",
    "opened",
    "run",
];

/// The emptied schemas of each database, by its URL.
static FREE: LazyLock<Mutex<HashMap<String, Vec<String>>>> = LazyLock::new(Mutex::default);

/// Identifies this process among all that test on the same server, on any machine.
static PROCESS: LazyLock<String> = LazyLock::new(|| Uuid::new_v4().simple().to_string());

/// The number of names that this process has made for harnesses and schemas.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// The connection of one harness to the database.
pub(super) struct Admin {
    url: String,
    harness: String,
    pool: OnceCell<PgPool>,
}

fn own_name(what: &str) -> String {
    format!("{}{}", own_prefix(what), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn own_prefix(what: &str) -> String {
    format!("holdover_{what}_{}_", *PROCESS)
}

/// Removes every schema and clock that this process made at `url`, with one transaction for each schema. Also removes
/// the schema of the clocks if no clock is left in it.
pub(super) async fn remove_all(url: &str) -> Result<(), StoreError> {
    let options = PostgresOptions::from_url(url)?;
    {
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.remove(url);
    }
    let removed = async {
        let mut conn = PgConnection::connect_with(&options.test_connection()).await?;
        let query = sqlx::query("SELECT nspname::text FROM pg_namespace WHERE starts_with(nspname, $1)");
        for row in query.bind(own_prefix("test")).fetch_all(&mut conn).await? {
            let drop = format!("DROP SCHEMA \"{}\" CASCADE", row.try_get::<String, _>(0)?);
            sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut conn).await?;
        }
        let mut transaction = conn.begin().await?;
        sqlx::raw_sql(ALONE).execute(&mut *transaction).await?;
        sqlx::raw_sql(CLOCKS).execute(&mut *transaction).await?;
        let query = sqlx::query("DELETE FROM holdover_clocks.clock WHERE starts_with(harness, $1)");
        query.bind(own_prefix("harness")).execute(&mut *transaction).await?;
        let query = sqlx::query("SELECT EXISTS (SELECT FROM holdover_clocks.clock)");
        if !query.fetch_one(&mut *transaction).await?.try_get::<bool, _>(0)? {
            sqlx::raw_sql("DROP SCHEMA holdover_clocks CASCADE").execute(&mut *transaction).await?;
        }
        transaction.commit().await?;
        conn.close().await
    };
    removed.await.map_err(|error| PostgresStore::test_error(error, "remove_all"))
}

impl Admin {
    pub(super) fn new(url: &str) -> Self {
        Self { url: url.to_owned(), harness: own_name("harness"), pool: OnceCell::new() }
    }

    /// Returns a name for a new schema.
    pub(super) fn name(&self) -> String {
        own_name("test")
    }

    async fn pool(&self) -> &PgPool {
        let open = async {
            let options = PostgresOptions::from_url(&self.url).expect("a database");
            let pool = PgPoolOptions::new()
                .max_connections(1)
                .acquire_timeout(std::time::Duration::from_secs(60))
                .connect_lazy_with(options.test_connection());
            let mut conn = pool.acquire().await.expect("a connection");
            let mut transaction = conn.begin().await.expect("a transaction");
            sqlx::raw_sql(ALONE).execute(&mut *transaction).await.expect("its turn");
            sqlx::raw_sql(CLOCKS).execute(&mut *transaction).await.expect("clocks");
            sqlx::query("INSERT INTO holdover_clocks.clock (harness, now) VALUES ($1, $2)")
                .bind(&self.harness)
                .bind(START_MS)
                .execute(&mut *transaction)
                .await
                .expect("a clock");
            transaction.commit().await.expect("a clock");
            drop(conn);
            pool
        };
        self.pool.get_or_init(|| open).await
    }

    pub(super) async fn run(&self, sql: String) {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(self.pool().await).await.expect("the database obeys");
    }

    /// Makes a new schema use this harness's clock.
    pub(super) async fn prepare(&self, schema: &str) {
        self.run(GO_BY_A_ROW.replace("holdover.", &format!("\"{schema}\"."))).await;
        self.take(schema).await;
    }

    async fn take(&self, schema: &str) {
        self.run(format!("UPDATE \"{schema}\".goes_by SET harness = '{}'", self.harness)).await;
    }

    /// Takes an emptied schema, if there is one, and makes it use this harness's clock.
    pub(super) async fn reuse(&self) -> Option<String> {
        let schema = {
            let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
            free.get_mut(&self.url).and_then(Vec::pop)
        };
        if let Some(schema) = &schema {
            self.take(schema).await;
        }
        schema
    }

    /// Empties a schema, so that it can be reused.
    pub(super) async fn empty(&self, schema: String) {
        let deletes = TABLES.map(|table| format!("DELETE FROM \"{schema}\".{table}"));
        self.run(deletes.join("; ")).await;
        let mut free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        free.entry(self.url.clone()).or_default().push(schema);
    }

    /// Waits until the server has no connection with this application name.
    pub(super) async fn outlast(&self, application: &str) {
        const COUNT: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
        loop {
            let query = sqlx::query(COUNT).bind(application);
            let left: i64 = query.fetch_one(self.pool().await).await.expect("the server's list").get(0);
            if left == 0 {
                return;
            }
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn now_ms(&self) -> i64 {
        let query =
            sqlx::query("SELECT now FROM holdover_clocks.clock WHERE harness = $1").bind(&self.harness);
        query.fetch_one(self.pool().await).await.expect("its clock").get(0)
    }

    pub(super) async fn advance(&self, by_ms: i64) {
        let query = sqlx::query("UPDATE holdover_clocks.clock SET now = now + $2 WHERE harness = $1")
            .bind(&self.harness)
            .bind(by_ms);
        query.execute(self.pool().await).await.expect("its clock");
    }
}
