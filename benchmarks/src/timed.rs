//! A store whose commits are timed.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use hdrhistogram::Histogram;
use holdover::core::ids::{CheckpointId, Fence, InboxSeq};
use holdover::core::store::*;
use holdover::{SessionKey, SqliteStore};

/// What was written, and how long that took.
#[derive(Clone)]
pub(crate) struct Writes {
    /// Microseconds from asking for a write to its acknowledgement.
    pub(crate) latency: Histogram<u64>,
    /// Bytes of their payloads.
    pub(crate) bytes: u64,
}

/// A store whose commits and stagings are timed, as its caller sees them.
#[derive(Clone)]
pub(crate) struct Timed {
    inner: SqliteStore,
    writes: Arc<Mutex<Writes>>,
}

impl Timed {
    pub(crate) fn new(inner: SqliteStore) -> Self {
        let writes = Writes { latency: histogram(), bytes: 0 };
        Self { inner, writes: Arc::new(Mutex::new(writes)) }
    }

    pub(crate) fn writes(&self) -> Writes {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    async fn timed<T>(&self, bytes: u64, write: impl Future<Output = T>) -> T {
        let began = Instant::now();
        let outcome = write.await;
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        writes.latency.saturating_record(micros(began.elapsed()));
        writes.bytes += bytes;
        outcome
    }
}

/// Microseconds up to a minute, to a hundredth.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, 60_000_000, 2).unwrap_or_else(|_| unreachable!("sound bounds"))
}

pub(crate) fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[async_trait]
impl StateStore for Timed {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.inner.create_session(new).await
    }
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.inner.load_session(key).await
    }
    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.inner.list_sessions(query).await
    }
    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.inner.delete_session(key, deletion).await
    }
    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.inner.claim_session(key, claim).await
    }
    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        self.inner.claim_due(claim).await
    }
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.inner.compare_and_set_status(key, cas).await
    }
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.inner.renew_lease(fence, lease).await
    }
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        let bytes = staging.results.iter().map(|result| result.payload.len() as u64).sum();
        self.timed(bytes, self.inner.stage_result(fence, staging)).await
    }
    async fn save_state_and_promote_staging(
        &self,
        fence: &Fence,
        commit: Commit,
    ) -> Result<CommitOutcome, StoreError> {
        let bytes = commit.payloads().map(|(_, payload)| payload.len() as u64).sum();
        self.timed(bytes, self.inner.save_state_and_promote_staging(fence, commit)).await
    }
    async fn check_interrupt_flag(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.inner.check_interrupt_flag(fence).await
    }
    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.inner.deliver(key, item).await
    }
    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.inner.request_interrupt(key, interrupt).await
    }
    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.inner.read_messages(key, ranges).await
    }
    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.inner.read_inbox(key, after, limit).await
    }
    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.inner.read_events(key, after, limit).await
    }
    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.inner.list_runs(key, page).await
    }
    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.inner.list_pending(query).await
    }
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.inner.wait_for_change(watch, at_most).await
    }
    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        self.inner.append_deltas(fence, batch).await
    }
    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.inner.list_checkpoints(query).await
    }
    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.inner.fork_session(from, at, to).await
    }
    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.inner.purge(rule).await
    }
}
