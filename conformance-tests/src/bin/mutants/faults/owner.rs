//! Edge cases of the rules for ownership and wake-up of a session.

use std::time::Duration;

use holdover_store::ids::{Epoch, Fence};
use holdover_store::time::Timestamp;
use holdover_store::{CreateOutcome, Lease, NewSession, Release, SessionStatus, Start};

use super::committed;
use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Creates a session. The answer to a repeat brings the claim of the session's current owner, whichever run that is.
fn with_any_claim(tx: &mut Tx<'_>, new: NewSession) -> CreateOutcome {
    let (key, now) = (new.key.clone(), tx.now);
    let mut outcome = sound::create(tx, new);
    if let (CreateOutcome::Created { claim, .. }, Some(record)) = (&mut outcome, tx.record(&key))
        && record.row.lease.as_ref().is_some_and(|lease| lease.ends > now)
    {
        *claim = record.claim(now).map(Box::new);
    }
    outcome
}

/// Returns the epoch of the session if a takeover was given back, so that the session is active without an owner.
fn given_back(tx: &Tx<'_>, fence: &Fence) -> Option<Epoch> {
    let row = tx.row_of(&fence.key)?;
    let nobodys = row.status == SessionStatus::Active && row.lease.is_none();
    (nobodys && row.incarnation == fence.incarnation).then_some(row.epoch)
}

/// Gives the lease back to the run that took the session over and then gave it back.
fn let_go_on(tx: &mut Tx<'_>, fence: &Fence) {
    if given_back(tx, fence) == Some(fence.epoch) {
        let now = tx.now;
        tx.with(&fence.key, |record| {
            let worker = record.runs.last().map(|run| run.worker.clone());
            record.row.lease = worker.map(|worker| Lease { worker, ends: now, granted_ms: 0 });
        });
    }
}

/// Gives the lease back to the run that was taken over, once the takeover was given back.
fn let_go_back(tx: &mut Tx<'_>, fence: &Fence) {
    if given_back(tx, fence) == Some(fence.epoch.next()) {
        tx.row(&fence.key, |row| row.epoch = fence.epoch);
        let_go_on(tx, fence);
    }
}

/// Defines a commit after which a waiting session is due only if exactly the required number of items is unseen.
macro_rules! due_by_exactly {
    ($name:literal, $broken:literal, $release:pat => $named:expr) => {
        broken($name, $broken).commit(|tx, fence, commit| {
            let named: Option<Option<Timestamp>> = match &commit.release {
                Some($release) => Some(*$named),
                _ => None,
            };
            let answer = sound::commit(tx, fence, commit);
            if let (true, Some(named)) = (committed(&answer), named) {
                tx.row(&fence.key, |row| {
                    let waits = row.status == SessionStatus::Suspended && row.wake_on > 0;
                    let by_items_alone = !row.unseen.urgent && row.interrupt.is_none();
                    if waits && by_items_alone && row.unseen.counted > u64::from(row.wake_on) {
                        row.alarm = named;
                    }
                });
            }
            answer
        })
    };
}

/// Defines a commit that extends the lease if `extends` is true. `granted` is the length of the lease, and `left` the
/// rest of it, in milliseconds.
macro_rules! lease_kept {
    ($name:literal, $broken:literal, |$granted:ident, $left:ident| $extends:expr) => {
        broken($name, $broken).commit(|tx, fence, commit| {
            let before = tx.row_of(&fence.key).and_then(|row| row.lease);
            let releases = commit.release.is_some();
            let answer = sound::commit(tx, fence, commit);
            if let (true, false, Some(held)) = (committed(&answer), releases, before) {
                let now = tx.now;
                let $granted = held.granted_ms;
                let $left = u64::try_from(now.until(held.ends).as_millis()).unwrap_or(u64::MAX);
                let ends = if $extends { now.after(Duration::from_millis($granted)) } else { held.ends };
                tx.row(&fence.key, |row| {
                    row.lease = Some(Lease { ends, ..held });
                    row.alarm = Some(ends);
                });
            }
            answer
        })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "created-again-with-any-claim",
        "a repeated creation answers with the claim of whoever holds the session",
    )
    .create(with_any_claim),
    broken(
        "claimed-at-creation-again-with-any-claim",
        "a repeated creation that asked for a claim answers with that of another run",
    )
    .create(|tx, new| match new.start {
        Start::Claimed(_) => with_any_claim(tx, new),
        Start::WithItems | Start::At(_) => sound::create(tx, new),
    }),
    due_by_exactly!("wake-on-exactly-at-release", "more unseen items than a session is left to wait for do not wake it", Release::To { deadline, .. } => deadline),
    due_by_exactly!("wake-on-exactly-at-give-back", "more unseen items than a session waits for do not wake it when its claim is given back", Release::GiveBack { alarm } => alarm),
    broken("takeover-given-back-still-commits", "a run that gave a takeover back may commit").commit(
        |tx, fence, commit| {
            let is_repeat = tx
                .row_of(&fence.key)
                .and_then(|row| row.last_commit)
                .is_some_and(|last| last.operation == commit.operation);
            if !is_repeat {
                let_go_on(tx, fence);
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken(
        "taken-over-commits-once-given-back",
        "a run that was taken over may commit once the takeover was given back",
    )
    .commit(|tx, fence, commit| {
        let_go_back(tx, fence);
        sound::commit(tx, fence, commit)
    }),
    broken("takeover-given-back-still-stages", "a run that gave a takeover back may stage").stage(
        |tx, fence, staging| {
            let_go_on(tx, fence);
            sound::stage(tx, fence, staging)
        },
    ),
    broken("takeover-given-back-still-streams", "a run that gave a takeover back may append deltas")
        .append_deltas(|tx, fence, batch| {
            let_go_on(tx, fence);
            sound::append_deltas(tx, fence, batch)
        }),
    broken("takeover-given-back-still-renews", "a run that gave a takeover back may renew its lease").renew(
        |tx, fence, lease| {
            let_go_on(tx, fence);
            sound::renew(tx, fence, lease)
        },
    ),
    broken("takeover-given-back-still-asks", "a run that gave a takeover back is handed the interrupt")
        .take_interrupt(|tx, fence| {
            let_go_on(tx, fence);
            sound::take_interrupt(tx, fence)
        }),
    lease_kept!(
        "lease-extended-at-half",
        "a commit extends a lease of which exactly half is left",
        |granted, left| left * 2 <= granted
    ),
    lease_kept!(
        "half-a-lease-in-whole-milliseconds",
        "half of a lease of an odd number of milliseconds is rounded down",
        |granted, left| left < granted / 2
    ),
];
