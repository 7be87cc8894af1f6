//! The schema, version by version, and the functions. All that is changed is changed in one transaction, which
//! one opener at a time has: a kill at any statement leaves the old or the new (INV-40).

use holdover_core::payload::Digest;
use holdover_core::store::{StoreError, StoreErrorKind};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::columns::Columns;
use crate::error::Fault;
use crate::functions;
use crate::options::PostgresOptions;
use crate::sql::Schema;

/// Each step leads from the version before it to the next; the first from nothing to version 1.
pub(crate) const STEPS: [&str; 1] = [include_str!("../schema/0001.sql")];

/// One row: the version of the tables, and which functions there are.
const MARK: &str = "CREATE TABLE holdover.mark (one boolean PRIMARY KEY DEFAULT true CHECK (one), \
     version bigint NOT NULL, functions bytea NOT NULL)";
const SET_MARK: &str = "INSERT INTO holdover.mark AS m (version, functions) VALUES ($1, $2) \
     ON CONFLICT (one) DO UPDATE SET version = excluded.version, functions = excluded.functions";
const READ_MARK: &str = "SELECT version, functions FROM holdover.mark";

/// Whether the schema has a mark, and whether it has anything.
const LOOK: &str = "SELECT to_regclass($1 || '.mark') IS NOT NULL, \
     EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1)";

/// Who waits for another opener waits longer than for a session. Files are read as they are written.
const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL lock_timeout = 120000; \
     SET LOCAL statement_timeout = 300000; SET LOCAL check_function_bodies = off; \
     SET LOCAL client_min_messages = warning";
const ALONE: &str = "SELECT pg_advisory_xact_lock($1)";

/// What a schema is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// The version of its tables; 0 if there are none.
    version: usize,
    /// The functions that it has.
    functions: Option<Digest>,
}

impl Found {
    /// Whether there is no store.
    pub(crate) fn is_nothing(&self) -> bool {
        self.version == 0
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_current(&self) -> bool {
        self.version == STEPS.len() && self.functions == Some(functions::digest())
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            0 => write!(f, "there is no store yet"),
            version if version == STEPS.len() => write!(f, "the functions are another version's"),
            version => write!(f, "it has version {version}, the newest is {}", STEPS.len()),
        }
    }
}

/// Says what the schema is, or refuses it: somebody else's, or newer than this program.
pub(crate) async fn inspect(conn: &mut PgConnection, options: &PostgresOptions) -> Result<Found, StoreError> {
    let refuse =
        |kind, why: String| Err(StoreError::new(kind, "open", format!("{}: {why}", options.place())));
    match look(conn, &options.schema).await.map_err(|fault| failed(fault, options))? {
        Look::Empty => Ok(Found { version: 0, functions: None }),
        Look::Foreign => {
            refuse(StoreErrorKind::Corrupt, "the schema holds something that is not ours".into())
        }
        Look::Marked { version, functions } if (1..=STEPS.len()).contains(&version) => {
            Ok(Found { version, functions })
        }
        Look::Marked { version, .. } => {
            let newest = STEPS.len();
            refuse(StoreErrorKind::Newer, format!("has version {version}, this program knows up to {newest}"))
        }
    }
}

enum Look {
    Empty,
    Foreign,
    Marked { version: usize, functions: Option<Digest> },
}

async fn look(conn: &mut PgConnection, schema: &Schema) -> Result<Look, Fault> {
    let rows = sqlx::query(LOOK).bind(schema.name()).persistent(false).fetch_all(&mut *conn).await?;
    let mut c = Columns::first(&rows)?;
    let (marked, something) = (c.flag()?, c.flag()?);
    if !marked {
        return Ok(if something { Look::Foreign } else { Look::Empty });
    }
    let sql = AssertSqlSafe(schema.qualify(READ_MARK));
    let rows = sqlx::query(sql).persistent(false).fetch_all(conn).await?;
    let mut c = Columns::first(&rows)?;
    let version = c.count()?;
    let functions = c.bytes_or_null()?.and_then(|bytes| bytes.try_into().ok()).map(Digest);
    Ok(Look::Marked { version, functions })
}

/// Brings the schema to the newest version, with the functions of this program. Who waited for another looks
/// again, so that of several processes which open at once one does it.
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
    let mut sql = Vec::new();
    if found.version == 0 {
        sql.push(format!("CREATE SCHEMA IF NOT EXISTS \"{schema}\""));
        sql.push(schema.qualify(MARK));
    }
    sql.extend(STEPS.iter().skip(found.version).map(|step| schema.qualify(step)));
    sql.push(schema.qualify(functions::DROP));
    sql.extend(functions::ALL.iter().map(|(_, file)| schema.qualify(file)));
    for sql in sql {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.map_err(failed)?;
    }
    sqlx::query(AssertSqlSafe(schema.qualify(SET_MARK)))
        .bind(i64::try_from(STEPS.len()).unwrap_or(i64::MAX))
        .bind(functions::digest().0.as_slice())
        .persistent(false)
        .execute(&mut *transaction)
        .await
        .map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// The number of the lock that openers of this schema take turns with.
fn lock_of(schema: &Schema) -> i64 {
    let digest = Digest::of(format!("holdover {schema}").as_bytes()).0;
    digest.first_chunk::<8>().map_or(0, |first| i64::from_be_bytes(*first))
}

/// The error of an `open` that failed.
pub(crate) fn failed(fault: Fault, options: &PostgresOptions) -> StoreError {
    let mut error = fault.of("open", None, false);
    error.detail = match error.detail.as_str() {
        "" => options.place(),
        detail => format!("{}: {detail}", options.place()),
    };
    error
}
