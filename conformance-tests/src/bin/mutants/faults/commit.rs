//! Commits: atomicity, one version, one order.

use holdover_store::{Applied, Commit, CommitOutcome, NewMessage};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "stale-denies-too-much",
        "of a commit before the newest of its run it is said that it was not applied",
    )
    .commit(|tx, fence, commit| {
        let newest = tx.row_of(&fence.key).and_then(|row| row.last_commit);
        match sound::commit(tx, fence, commit) {
            CommitOutcome::StaleFence { applied: Applied::Unknown }
                if newest.is_some_and(|newest| newest.epoch == fence.epoch) =>
            {
                CommitOutcome::StaleFence { applied: Applied::No }
            }
            answer => answer,
        }
    }),
    broken(
        "promotion-in-two-transactions",
        "the state is written first, the messages in a second transaction",
    )
    .commit(|tx, fence, commit| {
        let before = tx.record(&fence.key).map(|record| record.messages.clone()).unwrap_or_default();
        let answer = sound::commit(tx, fence, commit);
        let mut written = Vec::new();
        tx.with(&fence.key, |record| {
            written = record.messages.split_off(before.len());
        });
        let key = fence.key.clone();
        tx.then(move |tx| tx.with(&key, |record| record.messages.extend(written)));
        answer
    }),
    broken("events-in-two-transactions", "the events of a commit are written in a second transaction")
        .commit(|tx, fence, commit| {
            let before = tx.record(&fence.key).map_or(0, |record| record.events.len());
            let answer = sound::commit(tx, fence, commit);
            let mut written = Vec::new();
            tx.with(&fence.key, |record| {
                written = record.events.split_off(before);
            });
            let key = fence.key.clone();
            tx.then(move |tx| tx.with(&key, |record| record.events.extend(written)));
            answer
        }),
    broken("batch-row-by-row", "the last message of a commit is written in a second transaction").commit(
        |tx, fence, commit| {
            let before = tx.record(&fence.key).map_or(0, |record| record.messages.len());
            let answer = sound::commit(tx, fence, commit);
            let mut last = None;
            tx.with(&fence.key, |record| {
                if record.messages.len() > before + 1 {
                    last = record.messages.pop();
                }
            });
            if let Some(last) = last {
                let key = fence.key.clone();
                tx.then(move |tx| {
                    tx.with(&key, |record| {
                        record.messages.push(last);
                        record.messages.sort_by_key(|message| message.seq);
                    });
                });
            }
            answer
        },
    ),
    broken("refused-commit-keeps-messages", "messages of a commit stay when a later check refuses it")
        .commit(|tx, fence, commit| {
            let inline = |message: &NewMessage| match message {
                NewMessage::Inline(payload) => Some(payload.clone()),
                NewMessage::Promote(_) => None,
            };
            let messages: Vec<_> = commit.messages.iter().filter_map(inline).collect();
            let now = tx.now;
            let answer = sound::commit(tx, fence, commit);
            if !committed(&answer) {
                tx.with(&fence.key, |record| record.append(messages, Vec::new(), now));
            }
            answer
        }),
    broken("refused-commit-keeps-state", "the state of a commit stays when a later check refuses it").commit(
        |tx, fence, commit| {
            let state = commit.state.clone();
            let answer = sound::commit(tx, fence, commit);
            if let (false, Some(state)) = (committed(&answer), state) {
                tx.with(&fence.key, |record| record.state = Some(state.payload));
            }
            answer
        },
    ),
    broken("refused-commit-consumes", "items that a refused commit names are consumed").commit(
        |tx, fence, commit| {
            let consumed = commit.consumed.clone();
            let answer = sound::commit(tx, fence, commit);
            if !committed(&answer) {
                tx.with(&fence.key, |record| record.inbox.retain(|seq, _| !consumed.contains(seq)));
            }
            answer
        },
    ),
    broken("refused-commit-raises-version", "a refused commit raises the version").commit(
        |tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            if !committed(&answer) {
                tx.row(&fence.key, |row| row.version = row.version.next());
            }
            answer
        },
    ),
    broken("commit-ignores-version", "a commit does not look at the version that it was decided on")
        .commit(|tx, fence, commit| sound::commit(tx, fence, Commit { expected_version: None, ..commit })),
    broken("empty-commit-keeps-version", "a commit that writes no state does not raise the version").commit(
        |tx, fence, commit| {
            let before = tx.row_of(&fence.key).map(|row| row.version);
            let stateless = commit.state.is_none();
            let mut answer = sound::commit(tx, fence, commit);
            if let (CommitOutcome::Committed(receipt), Some(version), true) = (&mut answer, before, stateless)
            {
                receipt.version = version;
                tx.row(&fence.key, |row| row.version = version);
            }
            answer
        },
    ),
    broken("stage-raises-version", "staging raises the version").stage(|tx, fence, staging| {
        let answer = sound::stage(tx, fence, staging);
        tx.row(&fence.key, |row| row.version = row.version.next());
        answer
    }),
    broken("messages-reordered", "the messages of one commit are kept in reverse").commit(
        |tx, fence, mut commit| {
            commit.messages.reverse();
            sound::commit(tx, fence, commit)
        },
    ),
    broken("messages-with-gaps", "a commit of several messages leaves a gap in their numbers").commit(
        |tx, fence, commit| {
            let several = commit.messages.len() > 1;
            let before = tx.record(&fence.key).map_or(0, |record| record.messages.len());
            let answer = sound::commit(tx, fence, commit);
            tx.with(&fence.key, |record| {
                if let Some(last) =
                    record.messages.last_mut().filter(|last| several && last.seq.0 as usize > before)
                {
                    last.seq.0 += 1;
                }
            });
            answer
        },
    ),
    broken("messages-rewritten", "a commit writes the whole history anew, with its own time").commit(
        |tx, fence, commit| {
            let now = tx.now;
            let answer = sound::commit(tx, fence, commit);
            if committed(&answer) {
                tx.with(&fence.key, |record| record.messages.iter_mut().for_each(|message| message.at = now));
            }
            answer
        },
    ),
    broken("receipt-without-news", "a receipt does not tell of items and interrupts that arrived").commit(
        |tx, fence, commit| {
            let mut answer = sound::commit(tx, fence, commit);
            if let CommitOutcome::Committed(receipt) = &mut answer {
                receipt.unread = 0;
                receipt.interrupt = false;
            }
            answer
        },
    ),
    broken("released-to-active", "a commit may release a session to active").check_commit(|_| Ok(())),
];
