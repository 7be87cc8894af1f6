//! Makes results and start marks durable before their step is finished.

use async_trait::async_trait;
use holdover_store::ids::{CallId, Fence, SessionKey};
use holdover_store::{StageOutcome, Staging};

use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows;

pub(crate) struct StageResults {
    pub(crate) fence: Fence,
    pub(crate) staging: Staging,
}

#[async_trait]
impl Write for StageResults {
    type Outcome = StageOutcome;
    const OPERATION: &'static str = "stage_result";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bytes(&self) -> usize {
        self.staging.results.iter().map(|result| result.payload.len()).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<StageOutcome, Fault> {
        let Some((sid, row)) = rows::find(tx.conn(), &self.fence.key).await? else {
            return Ok(StageOutcome::StaleFence);
        };
        if !row.admits(&self.fence) {
            return Ok(StageOutcome::StaleFence);
        }
        let calls: Vec<&CallId> = self.staging.results.iter().map(|result| &result.call).collect();
        let there =
            if calls.is_empty() { Vec::new() } else { rows::read_staged_of(tx.conn(), sid, &calls).await? };
        let fresh = match row.stage(&self.fence, &self.staging, &there) {
            Ok(fresh) => fresh,
            Err(refused) => return Ok(refused),
        };
        rows::append_staged(tx, sid, &fresh).await?;
        rows::append_marks(tx, sid, &self.staging.starts).await?;
        Ok(StageOutcome::Staged(row.receipt(tx.now())))
    }
}
