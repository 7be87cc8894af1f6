//! The store: checks arguments, sends writes to the writer task, reads for itself.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_store::rules::Limits;
use holdover_store::time::Clock;
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, INBOX_PAGE, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome,
    LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, PAGE_ROWS_MAX, Page, PageRequest,
    PendingCall, PendingQuery, PurgeReport, RetentionRule, Retry, RunRecord, Session, SessionQuery,
    SessionSummary, StageOutcome, Staging, StateStore, StatusCas, StoreError, StoreErrorKind, Watch,
    runs_digest,
};
use sqlx::sqlite::SqlitePool;
use tokio::sync::{mpsc, oneshot};

use crate::error::Fault;
use crate::hints::Hints;
use crate::job::{self, Write};
use crate::open::{Connector, Opened};
use crate::options::SqliteOptions;
use crate::read::{self, Snapshot};
use crate::rights::Frozen;
use crate::write;
use crate::writer::{Counters, Message, QUEUE_MAX, Writer};

/// What the writer did since the store was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WriterCounts {
    /// Writes that were asked for.
    pub writes: u64,
    /// Transactions that were begun for them; each costs at most one sync.
    pub groups: u64,
    /// Those of them that held deltas alone, and so were not synced by themselves.
    pub provisional: u64,
    /// Writes of groups that failed as a whole and were repeated one by one.
    pub repeated: u64,
    /// Checkpoints that truncated the write-ahead log.
    pub checkpoints: u64,
    /// How often the writer connection was opened again after a failure.
    pub reopened: u64,
}

/// Sessions in one SQLite file, shared by every process of one machine.
///
/// Cheap to clone; clones share one writer connection and one pool of readers. Needs a tokio runtime: the
/// writer is a task on the runtime that opened the store.
#[derive(Clone)]
pub struct SqliteStore {
    shared: Arc<Shared>,
}

struct Shared {
    writes: mpsc::Sender<Message>,
    readers: SqlitePool,
    capabilities: Capabilities,
    clock: Arc<dyn Clock>,
    hints: Arc<Hints>,
    counters: Arc<Counters>,
    frozen: Option<Frozen>,
}

impl SqliteStore {
    /// Opens the database, creates it if the file does not exist, and brings its schema up to date. Safe
    /// when several processes do so at once.
    ///
    /// # Errors
    /// Of operation `open`, in one line that names the file:
    /// [`Unavailable`](StoreErrorKind::Unavailable) if the folder is missing or lies on a network, or the
    /// linked library is one that can corrupt data, or this user cannot write it, unless it is only to be looked at
    /// ([`as_it_is`](SqliteOptions::as_it_is)); [`Corrupt`](StoreErrorKind::Corrupt) if the file is no
    /// SQLite database or another program's; [`Newer`](StoreErrorKind::Newer) if a newer version wrote it.
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        let (clock, busy_timeout) = (options.clock.clone(), options.busy_timeout);
        let (wal_bytes_max, synchronous) = (options.wal_bytes_max, options.synchronous);
        let connector = Connector::new(options)?;
        let Opened { writer, readers, capabilities } = connector.open().await?;
        let frozen = connector.frozen();
        let hints = Hints::of(connector.file());
        let counters = Arc::new(Counters::default());
        let (writes, queue) = mpsc::channel(QUEUE_MAX);
        let writer = Writer {
            wal_file: connector.wal_file(),
            connector,
            conn: Some(writer),
            synchronous,
            clock: clock.clone(),
            hints: hints.clone(),
            counters: counters.clone(),
            busy_timeout,
            wal_bytes_max,
            checkpoint_at: wal_bytes_max,
        };
        tokio::spawn(writer.serve(queue));
        let shared = Shared { writes, readers, capabilities, clock, hints, counters, frozen };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Opens the database named by `sqlite:path`, with safe settings.
    ///
    /// # Errors
    /// As [`SqliteOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(SqliteOptions::from_url(url)?).await
    }

    /// Ends all writes that were asked for and closes the connections of all clones. Later calls answer
    /// that the store was closed.
    pub async fn close(&self) {
        let (done, closed) = oneshot::channel();
        if self.shared.writes.send(Message::Close(done)).await.is_ok() {
            // Fails only if the task has ended already.
            let _ = closed.await;
        }
        self.shared.readers.close().await;
    }

    /// What the writer did since the store was opened.
    pub fn writer_counts(&self) -> WriterCounts {
        let counters = &self.shared.counters;
        WriterCounts {
            writes: counters.writes.load(Ordering::Relaxed),
            groups: counters.groups.load(Ordering::Relaxed),
            provisional: counters.provisional.load(Ordering::Relaxed),
            repeated: counters.repeated.load(Ordering::Relaxed),
            checkpoints: counters.checkpoints.load(Ordering::Relaxed),
            reopened: counters.reopened.load(Ordering::Relaxed),
        }
    }

    fn limits(&self, operation: &'static str) -> Limits<'_> {
        Limits::of(&self.shared.capabilities, operation)
    }

    /// Hands a write to the writer task. From the moment it is queued it is applied or refused whether or
    /// not anybody waits for the answer.
    async fn write<W: Write>(&self, write: W) -> Result<W::Outcome, StoreError> {
        let key = write.key().cloned();
        let (job, answer) = job::job(write);
        let closed = |fault: Fault| fault.of(W::OPERATION, key.as_ref());
        if self.shared.writes.send(Message::Write(job)).await.is_err() {
            return Err(closed(Fault::Closed));
        }
        match answer.await {
            Ok(answer) => answer,
            // The task died with its runtime, perhaps between the commit and the answer.
            Err(_) => Err(closed(Fault::Closed).retry(Retry::OutcomeUnknown)),
        }
    }

    /// Reads at one instant.
    async fn read<T>(
        &self,
        operation: &'static str,
        key: Option<&SessionKey>,
        read: impl AsyncFnOnce(&mut Snapshot) -> Result<T, Fault>,
    ) -> Result<T, StoreError> {
        let found = async {
            let mut snapshot = Snapshot::begin(&self.shared.readers).await?;
            let found = read(&mut snapshot).await;
            snapshot.end().await?;
            match &self.shared.frozen {
                Some(frozen) if frozen.is_written() => Err(Fault::Thawed),
                Some(_) | None => found,
            }
        };
        found.await.map_err(|fault| fault.of(operation, key))
    }

    /// A claim whose lease ended on its way here is no claim any more.
    fn is_over(&self, claim: &Claim) -> bool {
        claim.lease_ends <= self.shared.clock.now()
    }
}

fn not_found(operation: &'static str, key: &SessionKey) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, operation, "there is no such session").on(key)
}

#[async_trait]
impl StateStore for SqliteStore {
    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities.clone()
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.limits("create_session").creation(&new).map_err(|error| error.on(&new.key))?;
        let mut outcome = self.write(write::CreateSession(new)).await?;
        if let CreateOutcome::Created { claim, .. } = &mut outcome {
            *claim = claim.take().filter(|claim| !self.is_over(claim));
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.read("load_session", Some(key), async |at| read::load(at, key).await).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        const OPERATION: &str = "list_sessions";
        let after = read::position(&query.page, query.digest(), OPERATION)?;
        self.read(OPERATION, None, async |at| read::list_sessions(at, query, after).await).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.write(write::DeleteSession { key: key.clone(), deletion }).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.limits("claim_session").items(&claim.items).map_err(|error| error.on(key))?;
        let outcome = self.write(write::ClaimSession { key: key.clone(), claim }).await?;
        if let ClaimOutcome::Claimed(claim) = &outcome
            && self.is_over(claim)
        {
            return Ok(ClaimOutcome::LeaseEnded);
        }
        Ok(outcome)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        const OPERATION: &str = "claim_due";
        if claim.runs.is_empty() {
            return Ok(Vec::new());
        }
        let now = self.shared.clock.now();
        let first_look = async |at: &mut Snapshot| write::due_now(at.conn(), &claim, now, 1).await;
        if self.read(OPERATION, None, first_look).await?.is_empty() {
            return Ok(Vec::new());
        }
        let mut claims = self.write(write::ClaimDueSessions(claim)).await?;
        claims.retain(|claim| !self.is_over(claim));
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.limits("compare_and_set_status").items(&cas.items).map_err(|error| error.on(key))?;
        self.write(write::CompareAndSet { key: key.clone(), cas }).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.write(write::RenewLease { fence: fence.clone(), lease }).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.limits("stage_result").staging(&staging).map_err(|error| error.on(&fence.key))?;
        self.write(write::StageResults { fence: fence.clone(), staging }).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(&self.shared.capabilities).map_err(|error| error.on(&fence.key))?;
        self.write(write::SaveState { fence: fence.clone(), commit }).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(&self.shared.capabilities).map_err(|error| error.on(&fence.key))?;
        self.write(write::AppendDeltas { fence: fence.clone(), batch }).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        let look = async |at: &mut Snapshot| read::waits_for(at, fence).await;
        match self.read("take_interrupt", Some(&fence.key), look).await? {
            Some(answer) => Ok(answer),
            None => self.write(write::HandInterrupt(fence.clone())).await,
        }
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.limits("deliver").delivery(&item).map_err(|error| error.on(key))?;
        self.write(write::Deliver { key: key.clone(), item }).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.limits("request_interrupt").interrupt(&interrupt).map_err(|error| error.on(key))?;
        self.write(write::RequestInterrupt { key: key.clone(), interrupt }).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        const OPERATION: &str = "read_messages";
        let read = async |at: &mut Snapshot| read::read_messages(at, key, ranges).await;
        self.read(OPERATION, Some(key), read).await?.ok_or_else(|| not_found(OPERATION, key))
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        const OPERATION: &str = "read_inbox";
        let limit = Limits::rows(OPERATION, limit, INBOX_PAGE).map_err(|error| error.on(key))?;
        let read = async |at: &mut Snapshot| read::read_inbox(at, key, after, limit).await;
        self.read(OPERATION, Some(key), read).await?.ok_or_else(|| not_found(OPERATION, key))
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        const OPERATION: &str = "read_events";
        let limit = Limits::rows(OPERATION, limit, PAGE_ROWS_MAX).map_err(|error| error.on(key))?;
        let read = async |at: &mut Snapshot| read::read_events(at, key, after, limit).await;
        self.read(OPERATION, Some(key), read).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        const OPERATION: &str = "list_runs";
        let after = read::position(&page, runs_digest(key), OPERATION).map_err(|error| error.on(key))?;
        let read = async |at: &mut Snapshot| read::list_runs(at, key, &page, after).await;
        self.read(OPERATION, Some(key), read).await?.ok_or_else(|| not_found(OPERATION, key))
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        const OPERATION: &str = "list_pending";
        let after = read::position(&query.page, query.digest(), OPERATION)?;
        self.read(OPERATION, None, async |at| read::list_pending(at, query, after).await).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        const OPERATION: &str = "list_checkpoints";
        let after =
            read::position(&query.page, query.digest(), OPERATION).map_err(|error| error.on(&query.key))?;
        let read = async |at: &mut Snapshot| read::list_checkpoints(at, query, after).await;
        let found = self.read(OPERATION, Some(&query.key), read).await?;
        found.ok_or_else(|| not_found(OPERATION, &query.key))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.shared.hints.wait(&watch, at_most).await;
        Ok(())
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        to.check(from).map_err(|error| error.on(from))?;
        self.limits("fork_session").fork(&to).map_err(|error| error.on(from))?;
        self.write(write::ForkSession { from: from.clone(), at, to }).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let no_place = || StoreError::invalid("purge", "after: it is no place in this walk");
        let purge = write::Purge::new(rule.clone(), rule.check()?).ok_or_else(no_place)?;
        self.write(purge).await
    }
}
