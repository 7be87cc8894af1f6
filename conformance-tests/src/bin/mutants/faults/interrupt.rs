//! Interrupts of a session.

use holdover_store::{Commit, InterruptCheck, InterruptKind, InterruptOutcome, Release, SessionStatus};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

/// Returns true if the commit ends the turn.
fn ends_turn(commit: &Commit) -> bool {
    matches!(commit.release, Some(Release::To { status, .. }) if status.at_rest())
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "interrupt-read-then-cleared",
        "an interrupt is cleared when it is handed out, so a crash loses it",
    )
    .take_interrupt(|tx, fence| {
        let answer = sound::take_interrupt(tx, fence);
        if let InterruptCheck::Waiting(_) = answer {
            tx.row(&fence.key, |row| row.interrupt = None);
        }
        answer
    }),
    broken("interrupt-over-is-asked-anew", "a stop that comes again when it is over stops a later turn")
        .interrupt(|tx, key, interrupt| {
            tx.row(key, |row| row.last_interrupt = None);
            sound::interrupt(tx, key, interrupt)
        }),
    broken(
        "interrupt-over-is-known-only-if-heeded",
        "a stop whose turn has ended by itself stops a later turn when it comes again",
    )
    .commit(|tx, fence, commit| {
        let before = tx.row_of(&fence.key);
        let heeded = commit.interrupt_confirmed.is_some();
        let answer = sound::commit(tx, fence, commit);
        if let Some(before) = before.filter(|_| !heeded) {
            tx.row(&fence.key, |row| row.last_interrupt = before.last_interrupt);
        }
        answer
    }),
    broken("interrupt-newest-wins", "a later interrupt replaces one that waits").interrupt(
        |tx, key, interrupt| {
            tx.row(key, |row| row.interrupt = None);
            sound::interrupt(tx, key, interrupt)
        },
    ),
    broken("interrupt-first-wins-always", "an abort does not replace a soft stop that waits").interrupt(
        |tx, key, interrupt| match tx
            .row_of(key)
            .filter(|row| row.status != SessionStatus::Aborted)
            .and_then(|row| row.interrupt)
        {
            Some(waiting) => InterruptOutcome::AlreadyWaiting { id: waiting.id },
            None => sound::interrupt(tx, key, interrupt),
        },
    ),
    broken("interrupt-of-idle-waits", "a soft stop of a session at rest waits for its next run").interrupt(
        |tx, key, interrupt| match sound::interrupt(tx, key, interrupt.clone()) {
            InterruptOutcome::AtRest => {
                tx.row(key, |row| row.interrupt = Some(interrupt));
                InterruptOutcome::Requested
            }
            answer => answer,
        },
    ),
    broken("interrupt-wakes-nobody", "an interrupt does not wake a suspended session").interrupt(
        |tx, key, interrupt| {
            let alarm = tx.row_of(key).and_then(|row| row.alarm);
            let answer = sound::interrupt(tx, key, interrupt);
            tx.row(key, |row| row.alarm = alarm);
            answer
        },
    ),
    broken("interrupt-loses-its-reason", "the reason of an interrupt is not kept").interrupt(
        |tx, key, mut interrupt| {
            interrupt.reason.clear();
            sound::interrupt(tx, key, interrupt)
        },
    ),
    broken("interrupt-of-aborted-waits", "an aborted session takes interrupts").interrupt(
        |tx, key, interrupt| match sound::interrupt(tx, key, interrupt) {
            InterruptOutcome::Aborted => InterruptOutcome::Requested,
            answer => answer,
        },
    ),
    broken("abort-dropped-at-turn-end", "the end of a turn drops an abort that waits").commit(
        |tx, fence, commit| {
            let ends = ends_turn(&commit);
            let answer = sound::commit(tx, fence, commit);
            if ends && committed(&answer) {
                tx.row(&fence.key, |row| {
                    if row.interrupt.take().is_some() {
                        row.alarm = None;
                    }
                });
            }
            answer
        },
    ),
    broken("soft-stop-survives-turn-end", "a soft stop that waits at the end of a turn ends the next one")
        .commit(|tx, fence, commit| {
            let ends = ends_turn(&commit) && commit.interrupt_confirmed.is_none();
            let waiting = tx.row_of(&fence.key).and_then(|row| row.interrupt);
            let waiting = waiting.filter(|waiting| ends && waiting.kind == InterruptKind::Soft);
            let answer = sound::commit(tx, fence, commit);
            if let (Some(waiting), true) = (waiting, committed(&answer)) {
                tx.row(&fence.key, |row| row.interrupt = Some(waiting));
            }
            answer
        }),
    broken("confirmation-clears-any", "a commit that names one interrupt clears another").commit(
        |tx, fence, mut commit| {
            if commit.interrupt_confirmed.is_some() {
                let waiting = tx.row_of(&fence.key).and_then(|row| row.interrupt);
                commit.interrupt_confirmed = waiting.map(|waiting| waiting.id);
            }
            sound::commit(tx, fence, commit)
        },
    ),
    broken("confirmation-clears-nothing", "an interrupt that was carried out goes on waiting")
        .commit(|tx, fence, commit| sound::commit(tx, fence, Commit { interrupt_confirmed: None, ..commit })),
    broken(
        "any-commit-clears-interrupt",
        "every commit clears the interrupt that waits, whether it carried it out or not",
    )
    .commit(|tx, fence, commit| {
        let kept = commit.release.is_some();
        let answer = sound::commit(tx, fence, commit);
        if !kept && committed(&answer) {
            tx.row(&fence.key, |row| row.interrupt = None);
        }
        answer
    }),
    broken("interrupt-lost-at-reopen", "an interrupt waits in memory only")
        .reopen(|sessions| sessions.values_mut().for_each(|record| record.row.interrupt = None)),
    broken("interrupt-asked-twice-granted-twice", "of several askers each is told that its interrupt waits")
        .interrupt(|tx, key, interrupt| match sound::interrupt(tx, key, interrupt) {
            InterruptOutcome::AlreadyWaiting { .. } => InterruptOutcome::Requested,
            answer => answer,
        }),
    broken(
        "interrupt-read-then-written",
        "what an interrupt finds is read before the wait, and the row written after it",
    )
    .interrupt(|tx, key, interrupt| tx.read_then_write(key, |tx| sound::interrupt(tx, key, interrupt))),
];
