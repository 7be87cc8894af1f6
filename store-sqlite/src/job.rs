//! One write, as the writer task sees it.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{Retry, StoreError};
use sqlx::sqlite::SqliteArguments;
use sqlx::{Sqlite, SqliteConnection};
use tokio::sync::oneshot;

use crate::error::Fault;
use crate::hints::Change;

/// The open write transaction of a group. Everything is read inside it, after the wait for its lock.
pub(crate) struct Tx<'c> {
    conn: &'c mut SqliteConnection,
    clock: &'c dyn Clock,
    /// Published once the group is committed.
    pub(crate) changes: Vec<Change>,
    /// Whether the current job has written.
    wrote: bool,
}

impl<'c> Tx<'c> {
    pub(crate) fn new(conn: &'c mut SqliteConnection, clock: &'c dyn Clock) -> Self {
        Self { conn, clock, changes: Vec::new(), wrote: false }
    }

    /// For reads.
    pub(crate) fn conn(&mut self) -> &mut SqliteConnection {
        self.conn
    }

    /// The store's clock, read inside the transaction.
    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// For writes. From the first one on the job can only succeed or break its whole group.
    pub(crate) async fn write(
        &mut self,
        query: sqlx::query::Query<'_, Sqlite, SqliteArguments>,
    ) -> Result<u64, Fault> {
        self.wrote = true;
        Ok(query.execute(&mut *self.conn).await?.rows_affected())
    }
}

/// A write of one kind: reads, decides, and only then writes.
#[async_trait]
pub(crate) trait Write: Send + Sync + 'static {
    type Outcome: Send + 'static;
    const OPERATION: &'static str;

    /// Whether nothing rests on it: acknowledged, it may still be lost in a power cut.
    const PROVISIONAL: bool = false;

    /// The session it is about, where there is one.
    fn key(&self) -> Option<&SessionKey>;

    /// About how many bytes it writes.
    fn bytes(&self) -> usize {
        0
    }

    /// Applies it inside the group's transaction. May be called again after a rollback.
    async fn apply(&self, tx: &mut Tx<'_>) -> Result<Self::Outcome, Fault>;
}

/// A queued write of any kind.
#[async_trait]
pub(crate) trait Job: Send {
    fn bytes(&self) -> usize;

    /// Whether it may be acknowledged before it is synced.
    fn provisional(&self) -> bool;

    /// Runs it. `Err`: the group's transaction cannot go on.
    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault>;

    /// The group was committed: answers what the run found.
    fn committed(self: Box<Self>);

    /// Nothing was changed.
    fn failed(self: Box<Self>, fault: Fault);

    /// The group's COMMIT failed.
    fn unknown(self: Box<Self>, fault: Fault);
}

pub(crate) type Reply<O> = oneshot::Receiver<Result<O, StoreError>>;

/// Makes a job of a write, and the place where its answer arrives.
pub(crate) fn job<W: Write>(write: W) -> (Box<dyn Job>, Reply<W::Outcome>) {
    let (reply, answer) = oneshot::channel();
    (Box::new(Queued { write, found: None, reply }), answer)
}

struct Queued<W: Write> {
    write: W,
    found: Option<Result<W::Outcome, Fault>>,
    reply: oneshot::Sender<Result<W::Outcome, StoreError>>,
}

impl<W: Write> Queued<W> {
    /// Answers, if the caller still waits.
    fn answer(self, found: Result<W::Outcome, Fault>, retry: Option<Retry>) {
        let found = found.map_err(|fault| {
            let error = fault.of(W::OPERATION, self.write.key());
            match retry {
                Some(retry) => error.retry(retry),
                None => error,
            }
        });
        let _ = self.reply.send(found);
    }
}

#[async_trait]
impl<W: Write> Job for Queued<W> {
    fn bytes(&self) -> usize {
        self.write.bytes()
    }

    fn provisional(&self) -> bool {
        W::PROVISIONAL
    }

    async fn run(&mut self, tx: &mut Tx<'_>) -> Result<(), Fault> {
        tx.wrote = false;
        let changes = tx.changes.len();
        match self.write.apply(tx).await {
            Err(fault) if tx.wrote || matches!(fault, Fault::Sql(_)) => Err(fault),
            found => {
                if found.is_err() {
                    tx.changes.truncate(changes);
                }
                self.found = Some(found);
                Ok(())
            }
        }
    }

    fn committed(mut self: Box<Self>) {
        match self.found.take() {
            Some(found) => self.answer(found, None),
            None => self.answer(Err(Fault::Closed), Some(Retry::OutcomeUnknown)),
        }
    }

    fn failed(self: Box<Self>, fault: Fault) {
        self.answer(Err(fault), None);
    }

    fn unknown(self: Box<Self>, fault: Fault) {
        self.answer(Err(fault), Some(Retry::OutcomeUnknown));
    }
}

#[cfg(test)]
mod tests {
    use sqlx::Connection;

    use super::*;
    use crate::options::SystemClock;

    /// Finds something that cannot be read, before it writes or after.
    struct Stumbles {
        writes_first: bool,
    }

    #[async_trait]
    impl Write for Stumbles {
        type Outcome = ();
        const OPERATION: &'static str = "stumble";

        fn key(&self) -> Option<&SessionKey> {
            None
        }

        async fn apply(&self, tx: &mut Tx<'_>) -> Result<(), Fault> {
            if self.writes_first {
                tx.write(sqlx::query("CREATE TABLE half (a)")).await?;
            }
            Err(Fault::Corrupt("it cannot be read".into()))
        }
    }

    #[tokio::test]
    async fn a_job_that_has_written_fails_with_its_group_and_one_that_has_not_fails_alone() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.expect("opens");
        let mut tx = Tx::new(&mut conn, &SystemClock);
        for writes_first in [true, false] {
            let (mut job, _answer) = job(Stumbles { writes_first });
            assert_eq!(job.run(&mut tx).await.is_err(), writes_first);
        }
    }
}
