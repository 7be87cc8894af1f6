//! Keeping what was asked of a store and what it answered.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_core::store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteMode, DeleteOutcome, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery, PurgeReport,
    RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging, StateStore,
    StatusCas, StoreError, StoredItem, StoredMessage, Watch,
};

/// How many operations are kept.
const LINES_MAX: usize = 30;
/// How much of one line is kept, in characters.
const LINE_CHARS_MAX: usize = 400;

/// The newest operations on a store, over all its handles.
#[derive(Clone, Default)]
pub(crate) struct History {
    lines: Arc<Mutex<VecDeque<String>>>,
}

impl History {
    fn add(&self, line: String) {
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.len() == LINES_MAX {
            lines.pop_front();
        }
        lines.push_back(line);
    }
}

impl fmt::Display for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        lines.iter().try_for_each(|line| writeln!(f, "    {line}"))
    }
}

/// A store that keeps what was asked of it and what it answered, for the text of a failure.
#[derive(Clone)]
pub struct Recorded<S> {
    inner: S,
    handle: u32,
    history: History,
}

impl<S> Recorded<S> {
    pub(crate) fn new(inner: S, handle: u32, history: History) -> Self {
        Self { inner, handle, history }
    }

    fn note<A: fmt::Debug>(&self, operation: &str, asked: &str, answer: A) -> A {
        let answered = cut(format!("{answer:?}"));
        self.history.add(format!("#{} {operation} {asked}\n       → {answered}", self.handle));
        answer
    }
}

fn cut(mut text: String) -> String {
    if let Some((end, _)) = text.char_indices().nth(LINE_CHARS_MAX) {
        text.truncate(end);
        text.push('…');
    }
    text
}

/// The arguments, as they are shown.
macro_rules! asked {
    ($($argument:expr),*) => {{
        let shown: Vec<String> = vec![$(cut(format!("{:?}", $argument))),*];
        shown.join(", ")
    }};
}

#[async_trait]
impl<S: StateStore> StateStore for Recorded<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        let asked = asked!(&new);
        self.note("create_session", &asked, self.inner.create_session(new).await)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        let asked = asked!(key);
        self.note("load_session", &asked, self.inner.load_session(key).await)
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        let asked = asked!(query);
        self.note("list_sessions", &asked, self.inner.list_sessions(query).await)
    }

    async fn delete_session(&self, key: &SessionKey, mode: DeleteMode) -> Result<DeleteOutcome, StoreError> {
        let asked = asked!(key, mode);
        self.note("delete_session", &asked, self.inner.delete_session(key, mode).await)
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        let asked = asked!(key, &claim);
        self.note("claim_session", &asked, self.inner.claim_session(key, claim).await)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let asked = asked!(&claim);
        self.note("claim_due", &asked, self.inner.claim_due(claim).await)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        let asked = asked!(key, &cas);
        self.note("compare_and_set_status", &asked, self.inner.compare_and_set_status(key, cas).await)
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        let asked = asked!(fence, lease);
        self.note("renew_lease", &asked, self.inner.renew_lease(fence, lease).await)
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        let asked = asked!(fence, &staging);
        self.note("stage_result", &asked, self.inner.stage_result(fence, staging).await)
    }

    async fn save_state_and_promote_staging(
        &self,
        fence: &Fence,
        commit: Commit,
    ) -> Result<CommitOutcome, StoreError> {
        let asked = asked!(fence, &commit);
        self.note(
            "save_state_and_promote_staging",
            &asked,
            self.inner.save_state_and_promote_staging(fence, commit).await,
        )
    }

    async fn check_interrupt_flag(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        let asked = asked!(fence);
        self.note("check_interrupt_flag", &asked, self.inner.check_interrupt_flag(fence).await)
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        let asked = asked!(key, &item);
        self.note("deliver", &asked, self.inner.deliver(key, item).await)
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        let asked = asked!(key, &interrupt);
        self.note("request_interrupt", &asked, self.inner.request_interrupt(key, interrupt).await)
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<Vec<StoredMessage>, StoreError> {
        let asked = asked!(key, ranges);
        self.note("read_messages", &asked, self.inner.read_messages(key, ranges).await)
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<Vec<StoredItem>, StoreError> {
        let asked = asked!(key, after, limit);
        self.note("read_inbox", &asked, self.inner.read_inbox(key, after, limit).await)
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let asked = asked!(key, after, limit);
        self.note("read_events", &asked, self.inner.read_events(key, after, limit).await)
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        let asked = asked!(key, &page);
        self.note("list_runs", &asked, self.inner.list_runs(key, page).await)
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        let asked = asked!(query);
        self.note("list_pending", &asked, self.inner.list_pending(query).await)
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        let asked = asked!(&watch, at_most);
        self.note("wait_for_change", &asked, self.inner.wait_for_change(watch, at_most).await)
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        let asked = asked!(fence, &batch);
        self.note("append_deltas", &asked, self.inner.append_deltas(fence, batch).await)
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        let asked = asked!(query);
        self.note("list_checkpoints", &asked, self.inner.list_checkpoints(query).await)
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        let asked = asked!(from, at, &to);
        self.note("fork_session", &asked, self.inner.fork_session(from, at, to).await)
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let asked = asked!(rule);
        self.note("purge", &asked, self.inner.purge(rule).await)
    }
}
