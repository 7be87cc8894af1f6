//! Claims whatever is due.

use holdover_core::ids::SessionKey;
use holdover_core::store::{Claim, ClaimDue, Queues};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values, millis};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, Extras, extras_columns, session_columns};

pub(crate) struct ClaimDueSessions(pub(crate) ClaimDue);

impl Call for ClaimDueSessions {
    type Outcome = Vec<Claim>;
    const OPERATION: &'static str = "claim_due";
    const PARAMETERS: usize = 7;
    const COLUMNS: &'static str = concat!("a.outcome, a.now, ", session_columns!(), ", ", extras_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        None
    }

    fn bind(&self, to: &mut Values<'_>) {
        let claim = &self.0;
        let queues = match &claim.queues {
            Queues::All => None,
            Queues::Named(named) => Some(named.iter().map(|queue| queue.as_str()).collect::<Vec<_>>()),
        };
        to.add(claim.runs.iter().map(|run| run.as_str()).collect::<Vec<_>>())
            .add(claim.worker.as_str())
            .add(millis(claim.lease))
            .add(queues)
            .add(i64::from(claim.newest_format.0))
            .add(claim.tenant.as_ref().map(|tenant| tenant.as_str()))
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<Vec<Claim>, Fault> {
        let mut claims = Vec::with_capacity(rows.len());
        for row in rows {
            let mut c = Columns::of(row);
            let outcome = c.text()?;
            let now = c.at()?;
            match outcome.as_str() {
                "claimed" => claims.push(rows::claim(&mut c, now)?),
                "corrupt" => warn(&mut c),
                other => return Err(unknown_outcome(other)),
            }
        }
        claims.retain(|claim| claim.lease_ends > claim.now);
        Ok(claims)
    }
}

/// Says which session is due and cannot be read.
fn warn(c: &mut Columns<'_>) {
    let (session, fault) = match rows::session_row(c) {
        Ok(row) => (row.key.to_string(), Extras::read(c, &row).err()),
        Err(fault) => (String::new(), Some(fault)),
    };
    tracing::error!(session, ?fault, "a due session cannot be read");
}
