//! The lower limit: bare inserts with the same library, settings and file system. Nothing is decided and nothing
//! is read.

mod grouped;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use holdover::store::Capabilities;
use rusqlite::Connection;

use crate::Failed;

pub(crate) use self::grouped::Grouped;

const INSERT: &str = "INSERT INTO raw (payload) VALUES (?)";

/// A database of one table, which has a payload in each row.
pub(crate) struct Raw {
    conn: Connection,
    wal: PathBuf,
    wal_bytes_max: u64,
    /// The source of bytes that are different in each transaction and cannot be compressed.
    chance: fastrand::Rng,
}

impl Raw {
    /// Opens the database with the settings that the store reports. Like the store, it makes its own checkpoints.
    pub(crate) fn open(folder: &Path, store: &Capabilities) -> Result<Self, Failed> {
        let conn = Connection::open(folder.join("raw.db"))?;
        // The page size applies only to a new file, so it is set first.
        for pragma in ["page_size", "journal_mode", "synchronous", "mmap_size"] {
            conn.pragma_update(None, pragma, setting(store, pragma)?)?;
        }
        conn.pragma_update(None, "wal_autocheckpoint", 0)?;
        conn.execute_batch("CREATE TABLE raw (id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT")?;
        let (wal, wal_bytes_max) = (folder.join("raw.db-wal"), number(store, "wal_bytes_max")?);
        Ok(Self { conn, wal, wal_bytes_max, chance: fastrand::Rng::with_seed(0) })
    }

    /// Makes one transaction with `inserts` inserts of `bytes` bytes each. Returns the time it took.
    pub(crate) fn transaction(&mut self, inserts: u64, bytes: u64) -> Result<Duration, Failed> {
        let mut payload = vec![0; usize::try_from(bytes)?];
        self.chance.fill(&mut payload);
        let began = Instant::now();
        self.insert((0..inserts).map(|_| payload.as_slice()))?;
        Ok(began.elapsed())
    }

    /// Makes one transaction with an insert for each payload. Writes the log back at the size at which the store
    /// would.
    fn insert<'p>(&self, payloads: impl IntoIterator<Item = &'p [u8]>) -> Result<(), Failed> {
        self.conn.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        for payload in payloads {
            self.conn.prepare_cached(INSERT)?.execute([payload])?;
        }
        self.conn.prepare_cached("COMMIT")?.execute([])?;
        if std::fs::metadata(&self.wal)?.len() >= self.wal_bytes_max {
            self.conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        }
        Ok(())
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

    use holdover::store::{SqliteOptions, SqliteStore, StateStore};

    use super::*;

    #[tokio::test]
    async fn it_has_the_settings_of_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let options = SqliteOptions::new(folder.path().join("holdover.db")).wal_bytes_max(64 * 1024);
        let store = SqliteStore::open(options).await.unwrap();
        let mut raw = Raw::open(folder.path(), &store.capabilities()).unwrap();
        // The store's own checkpoints replace SQLite's and are not among its settings.
        for (pragma, value) in [
            ("page_size", setting(&store.capabilities(), "page_size").unwrap()),
            ("wal_autocheckpoint", "0"),
            ("synchronous", "2"),
            ("mmap_size", "0"),
        ] {
            let found: i64 = raw.conn.pragma_query_value(None, pragma, |row| row.get(0)).unwrap();
            assert_eq!(found.to_string(), value, "{pragma}");
        }
        let mut sizes = Vec::new();
        for _ in 0..20 {
            raw.transaction(1, 8000).unwrap();
            sizes.push(std::fs::metadata(&raw.wal).unwrap().len());
        }
        assert!(sizes.iter().all(|size| *size < 64 * 1024) && sizes.contains(&0), "{sizes:?}");
    }
}
