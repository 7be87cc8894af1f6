//! Creates a session.

use async_trait::async_trait;
use holdover_store::ids::SessionKey;
use holdover_store::rules::{SessionRow, was_deleted};
use holdover_store::time::Timestamp;
use holdover_store::{Claim, CreateOutcome, Delivery, NewSession, Start};

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
        let claimed = match &self.0.start {
            Start::Claimed(claim) => claim.items.as_slice(),
            Start::WithItems | Start::At(_) => &[],
        };
        let items: usize = self.0.items.iter().chain(claimed).map(|item| item.payload.len()).sum();
        self.0.definition.len() + items
    }

    async fn apply(&self, tx: &mut Tx<'_>) -> Result<CreateOutcome, Fault> {
        let new = &self.0;
        let now = tx.now();
        let there = rows::find(tx.conn(), &new.key).await?;
        let named = rows::tombstone_names(tx.conn(), &new.key, new.incarnation, &new.operation).await?;
        if was_deleted(&new.operation, there.as_ref().map(|(_, row)| row), named) {
            return Ok(CreateOutcome::Deleted);
        }
        if let Some((sid, row)) = there {
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
    let (version, alive) = match row.created_before(new, now) {
        Ok(created) => created,
        Err(there) => return Ok(there),
    };
    let claim = if alive { Some(reread(tx, sid, row, now).await?) } else { None };
    Ok(CreateOutcome::Created { version, claim })
}

async fn reread(tx: &mut Tx<'_>, sid: Sid, row: SessionRow, now: Timestamp) -> Result<Box<Claim>, Fault> {
    let extras = Extras::read(tx.conn(), sid, &row).await?;
    extras.into_claim(row, now).map(Box::new)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use holdover_store::ids::*;
    use holdover_store::payload::Payload;
    use holdover_store::{ClaimOne, InboxItem, ItemKind, Labels, Wake};
    use uuid::Uuid;

    use super::*;

    #[test]
    fn what_a_claim_brings_counts_towards_the_size_of_a_group() {
        let item = InboxItem {
            key: ItemKey::new("item").expect("an id"),
            kind: ItemKind::Message { wake: Wake::Now },
            incarnation: None,
            payload: Payload::new("0123456789"),
        };
        let claim = ClaimOne {
            run: RunId::new("run").expect("an id"),
            worker: WorkerId::new("worker").expect("an id"),
            lease: Duration::from_secs(30),
            expected_version: None,
            items: vec![item],
        };
        let new = NewSession {
            key: SessionKey::new(TenantId::new("acme").expect("an id"), SessionId::new("s").expect("an id")),
            incarnation: Incarnation(Uuid::nil()),
            operation: OperationId::new("create").expect("an id"),
            queue: QueueLabel::new("q").expect("an id"),
            labels: Labels::default(),
            definition: Payload::new("{}"),
            format: StateFormat(1),
            items: Vec::new(),
            start: Start::Claimed(claim),
        };
        assert_eq!(CreateSession(new).bytes(), 12);
    }
}
