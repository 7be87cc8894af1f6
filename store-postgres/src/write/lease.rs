//! Lets a lease run longer.

use std::time::Duration;

use holdover_store::LeaseOutcome;
use holdover_store::ids::{Fence, SessionKey};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values, millis};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, receipt_columns};

pub(crate) struct RenewLease {
    pub(crate) fence: Fence,
    pub(crate) lease: Duration,
}

impl Call for RenewLease {
    type Outcome = LeaseOutcome;
    const OPERATION: &'static str = "renew_lease";
    const PARAMETERS: usize = 6;
    const COLUMNS: &'static str = concat!("a.outcome, ", receipt_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        to.fence(&self.fence).add(millis(self.lease)).channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<LeaseOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        match c.text()?.as_str() {
            "renewed" => rows::receipt(&mut c).map(LeaseOutcome::Renewed),
            "stale_fence" => Ok(LeaseOutcome::StaleFence),
            other => Err(unknown_outcome(other)),
        }
    }
}
