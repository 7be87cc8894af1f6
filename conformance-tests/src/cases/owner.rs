//! Edge cases of the rules for ownership and wake-up of a session.

use std::time::Duration;

use super::prelude::*;

cases! {
    session.repeated_creation_brings_no_claim_of_another_run: Core Time,
        "a repeated creation brings the claim that it asked for while that runs, and never the claim of another run",
        "two workers would write under one fence, and each would believe that it is alone",
        "CreateOutcome::Created: a claim, if one was asked for and its lease still runs";
    fence.ended_by_giving_a_takeover_back: Core Time,
        "after a takeover was given back, neither its run nor the run before it may write",
        "the session is active and due, so a third run works on it while the first two still write",
        "design 4: a release ends the fence, except for the repeat of that commit";
    alarm.more_unseen_items_than_asked_wake: Core Sequential,
        "a session that is left with more unseen items than wake it is due at once",
        "a session would sleep for ever on the messages that it waits for",
        "Release::To: how many unseen counted items wake it; design 4: if such items already reach wake_on";
    alarm.commit_leaves_a_lease_of_exactly_half: Core Time,
        "a commit leaves the lease alone while exactly half of it is left, and extends it a millisecond later",
        "an indexed column that moves with every commit costs more than the commit",
        "commit: the lease is extended only when less than half of it is left";
}

/// The way in which another run got the session before its creation is repeated.
#[derive(Debug, Clone, Copy)]
enum Hands {
    /// The session was created at rest and then claimed.
    Claimed,
    /// The session was created with a claim, and the lease of that claim ended.
    TakenOver,
    /// The session was created with a claim, released, and claimed again.
    ClaimedAfter(Left),
}

#[derive(Debug, Clone, Copy)]
enum Left {
    Released,
    GivenBack,
}

async fn repeated_creation_brings_no_claim_of_another_run(t: Bench) -> CaseResult {
    use Hands::{Claimed, ClaimedAfter, TakenOver};
    let ways = [Claimed, TakenOver, ClaimedAfter(Left::Released), ClaimedAfter(Left::GivenBack)];
    for hands in ways {
        let start = match hands {
            Claimed => Start::WithItems,
            TakenOver | ClaimedAfter(_) => Start::Claimed(t.claim_one()),
        };
        let new = NewSession { start, ..new_session(&format!("{hands:?}")) };
        let key = new.key.clone();
        let (created, own) = want!(t.store.create_session(new.clone()).await?,
            CreateOutcome::Created { version, claim } => (version, claim));
        if let Some(own) = &own {
            let claim = want!(t.store.create_session(new.clone()).await?,
                CreateOutcome::Created { claim: Some(claim), .. } => claim);
            ensure_eq!(claim.fence, own.fence, "the fence of the repeat while its own claim runs");
        }
        let release = |left| match left {
            Left::Released => release_to(SessionStatus::Idle),
            Left::GivenBack => Release::GiveBack { alarm: None },
        };
        let other = match (hands, own) {
            (ClaimedAfter(left), Some(own)) => {
                t.commit(&own.fence, Commit { release: Some(release(left)), ..commit() }).await?;
                t.claim(&key).await?
            }
            (TakenOver, _) => t.take_over(&key).await?,
            (Claimed | ClaimedAfter(_), _) => t.claim(&key).await?,
        };
        let before = t.snapshot(&key).await?;
        let (version, claim) = want!(t.store.create_session(new).await?,
            CreateOutcome::Created { version, claim } => (version, claim));
        ensure_eq!(version, created, "the version that the creation answered");
        ensure!(
            claim.is_none(),
            "expected no claim, since another run holds the session ({hands:?})",
            found = "{:?}, held is {:?}",
            claim.map(|claim| claim.fence),
            other.fence
        );
        ensure_eq!(t.snapshot(&key).await?, before, "the session after the repeat");
    }
    Ok(())
}

/// Fails if any write under `fence` is accepted.
async fn is_stale(t: &Bench, fence: &Fence, whose: &str) -> CaseResult {
    let full = Commit {
        messages: inline(["late"]),
        events: events(["late"]),
        state: state("late"),
        release: Some(release_to(SessionStatus::Idle)),
        ..commit()
    };
    let committed = t.try_commit(fence, full).await?;
    ensure!(
        matches!(committed, CommitOutcome::StaleFence { .. }),
        "expected a stale fence for a commit of {whose}",
        found = "{committed:?}"
    );
    let staged = t.store.stage_result(fence, staging([("late", "result")])).await?;
    ensure_eq!(staged, StageOutcome::StaleFence, "a staging of {whose}");
    let renewed = t.store.renew_lease(fence, t.lease() * 3).await?;
    ensure_eq!(renewed, LeaseOutcome::StaleFence, "a renewal of {whose}");
    let streamed = t.try_append(fence, deltas(9, 1, ["late"])).await?;
    ensure_eq!(streamed, DeltaOutcome::StaleFence, "deltas of {whose}");
    let asked = t.store.take_interrupt(fence).await?;
    ensure_eq!(asked, InterruptCheck::StaleFence, "a look at the interrupt of {whose}");
    Ok(())
}

async fn ended_by_giving_a_takeover_back(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    let key = &first.fence.key;
    t.interrupt(key, crate::fixture::soft("stop")).await?;
    let second = t.take_over(key).await?;
    ensure_eq!(second.found, SessionStatus::Active, "the status that the takeover found");
    let give_back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    let receipt = t.commit(&second.fence, give_back.clone()).await?;
    ensure_eq!(t.load(key).await?.status, SessionStatus::Active, "the status that was given back");
    let before = t.snapshot(key).await?;
    is_stale(&t, &second.fence, "the run that gave it back").await?;
    is_stale(&t, &first.fence, "the run that was taken over").await?;
    ensure_eq!(t.snapshot(key).await?, before, "the session after all refusals");
    let repeat = t.try_commit(&second.fence, give_back).await?;
    ensure_eq!(repeat, CommitOutcome::Committed(receipt), "the repeat of the commit that gave it back");
    let third = t.claim(key).await?;
    ensure_eq!(third.found, SessionStatus::Active, "the status that the next claim finds");
    is_stale(&t, &second.fence, "the run that gave it back, beside the next").await?;
    Ok(())
}

async fn more_unseen_items_than_asked_wake(t: Bench) -> CaseResult {
    let far = t.now().await?.after(t.lease() * 90);
    let deliver = async |key: &SessionKey, number: u32| -> CaseResult {
        for item in 0..number {
            t.deliver(key, message_that(&format!("item-{item}"), Wake::Count)).await?;
        }
        Ok(())
    };
    for (unseen, wake_on, due) in [(1, 2, false), (2, 2, true), (3, 2, true), (5, 1, true), (5, 4, true)] {
        let what = format!("{unseen} unseen items wake a session that waits for {wake_on}");
        let claim = t.running(&format!("released-{unseen}-{wake_on}")).await?;
        let key = &claim.fence.key;
        deliver(key, unseen).await?;
        let park = Commit { release: suspended(Some(far), wake_on), ..commit() };
        t.commit(&claim.fence, park.clone()).await?;
        ensure_eq!(t.is_due(key).await?, due, "whether {what}, at its release");

        let claim = t.running(&format!("given-back-{unseen}-{wake_on}")).await?;
        let key = &claim.fence.key;
        t.commit(&claim.fence, park).await?;
        let claim = t.claim(key).await?;
        deliver(key, unseen).await?;
        let give_back = Some(Release::GiveBack { alarm: Some(far) });
        t.commit(&claim.fence, Commit { release: give_back, ..commit() }).await?;
        ensure_eq!(t.is_due(key).await?, due, "whether {what}, when its claim is given back");
    }
    Ok(())
}

/// Creates a session and claims it for `lease`.
async fn claimed_for(t: &Bench, name: &str, lease: Duration) -> CaseResult<Claim> {
    let key = t.create(name).await?;
    let outcome = t.store.claim_session(&key, ClaimOne { lease, ..t.claim_one() }).await?;
    Ok(want!(outcome, ClaimOutcome::Claimed(claim) => *claim))
}

async fn commit_leaves_a_lease_of_exactly_half(t: Bench) -> CaseResult {
    if !t.moves_time() {
        // Real time does not stop at half of a lease, so only a point clearly after it can be tested.
        let claim = claimed_for(&t, "behind", t.lease() * 2).await?;
        t.advance(t.lease() * 3 / 2).await;
        let receipt = t.commit(&claim.fence, commit()).await?;
        ensure!(
            receipt.lease_ends > claim.lease_ends,
            "expected a longer lease",
            found = "the lease as it was"
        );
        return Ok(());
    }
    let (half, ms) = (t.lease(), Duration::from_millis(1));
    let table = [
        ("even", half * 2, half, true),
        ("even-less", half * 2, half - ms, false),
        ("odd", half * 2 + ms, half + ms, true),
        ("odd-less", half * 2 + ms, half, false),
    ];
    for (name, lease, left, kept) in table {
        for renewed in [false, true] {
            let granted = if renewed { lease / 3 } else { lease };
            let claim = claimed_for(&t, &format!("{name}-{renewed}"), granted).await?;
            let mut ends = claim.lease_ends;
            if renewed {
                let answer = t.store.renew_lease(&claim.fence, lease).await?;
                ends = want!(answer, LeaseOutcome::Renewed(receipt) => receipt.lease_ends);
            }
            t.advance(lease - left).await;
            let receipt = t.commit(&claim.fence, commit()).await?;
            ensure_eq!(receipt.now.until(ends), left, "what is left of the lease");
            let expected = if kept { ends } else { receipt.now.after(lease) };
            let what = format!("a lease of {lease:?} of which {left:?} are left, renewed: {renewed}");
            ensure_eq!(receipt.lease_ends, expected, "the end of {what}");
            ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(expected), "the alarm of {what}");
        }
    }
    Ok(())
}
