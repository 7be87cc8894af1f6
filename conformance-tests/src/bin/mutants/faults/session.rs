//! Creation, status moves and deletion of a session.

use holdover_store::{
    CasOutcome, CreateOutcome, DeleteMode, DeleteOutcome, Deletion, NewSession, SessionStatus, Start,
    StatusCas,
};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("cas-ignores-version", "a move of the status does not look at the version").cas(|tx, key, cas| {
        let version = tx.row_of(key).map_or(cas.expected_version, |row| row.version);
        sound::cas(tx, key, StatusCas { expected_version: version, ..cas })
    }),
    broken("cas-allows-any-move", "any status may be moved to any other").cas(
        |tx, key, cas| match sound::cas(tx, key, cas.clone()) {
            CasOutcome::NotAllowed { to, .. } => {
                tx.row(key, |row| {
                    row.status = to;
                    row.version = row.version.next();
                });
                CasOutcome::Moved { version: cas.expected_version.next() }
            }
            answer => answer,
        },
    ),
    broken("cas-keeps-version", "a move of the status does not raise the version").cas(|tx, key, cas| {
        match sound::cas(tx, key, cas.clone()) {
            CasOutcome::Moved { .. } => {
                tx.row(key, |row| row.version = cas.expected_version);
                CasOutcome::Moved { version: cas.expected_version }
            }
            answer => answer,
        }
    }),
    broken("cas-sets-no-alarm", "a session that is moved to suspended is not due").cas(|tx, key, cas| {
        let answer = sound::cas(tx, key, cas);
        if matches!(answer, CasOutcome::Moved { .. }) {
            tx.row(key, |row| row.alarm = None);
        }
        answer
    }),
    broken("cas-items-before-the-check", "the items of a move stay when the move is refused").cas(
        |tx, key, cas| {
            for item in &cas.items {
                let _ = sound::deliver(tx, key, item.clone());
            }
            sound::cas(tx, key, StatusCas { items: Vec::new(), ..cas })
        },
    ),
    broken("create-drops-empty-labels", "a label without a value is not kept").create(|tx, mut new| {
        new.labels.0.retain(|_, value| !value.is_empty());
        sound::create(tx, new)
    }),
    broken("create-overwrites", "creating a session that exists replaces it").create(|tx, new| {
        if tx.row_of(&new.key).is_some_and(|row| row.created_by != new.operation) {
            tx.sessions.remove(&new.key);
        }
        sound::create(tx, new)
    }),
    broken("create-repeat-is-refused", "a repeat of a creation is not recognised").create(|tx, new| {
        tx.row(&new.key, |row| {
            row.created_by = row.key.id.as_str().parse().unwrap_or(row.created_by.clone())
        });
        sound::create(tx, new)
    }),
    broken("create-items-later", "the first items come in a second transaction").create(|tx, new| {
        let (key, items) = (new.key.clone(), new.items.clone());
        let fresh = tx.row_of(&key).is_none();
        let answer = sound::create(tx, NewSession { items: Vec::new(), ..new });
        if fresh {
            tx.then(move |tx| {
                for item in items {
                    let _ = sound::deliver(tx, &key, item);
                }
            });
        }
        answer
    }),
    broken(
        "create-then-claim",
        "a session that is created claimed is first seen at rest, and claimed in a second transaction",
    )
    .create(|tx, new| {
        let key = new.key.clone();
        if tx.row_of(&key).is_some() || !matches!(new.start, Start::Claimed(_)) {
            return sound::create(tx, new);
        }
        let _ = sound::create(tx, NewSession { start: Start::WithItems, ..new.clone() });
        let bare = tx.sessions.remove(&key);
        let answer = sound::create(tx, new);
        let whole = tx.sessions.remove(&key);
        tx.sessions.extend(bare.map(|bare| (key.clone(), bare)));
        tx.then(move |tx| tx.sessions.extend(whole.map(|whole| (key, whole))));
        answer
    }),
    broken("create-ignores-its-alarm", "the instant at which a new session is due is dropped").create(
        |tx, new| match new.start {
            Start::At(_) => sound::create(tx, NewSession { start: Start::WithItems, ..new }),
            Start::WithItems | Start::Claimed(_) => sound::create(tx, new),
        },
    ),
    broken("create-takes-one-key-twice", "of two first items under one key the second is dropped in silence")
        .create(|tx, mut new| {
            let mut keys = std::collections::BTreeSet::new();
            new.items.retain(|item| keys.insert(item.key.clone()));
            sound::create(tx, new)
        }),
    broken("create-begins-suspended", "a new session is suspended, not idle").create(|tx, new| {
        let key = new.key.clone();
        let answer = sound::create(tx, new);
        tx.row(&key, |row| {
            if row.epoch.0 == 0 {
                row.status = SessionStatus::Suspended;
            }
        });
        answer
    }),
    broken("aborted-is-not-final", "an aborted session can be claimed").claim(|tx, key, claim| {
        tx.row(key, |row| {
            if row.status == SessionStatus::Aborted {
                row.status = SessionStatus::Idle;
            }
        });
        sound::claim(tx, key, claim)
    }),
    broken("delete-leaves-keys", "the keys of items outlive their session")
        .delete(|tx, key, mode| {
            let record = tx.record(key).cloned();
            let answer = sound::delete(tx, key, mode);
            if answer == DeleteOutcome::Deleted {
                tx.graves.extend(record.map(|record| (key.clone(), record)));
            }
            answer
        })
        .create(|tx, new| {
            let key = new.key.clone();
            let answer = sound::create(tx, new);
            let keys = tx.graves.remove(&key).map(|grave| grave.keys).unwrap_or_default();
            tx.with(&key, |record| record.keys.extend(keys));
            answer
        }),
    broken("delete-leaves-messages", "messages and events outlive their session")
        .delete(|tx, key, mode| {
            let record = tx.record(key).cloned();
            let answer = sound::delete(tx, key, mode);
            if answer == DeleteOutcome::Deleted {
                tx.graves.extend(record.map(|record| (key.clone(), record)));
            }
            answer
        })
        .create(|tx, new| {
            let key = new.key.clone();
            let answer = sound::create(tx, new);
            if let (Some(grave), Some(record)) = (tx.graves.remove(&key), tx.sessions.get_mut(&key)) {
                record.messages = grave.messages;
                record.events = grave.events;
            }
            answer
        }),
    broken("delete-leaves-pending", "the open calls of a deleted session are still listed")
        .delete(|tx, key, mode| {
            let record = tx.record(key).cloned();
            let answer = sound::delete(tx, key, mode);
            if answer == DeleteOutcome::Deleted {
                tx.graves.extend(record.map(|record| (key.clone(), record)));
            }
            answer
        })
        .list_pending(|tx, query| {
            let mut page = sound::list_pending(tx, query)?;
            let dead = tx.graves.values().filter(|grave| grave.row.key.tenant == query.tenant);
            page.items.extend(dead.flat_map(|grave| grave.pending.clone()));
            Ok(page)
        }),
    broken(
        "delete-is-remembered-as-created",
        "a creation is recognised as a repeat after the session was deleted",
    )
    .delete(|tx, key, mode| {
        let record = tx.record(key).cloned();
        let answer = sound::delete(tx, key, mode);
        if answer == DeleteOutcome::Deleted {
            tx.graves.extend(record.map(|record| (key.clone(), record)));
        }
        answer
    })
    .create(|tx, new| match tx.graves.get(&new.key) {
        Some(grave) if grave.row.created_by == new.operation => {
            CreateOutcome::Created { version: grave.row.version, claim: None }
        }
        Some(_) | None => sound::create(tx, new),
    }),
    broken("delete-ignores-the-holder", "an active session is deleted without force").delete(
        |tx, key, deletion| {
            let mode = DeleteMode::Force;
            sound::delete(tx, key, Deletion { mode, ..deletion })
        },
    ),
    broken("delete-has-no-force", "an active session is kept even with force").delete(|tx, key, deletion| {
        let mode = DeleteMode::UnlessActive;
        sound::delete(tx, key, Deletion { mode, ..deletion })
    }),
    broken("delete-ignores-the-version", "a session is deleted although it was written since")
        .delete(|tx, key, deletion| sound::delete(tx, key, Deletion { expected_version: None, ..deletion })),
    broken(
        "delete-of-another-version-is-not-found",
        "a deletion at another version answers that there is no session",
    )
    .delete(|tx, key, deletion| match sound::delete(tx, key, deletion) {
        DeleteOutcome::VersionConflict { .. } => DeleteOutcome::NotFound,
        kept @ (DeleteOutcome::Deleted | DeleteOutcome::Active | DeleteOutcome::NotFound) => kept,
    }),
    broken("delete-of-nothing-is-deleted", "deleting an unknown session answers that it was deleted").delete(
        |tx, key, mode| match sound::delete(tx, key, mode) {
            DeleteOutcome::NotFound => DeleteOutcome::Deleted,
            kept @ (DeleteOutcome::Deleted
            | DeleteOutcome::Active
            | DeleteOutcome::VersionConflict { .. }) => kept,
        },
    ),
];
