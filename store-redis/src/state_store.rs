//! The contract. The store over rows decides. The layer in this module adds what only Redis needs: instants that a
//! script can count exactly, the runs that a handle remembers, and the removal of sessions that cannot be read.

use std::sync::Arc;

use async_trait::async_trait;
use holdover_store::ids::{Fence, SessionKey};
use holdover_store::time::Timestamp;
use holdover_store::{
    Answer, ClaimOutcome, CommitOutcome, CreateOutcome, DeleteMode, Deletion, DeltaOutcome, Layer,
    LeaseOutcome, Receipt, Release, Request, StageOutcome, Start, StateStore, StoreError, StoreErrorKind,
    forward_store,
};

use crate::args::BEYOND;
use crate::error::{Call, Fault};
use crate::grants::{Grants, of_run};
use crate::store::{RedisStore, Shared};

forward_store! { [] RedisStore, |store| store.rows }

#[async_trait]
impl Layer for Shared {
    async fn around(&self, request: Request, rows: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        check(&request)?;
        if let Request::Delete(key, deletion) = request {
            return self.delete(&*rows, &key, deletion).await;
        }
        let Some(fence) = fence(&request).cloned() else {
            let answer = request.perform(&rows).await?;
            self.grants.learn(&answer);
            return Ok(answer);
        };
        let answer = of_run(&fence, request.perform(&rows)).await?;
        if let Some(receipt) = receipt(&answer) {
            self.grants.acknowledged(&fence, receipt);
        }
        Ok(answer)
    }
}

impl Shared {
    async fn delete(
        &self,
        rows: &dyn StateStore,
        key: &SessionKey,
        deletion: Deletion,
    ) -> Result<Answer, StoreError> {
        let deleted = match rows.delete_session(key, deletion).await {
            // Of one that no run holds. By force the store over rows does it.
            Err(error)
                if error.kind == StoreErrorKind::Corrupt && deletion.mode == DeleteMode::UnlessActive =>
            {
                let deleted = self.delete_torn(key, deletion).await;
                deleted.map_err(|fault| fault.of(Call::Write, "delete_session", Some(key)))
            }
            answer => answer,
        };
        deleted.map(Answer::Deleted)
    }
}

impl Grants {
    /// Remembers what an answer has granted.
    fn learn(&self, answer: &Answer) {
        if let Answer::Created(CreateOutcome::Created { claim: Some(claim), .. })
        | Answer::Claimed(ClaimOutcome::Claimed(claim)) = answer
        {
            self.granted(claim);
        } else if let Answer::ClaimedDue(claims) = answer {
            claims.iter().for_each(|claim| self.granted(claim));
        }
    }
}

/// The fence of a request of a run.
fn fence(request: &Request) -> Option<&Fence> {
    if let Request::Renew(fence, _)
    | Request::Stage(fence, _)
    | Request::Commit(fence, _)
    | Request::Stream(fence, _)
    | Request::TakeInterrupt(fence) = request
    {
        return Some(fence);
    }
    None
}

/// What was acknowledged to a run.
fn receipt(answer: &Answer) -> Option<&Receipt> {
    if let Answer::Renewed(LeaseOutcome::Renewed(receipt))
    | Answer::Staged(StageOutcome::Staged(receipt))
    | Answer::Committed(CommitOutcome::Committed(receipt))
    | Answer::Streamed(DeltaOutcome::Appended(receipt)) = answer
    {
        return Some(receipt);
    }
    None
}

/// Refuses instants that are kept, if their places in an index are not their own.
fn check(request: &Request) -> Result<(), StoreError> {
    if let Request::Create(new) = request
        && let Start::At(at) = &new.start
    {
        return kept(request, &new.key, "start", Some(*at));
    }
    if let Request::Interrupt(key, interrupt) = request {
        return kept(request, key, "at", Some(interrupt.at));
    }
    let Request::Commit(fence, commit) = request else { return Ok(()) };
    let deadline = match &commit.release {
        Some(Release::To { deadline, .. }) => *deadline,
        Some(Release::GiveBack { alarm }) => *alarm,
        None => None,
    };
    kept(request, &fence.key, "deadline", deadline)?;
    commit.open.iter().try_for_each(|open| kept(request, &fence.key, "open", open.deadline))
}

fn kept(request: &Request, key: &SessionKey, field: &str, at: Option<Timestamp>) -> Result<(), StoreError> {
    match at.filter(|at| at.as_ms().unsigned_abs() >= BEYOND) {
        Some(at) => {
            let detail = format!("{field}: {at} lies beyond what Redis keeps exactly");
            Err(Fault::Invalid(detail).of(Call::Write, request.operation(), Some(key)))
        }
        None => Ok(()),
    }
}
