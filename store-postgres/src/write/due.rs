//! Claims whatever is due.

use std::time::Duration;

use holdover_store::ids::SessionKey;
use holdover_store::{Claim, ClaimDue, Queues};
use sqlx::postgres::PgRow;

use crate::call::{Call, Values, millis};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, extras_columns, session_columns};

pub(crate) struct ClaimDueSessions(pub(crate) ClaimDue);

impl Call for ClaimDueSessions {
    type Outcome = Vec<Claim>;
    const OPERATION: &'static str = "claim_due";
    const PARAMETERS: usize = 7;
    const COLUMNS: &'static str =
        concat!("a.now, a.tenant, a.id, a.unreadable, ", session_columns!(), ", ", extras_columns!());
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
        // Each row is read by itself: all its neighbours are claimed, and would be lost with it.
        let claims = rows.iter().filter_map(|row| match claim(row) {
            Ok(claim) => Some(claim),
            Err((session, fault)) => {
                tracing::error!(session, ?fault, "a due session cannot be read");
                None
            }
        });
        Ok(claims.collect())
    }

    fn after(mut claims: Vec<Claim>, waited: Duration) -> Vec<Claim> {
        claims.retain(|claim| !rows::is_over(claim, waited));
        claims
    }
}

/// Reads one row; what of which session cannot be read.
fn claim(row: &PgRow) -> Result<Claim, (String, Fault)> {
    let mut c = Columns::of(row);
    let mut read = || Ok((c.at()?, c.text()?, c.text()?, c.text_or_null()?));
    let (now, tenant, id, unreadable) = read().map_err(|fault| (String::new(), fault))?;
    let claim = match unreadable {
        Some(what) => Err(Fault::Corrupt(what)),
        None => rows::claim(&mut c, now),
    };
    claim.map_err(|fault| (format!("{tenant}/{id}"), fault))
}
