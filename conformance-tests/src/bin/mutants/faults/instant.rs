//! The instants that rows are stored with.

use holdover_store::time::Timestamp;
use holdover_store::{ClaimOutcome, CommitOutcome, Delivery, ForkOutcome, OutcomeKind};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, broken};
use crate::sound;

/// Defines a commit after which the rows that it wrote are changed.
macro_rules! committed_with {
    ($name:literal, $broken:literal, |$record:ident, $now:ident| $change:expr) => {
        broken($name, $broken).commit(|tx, fence, commit| {
            let ($now, version) = (tx.now, tx.row_of(&fence.key).map(|row| row.version));
            let answer = sound::commit(tx, fence, commit);
            // A repeat has written nothing.
            let written = tx.row_of(&fence.key).map(|row| row.version) != version;
            if let (true, CommitOutcome::Committed(_)) = (written, &answer) {
                tx.with(&fence.key, |$record| $change);
            }
            answer
        })
    };
}

/// Defines a claim after which the rows that it wrote are changed.
macro_rules! claimed_with {
    ($name:literal, $broken:literal, |$record:ident, $now:ident| $change:expr) => {
        broken($name, $broken).claim(|tx, key, claim| {
            let $now = tx.now;
            let answer = sound::claim(tx, key, claim);
            if let ClaimOutcome::Claimed(_) = &answer {
                tx.with(key, |$record| $change);
            }
            answer
        })
    };
}

/// Removes the instant from every item that arrived now.
fn items_without(record: &mut Record, now: Timestamp) {
    for (item, _) in record.inbox.values_mut().filter(|(item, _)| item.at == now) {
        item.at = Timestamp::EPOCH;
    }
}

pub(super) static MUTANTS: &[Mutant] = &[
    committed_with!("messages-without-instant", "messages are kept without their instant", |record, now| {
        record
            .messages
            .iter_mut()
            .filter(|message| message.at == now)
            .for_each(|message| message.at = Timestamp::EPOCH);
    }),
    committed_with!(
        "events-as-old-as-the-session",
        "events have the instant of the creation",
        |record, now| {
            let created = record.row.created_at;
            record.events.iter_mut().filter(|event| event.at == now).for_each(|event| event.at = created);
        }
    ),
    committed_with!(
        "pending-without-instant",
        "pending calls are kept without their instant",
        |record, now| {
            record
                .pending
                .iter_mut()
                .filter(|open| open.opened_at == now)
                .for_each(|open| open.opened_at = Timestamp::EPOCH);
        }
    ),
    committed_with!(
        "checkpoints-as-old-as-the-session",
        "checkpoints have the instant of the creation",
        |record, now| {
            let created = record.row.created_at;
            record.checkpoints.iter_mut().filter(|kept| kept.at == now).for_each(|kept| kept.at = created);
        }
    ),
    committed_with!(
        "runs-end-when-they-began",
        "a run ends at the instant at which it began",
        |record, now| {
            for run in &mut record.runs {
                if let Some(end) = run.end.as_mut().filter(|end| end.at == now) {
                    end.at = run.started_at;
                }
            }
        }
    ),
    claimed_with!("runs-without-begin", "runs are kept without the instant of their begin", |record, now| {
        record
            .runs
            .iter_mut()
            .filter(|run| run.started_at == now)
            .for_each(|run| run.started_at = Timestamp::EPOCH);
    }),
    claimed_with!(
        "lost-runs-end-when-they-began",
        "a lost run ends at the instant at which it began",
        |record, now| {
            for run in &mut record.runs {
                let lost = run.end.as_mut().filter(|end| end.outcome == OutcomeKind::Lost && end.at == now);
                if let Some(end) = lost {
                    end.at = run.started_at;
                }
            }
        }
    ),
    claimed_with!(
        "carried-items-without-instant",
        "items that a claim carries are kept without their instant",
        |record, now| items_without(record, now)
    ),
    broken("items-without-instant", "items are kept without their instant").deliver(|tx, key, item| {
        let now = tx.now;
        let answer = sound::deliver(tx, key, item);
        if let Delivery::Accepted { .. } = answer {
            tx.with(key, |record| items_without(record, now));
        }
        answer
    }),
    broken(
        "moved-items-without-instant",
        "items that a move of the status carries are kept without their instant",
    )
    .cas(|tx, key, cas| {
        let now = tx.now;
        let answer = sound::cas(tx, key, cas);
        tx.with(key, |record| items_without(record, now));
        answer
    }),
    broken("first-items-without-instant", "items that a creation carries are kept without their instant")
        .create(|tx, new| {
            let (now, key) = (tx.now, new.key.clone());
            let fresh = tx.row_of(&key).is_none();
            let answer = sound::create(tx, new);
            if fresh {
                tx.with(&key, |record| items_without(record, now));
            }
            answer
        }),
    broken("fork-as-old-as-its-source", "a fork has the instant at which its source was created").fork(
        |tx, from, at, new| {
            let key = new.key.clone();
            let created = tx.row_of(from).map(|row| row.created_at);
            let answer = sound::fork(tx, from, at, new);
            if let (ForkOutcome::Forked { .. }, Some(created)) = (&answer, created) {
                tx.row(&key, |row| row.created_at = created);
            }
            answer
        },
    ),
    broken(
        "fork-stamps-its-prefix",
        "the copied messages, events and checkpoints have the instant of the fork",
    )
    .fork(|tx, from, at, new| {
        let (now, key) = (tx.now, new.key.clone());
        let fresh = tx.row_of(&key).is_none();
        let answer = sound::fork(tx, from, at, new);
        if let (ForkOutcome::Forked { .. }, true) = (&answer, fresh) {
            tx.with(&key, |record| {
                record.messages.iter_mut().for_each(|message| message.at = now);
                record.events.iter_mut().for_each(|event| event.at = now);
                record.checkpoints.iter_mut().for_each(|kept| kept.at = now);
            });
        }
        answer
    }),
    broken(
        "fork-appends-without-instant",
        "the messages and events that a fork appends have the instant of its checkpoint",
    )
    .fork(|tx, from, at, new| {
        let (now, key) = (tx.now, new.key.clone());
        let checkpoints = tx.record(from).map(|source| source.checkpoints.clone()).unwrap_or_default();
        let kept = checkpoints.into_iter().find(|kept| kept.id == at).map(|kept| kept.at);
        let fresh = tx.row_of(&key).is_none();
        let answer = sound::fork(tx, from, at, new);
        if let (ForkOutcome::Forked { .. }, true, Some(kept)) = (&answer, fresh, kept) {
            tx.with(&key, |record| {
                record.messages.iter_mut().filter(|row| row.at == now).for_each(|row| row.at = kept);
                record.events.iter_mut().filter(|row| row.at == now).for_each(|row| row.at = kept);
            });
        }
        answer
    }),
];
