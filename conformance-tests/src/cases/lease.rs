//! Leases: when other workers may take over.

mod late;

use std::collections::BTreeSet;
use std::time::Duration;

use super::prelude::*;

cases! {
    lease.claim_is_exclusive: Distributed Concurrent,
        "over 20 rounds of 8 claimers each round has one winner",
        "two holders do everything twice",
        "claim_session: moves the session to active for a new run (INV-32)";
    lease.epoch_strictly_increases: Distributed Time,
        "each claim has a higher epoch: after a release, a takeover, a claim of what is due, on any handle",
        "an epoch that comes back revives an old fence",
        "design 4: each claim raises the epoch (INV-22)";
    lease.token_unique_across_claims: Distributed Concurrent,
        "no two claims of any session share a fence",
        "a shared fence lets a stranger write",
        "claim_due: no two claims share a session and epoch (INV-32)";
    lease.expires_and_is_reclaimable: Distributed Time,
        "a lease holds until its end, and from then on others may claim",
        "a dead worker's session would be held for ever, a live one's be taken early",
        "Lease::ends: others may try from this instant on";
    lease.runs_for_what_was_asked_from_the_claim_on: Distributed Sequential,
        "a claim's lease runs for what was asked for, from the claim's own instant",
        "the worker would believe in a lease that others see end",
        "ClaimOne::lease: for how long; Claim::now: the store's clock when the claim was made";
    lease.never_returned_already_expired: Distributed Crash,
        "a claim whose lease ends while its answer is on its way is not handed out",
        "the worker would begin with a lease that others may already take",
        "claim_due: a claim never comes back with its lease over";
    lease.renew_extends_from_store_now: Distributed Time,
        "a renewal counts from the store's now, and moves the alarm along",
        "counted from the old end a lease grows without bound; without the alarm the holder is taken over",
        "renew_lease: lets the lease run for `lease` from now";
    lease.renew_never_shortens: Distributed Time,
        "a renewal for less than is left changes nothing",
        "a short renewal would give a healthy session away",
        "renew_lease: never shortens it";
    lease.renew_by_old_epoch_fails: Distributed Time,
        "a run that was taken over renews nothing",
        "it would keep the new holder's lease alive, or revive its own",
        "LeaseOutcome::StaleFence: another run owns the session now";
    lease.renew_after_expiry_before_takeover_is_accepted: Distributed Time,
        "the newest run renews although its lease has ended, and nobody else may claim then",
        "a pause of the process would cost the run although nobody took it",
        "renew_lease: accepted under the newest epoch also after the lease has ended";
    lease.commit_after_expiry_before_takeover_is_accepted: Distributed Time,
        "the newest run commits although its lease has ended",
        "epochs, not clocks, protect; refusing would lose work for nothing",
        "design 4: a write under the newest epoch is accepted although its lease has ended";
    lease.release_is_immediate_and_idempotent: Distributed Sequential,
        "a released session may be claimed at once; the release repeated answers the same",
        "the next worker would wait for a lease that nobody holds",
        "Release: a release ends the fence, except for the repeat of that commit";
    lease.release_by_stranger_fails_and_keeps_holder: Distributed Time,
        "a run that was taken over cannot release the session under its successor",
        "the successor would lose the session in the middle of a step",
        "CommitOutcome::StaleFence: nothing was changed by this call (INV-23)";
    lease.takeover_during_commit_both_orders_safe: Distributed Concurrent,
        "of a commit and a takeover at one instant the commit is applied before, or refused, never after",
        "a commit after the takeover mixes two runs",
        "StateStore: the write checks the fence after any wait (INV-22, INV-23)";
    lease.two_sessions_do_not_block_each_other: Distributed Concurrent,
        "runs of many sessions go on side by side, each undisturbed",
        "a lock on more than one row makes one session wait for another's run",
        "StateStore: all that a write decides on lies on the one session row";
    alarm.commit_extends_lease_only_below_half: Core Time,
        "a commit leaves the lease and the alarm alone while half of it is left, then grants it anew",
        "an indexed column that moves with every commit costs more than the commit",
        "commit: the lease is extended only when less than half of it is left";
}

async fn claim_is_exclusive(t: Bench) -> CaseResult {
    let peers = t.peers(8).await;
    let key = t.create("s").await?;
    for round in 1..=20 {
        let claims: Vec<_> = peers.iter().map(|_| t.claim_one()).collect();
        let answers = race(peers.clone(), |index, peer| {
            let (key, claim) = (key.clone(), claims[index].clone());
            Box::pin(async move { Ok(peer.claim_session(&key, claim).await?) })
        })
        .await?;
        let mut won = Vec::new();
        for answer in answers {
            if let ClaimOutcome::Claimed(claim) = answer {
                won.push(claim);
            } else {
                let epoch = want!(answer, ClaimOutcome::Held { epoch, .. } => epoch);
                ensure_eq!(epoch, Epoch(round), "the holder's epoch");
            }
        }
        ensure_eq!(won.len(), 1, "winners of round {round}");
        t.release(&won[0].fence, SessionStatus::Idle).await?;
    }
    Ok(())
}

async fn epoch_strictly_increases(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let first = t.running("s").await?;
    let key = &first.fence.key;
    t.release(&first.fence, SessionStatus::Suspended).await?;
    let second = want!(peer.claim_session(key, t.claim_one()).await?, ClaimOutcome::Claimed(claim) => claim);
    let third = t.take_over(key).await?;
    t.advance(t.lease()).await;
    let fourth = peer.claim_due(t.due(1)).await?.remove(0);
    t.commit(&fourth.fence, Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() }).await?;
    let fifth = t.claim(key).await?;
    let epochs = [&first, &second, &third, &fourth, &fifth].map(|claim| claim.fence.epoch.0);
    ensure_eq!(epochs, [1, 2, 3, 4, 5], "epochs");
    let t = t.reopen().await;
    ensure_eq!(t.take_over(key).await?.fence.epoch, Epoch(6), "epoch after closing and opening");
    Ok(())
}

async fn token_unique_across_claims(t: Bench) -> CaseResult {
    for name in ["a", "b", "c", "d"] {
        let key = t.left_as(name, SessionStatus::Suspended).await?;
        t.deliver(&key, crate::fixture::message("m")).await?;
    }
    let mut fences = BTreeSet::new();
    let mut count = 0;
    for _ in 0..4 {
        let wanted: Vec<_> = (0..6).map(|_| t.due(3)).collect();
        let claims = race(t.peers(6).await, |index, peer| {
            let due = wanted[index].clone();
            Box::pin(async move { Ok(peer.claim_due(due).await?) })
        })
        .await?;
        let late = t.all_due(&t.due(3)).await?;
        for claim in claims.into_iter().flatten().chain(late) {
            fences.insert((claim.fence.key.id.clone(), claim.fence.epoch));
            count += 1;
        }
        t.advance(t.lease()).await;
    }
    ensure_eq!(count, 16, "claims: four sessions, four times");
    ensure_eq!(fences.len(), count, "different fences");
    Ok(())
}

async fn expires_and_is_reclaimable(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.advance(t.lease() / 2).await;
    want!(t.store.claim_session(key, t.claim_one()).await?, ClaimOutcome::Held { .. });
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due at half of the lease");
    t.advance(t.lease() / 2).await;
    let next = t.claim(key).await?;
    ensure_eq!(next.found, SessionStatus::Active, "found");
    ensure!(
        next.now >= claim.lease_ends,
        "expected a takeover at the lease's end, or after",
        found = "one at {:?}, and the end at {:?}",
        next.now,
        claim.lease_ends
    );
    // The same holds for the alarm.
    t.advance(t.lease()).await;
    ensure_eq!(t.due_names().await?, ["s"], "what is due at the end of the next lease");
    Ok(())
}

async fn never_returned_already_expired(t: Bench) -> CaseResult {
    late::answer_late(&t).await
}

async fn runs_for_what_was_asked_from_the_claim_on(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    for factor in [1, 2, 100] {
        let claim = ClaimOne { lease: t.lease() * factor, ..t.claim_one() };
        let claim = want!(t.store.claim_session(&key, claim).await?, ClaimOutcome::Claimed(claim) => claim);
        ensure_eq!(claim.lease_ends, claim.now.after(t.lease() * factor), "end of the lease");
        let session = t.load(&key).await?;
        ensure_eq!(
            session.lease.map(|lease| lease.ends),
            Some(claim.lease_ends),
            "end of the lease, as read"
        );
        ensure_eq!(session.alarm, Some(claim.lease_ends), "alarm");
        t.release(&claim.fence, SessionStatus::Idle).await?;
    }
    t.deliver(&key, crate::fixture::message("m")).await?;
    let claim = t.claim_due(1).await?.remove(0);
    ensure_eq!(claim.lease_ends, claim.now.after(t.lease()), "end of the lease of a claim of what is due");
    Ok(())
}

async fn renew_extends_from_store_now(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.advance(t.lease() / 2).await;
    let renewed = t.store.renew_lease(&claim.fence, t.lease()).await?;
    let receipt = want!(renewed, LeaseOutcome::Renewed(receipt) => receipt);
    ensure_eq!(receipt.lease_ends, receipt.now.after(t.lease()), "end of the lease");
    ensure!(
        receipt.now > claim.now,
        "expected a now after that of the claim",
        found = "{:?}, and the claim at {:?}",
        receipt.now,
        claim.now
    );
    ensure_eq!(receipt.version, claim.session.version, "version");
    let session = t.load(&claim.fence.key).await?;
    ensure_eq!(session.alarm, Some(receipt.lease_ends), "alarm");
    ensure_eq!(session.lease.map(|lease| lease.ends), Some(receipt.lease_ends), "end of the lease, as read");
    t.advance(t.lease() * 3 / 4).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due after the first end");
    Ok(())
}

async fn renew_never_shortens(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    for shorter in [t.lease() / 2, Duration::from_millis(1), Duration::ZERO] {
        let renewed = t.store.renew_lease(&claim.fence, shorter).await?;
        let receipt = want!(renewed, LeaseOutcome::Renewed(receipt) => receipt);
        ensure_eq!(receipt.lease_ends, claim.lease_ends, "end of the lease");
        ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(claim.lease_ends), "alarm");
    }
    Ok(())
}

async fn renew_by_old_epoch_fails(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    t.take_over(&old.fence.key).await?;
    let before = t.snapshot(&old.fence.key).await?;
    let answer = t.store.renew_lease(&old.fence, t.lease() * 100).await?;
    ensure_eq!(answer, LeaseOutcome::StaleFence, "the answer");
    ensure_eq!(t.snapshot(&old.fence.key).await?, before, "the session");
    Ok(())
}

async fn renew_after_expiry_before_takeover_is_accepted(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.advance(t.lease() * 2).await;
    let renewed = t.store.renew_lease(&claim.fence, t.lease()).await?;
    let receipt = want!(renewed, LeaseOutcome::Renewed(receipt) => receipt);
    ensure_eq!(receipt.lease_ends, receipt.now.after(t.lease()), "end of the lease");
    want!(t.store.claim_session(&claim.fence.key, t.claim_one()).await?, ClaimOutcome::Held { .. });
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due");
    Ok(())
}

async fn commit_after_expiry_before_takeover_is_accepted(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.advance(t.lease() * 2).await;
    let receipt = t.commit(&claim.fence, Commit { messages: inline(["late"]), ..commit() }).await?;
    ensure_eq!(receipt.lease_ends, receipt.now.after(t.lease()), "end of the lease that the commit extended");
    want!(t.store.claim_session(&claim.fence.key, t.claim_one()).await?, ClaimOutcome::Held { .. });
    t.advance(t.lease() * 2).await;
    t.release(&claim.fence, SessionStatus::Idle).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, ["late"], "messages");
    Ok(())
}

async fn release_is_immediate_and_idempotent(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    let release = Commit { release: Some(release_to(SessionStatus::Suspended)), ..commit() };
    let first = t.try_commit(&claim.fence, release.clone()).await?;
    want!(&first, CommitOutcome::Committed(_));
    let before = t.snapshot(&claim.fence.key).await?;
    ensure_eq!(t.try_commit(&claim.fence, release.clone()).await?, first, "the release repeated");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the repeat");
    let next = peer.claim_session(&claim.fence.key, t.claim_one()).await?;
    want!(next, ClaimOutcome::Claimed(_));
    let held = t.snapshot(&claim.fence.key).await?;
    want!(t.try_commit(&claim.fence, release).await?, CommitOutcome::StaleFence { .. });
    ensure_eq!(t.snapshot(&claim.fence.key).await?, held, "the next run after a late repeat");
    Ok(())
}

async fn release_by_stranger_fails_and_keeps_holder(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    let new = t.take_over(&old.fence.key).await?;
    let before = t.snapshot(&old.fence.key).await?;
    for status in [SessionStatus::Idle, SessionStatus::Suspended, SessionStatus::Aborted] {
        let release = Commit { release: Some(release_to(status)), ..commit() };
        want!(t.try_commit(&old.fence, release).await?, CommitOutcome::StaleFence { .. });
    }
    let back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    want!(t.try_commit(&old.fence, back).await?, CommitOutcome::StaleFence { .. });
    ensure_eq!(t.snapshot(&old.fence.key).await?, before, "the session");
    t.commit(&new.fence, commit()).await?;
    Ok(())
}

async fn takeover_during_commit_both_orders_safe(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for round in 0..20 {
        let old = t.running(&format!("s{round}")).await?;
        t.advance(t.lease()).await;
        let next = t.claim_one();
        let fence = old.fence.clone();
        let answers = race(peers.clone(), |index, peer| {
            let (fence, next) = (fence.clone(), next.clone());
            Box::pin(async move {
                if index == 0 {
                    let late = Commit { messages: inline(["late"]), ..commit() };
                    let outcome = peer.commit(&fence, late).await?;
                    return Ok((Some(outcome), None));
                }
                Ok((None, Some(peer.claim_session(&fence.key, next).await?)))
            })
        })
        .await?;
        let (committed, claimed) = (&answers[0].0, &answers[1].1);
        let messages = t.messages(&fence.key).await?.len();
        match (committed, claimed) {
            // The takeover came first, so the commit is refused.
            (Some(CommitOutcome::StaleFence { .. }), Some(ClaimOutcome::Claimed(claim))) => {
                ensure_eq!(
                    (messages, claim.session.last_message.0),
                    (0, 0),
                    "messages after a refused commit"
                );
            }
            // The commit came first and extended the lease, so the takeover is refused.
            (Some(CommitOutcome::Committed(_)), Some(ClaimOutcome::Held { .. })) => {
                ensure_eq!(messages, 1, "messages after an applied commit");
            }
            other => return Err(Failure::new(format!("expected one of two orders, found {other:?}"))),
        }
    }
    Ok(())
}

async fn two_sessions_do_not_block_each_other(t: Bench) -> CaseResult {
    const COMMITS: usize = 10;
    let mut claims = Vec::new();
    for name in ["a", "b", "c", "d"] {
        claims.push(t.running(name).await?);
    }
    race(t.peers(4).await, |index, peer| {
        let fence = claims[index].fence.clone();
        Box::pin(async move {
            for _ in 0..COMMITS {
                let append = Commit { messages: inline(["m"]), ..commit() };
                want!(peer.commit(&fence, append).await?, CommitOutcome::Committed(_));
            }
            Ok(())
        })
    })
    .await?;
    for name in ["a", "b", "c", "d"] {
        ensure_eq!(t.messages(&key(name)).await?.len(), COMMITS, "messages of {name}");
    }
    Ok(())
}

async fn commit_extends_lease_only_below_half(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.advance(t.lease() / 4).await;
    let receipt = t.commit(&claim.fence, commit()).await?;
    ensure_eq!(receipt.lease_ends, claim.lease_ends, "end of the lease after a quarter of it");
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(claim.lease_ends), "alarm after a quarter of it");
    t.advance(t.lease() / 2).await;
    let receipt = t.commit(&claim.fence, commit()).await?;
    ensure_eq!(receipt.lease_ends, receipt.now.after(t.lease()), "end of the lease after three quarters");
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(receipt.lease_ends), "alarm after three quarters");
    Ok(())
}
