//! A store that looks remote to its caller.

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

/// The number of times that each call waits before it acts, and again afterwards.
const WAITS: usize = 2;

/// A store that waits several times in each call. A call can thus be dropped before it acts, and after.
#[derive(Clone)]
pub(crate) struct Waiting<S>(pub(crate) S);

async fn waiting<T>(answer: impl Future<Output = T>) -> T {
    for _ in 0..WAITS {
        tokio::task::yield_now().await;
    }
    // Two calls in sequence never act in the same millisecond, the unit of the store's clock.
    tokio::time::sleep(Duration::from_millis(1)).await;
    let answer = answer.await;
    for _ in 0..WAITS {
        tokio::task::yield_now().await;
    }
    answer
}

/// Returns true if the lease may have ended since `began`, when the caller sent the request. Such a claim
/// must not be returned.
fn is_over(claim: &Claim, began: Instant) -> bool {
    claim.now.until(claim.lease_ends) <= began.elapsed()
}

#[async_trait]
impl<S: StateStore> StateStore for Waiting<S> {
    fn capabilities(&self) -> Capabilities {
        self.0.capabilities()
    }

    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        self.0.digests(tenant, words)
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        let began = Instant::now();
        let mut outcome = waiting(self.0.create_session(new)).await?;
        if let CreateOutcome::Created { claim, .. } = &mut outcome {
            claim.take_if(|claim| is_over(claim, began));
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        waiting(self.0.load_session(key)).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        waiting(self.0.list_sessions(query)).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        waiting(self.0.delete_session(key, deletion)).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        let began = Instant::now();
        let outcome = waiting(self.0.claim_session(key, claim)).await?;
        let over = matches!(&outcome, ClaimOutcome::Claimed(claim) if is_over(claim, began));
        Ok(if over { ClaimOutcome::LeaseEnded } else { outcome })
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let began = Instant::now();
        let mut claims = waiting(self.0.claim_due(claim)).await?;
        claims.retain(|claim| !is_over(claim, began));
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        waiting(self.0.compare_and_set_status(key, cas)).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        waiting(self.0.renew_lease(fence, lease)).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        waiting(self.0.stage_result(fence, staging)).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        waiting(self.0.commit(fence, commit)).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        waiting(self.0.take_interrupt(fence)).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        waiting(self.0.deliver(key, item)).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        waiting(self.0.request_interrupt(key, interrupt)).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        waiting(self.0.read_messages(key, ranges)).await
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        waiting(self.0.read_inbox(key, after, limit)).await
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        waiting(self.0.read_events(key, after, limit)).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        waiting(self.0.list_runs(key, page)).await
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        waiting(self.0.list_pending(query)).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        waiting(self.0.wait_for_change(watch, at_most)).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        waiting(self.0.append_deltas(fence, batch)).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        waiting(self.0.list_checkpoints(query)).await
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        waiting(self.0.fork_session(from, at, to)).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        waiting(self.0.purge(rule)).await
    }
}
