//! Lets a lease run longer.

use std::time::Duration;

use async_trait::async_trait;
use holdover_store::LeaseOutcome;
use holdover_store::ids::{Fence, SessionKey};

use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows;

pub(crate) struct RenewLease {
    pub(crate) fence: Fence,
    pub(crate) lease: Duration,
}

#[async_trait]
impl Write for RenewLease {
    type Outcome = LeaseOutcome;
    const OPERATION: &'static str = "renew_lease";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<LeaseOutcome, Fault> {
        let Some((sid, before)) = rows::find(tx.conn(), &self.fence.key).await? else {
            return Ok(LeaseOutcome::StaleFence);
        };
        let mut after = before.clone();
        match after.renew(&self.fence, self.lease, tx.now()) {
            Some(receipt) => {
                rows::save(tx, sid, &before, &after).await?;
                Ok(LeaseOutcome::Renewed(receipt))
            }
            None => Ok(LeaseOutcome::StaleFence),
        }
    }
}
