//! The store: each operation under one lock, then a hint to whoever waits.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CommitSurvives, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch,
    DeltaOutcome, EventCursor, EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck,
    InterruptOutcome, LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest,
    PendingCall, PendingQuery, PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary,
    SharedBy, StageOutcome, Staging, StateStore, StatusCas, StoreError, Watch, rules,
};

use crate::clock::SystemClock;
use crate::hints::Hints;
use crate::limits::Limits;
use crate::ops;
use crate::table::Sessions;
use crate::tombstones::Tombstones;

/// Sessions in memory. A clone is a peer: another handle on the same data, which lives as long as one
/// of its handles.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Shared>,
}

struct Shared {
    data: Mutex<Data>,
    clock: Box<dyn Clock>,
    limits: Limits,
    hints: Hints,
}

#[derive(Default)]
struct Data {
    sessions: Sessions,
    tombstones: Tombstones,
}

impl MemoryStore {
    /// An empty store on the machine's clock.
    pub fn new() -> Self {
        Self::with(SystemClock, Limits::default())
    }

    /// An empty store on `clock`: on the clock of a test, say, which passes as the test wants.
    pub fn on(clock: impl Clock) -> Self {
        Self::with(clock, Limits::default())
    }

    /// An empty store on `clock`, with these limits.
    pub fn with(clock: impl Clock, limits: Limits) -> Self {
        let shared = Shared { data: Mutex::default(), clock: Box::new(clock), limits, hints: Hints::new() };
        Self { shared: Arc::new(shared) }
    }

    /// Runs one operation. The clock is read after the wait for the lock.
    fn run<R>(&self, operation: impl FnOnce(&mut Sessions, Timestamp) -> R) -> R {
        self.run_on_all(|data, now| operation(&mut data.sessions, now))
    }

    /// As [`run`](Self::run), with what is left of deleted sessions too.
    fn run_on_all<R>(&self, operation: impl FnOnce(&mut Data, Timestamp) -> R) -> R {
        let mut data = self.lock();
        let now = self.shared.clock.now();
        operation(&mut data, now)
    }

    /// Runs one operation on `key`, then tells whoever waits for it.
    fn change<R>(&self, key: &SessionKey, operation: impl FnOnce(&mut Sessions, Timestamp) -> R) -> R {
        self.change_any(key, |data, now| operation(&mut data.sessions, now))
    }

    /// As [`change`](Self::change), with what is left of deleted sessions too.
    fn change_any<R>(&self, key: &SessionKey, operation: impl FnOnce(&mut Data, Timestamp) -> R) -> R {
        let answer = self.run_on_all(operation);
        self.shared.hints.tell(key);
        answer
    }

    /// Refuses what is too large or has no meaning.
    fn check(
        &self,
        operation: &'static str,
        key: &SessionKey,
        check: impl FnOnce(rules::Limits<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        check(rules::Limits::of(&self.capabilities(), operation)).map_err(|error| error.on(key))
    }

    fn lock(&self) -> MutexGuard<'_, Data> {
        // Operations write only after everything was decided, so a panic leaves nothing half done.
        self.shared.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MemoryStore").field("sessions", &self.lock().sessions.len()).finish_non_exhaustive()
    }
}

#[async_trait]
impl StateStore for MemoryStore {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            backend: format!("memory {}", env!("CARGO_PKG_VERSION")),
            commit_survives: CommitSurvives::Nothing,
            shared_by: SharedBy::Process,
            change_hints_across_processes: false,
            forks: true,
            retention: true,
            payload_bytes_max: self.shared.limits.payload_bytes_max,
            commit_bytes_max: self.shared.limits.commit_bytes_max,
            settings: Vec::new(),
        }
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        let key = new.key.clone();
        self.check("create_session", &key, |limits| limits.creation(&new))?;
        Ok(self.change_any(&key, |data, now| ops::create(&mut data.sessions, &data.tombstones, new, now)))
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        Ok(self.run(|sessions, _| ops::load(sessions, key)))
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.run(|sessions, _| ops::list_sessions(sessions, query))
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        Ok(self.change_any(key, |data, now| {
            ops::delete(&mut data.sessions, &mut data.tombstones, key, deletion, now)
        }))
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.check("claim_session", key, |mut limits| limits.items(&claim.items))?;
        Ok(self.change(key, |sessions, now| ops::claim(sessions, key, &claim, now)))
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let claims = self.run(|sessions, now| ops::claim_due(sessions, claim, now));
        for claim in &claims {
            self.shared.hints.tell(&claim.fence.key);
        }
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.check("compare_and_set_status", key, |mut limits| limits.items(&cas.items))?;
        Ok(self.change(key, |sessions, now| ops::compare_and_set(sessions, key, &cas, now)))
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        Ok(self.run(|sessions, now| ops::renew(sessions, fence, lease, now)))
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.check("stage_result", &fence.key, |limits| limits.staging(&staging))?;
        Ok(self.change(&fence.key, |sessions, now| ops::stage(sessions, fence, staging, now)))
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(&self.capabilities()).map_err(|error| error.on(&fence.key))?;
        Ok(self.change(&fence.key, |sessions, now| ops::commit(sessions, fence, commit, now)))
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(&self.capabilities()).map_err(|error| error.on(&fence.key))?;
        Ok(self.change(&fence.key, |sessions, now| ops::append_deltas(sessions, fence, batch, now)))
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        Ok(self.run(|sessions, _| ops::take_interrupt(sessions, fence)))
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.check("deliver", key, |limits| limits.delivery(&item))?;
        Ok(self.change(key, |sessions, now| ops::deliver(sessions, key, item, now)))
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.check("request_interrupt", key, |limits| limits.interrupt(&interrupt))?;
        Ok(self.change(key, |sessions, now| ops::interrupt(sessions, key, interrupt, now)))
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.run(|sessions, _| ops::read_messages(sessions, key, ranges))
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.run(|sessions, _| ops::read_inbox(sessions, key, after, limit))
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.run(|sessions, _| ops::read_events(sessions, key, after, limit))
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.run(|sessions, _| ops::list_runs(sessions, key, &page))
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.run(|sessions, _| ops::list_pending(sessions, query))
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.run(|sessions, _| ops::list_checkpoints(sessions, query))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.shared.hints.wait(watch, at_most).await;
        Ok(())
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        to.check(from).map_err(|error| error.on(from))?;
        self.check("fork_session", from, |limits| limits.fork(&to))?;
        let key = to.key.clone();
        Ok(self
            .change_any(&key, |data, now| ops::fork(&mut data.sessions, &data.tombstones, from, at, to, now)))
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        ops::check_purge(rule)?;
        let (report, gone) =
            self.run_on_all(|data, now| ops::purge(&mut data.sessions, &mut data.tombstones, rule, now));
        gone.iter().for_each(|key| self.shared.hints.tell(key));
        Ok(report)
    }
}
