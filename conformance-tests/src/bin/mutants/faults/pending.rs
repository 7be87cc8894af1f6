//! Calls that somebody outside owes an answer.

use holdover_store::ids::PendingId;
use holdover_store::{Commit, Delivery, InboxItem, ItemKind, PendingCall, SessionStatus, Wake};
use holdover_store_memory::parts::Record;

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

/// The open call that `item` answers.
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
    Mutant {
        name: "answer-after-deadline",
        broken: "an answer is accepted after its deadline",
        fault: Fault {
            deliver: |tx, key, item| {
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
            },
            ..SOUND
        },
    },
    Mutant {
        name: "deadline-at-reading",
        broken: "an answer that came in time is gone when it is read after the deadline",
        fault: Fault {
            claim: |tx, key, claim| {
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
            },
            ..SOUND
        },
    },
    Mutant {
        name: "second-answer-overwrites",
        broken: "a call that has its answer takes another",
        fault: Fault {
            deliver: |tx, key, item| {
                tx.with(key, |record| {
                    if let Some(open) = answered(record, &item) {
                        open.answered = open.answered.min(open.needed - 1);
                    }
                });
                sound::deliver(tx, key, item)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "first-answer-suffices",
        broken: "the first of several needed answers ends the asking",
        fault: Fault {
            commit: |tx, fence, mut commit| {
                for open in &mut commit.open {
                    open.needed = 1;
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refusal-does-not-settle",
        broken: "an answer that settles counts one like any other",
        fault: Fault {
            deliver: |tx, key, mut item| {
                if let ItemKind::Answer { settles, .. } = &mut item.kind {
                    *settles = false;
                }
                sound::deliver(tx, key, item)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "close-drops-unread-answer",
        broken: "a call is closed though its answer was not read",
        fault: Fault {
            commit: |tx, fence, commit| {
                tx.with(&fence.key, |record| {
                    for open in record.pending.iter_mut().filter(|open| commit.close.contains(&open.id)) {
                        open.last_answer = Default::default();
                    }
                });
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-id-used-twice",
        broken: "a call may be opened under the id of one that was closed",
        fault: Fault {
            commit: |tx, fence, commit| {
                tx.with(&fence.key, |record| {
                    record.opened = record.pending.iter().map(|open| open.id.clone()).collect();
                });
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-id-looked-at-last",
        broken: "an item that is not there is told before an id that was used",
        fault: Fault {
            commit: |tx, fence, commit| {
                let record = tx.record(&fence.key);
                let misses =
                    record.is_some_and(|r| commit.consumed.iter().any(|seq| !r.inbox.contains_key(seq)));
                let open = if misses { Vec::new() } else { commit.open.clone() };
                sound::commit(tx, fence, Commit { open, ..commit })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "unknown-close-is-skipped",
        broken: "closing what is not open is no conflict",
        fault: Fault {
            commit: |tx, fence, commit| {
                let open: Vec<_> = tx
                    .record(&fence.key)
                    .map(|r| r.pending.iter().map(|p| p.id.clone()).collect())
                    .unwrap_or_default();
                let close = commit.close.iter().filter(|id| open.contains(id)).cloned().collect();
                sound::commit(tx, fence, Commit { close, ..commit })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "answer-to-nothing-is-kept",
        broken: "an answer to a call that is not open is accepted",
        fault: Fault {
            deliver: |tx, key, item| match sound::deliver(tx, key, item.clone()) {
                Delivery::NotPending => {
                    let kind = ItemKind::Signal { wake: Wake::Quiet };
                    sound::deliver(tx, key, InboxItem { kind, incarnation: None, ..item })
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "any-answer-wakes",
        broken: "an answer wakes the session though more are needed",
        fault: Fault {
            deliver: |tx, key, item| {
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
            ..SOUND
        },
    },
    Mutant {
        name: "answer-wakes-nobody",
        broken: "the last answer does not wake the session",
        fault: Fault {
            deliver: |tx, key, item| {
                let is_answer = asked(&item).is_some();
                let alarm = tx.row_of(key).and_then(|row| row.alarm);
                let answer = sound::deliver(tx, key, item);
                if is_answer {
                    tx.row(key, |row| row.alarm = alarm);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "answer-of-another-life",
        broken: "an answer that names a life that was deleted is accepted",
        fault: Fault {
            deliver: |tx, key, item| {
                let life = tx.row_of(key).map(|row| row.incarnation);
                let incarnation = item.incarnation.and(life);
                sound::deliver(tx, key, InboxItem { incarnation, ..item })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-in-any-order",
        broken: "open calls are listed by id, not by deadline",
        fault: Fault {
            list_pending: |tx, query| {
                let mut page = sound::list_pending(tx, query)?;
                page.items.sort_by(|a, b| a.id.cmp(&b.id));
                Ok(page)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-loses-its-body",
        broken: "what is shown to whoever owes the answer is not kept",
        fault: Fault {
            commit: |tx, fence, mut commit| {
                for open in &mut commit.open {
                    open.body = holdover_store::payload::Payload::new("");
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "pending-of-one-kind",
        broken: "every call is kept as an approval",
        fault: Fault {
            commit: |tx, fence, mut commit| {
                for open in &mut commit.open {
                    open.kind = holdover_store::PendingKind::Approval;
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "answer-read-then-written",
        broken: "whether a call is open is read before the wait, and the answer written after it",
        fault: Fault {
            deliver: |tx, key, item| {
                if asked(&item).is_none() {
                    return sound::deliver(tx, key, item);
                }
                tx.read_then_write(key, |tx| sound::deliver(tx, key, item))
            },
            ..SOUND
        },
    },
];
