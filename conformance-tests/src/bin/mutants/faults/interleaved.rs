//! Faults that show only while other handles are in the middle of an operation.

use holdover_store::Session;
use holdover_store::ids::SessionKey;

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

/// Marks a session as being written: a copy in `graves` shows readers that a write is in progress.
fn begins_to_write(tx: &mut Tx<'_>, key: &SessionKey) {
    let record = tx.record(key).cloned();
    tx.graves.extend(record.map(|record| (key.clone(), record)));
}

/// Creates a store that marks a session while a commit or a delivery writes it.
const fn marking(name: &'static str, what: &'static str) -> Mutant {
    broken(name, what)
        .before(Some(begins_to_write))
        .commit(|tx, fence, commit| {
            tx.graves.remove(&fence.key);
            sound::commit(tx, fence, commit)
        })
        .deliver(|tx, key, item| {
            tx.graves.remove(key);
            sound::deliver(tx, key, item)
        })
}

/// If a session is being written, reads it as this handle read it last. Otherwise reads the session as it is, and keeps
/// a copy for later reads.
fn looked_at<R>(tx: &mut Tx<'_>, key: &SessionKey, read: impl FnOnce(&mut Tx<'_>) -> R) -> R {
    let there = tx.record(key).cloned();
    let last = tx.cache.get(key).cloned().filter(|_| tx.graves.contains_key(key));
    let (Some(there), Some(last)) = (there.clone(), last) else {
        tx.cache.extend(there.map(|there| (key.clone(), there)));
        return read(tx);
    };
    tx.sessions.insert(key.clone(), last);
    let answer = read(tx);
    tx.sessions.insert(key.clone(), there);
    answer
}

pub(super) static MUTANTS: &[Mutant] = &[
    marking("load-beside-a-write-is-of-the-last-look", "a session that is being written is shown as the handle saw it last, not as it is").load(|tx, key| -> Option<Session> { looked_at(tx, key, |tx| sound::load(tx, key)) }),
    marking("inbox-beside-a-write-is-of-the-last-look", "the inbox of a session that is being written is shown as the handle saw it last, not as it is").read_inbox(|tx, key, after, limit| {
                looked_at(tx, key, |tx| sound::read_inbox(tx, key, after, limit))
            }),
    broken("version-checked-before-the-wait", "the version is compared before the wait for the row, everything else after it").before(Some(|tx, key| {
                let record = tx.record(key).cloned();
                tx.cache.extend(record.map(|record| (key.clone(), record)));
            })).commit(|tx, fence, mut commit| {
                let seen = tx.cache.remove(&fence.key).map(|record| record.row.version);
                commit.expected_version = commit.expected_version.filter(|named| Some(*named) != seen);
                sound::commit(tx, fence, commit)
            }),
    broken("second-connection-while-holding-one", "every operation waits for a second connection while it holds its first: too many wait for each other").connections(Some(64)),
    broken("fork-holds-its-source", "a fork holds its source while it waits for its target: two in opposite directions wait for each other").locks(true),
];
