//! Calls that wait for an answer from outside.

use holdover_store::ids::PendingId;
use holdover_store::{Commit, Delivery, InboxItem, ItemKind, PendingCall, SessionStatus, Wake};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, broken};
use crate::sound;

/// Returns the open call that `item` answers.
fn answered<'a>(record: &'a mut Record, item: &InboxItem) -> Option<&'a mut PendingCall> {
    let id = asked(item)?;
    record.pending.iter_mut().find(|open| open.id == *id)
}

fn asked(item: &InboxItem) -> Option<&PendingId> {
    match &item.kind {
        ItemKind::Answer { pending, .. } => Some(pending),
        ItemKind::Message { .. } | ItemKind::Signal { .. } | ItemKind::Other { .. } => None,
    }
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("answer-after-deadline", "an answer is accepted after its deadline").deliver(|tx, key, item| {
        let asked = item.clone();
        let mut deadline = None;
        tx.with(key, |record| {
            deadline = answered(record, &asked).and_then(|open| open.deadline.take());
        });
        let answer = sound::deliver(tx, key, item);
        tx.with(key, |record| {
            if let Some(open) = answered(record, &asked) {
                open.deadline = deadline;
            }
        });
        answer
    }),
    broken("deadline-at-reading", "an answer that came in time is gone when it is read after the deadline")
        .claim(|tx, key, claim| {
            let now = tx.now;
            tx.with(key, |record| {
                let late: Vec<_> = record
                    .pending
                    .iter()
                    .filter(|open| open.deadline.is_some_and(|at| at <= now))
                    .map(|open| open.last_answer)
                    .collect();
                record.inbox.retain(|seq, _| !late.contains(seq));
            });
            sound::claim(tx, key, claim)
        }),
    broken("second-answer-overwrites", "a call that has its answer takes another").deliver(
        |tx, key, item| {
            tx.with(key, |record| {
                if let Some(open) = answered(record, &item) {
                    open.answered = open.answered.min(open.needed - 1);
                }
            });
            sound::deliver(tx, key, item)
        },
    ),
    broken("first-answer-suffices", "the first of several needed answers ends the asking").commit(
        |tx, fence, mut commit| {
            for open in &mut commit.open {
                open.needed = 1;
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("refusal-does-not-settle", "an answer that settles counts one like any other").deliver(
        |tx, key, mut item| {
            if let ItemKind::Answer { settles, .. } = &mut item.kind {
                *settles = false;
            }
            sound::deliver(tx, key, item)
        },
    ),
    broken("close-drops-unread-answer", "a call is closed though its answer was not read").commit(
        |tx, fence, commit| {
            tx.with(&fence.key, |record| {
                for open in record.pending.iter_mut().filter(|open| commit.close.contains(&open.id)) {
                    open.last_answer = Default::default();
                }
            });
            sound::commit(tx, fence, commit)
        },
    ),
    broken("pending-id-used-twice", "a call may be opened under the id of one that was closed").commit(
        |tx, fence, commit| {
            tx.with(&fence.key, |record| {
                record.opened = record.pending.iter().map(|open| open.id.clone()).collect();
            });
            sound::commit(tx, fence, commit)
        },
    ),
    broken("pending-id-looked-at-last", "an item that is not there is told before an id that was used")
        .commit(|tx, fence, commit| {
            let record = tx.record(&fence.key);
            let misses = record.is_some_and(|r| commit.consumed.iter().any(|seq| !r.inbox.contains_key(seq)));
            let open = if misses { Vec::new() } else { commit.open.clone() };
            sound::commit(tx, fence, Commit { open, ..commit })
        }),
    broken("unknown-close-is-skipped", "closing what is not open is no conflict").commit(
        |tx, fence, commit| {
            let open: Vec<_> = tx
                .record(&fence.key)
                .map(|r| r.pending.iter().map(|p| p.id.clone()).collect())
                .unwrap_or_default();
            let close = commit.close.iter().filter(|id| open.contains(id)).cloned().collect();
            sound::commit(tx, fence, Commit { close, ..commit })
        },
    ),
    broken("answer-to-nothing-is-kept", "an answer to a call that is not open is accepted").deliver(
        |tx, key, item| match sound::deliver(tx, key, item.clone()) {
            Delivery::NotPending => {
                let kind = ItemKind::Signal { wake: Wake::Quiet };
                sound::deliver(tx, key, InboxItem { kind, incarnation: None, ..item })
            }
            answer => answer,
        },
    ),
    broken("any-answer-wakes", "an answer wakes the session though more are needed").deliver(
        |tx, key, item| {
            let is_answer = asked(&item).is_some();
            let answer = sound::deliver(tx, key, item);
            let now = tx.now;
            if let (true, Delivery::Accepted { .. }) = (is_answer, &answer) {
                tx.row(key, |row| {
                    if row.status == SessionStatus::Suspended {
                        row.alarm = Some(now);
                    }
                });
            }
            answer
        },
    ),
    broken("answer-wakes-nobody", "the last answer does not wake the session").deliver(|tx, key, item| {
        let is_answer = asked(&item).is_some();
        let alarm = tx.row_of(key).and_then(|row| row.alarm);
        let answer = sound::deliver(tx, key, item);
        if is_answer {
            tx.row(key, |row| row.alarm = alarm);
        }
        answer
    }),
    broken("answer-of-another-life", "an answer that names a life that was deleted is accepted").deliver(
        |tx, key, item| {
            let life = tx.row_of(key).map(|row| row.incarnation);
            let incarnation = item.incarnation.and(life);
            sound::deliver(tx, key, InboxItem { incarnation, ..item })
        },
    ),
    broken("pending-in-any-order", "open calls are listed by id, not by deadline").list_pending(
        |tx, query| {
            let mut page = sound::list_pending(tx, query)?;
            page.items.sort_by(|a, b| a.id.cmp(&b.id));
            Ok(page)
        },
    ),
    broken("pending-loses-its-body", "what is shown to whoever owes the answer is not kept").commit(
        |tx, fence, mut commit| {
            for open in &mut commit.open {
                open.body = holdover_store::payload::Payload::new("");
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("pending-of-one-kind", "every call is kept as an approval").commit(|tx, fence, mut commit| {
        for open in &mut commit.open {
            open.kind = holdover_store::PendingKind::Approval;
        }
        sound::commit(tx, fence, commit)
    }),
    broken(
        "answer-read-then-written",
        "whether a call is open is read before the wait, and the answer written after it",
    )
    .deliver(|tx, key, item| {
        if asked(&item).is_none() {
            return sound::deliver(tx, key, item);
        }
        tx.read_then_write(key, |tx| sound::deliver(tx, key, item))
    }),
];
