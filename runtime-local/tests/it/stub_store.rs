//! A store that stumbles where a test tells it to.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_core::store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, Retry, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome,
    Staging, StateStore, StatusCas, StoreError, StoreErrorKind, Watch,
};
use holdover_store_memory::MemoryStore;
use tokio::time::{Instant, sleep, sleep_until};

/// So late: later than a lease.
pub(crate) const LATE: Duration = Duration::from_secs(31);

/// A store that stumbles where a test tells it to. Every fault counts how often it fired.
#[derive(Clone)]
pub(crate) struct Stumbling {
    pub(crate) inner: MemoryStore,
    pub(crate) faults: Arc<Faults>,
}

#[derive(Default)]
pub(crate) struct Faults {
    /// So many commits are applied, and their answers lost.
    pub(crate) commit_answers_to_lose: AtomicU32,
    /// So many commits are refused for now.
    pub(crate) commits_to_refuse: AtomicU32,
    /// The answer to this commit, counted from 1, comes late.
    pub(crate) late_commit: AtomicU32,
    /// So late. None: later than a lease.
    pub(crate) late_by: Mutex<Option<Duration>>,
    /// Answers to claims of what is due come so much later.
    pub(crate) late_claims: Mutex<Duration>,
    /// How often the store was read, in whatever way.
    pub(crate) reads: AtomicU32,
    /// No renewal gets through before.
    pub(crate) no_renewals_until: Mutex<Option<Instant>>,
    /// How often a lease was to be renewed.
    pub(crate) renewals: AtomicU32,
    commits: AtomicU32,
    pub(crate) fired: AtomicU32,
}

impl Stumbling {
    pub(crate) fn new(inner: MemoryStore) -> Self {
        Self { inner, faults: Arc::default() }
    }

    pub(crate) fn fired(&self) -> u32 {
        self.faults.fired.load(Ordering::SeqCst)
    }

    fn fires(&self, count: &AtomicU32) -> bool {
        let fires =
            count.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok();
        if fires {
            self.faults.fired.fetch_add(1, Ordering::SeqCst);
        }
        fires
    }
}

fn unavailable(operation: &'static str, retry: Retry) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, operation, "a test says so").retry(retry)
}

#[async_trait]
impl StateStore for Stumbling {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.inner.create_session(new).await
    }
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.faults.reads.fetch_add(1, Ordering::SeqCst);
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
        let claims = self.inner.claim_due(claim).await;
        let late = *self.faults.late_claims.lock().unwrap();
        if !late.is_zero() {
            self.faults.fired.fetch_add(1, Ordering::SeqCst);
            sleep(late).await;
        }
        claims
    }
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.inner.compare_and_set_status(key, cas).await
    }
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.faults.renewals.fetch_add(1, Ordering::SeqCst);
        let until = *self.faults.no_renewals_until.lock().unwrap();
        if let Some(until) = until.filter(|until| Instant::now() < *until) {
            self.faults.fired.fetch_add(1, Ordering::SeqCst);
            sleep_until(until).await;
        }
        self.inner.renew_lease(fence, lease).await
    }
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.inner.stage_result(fence, staging).await
    }
    async fn save_state_and_promote_staging(
        &self,
        fence: &Fence,
        commit: Commit,
    ) -> Result<CommitOutcome, StoreError> {
        const OPERATION: &str = "save_state_and_promote_staging";
        if self.fires(&self.faults.commits_to_refuse) {
            return Err(unavailable(OPERATION, Retry::Later));
        }
        let outcome = self.inner.save_state_and_promote_staging(fence, commit).await;
        let place = self.faults.commits.fetch_add(1, Ordering::SeqCst) + 1;
        if place == self.faults.late_commit.load(Ordering::SeqCst) {
            self.faults.fired.fetch_add(1, Ordering::SeqCst);
            let late = self.faults.late_by.lock().unwrap().unwrap_or(LATE);
            sleep(late).await;
        }
        if self.fires(&self.faults.commit_answers_to_lose) {
            return Err(unavailable(OPERATION, Retry::OutcomeUnknown));
        }
        outcome
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
        self.faults.reads.fetch_add(1, Ordering::SeqCst);
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
