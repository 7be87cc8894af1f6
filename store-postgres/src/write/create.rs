//! Creates a session.

use std::time::Duration;

use holdover_store::ids::{SessionKey, Version};
use holdover_store::{ClaimOne, CreateOutcome, Delivery, NewSession, Start};
use sqlx::postgres::PgRow;

use super::{bind_labels, unknown_outcome};
use crate::call::{Call, Values, millis};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, bind_items, extras_columns, session_columns};

pub(crate) struct CreateSession(pub(crate) NewSession);

impl CreateSession {
    fn claim(&self) -> Option<&ClaimOne> {
        match &self.0.start {
            Start::Claimed(claim) => Some(claim),
            Start::WithItems | Start::At(_) => None,
        }
    }
}

impl Call for CreateSession {
    type Outcome = CreateOutcome;
    const OPERATION: &'static str = "create_session";
    const PARAMETERS: usize = 22;
    const COLUMNS: &'static str = concat!(
        "a.outcome, a.refused, a.refusal, NULL::bigint, a.now, ",
        session_columns!(),
        ", ",
        extras_columns!()
    );
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.0.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let new = &self.0;
        to.key(&new.key)
            .add(new.incarnation.0.as_bytes().as_slice())
            .add(new.operation.as_str())
            .add(new.queue.as_str())
            .add(i64::from(new.format.0));
        bind_labels(to, &new.labels);
        to.payload(&new.definition);
        let claim = self.claim();
        bind_items(to, new.items.iter().chain(claim.into_iter().flat_map(|claim| &claim.items)));
        let alarm = match &new.start {
            Start::At(at) => Some(at.as_ms()),
            Start::WithItems | Start::Claimed(_) => None,
        };
        to.add(alarm)
            .add(claim.map(|claim| claim.run.as_str()))
            .add(claim.map(|claim| claim.worker.as_str()))
            .add(claim.map(|claim| millis(claim.lease)))
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<CreateOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let outcome = c.text()?;
        let refused = rows::refusal(&mut c)?;
        let version = Version(if self.claim().is_some() { 2 } else { 1 });
        match (outcome.as_str(), refused) {
            ("created", _) => Ok(CreateOutcome::Created { version, claim: None }),
            ("claimed", _) => {
                let now = c.at()?;
                let claim = Some(Box::new(rows::claim(&mut c, now)?));
                Ok(CreateOutcome::Created { version, claim })
            }
            ("already_exists", _) => {
                c.at()?;
                let row = rows::session_row(&mut c)?;
                let (incarnation, status, version) = (row.incarnation, row.status, row.version);
                Ok(CreateOutcome::AlreadyExists { incarnation, status, version })
            }
            ("deleted", _) => Ok(CreateOutcome::Deleted),
            ("item_refused", Some((index, Delivery::Duplicate { .. } | Delivery::Conflict { .. }))) => {
                Ok(CreateOutcome::ItemConflict { index })
            }
            ("item_refused", Some((index, refusal))) => {
                Err(Fault::Invalid(format!("items: number {index} is refused: {refusal:?}")))
            }
            (other, _) => Err(unknown_outcome(other)),
        }
    }

    fn after(mut outcome: CreateOutcome, waited: Duration) -> CreateOutcome {
        if let CreateOutcome::Created { claim, .. } = &mut outcome {
            claim.take_if(|claim| rows::is_over(claim, waited));
        }
        outcome
    }
}
