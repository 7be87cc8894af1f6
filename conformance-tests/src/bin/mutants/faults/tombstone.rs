//! The tombstones of deletions, and the life that a request names.

use std::time::Duration;

use holdover_store::ids::Incarnation;
use holdover_store::{Deletion, Interrupt, StatusCas, StoreError, TOMBSTONE_STANDS};
use holdover_store_memory::parts::{self, Tombstones};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("delete-leaves-no-tombstone", "a late duplicate of a creation brings a deleted session back")
        .delete(|tx, key, deletion| {
            let answer = sound::delete(tx, key, deletion);
            *tx.tombstones = Tombstones::default();
            answer
        }),
    broken("tombstone-falls-at-the-next-deletion", "a tombstone stands until another session is deleted")
        .delete(|tx, key, deletion| {
            if tx.sessions.contains_key(key) {
                *tx.tombstones = Tombstones::default();
            }
            sound::delete(tx, key, deletion)
        }),
    broken("tombstone-falls-after-an-hour", "a tombstone stands for an hour").create(|tx, new| {
        let later = tx.now.after(TOMBSTONE_STANDS - Duration::from_secs(3600));
        tx.tombstones.clear(usize::MAX, later);
        sound::create(tx, new)
    }),
    broken(
        "tombstone-knows-only-the-operation",
        "a creation in a dead incarnation is taken if its operation is new",
    )
    .create(|tx, new| {
        let life = Incarnation(uuid::Uuid::nil());
        let named = tx.tombstones.name(&new.key, life, &new.operation);
        let none = Tombstones::default();
        let known = if named { &*tx.tombstones } else { &none };
        parts::create(tx.sessions, known, new, tx.now)
    }),
    broken(
        "tombstone-knows-only-the-incarnation",
        "a creation under a dead operation is taken if its incarnation is new",
    )
    .create(|tx, new| {
        let unused = new.incarnation.0.to_string().parse().unwrap_or(new.operation.clone());
        let named = tx.tombstones.name(&new.key, new.incarnation, &unused);
        let none = Tombstones::default();
        let known = if named { &*tx.tombstones } else { &none };
        parts::create(tx.sessions, known, new, tx.now)
    }),
    broken("fork-sees-no-tombstone", "a late duplicate of a fork brings a deleted fork back")
        .fork(|tx, from, at, new| parts::fork(tx.sessions, &Tombstones::default(), from, at, new, tx.now)),
    broken("delete-of-another-life", "a deletion that names another life deletes the one that is there")
        .delete(|tx, key, deletion| sound::delete(tx, key, Deletion { incarnation: None, ..deletion })),
    broken("interrupt-of-another-life", "an interrupt that names another life stops the one that is there")
        .interrupt(|tx, key, interrupt| {
            let own = tx.row_of(key).map(|row| row.incarnation).filter(|_| interrupt.incarnation.is_some());
            sound::interrupt(tx, key, Interrupt { incarnation: own, ..interrupt })
        }),
    broken("cas-of-another-life", "a move that names another life moves the one that is there")
        .cas(|tx, key, cas| sound::cas(tx, key, StatusCas { incarnation: None, ..cas })),
    broken("errors-name-the-wrong-field", "the error of a creation names no field").check_create(|new| {
        sound::check_create(new).map_err(|error| StoreError { detail: "no".into(), ..error })
    }),
];
