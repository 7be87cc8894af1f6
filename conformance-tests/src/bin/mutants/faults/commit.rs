//! The commit: all or nothing, one version, one order.

use holdover_store::{Applied, Commit, CommitOutcome, NewMessage};

use super::committed;
use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "stale-denies-too-much",
        broken: "of a commit before the newest of its run it is said that it was not applied",
        fault: Fault {
            commit: |tx, fence, commit| {
                let newest = tx.row_of(&fence.key).and_then(|row| row.last_commit);
                match sound::commit(tx, fence, commit) {
                    CommitOutcome::StaleFence { applied: Applied::Unknown }
                        if newest.is_some_and(|newest| newest.epoch == fence.epoch) =>
                    {
                        CommitOutcome::StaleFence { applied: Applied::No }
                    }
                    answer => answer,
                }
            },
            ..SOUND
        },
    },
    Mutant {
        name: "promotion-in-two-transactions",
        broken: "the state is written first, the messages in a second transaction",
        fault: Fault {
            commit: |tx, fence, commit| {
                let before = tx.record(&fence.key).map(|record| record.messages.clone()).unwrap_or_default();
                let answer = sound::commit(tx, fence, commit);
                let mut written = Vec::new();
                tx.with(&fence.key, |record| {
                    written = record.messages.split_off(before.len());
                });
                let key = fence.key.clone();
                tx.then(move |tx| tx.with(&key, |record| record.messages.extend(written)));
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "events-in-two-transactions",
        broken: "the events of a commit are written in a second transaction",
        fault: Fault {
            commit: |tx, fence, commit| {
                let before = tx.record(&fence.key).map_or(0, |record| record.events.len());
                let answer = sound::commit(tx, fence, commit);
                let mut written = Vec::new();
                tx.with(&fence.key, |record| {
                    written = record.events.split_off(before);
                });
                let key = fence.key.clone();
                tx.then(move |tx| tx.with(&key, |record| record.events.extend(written)));
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "batch-row-by-row",
        broken: "the last message of a commit is written in a second transaction",
        fault: Fault {
            commit: |tx, fence, commit| {
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
            ..SOUND
        },
    },
    Mutant {
        name: "refused-commit-keeps-messages",
        broken: "messages of a commit stay when a later check refuses it",
        fault: Fault {
            commit: |tx, fence, commit| {
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
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refused-commit-keeps-state",
        broken: "the state of a commit stays when a later check refuses it",
        fault: Fault {
            commit: |tx, fence, commit| {
                let state = commit.state.clone();
                let answer = sound::commit(tx, fence, commit);
                if let (false, Some(state)) = (committed(&answer), state) {
                    tx.with(&fence.key, |record| record.state = Some(state.payload));
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refused-commit-consumes",
        broken: "items that a refused commit names are consumed",
        fault: Fault {
            commit: |tx, fence, commit| {
                let consumed = commit.consumed.clone();
                let answer = sound::commit(tx, fence, commit);
                if !committed(&answer) {
                    tx.with(&fence.key, |record| record.inbox.retain(|seq, _| !consumed.contains(seq)));
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "refused-commit-raises-version",
        broken: "a refused commit raises the version",
        fault: Fault {
            commit: |tx, fence, commit| {
                let answer = sound::commit(tx, fence, commit);
                if !committed(&answer) {
                    tx.row(&fence.key, |row| row.version = row.version.next());
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "commit-ignores-version",
        broken: "a commit does not look at the version that it was decided on",
        fault: Fault {
            commit: |tx, fence, commit| sound::commit(tx, fence, Commit { expected_version: None, ..commit }),
            ..SOUND
        },
    },
    Mutant {
        name: "empty-commit-keeps-version",
        broken: "a commit that writes no state does not raise the version",
        fault: Fault {
            commit: |tx, fence, commit| {
                let before = tx.row_of(&fence.key).map(|row| row.version);
                let stateless = commit.state.is_none();
                let mut answer = sound::commit(tx, fence, commit);
                if let (CommitOutcome::Committed(receipt), Some(version), true) =
                    (&mut answer, before, stateless)
                {
                    receipt.version = version;
                    tx.row(&fence.key, |row| row.version = version);
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "stage-raises-version",
        broken: "staging raises the version",
        fault: Fault {
            stage: |tx, fence, staging| {
                let answer = sound::stage(tx, fence, staging);
                tx.row(&fence.key, |row| row.version = row.version.next());
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "messages-reordered",
        broken: "the messages of one commit are kept in reverse",
        fault: Fault {
            commit: |tx, fence, mut commit| {
                commit.messages.reverse();
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "messages-with-gaps",
        broken: "a commit of several messages leaves a gap in their numbers",
        fault: Fault {
            commit: |tx, fence, commit| {
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
            ..SOUND
        },
    },
    Mutant {
        name: "messages-rewritten",
        broken: "a commit writes the whole history anew, with its own time",
        fault: Fault {
            commit: |tx, fence, commit| {
                let now = tx.now;
                let answer = sound::commit(tx, fence, commit);
                if committed(&answer) {
                    tx.with(&fence.key, |record| {
                        record.messages.iter_mut().for_each(|message| message.at = now)
                    });
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "receipt-without-news",
        broken: "a receipt does not tell of items and interrupts that arrived",
        fault: Fault {
            commit: |tx, fence, commit| {
                let mut answer = sound::commit(tx, fence, commit);
                if let CommitOutcome::Committed(receipt) = &mut answer {
                    receipt.unread = 0;
                    receipt.interrupt = false;
                }
                answer
            },
            ..SOUND
        },
    },
    Mutant {
        name: "released-to-active",
        broken: "a commit may release a session to active",
        fault: Fault { check_commit: |_| Ok(()), ..SOUND },
    },
];
