//! Commits and stagings. They are repeated until the store has answered or the lease has ended, except those that commit
//! the transaction of a call.

use futures::future::BoxFuture;
use holdover_core::engine::{ActionId, Reply};
use holdover_core::error::ErrorInfo;
use holdover_core::store::{Commit, CommitOutcome, Release, Retry, StageOutcome, Staging, StoreError};
use tokio::time::Instant;

use super::Driver;
use super::done::Done;
use super::transactions::Way;
use crate::host::{GivenUp, until_answered};
use crate::outage::Patience;

impl Driver {
    pub(super) fn commit(&mut self, id: ActionId, commit: Box<Commit>) {
        let (store, once) = match self.way() {
            Way::Store(store) => (store, None),
            Way::Once(call, store) => (store, Some(call)),
            Way::Nowhere => return self.apply(Reply::LeaseLost),
        };
        let (fence, patience) = (self.fence.clone(), self.patience());
        let releases = commit.release.is_some();
        let (host, alarm) = (self.cx.host.clone(), commit.release.as_ref().and_then(Release::alarm));
        self.writes_out += 1;
        self.releasing += usize::from(releases);
        self.send(async move {
            let asked = Instant::now();
            let save = || store.commit(&fence, (*commit).clone());
            let (outcome, repeated) = match answered(once.is_some(), &patience, save).await {
                Ok((outcome, repeated)) => (Ok(outcome), repeated),
                Err(GivenUp::Final(error)) => (Err(final_error(&error)), false),
                Err(GivenUp::LeaseEnded) => return Done::LeaseLost,
            };
            let receipt = match &outcome {
                Ok(CommitOutcome::Committed(receipt)) => {
                    host.note_alarm(alarm);
                    Some(*receipt)
                }
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
            let waits = matches!(outcome, Ok(CommitOutcome::AnswerWaiting { .. }));
            let again = once.filter(|_| waits).map(|call| (call, store));
            let reply = Reply::Committed { id, outcome };
            Done::Written { asked, repeated, receipt, releases, again, reply }
        });
    }

    pub(super) fn stage(&mut self, id: ActionId, staging: Staging) {
        let (store, once) = match self.way() {
            Way::Store(store) => (store, false),
            Way::Once(_, store) => (store, true),
            Way::Nowhere => return self.apply(Reply::LeaseLost),
        };
        let (fence, patience) = (self.fence.clone(), self.patience());
        self.writes_out += 1;
        self.send(async move {
            let asked = Instant::now();
            let save = || store.stage_result(&fence, staging.clone());
            let (outcome, repeated) = match answered(once, &patience, save).await {
                Ok((outcome, repeated)) => (Ok(outcome), repeated),
                Err(GivenUp::Final(error)) => (Err(final_error(&error)), false),
                Err(GivenUp::LeaseEnded) => return Done::LeaseLost,
            };
            let receipt = match &outcome {
                Ok(StageOutcome::Staged(receipt)) => Some(*receipt),
                Ok(StageOutcome::Conflict { .. } | StageOutcome::StaleFence) | Err(_) => None,
            };
            let reply = Reply::Staged { id, outcome };
            Done::Written { asked, repeated, receipt, releases: false, again: None, reply }
        });
    }
}

/// Makes a write until it is answered. A write through a transaction is made once: a repeat would find the transaction
/// ended, and would not hold what was written in it. If it failed, another run finds out whether it was applied.
async fn answered<'a, T>(
    once: bool,
    patience: &Patience,
    mut write: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
) -> Result<(T, bool), GivenUp> {
    if !once {
        return until_answered(patience, write).await;
    }
    write().await.map(|outcome| (outcome, false)).map_err(|error| match error.retry {
        Retry::Never => GivenUp::Final(error),
        Retry::Later | Retry::OutcomeUnknown => {
            tracing::warn!(%error, "the run ends, because the transaction of a call failed");
            GivenUp::LeaseEnded
        }
    })
}

fn final_error(error: &StoreError) -> ErrorInfo {
    ErrorInfo::new("store.refused", error.to_string())
}
