//! Deliveries.

use holdover_store::ids::InboxSeq;
use holdover_store::{Delivery, ItemKind, SessionStatus, Wake};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("key-forgotten-after-consumption", "the key of an item is forgotten when the item is consumed")
        .commit(|tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            tx.with(&fence.key, |record| {
                let inbox = &record.inbox;
                record.keys.retain(|_, (seq, _)| inbox.contains_key(seq));
            });
            answer
        }),
    broken("keys-lost-at-reopen", "the keys of items are remembered in memory only")
        .reopen(|sessions| sessions.values_mut().for_each(|record| record.keys.clear())),
    broken("key-not-remembered", "the repeat of a delivery is a second item").deliver(|tx, key, item| {
        tx.with(key, |record| record.keys.clear());
        sound::deliver(tx, key, item)
    }),
    broken("key-conflict-is-a-duplicate", "other content under a known key is taken for a repeat").deliver(
        |tx, key, item| match sound::deliver(tx, key, item) {
            Delivery::Conflict { seq } => Delivery::Duplicate { seq },
            answer => answer,
        },
    ),
    broken("duplicate-names-the-newest", "a repeat is answered with the newest place, not with its own")
        .deliver(|tx, key, item| match sound::deliver(tx, key, item) {
            Delivery::Duplicate { seq } => {
                Delivery::Duplicate { seq: tx.row_of(key).map_or(seq, |row| row.last_item) }
            }
            answer => answer,
        }),
    broken("aborted-takes-items", "an aborted session takes items").deliver(|tx, key, item| {
        let aborted = tx.row_of(key).is_some_and(|row| row.status == SessionStatus::Aborted);
        if aborted {
            tx.row(key, |row| row.status = SessionStatus::Active);
        }
        let answer = sound::deliver(tx, key, item);
        if aborted {
            tx.row(key, |row| row.status = SessionStatus::Aborted);
        }
        answer
    }),
    broken("consumed-as-a-prefix", "consuming an item consumes all before it").commit(|tx, fence, commit| {
        let newest = commit.consumed.iter().max().copied().unwrap_or(InboxSeq(0));
        let answer = sound::commit(tx, fence, commit);
        if committed(&answer) {
            tx.with(&fence.key, |record| record.inbox.retain(|seq, _| *seq > newest));
        }
        answer
    }),
    broken("consumed-comes-again", "a consumed item stays in the inbox").commit(|tx, fence, commit| {
        let inbox = tx.record(&fence.key).map(|record| record.inbox.clone()).unwrap_or_default();
        let answer = sound::commit(tx, fence, commit);
        tx.with(&fence.key, |record| record.inbox = inbox);
        answer
    }),
    broken("inbox-skips-a-row-between-pages", "a page of the inbox begins one item too late").read_inbox(
        |tx, key, after, limit| {
            let after = if after.0 == 0 { after } else { after.next() };
            sound::read_inbox(tx, key, after, limit)
        },
    ),
    broken("inbox-ignores-limit", "a read of the inbox answers a whole page whatever its limit")
        .read_inbox(|tx, key, after, limit| sound::read_inbox(tx, key, after, limit.max(1_000))),
    broken("inbox-newest-first", "a claim brings the inbox newest first")
        .claim(|tx, key, claim| {
            let mut answer = sound::claim(tx, key, claim);
            if let holdover_store::ClaimOutcome::Claimed(claim) = &mut answer {
                claim.inbox.reverse();
            }
            answer
        })
        .read_inbox(|tx, key, after, limit| {
            let mut page = sound::read_inbox(tx, key, after, limit)?;
            page.items.reverse();
            Ok(page)
        }),
    broken("inbox-page-without-bytes", "a page of the inbox holds as many bytes as its items have")
        .read_inbox(|tx, key, after, limit| {
            let mut page = sound::read_inbox(tx, key, after, limit)?;
            while let (Some(next), true) = (page.next, page.items.len() < limit.min(256) as usize) {
                let more = sound::read_inbox(tx, key, next, limit)?;
                page.items.extend(more.items);
                page.next = more.next;
            }
            Ok(page)
        }),
    broken("inbox-page-never-goes-on", "a page of the inbox never says that there is more").read_inbox(
        |tx, key, after, limit| {
            let page = sound::read_inbox(tx, key, after, limit)?;
            Ok(holdover_store::InboxPage { next: None, ..page })
        },
    ),
    broken("inbox-has-room-for-eight", "the oldest item is dropped when eight are waiting").deliver(
        |tx, key, item| {
            let answer = sound::deliver(tx, key, item);
            tx.with(key, |record| {
                while record.inbox.len() > 8 {
                    record.inbox.pop_first();
                }
            });
            answer
        },
    ),
    broken("deliver-moves-active-alarm", "an item for an active session moves its alarm").deliver(
        |tx, key, item| {
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
    ),
    broken("deliver-wakes-nobody", "an item for a session at rest does not wake it").deliver(
        |tx, key, item| {
            let before = tx.row_of(key).and_then(|row| row.alarm);
            let answer = sound::deliver(tx, key, item);
            tx.row(key, |row| {
                if row.status == SessionStatus::Idle {
                    row.alarm = before;
                }
            });
            answer
        },
    ),
    broken("quiet-items-wake", "an item that counts nothing wakes the session").deliver(
        |tx, key, mut item| {
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
    ),
    broken("suspended-takes-nothing", "a suspended session refuses items").deliver(|tx, key, item| {
        let refused = tx.row_of(key).is_some_and(|row| row.status == SessionStatus::Suspended);
        let message = matches!(item.kind, ItemKind::Message { .. });
        if refused && message { Delivery::NotPending } else { sound::deliver(tx, key, item) }
    }),
    broken(
        "deliver-read-then-written",
        "whether a key is known is read before the wait, and the item written after it",
    )
    .deliver(|tx, key, item| tx.read_then_write(key, |tx| sound::deliver(tx, key, item))),
];
