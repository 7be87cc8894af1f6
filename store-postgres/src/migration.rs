//! The schema, version by version, and the functions. All that is changed is changed in one transaction, which
//! one opener at a time has: a kill at any statement leaves the old or the new (INV-40).
//!
//! The version of the tables only rises. The functions of several programs stand side by side (`functions`), so a
//! step must leave the tables as those before it can work with them, or remove these (`remove_program`).

use holdover_store::payload::Digest;
use holdover_store::{StoreError, StoreErrorKind};
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::columns::Columns;
use crate::error::Fault;
use crate::functions::{self, Functions};
use crate::options::PostgresOptions;
use crate::sql::Schema;

/// Each step leads from the version before it to the next; the first from nothing to version 1.
pub(crate) const STEPS: [&str; 2] = [include_str!("../schema/0001.sql"), include_str!("../schema/0002.sql")];

/// One row: the version of the tables.
const MARK: &str = "CREATE TABLE holdover.mark (one boolean PRIMARY KEY DEFAULT true CHECK (one), \
     version bigint NOT NULL)";
const SET_MARK: &str = "INSERT INTO holdover.mark AS m (version) VALUES ($1) \
     ON CONFLICT (one) DO UPDATE SET version = excluded.version";
const READ_MARK: &str = "SELECT version FROM holdover.mark";

/// Whether the schema has a mark, whether it has anything, and how many functions and types carry this tag.
const LOOK: &str = "SELECT to_regclass($1 || '.mark') IS NOT NULL, \
     EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1), \
     (SELECT count(*) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace \
         WHERE n.nspname = $1 AND p.proname ~ ('_' || $2 || '$')) + \
     (SELECT count(*) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
         WHERE n.nspname = $1 AND c.relkind = 'c' AND c.relname ~ ('_' || $2 || '$'))";

const REMOVE_OWN: &str = "SELECT holdover.remove_program($1)";
/// Written at most once a day, so that an opening is a look.
const NOTE_OPENING: &str = "INSERT INTO holdover.program AS p (tag, opened_at) VALUES ($1, clock_timestamp()) \
     ON CONFLICT (tag) DO UPDATE SET opened_at = excluded.opened_at \
     WHERE p.opened_at < excluded.opened_at - interval '1 day'";
/// A program that still runs after so long without being opened makes its functions again when it misses them.
const REMOVE_UNUSED: &str = "SELECT holdover.remove_program(p.tag) FROM holdover.program p \
     WHERE p.opened_at < clock_timestamp() - interval '30 days'";

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
    /// Whether it has the functions of this program.
    functions: bool,
}

impl Found {
    /// Whether there is no store.
    pub(crate) fn is_nothing(&self) -> bool {
        self.version == 0
    }

    /// Whether there is nothing to do.
    pub(crate) fn is_current(&self) -> bool {
        self.version == STEPS.len() && self.functions
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.version {
            0 => write!(f, "there is no store yet"),
            version if version == STEPS.len() => write!(f, "this version's functions are not there"),
            version => write!(f, "it has version {version}, the newest is {}", STEPS.len()),
        }
    }
}

/// Says what the schema is, or refuses it: somebody else's, or newer than this program.
pub(crate) async fn inspect(conn: &mut PgConnection, options: &PostgresOptions) -> Result<Found, StoreError> {
    let refuse =
        |kind, why: String| Err(StoreError::new(kind, "open", format!("{}: {why}", options.place())));
    match look(conn, &options.schema, &options.functions).await.map_err(|fault| failed(fault, options))? {
        Look::Empty => Ok(Found { version: 0, functions: false }),
        Look::Foreign => {
            refuse(StoreErrorKind::Corrupt, "the schema holds something that is not ours".into())
        }
        Look::Marked(found) if (1..=STEPS.len()).contains(&found.version) => Ok(found),
        Look::Marked(Found { version, .. }) => {
            let newest = STEPS.len();
            refuse(StoreErrorKind::Newer, format!("has version {version}, this program knows up to {newest}"))
        }
    }
}

enum Look {
    Empty,
    Foreign,
    Marked(Found),
}

async fn look(conn: &mut PgConnection, schema: &Schema, functions: &Functions) -> Result<Look, Fault> {
    let query = sqlx::query(LOOK).bind(schema.name()).bind(functions.tag()).persistent(false);
    let rows = query.fetch_all(&mut *conn).await?;
    let mut c = Columns::first(&rows)?;
    let (marked, something, carry_tag) = (c.flag()?, c.flag()?, c.count::<usize>()?);
    if !marked {
        return Ok(if something { Look::Foreign } else { Look::Empty });
    }
    let sql = AssertSqlSafe(functions.qualify(schema, READ_MARK));
    let rows = sqlx::query(sql).persistent(false).fetch_all(conn).await?;
    let version = Columns::first(&rows)?.count()?;
    Ok(Look::Marked(Found { version, functions: carry_tag == functions::ALL.len() }))
}

/// Brings the schema to the newest version, with the functions of this program beside those of others. Who waited
/// for another looks again, so that of several processes which open at once one does it.
pub(crate) async fn migrate(conn: &mut PgConnection, options: &PostgresOptions) -> Result<(), StoreError> {
    let failed = |error: sqlx::Error| failed(Fault::from(error), options);
    let (schema, functions) = (&options.schema, &options.functions);
    let qualify = |sql: &str| functions.qualify(schema, sql);
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
    if found.version == 0 {
        steps.push(make_schema(schema));
        steps.push(qualify(MARK));
    }
    steps.extend(STEPS.iter().skip(found.version).map(|step| qualify(step)));
    for sql in steps {
        sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut *transaction).await.map_err(failed)?;
    }
    let set_mark = sqlx::query(AssertSqlSafe(qualify(SET_MARK)));
    let set_mark = set_mark.bind(i64::try_from(STEPS.len()).unwrap_or(i64::MAX)).persistent(false);
    set_mark.execute(&mut *transaction).await.map_err(failed)?;
    // What is left of them if somebody removed some.
    let remove_own = sqlx::query(AssertSqlSafe(qualify(REMOVE_OWN))).bind(functions.tag()).persistent(false);
    remove_own.execute(&mut *transaction).await.map_err(failed)?;
    let files = functions::ALL.iter().map(|(_, file)| *file).chain([functions::VIEW]);
    for file in files {
        let sql = AssertSqlSafe(qualify(file));
        sqlx::raw_sql(sql).execute(&mut *transaction).await.map_err(failed)?;
    }
    let note = sqlx::query(AssertSqlSafe(qualify(NOTE_OPENING))).bind(functions.tag()).persistent(false);
    note.execute(&mut *transaction).await.map_err(failed)?;
    sqlx::raw_sql(AssertSqlSafe(qualify(REMOVE_UNUSED))).execute(&mut *transaction).await.map_err(failed)?;
    transaction.commit().await.map_err(failed)
}

/// Makes the schema, unless an administrator has: Postgres asks for the right to make schemas even where there is one.
fn make_schema(schema: &Schema) -> String {
    format!(
        "DO $$ BEGIN IF to_regnamespace('{schema}') IS NULL THEN \
         CREATE SCHEMA IF NOT EXISTS \"{schema}\"; END IF; END $$"
    )
}

/// Notes that a program with these functions was opened, so that they stay. A user who may not write it loses nothing
/// by that today.
pub(crate) async fn note_opening(conn: &mut PgConnection, options: &PostgresOptions) {
    let noted = async {
        let mut transaction = conn.begin_with(AssertSqlSafe(options.begin(options.statement_max()))).await?;
        let note = sqlx::query(AssertSqlSafe(options.functions.qualify(&options.schema, NOTE_OPENING)));
        note.bind(options.functions.tag()).persistent(false).execute(&mut *transaction).await?;
        transaction.commit().await
    };
    if let Err(error) = noted.await {
        tracing::debug!(%error, "that the store was opened could not be noted");
    }
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
