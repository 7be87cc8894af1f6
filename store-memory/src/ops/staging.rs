//! Staging: makes results durable before their step is finished.

use holdover_store::ids::Fence;
use holdover_store::time::Timestamp;
use holdover_store::{StageOutcome, Staging};

use crate::table::Sessions;

/// Stages results and start marks, wholly or not at all.
pub fn stage(sessions: &mut Sessions, fence: &Fence, staging: Staging, now: Timestamp) -> StageOutcome {
    let Some(record) = sessions.get_mut(&fence.key) else { return StageOutcome::StaleFence };
    let fresh = match record.row.stage(fence, &staging, &record.staged_results()) {
        Ok(fresh) => fresh,
        Err(refused) => return refused,
    };
    for result in fresh {
        record.staged.insert(result.call.clone(), result.payload.clone());
    }
    record.starts.extend(staging.starts);
    StageOutcome::Staged(record.row.receipt(now))
}
