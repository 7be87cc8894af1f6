//! A store that is watched: which operations were asked for between two answers of the model, and what
//! they cost.

use std::collections::BTreeMap;
use std::future::pending;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover::core::ids::{CheckpointId, Fence, InboxSeq};
use holdover::core::store::*;
use holdover::{SessionKey, SqliteStore};
use tokio::sync::watch;
use tracing::field::{Field, Visit};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};

/// What was asked of the store, by name; what that cost.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    /// Operations, by name, each with how often it was asked for.
    pub(crate) calls: BTreeMap<&'static str, usize>,
    /// Transactions of the writer: each is at most one sync.
    pub(crate) transactions: u64,
    /// SQL statements by how they begin, readers' among them, in order.
    pub(crate) statements: Vec<String>,
    /// Bytes of state and events in commits: what is stored beside the transcript.
    pub(crate) beside: usize,
}

/// A store that is watched.
#[derive(Clone)]
pub(crate) struct Watched {
    inner: SqliteStore,
    out: Arc<watch::Sender<usize>>,
    seen: Arc<Mutex<Cost>>,
    transactions_before: Arc<Mutex<u64>>,
}

impl Watched {
    pub(crate) fn new(inner: SqliteStore) -> Self {
        STATEMENTS.lock().unwrap().clear();
        let transactions_before = Arc::new(Mutex::new(inner.writer_counts().groups));
        Self { inner, out: Arc::new(watch::Sender::new(0)), seen: Arc::default(), transactions_before }
    }

    /// Waits until nothing is on its way to the store, as it is when a model takes longer than a commit.
    /// What came since the last time is the answer.
    pub(crate) async fn settled(&self) -> Cost {
        let mut out = self.out.subscribe();
        out.wait_for(|out| *out == 0).await.unwrap();
        let transactions = self.inner.writer_counts().groups;
        let before = std::mem::replace(&mut *self.transactions_before.lock().unwrap(), transactions);
        // The library tells of a statement a moment after its answer.
        let committed = || STATEMENTS.lock().unwrap().iter().filter(|said| *said == "COMMIT").count() as u64;
        while committed() < transactions - before {
            tokio::task::yield_now().await;
        }
        let seen = std::mem::take(&mut *self.seen.lock().unwrap());
        let statements = std::mem::take(&mut *STATEMENTS.lock().unwrap());
        Cost { transactions: transactions - before, statements, ..seen }
    }

    async fn note<T>(&self, name: &'static str, beside: usize, asked: impl Future<Output = T>) -> T {
        {
            let mut seen = self.seen.lock().unwrap();
            *seen.calls.entry(name).or_default() += 1;
            seen.beside += beside;
        }
        self.out.send_modify(|out| *out += 1);
        let answer = asked.await;
        self.out.send_modify(|out| *out -= 1);
        answer
    }
}

/// What a commit carries beside messages and results.
fn own_bytes(commit: &Commit) -> usize {
    let beside = commit.payloads().filter(|(field, _)| !matches!(*field, "messages" | "stage"));
    beside.map(|(_, payload)| payload.len()).sum()
}

/// The statements that any store of this process ran.
static STATEMENTS: LazyLock<Arc<Mutex<Vec<String>>>> = LazyLock::new(|| {
    let statements = Arc::<Mutex<Vec<String>>>::default();
    let subscriber = tracing_subscriber::registry().with(Statements(Arc::clone(&statements)));
    tracing::subscriber::set_global_default(subscriber).unwrap();
    statements
});

/// Keeps the statements that the store's library tells of.
struct Statements(Arc<Mutex<Vec<String>>>);

impl<S: tracing::Subscriber> Layer<S> for Statements {
    fn enabled(&self, metadata: &tracing::Metadata<'_>, _: Context<'_, S>) -> bool {
        metadata.target() == "sqlx::query"
    }

    fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, S>) {
        struct Summary<'s>(&'s Mutex<Vec<String>>);
        impl Visit for Summary<'_> {
            fn record_str(&mut self, field: &Field, value: &str) {
                if field.name() == "summary" {
                    self.0.lock().unwrap().push(value.to_owned());
                }
            }
            fn record_debug(&mut self, _: &Field, _: &dyn std::fmt::Debug) {}
        }
        event.record(&mut Summary(&self.0));
    }
}

#[async_trait]
impl StateStore for Watched {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }
    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.note("create_session", 0, self.inner.create_session(new)).await
    }
    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.note("load_session", 0, self.inner.load_session(key)).await
    }
    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.note("list_sessions", 0, self.inner.list_sessions(query)).await
    }
    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.note("delete_session", 0, self.inner.delete_session(key, deletion)).await
    }
    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.note("claim_session", 0, self.inner.claim_session(key, claim)).await
    }
    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        self.note("claim_due", 0, self.inner.claim_due(claim)).await
    }
    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.note("compare_and_set_status", 0, self.inner.compare_and_set_status(key, cas)).await
    }
    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        // The lease of the claim is long enough.
        let (_, _) = (fence, lease);
        pending().await
    }
    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.note("stage_result", 0, self.inner.stage_result(fence, staging)).await
    }
    async fn save_state_and_promote_staging(
        &self,
        fence: &Fence,
        commit: Commit,
    ) -> Result<CommitOutcome, StoreError> {
        let own = own_bytes(&commit);
        self.note(
            "save_state_and_promote_staging",
            own,
            self.inner.save_state_and_promote_staging(fence, commit),
        )
        .await
    }
    async fn check_interrupt_flag(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.note("check_interrupt_flag", 0, self.inner.check_interrupt_flag(fence)).await
    }
    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.note("deliver", 0, self.inner.deliver(key, item)).await
    }
    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.note("request_interrupt", 0, self.inner.request_interrupt(key, interrupt)).await
    }
    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.note("read_messages", 0, self.inner.read_messages(key, ranges)).await
    }
    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.note("read_inbox", 0, self.inner.read_inbox(key, after, limit)).await
    }
    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.note("read_events", 0, self.inner.read_events(key, after, limit)).await
    }
    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.note("list_runs", 0, self.inner.list_runs(key, page)).await
    }
    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.note("list_pending", 0, self.inner.list_pending(query)).await
    }
    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        // Time brings these, not steps: no hint, and so no look that follows it.
        let (_, _) = (watch, at_most);
        pending().await
    }
    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        self.note("append_deltas", 0, self.inner.append_deltas(fence, batch)).await
    }
    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.note("list_checkpoints", 0, self.inner.list_checkpoints(query)).await
    }
    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.note("fork_session", 0, self.inner.fork_session(from, at, to)).await
    }
    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.note("purge", 0, self.inner.purge(rule)).await
    }
}
