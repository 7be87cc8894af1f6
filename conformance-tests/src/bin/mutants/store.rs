//! Broken stores over the reference's operations, which run under one lock. A fault replaces some of the operations.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_conformance_tests::{ClockControl, Instance, StoreHarness, StoreInfo, VirtualClock};
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use holdover_store::payload::Digest;
use holdover_store::time::{Clock, Timestamp};
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CommitSurvives, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch,
    DeltaOutcome, EventCursor, EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck,
    InterruptOutcome, LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest,
    PendingCall, PendingQuery, PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary,
    SharedBy, StageOutcome, Staging, StateStore, StatusCas, StoreError, Watch,
};
use holdover_store_memory::parts::{Sessions, Tombstones};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

use crate::fault::{Mutant, Tx};
use crate::rows;
use crate::sound::{Fault, LIMITS};

/// The maximum number of operations on all stores of a harness. One more operation panics, because a case with so many
/// of them waits for something that never happens.
#[derive(Clone)]
pub(crate) struct Budget {
    used: Arc<AtomicU64>,
    most: u64,
}

impl Budget {
    pub(crate) fn new(most: u64) -> Self {
        Self { used: Arc::default(), most }
    }

    /// Returns the number of operations so far.
    pub(crate) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    pub(crate) fn spend(&self) {
        let used = self.used.fetch_add(1, Ordering::Relaxed);
        assert!(used < self.most, "more than {} operations: the case hangs", self.most);
    }
}

/// Operations that send no hints: the reads, `take_interrupt` and waits.
const READS: [&str; 10] = [
    "load_session",
    "list_sessions",
    "take_interrupt",
    "read_messages",
    "read_inbox",
    "read_events",
    "list_runs",
    "list_pending",
    "list_checkpoints",
    "wait_for_change",
];

/// The number of times that other tasks may run between two transactions of one operation.
const YIELDS: usize = 3;

/// A broken store that can open other handles on its data.
pub(crate) trait Peers: StateStore {
    fn peer(&self) -> Handle;

    /// Called when the data is closed.
    fn closed(&self) {}
}

/// One handle on a broken store of any kind.
pub(crate) struct Handle(pub(crate) Arc<dyn Peers>);

holdover_store::forward_store! { [] Handle, |store| store.0 }

/// One handle on a broken store that uses the reference's operations.
pub(crate) struct Broken {
    shared: Arc<Shared>,
    cache: Mutex<Sessions>,
    turn: Mutex<Option<TenantId>>,
    connections: Option<Semaphore>,
}

struct Shared {
    data: Mutex<Data>,
    changed: Notify,
    clock: VirtualClock,
    process: Timestamp,
    budget: Budget,
    fault: &'static Fault,
    locks: Mutex<BTreeMap<SessionKey, Arc<Semaphore>>>,
}

#[derive(Default)]
struct Data {
    sessions: Sessions,
    tombstones: Tombstones,
    graves: Sessions,
}

/// Returns capabilities that promise durable data, so that the cases of the level durable apply.
pub(crate) fn capabilities() -> Capabilities {
    Capabilities {
        backend: "broken".into(),
        commit_survives: CommitSurvives::ProcessKill,
        shared_by: SharedBy::Process,
        change_hints_across_processes: false,
        forks: true,
        retention: true,
        payload_bytes_max: LIMITS.payload_bytes_max,
        commit_bytes_max: LIMITS.commit_bytes_max,
        settings: Vec::new(),
    }
}

impl Broken {
    fn on(shared: Arc<Shared>) -> Self {
        let connections = shared.fault.connections.map(Semaphore::new);
        Self { shared, cache: Mutex::default(), turn: Mutex::default(), connections }
    }

    /// Runs one transaction.
    fn once<R>(&self, operation: impl FnOnce(&mut Tx<'_>) -> R) -> (R, Option<crate::fault::Later>) {
        let mut cache = lock(&self.cache);
        let mut data = lock(&self.shared.data);
        let Data { sessions, tombstones, graves } = &mut *data;
        let now = self.shared.clock.now();
        let process = self.shared.process;
        let turn = &mut *lock(&self.turn);
        let mut tx = Tx { sessions, tombstones, graves, cache: &mut cache, turn, now, process, later: None };
        let answer = operation(&mut tx);
        (answer, tx.later)
    }

    /// Runs the operation with this name, in as many transactions as it takes.
    async fn run<R>(&self, name: &str, operation: impl FnOnce(&mut Tx<'_>) -> R + Send) -> R
    where
        R: Send,
    {
        self.shared.budget.spend();
        let _one = self.connection().await;
        // Other tasks run first, as with a store behind a network.
        tokio::task::yield_now().await;
        let _another = self.connection().await;
        let (answer, mut rest) = self.once(operation);
        while let Some(later) = rest {
            for _ in 0..YIELDS {
                tokio::task::yield_now().await;
            }
            rest = self.once(later).1;
        }
        if !READS.contains(&name) && (self.shared.fault.tells)(name) {
            self.shared.changed.notify_waiters();
        }
        answer
    }

    /// Delays a claim's answer: other tasks run first, and time may pass. Returns true if the lease is over then.
    async fn is_over(&self, operation: &str, claim: &Claim) -> bool {
        tokio::task::yield_now().await;
        (self.fault().over)(operation, claim, self.shared.clock.now())
    }

    async fn connection(&self) -> Option<SemaphorePermit<'_>> {
        self.connections.as_ref()?.acquire().await.ok()
    }

    /// Runs the part of a fault that comes before the operation waits.
    async fn before(&self, key: &SessionKey) {
        let Some(before) = self.fault().before else { return };
        self.once(|tx| before(tx, key));
        for _ in 0..YIELDS {
            tokio::task::yield_now().await;
        }
    }

    /// Locks a session, if the fault has locks.
    async fn hold(&self, key: &SessionKey) -> Option<OwnedSemaphorePermit> {
        if !self.fault().locks {
            return None;
        }
        let held = Arc::clone(
            lock(&self.shared.locks).entry(key.clone()).or_insert_with(|| Semaphore::new(1).into()),
        );
        let permit = held.acquire_owned().await.ok();
        tokio::task::yield_now().await;
        permit
    }

    fn fault(&self) -> &'static Fault {
        self.shared.fault
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Peers for Broken {
    fn peer(&self) -> Handle {
        Handle(Arc::new(Self::on(Arc::clone(&self.shared))))
    }

    fn closed(&self) {
        (self.fault().reopen)(&mut lock(&self.shared.data).sessions);
    }
}

/// The harness of a broken store.
pub(crate) struct Harness {
    mutant: &'static Mutant,
    clock: VirtualClock,
    budget: Budget,
}

impl Harness {
    pub(crate) fn new(mutant: &'static Mutant, budget: Budget) -> Self {
        Self { mutant, clock: VirtualClock::new(), budget }
    }
}

#[async_trait]
impl StoreHarness for Harness {
    type Store = Handle;

    fn info(&self) -> StoreInfo {
        StoreInfo::new(self.mutant.name, env!("CARGO_PKG_VERSION"))
    }

    async fn fresh(&self) -> Instance<Handle> {
        if let Some(fault) = self.mutant.fault.rows {
            return Instance::new(rows::store(fault, self.clock.clone(), self.budget.clone()));
        }
        let shared = Shared {
            data: Mutex::default(),
            changed: Notify::new(),
            clock: self.clock.clone(),
            process: VirtualClock::new().now(),
            budget: self.budget.clone(),
            fault: &self.mutant.fault,
            locks: Mutex::default(),
        };
        Instance::new(Handle(Arc::new(Broken::on(Arc::new(shared)))))
    }

    async fn peer(&self, of: &Instance<Handle>) -> Handle {
        of.store().0.peer()
    }

    async fn reopen(&self, of: Instance<Handle>) -> Instance<Handle> {
        of.store().0.closed();
        Instance::new(of.store().0.peer())
    }

    fn clock(&self) -> ClockControl {
        ClockControl::with(self.clock.clone())
    }
}

#[async_trait]
impl StateStore for Broken {
    fn capabilities(&self) -> Capabilities {
        Capabilities { forks: self.fault().forks, retention: self.fault().retention, ..capabilities() }
    }

    fn digests(&self, _: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        Ok(vec![Digest::of(words)])
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        (self.fault().check_create)(&new).map_err(|error| error.on(&new.key))?;
        let mut outcome = self.run("create_session", |tx| (self.fault().create)(tx, new)).await;
        if let CreateOutcome::Created { claim: made, .. } = &mut outcome
            && let Some(claim) = made
            && self.is_over("create_session", claim).await
        {
            *made = None;
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        Ok(self.run("load_session", |tx| (self.fault().load)(tx, key)).await)
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.run("list_sessions", |tx| (self.fault().list_sessions)(tx, query)).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        Ok(self.run("delete_session", |tx| (self.fault().delete)(tx, key, deletion)).await)
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        (self.fault().check_claim)(&claim).map_err(|error| error.on(key))?;
        let outcome = self.run("claim_session", |tx| (self.fault().claim)(tx, key, claim)).await;
        if let ClaimOutcome::Claimed(claim) = &outcome
            && self.is_over("claim_session", claim).await
        {
            return Ok(ClaimOutcome::LeaseEnded);
        }
        Ok(outcome)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        (self.fault().check_due)(&claim)?;
        let mut claims = Vec::new();
        for claim in self.run("claim_due", |tx| (self.fault().claim_due)(tx, claim)).await {
            if !self.is_over("claim_due", &claim).await {
                claims.push(claim);
            }
        }
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        (self.fault().check_cas)(&cas).map_err(|error| error.on(key))?;
        Ok(self.run("compare_and_set_status", |tx| (self.fault().cas)(tx, key, cas)).await)
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        (self.fault().check_renewal)(lease).map_err(|error| error.on(&fence.key))?;
        Ok(self.run("renew_lease", |tx| (self.fault().renew)(tx, fence, lease)).await)
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        (self.fault().check_staging)(&staging).map_err(|error| error.on(&fence.key))?;
        Ok(self.run("stage_result", |tx| (self.fault().stage)(tx, fence, staging)).await)
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        (self.fault().check_commit)(&commit).map_err(|error| error.on(&fence.key))?;
        self.before(&fence.key).await;
        Ok(self.run("commit", |tx| (self.fault().commit)(tx, fence, commit)).await)
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        Ok(self.run("take_interrupt", |tx| (self.fault().take_interrupt)(tx, fence)).await)
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        (self.fault().check_payload)(&item).map_err(|error| error.on(key))?;
        self.before(key).await;
        Ok(self.run("deliver", |tx| (self.fault().deliver)(tx, key, item)).await)
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        (self.fault().check_reason)(&interrupt).map_err(|error| error.on(key))?;
        Ok(self.run("request_interrupt", |tx| (self.fault().interrupt)(tx, key, interrupt)).await)
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.run("read_messages", |tx| (self.fault().read_messages)(tx, key, ranges)).await
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.run("read_inbox", |tx| (self.fault().read_inbox)(tx, key, after, limit)).await
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.run("read_events", |tx| (self.fault().read_events)(tx, key, after, limit)).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.run("list_runs", |tx| (self.fault().list_runs)(tx, key, &page)).await
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.run("list_pending", |tx| (self.fault().list_pending)(tx, query)).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.shared.budget.spend();
        if !(self.fault().hears)(&watch) {
            tokio::time::sleep(at_most).await;
            return Ok(());
        }
        // Running out of time is an answer like any other.
        let _ = tokio::time::timeout(at_most, self.shared.changed.notified()).await;
        Ok(())
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        (self.fault().check_deltas)(&batch).map_err(|error| error.on(&fence.key))?;
        Ok(self.run("append_deltas", |tx| (self.fault().append_deltas)(tx, fence, batch)).await)
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.run("list_checkpoints", |tx| (self.fault().list_checkpoints)(tx, query)).await
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        (self.fault().check_fork)(from, &to).map_err(|error| error.on(from))?;
        let _source = self.hold(from).await;
        let _target = if to.key == *from { None } else { self.hold(&to.key).await };
        Ok(self.run("fork_session", |tx| (self.fault().fork)(tx, from, at, to)).await)
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        (self.fault().check_purge)(rule)?;
        Ok(self.run("purge", |tx| (self.fault().purge)(tx, rule)).await)
    }
}
