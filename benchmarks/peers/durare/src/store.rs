//! durare's provider on SQLite or Postgres, over a pool whose commits are synced.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use durare::{PostgresProvider, Serializer, SqliteProvider, StateProvider};
use serde_json::{Value, json};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{PgPool, SqlitePool};

use crate::w::{Failure, Work};

/// The schema that the SDKs of DBOS share.
const SCHEMA: &str = "dbos";

/// The pool that a provider uses.
pub enum Pool {
    Sqlite(SqlitePool),
    Postgres(PgPool),
}

/// Opens the store of `work`. The default serializer, base64 of JSON, stored a third more and was not faster than plain
/// JSON.
pub async fn open(work: &Work) -> Result<(Arc<dyn StateProvider>, Pool), Failure> {
    if let Some(path) = work.store.strip_prefix("sqlite:") {
        let pool = sqlite(path, work).await?;
        let provider = SqliteProvider::from_pool(pool.clone()).with_serializer(Serializer::Portable);
        return Ok((Arc::new(provider), Pool::Sqlite(pool)));
    }
    let pool = postgres(&work.store, work).await?;
    let provider = PostgresProvider::from_pool_with_schema(pool.clone(), SCHEMA)?;
    Ok((Arc::new(provider.with_serializer(Serializer::Portable)), Pool::Postgres(pool)))
}

/// Opens a pool with the options of `SqliteProvider::connect`, except `synchronous`: durare sets NORMAL, which does not
/// sync each commit. For 32 sessions on a slow disk, durare's default of 5 connections made two thirds of the steps that
/// 16 made, and 1 connection half of them; on a fast disk, 5, 16 and 32 were equal. For one session, a second connection
/// was not faster, and 5 that were open from the start were slower.
async fn sqlite(path: &str, work: &Work) -> Result<SqlitePool, Failure> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .create_if_missing(true)
        .foreign_keys(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .busy_timeout(Duration::from_secs(5));
    let connections = if work.sessions == 1 { 1 } else { 16 };
    Ok(SqlitePoolOptions::new().max_connections(connections).connect_with(options).await?)
}

/// Opens a pool. durare's listener holds one of its connections. For 32 sessions, durare's default of 8 connections was
/// slower than 16, and 33 were not faster. For one session, 8 connections were slower than 2.
async fn postgres(url: &str, work: &Work) -> Result<PgPool, Failure> {
    let options = PgConnectOptions::from_str(url)?.options([("search_path", SCHEMA)]);
    let connections = if work.sessions == 1 { 2 } else { 16 };
    Ok(PgPoolOptions::new().max_connections(connections).connect_with(options).await?)
}

impl Pool {
    /// Returns the settings, read back from the pool.
    pub async fn settings(&self) -> Result<Value, Failure> {
        match self {
            Self::Sqlite(pool) => {
                let journal_mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(pool).await?;
                let synchronous: i64 = sqlx::query_scalar("PRAGMA synchronous").fetch_one(pool).await?;
                let connections = pool.options().get_max_connections();
                Ok(
                    json!({ "journal_mode": journal_mode, "synchronous": synchronous, "connections": connections }),
                )
            }
            Self::Postgres(pool) => {
                let synchronous_commit: String =
                    sqlx::query_scalar("SHOW synchronous_commit").fetch_one(pool).await?;
                let connections = pool.options().get_max_connections();
                Ok(json!({ "synchronous_commit": synchronous_commit, "connections": connections }))
            }
        }
    }

    /// Closes SQLite's connections. SQLite makes a checkpoint when the last one closes, as in any program that ends
    /// normally. On Postgres, the listener keeps its connection until the process ends.
    pub async fn close(self) {
        if let Self::Sqlite(pool) = self {
            pool.close().await;
        }
    }
}
