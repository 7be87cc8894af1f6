//! The store: checks arguments, and calls the function of the same name.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey};
use holdover_store::rules::Limits;
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, INBOX_PAGE, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome,
    LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, PAGE_ROWS_MAX, Page, PageRequest,
    PendingCall, PendingQuery, PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary,
    StageOutcome, Staging, StateStore, StatusCas, StoreError, Watch, runs_digest,
};

use crate::call::Call;
use crate::open::{self, Opened};
use crate::options::PostgresOptions;
use crate::{read, write};

/// Sessions in one schema of a Postgres database.
///
/// Cheap to clone; clones share connections. Needs a tokio runtime: connections belong to the runtime in which
/// they were made. Every call runs to its end, whether or not anybody waits for its answer.
#[derive(Clone)]
pub struct PostgresStore {
    pub(crate) opened: Arc<Opened>,
}

impl PostgresStore {
    /// Connects, makes the schema if it is not there, and brings it up to date. Safe when several processes do
    /// so at once.
    ///
    /// # Errors
    /// Of operation `open`, in one line that names host, database and schema:
    /// [`Unavailable`](holdover_store::StoreErrorKind::Unavailable) if the server cannot be reached, is
    /// too old or a standby; [`Corrupt`](holdover_store::StoreErrorKind::Corrupt) if the schema holds
    /// something else; [`Newer`](holdover_store::StoreErrorKind::Newer) if a newer version made it.
    pub async fn open(options: PostgresOptions) -> Result<Self, StoreError> {
        Ok(Self { opened: Arc::new(open::open(&options).await?) })
    }

    /// Opens the database named by `postgres://user@host/database`, with safe settings.
    ///
    /// # Errors
    /// As [`PostgresOptions::from_url`] and [`open`](Self::open).
    pub async fn open_url(url: &str) -> Result<Self, StoreError> {
        Self::open(PostgresOptions::from_url(url)?).await
    }

    /// Closes the connections of all clones, each when its call has ended. Later calls answer that the store
    /// was closed.
    pub async fn close(&self) {
        self.opened.hints.close().await;
        self.opened.caller.pool.close().await;
    }

    /// Whether there is no other clone of it.
    #[cfg(feature = "conformance")]
    pub(crate) fn is_last(&self) -> bool {
        Arc::strong_count(&self.opened) == 1
    }

    fn limits(&self, operation: &'static str) -> Limits<'_> {
        Limits::of(&self.opened.capabilities, operation)
    }

    async fn call<C: Call>(&self, call: C) -> Result<C::Outcome, StoreError> {
        self.opened.caller.call(call).await
    }
}

#[async_trait]
impl StateStore for PostgresStore {
    fn capabilities(&self) -> Capabilities {
        self.opened.caller.server.capabilities()
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.limits("create_session").creation(&new).map_err(|error| error.on(&new.key))?;
        self.call(write::CreateSession(new)).await
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.call(read::LoadSession(key.clone())).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        const OPERATION: &str = "list_sessions";
        let position = read::position(&query.page, query.digest(), OPERATION)?;
        let after = read::SessionPlace::new(position, query.created.before);
        let after = after.ok_or_else(|| read::bad_place(OPERATION))?;
        self.call(read::ListSessions { query: query.clone(), after }).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.call(write::DeleteSession { key: key.clone(), deletion }).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.limits("claim_session").items(&claim.items).map_err(|error| error.on(key))?;
        self.call(write::ClaimSession { key: key.clone(), claim }).await
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        if claim.runs.is_empty() {
            return Ok(Vec::new());
        }
        self.call(write::ClaimDueSessions(claim)).await
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.limits("compare_and_set_status").items(&cas.items).map_err(|error| error.on(key))?;
        self.call(write::CompareAndSet { key: key.clone(), cas }).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.call(write::RenewLease { fence: fence.clone(), lease }).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.limits("stage_result").staging(&staging).map_err(|error| error.on(&fence.key))?;
        self.call(write::StageResults { fence: fence.clone(), staging }).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(&self.opened.capabilities).map_err(|error| error.on(&fence.key))?;
        self.call(write::SaveState { fence: fence.clone(), commit }).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(&self.opened.capabilities).map_err(|error| error.on(&fence.key))?;
        self.call(write::AppendDeltas { fence: fence.clone(), batch }).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.call(write::HandInterrupt(fence.clone())).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.limits("deliver").delivery(&item).map_err(|error| error.on(key))?;
        self.call(write::Deliver { key: key.clone(), item }).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.limits("request_interrupt").interrupt(&interrupt).map_err(|error| error.on(key))?;
        self.call(write::RequestInterrupt { key: key.clone(), interrupt }).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.call(read::ReadMessages { key: key.clone(), ranges: ranges.to_vec() }).await
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        let limit = Limits::rows("read_inbox", limit, INBOX_PAGE).map_err(|error| error.on(key))?;
        self.call(read::ReadInbox { key: key.clone(), after, limit }).await
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let limit = Limits::rows("read_events", limit, PAGE_ROWS_MAX).map_err(|error| error.on(key))?;
        self.call(read::ReadEvents { key: key.clone(), after: *after, limit }).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        const OPERATION: &str = "list_runs";
        let after = read::position(&page, runs_digest(key), OPERATION)
            .and_then(|position| read::number(position, 0, OPERATION))
            .map_err(|error| error.on(key))?;
        self.call(read::ListRuns { key: key.clone(), page, after }).await
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        const OPERATION: &str = "list_pending";
        let position = read::position(&query.page, query.digest(), OPERATION)?;
        let after = read::PendingPlace::new(position).ok_or_else(|| read::bad_place(OPERATION))?;
        self.call(read::ListPending { query: query.clone(), after }).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        const OPERATION: &str = "list_checkpoints";
        let before = read::position(&query.page, query.digest(), OPERATION)
            .and_then(|position| read::number(position, i64::MAX, OPERATION))
            .map_err(|error| error.on(&query.key))?;
        self.call(read::ListCheckpoints { query: query.clone(), before }).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.opened.hints.wait(&watch, at_most).await;
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
        self.call(write::ForkSession { from: from.clone(), at, to }).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        let no_place = || StoreError::invalid("purge", "after: it is no place in this walk");
        let purge = write::Purge::new(rule.clone(), rule.check()?).ok_or_else(no_place)?;
        self.call(purge).await
    }
}
