//! Claims of due sessions: some write or return less than a claim by key does, others choose the wrong sessions.

use holdover_store::ids::{SessionKey, StateFormat};
use holdover_store::time::Timestamp;
use holdover_store::{Claim, ClaimDue, OutcomeKind, Queues, SessionStatus, Staged};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Claims due sessions, then changes each of them. `change` gets the session as it is after the claim and as it was
/// before.
fn due_with(tx: &mut Tx<'_>, claim: ClaimDue, change: fn(&mut Record, &Record)) -> Vec<Claim> {
    let before = tx.sessions.clone();
    let claims = sound::claim_due(tx, claim);
    for claim in &claims {
        if let Some(before) = before.get(&claim.fence.key) {
            tx.with(&claim.fence.key, |record| change(record, before));
        }
    }
    claims
}

/// Returns the due sessions, each with its alarm.
fn due_of(tx: &Tx<'_>, claim: &ClaimDue) -> Vec<(Timestamp, SessionKey)> {
    let tenant = claim.tenant.as_ref();
    let rows = tx.sessions.values().map(|record| &record.row);
    let due = rows.filter(|row| row.is_due(&claim.queues, claim.newest_format, tenant, tx.now));
    due.map(|row| (row.alarm.unwrap_or_default(), row.key.clone())).collect()
}

/// Claims due sessions except the hidden ones.
fn claim_but(tx: &mut Tx<'_>, claim: ClaimDue, hidden: Vec<(Timestamp, SessionKey)>) -> Vec<Claim> {
    for (_, key) in &hidden {
        tx.row(key, |row| row.alarm = Some(Timestamp::from_ms(i64::MAX)));
    }
    let claims = sound::claim_due(tx, claim);
    for (alarm, key) in hidden {
        tx.row(&key, |row| row.alarm = Some(alarm));
    }
    claims
}

/// Defines a claim of due sessions that writes one thing less.
macro_rules! writes {
    ($name:literal, $broken:literal, |$record:ident, $before:ident| $change:expr) => {
        broken($name, $broken).claim_due(|tx, claim| due_with(tx, claim, |$record, $before| $change))
    };
}

/// Defines a claim of due sessions that returns one thing less.
macro_rules! brings {
    ($name:literal, $broken:literal, |$claim:ident| $change:expr) => {
        broken($name, $broken).claim_due(|tx, claim| {
            let mut claims = sound::claim_due(tx, claim);
            for $claim in &mut claims {
                $change;
            }
            claims
        })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    brings!("due-brings-no-pending", "a claim of what is due does not bring the open calls", |claim| {
        claim.pending.clear();
    }),
    brings!("due-brings-no-staged", "a claim of what is due does not bring what is staged", |claim| {
        claim.session.staged = Staged::default();
    }),
    brings!("due-brings-no-inbox", "a claim of what is due does not bring the inbox", |claim| {
        claim.inbox.clear();
    }),
    brings!("due-brings-no-interrupt", "a claim of what is due does not bring the interrupt", |claim| {
        claim.session.interrupt = None;
    }),
    brings!(
        "due-finds-all-suspended",
        "a claim of what is due says of all that it found them suspended",
        |claim| {
            claim.found = SessionStatus::Suspended;
        }
    ),
    brings!("due-brings-no-definition", "a claim of what is due does not bring the definition", |claim| {
        claim.session.definition = holdover_store::payload::Payload::new(String::new());
    }),
    writes!(
        "due-leaves-the-dead-run-open",
        "a claim of what is due does not close the run that died",
        |record, before| {
            let places = before.runs.len();
            for run in record.runs.iter_mut().take(places) {
                if run.end.as_ref().is_some_and(|end| end.outcome == OutcomeKind::Lost) {
                    run.end = None;
                }
            }
        }
    ),
    writes!(
        "due-counts-no-attempts",
        "a claim of what is due does not count that it took over",
        |record, before| {
            record.row.attempts = before.row.attempts;
        }
    ),
    writes!("due-opens-no-run", "a claim of what is due leaves no record of its run", |record, before| {
        record.runs.truncate(before.runs.len());
    }),
    writes!(
        "due-run-has-no-parent",
        "the run of a claim of what is due names no run before it",
        |record, _before| {
            if let Some(run) = record.runs.last_mut() {
                run.parent = None;
            }
        }
    ),
    writes!("due-keeps-version", "a claim of what is due does not raise the version", |record, before| {
        record.row.version = before.row.version;
    }),
    writes!(
        "due-keeps-the-deltas",
        "a claim of what is due leaves the deltas of the run that died",
        |record, before| {
            record.row.stream = before.row.stream;
            record.deltas = before.deltas.clone();
        }
    ),
    broken("due-soonest-whoever-waits", "what is due is claimed soonest first, whosever it is").claim_due(
        |tx, claim| {
            let mut due = due_of(tx, &claim);
            due.sort();
            let count = claim.runs.len().min(due.len());
            claim_but(tx, claim, due.split_off(count))
        },
    ),
    broken("due-first-tenant-first", "tenants take no turns: the first by name comes first").claim_due(
        |tx, claim| {
            *tx.turn = None;
            sound::claim_due(tx, claim)
        },
    ),
    broken("due-turn-takes-the-latest", "a tenant whose turn it is has its latest session claimed")
        .claim_due(|tx, claim| {
            let due = due_of(tx, &claim);
            let latest = |one: &(Timestamp, SessionKey)| {
                !due.iter().any(|other| other.1.tenant == one.1.tenant && other > one)
            };
            let rest: Vec<_> = due.iter().filter(|one| !latest(one)).cloned().collect();
            if due.len() <= claim.runs.len() || due.len() - rest.len() < claim.runs.len() {
                return sound::claim_due(tx, claim);
            }
            claim_but(tx, claim, rest)
        }),
    broken("due-a-millisecond-late", "a session is due only after the instant of its alarm").claim_due(
        |tx, claim| {
            let now = tx.now;
            let at_the_instant: Vec<_> = tx
                .sessions
                .iter()
                .filter(|(_, record)| record.row.alarm == Some(now))
                .map(|(key, _)| key.clone())
                .collect();
            for key in &at_the_instant {
                tx.row(key, |row| row.alarm = Some(Timestamp::from_ms(i64::MAX)));
            }
            let claims = sound::claim_due(tx, claim);
            for key in &at_the_instant {
                tx.row(key, |row| row.alarm = Some(now));
            }
            claims
        },
    ),
    broken(
        "due-leaves-the-newest-format",
        "a worker is not given sessions of the newest format that it reads",
    )
    .claim_due(|tx, claim| {
        let newest_format = StateFormat(claim.newest_format.0.saturating_sub(1));
        sound::claim_due(tx, ClaimDue { newest_format, ..claim })
    }),
    broken("due-serves-the-first-queue", "of the queues that a worker names only the first is served")
        .claim_due(|tx, claim| {
            let queues = match claim.queues {
                Queues::Named(named) => Queues::Named(named.into_iter().take(1).collect()),
                Queues::All => Queues::All,
            };
            sound::claim_due(tx, ClaimDue { queues, ..claim })
        }),
    broken("due-serves-all-for-no-queue", "a worker that names no queue is given sessions of all").claim_due(
        |tx, claim| {
            let queues = match claim.queues {
                Queues::Named(named) if named.is_empty() => Queues::All,
                queues => queues,
            };
            sound::claim_due(tx, ClaimDue { queues, ..claim })
        },
    ),
];
