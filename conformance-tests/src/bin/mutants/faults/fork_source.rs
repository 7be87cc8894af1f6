//! Forks of the wrong source, in the wrong place, or too closely tied to either.

use holdover_store::{ForkOutcome, NewFork, NewSession, SessionStatus, Start, StoreError, StoreErrorKind};
use holdover_store_memory::parts::Record;

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

/// Whether one begins with the other's first message: they are branches of one conversation.
fn related(one: &Record, other: &Record) -> bool {
    let first = |record: &Record| record.messages.first().map(|first| (first.at, first.payload.clone()));
    one.row.key != other.row.key && first(one).is_some() && first(one) == first(other)
}

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "fork-at-the-newest-checkpoint",
        broken: "a fork begins at the newest checkpoint, whichever was named",
        fault: Fault {
            fork: |tx, from, at, new| {
                let newest = tx.record(from).and_then(|source| source.checkpoints.last().map(|last| last.id));
                let known =
                    tx.record(from).is_some_and(|source| source.checkpoints.iter().any(|c| c.id == at));
                sound::fork(tx, from, newest.filter(|_| known).unwrap_or(at), new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-at-the-nearest-checkpoint",
        broken: "a fork at a version that made no checkpoint begins at the one before",
        fault: Fault {
            fork: |tx, from, at, new| {
                let before = tx.record(from).and_then(|source| {
                    source.checkpoints.iter().map(|checkpoint| checkpoint.id).filter(|id| *id <= at).max()
                });
                sound::fork(tx, from, before.unwrap_or(at), new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-of-any-life",
        broken: "a fork decided on a deleted life is made of its successor",
        fault: Fault {
            fork: |tx, from, at, new| {
                let source = tx.row_of(from).map_or(new.source, |row| row.incarnation);
                sound::fork(tx, from, at, NewFork { source, ..new })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-of-nobody-is-empty",
        broken: "a fork of an unknown session is a session without a past",
        fault: Fault {
            fork: |tx, from, at, new| match sound::fork(tx, from, at, new.clone()) {
                ForkOutcome::NoSource => {
                    let session = NewSession {
                        key: new.key,
                        incarnation: new.incarnation,
                        operation: new.operation,
                        queue: new.queue,
                        labels: new.labels,
                        definition: new.definition,
                        format: new.state.format,
                        items: Vec::new(),
                        start: Start::WithItems,
                    };
                    sound::create(tx, session);
                    ForkOutcome::NoSource
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-overwrites",
        broken: "a fork replaces the session that has its key",
        fault: Fault {
            fork: |tx, from, at, new| {
                let other = tx.row_of(&new.key).is_some_and(|row| row.created_by != new.operation);
                if other && *from != new.key {
                    tx.sessions.remove(&new.key);
                }
                sound::fork(tx, from, at, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-repeat-is-refused",
        broken: "a fork that is repeated finds that it exists",
        fault: Fault {
            fork: |tx, from, at, new| {
                let operation = "of nobody".parse().unwrap_or_else(|_| new.operation.clone());
                let exists = tx.row_of(&new.key).is_some();
                sound::fork(tx, from, at, if exists { NewFork { operation, ..new } } else { new })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-repeat-asks-the-source",
        broken: "a fork that is repeated looks for its source first",
        fault: Fault {
            fork: |tx, from, at, new| {
                let there = tx.row_of(from).is_some_and(|row| row.incarnation == new.source);
                if there { sound::fork(tx, from, at, new) } else { ForkOutcome::NoSource }
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-repeat-makes-it-anew",
        broken: "a fork that is repeated replaces what the fork has become",
        fault: Fault {
            fork: |tx, from, at, new| {
                let again = tx.row_of(&new.key).is_some_and(|row| row.created_by == new.operation);
                let there = tx.row_of(from).is_some_and(|row| row.incarnation == new.source);
                if again && there {
                    tx.sessions.remove(&new.key);
                }
                sound::fork(tx, from, at, new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-touches-its-source",
        broken: "a fork counts as a change of its source",
        fault: Fault {
            fork: |tx, from, at, new| {
                let now = tx.now;
                let answer = sound::fork(tx, from, at, new);
                if let ForkOutcome::Forked { .. } = answer {
                    tx.row(from, |row| row.updated_at = now);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-takes-the-claim",
        broken: "a fork ends the lease of its source",
        fault: Fault {
            fork: |tx, from, at, new| {
                let answer = sound::fork(tx, from, at, new);
                if let ForkOutcome::Forked { .. } = answer {
                    tx.row(from, |row| row.lease = None);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-of-another-tenant",
        broken: "a fork may belong to another tenant than its source",
        fault: Fault {
            check_fork: |from, new| {
                let mut own = new.clone();
                own.key.tenant = from.tenant.clone();
                sound::check_fork(from, &own)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-of-any-status",
        broken: "a fork may be left suspended or aborted",
        fault: Fault {
            check_fork: |from, new| {
                let idle = NewFork { status: SessionStatus::Idle, ..new.clone() };
                sound::check_fork(from, &idle)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-of-any-size",
        broken: "a fork is taken however large it is",
        fault: Fault { check_fork: |from, new| new.check(from), ..SOUND },
    },
    Mutant {
        name: "fork-visible-before-whole",
        broken: "a fork becomes visible first, its messages come in a second transaction",
        fault: Fault {
            fork: |tx, from, at, new| {
                let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
                let answer = sound::fork(tx, from, at, new);
                let mut written = Vec::new();
                if fresh {
                    tx.with(&key, |record| written = std::mem::take(&mut record.messages));
                    tx.then(move |tx| tx.with(&key, |record| record.messages = written));
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-read-then-written",
        broken: "whether a key is free is read before the wait, and the fork written after it",
        fault: Fault {
            fork: |tx, from, at, new| {
                let key = new.key.clone();
                tx.read_then_write(&key, |tx| sound::fork(tx, from, at, new))
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-copies-after-the-wait",
        broken: "the messages of a fork are copied after the wait, with what was said since",
        fault: Fault {
            fork: |tx, from, at, new| {
                let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
                let said = tx.record(from).map_or(0, |source| source.messages.len());
                let answer = sound::fork(tx, from, at, new);
                if fresh {
                    let from = from.clone();
                    tx.then(move |tx| {
                        let since = tx.record(&from).map(|source| source.messages.split_at(said).1.to_vec());
                        tx.with(&key, |record| record.messages.extend(since.unwrap_or_default()));
                    });
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-shares-rows",
        broken: "what a branch says is said in every branch",
        fault: Fault {
            commit: |tx, fence, commit| {
                let before = tx.record(&fence.key).map_or(0, |record| record.messages.len());
                let answer = sound::commit(tx, fence, commit);
                if let Some(record) = tx.record(&fence.key).cloned() {
                    let said = record.messages.split_at(before.min(record.messages.len())).1;
                    for other in tx.sessions.values_mut().filter(|other| related(other, &record)) {
                        other.messages.extend(said.iter().cloned());
                    }
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-dies-with-its-source",
        broken: "deleting a session deletes the messages that its forks were made of",
        fault: Fault {
            delete: |tx, key, mode| {
                let before = tx.record(key).cloned();
                let answer = sound::delete(tx, key, mode);
                if let (None, Some(gone)) = (tx.row_of(key), before) {
                    for other in tx.sessions.values_mut().filter(|other| related(other, &gone)) {
                        other.messages.retain(|message| !gone.messages.contains(message));
                    }
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "forks-undeclared",
        broken: "the capabilities declare no forks, and they are made",
        fault: Fault { forks: false, ..SOUND },
    },
    Mutant {
        name: "forks-declared-in-vain",
        broken: "the capabilities declare forks, and they are unsupported",
        fault: Fault {
            check_fork: |_, _| Err(StoreError::new(StoreErrorKind::Unsupported, "fork_session", "not yet")),
            ..SOUND
        },
    },
];
