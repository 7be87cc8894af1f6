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
use holdover_store::{Retry, StateStore, StoreError};
use rusqlite::Connection;
use tokio::sync::oneshot;

use crate::error::Fault;
use crate::rows::{SqliteRows, found};
use crate::writer::{Answer, Counters, Message, Writer};
use crate::{apply, log};

/// A transaction of a store's file, in which the caller's own tables and one session are written: both or neither.
///
/// Made by [`SqliteStore::begin`](crate::SqliteStore::begin). [`run`](Self::run) writes what is the caller's; then
/// [`into_store`](Self::into_store) is a store whose next write commits it all, once, in one sync. If that store writes
/// nothing, because a fence is old or the write was there before, nothing of the caller's is left either. So a step that
/// is begun again after a crash has either happened with its result, or has not happened.
///
/// While it is open nobody else writes the file, in no process: not the caller either, by another handle. It is undone when it
/// is dropped, and when it has been open for longer than
/// [`operation_timeout`](crate::SqliteOptions::operation_timeout), which also ends a statement that is still at work then;
/// what it is asked afterwards says so. Only code of the caller's that does not come back holds it, and all writers, for ever.
pub struct SqliteTransaction {
    commands: Sender<Command>,
    /// How it has ended, once it has.
    ended: Arc<OnceLock<Ended>>,
    store: RowStore<SqliteRows>,
}

/// How a transaction has ended.
#[derive(Debug)]
enum Ended {
    /// Nothing of it is left, and why.
    Undone(String),
    Committed,
    /// The COMMIT failed; it may have landed.
    Unknown,
}

/// The connection, lent to a transaction.
pub(crate) struct Loan {
    opened: oneshot::Sender<Result<(), StoreError>>,
    commands: Receiver<Command>,
    ended: Arc<OnceLock<Ended>>,
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
    /// It reads everything in the file, and writes the caller's own tables there. Do not begin their names with `holdover_`:
    /// the tables that the store may get in future do. To change the store's own tables, to end the transaction, to attach
    /// another file, to make something temporary or to set a pragma is refused by SQLite as not authorized. Foreign keys are not
    /// enforced on this connection, and its own settings are to be left as they are.
    ///
    /// # Errors
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the transaction has ended: it was open for too long, or
    /// SQLite undid it over an error of its statements. Nothing of it is left; it may be begun anew. This is answered by the
    /// call after the one in which that happened; what `work` itself was told is its own answer.
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
    /// writes nothing leaves the transaction open, until the store is dropped; then it is undone. It can be put behind
    /// [layers](holdover_store::Layer) like any other.
    ///
    /// Its first write of any kind is the one: to renew a lease, to append deltas or to take an interrupt, too. After it the
    /// store answers that the transaction was committed, or, if that is not known, that the outcome is unknown: then
    /// begin anew and do all of it again, with the same operation.
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
            // Fails when nobody waits any more. Then it is dropped here, by code of the caller's.
            let _ = catch_unwind(AssertUnwindSafe(|| drop(reply.send(answer))));
            done
        });
        self.commands.send(command(work)).map_err(|_| self.over(operation))?;
        answer.await.map_err(|_| self.over(operation))
    }

    /// Nothing is done in it any more.
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
        let undone = |why: &str| drop(ended.set(Ended::Undone(why.to_owned())));
        loop {
            let asked = commands.recv_timeout(until.saturating_duration_since(Instant::now()));
            if Instant::now() >= until {
                // What was asked too late is dropped after this is known.
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
                        // Over what error is known to the caller's code alone: the connection may be of no use any more.
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
                            // Looked up once it is committed.
                            self.remains = true;
                        }
                        let answer = self.commit_write(conn, &write, verdict);
                        let _ = ended.set(match &answer {
                            Ok(_) => Ended::Committed,
                            Err(error) if error.retry == Retry::OutcomeUnknown => Ended::Unknown,
                            Err(error) => Ended::Undone(error.to_string()),
                        });
                        // Fails when nobody waits any more, which changes nothing.
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
