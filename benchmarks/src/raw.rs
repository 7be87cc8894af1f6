//! The limit: the same library, settings and file system, bare inserts, nothing decided and nothing read.

use std::path::Path;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::Failed;

/// A database of one table with one column.
pub(crate) struct Raw {
    conn: SqliteConnection,
}

impl Raw {
    pub(crate) async fn open(folder: &Path) -> Result<Self, Failed> {
        let options = SqliteConnectOptions::new()
            .filename(folder.join("raw.db"))
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            .synchronous(SqliteSynchronous::Full)
            .pragma("mmap_size", "0")
            .disable_statement_logging();
        let mut conn = options.connect().await?;
        sqlx::query("CREATE TABLE raw (id INTEGER PRIMARY KEY, payload BLOB NOT NULL) STRICT")
            .execute(&mut conn)
            .await?;
        Ok(Self { conn })
    }

    /// One transaction: so many inserts of so many bytes each.
    pub(crate) async fn transaction(&mut self, inserts: u64, bytes: u64) -> Result<Duration, Failed> {
        let payload = vec![b'x'; usize::try_from(bytes)?];
        let began = Instant::now();
        sqlx::query("BEGIN IMMEDIATE").execute(&mut self.conn).await?;
        for _ in 0..inserts {
            let insert = sqlx::query("INSERT INTO raw (payload) VALUES (?)").bind(payload.as_slice());
            insert.execute(&mut self.conn).await?;
        }
        sqlx::query("COMMIT").execute(&mut self.conn).await?;
        Ok(began.elapsed())
    }

    pub(crate) async fn close(self) -> Result<(), Failed> {
        Ok(self.conn.close().await?)
    }
}
