//! Numbers in narrow integers.

use std::time::Duration;

use holdover_store::ids::StateFormat;
use holdover_store::{ClaimDue, ClaimOne, Commit, Release, Start};

use super::committed;
use crate::fault::{Mutant, broken};
use crate::sound;

/// Defines a store that changes the milliseconds of leases.
macro_rules! lease_becomes {
    ($name:literal, $broken:literal, |$ms:ident| $kept:expr) => {{
        fn kept(lease: Duration) -> Duration {
            let $ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
            Duration::from_millis($kept)
        }
        broken($name, $broken)
            .create(|tx, mut new| {
                if let Start::Claimed(claim) = &mut new.start {
                    claim.lease = kept(claim.lease);
                }
                sound::create(tx, new)
            })
            .claim(|tx, key, claim| {
                let lease = kept(claim.lease);
                sound::claim(tx, key, ClaimOne { lease, ..claim })
            })
            .claim_due(|tx, claim| {
                let lease = kept(claim.lease);
                sound::claim_due(tx, ClaimDue { lease, ..claim })
            })
            .renew(|tx, fence, lease| sound::renew(tx, fence, kept(lease)))
    }};
}

/// Defines a store that changes the number of answers that a call needs.
macro_rules! needed_becomes {
    ($name:literal, $broken:literal, |$needed:ident| $kept:expr) => {
        broken($name, $broken).commit(|tx, fence, mut commit| {
            for open in &mut commit.open {
                let $needed = open.needed;
                open.needed = $kept;
            }
            sound::commit(tx, fence, commit)
        })
    };
}

/// Defines a store that changes the number of items that a session waits for.
macro_rules! wake_on_becomes {
    ($name:literal, $broken:literal, |$asked:ident| $kept:expr) => {
        broken($name, $broken).commit(|tx, fence, mut commit| {
            if let Some(Release::To { wake_on, .. }) = &mut commit.release {
                let $asked = *wake_on;
                *wake_on = $kept;
            }
            sound::commit(tx, fence, commit)
        })
    };
}

/// Defines a store that changes the format of sessions: the one at their creation, and that of each new state.
macro_rules! format_becomes {
    ($name:literal, $broken:literal, |$format:ident| $kept:expr) => {{
        fn kept(format: StateFormat) -> StateFormat {
            let $format = format.0;
            StateFormat($kept)
        }
        broken($name, $broken)
            .create(|tx, mut new| {
                new.format = kept(new.format);
                sound::create(tx, new)
            })
            .commit(|tx, fence, mut commit| {
                if let Some(state) = &mut commit.state {
                    state.format = kept(state.format);
                }
                sound::commit(tx, fence, commit)
            })
    }};
}

pub(super) static MUTANTS: &[Mutant] = &[
    lease_becomes!(
        "lease-ends-after-24-days",
        "a lease has at most as many milliseconds as 31 bits hold",
        |ms| ms.min(i32::MAX as u64)
    ),
    lease_becomes!(
        "lease-wraps-after-49-days",
        "the milliseconds of a lease wrap around after 32 bits",
        |ms| ms & u64::from(u32::MAX)
    ),
    broken("grant-in-32-bits", "a commit extends a long lease by what 32 bits hold of it").commit(
        |tx, fence, commit| {
            let releases = commit.release.is_some();
            let before = tx.row_of(&fence.key).and_then(|row| row.lease);
            let answer = sound::commit(tx, fence, commit);
            let now = tx.now;
            tx.row(&fence.key, |row| {
                let Some(held) = row.lease.as_mut().filter(|_| committed(&answer) && !releases) else {
                    return;
                };
                if before.is_some_and(|before| before.ends < held.ends) {
                    held.ends = now.after(Duration::from_millis(held.granted_ms & u64::from(u32::MAX)));
                    row.alarm = Some(held.ends);
                }
            });
            answer
        },
    ),
    needed_becomes!(
        "needed-in-8-bits",
        "of the number of answers that a call needs eight bits are kept",
        |needed| (needed & 0xff).max(1)
    ),
    needed_becomes!(
        "needed-in-16-bits",
        "of the number of answers that a call needs sixteen bits are kept",
        |needed| (needed & 0xffff).max(1)
    ),
    needed_becomes!("needed-in-31-bits", "a call needs at most as many answers as 31 bits hold", |needed| {
        needed.min(i32::MAX as u32)
    }),
    wake_on_becomes!(
        "wake-on-in-8-bits",
        "of the number of items that wake a session eight bits are kept",
        |wake_on| wake_on & 0xff
    ),
    wake_on_becomes!(
        "wake-on-in-16-bits",
        "of the number of items that wake a session sixteen bits are kept",
        |wake_on| wake_on & 0xffff
    ),
    wake_on_becomes!(
        "wake-on-with-a-sign",
        "a number of items beyond 31 bits is negative, so any item wakes the session",
        |wake_on| if wake_on > i32::MAX as u32 { 1 } else { wake_on }
    ),
    format_becomes!("format-in-8-bits", "of a format eight bits are kept", |format| format & 0xff),
    format_becomes!("format-in-16-bits", "of a format sixteen bits are kept", |format| format & 0xffff),
    broken("formats-compared-with-a-sign", "a format beyond 31 bits counts as older than every other")
        .claim_due(|tx, claim| {
            // With signed numbers, a worker that reads format 2^31 - 1 also reads all higher ones, which are negative.
            let newest = claim.newest_format;
            let reads_all = newest.0 == i32::MAX as u32;
            let newest_format = if reads_all { StateFormat(u32::MAX) } else { newest };
            sound::claim_due(tx, ClaimDue { newest_format, ..claim })
        }),
    broken("streams-in-16-bits", "of the number of a model call sixteen bits are kept")
        .append_deltas(|tx, fence, mut batch| {
            batch.stream = (batch.stream & 0xffff).max(1);
            sound::append_deltas(tx, fence, batch)
        })
        .commit(|tx, fence, commit| {
            let streamed = commit.streamed.map(|number| (number & 0xffff).max(1));
            sound::commit(tx, fence, Commit { streamed, ..commit })
        }),
];
