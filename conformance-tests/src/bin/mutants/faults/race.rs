//! Decisions based on data that was read before a wait.

use holdover_store::ClaimOutcome;
use holdover_store::ids::SessionKey;

use crate::fault::{Mutant, broken};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    broken(
        "create-read-then-written",
        "whether a session exists is read before the wait, and the session written after it",
    )
    .create(|tx, new| {
        let key = new.key.clone();
        tx.read_then_write(&key, |tx| sound::create(tx, new))
    }),
    broken(
        "claim-read-then-written",
        "whether a session is held is read before the wait, and the claim written after it",
    )
    .claim(|tx, key, claim| tx.read_then_write(key, |tx| sound::claim(tx, key, claim))),
    broken("due-read-then-written", "what is due is read before the wait, and the claims written after it")
        .claim_due(|tx, claim| {
            let before = tx.sessions.clone();
            let claims = sound::claim_due(tx, claim);
            let keys: Vec<SessionKey> = claims.iter().map(|claim| claim.fence.key.clone()).collect();
            let after = std::mem::replace(tx.sessions, before);
            tx.then(move |tx| tx.sessions.extend(after.into_iter().filter(|(key, _)| keys.contains(key))));
            claims
        }),
    broken("cas-read-then-written", "the version is compared before the wait, and the status set after it")
        .cas(|tx, key, cas| tx.read_then_write(key, |tx| sound::cas(tx, key, cas))),
    broken(
        "renew-read-then-written",
        "the epoch is checked before the wait, and the lease extended after it",
    )
    .renew(|tx, fence, lease| tx.read_then_write(&fence.key, |tx| sound::renew(tx, fence, lease))),
    broken("stage-read-then-written", "the epoch is checked before the wait, and the result staged after it")
        .stage(|tx, fence, staging| tx.read_then_write(&fence.key, |tx| sound::stage(tx, fence, staging))),
    broken(
        "commit-read-then-written",
        "fence and version are checked before the wait, and the commit written after it",
    )
    .commit(|tx, fence, commit| tx.read_then_write(&fence.key, |tx| sound::commit(tx, fence, commit))),
    broken("claim-brings-old-news", "what a claim brings is read before the wait").claim(|tx, key, claim| {
        let earlier = tx.cache.get(key).map(|record| record.session());
        let mut answer = sound::claim(tx, key, claim);
        if let (ClaimOutcome::Claimed(claim), Some(earlier)) = (&mut answer, earlier) {
            claim.session.last_message = earlier.last_message;
            claim.session.last_item = earlier.last_item;
        }
        let record = tx.record(key).cloned();
        tx.cache.extend(record.map(|record| (key.clone(), record)));
        answer
    }),
];
