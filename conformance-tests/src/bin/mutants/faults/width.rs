//! Numbers in narrow integers.

use std::time::Duration;

use holdover_store::ids::StateFormat;
use holdover_store::{ClaimDue, ClaimOne, Commit, Release, Start};

use super::committed;
use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

/// Leases of which the milliseconds become something else.
macro_rules! lease_becomes {
    (|$ms:ident| $kept:expr) => {{
        fn kept(lease: Duration) -> Duration {
            let $ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
            Duration::from_millis($kept)
        }
        Fault {
            create: |tx, mut new| {
                if let Start::Claimed(claim) = &mut new.start {
                    claim.lease = kept(claim.lease);
                }
                sound::create(tx, new)
            },
            claim: |tx, key, claim| {
                let lease = kept(claim.lease);
                sound::claim(tx, key, ClaimOne { lease, ..claim })
            },
            claim_due: |tx, claim| {
                let lease = kept(claim.lease);
                sound::claim_due(tx, ClaimDue { lease, ..claim })
            },
            renew: |tx, fence, lease| sound::renew(tx, fence, kept(lease)),
            ..SOUND
        }
    }};
}

/// Calls that need another number of answers than was asked for.
macro_rules! needed_becomes {
    (|$needed:ident| $kept:expr) => {
        Fault {
            commit: |tx, fence, mut commit| {
                for open in &mut commit.open {
                    let $needed = open.needed;
                    open.needed = $kept;
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        }
    };
}

/// Sessions that wait for another number of items than was asked for.
macro_rules! wake_on_becomes {
    (|$asked:ident| $kept:expr) => {
        Fault {
            commit: |tx, fence, mut commit| {
                if let Some(Release::To { wake_on, .. }) = &mut commit.release {
                    let $asked = *wake_on;
                    *wake_on = $kept;
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        }
    };
}

/// Sessions whose format becomes another one, by their creation or by their state.
macro_rules! format_becomes {
    (|$format:ident| $kept:expr) => {{
        fn kept(format: StateFormat) -> StateFormat {
            let $format = format.0;
            StateFormat($kept)
        }
        Fault {
            create: |tx, mut new| {
                new.format = kept(new.format);
                sound::create(tx, new)
            },
            commit: |tx, fence, mut commit| {
                if let Some(state) = &mut commit.state {
                    state.format = kept(state.format);
                }
                sound::commit(tx, fence, commit)
            },
            ..SOUND
        }
    }};
}

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "lease-ends-after-24-days",
        broken: "a lease has at most as many milliseconds as 31 bits hold",
        fault: lease_becomes!(|ms| ms.min(i32::MAX as u64)),
    },
    Mutant {
        name: "lease-wraps-after-49-days",
        broken: "the milliseconds of a lease wrap around after 32 bits",
        fault: lease_becomes!(|ms| ms & u64::from(u32::MAX)),
    },
    Mutant {
        name: "grant-in-32-bits",
        broken: "a commit extends a long lease by what 32 bits hold of it",
        fault: Fault {
            commit: |tx, fence, commit| {
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
            ..SOUND
        },
    },
    Mutant {
        name: "needed-in-8-bits",
        broken: "of the number of answers that a call needs eight bits are kept",
        fault: needed_becomes!(|needed| (needed & 0xff).max(1)),
    },
    Mutant {
        name: "needed-in-16-bits",
        broken: "of the number of answers that a call needs sixteen bits are kept",
        fault: needed_becomes!(|needed| (needed & 0xffff).max(1)),
    },
    Mutant {
        name: "needed-in-31-bits",
        broken: "a call needs at most as many answers as 31 bits hold",
        fault: needed_becomes!(|needed| needed.min(i32::MAX as u32)),
    },
    Mutant {
        name: "wake-on-in-8-bits",
        broken: "of the number of items that wake a session eight bits are kept",
        fault: wake_on_becomes!(|wake_on| wake_on & 0xff),
    },
    Mutant {
        name: "wake-on-in-16-bits",
        broken: "of the number of items that wake a session sixteen bits are kept",
        fault: wake_on_becomes!(|wake_on| wake_on & 0xffff),
    },
    Mutant {
        name: "wake-on-with-a-sign",
        broken: "a number of items beyond 31 bits is negative, so any item wakes the session",
        fault: wake_on_becomes!(|wake_on| if wake_on > i32::MAX as u32 { 1 } else { wake_on }),
    },
    Mutant {
        name: "format-in-8-bits",
        broken: "of a format eight bits are kept",
        fault: format_becomes!(|format| format & 0xff),
    },
    Mutant {
        name: "format-in-16-bits",
        broken: "of a format sixteen bits are kept",
        fault: format_becomes!(|format| format & 0xffff),
    },
    Mutant {
        name: "formats-compared-with-a-sign",
        broken: "a format beyond 31 bits counts as older than every other",
        fault: Fault {
            claim_due: |tx, claim| {
                // To a sign, a worker that reads format 2^31 - 1 reads all those beyond it, which are negative.
                let newest = claim.newest_format;
                let reads_all = newest.0 == i32::MAX as u32;
                let newest_format = if reads_all { StateFormat(u32::MAX) } else { newest };
                sound::claim_due(tx, ClaimDue { newest_format, ..claim })
            },
            ..SOUND
        },
    },
    Mutant {
        name: "streams-in-16-bits",
        broken: "of the number of a model call sixteen bits are kept",
        fault: Fault {
            append_deltas: |tx, fence, mut batch| {
                batch.stream = (batch.stream & 0xffff).max(1);
                sound::append_deltas(tx, fence, batch)
            },
            commit: |tx, fence, commit| {
                let streamed = commit.streamed.map(|number| (number & 0xffff).max(1));
                sound::commit(tx, fence, Commit { streamed, ..commit })
            },
            ..SOUND
        },
    },
];
