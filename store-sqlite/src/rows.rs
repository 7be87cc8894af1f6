//! The rows of sessions in one file: writes go to the writer thread, reads to connections of their own.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::hints::Waiters;
use holdover_store::ids::{Incarnation, SessionKey};
use holdover_store::rows::{
    Due, DueQuery, Found, PendingPlace, Rows, Scanned, SessionPlace, Verdict, Want, Write,
};
use holdover_store::rules::SessionRow;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Capabilities, PendingCall, PendingQuery, RetentionRule, Retry, SessionQuery, SessionSummary, StoreError,
    Watch,
};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use crate::error::Fault;
use crate::readers::Readers;
use crate::rights::Frozen;
use crate::writer::{Answer, Counters, Job, Message, Task};
use crate::{due, read, scan, session};

pub(crate) struct SqliteRows {
    pub(crate) writes: mpsc::Sender<Message>,
    pub(crate) readers: Arc<Readers>,
    pub(crate) capabilities: Capabilities,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) hints: Arc<Waiters>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) frozen: Option<Frozen>,
}

impl SqliteRows {
    /// Queues a task for the writer. The writer then performs or refuses the task, even if the caller does not wait
    /// for the answer.
    async fn ask(&self, task: Task) -> oneshot::Receiver<Answer> {
        let (reply, answer) = oneshot::channel();
        if let Err(mpsc::error::SendError(Message::Write(job))) =
            self.writes.send(Message::Write(Job { task, reply })).await
        {
            // The writer has ended and cannot answer.
            let _ = job.reply.send(Err(Fault::Closed.of("", None)));
        }
        answer
    }

    async fn read_at_once<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, StoreError> {
        let found = self.readers.read(read).await;
        match &self.frozen {
            Some(frozen) if frozen.is_written() => Err(Fault::Thawed.of("", None)),
            Some(_) | None => found.map_err(|fault| fault.of("", None)),
        }
    }
}

async fn answered(answer: oneshot::Receiver<Answer>) -> Answer {
    // If there is no answer, the thread died, perhaps between the commit and the answer.
    answer.await.unwrap_or_else(|_| Err(Fault::Closed.of("", None).retry(Retry::OutcomeUnknown)))
}

/// Reads the slot under a key, and the wanted rows of that session.
pub(crate) fn found(
    conn: &Connection,
    clock: &dyn Clock,
    key: &SessionKey,
    wants: &[Want],
) -> Result<Found, Fault> {
    let slot = session::find(conn, key)?;
    let rows = match slot.as_ref().and_then(|slot| slot.row.as_ref().map(|row| (slot.place, row))) {
        Some((place, row)) => read::wanted(conn, place.cast_signed(), key, row.incarnation, wants)?,
        None => wants.iter().map(|_| Vec::new()).collect(),
    };
    Ok(Found { now: clock.now(), slot: slot.map(Arc::new), rows })
}

#[async_trait]
impl Rows for SqliteRows {
    fn capabilities(&self) -> Capabilities {
        self.capabilities.clone()
    }

    fn now(&self) -> Option<Timestamp> {
        Some(self.clock.now())
    }

    async fn read(&self, key: &SessionKey, wants: &[Want]) -> Result<Found, StoreError> {
        let (of, wants, clock) = (key.clone(), wants.to_vec(), Arc::clone(&self.clock));
        let found = self.read_at_once(move |conn| found(conn, &*clock, &of, &wants));
        found.await.map_err(|error| error.on(key))
    }

    async fn apply(&self, writes: Vec<Arc<Write>>) -> Vec<Result<Verdict, StoreError>> {
        let mut asked = Vec::with_capacity(writes.len());
        for write in writes {
            asked.push(self.ask(Task::Apply(write)).await);
        }
        let mut verdicts = Vec::with_capacity(asked.len());
        for answer in asked {
            verdicts.push(answered(answer).await);
        }
        verdicts
    }

    async fn due(
        &self,
        query: &DueQuery,
        wants: &[Want],
    ) -> Result<Due<Result<Found, StoreError>>, StoreError> {
        let (query, wants, now) = (query.clone(), wants.to_vec(), self.clock.now());
        let due = self.read_at_once(move |conn| due::due(conn, &query, &wants, now)).await?;
        let found = due.found.into_iter().map(|one| one.map_err(|fault| fault.of("", None))).collect();
        Ok(Due { found, after: due.after })
    }

    async fn sessions(
        &self,
        query: &SessionQuery,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionSummary, SessionPlace>, StoreError> {
        let (query, after) = (query.clone(), after.cloned());
        self.read_at_once(move |conn| scan::sessions(conn, &query, after.as_ref(), limit)).await
    }

    async fn pending(
        &self,
        query: &PendingQuery,
        after: Option<&PendingPlace>,
        limit: usize,
        bytes: usize,
    ) -> Result<Scanned<PendingCall, PendingPlace>, StoreError> {
        let (query, after) = (query.clone(), after.cloned());
        self.read_at_once(move |conn| scan::pending(conn, &query, after.as_ref(), limit, bytes)).await
    }

    async fn resting(
        &self,
        rule: &RetentionRule,
        after: Option<&SessionPlace>,
        limit: usize,
    ) -> Result<Scanned<SessionRow, SessionPlace>, StoreError> {
        let (rule, after) = (rule.clone(), after.cloned());
        self.read_at_once(move |conn| scan::resting(conn, &rule, after.as_ref(), limit)).await
    }

    async fn dead(&self, before: Timestamp, limit: usize) -> Result<Vec<SessionKey>, StoreError> {
        self.read_at_once(move |conn| scan::dead(conn, before, limit)).await
    }

    async fn remove_unreadable(
        &self,
        key: &SessionKey,
        life: Option<Incarnation>,
    ) -> Result<bool, StoreError> {
        let answer = answered(self.ask(Task::Remove(key.clone(), life)).await).await?;
        Ok(matches!(answer, Verdict::Applied { .. }))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.hints.wait(&watch, at_most).await;
        Ok(())
    }
}
