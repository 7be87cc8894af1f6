//! A store behind a layer.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::{Answer, Layer, Request};
use crate::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use crate::payload::Digest;
use crate::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome, EventCursor,
    EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome, LeaseOutcome,
    MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall, PendingQuery,
    PurgeReport, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary, StageOutcome, Staging,
    StateStore, StatusCas, StoreError, StoreErrorKind, Watch,
};

/// A store whose every call passes a [`Layer`]. A clone is the same store behind the same layer.
pub struct Layered<S, L> {
    store: Arc<S>,
    layer: Arc<L>,
}

impl<S: StateStore, L: Layer> Layered<S, L> {
    /// `store` behind `layer`.
    pub fn new(store: impl Into<Arc<S>>, layer: impl Into<Arc<L>>) -> Self {
        Self { store: store.into(), layer: layer.into() }
    }

    /// The store behind the layer.
    pub fn store(&self) -> &Arc<S> {
        &self.store
    }

    /// The layer.
    pub fn layer(&self) -> &Arc<L> {
        &self.layer
    }

    async fn ask<T: TryFrom<Answer>>(&self, request: Request) -> Result<T, StoreError> {
        let operation = request.operation();
        let answer = self.layer.around(request, Arc::clone(&self.store) as Arc<dyn StateStore>).await?;
        T::try_from(answer).map_err(|_| {
            StoreError::new(StoreErrorKind::Backend, operation, "a layer answered another operation")
        })
    }
}

impl<S, L> Clone for Layered<S, L> {
    fn clone(&self) -> Self {
        Self { store: Arc::clone(&self.store), layer: Arc::clone(&self.layer) }
    }
}

impl<S: fmt::Debug, L: fmt::Debug> fmt::Debug for Layered<S, L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Layered").field("store", &self.store).field("layer", &self.layer).finish()
    }
}

#[async_trait]
impl<S: StateStore, L: Layer> StateStore for Layered<S, L> {
    fn capabilities(&self) -> Capabilities {
        self.layer.capabilities(&*self.store)
    }

    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        self.layer.digests(&*self.store, tenant, words)
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        self.ask(Request::Create(new)).await
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.ask(Request::Load(key.clone())).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.ask(Request::ListSessions(query.clone())).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        self.ask(Request::Delete(key.clone(), deletion)).await
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        self.ask(Request::Claim(key.clone(), claim)).await
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        self.ask(Request::ClaimDue(claim)).await
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.ask(Request::Move(key.clone(), cas)).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        self.ask(Request::Renew(fence.clone(), lease)).await
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        self.ask(Request::Stage(fence.clone(), staging)).await
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        self.ask(Request::Commit(fence.clone(), commit)).await
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        self.ask(Request::Stream(fence.clone(), batch)).await
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        self.ask(Request::TakeInterrupt(fence.clone())).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.ask(Request::Deliver(key.clone(), item)).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        self.ask(Request::Interrupt(key.clone(), interrupt)).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.ask(Request::ReadMessages(key.clone(), ranges.to_vec())).await
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.ask(Request::ReadInbox(key.clone(), after, limit)).await
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.ask(Request::ReadEvents(key.clone(), *after, limit)).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.ask(Request::ListRuns(key.clone(), page)).await
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.ask(Request::ListPending(query.clone())).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.ask(Request::ListCheckpoints(query.clone())).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.ask(Request::Wait(watch, at_most)).await
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.ask(Request::Fork(from.clone(), at, to)).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.ask(Request::Purge(rule.clone())).await
    }
}
