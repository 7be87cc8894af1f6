//! The one thread that writes, in groups.
//!
//! The thread owns the connection. The writes that are queued when the connection is free form a group, up to a
//! limit: one transaction and one sync. The writer decides nothing: for each write it compares a token and the clock
//! and applies the changes. If a group fails as a whole, its writes are repeated one by one. A COMMIT that fails may
//! have been applied; then the outcome of every write in its group is unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use holdover_store::hints::{Change, Named, Waiters};
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{Verdict, Write};
use holdover_store::time::Clock;
use holdover_store::{Retry, StoreError};
use rusqlite::Connection;
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

use crate::apply;
use crate::error::Fault;
use crate::gaps::Gaps;
use crate::log::{self, Log};
use crate::migration;
use crate::open::Connector;
use crate::options::Synchronous;
use crate::remains;
use crate::transaction::Loan;

/// The longest time that closing the file spends on the remaining rows of removed sessions.
const CLOSE_MAX: Duration = Duration::from_secs(1);

/// The number of writes that may wait for the writer; further callers wait to queue theirs.
pub(crate) const QUEUE_MAX: usize = 256;
/// The most writes that share a transaction.
const GROUP_JOBS_MAX: usize = 256;
/// The most bytes of writes that share a transaction. A single larger write has a transaction of its own.
const GROUP_BYTES_MAX: usize = 32 << 20;

/// Waits for the write lock; from then on no other connection writes.
const BEGIN: &str = "BEGIN IMMEDIATE";
const COMMIT: &str = "COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// The answer to a write.
pub(crate) type Answer = Result<Verdict, StoreError>;

/// A request to the writer.
pub(crate) enum Message {
    /// Applies a write.
    Write(Job),
    /// Lends the connection to a caller's transaction.
    Lend(Loan),
    /// Ends the thread once all earlier requests are done.
    Close(oneshot::Sender<()>),
}

/// A task of a group.
pub(crate) enum Task {
    Apply(Arc<Write>),
    /// Removes a session whose row cannot be read.
    Remove(SessionKey, Option<Incarnation>),
}

/// A queued write.
pub(crate) struct Job {
    pub(crate) task: Task,
    pub(crate) reply: oneshot::Sender<Answer>,
}

impl Task {
    fn bytes(&self) -> usize {
        match self {
            Self::Apply(write) => write.bytes(),
            Self::Remove(..) => 0,
        }
    }

    fn erases(&self) -> bool {
        match self {
            Self::Apply(write) => log::erases(write),
            Self::Remove(..) => true,
        }
    }

    fn provisional(&self) -> bool {
        match self {
            Self::Apply(write) => write.provisional,
            Self::Remove(..) => false,
        }
    }

    fn key(&self) -> &SessionKey {
        match self {
            Self::Apply(write) => &write.key,
            Self::Remove(key, _) => key,
        }
    }

    fn change(&self, now: holdover_store::time::Timestamp) -> Option<Change> {
        match self {
            Self::Apply(write) => write.change(now),
            Self::Remove(key, _) => Some(Change { session: Named::of(key), news: true, due: false }),
        }
    }
}

impl Job {
    fn answer(self, answer: Result<Verdict, Fault>, retry: Option<Retry>) {
        let answer = answer.map_err(|fault| {
            let error = fault.of("", Some(self.task.key()));
            match retry {
                Some(retry) => error.retry(retry),
                None => error,
            }
        });
        // The send fails if the caller no longer waits, which changes nothing.
        let _ = self.reply.send(answer);
    }
}

/// Counters of the writer.
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
    pub(crate) fn add(counter: &AtomicU64, by: usize) {
        counter.fetch_add(by as u64, Ordering::Relaxed);
    }
}

pub(crate) struct Writer {
    pub(crate) connector: Arc<Connector>,
    /// The connection. None while it is in use, and after a failure until the next transaction.
    pub(crate) conn: Option<Connection>,
    /// The present sync setting of the connection.
    pub(crate) synchronous: Synchronous,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hints: Arc<Waiters>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) log: Log,
    pub(crate) gaps: Gaps,
    /// True if rows of removed sessions may be left.
    pub(crate) remains: bool,
}

/// The result of one attempt at a group.
enum Attempt {
    Committed(Vec<Verdict>),
    /// The transaction did not begin. Nothing was changed.
    Failed(Fault),
    /// A write of the group, or its COMMIT, failed. Nothing was changed.
    RolledBack(Fault),
    /// The COMMIT failed, but may have been applied.
    Unknown(Fault),
}

impl Writer {
    /// Serves requests until the store is closed or its last handle is dropped.
    pub(crate) fn serve(mut self, mut queue: mpsc::Receiver<Message>) {
        let mut closing = None;
        let mut carried = None;
        loop {
            let job = match carried.take().or_else(|| self.next(&mut queue)) {
                Some(Message::Write(job)) => job,
                Some(Message::Lend(loan)) => {
                    self.lend(loan);
                    self.keep_log_short(queue.is_empty());
                    continue;
                }
                Some(Message::Close(done)) => {
                    closing = Some(done);
                    break;
                }
                None => break,
            };
            let mut bytes = job.task.bytes();
            let mut group = vec![job];
            while group.len() < GROUP_JOBS_MAX {
                match queue.try_recv() {
                    Ok(Message::Write(job)) if bytes.saturating_add(job.task.bytes()) <= GROUP_BYTES_MAX => {
                        bytes += job.task.bytes();
                        group.push(job);
                    }
                    Ok(other) => {
                        carried = Some(other);
                        break;
                    }
                    Err(_) => break,
                }
            }
            if group.iter().any(|job| job.task.erases()) {
                self.log.empty_soon();
            }
            self.run(group);
            self.remove_more();
            self.keep_log_short(carried.is_none() && queue.is_empty());
        }
        self.remove_rest();
        queue.close();
        while let Ok(message) = queue.try_recv() {
            match message {
                Message::Write(job) => job.answer(Err(Fault::Closed), None),
                Message::Lend(loan) => loan.refuse(Fault::Closed),
                Message::Close(done) => drop(done.send(())),
            }
        }
        // Closing the last connection writes the log back.
        drop(self.conn.take());
        if let Some(done) = closing {
            let _ = done.send(());
        }
    }

    /// Waits for the next request, and meanwhile removes rows of removed sessions. None if all handles were dropped.
    fn next(&mut self, queue: &mut mpsc::Receiver<Message>) -> Option<Message> {
        while self.remains {
            match queue.try_recv() {
                Ok(message) => return Some(message),
                Err(TryRecvError::Disconnected) => return None,
                Err(TryRecvError::Empty) => {
                    let goes_on = self.remove_more();
                    self.keep_log_short(queue.is_empty());
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        queue.blocking_recv()
    }

    /// Removes more rows of removed sessions, if any are left. Returns false on a failure; the next write retries.
    fn remove_more(&mut self) -> bool {
        if self.remains {
            match self.remove_piece() {
                Ok(remains) => self.remains = remains,
                Err(fault) => {
                    tracing::warn!(?fault, "what is left of removed sessions is removed later");
                    return false;
                }
            }
        }
        true
    }

    /// Removes rows that are left of removed sessions before the file is closed, for a limited time.
    fn remove_rest(&mut self) {
        let until = Instant::now() + CLOSE_MAX;
        while self.remains && Instant::now() < until && self.remove_more() {}
    }

    /// Removes one piece of the first removed session. Returns true if more may be left.
    fn remove_piece(&mut self) -> Result<bool, Fault> {
        // If nothing is left, the write lock is not taken.
        if let Some(conn) = &self.conn
            && remains::first(conn)?.is_none()
        {
            return Ok(false);
        }
        // This transaction need not be synced: if a crash loses it, the removal is repeated.
        let conn = self.begin(true)?;
        let removed =
            remains::first(&conn).and_then(|sid| sid.map_or(Ok(()), |sid| remains::go_on(&conn, sid)));
        if let Err(fault) = removed {
            self.keep(conn, &fault);
            return Err(fault);
        }
        self.commit(conn)?;
        self.log.empty_soon();
        Ok(true)
    }

    fn run(&mut self, group: Vec<Job>) {
        Counters::add(&self.counters.writes, group.len());
        match self.attempt(&group) {
            Attempt::RolledBack(fault) if group.len() > 1 => {
                tracing::warn!(
                    writes = group.len(),
                    ?fault,
                    "a group failed as a whole; repeated one by one"
                );
                Counters::add(&self.counters.repeated, group.len());
                for job in group {
                    let attempt = self.attempt(std::slice::from_ref(&job));
                    self.settle(vec![job], attempt);
                }
            }
            attempt @ (Attempt::Committed(_)
            | Attempt::Failed(_)
            | Attempt::RolledBack(_)
            | Attempt::Unknown(_)) => self.settle(group, attempt),
        }
    }

    fn settle(&self, group: Vec<Job>, attempt: Attempt) {
        match attempt {
            Attempt::Committed(verdicts) => {
                for (job, verdict) in group.into_iter().zip(verdicts) {
                    if let Verdict::Applied { now, .. } = verdict
                        && let Some(change) = job.task.change(now)
                    {
                        self.hints.tell(&change);
                    }
                    job.answer(Ok(verdict), None);
                }
            }
            Attempt::Failed(fault) | Attempt::RolledBack(fault) => {
                group.into_iter().for_each(|job| job.answer(Err(fault.clone()), None));
            }
            Attempt::Unknown(fault) => {
                tracing::error!(writes = group.len(), ?fault, "a COMMIT failed; its outcome is unknown");
                let unknown = |job: Job| job.answer(Err(fault.clone()), Some(Retry::OutcomeUnknown));
                group.into_iter().for_each(unknown);
            }
        }
    }

    fn attempt(&mut self, group: &[Job]) -> Attempt {
        Counters::add(&self.counters.groups, 1);
        let provisional = group.iter().all(|job| job.task.provisional());
        Counters::add(&self.counters.provisional, usize::from(provisional));
        let conn = match self.begin(provisional) {
            Ok(conn) => conn,
            Err(fault) => return Attempt::Failed(fault),
        };
        let mut verdicts = Vec::with_capacity(group.len());
        for job in group {
            let verdict = match &job.task {
                Task::Apply(write) => apply::apply(&conn, &*self.clock, write),
                Task::Remove(key, life) => apply::remove_unreadable(&conn, &*self.clock, key, *life),
            };
            match verdict
                .and_then(|verdict| Ok((verdict, job.task.erases() && remains::first(&conn)?.is_some())))
            {
                Ok((verdict, remains)) => {
                    self.remains |= remains;
                    verdicts.push(verdict);
                }
                Err(fault) => {
                    self.keep(conn, &fault);
                    return Attempt::RolledBack(fault);
                }
            }
        }
        match self.commit(conn) {
            Ok(()) => Attempt::Committed(verdicts),
            Err(fault) if fault.leaves_commit_undone() => Attempt::RolledBack(fault),
            Err(fault) => Attempt::Unknown(fault),
        }
    }

    /// Begins a transaction that excludes all other writers.
    pub(crate) fn begin(&mut self, provisional: bool) -> Result<Connection, Fault> {
        let conn = match self.conn.take() {
            Some(conn) => conn,
            None => {
                let conn = self.connector.reopen().map_err(|error| Fault::Unreachable(error.to_string()))?;
                Counters::add(&self.counters.reopened, 1);
                self.synchronous = self.connector.synchronous();
                conn
            }
        };
        // If the setting cannot be changed, the transaction does not begin, because its COMMIT would have the wrong
        // setting.
        self.choose_sync(&conn, provisional)?;
        let begun = self.gaps.take(&conn, self.connector.busy_timeout(), || execute(&conn, BEGIN));
        match begun.and_then(|()| migration::check(&conn)) {
            Ok(()) => Ok(conn),
            Err(fault) => {
                self.keep(conn, &fault);
                Err(fault)
            }
        }
    }

    /// Commits the transaction. Unless the failure [leaves the commit undone](Fault::leaves_commit_undone), the
    /// commit may have been applied.
    pub(crate) fn commit(&mut self, conn: Connection) -> Result<(), Fault> {
        let committed = execute(&conn, COMMIT);
        self.gaps.end();
        match committed {
            Ok(()) => {
                self.conn = Some(conn);
                Ok(())
            }
            Err(fault) => {
                self.keep(conn, &fault);
                Err(fault)
            }
        }
    }

    /// Chooses whether the next COMMIT is synced before it is acknowledged.
    fn choose_sync(&mut self, conn: &Connection, provisional: bool) -> Result<(), Fault> {
        let wanted = if provisional { Synchronous::Normal } else { self.connector.synchronous() };
        if wanted != self.synchronous {
            // The pragma is compiled each time: it may act when it is compiled, and a cached statement would not.
            conn.execute_batch(wanted.pragma())?;
            self.synchronous = wanted;
        }
        Ok(())
    }

    /// Ends the transaction that failed. Keeps the connection only if it can be trusted and is certainly outside of a
    /// transaction. After some failures SQLite has rolled back by itself, and then this ROLLBACK fails.
    pub(crate) fn keep(&mut self, conn: Connection, fault: &Fault) {
        if !fault.taints_connection() {
            self.roll_back(conn);
        }
    }

    /// Ends the transaction and undoes all of it.
    pub(crate) fn roll_back(&mut self, conn: Connection) {
        let outside = execute(&conn, ROLLBACK).is_ok() || conn.is_autocommit();
        self.gaps.end();
        if outside {
            self.conn = Some(conn);
        }
    }

    /// Writes the log back if it is long or holds removed data. `idle` is true if no write waits.
    fn keep_log_short(&mut self, idle: bool) {
        let Some(conn) = self.conn.take() else { return };
        match self.log.keep_short(&conn, idle && !self.remains, self.connector.busy_timeout()) {
            Ok(begun_anew) => {
                Counters::add(&self.counters.checkpoints, usize::from(begun_anew));
                self.conn = Some(conn);
            }
            Err(fault) => {
                tracing::warn!(?fault, "the write-ahead log could not be written back");
                if !fault.taints_connection() {
                    self.conn = Some(conn);
                }
            }
        }
    }
}

fn execute(conn: &Connection, sql: &str) -> Result<(), Fault> {
    conn.prepare_cached(sql)?.execute([])?;
    Ok(())
}
