//! Deltas: pieces of a model's answer, stored while the model writes it.

use holdover_store::ids::Fence;
use holdover_store::time::Timestamp;
use holdover_store::{DeltaBatch, DeltaOutcome, StoredDelta};

use crate::table::Sessions;

/// Appends deltas to a stream of the run that holds the session.
pub fn append_deltas(
    sessions: &mut Sessions,
    fence: &Fence,
    batch: DeltaBatch,
    now: Timestamp,
) -> DeltaOutcome {
    let Some(record) = sessions.get_mut(&fence.key) else {
        return DeltaOutcome::StaleFence;
    };
    let streamed = match record.row.stream(fence, &batch) {
        Ok(streamed) => streamed,
        Err(answer) => return answer,
    };
    if streamed.replaces {
        record.deltas.clear();
    }
    let new = (batch.first..).zip(batch.deltas).skip(streamed.skip);
    record.deltas.extend(new.map(|(place, payload)| StoredDelta { place, payload }));
    DeltaOutcome::Appended(record.row.receipt(now))
}
