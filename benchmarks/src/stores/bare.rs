//! The limit: what the backend takes to keep as many bytes, with nothing decided and nothing read.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use holdover::PostgresOptions;
use holdover::core::store::Capabilities;
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor};
use tokio::sync::Mutex;

use super::load::BYTES;
use crate::Failed;
use crate::raw::Raw;

/// One insert at a time, acknowledged as a commit of the store is.
pub(super) enum Bare {
    /// One writer, a transaction for each insert.
    Sqlite(Mutex<Option<Raw>>),
    /// As many connections as the store has, a statement for each insert, in the store's schema.
    Postgres { pool: PgPool, schema: String },
    /// One connection that all tasks share, as in the store; a key for each insert.
    Redis { connection: Wire, keys: Keys },
}

#[derive(Clone)]
pub(super) enum Wire {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// The keys of the inserts.
pub(super) struct Keys {
    namespace: String,
    next: AtomicU64,
}

impl Bare {
    pub(super) async fn sqlite(folder: &Path, store: &Capabilities) -> Result<Self, Failed> {
        Ok(Self::Sqlite(Mutex::new(Some(Raw::open(folder, store).await?))))
    }

    pub(super) async fn postgres(url: &str, schema: String) -> Result<Self, Failed> {
        let pool =
            PgPoolOptions::new().max_connections(PostgresOptions::CONNECTIONS_MAX).connect(url).await?;
        let table = format!("CREATE TABLE {schema}.raw (id BIGSERIAL PRIMARY KEY, payload BYTEA NOT NULL)");
        pool.execute(AssertSqlSafe(table)).await?;
        Ok(Self::Postgres { pool, schema })
    }

    pub(super) async fn redis(url: &str, namespace: &str) -> Result<Self, Failed> {
        let keys = Keys { namespace: namespace.to_owned(), next: AtomicU64::new(0) };
        let connection = match url.split_once("+cluster://") {
            Some((scheme, nodes)) => {
                let nodes = nodes.split(',').map(|node| format!("{scheme}://{node}"));
                Wire::Cluster(ClusterClient::new(nodes)?.get_async_connection().await?)
            }
            None => Wire::Single(redis::Client::open(url)?.get_multiplexed_async_connection().await?),
        };
        Ok(Self::Redis { connection, keys })
    }

    /// Keeps these bytes; returns once that is acknowledged.
    pub(super) async fn insert(&self, bytes: Vec<u8>) -> Result<(), Failed> {
        match self {
            Self::Sqlite(raw) => {
                let mut raw = raw.lock().await;
                let raw = raw.as_mut().ok_or("closed")?;
                raw.transaction(1, BYTES as u64).await?;
            }
            Self::Postgres { pool, schema } => {
                let insert = AssertSqlSafe(format!("INSERT INTO {schema}.raw (payload) VALUES ($1)"));
                sqlx::query(insert).bind(bytes).execute(pool).await?;
            }
            Self::Redis { connection, keys } => {
                let key = keys.key(keys.next.fetch_add(1, Ordering::Relaxed));
                connection.ask(redis::cmd("SET").arg(key).arg(bytes)).await?;
            }
        }
        Ok(())
    }

    /// Removes the rows, so that a server's memory does not grow from one measurement to the next.
    pub(super) async fn clear(&self) -> Result<(), Failed> {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres { pool, schema } => {
                pool.execute(AssertSqlSafe(format!("TRUNCATE {schema}.raw"))).await?;
            }
            Self::Redis { connection, keys } => {
                for key in 0..keys.next.swap(0, Ordering::Relaxed) {
                    connection.ask(redis::cmd("UNLINK").arg(keys.key(key))).await?;
                }
            }
        }
        Ok(())
    }

    /// Ends with it; of Postgres the whole schema goes.
    pub(super) async fn remove(&self) -> Result<(), Failed> {
        match self {
            Self::Sqlite(raw) => {
                if let Some(raw) = raw.lock().await.take() {
                    raw.close().await?;
                }
            }
            Self::Postgres { pool, schema } => {
                pool.execute(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).await?;
                pool.close().await;
            }
            Self::Redis { .. } => self.clear().await?,
        }
        Ok(())
    }
}

impl Wire {
    async fn ask(&self, command: &redis::Cmd) -> Result<(), Failed> {
        let answer = match self.clone() {
            Self::Single(mut connection) => connection.req_packed_command(command).await?,
            Self::Cluster(mut connection) => connection.req_packed_command(command).await?,
        };
        Ok(answer.extract_error().map(drop)?)
    }
}

impl Keys {
    fn key(&self, nth: u64) -> String {
        format!("{}:bare:{nth}", self.namespace)
    }
}
