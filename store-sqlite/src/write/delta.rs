//! Appends deltas to the stream of the run that holds the session.

use async_trait::async_trait;
use holdover_store::ids::{Fence, SessionKey};
use holdover_store::payload::Payload;
use holdover_store::{DeltaBatch, DeltaOutcome};

use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows;

/// In the write transaction that has read and decided on the session row.
const DROP_DELTAS: &str = "DELETE FROM delta WHERE sid = ?";

pub(crate) struct AppendDeltas {
    pub(crate) fence: Fence,
    pub(crate) batch: DeltaBatch,
}

#[async_trait]
impl Write for AppendDeltas {
    type Outcome = DeltaOutcome;
    const OPERATION: &'static str = "append_deltas";
    const PROVISIONAL: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bytes(&self) -> usize {
        self.batch.deltas.iter().map(Payload::len).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<DeltaOutcome, Fault> {
        let batch = &self.batch;
        let Some((sid, before)) = rows::find(tx.conn(), &self.fence.key).await? else {
            return Ok(DeltaOutcome::StaleFence);
        };
        let mut after = before.clone();
        let streamed = match after.stream(&self.fence, batch) {
            Ok(streamed) => streamed,
            Err(refused) => return Ok(refused),
        };
        rows::save(tx, sid, &before, &after).await?;
        if streamed.replaces && before.stream.open {
            tx.write(sqlx::query(DROP_DELTAS).bind(sid.0)).await?;
        }
        let fresh: Vec<(u64, &Payload)> = (batch.first..).zip(&batch.deltas).skip(streamed.skip).collect();
        rows::append_deltas(tx, sid, &fresh).await?;
        Ok(DeltaOutcome::Appended(after.receipt(tx.now())))
    }
}
