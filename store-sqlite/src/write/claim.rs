//! Claims one named session.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rules::{Claimed, SessionRow};
use holdover_store::time::Timestamp;
use holdover_store::{ClaimOne, ClaimOutcome, OutcomeKind};

use super::items::{Accepted, Refusal};
use crate::columns::int;
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Extras, Sid};

/// In the write transaction that claims the session. The first end of a run is kept.
const CLOSE_LOST: &str =
    "UPDATE run SET ended_at = ?, outcome = ? WHERE sid = ? AND epoch = ? AND ended_at IS NULL";

pub(crate) struct ClaimSession {
    pub(crate) key: SessionKey,
    pub(crate) claim: ClaimOne,
}

#[async_trait]
impl Write for ClaimSession {
    type Outcome = ClaimOutcome;
    const OPERATION: &'static str = "claim_session";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bytes(&self) -> usize {
        self.claim.items.iter().map(|item| item.payload.len()).sum()
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<ClaimOutcome, Fault> {
        let claim = &self.claim;
        let Some((sid, before)) = rows::find(tx.conn(), &self.key).await? else {
            return Ok(ClaimOutcome::NotFound);
        };
        let now = tx.now();
        match before.repeated_claim(&claim.run, now) {
            Some(true) => {
                let extras = Extras::read(tx.conn(), sid, &before).await?;
                return Ok(ClaimOutcome::Claimed(Box::new(extras.into_claim(before, now)?)));
            }
            Some(false) => return Ok(ClaimOutcome::LeaseEnded),
            None => {}
        }
        if let Err(refused) = before.claimable(claim.expected_version, now) {
            return Ok(refused);
        }
        let mut after = before.clone();
        let accepted = match Accepted::decide(tx, sid, &mut after, &claim.items, now).await? {
            Ok(accepted) => accepted,
            Err(Refusal { index, refusal }) => return Ok(ClaimOutcome::ItemRefused { index, refusal }),
        };
        let mut extras = Extras::read(tx.conn(), sid, &before).await?;
        accepted.stored().for_each(|item| extras.arrived(item));
        let claimed = after.claim(claim.run.clone(), claim.worker.clone(), claim.lease, now);

        write_claim(tx, sid, &before, &after, claimed, now).await?;
        rows::append_items(tx, sid, &accepted.arrivals, now).await?;
        Ok(ClaimOutcome::Claimed(Box::new(extras.into_claim(after, now)?)))
    }
}

/// Writes a decided claim: the row, the end of a run that was lost, the record of the new run.
pub(super) async fn write_claim(
    tx: &mut Tx<'_>,
    sid: Sid,
    before: &SessionRow,
    after: &SessionRow,
    claimed: Claimed,
    now: Timestamp,
) -> Result<(), Fault> {
    rows::save(tx, sid, before, after).await?;
    if let Some(lost) = claimed.close_lost {
        let query = sqlx::query(CLOSE_LOST)
            .bind(now.as_ms())
            .bind(OutcomeKind::Lost.as_str())
            .bind(sid.0)
            .bind(int(lost.0));
        tx.write(query).await?;
    }
    rows::append_run(tx, sid, after, claimed.parent, now).await
}
