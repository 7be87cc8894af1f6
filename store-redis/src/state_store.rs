//! The implementation of the contract. The store over rows decides. This module adds three things that only Redis
//! needs: a check that scripts can compute with an instant, the runs that a handle remembers, and the removal of
//! unreadable sessions.

use std::time::Duration;

use async_trait::async_trait;
use holdover_store::ids::{CheckpointId, Fence, InboxSeq, SessionKey, TenantId};
use holdover_store::payload::Digest;
use holdover_store::time::Timestamp;
use holdover_store::{
    Capabilities, CasOutcome, Checkpoint, CheckpointQuery, Claim, ClaimDue, ClaimOne, ClaimOutcome, Commit,
    CommitOutcome, CreateOutcome, DeleteMode, DeleteOutcome, Deletion, Delivery, DeltaBatch, DeltaOutcome,
    EventCursor, EventPage, ForkOutcome, InboxItem, InboxPage, Interrupt, InterruptCheck, InterruptOutcome,
    LeaseOutcome, MessagePage, MessageRange, NewFork, NewSession, Page, PageRequest, PendingCall,
    PendingQuery, PurgeReport, Release, RetentionRule, RunRecord, Session, SessionQuery, SessionSummary,
    StageOutcome, Staging, Start, StateStore, StatusCas, StoreError, StoreErrorKind, Watch,
};

use crate::args::BEYOND;
use crate::error::{Call, Fault};
use crate::grants::of_run;
use crate::store::RedisStore;

/// Refuses an instant that Redis cannot store exactly: it would have no place of its own in an index.
fn kept(
    operation: &'static str,
    key: &SessionKey,
    field: &str,
    at: Option<Timestamp>,
) -> Result<(), StoreError> {
    match at.filter(|at| at.as_ms().unsigned_abs() >= BEYOND) {
        Some(at) => {
            let detail = format!("{field}: {at} lies beyond what Redis keeps exactly");
            Err(Fault::Invalid(detail).of(Call::Write, operation, Some(key)))
        }
        None => Ok(()),
    }
}

#[async_trait]
impl StateStore for RedisStore {
    fn capabilities(&self) -> Capabilities {
        self.rows.capabilities()
    }

    fn digests(&self, tenant: &TenantId, words: &[u8]) -> Result<Vec<Digest>, StoreError> {
        self.rows.digests(tenant, words)
    }

    async fn create_session(&self, new: NewSession) -> Result<CreateOutcome, StoreError> {
        if let Start::At(at) = &new.start {
            kept("create_session", &new.key, "start", Some(*at))?;
        }
        let outcome = self.rows.create_session(new).await?;
        if let CreateOutcome::Created { claim: Some(claim), .. } = &outcome {
            self.shared.grants.granted(claim);
        }
        Ok(outcome)
    }

    async fn load_session(&self, key: &SessionKey) -> Result<Option<Session>, StoreError> {
        self.rows.load_session(key).await
    }

    async fn list_sessions(&self, query: &SessionQuery) -> Result<Page<SessionSummary>, StoreError> {
        self.rows.list_sessions(query).await
    }

    async fn delete_session(
        &self,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<DeleteOutcome, StoreError> {
        match self.rows.delete_session(key, deletion).await {
            // The session cannot be read, and is deleted only if no run holds it. The store over rows handles a
            // deletion by force.
            Err(error)
                if error.kind == StoreErrorKind::Corrupt
                    && deletion.mode == DeleteMode::UnlessActive
                    && deletion.expected_version.is_none() =>
            {
                let deleted = self.shared.delete_torn(key, deletion).await;
                deleted.map_err(|fault| fault.of(Call::Write, "delete_session", Some(key)))
            }
            answer => answer,
        }
    }

    async fn claim_session(&self, key: &SessionKey, claim: ClaimOne) -> Result<ClaimOutcome, StoreError> {
        let outcome = self.rows.claim_session(key, claim).await?;
        if let ClaimOutcome::Claimed(claim) = &outcome {
            self.shared.grants.granted(claim);
        }
        Ok(outcome)
    }

    async fn claim_due(&self, claim: ClaimDue) -> Result<Vec<Claim>, StoreError> {
        let claims = StateStore::claim_due(&self.rows, claim).await?;
        claims.iter().for_each(|claim| self.shared.grants.granted(claim));
        Ok(claims)
    }

    async fn compare_and_set_status(
        &self,
        key: &SessionKey,
        cas: StatusCas,
    ) -> Result<CasOutcome, StoreError> {
        self.rows.compare_and_set_status(key, cas).await
    }

    async fn renew_lease(&self, fence: &Fence, lease: Duration) -> Result<LeaseOutcome, StoreError> {
        let outcome = of_run(fence, self.rows.renew_lease(fence, lease)).await?;
        if let LeaseOutcome::Renewed(receipt) = &outcome {
            self.shared.grants.acknowledged(fence, receipt);
        }
        Ok(outcome)
    }

    async fn stage_result(&self, fence: &Fence, staging: Staging) -> Result<StageOutcome, StoreError> {
        let outcome = of_run(fence, self.rows.stage_result(fence, staging)).await?;
        if let StageOutcome::Staged(receipt) = &outcome {
            self.shared.grants.acknowledged(fence, receipt);
        }
        Ok(outcome)
    }

    async fn commit(&self, fence: &Fence, commit: Commit) -> Result<CommitOutcome, StoreError> {
        const OPERATION: &str = "commit";
        let deadline = match &commit.release {
            Some(Release::To { deadline, .. }) => *deadline,
            Some(Release::GiveBack { alarm }) => *alarm,
            None => None,
        };
        kept(OPERATION, &fence.key, "deadline", deadline)?;
        for open in &commit.open {
            kept(OPERATION, &fence.key, "open", open.deadline)?;
        }
        let outcome = of_run(fence, self.rows.commit(fence, commit)).await?;
        if let CommitOutcome::Committed(receipt) = &outcome {
            self.shared.grants.acknowledged(fence, receipt);
        }
        Ok(outcome)
    }

    async fn append_deltas(&self, fence: &Fence, batch: DeltaBatch) -> Result<DeltaOutcome, StoreError> {
        let outcome = of_run(fence, self.rows.append_deltas(fence, batch)).await?;
        if let DeltaOutcome::Appended(receipt) = &outcome {
            self.shared.grants.acknowledged(fence, receipt);
        }
        Ok(outcome)
    }

    async fn take_interrupt(&self, fence: &Fence) -> Result<InterruptCheck, StoreError> {
        of_run(fence, self.rows.take_interrupt(fence)).await
    }

    async fn deliver(&self, key: &SessionKey, item: InboxItem) -> Result<Delivery, StoreError> {
        self.rows.deliver(key, item).await
    }

    async fn request_interrupt(
        &self,
        key: &SessionKey,
        interrupt: Interrupt,
    ) -> Result<InterruptOutcome, StoreError> {
        kept("request_interrupt", key, "at", Some(interrupt.at))?;
        self.rows.request_interrupt(key, interrupt).await
    }

    async fn read_messages(
        &self,
        key: &SessionKey,
        ranges: &[MessageRange],
    ) -> Result<MessagePage, StoreError> {
        self.rows.read_messages(key, ranges).await
    }

    async fn read_inbox(
        &self,
        key: &SessionKey,
        after: InboxSeq,
        limit: u32,
    ) -> Result<InboxPage, StoreError> {
        self.rows.read_inbox(key, after, limit).await
    }

    async fn read_events(
        &self,
        key: &SessionKey,
        after: &EventCursor,
        limit: u32,
    ) -> Result<EventPage, StoreError> {
        self.rows.read_events(key, after, limit).await
    }

    async fn list_runs(&self, key: &SessionKey, page: PageRequest) -> Result<Page<RunRecord>, StoreError> {
        self.rows.list_runs(key, page).await
    }

    async fn list_pending(&self, query: &PendingQuery) -> Result<Page<PendingCall>, StoreError> {
        self.rows.list_pending(query).await
    }

    async fn list_checkpoints(&self, query: &CheckpointQuery) -> Result<Page<Checkpoint>, StoreError> {
        self.rows.list_checkpoints(query).await
    }

    async fn wait_for_change(&self, watch: Watch, at_most: Duration) -> Result<(), StoreError> {
        self.rows.wait_for_change(watch, at_most).await
    }

    async fn fork_session(
        &self,
        from: &SessionKey,
        at: CheckpointId,
        to: NewFork,
    ) -> Result<ForkOutcome, StoreError> {
        self.rows.fork_session(from, at, to).await
    }

    async fn purge(&self, rule: &RetentionRule) -> Result<PurgeReport, StoreError> {
        self.rows.purge(rule).await
    }
}
