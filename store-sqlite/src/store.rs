//! The store: implements the contract on one file.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use holdover_store::rows::RowStore;
use holdover_store::{OpenTransaction, StoreError, StoreErrorKind};
use tokio::sync::{mpsc, oneshot};

use crate::gaps::Gaps;
use crate::hints;
use crate::log::Log;
use crate::open::{Connector, Opened};
use crate::options::SqliteOptions;
use crate::readers::Readers;
use crate::rows::SqliteRows;
use crate::transaction::SqliteTransaction;
use crate::writer::{Counters, Message, QUEUE_MAX, Writer};

/// Counters of the writer since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Writes that callers asked for. A write in a transaction of the caller counts once it is applied.
    pub writes: u64,
    /// Transactions for these writes, and transactions of callers, including failed attempts. Each costs at most one
    /// sync, and one more if it is the first after the log was restarted.
    pub groups: u64,
    /// Transactions that held only deltas and were therefore not synced separately.
    pub provisional: u64,
    /// Writes of groups that failed as a whole; these writes were repeated one by one.
    pub repeated: u64,
    /// Write-backs of the whole write-ahead log, which then was restarted or emptied.
    pub checkpoints: u64,
    /// Times that the writer connection was reopened after a failure.
    pub reopened: u64,
}

/// Sessions in one SQLite file, shared by every process of one machine.
///
/// Clones are cheap. They share one writer thread, one pool of reading connections, and the rows that the store holds
/// in memory of the sessions that it wrote last. The store needs a tokio runtime.
#[derive(Clone)]
pub struct SqliteStore {
    store: RowStore<SqliteRows>,
}

holdover_store::forward_store! { [] SqliteStore, |sqlite| sqlite.store, async {
    Ok(OpenTransaction::new(SqliteTransaction::begin(&sqlite.store).await?))
} }

impl SqliteStore {
    /// Opens the database, creates it if the file does not exist, and migrates its schema. Several processes may open
    /// it at once.
    ///
    /// # Errors
    /// Errors have the operation `open` and name the file in one line:
    ///
    /// - [`Unavailable`](StoreErrorKind::Unavailable) if the folder is missing or lies on a network file system, if
    ///   the file cannot be opened or created, if the linked SQLite library can corrupt data, or if this user cannot
    ///   write the database, unless it is opened only for inspection ([`as_it_is`](SqliteOptions::as_it_is))
    /// - [`InvalidArgument`](StoreErrorKind::InvalidArgument) if the path is `:memory:`
    /// - [`Corrupt`](StoreErrorKind::Corrupt) if the file is no SQLite database, or the database of another program
    /// - [`Newer`](StoreErrorKind::Newer) if a newer version of the store wrote it
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        let (clock, wal_bytes_max, synchronous) =
            (options.clock.clone(), options.wal_bytes_max, options.synchronous);
        let may_write = !options.as_it_is;
        let connector = Arc::new(Connector::new(options)?);
        let frozen = connector.frozen();
        let hints = hints::of(connector.file());
        let counters = Arc::new(Counters::default());
        let (writes, queue) = mpsc::channel(QUEUE_MAX);
        let mut writer = Writer {
            gaps: Gaps::default(),
            remains: may_write,
            log: Log::new(connector.wal_file(), wal_bytes_max),
            connector: Arc::clone(&connector),
            conn: None,
            synchronous,
            clock: clock.clone(),
            hints: hints.clone(),
            counters: counters.clone(),
        };
        let failed = |why: String| StoreError::new(StoreErrorKind::Unavailable, "open", why);
        let (opened, opening) = oneshot::channel();
        let thread = std::thread::Builder::new().name("holdover-sqlite".into());
        let serve = move || {
            let found = writer.connector.open().map(|Opened { writer: conn, page_bytes, capabilities }| {
                (writer.conn, writer.log.page_bytes) = (Some(conn), page_bytes);
                capabilities
            });
            let goes_on = found.is_ok();
            // The send fails if the caller no longer waits for the store. Its queue is then closed, too.
            let _ = opened.send(found);
            if goes_on {
                writer.serve(queue);
            }
        };
        thread.spawn(serve).map_err(|error| failed(error.to_string()))?;
        let capabilities = opening.await.map_err(|_| failed("its thread ended".to_owned()))??;
        let readers = Readers::new(connector);
        let rows = SqliteRows { writes, readers, capabilities, clock, hints, counters, frozen };
        Ok(Self { store: RowStore::new(rows) })
    }

    /// Opens the database named by `sqlite:path`, with safe settings.
    ///
    /// # Errors
    /// The errors of [`SqliteOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(SqliteOptions::from_url(url)?).await
    }

    /// Begins a transaction in which the caller writes its own tables in this file, and then makes one write to
    /// one session, such as a commit. Both are written, or neither is.
    ///
    /// ```
    /// # use holdover_store_sqlite::{SqliteOptions, SqliteStore};
    /// # use holdover_store::ids::Fence;
    /// # use holdover_store::{Commit, CommitOutcome, StoreError};
    /// # async fn pay(store: SqliteStore, fence: Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
    /// let mut transaction = store.begin().await?;
    /// let paid = transaction.run(|conn| conn.execute("UPDATE app_account SET cents = cents - 500 WHERE id = 7", []));
    /// if !matches!(paid.await?, Ok(1)) {
    ///     return Err(StoreError::invalid("pay", "there is no account 7"));
    /// }
    /// transaction.into_store().commit(&fence, commit).await
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Unavailable`](StoreErrorKind::Unavailable) if another process held the file for longer than
    /// [`operation_timeout`](SqliteOptions::operation_timeout), or the store was closed.
    /// [`Newer`](StoreErrorKind::Newer) if a newer version of the store has migrated the file. The wait for earlier
    /// writes and transactions of this process has no time limit.
    pub async fn begin(&self) -> Result<SqliteTransaction, StoreError> {
        SqliteTransaction::begin(&self.store).await
    }

    /// Finishes all writes that were asked for and closes the connections of all clones. Later calls fail with an
    /// error that says that the store was closed.
    pub async fn close(&self) {
        let rows = self.store.rows();
        rows.readers.close().await;
        let (done, closed) = oneshot::channel();
        if rows.writes.send(Message::Close(done)).await.is_ok() {
            // This fails only if the thread has ended already.
            let _ = closed.await;
        }
    }

    /// Returns counters of the writer since the store was opened.
    pub fn writer_counts(&self) -> WriterCounts {
        let counters = &self.store.rows().counters;
        WriterCounts {
            writes: counters.writes.load(Ordering::Relaxed),
            groups: counters.groups.load(Ordering::Relaxed),
            provisional: counters.provisional.load(Ordering::Relaxed),
            repeated: counters.repeated.load(Ordering::Relaxed),
            checkpoints: counters.checkpoints.load(Ordering::Relaxed),
            reopened: counters.reopened.load(Ordering::Relaxed),
        }
    }
}

impl fmt::Debug for SqliteStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteStore").field("writer", &self.writer_counts()).finish_non_exhaustive()
    }
}
