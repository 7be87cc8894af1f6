//! A run that believes in its lease for ever.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::store::{
    Answer, CommitOutcome, Layer, LeaseOutcome, Receipt, Request, StateStore, StoreError,
};
use tokio_util::sync::CancellationToken;

/// Answers renewals as if they had been made, after the first.
#[derive(Default)]
pub(crate) struct Zombie {
    first: Mutex<Option<Receipt>>,
    /// Cancelled once the first renewal was made.
    pub(crate) renewed: CancellationToken,
    /// Cancelled once the store has refused a commit, because another run has the session.
    pub(crate) refused: CancellationToken,
}

#[async_trait]
impl Layer for Zombie {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let first = *self.first.lock().unwrap();
        if let (Request::Renew(..), Some(first)) = (&request, first) {
            let lease_ends = first.lease_ends.after(Duration::from_secs(3_600));
            return Ok(LeaseOutcome::Renewed(Receipt { lease_ends, ..first }).into());
        }
        let answer = request.perform(&store).await?;
        match &answer {
            Answer::Renewed(LeaseOutcome::Renewed(receipt)) => {
                *self.first.lock().unwrap() = Some(*receipt);
                self.renewed.cancel();
            }
            Answer::Committed(CommitOutcome::StaleFence { .. }) => self.refused.cancel(),
            _ => {}
        }
        Ok(answer)
    }
}
