//! The task that owns the writer connection.
//!
//! Everything that is queued when the connection is free shares one transaction and one sync (group
//! commit). The task runs each transaction to its end, whatever happens to the callers' futures. A group
//! that fails as a whole is rolled back and repeated one by one, so that only the guilty one fails; there
//! are no savepoints, because a full disk rolls back the whole transaction and takes them with it.
//!
//! A group in which everything is provisional is committed without a sync. The log keeps the order: the next
//! synced commit syncs all that lies before it.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use holdover_store::time::Clock;
use sqlx::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

use crate::columns::Columns;
use crate::error::Fault;
use crate::hints::{Change, Hints};
use crate::job::{Job, Tx};
use crate::open::{self, Connector};
use crate::options::Synchronous;

/// How many writes wait before callers do.
pub(crate) const QUEUE_MAX: usize = 256;

/// The most writes of one group.
const GROUP_JOBS_MAX: usize = 256;

/// A group takes no further write from this size on.
const GROUP_BYTES_MAX: usize = 32 * 1024 * 1024;

/// How long a checkpoint waits for readers. It tries again after the next group.
const CHECKPOINT_WAIT: Duration = Duration::from_millis(100);

/// Takes the write lock at once: what is decided next is read after the wait for it, and no read has to
/// be upgraded, which would fail without waiting.
const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Outside any transaction: writes the log back into the file and truncates it to nothing.
const CHECKPOINT: &str = "PRAGMA wal_checkpoint(TRUNCATE)";

/// What is sent to the writer task.
pub(crate) enum Message {
    Write(Box<dyn Job>),
    /// Ends the task after everything that was queued before.
    Close(oneshot::Sender<()>),
}

/// What the writer did, counted since the store was opened.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) writes: AtomicU64,
    pub(crate) groups: AtomicU64,
    pub(crate) provisional: AtomicU64,
    pub(crate) repeated: AtomicU64,
    pub(crate) checkpoints: AtomicU64,
    pub(crate) reopened: AtomicU64,
}

impl Counters {
    fn add(counter: &AtomicU64, by: usize) {
        counter.fetch_add(by as u64, Ordering::Relaxed);
    }
}

pub(crate) struct Writer {
    pub(crate) connector: Connector,
    /// None after a failure, until the next group opens it again.
    pub(crate) conn: Option<SqliteConnection>,
    /// How the connection commits now.
    pub(crate) synchronous: Synchronous,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hints: Arc<Hints>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) busy_timeout: Duration,
    pub(crate) wal_file: PathBuf,
    pub(crate) wal_bytes_max: u64,
    /// The size of the log at which the next checkpoint is tried.
    pub(crate) checkpoint_at: u64,
}

/// How an attempt at a group ended.
enum Attempt {
    Committed(Vec<Change>),
    /// The write lock was not to be had. Nothing was changed.
    Refused(Fault),
    /// Something in it failed. Nothing was changed.
    RolledBack(Fault),
    /// The COMMIT failed; it may have landed.
    Unknown(Fault),
}

impl Writer {
    /// Serves until the store is closed or its last handle is gone.
    pub(crate) async fn serve(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut closing = None;
        let mut carried = None;
        while closing.is_none() {
            let first = match carried.take() {
                Some(job) => job,
                None => match queue.recv().await {
                    Some(Message::Write(job)) => job,
                    Some(Message::Close(done)) => {
                        closing = Some(done);
                        break;
                    }
                    None => break,
                },
            };
            let mut bytes = first.bytes();
            let mut group = vec![first];
            while group.len() < GROUP_JOBS_MAX {
                match queue.try_recv() {
                    Ok(Message::Write(job)) if bytes.saturating_add(job.bytes()) > GROUP_BYTES_MAX => {
                        carried = Some(job);
                        break;
                    }
                    Ok(Message::Write(job)) => {
                        bytes += job.bytes();
                        group.push(job);
                    }
                    Ok(Message::Close(done)) => {
                        closing = Some(done);
                        break;
                    }
                    Err(_) => break,
                }
            }
            self.run(group).await;
            self.checkpoint_if_large().await;
        }
        queue.close();
        while let Ok(message) = queue.try_recv() {
            match message {
                Message::Write(job) => job.failed(Fault::Closed),
                Message::Close(done) => drop(done.send(())),
            }
        }
        if let Some(conn) = self.conn.take() {
            open::close(conn).await;
        }
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    async fn run(&mut self, mut group: Vec<Box<dyn Job>>) {
        Counters::add(&self.counters.writes, group.len());
        match self.attempt(&mut group).await {
            Attempt::RolledBack(fault) if group.len() > 1 => {
                tracing::warn!(
                    writes = group.len(),
                    ?fault,
                    "a group failed as a whole; repeated one by one"
                );
                Counters::add(&self.counters.repeated, group.len());
                for job in group {
                    let mut alone = vec![job];
                    let attempt = self.attempt(&mut alone).await;
                    self.settle(alone, attempt);
                }
            }
            attempt @ (Attempt::Committed(_)
            | Attempt::Refused(_)
            | Attempt::RolledBack(_)
            | Attempt::Unknown(_)) => self.settle(group, attempt),
        }
    }

    fn settle(&self, group: Vec<Box<dyn Job>>, attempt: Attempt) {
        match attempt {
            Attempt::Committed(changes) => {
                group.into_iter().for_each(|job| job.committed());
                self.hints.publish(changes);
            }
            Attempt::Refused(fault) | Attempt::RolledBack(fault) => {
                group.into_iter().for_each(|job| job.failed(fault.clone()));
            }
            Attempt::Unknown(fault) => {
                tracing::error!(writes = group.len(), ?fault, "a COMMIT failed; its outcome is unknown");
                group.into_iter().for_each(|job| job.unknown(fault.clone()));
            }
        }
    }

    async fn attempt(&mut self, group: &mut [Box<dyn Job>]) -> Attempt {
        Counters::add(&self.counters.groups, 1);
        let mut conn = match self.conn.take() {
            Some(conn) => conn,
            None => match self.connector.reopen().await {
                Ok(conn) => {
                    Counters::add(&self.counters.reopened, 1);
                    self.synchronous = self.connector.synchronous();
                    conn
                }
                Err(error) => return Attempt::Refused(Fault::Unreachable(error.to_string())),
            },
        };
        let provisional = group.iter().all(|job| job.provisional());
        Counters::add(&self.counters.provisional, usize::from(provisional));
        if let Err(fault) = self.choose_sync(&mut conn, provisional).await {
            // It would commit otherwise than it should.
            open::close(conn).await;
            return Attempt::Refused(fault);
        }
        if let Err(error) = sqlx::query(BEGIN).execute(&mut conn).await {
            let fault = Fault::from(error);
            self.keep(conn, &fault).await;
            return Attempt::Refused(fault);
        }
        let mut tx = Tx::new(&mut conn, &*self.clock);
        for job in group {
            if let Err(fault) = job.run(&mut tx).await {
                self.keep(conn, &fault).await;
                return Attempt::RolledBack(fault);
            }
        }
        let changes = std::mem::take(&mut tx.changes);
        match sqlx::query(COMMIT).execute(&mut conn).await {
            Ok(_) => {
                self.conn = Some(conn);
                Attempt::Committed(changes)
            }
            Err(error) => {
                let fault = Fault::from(error);
                self.keep(conn, &fault).await;
                if fault.leaves_commit_undone() {
                    Attempt::RolledBack(fault)
                } else {
                    Attempt::Unknown(fault)
                }
            }
        }
    }

    /// Sets whether the next COMMIT is synced before it is acknowledged.
    async fn choose_sync(&mut self, conn: &mut SqliteConnection, provisional: bool) -> Result<(), Fault> {
        let wanted = if provisional { Synchronous::Normal } else { self.connector.synchronous() };
        if wanted != self.synchronous {
            // Compiled each time: a pragma may act when it is compiled, and a kept statement would not.
            sqlx::raw_sql(wanted.pragma()).execute(conn).await?;
            self.synchronous = wanted;
        }
        Ok(())
    }

    /// Ends the transaction that failed, and keeps the connection only if it is certainly outside of one:
    /// after some failures SQLite has rolled back by itself, and then our own ROLLBACK fails.
    async fn keep(&mut self, mut conn: SqliteConnection, fault: &Fault) {
        let rolled_back = sqlx::query(ROLLBACK).execute(&mut conn).await.is_ok();
        if fault.taints_connection() || !(rolled_back || fault.is_busy()) {
            open::close(conn).await;
        } else {
            self.conn = Some(conn);
        }
    }

    /// Keeps the log bounded. While readers hold an old view of it, it cannot be truncated; then the next
    /// try comes when it has grown by as much again.
    async fn checkpoint_if_large(&mut self) {
        let size = std::fs::metadata(&self.wal_file).map_or(0, |log| log.len());
        if size < self.checkpoint_at {
            return;
        }
        let Some(mut conn) = self.conn.take() else { return };
        self.checkpoint_at = match self.checkpoint(&mut conn).await {
            Ok(true) => {
                Counters::add(&self.counters.checkpoints, 1);
                self.wal_bytes_max
            }
            Ok(false) => size.saturating_add(self.wal_bytes_max),
            Err(fault) => {
                tracing::warn!(?fault, "the write-ahead log could not be written back");
                if fault.taints_connection() {
                    open::close(conn).await;
                    self.checkpoint_at = size.saturating_add(self.wal_bytes_max);
                    return;
                }
                size.saturating_add(self.wal_bytes_max)
            }
        };
        self.conn = Some(conn);
    }

    /// Whether the log was truncated.
    async fn checkpoint(&self, conn: &mut SqliteConnection) -> Result<bool, Fault> {
        self.set_busy_timeout(conn, CHECKPOINT_WAIT).await?;
        let truncated = sqlx::query(CHECKPOINT).fetch_one(&mut *conn).await;
        self.set_busy_timeout(conn, self.busy_timeout).await?;
        match truncated {
            Ok(row) => Ok(Columns::of(&row).int()? == 0),
            Err(error) => {
                let fault = Fault::from(error);
                if fault.is_busy() { Ok(false) } else { Err(fault) }
            }
        }
    }

    async fn set_busy_timeout(&self, conn: &mut SqliteConnection, timeout: Duration) -> Result<(), Fault> {
        // A pragma takes no bound values; this one is a number made here.
        let sql = sqlx::AssertSqlSafe(format!("PRAGMA busy_timeout = {}", timeout.as_millis()));
        sqlx::raw_sql(sql).execute(conn).await?;
        Ok(())
    }
}
