//! Creating, moving and deleting a session.

use holdover_store::{
    CasOutcome, CreateOutcome, DeleteOutcome, Deletion, NewSession, SessionStatus, Start, StatusCas,
};

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "cas-ignores-version",
        broken: "a move of the status does not look at the version",
        fault: Fault {
            cas: |tx, key, cas| {
                let version = tx.row_of(key).map_or(cas.expected_version, |row| row.version);
                sound::cas(tx, key, StatusCas { expected_version: version, ..cas })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-allows-any-move",
        broken: "any status may be moved to any other",
        fault: Fault {
            cas: |tx, key, cas| match sound::cas(tx, key, cas.clone()) {
                CasOutcome::NotAllowed { to, .. } => {
                    tx.row(key, |row| {
                        row.status = to;
                        row.version = row.version.next();
                    });
                    CasOutcome::Moved { version: cas.expected_version.next() }
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-keeps-version",
        broken: "a move of the status does not raise the version",
        fault: Fault {
            cas: |tx, key, cas| match sound::cas(tx, key, cas.clone()) {
                CasOutcome::Moved { .. } => {
                    tx.row(key, |row| row.version = cas.expected_version);
                    CasOutcome::Moved { version: cas.expected_version }
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-sets-no-alarm",
        broken: "a session that is moved to suspended is not due",
        fault: Fault {
            cas: |tx, key, cas| {
                let answer = sound::cas(tx, key, cas);
                if matches!(answer, CasOutcome::Moved { .. }) {
                    tx.row(key, |row| row.alarm = None);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-items-before-the-check",
        broken: "the items of a move stay when the move is refused",
        fault: Fault {
            cas: |tx, key, cas| {
                for item in &cas.items {
                    let _ = sound::deliver(tx, key, item.clone());
                }
                sound::cas(tx, key, StatusCas { items: Vec::new(), ..cas })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-drops-empty-labels",
        broken: "a label without a value is not kept",
        fault: Fault {
            create: |tx, mut new| {
                new.labels.0.retain(|_, value| !value.is_empty());
                sound::create(tx, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-overwrites",
        broken: "creating a session that exists replaces it",
        fault: Fault {
            create: |tx, new| {
                if tx.row_of(&new.key).is_some_and(|row| row.created_by != new.operation) {
                    tx.sessions.remove(&new.key);
                }
                sound::create(tx, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-repeat-is-refused",
        broken: "a repeat of a creation is not recognised",
        fault: Fault {
            create: |tx, new| {
                tx.row(&new.key, |row| {
                    row.created_by = row.key.id.as_str().parse().unwrap_or(row.created_by.clone())
                });
                sound::create(tx, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-items-later",
        broken: "the first items come in a second transaction",
        fault: Fault {
            create: |tx, new| {
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
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-then-claim",
        broken: "a session that is created claimed is first seen at rest, and claimed in a second transaction",
        fault: Fault {
            create: |tx, new| {
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
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-ignores-its-alarm",
        broken: "the instant at which a new session is due is dropped",
        fault: Fault {
            create: |tx, new| match new.start {
                Start::At(_) => sound::create(tx, NewSession { start: Start::WithItems, ..new }),
                Start::WithItems | Start::Claimed(_) => sound::create(tx, new),
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-takes-one-key-twice",
        broken: "of two first items under one key the second is dropped in silence",
        fault: Fault {
            create: |tx, mut new| {
                let mut keys = std::collections::BTreeSet::new();
                new.items.retain(|item| keys.insert(item.key.clone()));
                sound::create(tx, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "create-begins-suspended",
        broken: "a new session is suspended, not idle",
        fault: Fault {
            create: |tx, new| {
                let key = new.key.clone();
                let answer = sound::create(tx, new);
                tx.row(&key, |row| {
                    if row.epoch.0 == 0 {
                        row.status = SessionStatus::Suspended;
                    }
                });
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "aborted-is-not-final",
        broken: "an aborted session can be claimed",
        fault: Fault {
            claim: |tx, key, claim| {
                tx.row(key, |row| {
                    if row.status == SessionStatus::Aborted {
                        row.status = SessionStatus::Idle;
                    }
                });
                sound::claim(tx, key, claim)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-leaves-keys",
        broken: "the keys of items outlive their session",
        fault: Fault {
            delete: |tx, key, mode| {
                let record = tx.record(key).cloned();
                let answer = sound::delete(tx, key, mode);
                if answer == DeleteOutcome::Deleted {
                    tx.graves.extend(record.map(|record| (key.clone(), record)));
                }
                answer
            },
            create: |tx, new| {
                let key = new.key.clone();
                let answer = sound::create(tx, new);
                let keys = tx.graves.remove(&key).map(|grave| grave.keys).unwrap_or_default();
                tx.with(&key, |record| record.keys.extend(keys));
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-leaves-messages",
        broken: "messages and events outlive their session",
        fault: Fault {
            delete: |tx, key, mode| {
                let record = tx.record(key).cloned();
                let answer = sound::delete(tx, key, mode);
                if answer == DeleteOutcome::Deleted {
                    tx.graves.extend(record.map(|record| (key.clone(), record)));
                }
                answer
            },
            create: |tx, new| {
                let key = new.key.clone();
                let answer = sound::create(tx, new);
                if let (Some(grave), Some(record)) = (tx.graves.remove(&key), tx.sessions.get_mut(&key)) {
                    record.messages = grave.messages;
                    record.events = grave.events;
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-leaves-pending",
        broken: "the open calls of a deleted session are still listed",
        fault: Fault {
            delete: |tx, key, mode| {
                let record = tx.record(key).cloned();
                let answer = sound::delete(tx, key, mode);
                if answer == DeleteOutcome::Deleted {
                    tx.graves.extend(record.map(|record| (key.clone(), record)));
                }
                answer
            },
            list_pending: |tx, query| {
                let mut page = sound::list_pending(tx, query)?;
                let dead = tx.graves.values().filter(|grave| grave.row.key.tenant == query.tenant);
                page.items.extend(dead.flat_map(|grave| grave.pending.clone()));
                Ok(page)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-is-remembered-as-created",
        broken: "a creation is recognised as a repeat after the session was deleted",
        fault: Fault {
            delete: |tx, key, mode| {
                let record = tx.record(key).cloned();
                let answer = sound::delete(tx, key, mode);
                if answer == DeleteOutcome::Deleted {
                    tx.graves.extend(record.map(|record| (key.clone(), record)));
                }
                answer
            },
            create: |tx, new| match tx.graves.get(&new.key) {
                Some(grave) if grave.row.created_by == new.operation => {
                    CreateOutcome::Created { version: grave.row.version, claim: None }
                }
                Some(_) | None => sound::create(tx, new),
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-ignores-the-holder",
        broken: "an active session is deleted without force",
        fault: Fault {
            delete: |tx, key, deletion| {
                let incarnation = deletion.incarnation;
                sound::delete(tx, key, Deletion { incarnation, ..Deletion::FORCE })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-has-no-force",
        broken: "an active session is kept even with force",
        fault: Fault {
            delete: |tx, key, deletion| {
                let incarnation = deletion.incarnation;
                sound::delete(tx, key, Deletion { incarnation, ..Deletion::UNLESS_ACTIVE })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "delete-of-nothing-is-deleted",
        broken: "deleting an unknown session answers that it was deleted",
        fault: Fault {
            delete: |tx, key, mode| match sound::delete(tx, key, mode) {
                DeleteOutcome::NotFound => DeleteOutcome::Deleted,
                kept @ (DeleteOutcome::Deleted | DeleteOutcome::Active) => kept,
            },
            ..SOUND
        },
    },
];
