//! Makes results and start marks durable before their step is finished.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{StageOutcome, Staging};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, receipt_columns};

pub(crate) struct StageResults {
    pub(crate) fence: Fence,
    pub(crate) staging: Staging,
}

impl Call for StageResults {
    type Outcome = StageOutcome;
    const OPERATION: &'static str = "stage_result";
    const PARAMETERS: usize = 8;
    const COLUMNS: &'static str = concat!("a.outcome, a.subject, ", receipt_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let results = &self.staging.results;
        to.fence(&self.fence)
            .add(results.iter().map(|result| result.call.as_str()).collect::<Vec<_>>())
            .payloads(results.iter().map(|result| Some(&result.payload)))
            .add(self.staging.starts.iter().map(|call| call.as_str()).collect::<Vec<_>>());
    }

    fn answer(&self, rows: &[PgRow]) -> Result<StageOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let (outcome, call) = (c.text()?, c.id_or_null()?);
        match (outcome.as_str(), call) {
            ("staged", _) => rows::receipt(&mut c).map(StageOutcome::Staged),
            ("conflict", Some(call)) => Ok(StageOutcome::Conflict { call }),
            ("stale_fence", _) => Ok(StageOutcome::StaleFence),
            (other, _) => Err(unknown_outcome(other)),
        }
    }
}
