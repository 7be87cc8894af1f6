//! How much one write may bring.

use std::sync::LazyLock;
use std::time::Duration;

use holdover_store::rules::Limits;
use holdover_store::{Capabilities, ClaimOne, Commit, Interrupt, LEASE_MAX, NewSession, Start};

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;
use crate::store::capabilities;

/// The rule without a bound for all payloads together.
fn one_by_one(operation: &'static str) -> Limits<'static> {
    static UNBOUNDED: LazyLock<Capabilities> =
        LazyLock::new(|| Capabilities { commit_bytes_max: usize::MAX, ..capabilities() });
    Limits::of(&UNBOUNDED, operation)
}

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "creation-without-a-whole",
        broken: "the payloads of a creation are bounded one by one, and not together",
        fault: Fault { check_create: |new| one_by_one("create_session").creation(new), ..SOUND },
    },
    Mutant {
        name: "creation-and-its-claim-apart",
        broken: "the items of a creation and those of its claim are not counted together",
        fault: Fault {
            check_create: |new| {
                one_by_one("create_session").creation(new)?;
                if let Start::Claimed(claim) = &new.start {
                    let claims = NewSession { items: Vec::new(), ..new.clone() };
                    crate::sound::check_create(&claims)?;
                    let own = ClaimOne { items: Vec::new(), ..claim.clone() };
                    return crate::sound::check_create(&NewSession {
                        start: Start::Claimed(own),
                        ..new.clone()
                    });
                }
                crate::sound::check_create(new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "fork-without-a-whole",
        broken: "the payloads of a fork are bounded one by one, and not together",
        fault: Fault {
            check_fork: |from, new| {
                new.check(from)?;
                one_by_one("fork_session").fork(new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-without-a-whole",
        broken: "the items of a claim are bounded one by one, and not together",
        fault: Fault { check_claim: |claim| one_by_one("claim_session").items(&claim.items), ..SOUND },
    },
    Mutant {
        name: "compare-and-set-without-a-whole",
        broken: "the items of a compare-and-set are bounded one by one, and not together",
        fault: Fault { check_cas: |cas| one_by_one("compare_and_set_status").items(&cas.items), ..SOUND },
    },
    Mutant {
        name: "staging-without-a-whole",
        broken: "the results of a staging are bounded one by one, and not together",
        fault: Fault { check_staging: |staging| one_by_one("stage_result").staging(staging), ..SOUND },
    },
    Mutant {
        name: "commit-counts-its-messages",
        broken: "of a commit the messages alone are counted together",
        fault: Fault {
            check_commit: |commit| {
                let unbounded = Capabilities { commit_bytes_max: usize::MAX, ..capabilities() };
                commit.check(&unbounded)?;
                let messages = commit.messages.clone();
                Commit { messages, ..Commit::new(commit.operation.clone()) }.check(&capabilities())
            },
            ..SOUND
        },
    },
    Mutant {
        name: "commit-without-its-run",
        broken: "the end of a run is not counted with its commit",
        fault: Fault {
            check_commit: |commit| {
                let unbounded = Capabilities { commit_bytes_max: usize::MAX, ..capabilities() };
                commit.check(&unbounded)?;
                Commit { run: None, ..commit.clone() }.check(&capabilities())
            },
            ..SOUND
        },
    },
    Mutant {
        name: "reason-of-any-size",
        broken: "the reason of an interrupt may be of any size",
        fault: Fault { check_reason: |_| Ok(()), ..SOUND },
    },
    Mutant {
        name: "reason-bounded-at-half",
        broken: "the reason of an interrupt may have half of the bytes that a payload may have",
        fault: Fault {
            check_reason: |interrupt| {
                let twice = Interrupt { reason: interrupt.reason.repeat(2), ..interrupt.clone() };
                sound::check_reason(&twice)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claims-for-any-time",
        broken: "a session may be claimed for longer than the longest lease",
        fault: Fault { check_claim: |claim| sound::limits("claim_session").items(&claim.items), ..SOUND },
    },
    Mutant {
        name: "creations-for-any-time",
        broken: "a session may be created for longer than the longest lease",
        fault: Fault {
            check_create: |new| {
                let mut new = new.clone();
                if let Start::Claimed(claim) = &mut new.start {
                    claim.lease = claim.lease.min(LEASE_MAX);
                }
                sound::check_create(&new)
            },
            ..SOUND
        },
    },
    Mutant {
        name: "due-for-any-time",
        broken: "what is due may be claimed for longer than the longest lease",
        fault: Fault { check_due: |_| Ok(()), ..SOUND },
    },
    Mutant {
        name: "renewals-for-any-time",
        broken: "a lease may be renewed for longer than the longest",
        fault: Fault { check_renewal: |_| Ok(()), ..SOUND },
    },
    Mutant {
        name: "lease-refused-at-its-longest",
        broken: "the longest lease is refused",
        fault: Fault {
            check_claim: |claim| {
                let longer = claim.lease.saturating_add(Duration::from_millis(1));
                sound::check_claim(&ClaimOne { lease: longer, ..claim.clone() })
            },
            ..SOUND
        },
    },
];
