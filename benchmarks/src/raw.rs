//! The limit: the same library, settings and file system, bare inserts, nothing decided and nothing read.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdover::core::store::Capabilities;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::Failed;

const INSERT: &str = "INSERT INTO raw (payload) VALUES (?)";

/// A database of one table with one column.
pub(crate) struct Raw {
    conn: SqliteConnection,
    wal: PathBuf,
    wal_bytes_max: u64,
    /// For bytes that differ from one another and from one insert to the next.
    chance: fastrand::Rng,
}

impl Raw {
    /// With the settings that the store says it has, and like it without checkpoints but its own.
    pub(crate) async fn open(folder: &Path, store: &Capabilities) -> Result<Self, Failed> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("raw.db"))
            .create_if_missing(true)
            .page_size(number(store, "page_size")?)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(setting(store, "synchronous")?.parse::<SqliteSynchronous>()?)
            .pragma("mmap_size", setting(store, "mmap_size")?.to_owned())
            .pragma("wal_autocheckpoint", "0")
            .disable_statement_logging();
        let mut conn = options.connect().await?;
        sqlx::query("CREATE TABLE raw (id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT")
            .execute(&mut conn)
            .await?;
        let (wal, wal_bytes_max) = (folder.join("raw.db-wal"), number(store, "wal_bytes_max")?);
        Ok(Self { conn, wal, wal_bytes_max, chance: fastrand::Rng::with_seed(0) })
    }

    /// One transaction: so many inserts of so many bytes each. Writes the log back where the store would.
    pub(crate) async fn transaction(&mut self, inserts: u64, bytes: u64) -> Result<Duration, Failed> {
        let mut payload = vec![0; usize::try_from(bytes)?];
        self.chance.fill(&mut payload);
        let began = Instant::now();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await?;
        for _ in 0..inserts {
            sqlx::query(INSERT).bind(payload.as_slice()).execute(&mut self.conn).await?;
        }
        sqlx::query("COMMIT").execute(&mut self.conn).await?;
        if std::fs::metadata(&self.wal)?.len() >= self.wal_bytes_max {
            sqlx::query("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut self.conn).await?;
        }
        Ok(began.elapsed())
    }

    pub(crate) async fn close(self) -> Result<(), Failed> {
        Ok(self.conn.close().await?)
    }
}

fn setting<'c>(store: &'c Capabilities, name: &str) -> Result<&'c str, Failed> {
    let found = store.settings.iter().find(|(found, _)| found == name);
    found.map(|(_, value)| value.as_str()).ok_or_else(|| format!("the store does not say its {name}").into())
}

fn number<N: std::str::FromStr<Err: std::error::Error + Send + Sync + 'static>>(
    store: &Capabilities,
    name: &str,
) -> Result<N, Failed> {
    Ok(setting(store, name)?.parse()?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use holdover::{SqliteOptions, SqliteStore, StateStore};
    use sqlx::Row;

    use super::*;

    #[tokio::test]
    async fn it_has_the_settings_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("holdover.db")).wal_bytes_max(64 * 1024);
        let store = SqliteStore::open(options).await.unwrap();
        let mut raw = Raw::open(folder.path(), &store.capabilities()).await.unwrap();
        // The store's own checkpoints are not among its settings: they take the place of SQLite's.
        for (pragma, value) in [
            ("page_size", setting(&store.capabilities(), "page_size").unwrap()),
            ("wal_autocheckpoint", "0"),
            ("synchronous", "2"),
            ("mmap_size", "0"),
        ] {
            let sql = sqlx::AssertSqlSafe(format!("PRAGMA {pragma}"));
            let row = sqlx::query(sql).fetch_one(&mut raw.conn).await.unwrap();
            assert_eq!(row.get::<i64, _>(0).to_string(), value, "{pragma}");
        }
        let mut sizes = Vec::new();
        for _ in 0..20 {
            raw.transaction(1, 8000).await.unwrap();
            sizes.push(std::fs::metadata(&raw.wal).unwrap().len());
        }
        assert!(sizes.iter().all(|size| *size < 64 * 1024) && sizes.contains(&0), "{sizes:?}");
    }
}
