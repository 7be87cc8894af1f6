//! The schema, version by version. All changes are made in one transaction, by one opener at a time, so a
//! kill at any statement leaves the old schema or the new one (INV-40).
//!
//! The version of the tables only rises. After a step, earlier programs must either still work with the
//! tables, or fail. A program that fails looks at the version and reports that the schema is newer.

use holdover_store::payload::Digest;
use holdover_store::{StoreError, StoreErrorKind};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::columns::Columns;
use crate::error::Fault;
use crate::options::PostgresOptions;
use crate::sql::{Schema, qualify};

/// The migrations in order. The first leads from an empty schema to version 1, each other one to the next version.
pub(crate) const STEPS: [&str; 6] = [
    include_str!("../schema/0001.sql"),
    include_str!("../schema/0002.sql"),
    include_str!("../schema/0003.sql"),
    include_str!("../schema/0004.sql"),
    include_str!("../schema/0005.sql"),
    include_str!("../schema/0006.sql"),
];

/// A table with one row: the version of the tables.
const MARK: &str = "CREATE TABLE holdover.mark (one boolean PRIMARY KEY DEFAULT true CHECK (one), \
     version bigint NOT NULL)";
const SET_MARK: &str = "INSERT INTO holdover.mark AS m (version) VALUES ($1) \
     ON CONFLICT (one) DO UPDATE SET version = excluded.version";
const READ_MARK: &str = "SELECT version FROM holdover.mark";

/// Finds out whether the schema has a mark, and whether it holds anything.
const LOOK: &str = "SELECT to_regclass($1 || '.mark') IS NOT NULL, \
     EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)";

/// Begins a migration. Its lock time-out is longer than usual, because it may wait for another opener. Function
/// bodies are not checked.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 120000; \
     SET LOCAL statement_timeout = 300000; SET LOCAL check_function_bodies = off; \
     SET LOCAL client_min_messages = warning";
const ALONE: &str = "SELECT pg_advisory_xact_lock($1)";

/// The version of a schema's tables; 0 if there are none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found(usize);

impl Found {
    /// Returns true if the schema holds no store.
    pub(crate) fn is_nothing(self) -> bool {
        self.0 == 0
    }

    /// Returns true if the schema is current.
    pub(crate) fn is_current(self) -> bool {
        self.0 == STEPS.len()
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            0 => write!(f, "there is no store yet"),
            version => write!(f, "it has version {version}, the newest is {}", STEPS.len()),
        }
    }
}

/// Inspects the schema. Uses a transaction, because behind a pooler only the statements of one transaction surely
/// reach the same connection.
pub(crate) async fn look_at(conn: &mut PgConnection, options: &PostgresOptions) -> Result<Found, StoreError> {
    let sql_failed = |error: sqlx::Error| failed(Fault::from(error), options);
    let begin = AssertSqlSafe(options.begin(options.statement_max()));
    let mut look = conn.begin_with(begin).await.map_err(sql_failed)?;
    let found = inspect(&mut look, options).await?;
    look.rollback().await.map_err(sql_failed)?;
    Ok(found)
}

/// Returns the version of the schema's tables. Fails if the schema holds no store but something else, or has a
/// version that this program does not know.
async fn inspect(conn: &mut PgConnection, options: &PostgresOptions) -> Result<Found, StoreError> {
    let refuse =
        |kind, why: String| Err(StoreError::new(kind, "open", format!("{}: {why}", options.place())));
    match look(conn, &options.schema).await.map_err(|fault| failed(fault, options))? {
        Look::Empty => Ok(Found(0)),
        Look::Foreign => {
            refuse(StoreErrorKind::Corrupt, "the schema holds something that is not ours".into())
        }
        Look::Marked(version) if (1..=STEPS.len()).contains(&version) => Ok(Found(version)),
        Look::Marked(version) => {
            let newest = STEPS.len();
            refuse(StoreErrorKind::Newer, format!("has version {version}, this program knows up to {newest}"))
        }
    }
}

enum Look {
    Empty,
    Foreign,
    Marked(usize),
}

async fn look(conn: &mut PgConnection, schema: &Schema) -> Result<Look, Fault> {
    let rows = sqlx::query(LOOK).bind(schema.name()).persistent(false).fetch_all(&mut *conn).await?;
    let mut c = Columns::first(&rows)?;
    let (marked, something): (bool, bool) = (c.take()?, c.take()?);
    if !marked {
        return Ok(if something { Look::Foreign } else { Look::Empty });
    }
    let sql = AssertSqlSafe(qualify(schema, READ_MARK));
    let rows = sqlx::query(sql).persistent(false).fetch_all(conn).await?;
    Ok(Look::Marked(Columns::first(&rows)?.count()?))
}

/// Brings the schema to the newest version. A process that had to wait for the lock inspects the schema again, so
/// that only one of several processes migrates.
pub(crate) async fn migrate(conn: &mut PgConnection, options: &PostgresOptions) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| failed(Fault::from(error), options);
    let schema = &options.schema;
    let mut transaction = conn.begin_with(BEGIN).await.map_err(failed)?;
    sqlx::query(ALONE)
        .bind(lock_of(schema))
        .persistent(false)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    let found = inspect(&mut transaction, options).await?;
    if found.is_current() {
        return transaction.rollback().await.map_err(failed);
    }
    let mut steps = Vec::new();
    if found.is_nothing() {
        steps.push(make_schema(schema));
        steps.push(qualify(schema, MARK));
    }
    steps.extend(STEPS.iter().skip(found.0).map(|step| qualify(schema, step)));
    for sql in steps {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.map_err(failed)?;
    }
    let set_mark = sqlx::query(AssertSqlSafe(qualify(schema, SET_MARK)));
    let set_mark = set_mark.bind(i64::try_from(STEPS.len()).unwrap_or(i64::MAX)).persistent(false);
    set_mark.execute(&mut *transaction).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Returns SQL that creates the schema unless it exists. It looks first, because `CREATE SCHEMA IF NOT EXISTS`
/// requires the right to create schemas even for a schema that exists.
fn make_schema(schema: &Schema) -> String {
    format!(
        "DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN \
         CREATE SCHEMA IF NOT EXISTS \"{schema}\"; END IF; END $$"
    )
}

/// Returns the number of the lock by which openers of this schema take turns.
fn lock_of(schema: &Schema) -> i64 {
    let digest = Digest::of(format!("holdover {schema}").as_bytes()).0;
    digest.first_chunk::<8>().map_or(0, |first| i64::from_be_bytes(*first))
}

/// Returns the store error of an `open` that failed.
pub(crate) fn failed(fault: Fault, options: &PostgresOptions) -> StoreError {
    let mut error = fault.of("open", None, false);
    error.detail = match error.detail.as_str() {
        "" => options.place(),
        detail => format!("{}: {detail}", options.place()),
    };
    error
}
