//! Creates a session.

use async_trait::async_trait;
use holdover_core::ids::{SessionKey, Version};
use holdover_core::store::rules::SessionRow;
use holdover_core::store::{Claim, CreateOutcome, Delivery, NewSession, Start};
use holdover_core::time::Timestamp;

use super::items::{Accepted, Refusal};
use crate::error::Fault;
use crate::job::{Tx, Write};
use crate::rows::{self, Extras, Sid, Single};

pub(crate) struct CreateSession(pub(crate) NewSession);

#[async_trait]
impl Write for CreateSession {
    type Outcome = CreateOutcome;
    const OPERATION: &'static str = "create_session";

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.0.key)
    }

    fn bytes(&self) -> usize {
        let items: usize = self.0.items.iter().map(|item| item.payload.len()).sum();
        self.0.definition.len() + items
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<CreateOutcome, Fault> {
        let new = &self.0;
        let now = tx.now();
        if let Some((sid, row)) = rows::find(tx.conn(), &new.key).await? {
            return existing(tx, sid, row, new, now).await;
        }
        let mut row = SessionRow::create(new, now);
        let claim = match &new.start {
            Start::Claimed(claim) => Some(claim),
            Start::WithItems | Start::At(_) => None,
        };
        let items = new.items.iter().chain(claim.iter().flat_map(|claim| &claim.items));
        let accepted = match Accepted::first(&mut row, items, now) {
            Ok(accepted) => accepted,
            Err(Refusal { index, refusal: Delivery::Duplicate { .. } | Delivery::Conflict { .. } }) => {
                return Ok(CreateOutcome::ItemConflict { index });
            }
            Err(Refusal { index, refusal }) => {
                return Err(Fault::Invalid(format!("items: number {index} is refused: {refusal:?}")));
            }
        };
        let claimed = claim.map(|claim| row.claim(claim.run.clone(), claim.worker.clone(), claim.lease, now));
        row.set_start(&new.start);

        let sid = rows::insert(tx, &row).await?;
        rows::append_labels(tx, sid, &new.labels).await?;
        rows::put_payload(tx, Single::Definition, sid, &new.definition).await?;
        rows::append_items(tx, sid, &accepted.arrivals, now).await?;
        let version = row.version;
        let claim = match claimed {
            Some(claimed) => {
                rows::append_run(tx, sid, &row, claimed.parent, now).await?;
                let mut extras = Extras::new(new.labels.clone(), new.definition.clone());
                accepted.stored().for_each(|item| extras.arrived(item));
                Some(Box::new(extras.into_claim(row, now)?))
            }
            None => None,
        };
        Ok(CreateOutcome::Created { version, claim })
    }
}

/// A repeat answers what the creation answered; with the claim as long as its lease runs.
async fn existing(
    tx: &mut Tx<'_>,
    sid: Sid,
    row: SessionRow,
    new: &NewSession,
    now: Timestamp,
) -> Result<CreateOutcome, Fault> {
    if row.created_by != new.operation {
        let (incarnation, status, version) = (row.incarnation, row.status, row.version);
        return Ok(CreateOutcome::AlreadyExists { incarnation, status, version });
    }
    let (version, claim) = match &new.start {
        Start::WithItems | Start::At(_) => (Version(1), None),
        Start::Claimed(claim) => {
            let alive = row.repeated_claim(&claim.run, now) == Some(true);
            let claim = if alive { Some(reread(tx, sid, row, now).await?) } else { None };
            (Version(2), claim)
        }
    };
    Ok(CreateOutcome::Created { version, claim })
}

async fn reread(tx: &mut Tx<'_>, sid: Sid, row: SessionRow, now: Timestamp) -> Result<Box<Claim>, Fault> {
    let extras = Extras::read(tx.conn(), sid, &row).await?;
    extras.into_claim(row, now).map(Box::new)
}
