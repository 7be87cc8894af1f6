//! The lower limit: the time that a backend takes to store as many bytes, with nothing decided and nothing read.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use holdover::store::{Capabilities, PostgresOptions};
use redis::aio::{ConnectionLike, MultiplexedConnection};
use redis::cluster::ClusterClient;
use redis::cluster_async::ClusterConnection;
use sqlx::postgres::{PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, Executor};

use crate::Failed;
use crate::raw::Grouped;

/// The script that makes one step of a walk over all keys of a server, removes those that match, and returns the next
/// cursor.
const REMOVE_STEP: &str = "
local step = redis.call('SCAN', ARGV[1], 'MATCH', ARGV[2], 'COUNT', ARGV[3])
for _, key in ipairs(step[2]) do redis.call('UNLINK', key) end
return step[1]";

/// The approximate number of keys that one step looks at.
const STEP: usize = 1_000;

/// Bare access to a backend. Each insert is acknowledged as a commit of the store is.
pub(crate) enum Bare {
    /// One writer, with a transaction for all waiting inserts.
    Sqlite(Grouped),
    /// As many connections as the store has, with a statement for each insert, in the store's schema.
    Postgres { pool: PgPool, schema: String },
    /// One connection that all tasks share, as in the store, with a key for each insert.
    Redis { connection: Wire, keys: Keys },
}

#[derive(Clone)]
pub(crate) enum Wire {
    Single(MultiplexedConnection),
    Cluster(ClusterConnection),
}

/// The keys of the inserts.
pub(crate) struct Keys {
    namespace: String,
    next: AtomicU64,
}

impl Bare {
    pub(super) fn sqlite(folder: &Path, store: &Capabilities) -> Result<Self, Failed> {
        Ok(Self::Sqlite(Grouped::open(folder, store)?))
    }

    pub(super) async fn postgres(url: &str, schema: String) -> Result<Self, Failed> {
        let options = PgPoolOptions::new().test_before_acquire(false);
        let pool = options.max_connections(PostgresOptions::CONNECTIONS_MAX).connect(url).await?;
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

    /// Stores these bytes. Returns once that is acknowledged.
    pub(crate) async fn insert(&self, bytes: Vec<u8>) -> Result<(), Failed> {
        match self {
            Self::Sqlite(raw) => raw.insert(bytes).await?,
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

    /// Returns the number of bytes that the server stores: for Postgres those of the schema's tables with their
    /// indexes, for Redis all memory. Returns 0 for SQLite.
    pub(super) async fn server_bytes(&self) -> Result<u64, Failed> {
        let bytes = match self {
            Self::Sqlite(_) => 0,
            Self::Postgres { pool, schema } => {
                let sizes = "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class \
                             WHERE relkind = 'r' AND relnamespace = $1::regnamespace";
                sqlx::query_scalar::<_, i64>(sizes).bind(schema).fetch_one(pool).await?
            }
            Self::Redis { connection, .. } => return connection.told("memory", "used_memory").await,
        };
        Ok(u64::try_from(bytes)?)
    }

    /// Returns the number of exchanges that the server has counted, including this one: transactions of the database,
    /// or reads from connections. Returns `None` if there is no server, or if there are several.
    pub(super) async fn exchanges(&self) -> Result<Option<u64>, Failed> {
        let asked = match self {
            Self::Sqlite(_) | Self::Redis { connection: Wire::Cluster(_), .. } => return Ok(None),
            Self::Postgres { pool, .. } => {
                let ended = "SELECT xact_commit + xact_rollback FROM pg_stat_database \
                             WHERE datname = current_database()";
                u64::try_from(sqlx::query_scalar::<_, i64>(ended).fetch_one(pool).await?)?
            }
            Self::Redis { connection, .. } => connection.told("stats", "total_reads_processed").await?,
        };
        Ok(Some(asked))
    }

    /// Makes Postgres do at once what it does in the background after many writes: it vacuums the tables of the schema, and
    /// writes all changed pages to its files. Does nothing for other backends.
    pub(super) async fn settle(&self) -> Result<(), Failed> {
        let Self::Postgres { pool, schema } = self else { return Ok(()) };
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = $1";
        for table in sqlx::query_scalar::<_, String>(tables).bind(schema).fetch_all(pool).await? {
            pool.execute(AssertSqlSafe(format!("VACUUM (ANALYZE) {schema}.{table}"))).await?;
        }
        pool.execute("CHECKPOINT").await?;
        Ok(())
    }

    /// Removes the inserted rows or keys, so that a server does not store more from one measurement to the next. Does
    /// nothing for SQLite.
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

    /// Removes everything that was inserted, and the store beside it: for Postgres the whole schema, for Redis all keys
    /// of the namespace. Does nothing for SQLite, whose folder is removed.
    pub(super) async fn remove(&self) -> Result<(), Failed> {
        match self {
            Self::Sqlite(_) => {}
            Self::Postgres { pool, schema } => {
                pool.execute(AssertSqlSafe(format!("DROP SCHEMA {schema} CASCADE"))).await?;
                pool.close().await;
            }
            Self::Redis { connection, keys } => {
                self.clear().await?;
                connection.remove_store(&keys.namespace).await?;
            }
        }
        Ok(())
    }
}

impl Wire {
    async fn ask(&self, command: &redis::Cmd) -> Result<redis::Value, Failed> {
        let answer = match self.clone() {
            Self::Single(mut connection) => connection.req_packed_command(command).await?,
            Self::Cluster(mut connection) => connection.req_packed_command(command).await?,
        };
        Ok(answer.extract_error()?)
    }

    /// Removes all keys of the store in this namespace: one partition after the other, because the keys of a script
    /// must lie in one slot of a cluster.
    async fn remove_store(&self, namespace: &str) -> Result<(), Failed> {
        let fixed = format!("{{{namespace}}}");
        let partitions = self.ask(redis::cmd("HGET").arg(format!("{fixed}:meta")).arg("partitions")).await?;
        let partitions = redis::from_redis_value::<u16>(partitions)?;
        let tags = (0..partitions).map(|partition| format!("{{{namespace}:{partition}}}"));
        for tag in tags.chain([fixed]) {
            let (routed_by, keys) = (format!("{tag}:meta"), format!("{tag}:*"));
            let mut cursor = "0".to_owned();
            loop {
                let mut step = redis::cmd("EVAL");
                step.arg(REMOVE_STEP).arg(1).arg(&routed_by).arg(&cursor).arg(&keys).arg(STEP);
                cursor = redis::from_redis_value(self.ask(&step).await?)?;
                if cursor == "0" {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Returns a number from the server's `INFO`.
    async fn told(&self, section: &str, name: &str) -> Result<u64, Failed> {
        let told: String = redis::from_redis_value(self.ask(redis::cmd("INFO").arg(section)).await?)?;
        let value = told.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        Ok(value.ok_or_else(|| format!("the server does not say its {name}"))?.trim().parse()?)
    }
}

impl Keys {
    fn key(&self, nth: u64) -> String {
        format!("{}:bare:{nth}", self.namespace)
    }
}
