//! Stores that use the clock of their process in place of the store's clock. At first both show the same instant. The
//! clock of the process then stands still, because no real time passes while a case moves the store's clock. The
//! variant that is ahead shows one year more.

use std::time::Duration;

use holdover_store::ids::SessionKey;
use holdover_store::time::Timestamp;
use holdover_store::{Claim, ClaimDue, ClaimOne, ClaimOutcome};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

const YEAR: Duration = Duration::from_secs(365 * 86_400);

/// A function that returns the time of the process's clock.
type Shows = fn(&Tx<'_>) -> Timestamp;

fn right(tx: &Tx<'_>) -> Timestamp {
    tx.process
}

fn ahead(tx: &Tx<'_>) -> Timestamp {
    tx.process.after(YEAR)
}

/// Changes a claim so that its lease begins at the time of the process's clock.
fn grant(tx: &mut Tx<'_>, claim: &mut Claim, lease: Duration, shows: Shows) {
    let ends = shows(tx).after(lease);
    claim.lease_ends = ends;
    claim.session.alarm = Some(ends);
    if let Some(held) = &mut claim.session.lease {
        held.ends = ends;
    }
    tx.row(&claim.fence.key, |row| {
        row.alarm = Some(ends);
        if let Some(held) = &mut row.lease {
            held.ends = ends;
        }
    });
}

fn granted(tx: &mut Tx<'_>, key: &SessionKey, claim: ClaimOne, shows: Shows) -> ClaimOutcome {
    let repeat = tx.row_of(key).is_some_and(|row| row.last_claim.as_ref() == Some(&claim.run));
    let lease = claim.lease;
    let mut answer = sound::claim(tx, key, claim);
    if let (ClaimOutcome::Claimed(claim), false) = (&mut answer, repeat) {
        grant(tx, claim, lease, shows);
    }
    answer
}

fn granted_due(tx: &mut Tx<'_>, due: ClaimDue, shows: Shows) -> Vec<Claim> {
    let lease = due.lease;
    let mut claims = sound::claim_due(tx, due);
    for claim in &mut claims {
        grant(tx, claim, lease, shows);
    }
    claims
}

/// Claims a session, but judges by the process's clock whether the lease is over.
fn ended(tx: &mut Tx<'_>, key: &SessionKey, claim: ClaimOne, shows: Shows) -> ClaimOutcome {
    let (now, process) = (tx.now, shows(tx));
    let repeat = tx.row_of(key).is_some_and(|row| row.last_claim.as_ref() == Some(&claim.run));
    let held = tx.row_of(key).and_then(|row| Some((row.epoch, row.version, row.lease?)));
    match held.filter(|_| !repeat) {
        Some((epoch, version, lease)) if lease.ends > process => {
            ClaimOutcome::Held { worker: lease.worker, epoch, version, lease_ends: lease.ends }
        }
        Some(_) => {
            tx.row(key, |row| {
                if let Some(lease) = &mut row.lease {
                    lease.ends = lease.ends.min(now);
                }
            });
            sound::claim(tx, key, claim)
        }
        None => sound::claim(tx, key, claim),
    }
}

/// Claims due sessions, but judges by the process's clock whether an alarm has rung.
fn rung(tx: &mut Tx<'_>, claim: ClaimDue, shows: Shows) -> Vec<Claim> {
    let (now, process) = (tx.now, shows(tx));
    let mut alarms = Vec::new();
    for record in tx.sessions.values_mut() {
        let row = &mut record.row;
        alarms.push((row.key.clone(), row.alarm));
        row.alarm =
            row.alarm.map(|alarm| if alarm <= process { alarm.min(now) } else { alarm.max(now.after(YEAR)) });
    }
    let claims = sound::claim_due(tx, claim);
    for (key, alarm) in
        alarms.into_iter().filter(|(key, _)| claims.iter().all(|claim| claim.fence.key != *key))
    {
        tx.row(&key, |row| row.alarm = alarm);
    }
    claims
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("lease-granted-by-the-process", "a claim's lease runs from what the clock of its process shows")
        .claim(|tx, key, claim| granted(tx, key, claim, right))
        .claim_due(|tx, due| granted_due(tx, due, right)),
    broken(
        "lease-granted-by-a-process-ahead",
        "a claim's lease runs from what the clock of its process shows, which is ahead",
    )
    .claim(|tx, key, claim| granted(tx, key, claim, ahead))
    .claim_due(|tx, due| granted_due(tx, due, ahead)),
    broken(
        "lease-ended-by-the-process",
        "whether a lease has ended is judged by the clock of the process that claims",
    )
    .claim(|tx, key, claim| ended(tx, key, claim, right)),
    broken(
        "lease-ended-by-a-process-ahead",
        "whether a lease has ended is judged by the clock of the process that claims, which is ahead",
    )
    .claim(|tx, key, claim| ended(tx, key, claim, ahead)),
    broken(
        "alarm-judged-by-the-process",
        "whether an alarm has rung is judged by the clock of the process that claims",
    )
    .claim_due(|tx, due| rung(tx, due, right)),
    broken(
        "alarm-judged-by-a-process-ahead",
        "whether an alarm has rung is judged by the clock of the process that claims, which is ahead",
    )
    .claim_due(|tx, due| rung(tx, due, ahead)),
];
