//! Forks of the wrong source, at the wrong place, or tied too closely to their source.

use holdover_store::{ForkOutcome, NewFork, NewSession, SessionStatus, Start, StoreError, StoreErrorKind};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, broken};
use crate::sound;

/// Returns true if two sessions begin with the same message, so that they are branches of one conversation.
fn related(one: &Record, other: &Record) -> bool {
    let first = |record: &Record| record.messages.first().map(|first| (first.at, first.payload.clone()));
    one.row.key != other.row.key && first(one).is_some() && first(one) == first(other)
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("fork-at-the-newest-checkpoint", "a fork begins at the newest checkpoint, whichever was named")
        .fork(|tx, from, at, new| {
            let newest = tx.record(from).and_then(|source| source.checkpoints.last().map(|last| last.id));
            let known = tx.record(from).is_some_and(|source| source.checkpoints.iter().any(|c| c.id == at));
            sound::fork(tx, from, newest.filter(|_| known).unwrap_or(at), new)
        }),
    broken(
        "fork-at-the-nearest-checkpoint",
        "a fork at a version that made no checkpoint begins at the one before",
    )
    .fork(|tx, from, at, new| {
        let before = tx.record(from).and_then(|source| {
            source.checkpoints.iter().map(|checkpoint| checkpoint.id).filter(|id| *id <= at).max()
        });
        sound::fork(tx, from, before.unwrap_or(at), new)
    }),
    broken("fork-of-any-life", "a fork decided on a deleted life is made of its successor").fork(
        |tx, from, at, new| {
            let source = tx.row_of(from).map_or(new.source, |row| row.incarnation);
            sound::fork(tx, from, at, NewFork { source, ..new })
        },
    ),
    broken("fork-of-nobody-is-empty", "a fork of an unknown session is a session without a past").fork(
        |tx, from, at, new| match sound::fork(tx, from, at, new.clone()) {
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
    ),
    broken("fork-overwrites", "a fork replaces the session that has its key").fork(|tx, from, at, new| {
        let other = tx.row_of(&new.key).is_some_and(|row| row.created_by != new.operation);
        if other && *from != new.key {
            tx.sessions.remove(&new.key);
        }
        sound::fork(tx, from, at, new)
    }),
    broken("fork-repeat-is-refused", "a fork that is repeated finds that it exists").fork(
        |tx, from, at, new| {
            let operation = "of nobody".parse().unwrap_or_else(|_| new.operation.clone());
            let exists = tx.row_of(&new.key).is_some();
            sound::fork(tx, from, at, if exists { NewFork { operation, ..new } } else { new })
        },
    ),
    broken("fork-repeat-asks-the-source", "a fork that is repeated looks for its source first").fork(
        |tx, from, at, new| {
            let there = tx.row_of(from).is_some_and(|row| row.incarnation == new.source);
            if there { sound::fork(tx, from, at, new) } else { ForkOutcome::NoSource }
        },
    ),
    broken("fork-repeat-makes-it-anew", "a fork that is repeated replaces what the fork has become").fork(
        |tx, from, at, new| {
            let again = tx.row_of(&new.key).is_some_and(|row| row.created_by == new.operation);
            let there = tx.row_of(from).is_some_and(|row| row.incarnation == new.source);
            if again && there {
                tx.sessions.remove(&new.key);
            }
            sound::fork(tx, from, at, new)
        },
    ),
    broken("fork-touches-its-source", "a fork counts as a change of its source").fork(|tx, from, at, new| {
        let now = tx.now;
        let answer = sound::fork(tx, from, at, new);
        if let ForkOutcome::Forked { .. } = answer {
            tx.row(from, |row| row.updated_at = now);
        }
        answer
    }),
    broken("fork-takes-the-claim", "a fork ends the lease of its source").fork(|tx, from, at, new| {
        let answer = sound::fork(tx, from, at, new);
        if let ForkOutcome::Forked { .. } = answer {
            tx.row(from, |row| row.lease = None);
        }
        answer
    }),
    broken("fork-of-another-tenant", "a fork may belong to another tenant than its source").check_fork(
        |from, new| {
            let mut own = new.clone();
            own.key.tenant = from.tenant.clone();
            sound::check_fork(from, &own)
        },
    ),
    broken("fork-of-any-status", "a fork may be left suspended or aborted").check_fork(|from, new| {
        let idle = NewFork { status: SessionStatus::Idle, ..new.clone() };
        sound::check_fork(from, &idle)
    }),
    broken("fork-of-any-size", "a fork is taken however large it is").check_fork(|from, new| new.check(from)),
    broken(
        "fork-visible-before-whole",
        "a fork becomes visible first, its messages come in a second transaction",
    )
    .fork(|tx, from, at, new| {
        let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
        let answer = sound::fork(tx, from, at, new);
        let mut written = Vec::new();
        if fresh {
            tx.with(&key, |record| written = std::mem::take(&mut record.messages));
            tx.then(move |tx| tx.with(&key, |record| record.messages = written));
        }
        answer
    }),
    broken(
        "fork-read-then-written",
        "whether a key is free is read before the wait, and the fork written after it",
    )
    .fork(|tx, from, at, new| {
        let key = new.key.clone();
        tx.read_then_write(&key, |tx| sound::fork(tx, from, at, new))
    }),
    broken(
        "fork-copies-after-the-wait",
        "the messages of a fork are copied after the wait, with what was said since",
    )
    .fork(|tx, from, at, new| {
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
    }),
    broken("fork-shares-rows", "what a branch says is said in every branch").commit(|tx, fence, commit| {
        let before = tx.record(&fence.key).map_or(0, |record| record.messages.len());
        let answer = sound::commit(tx, fence, commit);
        if let Some(record) = tx.record(&fence.key).cloned() {
            let said = record.messages.split_at(before.min(record.messages.len())).1;
            for other in tx.sessions.values_mut().filter(|other| related(other, &record)) {
                other.messages.extend(said.iter().cloned());
            }
        }
        answer
    }),
    broken(
        "fork-dies-with-its-source",
        "deleting a session deletes the messages that its forks were made of",
    )
    .delete(|tx, key, mode| {
        let before = tx.record(key).cloned();
        let answer = sound::delete(tx, key, mode);
        if let (None, Some(gone)) = (tx.row_of(key), before) {
            for other in tx.sessions.values_mut().filter(|other| related(other, &gone)) {
                other.messages.retain(|message| !gone.messages.contains(message));
            }
        }
        answer
    }),
    broken("forks-undeclared", "the capabilities declare no forks, and they are made").forks(false),
    broken("forks-declared-in-vain", "the capabilities declare forks, and they are unsupported")
        .check_fork(|_, _| Err(StoreError::new(StoreErrorKind::Unsupported, "fork_session", "not yet"))),
];
