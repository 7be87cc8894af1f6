//! The instant of the last change, which retention and lists use.

use holdover_store::ids::SessionKey;
use holdover_store::{CasOutcome, ClaimOutcome, Delivery, ForkOutcome, InterruptOutcome};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Runs an operation, but does not update the session's last change.
fn leaving<R>(tx: &mut Tx<'_>, key: &SessionKey, operation: impl FnOnce(&mut Tx<'_>) -> R) -> R {
    let before = tx.row_of(key).map(|row| row.updated_at);
    let answer = operation(tx);
    if let Some(before) = before {
        tx.row(key, |row| row.updated_at = before);
    }
    answer
}

/// Sets the session's last change to now.
fn touch(tx: &mut Tx<'_>, key: &SessionKey) {
    let now = tx.now;
    tx.row(key, |row| row.updated_at = now);
}

/// Defines an operation on a session that does not count as a change.
macro_rules! leaves {
    ($name:literal, $broken:literal, $operation:ident(key, $asked:ident)) => {
        broken($name, $broken)
            .$operation(|tx, key, $asked| leaving(tx, key, |tx| sound::$operation(tx, key, $asked)))
    };
    ($name:literal, $broken:literal, $operation:ident(fence, $asked:ident)) => {
        broken($name, $broken).$operation(|tx, fence, $asked| {
            leaving(tx, &fence.key, |tx| sound::$operation(tx, fence, $asked))
        })
    };
}

/// Defines an operation with a fence that always counts as a change.
macro_rules! touches {
    ($name:literal, $broken:literal, $operation:ident) => {
        broken($name, $broken).$operation(|tx, fence, asked| {
            let answer = sound::$operation(tx, fence, asked);
            touch(tx, &fence.key);
            answer
        })
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    leaves!("cas-leaves-updated-at", "a move of the status is no change", cas(key, asked)),
    leaves!("deliver-leaves-updated-at", "a delivery is no change", deliver(key, asked)),
    leaves!("interrupt-leaves-updated-at", "a request to stop is no change", interrupt(key, asked)),
    leaves!("claim-leaves-updated-at", "a claim is no change", claim(key, asked)),
    leaves!("commit-leaves-updated-at", "a commit is no change", commit(fence, asked)),
    leaves!("renew-leaves-updated-at", "a renewal is no change", renew(fence, asked)),
    broken("due-leaves-updated-at", "a claim of what is due is no change").claim_due(|tx, claim| {
        let before: Vec<_> =
            tx.sessions.iter().map(|(key, record)| (key.clone(), record.row.updated_at)).collect();
        let claims = sound::claim_due(tx, claim);
        for (key, at) in before {
            tx.row(&key, |row| row.updated_at = at);
        }
        claims
    }),
    touches!("commit-repeat-moves-updated-at", "every commit that is asked for is a change", commit),
    touches!("renew-in-vain-moves-updated-at", "a renewal that extends nothing is a change", renew),
    broken(
        "interrupt-check-moves-updated-at",
        "a run that asks whether it is to stop has changed the session",
    )
    .take_interrupt(|tx, fence| {
        let answer = sound::take_interrupt(tx, fence);
        touch(tx, &fence.key);
        answer
    }),
    broken("duplicate-moves-updated-at", "the repeat of a delivery is a change").deliver(|tx, key, item| {
        let answer = sound::deliver(tx, key, item);
        if let Delivery::Duplicate { .. } = answer {
            touch(tx, key);
        }
        answer
    }),
    broken("conflict-moves-updated-at", "a delivery under a key that is taken is a change").deliver(
        |tx, key, item| {
            let answer = sound::deliver(tx, key, item);
            if let Delivery::Conflict { .. } = answer {
                touch(tx, key);
            }
            answer
        },
    ),
    broken(
        "refused-answer-moves-updated-at",
        "an answer to what is not open, or has its answer, is a change",
    )
    .deliver(|tx, key, item| {
        let answer = sound::deliver(tx, key, item);
        if let Delivery::NotPending | Delivery::AlreadyAnswered = answer {
            touch(tx, key);
        }
        answer
    }),
    broken(
        "interrupt-again-moves-updated-at",
        "a request to stop beside one that waits, or of what rests, is a change",
    )
    .interrupt(|tx, key, interrupt| {
        let answer = sound::interrupt(tx, key, interrupt);
        if answer != InterruptOutcome::Requested {
            touch(tx, key);
        }
        answer
    }),
    broken("claim-again-moves-updated-at", "the repeat of a claim, and one that is refused, is a change")
        .claim(|tx, key, claim| {
            let answer = sound::claim(tx, key, claim);
            touch(tx, key);
            answer
        }),
    broken("held-claim-moves-updated-at", "a claim of what another run holds is a change").claim(
        |tx, key, claim| {
            let answer = sound::claim(tx, key, claim);
            if let ClaimOutcome::Held { .. } = answer {
                touch(tx, key);
            }
            answer
        },
    ),
    broken("refused-cas-moves-updated-at", "a move of the status that is refused is a change").cas(
        |tx, key, cas| {
            let answer = sound::cas(tx, key, cas);
            if !matches!(answer, CasOutcome::Moved { .. }) {
                touch(tx, key);
            }
            answer
        },
    ),
    broken(
        "creation-again-moves-updated-at",
        "the repeat of a creation, and one of a key that is taken, is a change",
    )
    .create(|tx, new| {
        let key = new.key.clone();
        let answer = sound::create(tx, new);
        touch(tx, &key);
        answer
    }),
    broken("fork-again-moves-updated-at", "the repeat of a fork is a change").fork(|tx, from, at, new| {
        let key = new.key.clone();
        let answer = sound::fork(tx, from, at, new);
        if let ForkOutcome::Forked { .. } = answer {
            touch(tx, &key);
        }
        answer
    }),
    broken("fork-moves-updated-at-of-its-source", "to be forked is a change").fork(|tx, from, at, new| {
        let answer = sound::fork(tx, from, at, new);
        touch(tx, from);
        answer
    }),
    broken("prune-moves-updated-at", "to lose checkpoints is a change").purge(|tx, rule| {
        let before: Vec<_> =
            tx.sessions.iter().map(|(key, record)| (key.clone(), record.checkpoints.len())).collect();
        let report = sound::purge(tx, rule);
        for (key, checkpoints) in before {
            if tx.record(&key).is_some_and(|record| record.checkpoints.len() < checkpoints) {
                touch(tx, &key);
            }
        }
        report
    }),
];
