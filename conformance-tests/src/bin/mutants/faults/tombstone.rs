//! What deletions leave, and which life a request means.

use std::time::Duration;

use holdover_store::ids::Incarnation;
use holdover_store::{Deletion, Interrupt, StatusCas, StoreError, TOMBSTONE_STANDS};
use holdover_store_memory::parts::{self, Tombstones};

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "delete-leaves-no-tombstone",
        broken: "a late duplicate of a creation brings a deleted session back",
        fault: Fault {
            delete: |tx, key, deletion| {
                let answer = sound::delete(tx, key, deletion);
                *tx.tombstones = Tombstones::default();
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "tombstone-falls-at-the-next-deletion",
        broken: "a tombstone stands until another session is deleted",
        fault: Fault {
            delete: |tx, key, deletion| {
                if tx.sessions.contains_key(key) {
                    *tx.tombstones = Tombstones::default();
                }
                sound::delete(tx, key, deletion)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "tombstone-falls-after-an-hour",
        broken: "a tombstone stands for an hour",
        fault: Fault {
            create: |tx, new| {
                let later = tx.now.after(TOMBSTONE_STANDS - Duration::from_secs(3600));
                tx.tombstones.clear(usize::MAX, later);
                sound::create(tx, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "tombstone-knows-only-the-operation",
        broken: "a creation in a dead incarnation is taken if its operation is new",
        fault: Fault {
            create: |tx, new| {
                let life = Incarnation(uuid::Uuid::nil());
                let named = tx.tombstones.name(&new.key, life, &new.operation);
                let none = Tombstones::default();
                let known = if named { &*tx.tombstones } else { &none };
                parts::create(tx.sessions, known, new, tx.now)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "tombstone-knows-only-the-incarnation",
        broken: "a creation under a dead operation is taken if its incarnation is new",
        fault: Fault {
            create: |tx, new| {
                let unused = new.incarnation.0.to_string().parse().unwrap_or(new.operation.clone());
                let named = tx.tombstones.name(&new.key, new.incarnation, &unused);
                let none = Tombstones::default();
                let known = if named { &*tx.tombstones } else { &none };
                parts::create(tx.sessions, known, new, tx.now)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-sees-no-tombstone",
        broken: "a late duplicate of a fork brings a deleted fork back",
        fault: Fault {
            fork: |tx, from, at, new| parts::fork(tx.sessions, &Tombstones::default(), from, at, new, tx.now),
            ..SOUND
        },
    },
    Mutant {
        name: "delete-of-another-life",
        broken: "a deletion that names another life deletes the one that is there",
        fault: Fault {
            delete: |tx, key, deletion| sound::delete(tx, key, Deletion { incarnation: None, ..deletion }),
            ..SOUND
        },
    },
    Mutant {
        name: "interrupt-of-another-life",
        broken: "an interrupt that names another life stops the one that is there",
        fault: Fault {
            interrupt: |tx, key, interrupt| {
                let own =
                    tx.row_of(key).map(|row| row.incarnation).filter(|_| interrupt.incarnation.is_some());
                sound::interrupt(tx, key, Interrupt { incarnation: own, ..interrupt })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-of-another-life",
        broken: "a move that names another life moves the one that is there",
        fault: Fault {
            cas: |tx, key, cas| sound::cas(tx, key, StatusCas { incarnation: None, ..cas }),
            ..SOUND
        },
    },
    Mutant {
        name: "errors-name-the-wrong-field",
        broken: "the error of a creation names no field",
        fault: Fault {
            check_create: |new| {
                sound::check_create(new).map_err(|error| StoreError { detail: "no".into(), ..error })
            },
            ..SOUND
        },
    },
];
