//! Requests to stop, and their handing over.

use async_trait::async_trait;
use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{Interrupt, InterruptCheck, InterruptOutcome};

use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows;

pub(crate) struct RequestInterrupt {
    pub(crate) key: SessionKey,
    pub(crate) interrupt: Interrupt,
}

#[async_trait]
impl Write for RequestInterrupt {
    type Outcome = InterruptOutcome;
    const OPERATION: &'static str = "request_interrupt";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bytes(&self) -> usize {
        self.interrupt.reason.len()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<InterruptOutcome, Fault> {
        let Some((sid, before)) = rows::find(tx.conn(), &self.key).await? else {
            return Ok(InterruptOutcome::NotFound);
        };
        let mut after = before.clone();
        let outcome = after.request_interrupt(self.interrupt.clone(), tx.now());
        rows::save(tx, sid, &before, &after).await?;
        Ok(outcome)
    }
}

pub(crate) struct HandInterrupt(pub(crate) Fence);

#[async_trait]
impl Write for HandInterrupt {
    type Outcome = InterruptCheck;
    const OPERATION: &'static str = "take_interrupt";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.0.key)
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<InterruptCheck, Fault> {
        let Some((sid, before)) = rows::find(tx.conn(), &self.0.key).await? else {
            return Ok(InterruptCheck::StaleFence);
        };
        let mut after = before.clone();
        let outcome = after.hand_interrupt(&self.0);
        rows::save(tx, sid, &before, &after).await?;
        Ok(outcome)
    }
}
