//! Decisions on what was read before the wait.

use holdover_store::ClaimOutcome;
use holdover_store::ids::SessionKey;

use crate::fault::{Fault, Mutant, SOUND};
use crate::sound;

pub(super) static MUTANTS: &[Mutant] = &[
    Mutant {
        name: "create-read-then-written",
        broken: "whether a session exists is read before the wait, and the session written after it",
        fault: Fault {
            create: |tx, new| {
                let key = new.key.clone();
                tx.read_then_write(&key, |tx| sound::create(tx, new))
            },
            ..SOUND
        },
    },
    Mutant {
        name: "claim-read-then-written",
        broken: "whether a session is held is read before the wait, and the claim written after it",
        fault: Fault {
            claim: |tx, key, claim| tx.read_then_write(key, |tx| sound::claim(tx, key, claim)),
            ..SOUND
        },
    },
    Mutant {
        name: "due-read-then-written",
        broken: "what is due is read before the wait, and the claims written after it",
        fault: Fault {
            claim_due: |tx, claim| {
                let before = tx.sessions.clone();
                let claims = sound::claim_due(tx, claim);
                let keys: Vec<SessionKey> = claims.iter().map(|claim| claim.fence.key.clone()).collect();
                let after = std::mem::replace(tx.sessions, before);
                tx.then(move |tx| {
                    tx.sessions.extend(after.into_iter().filter(|(key, _)| keys.contains(key)))
                });
                claims
            },
            ..SOUND
        },
    },
    Mutant {
        name: "cas-read-then-written",
        broken: "the version is compared before the wait, and the status set after it",
        fault: Fault { cas: |tx, key, cas| tx.read_then_write(key, |tx| sound::cas(tx, key, cas)), ..SOUND },
    },
    Mutant {
        name: "renew-read-then-written",
        broken: "the epoch is checked before the wait, and the lease extended after it",
        fault: Fault {
            renew: |tx, fence, lease| tx.read_then_write(&fence.key, |tx| sound::renew(tx, fence, lease)),
            ..SOUND
        },
    },
    Mutant {
        name: "stage-read-then-written",
        broken: "the epoch is checked before the wait, and the result staged after it",
        fault: Fault {
            stage: |tx, fence, staging| tx.read_then_write(&fence.key, |tx| sound::stage(tx, fence, staging)),
            ..SOUND
        },
    },
    Mutant {
        name: "commit-read-then-written",
        broken: "fence and version are checked before the wait, and the commit written after it",
        fault: Fault {
            commit: |tx, fence, commit| tx.read_then_write(&fence.key, |tx| sound::commit(tx, fence, commit)),
            ..SOUND
        },
    },
    Mutant {
        name: "claim-brings-old-news",
        broken: "what a claim brings is read before the wait",
        fault: Fault {
            claim: |tx, key, claim| {
                let earlier = tx.cache.get(key).map(|record| record.session());
                let mut answer = sound::claim(tx, key, claim);
                if let (ClaimOutcome::Claimed(claim), Some(earlier)) = (&mut answer, earlier) {
                    claim.session.last_message = earlier.last_message;
                    claim.session.last_item = earlier.last_item;
                }
                let record = tx.record(key).cloned();
                tx.cache.extend(record.map(|record| (key.clone(), record)));
                answer
            },
            ..SOUND
        },
    },
];
