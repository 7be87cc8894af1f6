//! Claims one named session.

use std::time::Duration;

use holdover_store::ids::SessionKey;
use holdover_store::{ClaimOne, ClaimOutcome};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values, int, millis};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, bind_items, extras_columns, session_columns};

pub(crate) struct ClaimSession {
    pub(crate) key: SessionKey,
    pub(crate) claim: ClaimOne,
}

impl Call for ClaimSession {
    type Outcome = ClaimOutcome;
    const OPERATION: &'static str = "claim_session";
    const PARAMETERS: usize = 14;
    const COLUMNS: &'static str = concat!(
        "a.outcome, a.refused, a.refusal, a.refusal_place, a.unreadable, a.now, ",
        session_columns!(),
        ", ",
        extras_columns!()
    );
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let claim = &self.claim;
        to.key(&self.key)
            .add(claim.run.as_str())
            .add(claim.worker.as_str())
            .add(millis(claim.lease))
            .add(claim.expected_version.map(|version| int(version.0)));
        bind_items(to, claim.items.iter());
        to.channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<ClaimOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let outcome = c.text()?;
        let refused = rows::refusal(&mut c)?;
        let unreadable = c.text_or_null()?;
        match (outcome.as_str(), refused) {
            ("corrupt", _) => return Err(Fault::Corrupt(unreadable.unwrap_or_default())),
            ("not_found", _) => return Ok(ClaimOutcome::NotFound),
            ("aborted", _) => return Ok(ClaimOutcome::Aborted),
            ("lease_ended", _) => return Ok(ClaimOutcome::LeaseEnded),
            ("item_refused", Some((index, refusal))) => {
                return Ok(ClaimOutcome::ItemRefused { index, refusal });
            }
            (_, _) => {}
        }
        let now = c.at()?;
        if outcome == "claimed" {
            return Ok(ClaimOutcome::Claimed(Box::new(rows::claim(&mut c, now)?)));
        }
        let row = rows::session_row(&mut c)?;
        match (outcome.as_str(), self.claim.expected_version, row.lease.as_ref()) {
            ("version_conflict", Some(expected), _) => {
                Ok(ClaimOutcome::VersionConflict { expected, actual: row.version, status: row.status })
            }
            ("held", _, Some(lease)) => Ok(ClaimOutcome::Held {
                worker: lease.worker.clone(),
                epoch: row.epoch,
                version: row.version,
                lease_ends: lease.ends,
            }),
            (other, _, _) => Err(unknown_outcome(other)),
        }
    }

    fn after(outcome: ClaimOutcome, waited: Duration) -> ClaimOutcome {
        let over = matches!(&outcome, ClaimOutcome::Claimed(claim) if rows::is_over(claim, waited));
        if over { ClaimOutcome::LeaseEnded } else { outcome }
    }
}
