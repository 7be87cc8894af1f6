//! Records the requests to a store, its answers, and the time that each took.

use std::cell::OnceCell;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use holdover_store::payload::Digest;
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging,
    StateStore, StatusCas, StoreError, Watch,
};

use crate::latency::Latencies;
use crate::shown::shown;

/// How many operations are kept.
const OPERATIONS_MAX: usize = 30;

/// The newest operations on a store, over all its handles, in the order in which they were asked. Reads go
/// first, since they change nothing, and one that was answered before in the same way is only counted.
#[derive(Clone, Default)]
pub(crate) struct History {
    kept: Arc<Mutex<Kept>>,
}

#[derive(Default)]
struct Kept {
    operations: VecDeque<Operation>,
    asked: u64,
    latencies: Latencies,
    closed: bool,
}

struct Operation {
    number: u64,
    name: &'static str,
    asked: Text,
    answer: Option<Text>,
    began: Instant,
    times: u32,
}

impl Operation {
    fn reads(&self) -> bool {
        ["load_", "list_", "read_"].iter().any(|prefix| self.name.starts_with(prefix))
    }
}

/// What is made into text only when somebody reads it: most of it nobody does, and text takes longer than the store.
struct Text {
    make: Box<dyn Fn() -> String + Send>,
    made: OnceCell<String>,
}

impl Text {
    fn new(make: impl Fn() -> String + Send + 'static) -> Self {
        Self { make: Box::new(make), made: OnceCell::new() }
    }

    fn get(&self) -> &str {
        self.made.get_or_init(&self.make)
    }
}

impl History {
    fn asked(&self, name: &'static str, asked: Text) -> u64 {
        let mut kept = self.lock();
        kept.asked += 1;
        let number = kept.asked;
        if kept.operations.len() == OPERATIONS_MAX {
            let oldest_read = kept.operations.iter().position(Operation::reads);
            kept.operations.remove(oldest_read.unwrap_or_default());
        }
        kept.operations.push_back(Operation {
            number,
            name,
            asked,
            answer: None,
            began: Instant::now(),
            times: 1,
        });
        number
    }

    fn answered(&self, number: u64, answer: Text) {
        let mut kept = self.lock();
        if kept.closed {
            return;
        }
        let Some(at) = kept.operations.iter().position(|operation| operation.number == number) else {
            return;
        };
        let same = kept.same_read_before(at, &answer);
        match same.and_then(|same| kept.operations.get_mut(same)) {
            Some(same) => {
                same.times += 1;
                kept.operations.remove(at);
            }
            None => {
                if let Some(operation) = kept.operations.get_mut(at) {
                    operation.answer = Some(answer);
                }
            }
        }
    }

    /// Forgets what was asked, for a story that is told again.
    pub(crate) fn forget(&self) {
        self.lock().operations.clear();
    }

    /// One text for each operation, oldest first.
    pub(crate) fn texts(&self) -> Vec<String> {
        let kept = self.lock();
        let text = |operation: &Operation| {
            let answer = operation.answer.as_ref().map_or("no answer yet", Text::get);
            let times =
                if operation.times > 1 { format!(" ({} times)", operation.times) } else { String::new() };
            format!("{}{times}\n   → {answer}", operation.asked.get())
        };
        kept.operations.iter().map(text).collect()
    }

    /// Keeps what is not answered now as it is, and says why its case had no end in time: an operation had no
    /// answer for so long, or there were too many.
    pub(crate) fn close(&self, hangs_after: Duration) -> String {
        let mut kept = self.lock();
        kept.closed = true;
        let hangs = |one: &&Operation| one.answer.is_none() && one.began.elapsed() >= hangs_after;
        match kept.operations.iter().filter(hangs).count() {
            0 => {
                format!("none: too slow, though {} operations were answered one after the other", kept.asked)
            }
            hang => format!("none: {hang} of the operations below had no answer for {hangs_after:?}"),
        }
    }

    /// How long the operations took.
    pub(crate) fn latencies(&self) -> Latencies {
        self.lock().latencies.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Where the same was read before, with the same answer and no write since.
    fn same_read_before(&self, at: usize, answer: &Text) -> Option<usize> {
        let this = self.operations.get(at)?;
        let before = self.operations.iter().enumerate().take(at).rev();
        let mut reads = before.take_while(|(_, operation)| this.reads() && operation.reads());
        let same = |one: &Operation| {
            one.name == this.name
                && one.asked.get() == this.asked.get()
                && one.answer.as_ref().is_some_and(|one| one.get() == answer.get())
        };
        reads.find(|(_, operation)| same(operation)).map(|(index, _)| index)
    }
}

/// A store that keeps what was asked of it and what it answered, for the text of a failure.
#[derive(Clone)]
pub(crate) struct Recorded<S> {
    inner: S,
    handle: u32,
    history: History,
}

impl<S> Recorded<S> {
    pub(crate) fn new(inner: S, handle: u32, history: History) -> Self {
        Self { inner, handle, history }
    }

    fn asked(&self, operation: &'static str, arguments: Vec<Box<dyn fmt::Debug + Send>>) -> Asked {
        let handle = self.handle;
        let asked = Text::new(move || {
            let arguments: Vec<String> = arguments.iter().map(shown).collect();
            format!("#{handle} {operation} {}", arguments.join(", "))
        });
        let number = self.history.asked(operation, asked);
        Asked { history: self.history.clone(), operation, number, began: Instant::now() }
    }
}

/// An operation that was not answered yet. Dropped without an answer, it was given up, or it panicked.
struct Asked {
    history: History,
    operation: &'static str,
    number: u64,
    began: Instant,
}

impl Asked {
    fn answer<A: fmt::Debug + Clone + Send + 'static>(
        self,
        answer: Result<A, StoreError>,
    ) -> Result<A, StoreError> {
        let took = self.began.elapsed();
        self.history.lock().latencies.add(self.operation, took);
        let text = match &answer {
            Ok(answer) => {
                let answer = answer.clone();
                Text::new(move || shown(&answer))
            }
            Err(error) => {
                let text = format!("the error {error}");
                Text::new(move || text.clone())
            }
        };
        self.history.answered(self.number, text);
        answer
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        let mut kept = self.history.lock();
        if kept.closed {
            return;
        }
        let mut operations = kept.operations.iter_mut();
        if let Some(open) = operations.find(|one| one.number == self.number && one.answer.is_none()) {
            open.answer = Some(Text::new(|| "dropped before it answered".into()));
        }
    }
}

/// Keeps that an operation was asked, with its arguments.
macro_rules! asked {
    ($store:ident, $operation:literal, $($argument:expr),*) => {{
        let arguments: Vec<Box<dyn fmt::Debug + Send>> = vec![$(Box::new($argument.to_owned())),*];
        $store.asked($operation, arguments)
    }};
}

#[async_trait]
impl<S: StateStore> StateStore for Recorded<S> {
    fn capabilities(&self) -> Capabilities {
        self.inner.capabilities()
    }

    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        self.inner.digests(tenant, words)
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        let asked = asked!(self, "create_session", &new);
        asked.answer(self.inner.create_session(new).await)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        let asked = asked!(self, "load_session", key);
        asked.answer(self.inner.load_session(key).await)
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        let asked = asked!(self, "list_sessions", query);
        asked.answer(self.inner.list_sessions(query).await)
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        let asked = asked!(self, "delete_session", key, &deletion);
        asked.answer(self.inner.delete_session(key, deletion).await)
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        let asked = asked!(self, "claim_session", key, &claim);
        asked.answer(self.inner.claim_session(key, claim).await)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let asked = asked!(self, "claim_due", &claim);
        asked.answer(self.inner.claim_due(claim).await)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        let asked = asked!(self, "compare_and_set_status", key, &cas);
        asked.answer(self.inner.compare_and_set_status(key, cas).await)
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        let asked = asked!(self, "renew_lease", fence, lease);
        asked.answer(self.inner.renew_lease(fence, lease).await)
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        let asked = asked!(self, "stage_result", fence, &staging);
        asked.answer(self.inner.stage_result(fence, staging).await)
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        let asked = asked!(self, "commit", fence, &commit);
        asked.answer(self.inner.commit(fence, commit).await)
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        let asked = asked!(self, "take_interrupt", fence);
        asked.answer(self.inner.take_interrupt(fence).await)
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        let asked = asked!(self, "deliver", key, &item);
        asked.answer(self.inner.deliver(key, item).await)
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        let asked = asked!(self, "request_interrupt", key, &interrupt);
        asked.answer(self.inner.request_interrupt(key, interrupt).await)
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        let asked = asked!(self, "read_messages", key, ranges);
        asked.answer(self.inner.read_messages(key, ranges).await)
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        let asked = asked!(self, "read_inbox", key, after, limit);
        asked.answer(self.inner.read_inbox(key, after, limit).await)
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let asked = asked!(self, "read_events", key, after, limit);
        asked.answer(self.inner.read_events(key, after, limit).await)
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        let asked = asked!(self, "list_runs", key, &page);
        asked.answer(self.inner.list_runs(key, page).await)
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        let asked = asked!(self, "list_pending", query);
        asked.answer(self.inner.list_pending(query).await)
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        let asked = asked!(self, "wait_for_change", &watch, at_most);
        asked.answer(self.inner.wait_for_change(watch, at_most).await)
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        let asked = asked!(self, "append_deltas", fence, &batch);
        asked.answer(self.inner.append_deltas(fence, batch).await)
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        let asked = asked!(self, "list_checkpoints", query);
        asked.answer(self.inner.list_checkpoints(query).await)
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        let asked = asked!(self, "fork_session", from, at, &to);
        asked.answer(self.inner.fork_session(from, at, to).await)
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let asked = asked!(self, "purge", rule);
        asked.answer(self.inner.purge(rule).await)
    }
}
