//! The contract, method by method: arguments are checked here, the rest is said in `write` and `read`.

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
    StageOutcome, Staging, StateStore, StatusCas, StoreError, StoreErrorKind, Watch,
};

use crate::store::RedisStore;

fn not_found(operation: &'static str, key: &SessionKey) -> StoreError {
    StoreError::new(StoreErrorKind::NotFound, operation, "there is no such session").on(key)
}

impl RedisStore {
    fn check(
        &self,
        operation: &'static str,
        key: &SessionKey,
        check: impl FnOnce(Limits<'_>) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let capabilities = self.shared.capabilities();
        check(Limits::of(&capabilities, operation)).map_err(|error| error.on(key))
    }
}

#[async_trait]
impl StateStore for RedisStore {
    fn capabilities(&self) -> Capabilities {
        self.shared.capabilities()
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.check("create_session", &new.key, |limits| limits.creation(&new))?;
        self.shared.create_session(&new).await
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.shared.load_session(key).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.shared.list_sessions(query).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.shared.delete_session(key, deletion).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.check("claim_session", key, |mut limits| limits.items(&claim.items))?;
        self.shared.claim_session(key, &claim).await
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        self.shared.claim_due(&claim).await
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.check("compare_and_set_status", key, |mut limits| limits.items(&cas.items))?;
        self.shared.compare_and_set_status(key, &cas).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.shared.renew_lease(fence, lease).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.check("stage_result", &fence.key, |limits| limits.staging(&staging))?;
        self.shared.stage_result(fence, &staging).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        commit.check(&self.shared.capabilities()).map_err(|error| error.on(&fence.key))?;
        self.shared.save_state(fence, &commit).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        batch.check(&self.shared.capabilities()).map_err(|error| error.on(&fence.key))?;
        self.shared.append_deltas(fence, &batch).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.shared.take_interrupt(fence).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.check("deliver", key, |limits| limits.delivery(&item))?;
        self.shared.deliver(key, &item).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.check("request_interrupt", key, |limits| limits.interrupt(&interrupt))?;
        self.shared.request_interrupt(key, &interrupt).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        let found = self.shared.read_messages(key, ranges).await?;
        found.ok_or_else(|| not_found("read_messages", key))
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        const OPERATION: &str = "read_inbox";
        let limit = Limits::rows(OPERATION, limit, INBOX_PAGE).map_err(|error| error.on(key))?;
        self.shared.read_inbox(key, after, limit).await?.ok_or_else(|| not_found(OPERATION, key))
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        let limit = Limits::rows("read_events", limit, PAGE_ROWS_MAX).map_err(|error| error.on(key))?;
        self.shared.read_events(key, after, limit).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.shared.list_runs(key, &page).await?.ok_or_else(|| not_found("list_runs", key))
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.shared.list_pending(query).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        let found = self.shared.list_checkpoints(query).await?;
        found.ok_or_else(|| not_found("list_checkpoints", &query.key))
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        match &self.shared.hints {
            Some(hints) => hints.wait(&watch, at_most).await,
            None => tokio::time::sleep(at_most).await,
        }
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
        self.shared.fork_session(from, at, &to).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.shared.purge(rule).await
    }
}
