//! Leases and fences.

use std::time::Duration;

use holdover_store::ids::{Epoch, Fence};
use holdover_store::{Applied, CommitOutcome, LeaseOutcome, SessionStatus, StageOutcome};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Returns the fence with the session's newest epoch.
fn any_epoch(tx: &Tx<'_>, fence: &Fence) -> Fence {
    let epoch = tx.row_of(&fence.key).map_or(Epoch(0), |row| row.epoch);
    Fence { epoch, ..fence.clone() }
}

/// Returns the fence with the session's current incarnation.
fn any_life(tx: &Tx<'_>, fence: &Fence) -> Fence {
    let incarnation = tx.row_of(&fence.key).map_or(fence.incarnation, |row| row.incarnation);
    Fence { incarnation, ..fence.clone() }
}

/// Returns true if the lease of the session's owner is over.
fn over(tx: &Tx<'_>, fence: &Fence) -> bool {
    let now = tx.now;
    tx.row_of(&fence.key).and_then(|row| row.lease).is_some_and(|lease| lease.ends <= now)
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("epoch-not-checked-by-commit", "a commit of an old run is applied").commit(|tx, fence, commit| {
        let fence = any_epoch(tx, fence);
        sound::commit(tx, &fence, commit)
    }),
    broken("epoch-not-checked-by-stage", "an old run may stage").stage(|tx, fence, staging| {
        let fence = any_epoch(tx, fence);
        sound::stage(tx, &fence, staging)
    }),
    broken("epoch-not-checked-by-renew", "an old run may renew the lease of the new one").renew(
        |tx, fence, lease| {
            let fence = any_epoch(tx, fence);
            sound::renew(tx, &fence, lease)
        },
    ),
    broken("epoch-not-checked-by-interrupt", "an old run is handed the interrupt of the new one")
        .take_interrupt(|tx, fence| {
            let fence = any_epoch(tx, fence);
            sound::take_interrupt(tx, &fence)
        }),
    broken(
        "incarnation-not-checked",
        "a run of a deleted session may write into the one that has its name now",
    )
    .commit(|tx, fence, commit| {
        let fence = any_life(tx, fence);
        sound::commit(tx, &fence, commit)
    })
    .stage(|tx, fence, staging| {
        let fence = any_life(tx, fence);
        sound::stage(tx, &fence, staging)
    })
    .renew(|tx, fence, lease| {
        let fence = any_life(tx, fence);
        sound::renew(tx, &fence, lease)
    }),
    broken("renew-revives", "renewing a lease that was released brings it back").renew(|tx, fence, lease| {
        let worker =
            tx.record(&fence.key).and_then(|record| record.runs.last()).map(|run| run.worker.clone());
        let now = tx.now;
        tx.row(&fence.key, |row| {
            if let (None, Some(worker), true) = (&row.lease, worker, row.epoch == fence.epoch) {
                row.status = SessionStatus::Active;
                row.lease = Some(holdover_store::Lease { worker, ends: now, granted_ms: 0 });
            }
        });
        sound::renew(tx, fence, lease)
    }),
    broken("renew-shortens", "a renewal for less time than is left shortens the lease").renew(
        |tx, fence, lease| {
            let now = tx.now;
            tx.row(&fence.key, |row| {
                if let (true, Some(held)) = (row.admits(fence), row.lease.as_mut()) {
                    held.ends = now;
                }
            });
            sound::renew(tx, fence, lease)
        },
    ),
    broken(
        "renew-refused-after-the-end",
        "a renewal after the lease has ended is refused though nobody took the session over",
    )
    .renew(
        |tx, fence, lease| {
            if over(tx, fence) { LeaseOutcome::StaleFence } else { sound::renew(tx, fence, lease) }
        },
    ),
    broken("renew-from-the-old-end", "a renewal counts from the end of the lease, not from now").renew(
        |tx, fence, lease| {
            let left = tx.row_of(&fence.key).and_then(|row| row.lease).map(|held| tx.now.until(held.ends));
            sound::renew(tx, fence, lease + left.unwrap_or_default())
        },
    ),
    broken(
        "commit-refused-after-the-end",
        "a commit after the lease has ended is refused though nobody took the session over",
    )
    .commit(|tx, fence, commit| {
        if over(tx, fence) {
            return CommitOutcome::StaleFence { applied: Applied::No };
        }
        sound::commit(tx, fence, commit)
    })
    .stage(
        |tx, fence, staging| {
            if over(tx, fence) { StageOutcome::StaleFence } else { sound::stage(tx, fence, staging) }
        },
    ),
    broken("commit-never-extends", "a commit never extends the lease").commit(|tx, fence, commit| {
        let (alarm, lease) = tx.row_of(&fence.key).map(|row| (row.alarm, row.lease)).unwrap_or_default();
        let answer = sound::commit(tx, fence, commit);
        tx.row(&fence.key, |row| {
            if row.lease.is_some() {
                row.lease = lease;
                row.alarm = alarm;
            }
        });
        answer
    }),
    broken("commit-always-extends", "every commit extends the lease, also when most of it is left").commit(
        |tx, fence, commit| {
            let now = tx.now;
            let answer = sound::commit(tx, fence, commit);
            tx.row(&fence.key, |row| {
                if let Some(held) = &mut row.lease {
                    held.ends = now.after(Duration::from_millis(held.granted_ms));
                    row.alarm = Some(held.ends);
                }
            });
            answer
        },
    ),
    broken(
        "lease-counted-from-before-the-wait",
        "the lease counts from when the claim was asked for, not from when it was granted",
    )
    .claim(|tx, key, claim| {
        let mut answer = sound::claim(tx, key, claim);
        if let holdover_store::ClaimOutcome::Claimed(claim) = &mut answer {
            let now = tx.now;
            claim.lease_ends = now;
            tx.row(key, |row| {
                if let Some(lease) = &mut row.lease {
                    lease.ends = now;
                    row.alarm = Some(now);
                }
            });
        }
        answer
    })
    .over(|_, _, _| false),
    broken("claim-comes-back-ended", "a claim whose lease ended on its way back is handed out all the same")
        .over(|operation, claim, now| operation != "claim_session" && claim.lease_ends <= now),
    broken(
        "due-comes-back-ended",
        "a claim of what was due whose lease ended on its way back is handed out all the same",
    )
    .over(|operation, claim, now| operation != "claim_due" && claim.lease_ends <= now),
    broken(
        "creation-comes-back-ended",
        "a creation hands its claim out although its lease ended on its way back",
    )
    .over(|operation, claim, now| operation != "create_session" && claim.lease_ends <= now),
    broken("commit-repeat-not-recognised", "the repeat of a commit is refused as stale, or applied again")
        .commit(|tx, fence, commit| {
            tx.row(&fence.key, |row| row.last_commit = None);
            sound::commit(tx, fence, commit)
        }),
    broken(
        "commit-repeat-answers-the-news",
        "the repeat of a commit answers how things stand, not what it answered first",
    )
    .commit(|tx, fence, commit| {
        let repeat = tx
            .row_of(&fence.key)
            .and_then(|row| row.last_commit)
            .is_some_and(|last| last.operation == commit.operation);
        let now = tx.now;
        match sound::commit(tx, fence, commit) {
            CommitOutcome::Committed(receipt) if repeat => {
                CommitOutcome::Committed(tx.row_of(&fence.key).map_or(receipt, |row| row.receipt(now)))
            }
            answer => answer,
        }
    }),
    broken(
        "stale-commit-was-always-applied",
        "a stale fence is told that its commit was applied, whether or not it was",
    )
    .commit(|tx, fence, commit| match sound::commit(tx, fence, commit) {
        CommitOutcome::StaleFence { .. } => CommitOutcome::StaleFence { applied: Applied::Yes },
        answer => answer,
    }),
    broken(
        "stale-commit-was-never-applied",
        "a stale fence is told that its commit was not applied, whether or not it was",
    )
    .commit(|tx, fence, commit| match sound::commit(tx, fence, commit) {
        CommitOutcome::StaleFence { .. } => CommitOutcome::StaleFence { applied: Applied::No },
        answer => answer,
    }),
];
