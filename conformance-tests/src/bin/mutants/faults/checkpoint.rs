//! Checkpoints of another moment, too many of them, or too few.

use holdover_store::ids::{CheckpointId, Epoch, MessageSeq};
use holdover_store::{
    Checkpoint, CheckpointQuery, Commit, Page, PageCursor, PageRequest, StoreError, StoreErrorKind,
};

use crate::fault::{Mutant, Tx, broken};
use crate::sound;

type Listed = Result<Page<Checkpoint>, StoreError>;

/// Commits, then changes the new checkpoint.
fn made(
    tx: &mut Tx<'_>,
    fence: &holdover_store::ids::Fence,
    commit: Commit,
    change: fn(&mut Checkpoint, &holdover_store_memory::parts::Record),
) -> holdover_store::CommitOutcome {
    let before = tx.record(&fence.key).cloned();
    let answer = sound::commit(tx, fence, commit);
    if let Some(before) = before {
        tx.with(&fence.key, |record| {
            let new = record.checkpoints.iter_mut().skip(before.checkpoints.len());
            new.for_each(|checkpoint| change(checkpoint, &before));
        });
    }
    answer
}

/// Lists checkpoints, with changed rows.
fn listed(tx: &mut Tx<'_>, query: &CheckpointQuery, change: impl Fn(&mut Vec<Checkpoint>)) -> Listed {
    let mut page = sound::list_checkpoints(tx, query)?;
    change(&mut page.items);
    Ok(page)
}

/// Binds a cursor of any list of checkpoints to this query. A cursor's text holds, in hexadecimal digits: one byte for
/// the kind, 16 bytes of the digest of its query, the place, and a checksum of 4 bytes.
fn rebound(cursor: &PageCursor, query: &CheckpointQuery) -> PageCursor {
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap_or("0"), 16).unwrap_or(0);
    let bytes: Vec<u8> = cursor.as_str().as_bytes().chunks(2).map(byte).collect();
    let place = bytes.get(17..bytes.len().saturating_sub(4)).unwrap_or_default();
    PageCursor::at(query.digest(), place)
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("checkpoints-without-bytes", "a page of checkpoints holds as many bytes as their states have")
        .list_checkpoints(|tx, query| {
            let mut page = sound::list_checkpoints(tx, query)?;
            while page.next.is_some() && page.items.len() < query.page.rows() as usize {
                let after = page.next.take();
                let limit = std::num::NonZeroU32::new(query.page.rows() - page.items.len() as u32);
                let request = holdover_store::PageRequest { after, limit };
                let more = sound::list_checkpoints(tx, &CheckpointQuery { page: request, ..query.clone() })?;
                page.items.extend(more.items);
                page.next = more.next;
            }
            Ok(page)
        }),
    broken("checkpoint-of-the-state-before", "a checkpoint keeps the state that its commit replaced").commit(
        |tx, fence, commit| {
            made(tx, fence, commit, |checkpoint, before| {
                if let Some(state) = &before.state {
                    checkpoint.state = state.clone();
                }
            })
        },
    ),
    broken("checkpoint-of-the-places-before", "a checkpoint names the newest message before its commit")
        .commit(|tx, fence, commit| {
            made(tx, fence, commit, |checkpoint, before| {
                checkpoint.last_message = MessageSeq(before.messages.len() as u64);
            })
        }),
    broken("checkpoints-are-counted", "checkpoints are numbered, not named by their version").commit(
        |tx, fence, commit| {
            made(tx, fence, commit, |checkpoint, before| {
                checkpoint.id = CheckpointId(before.checkpoints.len() as u64 + 1);
            })
        },
    ),
    broken("checkpoint-names-the-first-run", "a checkpoint of a later run names the first")
        .commit(|tx, fence, commit| made(tx, fence, commit, |checkpoint, _| checkpoint.epoch = Epoch(1))),
    broken("checkpoint-at-every-state", "every commit with a state makes a checkpoint").commit(
        |tx, fence, commit| {
            let checkpoint = commit.state.is_some();
            sound::commit(tx, fence, Commit { checkpoint, ..commit })
        },
    ),
    broken("checkpoint-of-a-refused-commit", "the checkpoint of a refused commit is kept").commit(
        |tx, fence, commit| {
            let (state, now) = (commit.state.clone().filter(|_| commit.checkpoint), tx.now);
            let answer = sound::commit(tx, fence, commit);
            if let (false, Some(state)) = (super::committed(&answer), state) {
                tx.with(&fence.key, |record| {
                    record.checkpoints.push(record.row.checkpoint(state.payload, now));
                });
            }
            answer
        },
    ),
    broken("checkpoint-again-on-repeat", "a commit that is repeated makes its checkpoint once more").commit(
        |tx, fence, commit| {
            let asked = commit.state.clone().filter(|_| commit.checkpoint);
            let (now, before) = (tx.now, tx.row_of(&fence.key).map(|row| row.version));
            let answer = sound::commit(tx, fence, commit);
            if super::committed(&answer) && tx.row_of(&fence.key).map(|row| row.version) == before {
                tx.with(&fence.key, |record| {
                    let again = asked.map(|state| record.row.checkpoint(state.payload, now));
                    record.checkpoints.extend(again);
                });
            }
            answer
        },
    ),
    broken("checkpoint-without-a-state", "a checkpoint without a state is promised and not made")
        .check_commit(|commit| {
            sound::check_commit(&Commit {
                checkpoint: commit.checkpoint && commit.state.is_some(),
                ..commit.clone()
            })
        }),
    broken("checkpoints-follow-the-state", "every checkpoint shows the newest state").list_checkpoints(
        |tx, query| {
            let state = tx.record(&query.key).and_then(|record| record.state.clone());
            listed(tx, query, |rows| {
                if let Some(state) = &state {
                    rows.iter_mut().for_each(|checkpoint| checkpoint.state = state.clone());
                }
            })
        },
    ),
    broken("checkpoints-oldest-first", "the checkpoints of a page are listed oldest first")
        .list_checkpoints(|tx, query| listed(tx, query, |rows| rows.reverse())),
    broken("checkpoint-by-any-id", "a checkpoint that does not exist is answered with the newest")
        .list_checkpoints(|tx, query| {
            let page = sound::list_checkpoints(tx, query)?;
            if page.items.is_empty() && query.id.is_some() {
                let all = CheckpointQuery::all(query.key.clone());
                let items = sound::list_checkpoints(tx, &all)?.items.into_iter().take(1).collect();
                return Ok(Page { items, ..page });
            }
            Ok(page)
        }),
    broken("checkpoint-page-skips-one", "a page of checkpoints begins one too late").list_checkpoints(
        |tx, query| {
            let later = query.page.after.is_some();
            listed(tx, query, |rows| {
                if later && rows.len() > 1 {
                    rows.remove(0);
                }
            })
        },
    ),
    broken("checkpoint-cursor-of-any-query", "a list of checkpoints takes the cursor of any list")
        .list_checkpoints(|tx, query| {
            let after = query.page.after.as_ref().map(|cursor| rebound(cursor, query));
            let page = PageRequest { after, ..query.page.clone() };
            sound::list_checkpoints(tx, &CheckpointQuery { page, ..query.clone() })
        }),
    broken("no-checkpoints-of-nobody", "an unknown session has an empty list of checkpoints")
        .list_checkpoints(|tx, query| match sound::list_checkpoints(tx, query) {
            Err(error) if error.kind == StoreErrorKind::NotFound => {
                Ok(Page { items: Vec::new(), next: None })
            }
            answer => answer,
        }),
    broken(
        "delete-leaves-checkpoints",
        "the checkpoints of a deleted session show up in the next of its name",
    )
    .delete(|tx, key, mode| {
        let before = tx.record(key).cloned();
        let answer = sound::delete(tx, key, mode);
        if tx.row_of(key).is_none() {
            tx.graves.extend(before.map(|record| (key.clone(), record)));
        }
        answer
    })
    .create(|tx, new| {
        let (key, fresh) = (new.key.clone(), tx.row_of(&new.key).is_none());
        let answer = sound::create(tx, new);
        if let Some(grave) = tx.graves.remove(&key).filter(|_| fresh) {
            tx.with(&key, |record| record.checkpoints = grave.checkpoints);
        }
        answer
    }),
    broken("checkpoints-lost-with-the-process", "checkpoints are kept in the process alone")
        .reopen(|sessions| sessions.values_mut().for_each(|record| record.checkpoints.clear())),
    broken("page-of-any-place", "a cursor whose place is none begins at the start").list_checkpoints(
        |tx, query| {
            let bound = query.page.after.as_ref().map(|cursor| cursor.position_in(query.digest()));
            let no_place = bound.is_some_and(|place| place.is_ok_and(|place| place.len() != 8));
            if no_place {
                let page = PageRequest { after: None, ..query.page.clone() };
                return sound::list_checkpoints(tx, &CheckpointQuery { page, ..query.clone() });
            }
            sound::list_checkpoints(tx, query)
        },
    ),
];
