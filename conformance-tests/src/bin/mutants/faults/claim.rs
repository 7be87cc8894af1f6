//! Claims of a session.

use std::time::Duration;

use holdover_store::ids::StateFormat;
use holdover_store::{ClaimDue, ClaimOne, ClaimOutcome, Queues};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("claim-keeps-version", "a claim does not raise the version").claim(|tx, key, claim| {
        let before = tx.row_of(key).map(|row| row.version);
        let mut answer = sound::claim(tx, key, claim);
        if let (ClaimOutcome::Claimed(claim), Some(version)) = (&mut answer, before) {
            claim.session.version = version;
            tx.row(key, |row| row.version = version);
        }
        answer
    }),
    broken("claim-ignores-the-holder", "a claim takes a session whose lease still runs").claim(
        |tx, key, claim| {
            let now = tx.now;
            tx.row(key, |row| {
                let repeat = row.last_claim.as_ref() == Some(&claim.run);
                if let Some(lease) = row.lease.as_mut().filter(|_| !repeat) {
                    lease.ends = lease.ends.min(now);
                }
            });
            sound::claim(tx, key, claim)
        },
    ),
    broken("claim-ignores-named-version", "a claim does not look at the version that it names")
        .claim(|tx, key, claim| sound::claim(tx, key, ClaimOne { expected_version: None, ..claim })),
    broken("claim-items-before-the-check", "the items of a claim stay when the claim is refused").claim(
        |tx, key, claim| {
            for item in &claim.items {
                let _ = sound::deliver(tx, key, item.clone());
            }
            sound::claim(tx, key, ClaimOne { items: Vec::new(), ..claim })
        },
    ),
    broken("claim-drops-its-items", "the items of a claim are dropped")
        .claim(|tx, key, claim| sound::claim(tx, key, ClaimOne { items: Vec::new(), ..claim })),
    broken("claim-repeat-not-recognised", "the repeat of a claim is another claim").claim(
        |tx, key, claim| {
            tx.row(key, |row| row.last_claim = None);
            sound::claim(tx, key, claim)
        },
    ),
    broken("claim-repeat-begins-anew", "the repeat of a claim whose lease has ended is another claim").claim(
        |tx, key, claim| match sound::claim(tx, key, claim.clone()) {
            ClaimOutcome::LeaseEnded => {
                tx.row(key, |row| row.last_claim = None);
                sound::claim(tx, key, claim)
            }
            answer => answer,
        },
    ),
    broken("claim-brings-no-pending", "a claim does not bring the open calls").claim(|tx, key, claim| {
        let mut answer = sound::claim(tx, key, claim);
        if let ClaimOutcome::Claimed(claim) = &mut answer {
            claim.pending.clear();
        }
        answer
    }),
    broken("claim-brings-no-staged", "a claim does not bring what is staged").claim(|tx, key, claim| {
        let mut answer = sound::claim(tx, key, claim);
        if let ClaimOutcome::Claimed(claim) = &mut answer {
            claim.session.staged = holdover_store::Staged::default();
        }
        answer
    }),
    broken("claim-drains-the-inbox", "what a claim brings is consumed at once").claim(|tx, key, claim| {
        let answer = sound::claim(tx, key, claim);
        if matches!(answer, ClaimOutcome::Claimed(_)) {
            tx.with(key, |record| record.inbox.clear());
        }
        answer
    }),
    broken(
        "claim-of-nothing-creates",
        "claiming or reading an unknown session answers as if another had been aborted",
    )
    .claim(|tx, key, claim| match sound::claim(tx, key, claim) {
        ClaimOutcome::NotFound => ClaimOutcome::Aborted,
        answer => answer,
    }),
    broken(
        "epoch-not-raised-after-release",
        "a claim of a released session uses the epoch of the run before",
    )
    .claim(|tx, key, claim| {
        tx.row(key, |row| {
            let repeat = row.last_claim.as_ref() == Some(&claim.run);
            if row.lease.is_none() && row.epoch.0 > 1 && !repeat {
                row.epoch.0 -= 1;
            }
        });
        sound::claim(tx, key, claim)
    }),
    broken("lease-ends-too-late", "a session can be claimed only some time after its lease has ended").claim(
        |tx, key, claim| {
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
    ),
    broken("one-holder-in-the-store", "no session can be claimed while another is held").claim(
        |tx, key, claim| {
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
    ),
    broken("due-ignores-queue", "a worker is given sessions of queues that it does not serve")
        .claim_due(|tx, claim| sound::claim_due(tx, ClaimDue { queues: Queues::All, ..claim })),
    broken("due-ignores-format", "a worker is given sessions whose state it cannot read").claim_due(
        |tx, claim| sound::claim_due(tx, ClaimDue { newest_format: StateFormat(u32::MAX), ..claim }),
    ),
    broken("format-of-the-creation", "the format of a session stays that of its creation").commit(
        |tx, fence, mut commit| {
            let format = tx.row_of(&fence.key).map(|row| row.format);
            if let (Some(state), Some(format)) = (&mut commit.state, format) {
                state.format = format;
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("due-one-too-many", "one more due session is claimed than was asked for").claim_due(
        |tx, mut claim| {
            if let Some(extra) = claim.runs.first().and_then(|run| format!("{run}-more").parse().ok()) {
                claim.runs.push(extra);
            }
            sound::claim_due(tx, claim)
        },
    ),
    broken("due-in-any-order", "due sessions are claimed by key, not by alarm").claim_due(|tx, claim| {
        let now = tx.now;
        let due = |alarm: &holdover_store::time::Timestamp| *alarm <= now;
        let alarms: Vec<_> = tx.sessions.values().map(|record| record.row.alarm).collect();
        for record in tx.sessions.values_mut().filter(|record| record.row.alarm.as_ref().is_some_and(due)) {
            record.row.alarm = Some(now);
        }
        let claims = sound::claim_due(tx, claim);
        for (record, alarm) in tx.sessions.values_mut().zip(alarms) {
            if !claims.iter().any(|claim| claim.fence.key == record.row.key) {
                record.row.alarm = alarm;
            }
        }
        claims
    }),
    broken("due-a-second-early", "a session is claimed a second before its alarm").claim_due(|tx, claim| {
        tx.now = tx.now.after(Duration::from_secs(1));
        sound::claim_due(tx, claim)
    }),
    broken("due-interrupt-needs-queue", "a session that is asked to stop is due in its own queue only")
        .claim_due(|tx, claim| {
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
        }),
    broken("due-stays-due", "a claimed session stays due, for itself").claim_due(|tx, claim| {
        let now = tx.now;
        for record in tx.sessions.values_mut() {
            let row = &mut record.row;
            // Only a session that was woken during a run: the item's alarm overrides the lease.
            if let Some(lease) = row.lease.as_mut().filter(|_| row.unseen.urgent) {
                lease.ends = lease.ends.min(now);
                row.alarm = Some(now);
            }
        }
        sound::claim_due(tx, claim)
    }),
    broken(
        "due-stops-at-a-stranger",
        "the claim of due sessions ends at the first that the worker does not serve",
    )
    .claim_due(|tx, claim| {
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
    }),
];
