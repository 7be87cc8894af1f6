//! Claims, leases and changes of status.

use std::time::Duration;

use holdover_store::ids::{Fence, RunId, SessionKey, TenantId, WorkerId};
use holdover_store::rules::in_turn;
use holdover_store::time::Timestamp;
use holdover_store::{
    CasOutcome, Claim, ClaimDue, ClaimOne, ClaimOutcome, LeaseOutcome, OutcomeKind, RunEnded, StatusCas,
};

use super::delivery::accept_all;
use crate::table::{Record, Sessions};

/// Claims one named session.
pub fn claim(sessions: &mut Sessions, key: &SessionKey, claim: &ClaimOne, now: Timestamp) -> ClaimOutcome {
    let Some(record) = sessions.get_mut(key) else {
        return ClaimOutcome::NotFound;
    };
    match record.row.repeated_claim(&claim.run, now) {
        Some(true) => return claimed(record, now),
        Some(false) => return ClaimOutcome::LeaseEnded,
        None => {}
    }
    if let Err(answer) = record.row.claimable(claim.expected_version, now) {
        return answer;
    }
    if let Err((index, refusal)) = accept_all(record, &claim.items, now) {
        return ClaimOutcome::ItemRefused { index, refusal };
    }
    begin_run(record, claim.run.clone(), claim.worker.clone(), claim.lease, now);
    claimed(record, now)
}

fn claimed(record: &Record, now: Timestamp) -> ClaimOutcome {
    match record.claim(now) {
        Some(claim) => ClaimOutcome::Claimed(Box::new(claim)),
        None => ClaimOutcome::LeaseEnded,
    }
}

/// Claims due sessions. If more are due than runs are given, tenants take turns; `turn` is the tenant that
/// had the last turn.
pub fn claim_due(
    sessions: &mut Sessions,
    turn: &mut Option<TenantId>,
    claim: ClaimDue,
    now: Timestamp,
) -> Vec<Claim> {
    let tenant = claim.tenant.as_ref();
    let is_due = |record: &Record| record.row.is_due(&claim.queues, claim.newest_format, tenant, now);
    let due = sessions.values().filter(|record| is_due(record));
    let due = due.map(|record| (record.row.alarm.unwrap_or_default(), record.row.key.clone())).collect();
    let (due, last) = in_turn(due, turn.as_ref(), claim.runs.len());
    *turn = last;
    let mut claims = Vec::new();
    for (key, run) in due.into_iter().zip(claim.runs) {
        if let Some(record) = sessions.get_mut(&key) {
            begin_run(record, run, claim.worker.clone(), claim.lease, now);
            claims.extend(record.claim(now));
        }
    }
    claims
}

/// Moves the row to active, closes the record of a run that was left open, and opens the record of the new
/// run.
pub(super) fn begin_run(record: &mut Record, run: RunId, worker: WorkerId, lease: Duration, now: Timestamp) {
    let mut row = record.row.clone();
    let claimed = row.claim(run.clone(), worker.clone(), lease, now);
    record.set_row(row);
    let lost = record.runs.iter_mut().filter(|run| Some(run.epoch) == claimed.close_lost);
    for lost in lost {
        lost.end.get_or_insert(RunEnded { at: now, outcome: OutcomeKind::Lost, detail: None });
    }
    record.runs.push(record.row.run_record(run, worker, claimed, now));
}

/// Changes the status and accepts the items of the request.
pub fn compare_and_set(
    sessions: &mut Sessions,
    key: &SessionKey,
    cas: &StatusCas,
    now: Timestamp,
) -> CasOutcome {
    let Some(record) = sessions.get_mut(key) else {
        return CasOutcome::NotFound;
    };
    match record.row.clone().compare_and_set(cas, now) {
        CasOutcome::Moved { .. } => {}
        refused @ (CasOutcome::VersionConflict { .. }
        | CasOutcome::NotAllowed { .. }
        | CasOutcome::ItemRefused { .. }
        | CasOutcome::NotFound) => return refused,
    }
    match accept_all(record, &cas.items, now) {
        Ok(()) => record.row.compare_and_set(cas, now),
        Err((index, refusal)) => CasOutcome::ItemRefused { index, refusal },
    }
}

/// Extends the lease of the run that holds the session.
pub fn renew(sessions: &mut Sessions, fence: &Fence, lease: Duration, now: Timestamp) -> LeaseOutcome {
    match sessions.get_mut(&fence.key).and_then(|record| record.row.renew(fence, lease, now)) {
        Some(receipt) => LeaseOutcome::Renewed(receipt),
        None => LeaseOutcome::StaleFence,
    }
}
