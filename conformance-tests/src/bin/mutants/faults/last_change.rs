//! The instant of the last change, by which retention and lists go.

use holdover_store::ids::SessionKey;
use holdover_store::{CasOutcome, ClaimOutcome, Delivery, ForkOutcome, InterruptOutcome};

use crate::fault::{Fault, Mutant, SOUND, Tx};
use crate::sound;

/// Does something to a session, and leaves its last change where it was.
fn leaving<R>(tx: &mut Tx<'_>, key: &SessionKey, operation: impl FnOnce(&mut Tx<'_>) -> R) -> R {
    let before = tx.row_of(key).map(|row| row.updated_at);
    let answer = operation(tx);
    if let Some(before) = before {
        tx.row(key, |row| row.updated_at = before);
    }
    answer
}

/// Counts a change of the session now.
fn touch(tx: &mut Tx<'_>, key: &SessionKey) {
    let now = tx.now;
    tx.row(key, |row| row.updated_at = now);
}

/// An operation on a key that is no change.
macro_rules! leaves {
    ($name:literal, $broken:literal, $operation:ident(key, $asked:ident)) => {
        Mutant {
            name: $name,
            broken: $broken,
            fault: Fault {
                $operation: |tx, key, $asked| leaving(tx, key, |tx| sound::$operation(tx, key, $asked)),
                ..SOUND
            },
        }
    };
    ($name:literal, $broken:literal, $operation:ident(fence, $asked:ident)) => {
        Mutant {
            name: $name,
            broken: $broken,
            fault: Fault {
                $operation: |tx, fence, $asked| {
                    leaving(tx, &fence.key, |tx| sound::$operation(tx, fence, $asked))
                },
                ..SOUND
            },
        }
    };
}

/// An operation under a fence that is always a change.
macro_rules! touches {
    ($name:literal, $broken:literal, $operation:ident) => {
        Mutant {
            name: $name,
            broken: $broken,
            fault: Fault {
                $operation: |tx, fence, asked| {
                    let answer = sound::$operation(tx, fence, asked);
                    touch(tx, &fence.key);
                    answer
                },
                ..SOUND
            },
        }
    };
}

pub(super) static MUTANTS: &[Mutant] = &[
    leaves!("cas-leaves-updated-at", "a move of the status is no change", cas(key, asked)),
    leaves!("deliver-leaves-updated-at", "a delivery is no change", deliver(key, asked)),
    leaves!("interrupt-leaves-updated-at", "a request to stop is no change", interrupt(key, asked)),
    leaves!("claim-leaves-updated-at", "a claim is no change", claim(key, asked)),
    leaves!("commit-leaves-updated-at", "a commit is no change", commit(fence, asked)),
    leaves!("renew-leaves-updated-at", "a renewal is no change", renew(fence, asked)),
    Mutant {
        name: "due-leaves-updated-at",
        broken: "a claim of what is due is no change",
        fault: Fault {
            claim_due: |tx, claim| {
                let before: Vec<_> =
                    tx.sessions.iter().map(|(key, record)| (key.clone(), record.row.updated_at)).collect();
                let claims = sound::claim_due(tx, claim);
                for (key, at) in before {
                    tx.row(&key, |row| row.updated_at = at);
                }
                claims
            },
            ..SOUND
        },
    },
    touches!("commit-repeat-moves-updated-at", "every commit that is asked for is a change", commit),
    touches!("renew-in-vain-moves-updated-at", "a renewal that extends nothing is a change", renew),
    Mutant {
        name: "interrupt-check-moves-updated-at",
        broken: "a run that asks whether it is to stop has changed the session",
        fault: Fault {
            take_interrupt: |tx, fence| {
                let answer = sound::take_interrupt(tx, fence);
                touch(tx, &fence.key);
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "duplicate-moves-updated-at",
        broken: "the repeat of a delivery is a change",
        fault: Fault {
            deliver: |tx, key, item| {
                let answer = sound::deliver(tx, key, item);
                if let Delivery::Duplicate { .. } = answer {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "conflict-moves-updated-at",
        broken: "a delivery under a key that is taken is a change",
        fault: Fault {
            deliver: |tx, key, item| {
                let answer = sound::deliver(tx, key, item);
                if let Delivery::Conflict { .. } = answer {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refused-answer-moves-updated-at",
        broken: "an answer to what is not open, or has its answer, is a change",
        fault: Fault {
            deliver: |tx, key, item| {
                let answer = sound::deliver(tx, key, item);
                if let Delivery::NotPending | Delivery::AlreadyAnswered = answer {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "interrupt-again-moves-updated-at",
        broken: "a request to stop beside one that waits, or of what rests, is a change",
        fault: Fault {
            interrupt: |tx, key, interrupt| {
                let answer = sound::interrupt(tx, key, interrupt);
                if answer != InterruptOutcome::Requested {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-again-moves-updated-at",
        broken: "the repeat of a claim, and one that is refused, is a change",
        fault: Fault {
            claim: |tx, key, claim| {
                let answer = sound::claim(tx, key, claim);
                touch(tx, key);
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "held-claim-moves-updated-at",
        broken: "a claim of what another run holds is a change",
        fault: Fault {
            claim: |tx, key, claim| {
                let answer = sound::claim(tx, key, claim);
                if let ClaimOutcome::Held { .. } = answer {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refused-cas-moves-updated-at",
        broken: "a move of the status that is refused is a change",
        fault: Fault {
            cas: |tx, key, cas| {
                let answer = sound::cas(tx, key, cas);
                if !matches!(answer, CasOutcome::Moved { .. }) {
                    touch(tx, key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "creation-again-moves-updated-at",
        broken: "the repeat of a creation, and one of a key that is taken, is a change",
        fault: Fault {
            create: |tx, new| {
                let key = new.key.clone();
                let answer = sound::create(tx, new);
                touch(tx, &key);
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-again-moves-updated-at",
        broken: "the repeat of a fork is a change",
        fault: Fault {
            fork: |tx, from, at, new| {
                let key = new.key.clone();
                let answer = sound::fork(tx, from, at, new);
                if let ForkOutcome::Forked { .. } = answer {
                    touch(tx, &key);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-moves-updated-at-of-its-source",
        broken: "to be forked is a change",
        fault: Fault {
            fork: |tx, from, at, new| {
                let answer = sound::fork(tx, from, at, new);
                touch(tx, from);
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "prune-moves-updated-at",
        broken: "to lose checkpoints is a change",
        fault: Fault {
            purge: |tx, rule| {
                let before: Vec<_> =
                    tx.sessions.iter().map(|(key, record)| (key.clone(), record.checkpoints.len())).collect();
                let report = sound::purge(tx, rule);
                for (key, checkpoints) in before {
                    if tx.record(&key).is_some_and(|record| record.checkpoints.len() < checkpoints) {
                        touch(tx, &key);
                    }
                }
                report
            },
            ..SOUND
        },
    },
];
