//! Staging and promotion.

use holdover_store::ids::CallId;
use holdover_store::{CommitOutcome, NewMessage, StageOutcome, Staging};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("staged-listed-backwards", "staged results are listed in the reverse order of their calls").load(
        |tx, key| {
            let mut session = sound::load(tx, key);
            session.iter_mut().for_each(|session| session.staged.results.reverse());
            session
        },
    ),
    broken("staged-result-overwritten", "a second result of a call replaces the first").stage(
        |tx, fence, staging| match sound::stage(tx, fence, staging.clone()) {
            StageOutcome::Conflict { .. } => {
                tx.with(&fence.key, |record| {
                    for result in &staging.results {
                        record.staged.insert(result.call.clone(), result.payload.clone());
                    }
                });
                sound::stage(tx, fence, staging)
            }
            kept @ (StageOutcome::Staged(_) | StageOutcome::StaleFence) => kept,
        },
    ),
    broken("staged-kept-at-rest", "what is staged stays when the session is left idle").commit(
        |tx, fence, commit| {
            let staged = tx.record(&fence.key).map(|record| record.staged.clone()).unwrap_or_default();
            let (messages, ends) = (commit.messages.clone(), commit.ends_staging());
            let answer = sound::commit(tx, fence, commit);
            if ends && matches!(answer, CommitOutcome::Committed(_)) {
                tx.with(&fence.key, |record| {
                    let is_left = |call: &CallId| !messages.contains(&NewMessage::Promote(call.clone()));
                    record.staged.extend(staged.into_iter().filter(|(call, _)| is_left(call)));
                });
            }
            answer
        },
    ),
    broken("staged-again-is-a-conflict", "staging the same result again is refused").stage(
        |tx, fence, staging| {
            let known = tx.record(&fence.key).and_then(|record| {
                staging.results.iter().find(|result| record.staged.contains_key(&result.call))
            });
            match known {
                Some(result) => StageOutcome::Conflict { call: result.call.clone() },
                None => sound::stage(tx, fence, staging),
            }
        },
    ),
    broken("refused-stage-keeps-the-rest", "of several results, those before a conflict stay").stage(
        |tx, fence, staging| {
            let results = staging.results.clone();
            let answer = sound::stage(tx, fence, staging);
            if matches!(answer, StageOutcome::Conflict { .. }) {
                tx.with(&fence.key, |record| {
                    for result in results {
                        record.staged.entry(result.call).or_insert(result.payload);
                    }
                });
            }
            answer
        },
    ),
    broken("staged-survives-promotion", "a promoted result stays staged, and can be promoted twice").commit(
        |tx, fence, commit| {
            let staged = tx.record(&fence.key).map(|record| record.staged.clone()).unwrap_or_default();
            let answer = sound::commit(tx, fence, commit);
            tx.with(&fence.key, |record| {
                for (call, payload) in staged {
                    record.staged.entry(call).or_insert(payload);
                }
            });
            answer
        },
    ),
    broken("promotion-drops-the-rest", "a commit that promotes one result drops the others").commit(
        |tx, fence, commit| {
            let promotes = commit.messages.iter().any(|message| matches!(message, NewMessage::Promote(_)));
            let answer = sound::commit(tx, fence, commit);
            if promotes && committed(&answer) {
                tx.with(&fence.key, |record| record.staged.clear());
            }
            answer
        },
    ),
    broken("promotion-by-call-id", "results are promoted in the order of their call ids, not of the commit")
        .commit(|tx, fence, mut commit| {
            let mut calls: Vec<_> =
                commit.messages.iter().filter(|m| matches!(m, NewMessage::Promote(_))).cloned().collect();
            calls.sort_by_key(|message| match message {
                NewMessage::Promote(call) => call.to_string(),
                NewMessage::Inline(_) => String::new(),
            });
            let mut calls = calls.into_iter();
            for message in &mut commit.messages {
                if let (NewMessage::Promote(_), Some(next)) = (&message, calls.as_slice().first().cloned()) {
                    *message = next;
                    let _ = calls.next();
                }
            }
            sound::commit(tx, fence, commit)
        }),
    broken("unknown-promotion-is-skipped", "a commit that promotes what is not staged is applied without it")
        .commit(|tx, fence, mut commit| {
            let staged = tx.record(&fence.key).map(|record| record.staged.clone()).unwrap_or_default();
            let own: Vec<_> = commit.stage.iter().map(|result| result.call.clone()).collect();
            let repeat = tx.row_of(&fence.key).is_some_and(|row| row.admit(fence, &commit).is_some());
            if !repeat {
                commit.messages.retain(|message| match message {
                    NewMessage::Promote(call) => staged.contains_key(call) || own.contains(call),
                    NewMessage::Inline(_) => true,
                });
            }
            sound::commit(tx, fence, commit)
        }),
    broken("failed-promotion-drops-staged", "a refused commit drops what it would have promoted").commit(
        |tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            if matches!(answer, CommitOutcome::VersionConflict { .. } | CommitOutcome::NotStaged { .. }) {
                tx.with(&fence.key, |record| record.staged.clear());
            }
            answer
        },
    ),
    broken("staged-is-visible", "a staged result can be read as a message").read_messages(
        |tx, key, ranges| {
            let mut page = sound::read_messages(tx, key, ranges)?;
            let now = tx.now;
            if let Some(record) = tx.record(key) {
                let mut seq = record.row.last_message;
                for payload in record.staged.values() {
                    seq.0 += 1;
                    page.messages.push(holdover_store::StoredMessage {
                        seq,
                        at: now,
                        payload: payload.clone(),
                    });
                }
            }
            Ok(page)
        },
    ),
    broken("start-marks-survive-the-state", "start marks are kept when a new state names what started")
        .commit(|tx, fence, commit| {
            let starts = tx.record(&fence.key).map(|record| record.starts.clone()).unwrap_or_default();
            let answer = sound::commit(tx, fence, commit);
            tx.with(&fence.key, |record| record.starts = starts);
            answer
        }),
    broken("start-marks-dropped-by-any-commit", "a commit without a state drops the start marks").commit(
        |tx, fence, commit| {
            let answer = sound::commit(tx, fence, commit);
            if committed(&answer) {
                tx.with(&fence.key, |record| record.starts.clear());
            }
            answer
        },
    ),
    broken("start-marks-dropped", "start marks are not kept at all")
        .stage(|tx, fence, staging| sound::stage(tx, fence, Staging { starts: Vec::new(), ..staging })),
    broken("staging-lost-at-reopen", "what is staged lives in memory only").reopen(|sessions| {
        for record in sessions.values_mut() {
            record.staged.clear();
            record.starts.clear();
        }
    }),
];
