//! Operations that are dropped in the middle.
//!
//! Requirements: H12.

use std::time::Duration;

use super::prelude::*;
use crate::backoff::Backoff;
use crate::cancel::PollAtMost;
use crate::difference::differences;
use crate::ops::{Op, Stage};
use crate::scenario::{Ask, Scenario};

cases! {
    crash.cancel_sweep_every_mutating_op: Core Crash,
        "every operation may be dropped at every await: a peer sees all of it or nothing, and nothing stays locked",
        "a client that hangs up would leave half a commit, or a lock that nobody holds",
        "StateStore: applied wholly or not at all, also when the caller's future is dropped at any await (INV-04)";
}

/// More awaits than any operation needs.
const POLLS_MAX: usize = 500;
/// The time for which a cancelled operation may continue in the background.
pub(super) const SETTLE_MAX: Duration = Duration::from_secs(20);

/// Requirements: H12.
async fn cancel_sweep_every_mutating_op(t: Bench) -> CaseResult {
    let capabilities = t.store.capabilities();
    let peer = t.peer().await;
    let mut dropped = Vec::new();
    for op in Op::ALL.into_iter().filter(|op| op.is_declared(&capabilities)) {
        sweep(&t, &peer, op, &mut dropped).await.map_err(|failure| failure.within(format!("{op:?}")))?;
    }
    if dropped.is_empty() {
        return Err(Failure::moot("this store never waits: no operation can be dropped in the middle"));
    }
    // Nothing stays locked beyond the lease. All sessions wait for its end together.
    t.advance(t.lease() * 3).await;
    for Dropped { scenario, op, polls } in &dropped {
        t.forget_history();
        let went = goes_on(&t, &peer, scenario, *op).await;
        went.map_err(|failure| failure.within(format!("{op:?} after {polls} polls")))?;
    }
    Ok(())
}

/// An operation that was dropped while it waited, and was then repeated.
struct Dropped {
    scenario: Scenario,
    op: Op,
    polls: usize,
}

/// Drops `op` after 1, 2, 3, … polls, each time in its own scenario, until the operation ends by itself.
async fn sweep(t: &Bench, peer: &Handle, op: Op, dropped: &mut Vec<Dropped>) -> CaseResult {
    for polls in 1..=POLLS_MAX {
        let scenario = Scenario::new(t.lease());
        t.forget_history();
        let swept = drop_at(t, peer, &scenario, op, polls).await;
        if swept.map_err(|failure| failure.within(format!("after {polls} polls")))? {
            return Ok(());
        }
        dropped.push(Dropped { scenario, op, polls });
    }
    Err(Failure::new(format!("expected an end after at most {POLLS_MAX} polls\n    found    none")))
}

/// Drops `op` after `polls` polls and repeats it. Returns true if the operation had ended by itself.
async fn drop_at(t: &Bench, peer: &Handle, scenario: &Scenario, op: Op, polls: usize) -> CaseResult<bool> {
    let mut model = scenario.prepare(&t.store, op.stage()).await?;
    let request = scenario.request(op, Ask { tag: "swept", lease: t.lease() });
    let before = scenario.snapshot_of(&model);
    let expected = scenario.ask_model(&mut model, &request);
    let after = scenario.snapshot_of(&model);
    ensure_eq!(scenario.snapshot(peer).await?, before, "the session before the operation");

    let ended = PollAtMost::new(polls, scenario.ask(&t.store, &request)).await;
    settles(peer, scenario, &before, &after, ended.is_some()).await?;
    // The dropped operation may still be on its way through this handle, so another write follows it.
    t.store.deliver(&nobody(), message("after")).await?;
    settles(peer, scenario, &before, &after, ended.is_some())
        .await
        .map_err(|failure| failure.within("later"))?;
    let has_ended = ended.is_some();
    if let Some(answer) = ended {
        ensure_eq!(answer?, expected, "the answer of an operation that was not dropped");
    }
    // A repeat completes the operation.
    scenario.ask(peer, &request).await?;
    ensure_eq!(scenario.snapshot(peer).await?, after, "the session after the repeat");
    Ok(has_ended)
}

/// Waits until the peer sees the whole operation or nothing of it. A dropped operation may continue for a while, so a
/// read that overlaps its end is repeated.
pub(super) async fn settles(
    peer: &Handle,
    scenario: &Scenario,
    before: &str,
    after: &str,
    ended: bool,
) -> CaseResult {
    let deadline = tokio::time::Instant::now() + SETTLE_MAX;
    let mut pauses = Backoff::new();
    loop {
        // A session that is deleted between two reads is not a failure. It is read again.
        let found = scenario.snapshot(peer).await;
        match &found {
            Ok(found) if found == after || (found == before && !ended) => return Ok(()),
            Ok(_) | Err(_) => {}
        }
        if tokio::time::Instant::now() > deadline {
            return Err(neither(before, after, found));
        }
        pauses.pause().await;
    }
}

/// Creates the failure of a peer that saw neither the state before the operation nor the state after it.
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

/// Lets a peer claim the session, commit and deliver. Fails if this takes too long.
async fn goes_on(bench: &Bench, peer: &Handle, scenario: &Scenario, op: Op) -> CaseResult {
    if [Op::Delete, Op::Purge].contains(&op) {
        scenario.next_life().prepare(&bench.store, Stage::Failed).await?;
    }
    let target = scenario.target();
    let work = async {
        let outcome = peer.claim_session(&target, bench.claim_one()).await?;
        let claim = want!(outcome, ClaimOutcome::Claimed(claim) => claim);
        want!(peer.commit(&claim.fence, commit()).await?, holdover_store::CommitOutcome::Committed(_));
        want!(peer.deliver(&target, message("afterwards")).await?, Delivery::Accepted { .. });
        ensure_eq!(load(peer, &target).await?.status, SessionStatus::Active, "status");
        Ok(())
    };
    match tokio::time::timeout(SETTLE_MAX, work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::hung(
            "expected a peer to go on after the lease\n    found    that it waits for a lock",
        )),
    }
}
