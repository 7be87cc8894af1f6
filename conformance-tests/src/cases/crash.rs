//! What ends in the middle.

use std::time::Duration;

use holdover_core::store::{ClaimOutcome, Delivery, SessionStatus, StateStore};

use crate::bench::{Bench, Handle, nobody};
use crate::case::cases;
use crate::difference::differences;
use crate::failure::{CaseResult, Failure, ensure, ensure_eq, want};
use crate::fixture::{commit, message};
use crate::ops::{Ask, Op, PollAtMost, Scene, Stage};
use crate::snapshot::load;

cases! {
    crash.cancel_sweep_every_mutating_op: Core Crash,
        "every operation may be dropped at every await: a peer sees all of it or nothing, and nothing stays locked",
        "a client that hangs up would leave half a commit, or a lock that nobody holds",
        "StateStore: applied wholly or not at all, also when the caller's future is dropped at any await (INV-04)";
}

/// More awaits than any operation should have.
const POLLS_MAX: usize = 500;
/// How long an operation that was given up may go on in the background.
const SETTLE_MAX: Duration = Duration::from_secs(20);

async fn cancel_sweep_every_mutating_op(t: Bench) -> CaseResult {
    let capabilities = t.store.capabilities();
    for op in Op::ALL.into_iter().filter(|op| op.is_declared(&capabilities)) {
        sweep(&t, op).await.map_err(|failure| failure.within(format!("{op:?}")))?;
    }
    Ok(())
}

/// Drops `op` after 1, 2, 3, … polls, each time in a store of its own, until it ends by itself.
async fn sweep(t: &Bench, op: Op) -> CaseResult {
    let ask = Ask { tag: "swept", lease: t.lease() };
    let scene = Scene::new(t.lease());
    let whole = t.another().await;
    scene.prepare(&whole, op.stage()).await?;
    let before = scene.snapshot(&whole.store).await?;
    scene.perform(whole.store.clone(), op, ask).await?;
    let after = scene.snapshot(&whole.store).await?;
    let changes = ![Op::CheckInterrupt].contains(&op);
    ensure!(!changes || before != after, "expected the operation to change something");

    let mut dropped = 0;
    for polls in 1..=POLLS_MAX {
        let bench = t.another().await;
        scene.prepare(&bench, op.stage()).await?;
        let peer = bench.peer().await;
        let at_start = scene.snapshot(&peer).await?;
        ensure_eq!(at_start, before, "the session before the operation");
        let ended = PollAtMost::new(polls, scene.perform(bench.store.clone(), op, ask)).await;
        settles(&peer, &scene, &before, &after, ended.is_some())
            .await
            .map_err(|failure| failure.within(format!("after {polls} polls")))?;
        // What was dropped may still be on its way through this handle: another write comes after it.
        bench.store.deliver(&nobody(), message("after")).await?;
        settles(&peer, &scene, &before, &after, ended.is_some())
            .await
            .map_err(|failure| failure.within("later"))?;
        // Repeated, it completes.
        scene.perform(peer.clone(), op, ask).await?;
        ensure_eq!(
            scene.snapshot(&peer).await?,
            after,
            "the session after the repeat, dropped at poll {polls}"
        );
        goes_on(&bench, &peer, &scene, op)
            .await
            .map_err(|failure| failure.within(format!("after {polls} polls")))?;
        match ended {
            Some(answer) => {
                answer?;
                // Each shorter try was dropped while the operation was pending; or it never is.
                ensure_eq!(
                    dropped,
                    polls - 1,
                    "tries dropped at a pending point, of an operation of {polls} polls"
                );
                return Ok(());
            }
            None => dropped += 1,
        }
    }
    Err(Failure::new(format!("expected an end after at most {POLLS_MAX} polls\n    found none")))
}

/// The peer sees all of it or nothing. What was dropped may go on for a while, so a read that spans
/// its end is taken again.
async fn settles(peer: &Handle, scene: &Scene, before: &str, after: &str, ended: bool) -> CaseResult {
    let deadline = tokio::time::Instant::now() + SETTLE_MAX;
    loop {
        // A session that is deleted between two reads is no failure: it is read again.
        let found = scene.snapshot(peer).await;
        match &found {
            Ok(found) if found == after || (found == before && !ended) => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        if tokio::time::Instant::now() > deadline {
            return Err(neither(before, after, found));
        }
        tokio::task::yield_now().await;
    }
}

/// What a peer saw is neither what was there before the operation nor what is there after it.
fn neither(before: &str, after: &str, found: CaseResult<String>) -> Failure {
    match found {
        Ok(found) => Failure::new(format!(
            "expected all of it or nothing\n    found neither: the session before it (-) and found (+) differ in\n{}\n    \
             the session after it (-) and found (+) differ in\n{}",
            differences(before, &found),
            differences(after, &found)
        )),
        Err(failure) => failure,
    }
}

/// Nothing is locked for longer than the lease: a peer takes the session and goes on.
async fn goes_on(bench: &Bench, peer: &Handle, scene: &Scene, op: Op) -> CaseResult {
    bench.advance(bench.lease() * 3).await;
    if [Op::Delete, Op::Purge].contains(&op) {
        scene.next_life().prepare(bench, Stage::Failed).await?;
    }
    let target = scene.target();
    let work = async {
        let outcome = peer.claim_session(&target, bench.claim_one()).await?;
        let claim = want!(outcome, ClaimOutcome::Claimed(claim) => claim);
        want!(
            peer.save_state_and_promote_staging(&claim.fence, commit()).await?,
            holdover_core::store::CommitOutcome::Committed(_)
        );
        want!(peer.deliver(&target, message("afterwards")).await?, Delivery::Accepted { .. });
        ensure_eq!(load(peer, &target).await?.status, SessionStatus::Active, "status");
        Ok(())
    };
    match tokio::time::timeout(SETTLE_MAX, work).await {
        Ok(done) => done,
        Err(_) => {
            Err(Failure::new("expected a peer to go on after the lease\n    found that it waits for a lock"))
        }
    }
}
