//! Appends deltas to the stream of the run that holds the session.

use holdover_store::ids::{Fence, SessionKey};
use holdover_store::{DeltaBatch, DeltaOutcome};
use sqlx::postgres::PgRow;

use super::unknown_outcome;
use crate::call::{Call, Values, int};
use crate::columns::Columns;
use crate::error::Fault;
use crate::rows::{self, receipt_columns};

pub(crate) struct AppendDeltas {
    pub(crate) fence: Fence,
    pub(crate) batch: DeltaBatch,
}

impl Call for AppendDeltas {
    type Outcome = DeltaOutcome;
    const OPERATION: &'static str = "append_deltas";
    const PARAMETERS: usize = 9;
    const COLUMNS: &'static str = concat!("a.outcome, a.expected, ", receipt_columns!());
    const WRITES: bool = true;

    fn key(&self) -> Option<&SessionKey> {
        Some(&self.fence.key)
    }

    fn bind(&self, to: &mut Values<'_>) {
        let batch = &self.batch;
        to.fence(&self.fence)
            .add(i64::from(batch.stream))
            .add(int(batch.first))
            .payloads(batch.deltas.iter().map(Some))
            .channel();
    }

    fn answer(&self, rows: &[PgRow]) -> Result<DeltaOutcome, Fault> {
        let mut c = Columns::first(rows)?;
        let (outcome, expected) = (c.text()?, c.count_or_null()?);
        match (outcome.as_str(), expected) {
            ("appended", _) => rows::receipt(&mut c).map(DeltaOutcome::Appended),
            ("ended", _) => Ok(DeltaOutcome::Ended),
            ("gap", Some(expected)) => Ok(DeltaOutcome::Gap { expected }),
            ("stale_fence", _) => Ok(DeltaOutcome::StaleFence),
            (other, _) => Err(unknown_outcome(other)),
        }
    }
}
