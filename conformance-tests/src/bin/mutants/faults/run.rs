//! The start, the number and the end of runs.

use holdover_store::ids::Epoch;
use holdover_store::{ClaimOutcome, Release, SessionStatus};

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken("attempts-counted-always", "every claim counts as an attempt, not only a takeover").claim(
        |tx, key, claim| {
            let before = tx.row_of(key).map_or(Epoch(0), |row| row.epoch);
            let mut answer = sound::claim(tx, key, claim);
            if let ClaimOutcome::Claimed(claim) = &mut answer
                && claim.fence.epoch > before
                && claim.found != SessionStatus::Active
            {
                claim.session.attempts += 1;
                tx.row(key, |row| row.attempts += 1);
            }
            answer
        },
    ),
    broken("attempts-never-counted", "a takeover counts no attempt").claim(|tx, key, claim| {
        let mut answer = sound::claim(tx, key, claim);
        if let ClaimOutcome::Claimed(claim) = &mut answer {
            claim.session.attempts = 0;
            tx.row(key, |row| row.attempts = 0);
        }
        answer
    }),
    broken("attempts-never-reset", "a commit does not reset the attempts").commit(|tx, fence, commit| {
        let attempts = tx.row_of(&fence.key).map_or(0, |row| row.attempts);
        let answer = sound::commit(tx, fence, commit);
        tx.row(&fence.key, |row| row.attempts = attempts);
        answer
    }),
    broken("lost-run-not-closed", "the record of a run that was taken over stays open").claim(
        |tx, key, claim| {
            let open = tx
                .record(key)
                .and_then(|r| r.runs.last())
                .filter(|run| run.end.is_none())
                .map(|run| run.epoch);
            let answer = sound::claim(tx, key, claim);
            tx.with(key, |record| {
                for run in record.runs.iter_mut().filter(|run| Some(run.epoch) == open) {
                    run.end = None;
                }
            });
            answer
        },
    ),
    broken("run-end-overwritten", "a second end of a run replaces the first").commit(|tx, fence, commit| {
        let ends = commit.run.is_some() && tx.row_of(&fence.key).is_some_and(|row| row.admits(fence));
        if ends {
            tx.with(&fence.key, |record| {
                if let Some(run) = record.runs.last_mut() {
                    run.end = None;
                }
            });
        }
        sound::commit(tx, fence, commit)
    }),
    broken("run-has-no-parent", "a run does not name the run that it continues").claim(|tx, key, claim| {
        let answer = sound::claim(tx, key, claim);
        tx.with(key, |record| {
            if let Some(run) = record.runs.last_mut() {
                run.parent = None;
            }
        });
        answer
    }),
    broken("runs-newest-first", "runs are listed newest first").list_runs(|tx, key, page| {
        let mut page = sound::list_runs(tx, key, page)?;
        page.items.reverse();
        Ok(page)
    }),
    broken("run-id-in-lower-case", "the caller's run id is not kept as it came").list_runs(
        |tx, key, page| {
            let mut page = sound::list_runs(tx, key, page)?;
            for run in &mut page.items {
                if let Ok(lower) = run.run.as_str().to_lowercase().trim().parse() {
                    run.run = lower;
                }
            }
            Ok(page)
        },
    ),
    broken(
        "run-outcome-is-completed-or-failed",
        "outcomes that the store has no word for are kept as failed",
    )
    .commit(|tx, fence, mut commit| {
        use holdover_store::OutcomeKind;
        if let Some(run) = commit.run.as_mut().filter(|run| run.outcome != OutcomeKind::Completed) {
            run.outcome = OutcomeKind::Failed;
        }
        sound::commit(tx, fence, commit)
    }),
    broken(
        "giving-back-leaves-idle",
        "a claim that is given back leaves the session idle, whatever it found",
    )
    .commit(|tx, fence, commit| {
        if matches!(commit.release, Some(Release::GiveBack { .. })) {
            tx.row(&fence.key, |row| row.found = SessionStatus::Idle);
        }
        sound::commit(tx, fence, commit)
    }),
    broken("giving-back-forgets-news", "giving a claim back does not look for what arrived").commit(
        |tx, fence, commit| {
            let back = match &commit.release {
                Some(Release::GiveBack { alarm }) => Some(*alarm),
                Some(Release::To { .. }) | None => None,
            };
            let answer = sound::commit(tx, fence, commit);
            if let (Some(alarm), true) = (back, crate::faults::committed(&answer)) {
                tx.row(&fence.key, |row| row.alarm = alarm);
            }
            answer
        },
    ),
];
