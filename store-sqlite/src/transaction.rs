//! A transaction of the caller, on the thread that writes.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, RowStore, Transaction, Verdict, Want, Write};
use holdover_store::{Retry, StateStore, StoreError, StoreTransaction};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Fault;
use crate::rows::{SqliteRows, found};
use crate::writer::{Answer, Counters, Message, Writer};
use crate::{apply, log};

/// A transaction in a store's file. It writes the caller's own tables and one session, either both or neither.
///
/// [`SqliteStore::begin`](crate::SqliteStore::begin) makes the transaction. [`run`](Self::run) writes the caller's
/// tables. Then [`into_store`](Self::into_store) returns a store whose next write commits everything, once, in one
/// sync. If that store writes nothing, because a fence is old or the write was applied before, the caller's writes
/// are undone too. After a crash, a step has therefore either happened together with its result, or not at all.
///
/// While the transaction is open, nothing else can write the file: no other process, and no other handle of this one.
/// The transaction is undone when it is dropped, or when it has been open for longer than
/// [`operation_timeout`](crate::SqliteOptions::operation_timeout), which also interrupts a running statement. Later
/// calls then fail with that reason. Code of the caller that does not return blocks all writers for as long as it
/// runs.
pub struct SqliteTransaction {
    commands: Sender<Command>,
    /// The way in which the transaction has ended, once it has.
    ended: Arc<OnceLock<Ended>>,
    store: RowStore<SqliteRows>,
}

/// The ways in which a transaction can end.
#[derive(Debug)]
enum Ended {
    /// The transaction was undone, for this reason.
    Undone(String),
    Committed,
    /// The COMMIT failed, but may have been applied.
    Unknown,
}

/// The writer's connection, lent to a transaction.
pub(crate) struct Loan {
    opened: oneshot::Sender<Result<(), StoreError>>,
    commands: Receiver<Command>,
    ended: Arc<OnceLock<Ended>>,
}

/// A command for a lent connection.
enum Command {
    /// Runs the caller's code.
    Run(Work),
    /// Runs the store's own code, which only reads.
    Read(Work),
    /// Applies a write, and commits the transaction if the write is applied.
    Apply(Arc<Write>, oneshot::Sender<Answer>),
}

type Work = Box<dyn FnOnce(&Connection) -> Done + Send>;

/// The way in which a piece of work ended.
#[derive(PartialEq, Eq)]
enum Done {
    Whole,
    Panicked,
}

impl SqliteTransaction {
    /// Waits for the transaction's turn to use the file, and begins it.
    pub(crate) async fn begin(store: &RowStore<SqliteRows>) -> Result<Self, StoreError> {
        const OPERATION: &str = "begin";
        let ((opened, opening), (commands, asked)) = (oneshot::channel(), channel());
        let ended = Arc::default();
        let loan = Loan { opened, commands: asked, ended: Arc::clone(&ended) };
        let closed = || Fault::Closed.of(OPERATION, None);
        store.rows().writes.send(Message::Lend(loan)).await.map_err(|_| closed())?;
        opening.await.unwrap_or_else(|_| Err(closed()))?;
        Ok(Self { commands, ended, store: store.clone() })
    }

    /// Runs `work` in the transaction, on the thread that writes, and returns its result. If `work` panics, the
    /// transaction is undone and the panic resumes in the caller.
    ///
    /// The code may read everything in the file, and write the caller's own tables. Their names must not begin with
    /// `holdover_`, the prefix of tables that the store may add in future. SQLite refuses as not authorized: changes
    /// of the store's own tables, the end of the transaction, other attached files, temporary objects, `ANALYZE`, and
    /// pragmas other than those that describe tables, indexes and foreign keys. Foreign keys are not enforced on this
    /// connection. The code must not change the connection's settings.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the transaction has ended: it was open for too
    /// long, SQLite undid it after an error of a statement, or the store was closed. Nothing that it wrote is left,
    /// and the caller may begin a new one. The call during which it ended still returns the result of `work`; the
    /// next call fails.
    pub async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.send("run", work, Command::Run).await? {
            Ok(answer) => Ok(answer),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// Returns a store for one write, which commits this transaction. Calls to the store that write nothing leave the
    /// transaction open. If the store is dropped without a write, the transaction is undone. The store can be put
    /// behind [layers](holdover_store::Layer) like any other.
    ///
    /// The first write of any kind commits: a renewed lease, appended deltas and a taken interrupt count too. After
    /// it, writes and reads of a session fail. The error says that the transaction was committed, or that this is not
    /// known. If it is not known, begin a new transaction and repeat all of it, with the same operation id.
    #[must_use]
    pub fn into_store(self) -> Arc<dyn StateStore> {
        let store = self.store.clone();
        Arc::new(store.within(self))
    }

    async fn send<T: Send + 'static>(
        &self,
        operation: &'static str,
        work: impl FnOnce(&Connection) -> T + Send + 'static,
        command: impl FnOnce(Work) -> Command,
    ) -> Result<Result<T, Box<dyn Any + Send>>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let work: Work = Box::new(move |conn| {
            // If the work panics, the transaction is undone, so no half-done changes stay in the file.
            let answer = catch_unwind(AssertUnwindSafe(|| work(conn)));
            let done = if answer.is_ok() { Done::Whole } else { Done::Panicked };
            // The send fails if the caller no longer waits. The answer is then dropped here, which may run the
            // caller's code.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(reply.send(answer))));
            done
        });
        self.commands.send(command(work)).map_err(|_| self.over(operation))?;
        answer.await.map_err(|_| self.over(operation))
    }

    /// Returns the error of a call after the transaction has ended.
    fn over(&self, operation: &'static str) -> StoreError {
        match self.ended.get() {
            Some(Ended::Undone(why)) => Fault::Undone(why.clone()).of(operation, None),
            Some(Ended::Committed) => StoreError::invalid(
                operation,
                "the transaction has ended: it was committed with a write before",
            ),
            Some(Ended::Unknown) => Fault::Undone("whether it was committed is not known".into())
                .of(operation, None)
                .retry(Retry::OutcomeUnknown),
            None => Fault::Closed.of(operation, None),
        }
    }
}

impl fmt::Debug for SqliteTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTransaction").field("ended", &self.ended.get()).finish_non_exhaustive()
    }
}

#[async_trait]
impl StoreTransaction for SqliteTransaction {
    /// Fails if the transaction was undone. SQLite has nothing else to find, because foreign keys are not enforced.
    async fn check(&mut self) -> Result<(), StoreError> {
        self.send("check", |_| (), Command::Read).await?.unwrap_or_else(|panic| resume_unwind(panic));
        Ok(())
    }

    fn into_store(self: Box<Self>) -> Arc<dyn StateStore> {
        Self::into_store(*self)
    }
}

#[async_trait]
impl Transaction for SqliteTransaction {
    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let (of, wants, clock) = (key.clone(), wants.to_vec(), Arc::clone(&self.store.rows().clock));
        let read = move |conn: &Connection| found(conn, &*clock, &of, &wants);
        match self.send("read", read, Command::Read).await? {
            Ok(found) => found.map_err(|fault| fault.of("read", Some(key))),
            Err(panic) => resume_unwind(panic),
        }
    }

    async fn apply(&self, write: Arc<Write>) -> Answer {
        let (reply, answer) = oneshot::channel();
        self.commands.send(Command::Apply(write, reply)).map_err(|_| self.over("apply"))?;
        // The thread always answers, unless it died or the time was over first.
        answer.await.unwrap_or_else(|_| match self.ended.get() {
            Some(_) => Err(self.over("apply")),
            None => Err(Fault::Closed.of("apply", None).retry(Retry::OutcomeUnknown)),
        })
    }
}

impl Loan {
    /// Reports to the caller that the transaction does not begin.
    pub(crate) fn refuse(self, fault: Fault) {
        // The send fails if the caller no longer waits.
        let _ = self.opened.send(Err(fault.of("begin", None)));
    }
}

impl Writer {
    /// Serves a caller's transaction until it ends.
    pub(crate) fn lend(&mut self, loan: Loan) {
        Counters::add(&self.counters.groups, 1);
        let conn = match self.begin(false) {
            Ok(conn) => conn,
            Err(fault) => return loan.refuse(fault),
        };
        let Loan { opened, commands, ended } = loan;
        if opened.send(Ok(())).is_err() {
            return self.roll_back(conn);
        }
        let most = self.connector.busy_timeout();
        let until = Instant::now() + most;
        let undone = |why: &str| drop(ended.set(Ended::Undone(why.to_owned())));
        loop {
            let asked = commands.recv_timeout(until.saturating_duration_since(Instant::now()));
            if Instant::now() >= until {
                // A command that comes too late is dropped after the end is recorded.
                undone(&format!("it was open for {:.1} s", most.as_secs_f64()));
                return self.roll_back(conn);
            }
            match asked {
                Ok(Command::Run(work)) => {
                    let (done, stands) = self.connector.guard().while_lent(&conn, until, || work(&conn));
                    if done == Done::Panicked {
                        undone("code in it panicked");
                        return self.roll_back(conn);
                    }
                    if !stands {
                        // Only the caller's code saw the error that caused this, so the connection may be unusable.
                        undone("SQLite undid it over a statement in it");
                        return drop(conn);
                    }
                }
                Ok(Command::Read(work)) => {
                    let _ = work(&conn);
                }
                Ok(Command::Apply(write, reply)) => match apply::apply(&conn, &*self.clock, &write) {
                    Ok(verdict @ Verdict::Applied { .. }) => {
                        Counters::add(&self.counters.writes, 1);
                        if log::erases(&write) {
                            self.log.empty_soon();
                            // The next request checks whether rows remain.
                            self.remains = true;
                        }
                        let answer = self.commit_write(conn, &write, verdict);
                        let _ = ended.set(match &answer {
                            Ok(_) => Ended::Committed,
                            Err(error) if error.retry == Retry::OutcomeUnknown => Ended::Unknown,
                            Err(error) => Ended::Undone(error.to_string()),
                        });
                        // The send fails if the caller no longer waits, which changes nothing.
                        return drop(reply.send(answer));
                    }
                    Ok(verdict) => drop(reply.send(Ok(verdict))),
                    Err(fault) => {
                        undone("a write in it failed");
                        self.keep(conn, &fault);
                        return drop(reply.send(Err(fault.of("", Some(&write.key)))));
                    }
                },
                Err(RecvTimeoutError::Disconnected) => return self.roll_back(conn),
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
    }

    /// Commits the transaction after its write was applied.
    fn commit_write(&mut self, conn: Connection, write: &Write, verdict: Verdict) -> Answer {
        match self.commit(conn) {
            Ok(()) => {
                if let Verdict::Applied { now, .. } = verdict
                    && let Some(change) = write.change(now)
                {
                    self.hints.tell(&change);
                }
                Ok(verdict)
            }
            Err(fault) => {
                let undone = fault.leaves_commit_undone();
                let error = fault.of("", Some(&write.key));
                Err(if undone { error } else { error.retry(Retry::OutcomeUnknown) })
            }
        }
    }
}
