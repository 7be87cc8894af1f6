//! Commits and stagings, repeated until the store has answered or the lease has ended.

use std::sync::Arc;

use holdover_core::engine::{ActionId, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::store::{Commit, CommitOutcome, StageOutcome, Staging, StoreError};
use tokio::time::Instant;

use super::Driver;
use super::done::Done;
use crate::host::{GivenUp, until_answered};

impl Driver {
    pub(super) fn commit(&mut self, id: ActionId, commit: Box<Commit>) {
        let (store, fence, patience) = (Arc::clone(&self.store), self.fence.clone(), self.patience());
        let releases = commit.release.is_some();
        self.writes_out += 1;
        self.releasing += usize::from(releases);
        self.send(async move {
            let asked = Instant::now();
            let save = || store.commit(&fence, (*commit).clone());
            let (outcome, repeated) = match until_answered(&patience, save).await {
                Ok((outcome, repeated)) => (Ok(outcome), repeated),
                Err(GivenUp::Final(error)) => (Err(final_error(&error)), false),
                Err(GivenUp::LeaseEnded) => return Done::LeaseLost,
            };
            let receipt = match &outcome {
                Ok(CommitOutcome::Committed(receipt)) => Some(*receipt),
                Ok(
                    CommitOutcome::VersionConflict { .. }
                    | CommitOutcome::StaleFence { .. }
                    | CommitOutcome::AnswerWaiting { .. }
                    | CommitOutcome::NotStaged { .. }
                    | CommitOutcome::StageConflict { .. }
                    | CommitOutcome::PendingConflict { .. }
                    | CommitOutcome::NotInInbox { .. },
                )
                | Err(_) => None,
            };
            Done::Written { asked, repeated, receipt, releases, reply: Reply::Committed { id, outcome } }
        });
    }

    pub(super) fn stage(&mut self, id: ActionId, staging: Staging) {
        let (store, fence, patience) = (Arc::clone(&self.store), self.fence.clone(), self.patience());
        self.writes_out += 1;
        self.send(async move {
            let asked = Instant::now();
            let save = || store.stage_result(&fence, staging.clone());
            let (outcome, repeated) = match until_answered(&patience, save).await {
                Ok((outcome, repeated)) => (Ok(outcome), repeated),
                Err(GivenUp::Final(error)) => (Err(final_error(&error)), false),
                Err(GivenUp::LeaseEnded) => return Done::LeaseLost,
            };
            let receipt = match &outcome {
                Ok(StageOutcome::Staged(receipt)) => Some(*receipt),
                Ok(StageOutcome::Conflict { .. } | StageOutcome::StaleFence) | Err(_) => None,
            };
            let reply = Reply::Staged { id, outcome };
            Done::Written { asked, repeated, receipt, releases: false, reply }
        });
    }
}

fn final_error(error: &StoreError) -> ErrorInfo {
    ErrorInfo::new("store.refused", error.to_string())
}
