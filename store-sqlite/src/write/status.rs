//! Moves a resting session without claiming it.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::{CasOutcome, StatusCas};

use super::items::{Accepted, Refusal};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows;

pub(crate) struct CompareAndSet {
    pub(crate) key: SessionKey,
    pub(crate) cas: StatusCas,
}

#[async_trait]
impl Write for CompareAndSet {
    type Outcome = CasOutcome;
    const OPERATION: &'static str = "compare_and_set_status";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bytes(&self) -> usize {
        self.cas.items.iter().map(|item| item.payload.len()).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<CasOutcome, Fault> {
        let Some((sid, before)) = rows::find(tx.conn(), &self.key).await? else {
            return Ok(CasOutcome::NotFound);
        };
        let now = tx.now();
        // Whether the move is allowed does not depend on the items; it is asked first, on a copy.
        match before.clone().compare_and_set(&self.cas, now) {
            CasOutcome::Moved { .. } => {}
            refused @ (CasOutcome::VersionConflict { .. }
            | CasOutcome::NotAllowed { .. }
            | CasOutcome::ItemRefused { .. }
            | CasOutcome::NotFound) => return Ok(refused),
        }
        let mut after = before.clone();
        let accepted = match Accepted::decide(tx, sid, &mut after, &self.cas.items, now).await? {
            Ok(accepted) => accepted,
            Err(Refusal { index, refusal }) => return Ok(CasOutcome::ItemRefused { index, refusal }),
        };
        let outcome = after.compare_and_set(&self.cas, now);
        rows::save(tx, sid, &before, &after).await?;
        rows::append_items(tx, sid, &accepted.arrivals, now).await?;
        Ok(outcome)
    }
}
