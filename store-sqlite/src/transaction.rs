//! A transaction of the caller's, on the thread that writes.

use std::any::Any;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rows::{Found, RowStore, Transaction, Verdict, Want, Write};
use holdover_store::{Retry, StateStore, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::apply;
use crate::error::Fault;
use crate::rows::{SqliteRows, found};
use crate::writer::{Answer, Counters, Message, Writer};

/// A transaction of a store's file, in which the caller's own tables and one session are written: both or neither.
///
/// Made by [`SqliteStore::begin`](crate::SqliteStore::begin). [`run`](Self::run) writes what is the caller's; then
/// [`into_store`](Self::into_store) is a store whose next write commits it all, once, in one sync. If that store writes
/// nothing, because a fence is old or the write was there before, nothing of the caller's is left either. So a step that
/// is begun again after a crash has either happened with its result, or has not happened.
///
/// While it is open nobody else writes the file, in no process. It is undone when it is dropped, and when it has been
/// open for longer than [`operation_timeout`](crate::SqliteOptions::operation_timeout); then what it is asked says so.
pub struct SqliteTransaction {
    commands: Sender<Command>,
    /// Why it has ended, once it has.
    ended: Arc<OnceLock<Fault>>,
    store: RowStore<SqliteRows>,
}

/// The connection, lent to a transaction.
pub(crate) struct Loan {
    opened: oneshot::Sender<Result<(), StoreError>>,
    commands: Receiver<Command>,
    ended: Arc<OnceLock<Fault>>,
}

/// What is done with a connection that is lent.
enum Command {
    /// Code of the caller's.
    Run(Work),
    /// Code of the store's.
    Read(Work),
    /// A write, and the end if it is applied.
    Apply(Arc<Write>, oneshot::Sender<Answer>),
}

type Work = Box<dyn FnOnce(&Connection) -> Done + Send>;

/// Whether the work came to its end.
#[derive(PartialEq, Eq)]
enum Done {
    Whole,
    Panicked,
}

impl SqliteTransaction {
    /// Waits for its turn with the file, and begins it.
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

    /// Runs `work` in the transaction, on the thread that writes, and answers what it answers. A panic of it is the caller's
    /// again, and undoes the transaction.
    ///
    /// It reads everything in the file, and writes the caller's own tables there, whose names do not begin with
    /// `holdover_`: all others that Holdover will ever make do. To change the store's own tables, to end the transaction, to attach
    /// another file or to set a pragma is refused by SQLite as not authorized. Foreign keys are not enforced on this connection.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the transaction has ended: it was open for too long, or
    /// SQLite undid it over an error of its statements. Nothing of it is left; it may be begun anew.
    pub async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&Connection) -> T + Send + 'static,
    ) -> Result<T, StoreError> {
        match self.send("run", work, Command::Run).await? {
            Ok(answer) => Ok(answer),
            Err(panic) => resume_unwind(panic),
        }
    }

    /// The store in which one thing can be written: in this transaction, which is committed with it. What is asked of it and
    /// writes nothing leaves the transaction open, until the store is dropped; then it is undone. After its write the store answers
    /// that the transaction has ended. It can be put behind [layers](holdover_store::layer) like any other.
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
            // Whatever it leaves half done in the file is undone.
            let answer = catch_unwind(AssertUnwindSafe(|| work(conn)));
            let done = if answer.is_ok() { Done::Whole } else { Done::Panicked };
            // Fails when nobody waits any more.
            let _ = reply.send(answer);
            done
        });
        self.commands.send(command(work)).map_err(|_| self.over(operation))?;
        answer.await.map_err(|_| self.over(operation))
    }

    /// Nothing is done in it any more.
    fn over(&self, operation: &'static str) -> StoreError {
        self.ended.get().cloned().unwrap_or(Fault::Closed).of(operation, None)
    }
}

impl fmt::Debug for SqliteTransaction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SqliteTransaction").field("ended", &self.ended.get()).finish_non_exhaustive()
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
        // The thread answers what it was asked, unless it died, or the time was over first.
        answer.await.unwrap_or_else(|_| match self.ended.get() {
            Some(_) => Err(self.over("apply")),
            None => Err(Fault::Closed.of("apply", None).retry(Retry::OutcomeUnknown)),
        })
    }
}

impl Loan {
    /// The transaction does not begin.
    pub(crate) fn refuse(self, fault: Fault) {
        // Fails when nobody waits for it any more.
        let _ = self.opened.send(Err(fault.of("begin", None)));
    }
}

impl Writer {
    /// Serves a transaction of the caller's until it ends.
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
        let undone = |why: String| drop(ended.set(Fault::Undone(why)));
        loop {
            match commands.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Command::Run(work)) => {
                    let done = self.connector.guard().while_lent(|| work(&conn));
                    if done == Done::Panicked {
                        undone("code in it panicked".into());
                        return self.roll_back(conn);
                    }
                }
                Ok(Command::Read(work)) => {
                    let _ = work(&conn);
                }
                Ok(Command::Apply(write, reply)) => match apply::apply(&conn, &*self.clock, &write) {
                    Ok(verdict @ Verdict::Applied { .. }) => {
                        Counters::add(&self.counters.writes, 1);
                        let answer = self.commit_write(conn, &write, verdict);
                        undone("it was committed, or failed to be, with the write before".into());
                        // Fails when nobody waits any more, which changes nothing.
                        return drop(reply.send(answer));
                    }
                    Ok(verdict) => drop(reply.send(Ok(verdict))),
                    Err(fault) => {
                        undone("a write in it failed".into());
                        self.keep(conn, &fault);
                        return drop(reply.send(Err(fault.of("", Some(&write.key)))));
                    }
                },
                Err(RecvTimeoutError::Timeout) => {
                    undone(format!("it was open for {:.1} s", most.as_secs_f64()));
                    return self.roll_back(conn);
                }
                Err(RecvTimeoutError::Disconnected) => return self.roll_back(conn),
            }
            if conn.is_autocommit() {
                undone("SQLite undid it over an error of a statement in it".into());
                return self.roll_back(conn);
            }
        }
    }

    /// Commits what was applied.
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
