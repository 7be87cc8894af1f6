//! The size limits of one write.

use std::sync::LazyLock;
use std::time::Duration;

use holdover_store::rules::Limits;
use holdover_store::{Capabilities, ClaimOne, Commit, Interrupt, LEASE_MAX, NewSession, Start};

use crate::fault::{Mutant, broken};
use crate::sound;
use crate::store::capabilities;

/// Returns the limits for `operation` without the bound for all payloads together.
fn one_by_one(operation: &'static str) -> Limits<'static> {
    static UNBOUNDED: LazyLock<Capabilities> =
        LazyLock::new(|| Capabilities { commit_bytes_max: usize::MAX, ..capabilities() });
    Limits::of(&UNBOUNDED, operation)
}

pub(super) static MUTANTS: &[Mutant] = &[
    broken("creation-without-a-whole", "the payloads of a creation are bounded one by one, and not together")
        .check_create(|new| one_by_one("create_session").creation(new)),
    broken(
        "creation-and-its-claim-apart",
        "the items of a creation and those of its claim are not counted together",
    )
    .check_create(|new| {
        one_by_one("create_session").creation(new)?;
        if let Start::Claimed(claim) = &new.start {
            let claims = NewSession { items: Vec::new(), ..new.clone() };
            crate::sound::check_create(&claims)?;
            let own = ClaimOne { items: Vec::new(), ..claim.clone() };
            return crate::sound::check_create(&NewSession { start: Start::Claimed(own), ..new.clone() });
        }
        crate::sound::check_create(new)
    }),
    broken("fork-without-a-whole", "the payloads of a fork are bounded one by one, and not together")
        .check_fork(|from, new| {
            new.check(from)?;
            one_by_one("fork_session").fork(new)
        }),
    broken("claim-without-a-whole", "the items of a claim are bounded one by one, and not together")
        .check_claim(|claim| one_by_one("claim_session").items(&claim.items)),
    broken(
        "compare-and-set-without-a-whole",
        "the items of a compare-and-set are bounded one by one, and not together",
    )
    .check_cas(|cas| one_by_one("compare_and_set_status").items(&cas.items)),
    broken("staging-without-a-whole", "the results of a staging are bounded one by one, and not together")
        .check_staging(|staging| one_by_one("stage_result").staging(staging)),
    broken("commit-counts-its-messages", "of a commit the messages alone are counted together").check_commit(
        |commit| {
            let unbounded = Capabilities { commit_bytes_max: usize::MAX, ..capabilities() };
            commit.check(&unbounded)?;
            let messages = commit.messages.clone();
            Commit { messages, ..Commit::new(commit.operation.clone()) }.check(&capabilities())
        },
    ),
    broken("commit-without-its-run", "the end of a run is not counted with its commit").check_commit(
        |commit| {
            let unbounded = Capabilities { commit_bytes_max: usize::MAX, ..capabilities() };
            commit.check(&unbounded)?;
            Commit { run: None, ..commit.clone() }.check(&capabilities())
        },
    ),
    broken("reason-of-any-size", "the reason of an interrupt may be of any size").check_reason(|_| Ok(())),
    broken(
        "reason-bounded-at-half",
        "the reason of an interrupt may have half of the bytes that a payload may have",
    )
    .check_reason(|interrupt| {
        let twice = Interrupt { reason: interrupt.reason.repeat(2), ..interrupt.clone() };
        sound::check_reason(&twice)
    }),
    broken("claims-for-any-time", "a session may be claimed for longer than the longest lease")
        .check_claim(|claim| sound::limits("claim_session").items(&claim.items)),
    broken("creations-for-any-time", "a session may be created for longer than the longest lease")
        .check_create(|new| {
            let mut new = new.clone();
            if let Start::Claimed(claim) = &mut new.start {
                claim.lease = claim.lease.min(LEASE_MAX);
            }
            sound::check_create(&new)
        }),
    broken("due-for-any-time", "what is due may be claimed for longer than the longest lease")
        .check_due(|_| Ok(())),
    broken("renewals-for-any-time", "a lease may be renewed for longer than the longest")
        .check_renewal(|_| Ok(())),
    broken("lease-refused-at-its-longest", "the longest lease is refused").check_claim(|claim| {
        let longer = claim.lease.saturating_add(Duration::from_millis(1));
        sound::check_claim(&ClaimOne { lease: longer, ..claim.clone() })
    }),
];
