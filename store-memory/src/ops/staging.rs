//! Making results durable before their step is finished.

use std::collections::BTreeMap;

use holdover_core::ids::{CallId, Fence};
use holdover_core::payload::Payload;
use holdover_core::store::{StageOutcome, StagedResult, Staging, StoreError};
use holdover_core::time::Timestamp;

use crate::limits::Limits;
use crate::table::{Record, Sessions};

/// Refuses what cannot be kept.
pub fn check_staging(staging: &Staging, limits: &Limits) -> Result<(), StoreError> {
    let mut results = staging.results.iter();
    results.try_for_each(|result| limits.check("stage_result", "results", &result.payload))
}

/// Stages results and start marks, wholly or not at all.
pub fn stage(sessions: &mut Sessions, fence: &Fence, staging: Staging, now: Timestamp) -> StageOutcome {
    let Some(record) = sessions.get_mut(&fence.key).filter(|record| record.row.admits(fence)) else {
        return StageOutcome::StaleFence;
    };
    if let Some(conflict) = conflict(record, &staging.results) {
        return StageOutcome::Conflict { call: conflict.call.clone() };
    }
    for StagedResult { call, payload } in staging.results {
        record.staged.entry(call).or_insert(payload);
    }
    record.starts.extend(staging.starts);
    StageOutcome::Staged(record.row.receipt(now))
}

/// The first result whose call has another one, there or earlier in the same write.
fn conflict<'a>(record: &'a Record, results: &'a [StagedResult]) -> Option<&'a StagedResult> {
    let mut first: BTreeMap<&CallId, &Payload> = record.staged.iter().collect();
    results.iter().find(|result| *first.entry(&result.call).or_insert(&result.payload) != &result.payload)
}
