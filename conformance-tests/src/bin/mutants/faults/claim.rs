//! Claiming a session.

use std::time::Duration;

use holdover_store::ids::StateFormat;
use holdover_store::{ClaimDue, ClaimOne, ClaimOutcome, Queues};

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "claim-keeps-version",
        broken: "a claim does not raise the version",
        fault: Fault {
            claim: |tx, key, claim| {
                let before = tx.row_of(key).map(|row| row.version);
                let mut answer = sound::claim(tx, key, claim);
                if let (ClaimOutcome::Claimed(claim), Some(version)) = (&mut answer, before) {
                    claim.session.version = version;
                    tx.row(key, |row| row.version = version);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-ignores-the-holder",
        broken: "a claim takes a session whose lease still runs",
        fault: Fault {
            claim: |tx, key, claim| {
                let now = tx.now;
                tx.row(key, |row| {
                    let repeat = row.last_claim.as_ref() == Some(&claim.run);
                    if let Some(lease) = row.lease.as_mut().filter(|_| !repeat) {
                        lease.ends = lease.ends.min(now);
                    }
                });
                sound::claim(tx, key, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-ignores-named-version",
        broken: "a claim does not look at the version that it names",
        fault: Fault {
            claim: |tx, key, claim| sound::claim(tx, key, ClaimOne { expected_version: None, ..claim }),
            ..SOUND
        },
    },
    Mutant {
        name: "claim-items-before-the-check",
        broken: "the items of a claim stay when the claim is refused",
        fault: Fault {
            claim: |tx, key, claim| {
                for item in &claim.items {
                    let _ = sound::deliver(tx, key, item.clone());
                }
                sound::claim(tx, key, ClaimOne { items: Vec::new(), ..claim })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-drops-its-items",
        broken: "the items of a claim are dropped",
        fault: Fault {
            claim: |tx, key, claim| sound::claim(tx, key, ClaimOne { items: Vec::new(), ..claim }),
            ..SOUND
        },
    },
    Mutant {
        name: "claim-repeat-not-recognised",
        broken: "the repeat of a claim is another claim",
        fault: Fault {
            claim: |tx, key, claim| {
                tx.row(key, |row| row.last_claim = None);
                sound::claim(tx, key, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-repeat-begins-anew",
        broken: "the repeat of a claim whose lease has ended is another claim",
        fault: Fault {
            claim: |tx, key, claim| match sound::claim(tx, key, claim.clone()) {
                ClaimOutcome::LeaseEnded => {
                    tx.row(key, |row| row.last_claim = None);
                    sound::claim(tx, key, claim)
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-brings-no-pending",
        broken: "a claim does not bring the open calls",
        fault: Fault {
            claim: |tx, key, claim| {
                let mut answer = sound::claim(tx, key, claim);
                if let ClaimOutcome::Claimed(claim) = &mut answer {
                    claim.pending.clear();
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-brings-no-staged",
        broken: "a claim does not bring what is staged",
        fault: Fault {
            claim: |tx, key, claim| {
                let mut answer = sound::claim(tx, key, claim);
                if let ClaimOutcome::Claimed(claim) = &mut answer {
                    claim.session.staged = holdover_store::Staged::default();
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-drains-the-inbox",
        broken: "what a claim brings is consumed at once",
        fault: Fault {
            claim: |tx, key, claim| {
                let answer = sound::claim(tx, key, claim);
                if matches!(answer, ClaimOutcome::Claimed(_)) {
                    tx.with(key, |record| record.inbox.clear());
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-of-nothing-creates",
        broken: "claiming or reading an unknown session answers as if another had been aborted",
        fault: Fault {
            claim: |tx, key, claim| match sound::claim(tx, key, claim) {
                ClaimOutcome::NotFound => ClaimOutcome::Aborted,
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "epoch-not-raised-after-release",
        broken: "a claim of a released session uses the epoch of the run before",
        fault: Fault {
            claim: |tx, key, claim| {
                tx.row(key, |row| {
                    let repeat = row.last_claim.as_ref() == Some(&claim.run);
                    if row.lease.is_none() && row.epoch.0 > 1 && !repeat {
                        row.epoch.0 -= 1;
                    }
                });
                sound::claim(tx, key, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "lease-ends-too-late",
        broken: "a session can be claimed only some time after its lease has ended",
        fault: Fault {
            claim: |tx, key, claim| {
                let now = tx.now;
                let ended = tx.row_of(key).and_then(|row| Some((row.epoch, row.version, row.lease?)));
                match ended {
                    Some((epoch, version, lease))
                        if lease.ends <= now && now < lease.ends.after(Duration::from_secs(1)) =>
                    {
                        ClaimOutcome::Held { worker: lease.worker, epoch, version, lease_ends: lease.ends }
                    }
                    Some(_) | None => sound::claim(tx, key, claim),
                }
            },
            ..SOUND
        },
    },
    Mutant {
        name: "one-holder-in-the-store",
        broken: "no session can be claimed while another is held",
        fault: Fault {
            claim: |tx, key, claim| {
                let now = tx.now;
                let held = tx.sessions.values().find_map(|record| {
                    let lease = record.row.lease.as_ref().filter(|lease| lease.ends > now)?;
                    (record.row.key != *key).then(|| (lease.clone(), record.row.epoch, record.row.version))
                });
                match held {
                    Some((lease, epoch, version)) if tx.sessions.contains_key(key) => {
                        ClaimOutcome::Held { worker: lease.worker, epoch, version, lease_ends: lease.ends }
                    }
                    Some(_) | None => sound::claim(tx, key, claim),
                }
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-ignores-queue",
        broken: "a worker is given sessions of queues that it does not serve",
        fault: Fault {
            claim_due: |tx, claim| sound::claim_due(tx, ClaimDue { queues: Queues::All, ..claim }),
            ..SOUND
        },
    },
    Mutant {
        name: "due-ignores-format",
        broken: "a worker is given sessions whose state it cannot read",
        fault: Fault {
            claim_due: |tx, claim| {
                sound::claim_due(tx, ClaimDue { newest_format: StateFormat(u32::MAX), ..claim })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "format-of-the-creation",
        broken: "the format of a session stays that of its creation",
        fault: Fault {
            commit: |tx, fence, mut commit| {
                let format = tx.row_of(&fence.key).map(|row| row.format);
                if let (Some(state), Some(format)) = (&mut commit.state, format) {
                    state.format = format;
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-one-too-many",
        broken: "one more due session is claimed than was asked for",
        fault: Fault {
            claim_due: |tx, mut claim| {
                if let Some(extra) = claim.runs.first().and_then(|run| format!("{run}-more").parse().ok()) {
                    claim.runs.push(extra);
                }
                sound::claim_due(tx, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-in-any-order",
        broken: "due sessions are claimed by key, not by alarm",
        fault: Fault {
            claim_due: |tx, claim| {
                let now = tx.now;
                let due = |alarm: &holdover_store::time::Timestamp| *alarm <= now;
                let alarms: Vec<_> = tx.sessions.values().map(|record| record.row.alarm).collect();
                for record in
                    tx.sessions.values_mut().filter(|record| record.row.alarm.as_ref().is_some_and(due))
                {
                    record.row.alarm = Some(now);
                }
                let claims = sound::claim_due(tx, claim);
                for (record, alarm) in tx.sessions.values_mut().zip(alarms) {
                    if !claims.iter().any(|claim| claim.fence.key == record.row.key) {
                        record.row.alarm = alarm;
                    }
                }
                claims
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-a-second-early",
        broken: "a session is claimed a second before its alarm",
        fault: Fault {
            claim_due: |tx, claim| {
                tx.now = tx.now.after(Duration::from_secs(1));
                sound::claim_due(tx, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-interrupt-needs-queue",
        broken: "a session that is asked to stop is due in its own queue only",
        fault: Fault {
            claim_due: |tx, claim| {
                let alien = |queue| !claim.queues.serves(queue);
                let hidden: Vec<_> = tx
                    .sessions
                    .keys()
                    .filter(|key| {
                        tx.sessions[*key].row.interrupt.is_some() && alien(&tx.sessions[*key].row.queue)
                    })
                    .cloned()
                    .collect();
                let hidden: Vec<_> =
                    hidden.into_iter().filter_map(|key| tx.sessions.remove_entry(&key)).collect();
                let claims = sound::claim_due(tx, claim);
                tx.sessions.extend(hidden);
                claims
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-stays-due",
        broken: "a claimed session stays due, for itself",
        fault: Fault {
            claim_due: |tx, claim| {
                let now = tx.now;
                for record in tx.sessions.values_mut() {
                    let row = &mut record.row;
                    // Only who was woken while a run held it: the item's alarm beats the lease.
                    if let Some(lease) = row.lease.as_mut().filter(|_| row.unseen.urgent) {
                        lease.ends = lease.ends.min(now);
                        row.alarm = Some(now);
                    }
                }
                sound::claim_due(tx, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-stops-at-a-stranger",
        broken: "the claim of due sessions ends at the first that the worker does not serve",
        fault: Fault {
            claim_due: |tx, claim| {
                let now = tx.now;
                let mut due: Vec<_> = tx
                    .sessions
                    .values()
                    .filter(|record| record.row.is_due(&Queues::All, StateFormat(u32::MAX), None, now))
                    .map(|record| (record.row.alarm, record.row.key.clone()))
                    .collect();
                due.sort();
                let first = due.first().and_then(|(_, key)| tx.sessions.get(key));
                let served = first.is_none_or(|record| {
                    record.row.is_due(&claim.queues, claim.newest_format, claim.tenant.as_ref(), now)
                });
                if served { sound::claim_due(tx, claim) } else { Vec::new() }
            },
            ..SOUND
        },
    },
];
