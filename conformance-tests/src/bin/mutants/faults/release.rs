//! Releases of a session, and what wakes it afterwards.

use holdover_store::{Commit, Release, Wake};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

/// Returns the deadline of a release with a status: `Some(None)` if it names none. Returns `None` for any other commit.
fn deadline(commit: &Commit) -> Option<Option<holdover_store::time::Timestamp>> {
    match &commit.release {
        Some(Release::To { deadline, .. }) => Some(*deadline),
        Some(Release::GiveBack { .. }) | None => None,
    }
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "release-forgets-arrived-items",
        "a release does not look for items that arrived since the run read",
    )
    .commit(|tx, fence, commit| {
        let deadline = deadline(&commit);
        let answer = sound::commit(tx, fence, commit);
        if let (Some(deadline), true) = (deadline, committed(&answer)) {
            tx.row(&fence.key, |row| {
                if row.interrupt.is_none() {
                    row.alarm = deadline;
                }
            });
        }
        answer
    }),
    broken("release-forgets-waiting-interrupt", "a release does not look for an interrupt that waits")
        .commit(|tx, fence, commit| {
            let deadline = deadline(&commit);
            let answer = sound::commit(tx, fence, commit);
            if let (Some(deadline), true) = (deadline, committed(&answer)) {
                tx.row(&fence.key, |row| {
                    if row.interrupt.is_some() {
                        row.alarm = deadline;
                    }
                });
            }
            answer
        }),
    broken("release-drops-deadline", "the instant at which a session is due again is dropped").commit(
        |tx, fence, mut commit| {
            if let Some(Release::To { deadline, .. }) = &mut commit.release {
                *deadline = None;
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("release-keeps-the-earlier-alarm", "a release keeps the earlier of the old alarm and its own")
        .commit(|tx, fence, commit| {
            let before = tx.row_of(&fence.key).and_then(|row| row.alarm);
            let named = deadline(&commit).flatten();
            let answer = sound::commit(tx, fence, commit);
            tx.row(&fence.key, |row| {
                if let (Some(before), Some(_), true) = (before, named, committed(&answer)) {
                    row.alarm = row.alarm.map(|alarm| alarm.min(before));
                }
            });
            answer
        }),
    broken(
        "release-keeps-the-lease",
        "a suspended session cannot be claimed before the lease of its last run has ended",
    )
    .commit(|tx, fence, commit| {
        let released = commit.release.is_some();
        let lease = tx.row_of(&fence.key).and_then(|row| row.lease);
        let answer = sound::commit(tx, fence, commit);
        if released && committed(&answer) {
            tx.row(&fence.key, |row| row.lease = row.lease.take().or(lease));
        }
        answer
    }),
    broken(
        "release-in-two-transactions",
        "the status is written first, the lease is let go in a second transaction",
    )
    .commit(|tx, fence, commit| {
        let released = commit.release.is_some();
        let before = tx.row_of(&fence.key).and_then(|row| row.lease);
        let answer = sound::commit(tx, fence, commit);
        if released && committed(&answer) {
            tx.row(&fence.key, |row| row.lease = before);
            let fence = fence.clone();
            tx.then(move |tx| {
                tx.row(&fence.key, |row| {
                    if row.epoch == fence.epoch {
                        row.lease = None;
                    }
                });
            });
        }
        answer
    }),
    broken(
        "release-overtakes-deliveries",
        "whether something arrived is read before the wait, and the release written after it",
    )
    .commit(|tx, fence, commit| {
        if deadline(&commit).is_none() {
            return sound::commit(tx, fence, commit);
        }
        let answer = sound::commit(tx, fence, commit);
        let decided = tx.row_of(&fence.key).map(|row| row.alarm);
        let key = fence.key.clone();
        if let Some(alarm) = decided {
            tx.then(move |tx| tx.row(&key, |row| row.alarm = alarm));
        }
        answer
    }),
    broken("wake-on-counts-seen-items", "items that the run has seen count towards waking the session")
        .commit(|tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            let now = tx.now;
            tx.with(&fence.key, |record| {
                let counted = record.inbox.values().filter(|(_, wake)| *wake == Wake::Count).count() as u64;
                let row = &mut record.row;
                row.unseen.counted = counted;
                if row.lease.is_none() && row.wake_on > 0 && counted >= u64::from(row.wake_on) {
                    row.alarm = Some(now);
                }
            });
            answer
        }),
    broken(
        "urgent-items-seen-wake-again",
        "urgent items that the run has seen wake the session at its release",
    )
    .commit(|tx, fence, commit| {
        let answer = sound::commit(tx, fence, commit);
        let now = tx.now;
        tx.with(&fence.key, |record| {
            let urgent = record.inbox.values().any(|(_, wake)| *wake == Wake::Now);
            if urgent && record.row.lease.is_none() {
                record.row.alarm = Some(now);
            }
        });
        answer
    }),
    broken("inbox-seen-falls", "a later commit that names an earlier item unsees those after it").commit(
        |tx, fence, commit| {
            let named = commit.inbox_seen;
            let answer = sound::commit(tx, fence, commit);
            if let (Some(seen), true) = (named, committed(&answer)) {
                tx.row(&fence.key, |row| row.inbox_seen = seen.min(row.last_item));
            }
            answer
        },
    ),
    broken("inbox-seen-reaches-ahead", "a commit may have seen items that are not there yet").commit(
        |tx, fence, commit| {
            let named = commit.inbox_seen;
            let answer = sound::commit(tx, fence, commit);
            if let (Some(seen), true) = (named, committed(&answer)) {
                tx.row(&fence.key, |row| row.inbox_seen = seen.max(row.inbox_seen));
            }
            answer
        },
    ),
];
