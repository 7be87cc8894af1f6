//! Answers and rows in which one field is missing or wrong.

use holdover_store::ids::Version;
use holdover_store::{
    CasOutcome, ClaimOutcome, Commit, CommitOutcome, CreateOutcome, DeleteOutcome, ForkOutcome, ItemKind,
    MessageRange, PendingKind, Release, SessionStatus, StagedResult, Start, Wake,
};
use holdover_store_memory::parts::Record;

use crate::fault::{Mutant, broken};
use crate::sound;

/// Defines a claim whose answer is changed.
macro_rules! claim_answers {
    ($name:literal, $broken:literal, $pattern:pat, |$asked:ident, $now:ident| $change:expr) => {
        broken($name, $broken).claim(|tx, key, claim| {
            let ($asked, $now) = (&claim.clone(), tx.now);
            let mut answer = sound::claim(tx, key, claim);
            // Not every fault uses the request or the time.
            let _ = ($asked, $now);
            if let $pattern = &mut answer {
                $change;
            }
            answer
        })
    };
}

/// Defines a status move whose answer is changed.
macro_rules! cas_answers {
    ($name:literal, $broken:literal, $pattern:pat, $change:expr) => {
        broken($name, $broken).cas(|tx, key, cas| {
            let mut answer = sound::cas(tx, key, cas);
            if let $pattern = &mut answer {
                $change;
            }
            answer
        })
    };
}

/// Defines a delivery after which the kind of every item is changed.
macro_rules! kinds {
    ($name:literal, $broken:literal, |$kind:ident| $change:expr) => {
        broken($name, $broken).deliver(|tx, key, item| {
            let answer = sound::deliver(tx, key, item);
            tx.with(key, |record| items(record, |$kind| $change));
            answer
        })
    };
}

/// Defines a commit after which the session is changed. `commit` is the request, and `before` is the session before it.
macro_rules! committed_with {
    ($name:literal, $broken:literal, |$record:ident, $commit:ident, $before:ident| $change:expr) => {
        broken($name, $broken).commit(|tx, fence, $commit| {
            let before = tx.record(&fence.key).cloned();
            let answer = sound::commit(tx, fence, $commit.clone());
            if let (CommitOutcome::Committed(_), Some($before)) = (&answer, before) {
                tx.with(&fence.key, |$record| $change);
            }
            answer
        })
    };
}

/// Changes the kind of every item in the inbox.
fn items(record: &mut Record, change: fn(&mut ItemKind)) {
    record.inbox.values_mut().for_each(|(item, _)| change(&mut item.kind));
}

/// Keeps one result per call: the newest, or the first.
fn one_of_each(results: &mut Vec<StagedResult>, newest: bool) {
    let mut kept: Vec<StagedResult> = Vec::new();
    for result in results.drain(..) {
        match kept.iter_mut().find(|one| one.call == result.call) {
            Some(one) if newest => *one = result,
            Some(_) => {}
            None => kept.push(result),
        }
    }
    *results = kept;
}

/// Returns true if a commit aborts the session.
fn aborts(commit: &Commit) -> bool {
    matches!(commit.release, Some(Release::To { status: SessionStatus::Aborted, .. }))
}

pub(super) static MUTANTS: &[Mutant] = &[
    kinds!("settles-lost", "an item does not say that its answer settled the asking", |kind| {
        if let ItemKind::Answer { settles, .. } = kind {
            *settles = false;
        }
    }),
    kinds!("kept-items-are-all-urgent", "an item does not say how its sender wanted it to count", |kind| {
        if let ItemKind::Message { wake } | ItemKind::Signal { wake } = kind {
            *wake = Wake::Now;
        }
    }),
    kinds!("signals-are-messages", "a signal is kept as a message", |kind| {
        if let ItemKind::Signal { wake } = kind {
            *kind = ItemKind::Message { wake: *wake };
        }
    }),
    kinds!(
        "newer-kinds-are-signals",
        "a kind of item that only a newer version knows is kept as a signal",
        |kind| {
            if let ItemKind::Other { wake, .. } = kind {
                *kind = ItemKind::Signal { wake: *wake };
            }
        }
    ),
    broken("newer-kinds-are-approvals", "a call that waits for somebody whom only a newer version knows is kept as one that waits for approval").commit(|tx, fence, mut commit| {
                for open in &mut commit.open {
                    if let PendingKind::Other(_) = open.kind {
                        open.kind = PendingKind::Approval;
                    }
                }
                sound::commit(tx, fence, commit)
            }),
    claim_answers!(
        "held-names-the-asker",
        "whoever is refused is told that the session is its own",
        ClaimOutcome::Held { worker, .. },
        |asked, _now| *worker = asked.worker.clone()
    ),
    claim_answers!(
        "held-says-the-first-version",
        "whoever is refused is told the version of the creation",
        ClaimOutcome::Held { version, .. },
        |_asked, _now| *version = Version(1)
    ),
    claim_answers!(
        "held-ends-now",
        "whoever is refused is told that the lease ends now",
        ClaimOutcome::Held { lease_ends, .. },
        |_asked, now| *lease_ends = now
    ),
    claim_answers!(
        "claim-conflict-without-status",
        "a claim at another version is told that the session is idle",
        ClaimOutcome::VersionConflict { status, .. },
        |_asked, _now| *status = SessionStatus::Idle
    ),
    claim_answers!(
        "claim-refusal-names-the-first-item",
        "a claim is told that its first item was refused, whichever was",
        ClaimOutcome::ItemRefused { index, .. },
        |_asked, _now| *index = 0
    ),
    broken("claim-repeat-found-it-active", "the repeat of a claim says that it found the session active").claim(|tx, key, claim| {
                let repeat = tx.row_of(key).is_some_and(|row| row.last_claim.as_ref() == Some(&claim.run));
                let mut answer = sound::claim(tx, key, claim);
                if let (true, ClaimOutcome::Claimed(claim)) = (repeat, &mut answer) {
                    claim.found = SessionStatus::Active;
                }
                answer
            }),
    cas_answers!(
        "cas-conflict-without-status",
        "a move at another version is told that the session is idle",
        CasOutcome::VersionConflict { status, .. },
        *status = SessionStatus::Idle
    ),
    cas_answers!(
        "cas-refusal-names-the-first-item",
        "a move is told that its first item was refused, whichever was",
        CasOutcome::ItemRefused { index, .. },
        *index = 0
    ),
    broken("cas-keeps-a-later-alarm", "a session that is moved to suspended waits for the alarm that it had").cas(|tx, key, cas| {
                let before = tx.row_of(key).and_then(|row| row.alarm);
                let answer = sound::cas(tx, key, cas);
                if let (CasOutcome::Moved { .. }, Some(before)) = (&answer, before) {
                    tx.row(key, |row| row.alarm = Some(before));
                }
                answer
            }),
    broken("cas-drops-the-interrupt", "an abort that waits is dropped by a move of the status").cas(|tx, key, cas| {
                let answer = sound::cas(tx, key, cas);
                if let CasOutcome::Moved { .. } = &answer {
                    tx.row(key, |row| row.interrupt = None);
                }
                answer
            }),
    broken("creation-conflict-counts-from-the-claim", "of two items under one key the place is counted among those of the claim").create(|tx, new| {
                let first = new.items.len();
                let claimed = matches!(new.start, Start::Claimed(_));
                match sound::create(tx, new) {
                    CreateOutcome::ItemConflict { index } if claimed && index >= first => {
                        CreateOutcome::ItemConflict { index: index - first }
                    }
                    answer => answer,
                }
            }),
    broken("exists-names-the-asker", "a creation of a key that is taken is told its own incarnation").create(|tx, new| {
                let asked = new.incarnation;
                match sound::create(tx, new) {
                    CreateOutcome::AlreadyExists { status, version, .. } => {
                        CreateOutcome::AlreadyExists { incarnation: asked, status, version }
                    }
                    answer => answer,
                }
            }),
    broken("creation-repeat-says-the-newest-version", "the repeat of a creation is told the version that the session has now").create(|tx, new| {
                let newest = tx.row_of(&new.key).map(|row| row.version);
                match (sound::create(tx, new), newest) {
                    (CreateOutcome::Created { claim, .. }, Some(version)) => {
                        CreateOutcome::Created { version, claim }
                    }
                    (answer, _) => answer,
                }
            }),
    broken("fork-repeat-says-the-newest-version", "the repeat of a fork is told the version that the fork has now").fork(|tx, from, at, new| {
                let newest = tx.row_of(&new.key).map(|row| row.version);
                match (sound::fork(tx, from, at, new), newest) {
                    (ForkOutcome::Forked { .. }, Some(version)) => ForkOutcome::Forked { version },
                    (answer, _) => answer,
                }
            }),
    broken("lease-keeps-its-first-holder", "a session is held, as it says, by whoever claimed it first").claim(|tx, key, claim| {
                let answer = sound::claim(tx, key, claim);
                tx.with(key, |record| {
                    if let (Some(lease), Some(first)) = (record.row.lease.as_mut(), record.runs.first()) {
                        lease.worker = first.worker.clone();
                    }
                });
                answer
            }),
    broken("runs-keep-their-first-worker", "every run was made, as its record says, by the worker of the first").claim(|tx, key, claim| {
                let answer = sound::claim(tx, key, claim);
                tx.with(key, |record| {
                    let first = record.runs.first().map(|run| run.worker.clone());
                    if let (Some(newest), Some(first)) = (record.runs.last_mut(), first) {
                        newest.worker = first;
                    }
                });
                answer
            }),
    broken("renew-keeps-the-length", "a lease that was renewed for longer is extended by commits for as long as it was claimed").renew(|tx, fence, lease| {
                let before = tx.row_of(&fence.key).and_then(|row| row.lease).map(|lease| lease.granted_ms);
                let answer = sound::renew(tx, fence, lease);
                if let Some(before) = before {
                    tx.row(&fence.key, |row| {
                        if let Some(lease) = &mut row.lease {
                            lease.granted_ms = before;
                        }
                    });
                }
                answer
            }),
    committed_with!(
        "pending-names-itself-as-its-call",
        "a pending call names its own id as the call that waits",
        |record, commit, _before| {
            for open in
                record.pending.iter_mut().filter(|open| commit.open.iter().any(|new| new.id == open.id))
            {
                if let Ok(call) = open.id.as_str().parse() {
                    open.call = call;
                }
            }
        }
    ),
    committed_with!(
        "aborted-keeps-its-interrupt",
        "an aborted session keeps the interrupt that waited",
        |record, commit, before| {
            if aborts(&commit) && before.row.interrupt.is_some() {
                record.row.interrupt = before.row.interrupt;
            }
        }
    ),
    committed_with!(
        "aborted-keeps-its-deadline",
        "an aborted session has the alarm that its last commit named",
        |record, commit, _before| {
            if let (true, Some(Release::To { deadline: Some(deadline), .. })) =
                (aborts(&commit), &commit.release)
            {
                record.row.alarm = Some(*deadline);
            }
        }
    ),
    committed_with!(
        "giving-back-forgets-wake-on",
        "a session that is given back waits for urgent items only",
        |record, commit, _before| {
            if let Some(Release::GiveBack { .. }) = commit.release {
                record.row.wake_on = 0;
            }
        }
    ),
    committed_with!(
        "giving-back-keeps-attempts",
        "a claim that is given back leaves the takeovers counted",
        |record, commit, before| {
            if let Some(Release::GiveBack { .. }) = commit.release {
                record.row.attempts = before.row.attempts;
            }
        }
    ),
    broken("attempts-reset-by-staging", "whoever stages a result sets the takeovers back").stage(|tx, fence, staging| {
                let answer = sound::stage(tx, fence, staging);
                tx.row(&fence.key, |row| row.attempts = 0);
                answer
            }),
    broken("attempts-reset-by-renewal", "whoever renews its lease sets the takeovers back").renew(|tx, fence, lease| {
                let answer = sound::renew(tx, fence, lease);
                tx.row(&fence.key, |row| row.attempts = 0);
                answer
            }),
    broken("delete-takes-dead-runs", "a session is deleted without force once the lease of its run is over").delete(|tx, key, deletion| {
                let now = tx.now;
                match sound::delete(tx, key, deletion) {
                    DeleteOutcome::Active => {
                        let lease = tx.row_of(key).and_then(|row| row.lease);
                        if lease.is_some_and(|lease| lease.ends <= now) {
                            tx.row(key, |row| row.status = SessionStatus::Idle);
                        }
                        sound::delete(tx, key, deletion)
                    }
                    answer => answer,
                }
            }),
    broken("delete-takes-what-was-given-back", "a session is deleted without force once its takeover was given back").delete(|tx, key, deletion| match sound::delete(tx, key, deletion) {
                DeleteOutcome::Active => {
                    tx.row(key, |row| {
                        if row.lease.is_none() {
                            row.status = SessionStatus::Idle;
                        }
                    });
                    sound::delete(tx, key, deletion)
                }
                answer => answer,
            }),
    broken("commit-keeps-the-first-of-two-results", "of two results for one call in one commit the second is dropped in silence").commit(|tx, fence, mut commit| {
                one_of_each(&mut commit.stage, false);
                sound::commit(tx, fence, commit)
            }),
    broken("commit-keeps-the-last-of-two-results", "of two results for one call in one commit the first is dropped in silence").commit(|tx, fence, mut commit| {
                one_of_each(&mut commit.stage, true);
                sound::commit(tx, fence, commit)
            }),
    broken("staging-keeps-the-last-of-two-results", "of two results for one call in one staging the first is dropped in silence").stage(|tx, fence, mut staging| {
                one_of_each(&mut staging.results, true);
                sound::stage(tx, fence, staging)
            }),
    broken("commit-refuses-the-same-result-twice", "two results of the same bytes for one call in one commit are a conflict").commit(|tx, fence, commit| {
                let mut calls = std::collections::BTreeSet::new();
                match commit.stage.iter().find(|result| !calls.insert(&result.call)) {
                    Some(twice) => CommitOutcome::StageConflict { call: twice.call.clone() },
                    None => sound::commit(tx, fence, commit),
                }
            }),
    broken("commit-drops-a-result-that-differs", "a commit that stages other bytes for a call that has a result drops them in silence").commit(|tx, fence, mut commit| {
                if let Some(record) = tx.record(&fence.key) {
                    commit.stage.retain(|result| !record.staged.contains_key(&result.call));
                }
                sound::commit(tx, fence, commit)
            }),
    broken("no-ranges-of-nobody", "to read no range of an unknown session is an empty page").read_messages(|tx, key, ranges: &[MessageRange]| match sound::read_messages(tx, key, ranges) {
                Err(_) if ranges.is_empty() => Ok(holdover_store::MessagePage::default()),
                answer => answer,
            }),
    broken("overlapping-ranges-merged", "a message that two ranges hold is read once").read_messages(|tx, key, ranges| {
                let mut page = sound::read_messages(tx, key, ranges)?;
                let mut seen = std::collections::BTreeSet::new();
                page.messages.retain(|message| seen.insert(message.seq));
                Ok(page)
            }),
];
