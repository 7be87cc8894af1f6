//! Deliveries.

use holdover_store::ids::InboxSeq;
use holdover_store::{Delivery, ItemKind, SessionStatus, Wake};

use super::committed;
use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "key-forgotten-after-consumption",
        broken: "the key of an item is forgotten when the item is consumed",
        fault: Fault {
            commit: |tx, fence, commit| {
                let answer = sound::commit(tx, fence, commit);
                tx.with(&fence.key, |record| {
                    let inbox = &record.inbox;
                    record.keys.retain(|_, (seq, _)| inbox.contains_key(seq));
                });
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "keys-lost-at-reopen",
        broken: "the keys of items are remembered in memory only",
        fault: Fault {
            reopen: |sessions| sessions.values_mut().for_each(|record| record.keys.clear()),
            ..SOUND
        },
    },
    Mutant {
        name: "key-not-remembered",
        broken: "the repeat of a delivery is a second item",
        fault: Fault {
            deliver: |tx, key, item| {
                tx.with(key, |record| record.keys.clear());
                sound::deliver(tx, key, item)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "key-conflict-is-a-duplicate",
        broken: "other content under a known key is taken for a repeat",
        fault: Fault {
            deliver: |tx, key, item| match sound::deliver(tx, key, item) {
                Delivery::Conflict { seq } => Delivery::Duplicate { seq },
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "duplicate-names-the-newest",
        broken: "a repeat is answered with the newest place, not with its own",
        fault: Fault {
            deliver: |tx, key, item| match sound::deliver(tx, key, item) {
                Delivery::Duplicate { seq } => {
                    Delivery::Duplicate { seq: tx.row_of(key).map_or(seq, |row| row.last_item) }
                }
                answer => answer,
            },
            ..SOUND
        },
    },
    Mutant {
        name: "aborted-takes-items",
        broken: "an aborted session takes items",
        fault: Fault {
            deliver: |tx, key, item| {
                let aborted = tx.row_of(key).is_some_and(|row| row.status == SessionStatus::Aborted);
                if aborted {
                    tx.row(key, |row| row.status = SessionStatus::Active);
                }
                let answer = sound::deliver(tx, key, item);
                if aborted {
                    tx.row(key, |row| row.status = SessionStatus::Aborted);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "consumed-as-a-prefix",
        broken: "consuming an item consumes all before it",
        fault: Fault {
            commit: |tx, fence, commit| {
                let newest = commit.consumed.iter().max().copied().unwrap_or(InboxSeq(0));
                let answer = sound::commit(tx, fence, commit);
                if committed(&answer) {
                    tx.with(&fence.key, |record| record.inbox.retain(|seq, _| *seq > newest));
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "consumed-comes-again",
        broken: "a consumed item stays in the inbox",
        fault: Fault {
            commit: |tx, fence, commit| {
                let inbox = tx.record(&fence.key).map(|record| record.inbox.clone()).unwrap_or_default();
                let answer = sound::commit(tx, fence, commit);
                tx.with(&fence.key, |record| record.inbox = inbox);
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-skips-a-row-between-pages",
        broken: "a page of the inbox begins one item too late",
        fault: Fault {
            read_inbox: |tx, key, after, limit| {
                let after = if after.0 == 0 { after } else { after.next() };
                sound::read_inbox(tx, key, after, limit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-ignores-limit",
        broken: "a read of the inbox answers a whole page whatever its limit",
        fault: Fault {
            read_inbox: |tx, key, after, limit| sound::read_inbox(tx, key, after, limit.max(1_000)),
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-newest-first",
        broken: "a claim brings the inbox newest first",
        fault: Fault {
            claim: |tx, key, claim| {
                let mut answer = sound::claim(tx, key, claim);
                if let holdover_store::ClaimOutcome::Claimed(claim) = &mut answer {
                    claim.inbox.reverse();
                }
                answer
            },
            read_inbox: |tx, key, after, limit| {
                let mut page = sound::read_inbox(tx, key, after, limit)?;
                page.items.reverse();
                Ok(page)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-page-without-bytes",
        broken: "a page of the inbox holds as many bytes as its items have",
        fault: Fault {
            read_inbox: |tx, key, after, limit| {
                let mut page = sound::read_inbox(tx, key, after, limit)?;
                while let (Some(next), true) = (page.next, page.items.len() < limit.min(256) as usize) {
                    let more = sound::read_inbox(tx, key, next, limit)?;
                    page.items.extend(more.items);
                    page.next = more.next;
                }
                Ok(page)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-page-never-goes-on",
        broken: "a page of the inbox never says that there is more",
        fault: Fault {
            read_inbox: |tx, key, after, limit| {
                let page = sound::read_inbox(tx, key, after, limit)?;
                Ok(holdover_store::InboxPage { next: None, ..page })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "inbox-has-room-for-eight",
        broken: "the oldest item is dropped when eight are waiting",
        fault: Fault {
            deliver: |tx, key, item| {
                let answer = sound::deliver(tx, key, item);
                tx.with(key, |record| {
                    while record.inbox.len() > 8 {
                        record.inbox.pop_first();
                    }
                });
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "deliver-moves-active-alarm",
        broken: "an item for an active session moves its alarm",
        fault: Fault {
            deliver: |tx, key, item| {
                let urgent = matches!(item.kind, ItemKind::Message { wake: Wake::Now });
                let now = tx.now;
                let answer = sound::deliver(tx, key, item);
                if let (true, Delivery::Accepted { .. }) = (urgent, &answer) {
                    tx.row(key, |row| {
                        if row.status == SessionStatus::Active {
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
        name: "deliver-wakes-nobody",
        broken: "an item for a session at rest does not wake it",
        fault: Fault {
            deliver: |tx, key, item| {
                let before = tx.row_of(key).and_then(|row| row.alarm);
                let answer = sound::deliver(tx, key, item);
                tx.row(key, |row| {
                    if row.status == SessionStatus::Idle {
                        row.alarm = before;
                    }
                });
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "quiet-items-wake",
        broken: "an item that counts nothing wakes the session",
        fault: Fault {
            deliver: |tx, key, mut item| {
                match &mut item.kind {
                    ItemKind::Message { wake } | ItemKind::Signal { wake } | ItemKind::Other { wake, .. }
                        if *wake == Wake::Quiet =>
                    {
                        *wake = Wake::Now
                    }
                    ItemKind::Message { .. }
                    | ItemKind::Signal { .. }
                    | ItemKind::Answer { .. }
                    | ItemKind::Other { .. } => {}
                }
                sound::deliver(tx, key, item)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "suspended-takes-nothing",
        broken: "a suspended session refuses items",
        fault: Fault {
            deliver: |tx, key, item| {
                let refused = tx.row_of(key).is_some_and(|row| row.status == SessionStatus::Suspended);
                let message = matches!(item.kind, ItemKind::Message { .. });
                if refused && message { Delivery::NotPending } else { sound::deliver(tx, key, item) }
            },
            ..SOUND
        },
    },
    Mutant {
        name: "deliver-read-then-written",
        broken: "whether a key is known is read before the wait, and the item written after it",
        fault: Fault {
            deliver: |tx, key, item| tx.read_then_write(key, |tx| sound::deliver(tx, key, item)),
            ..SOUND
        },
    },
];
