//! The records of a session's runs.

use super::prelude::*;

cases! {
    run.start_creates_fresh_run_linked_to_session: Core Sequential,
        "each claim opens one record of a run",
        "a run without a record cannot be told from one that never was",
        "claim_session: a new one is opened";
    run.ids_are_callers_and_stored_verbatim: Core Sequential,
        "the ids of run and worker are kept letter by letter",
        "whoever joins logs by run id finds nothing if the store changes it",
        "RunRecord::run: the caller's id, verbatim";
    run.only_one_active_run_per_session: Core Sequential,
        "a second claim is told who holds the session, and opens no run",
        "two runs of one session do everything twice",
        "ClaimOutcome::Held: another run holds it; nothing was changed";
    run.resume_is_a_new_run_with_parent_pointer: Core Sequential,
        "the run after a suspended one names it as parent, the run of a new turn names none",
        "without it nobody can tell which runs made up one turn",
        "RunRecord::parent: the run before it, if that one left the session anything but at rest with its turn ended";
    run.finish_records_outcome_exactly_once: Core Sequential,
        "the first end of a run is kept for ever",
        "a later write would rewrite history",
        "RunEnd: the first end is kept for ever";
    run.outcome_variants_roundtrip: Core Property,
        "every kind of outcome reads back",
        "a kind that a store does not know becomes another, or an error at every listing",
        "OutcomeKind: wire names as in the glossary of outcomes";
    run.history_lists_in_start_order: Core Sequential,
        "runs are listed in the order they began, page by page",
        "out of order a listing shows effects before their causes",
        "list_runs: in the order they began";
    run.attempts_counted_at_claim_not_at_finish: Distributed Time,
        "a takeover is counted when it is claimed, so one that dies counts too",
        "a poisonous session that kills its worker would be taken over for ever",
        "design 4: Claim.attempts counts takeovers of an ended lease since the last commit of any kind";
    run.start_twice_concurrently_one_wins: Distributed Concurrent,
        "of 16 claims one opens a run",
        "two runs of one session do everything twice",
        "claim_session: compare-and-set to active (INV-32)";
}

async fn start_creates_fresh_run_linked_to_session(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    ensure_eq!(t.snapshot(&key).await?.runs.len(), 0, "runs before the first claim");
    let claim = t.claim(&key).await?;
    let runs = t.snapshot(&key).await?.runs;
    ensure_eq!(runs.len(), 1, "runs after the first claim");
    ensure_eq!(runs[0].epoch, claim.fence.epoch, "epoch");
    ensure_eq!(runs[0].run, claim.run, "run");
    ensure_eq!(runs[0].found, SessionStatus::Idle, "found");
    ensure_eq!(runs[0].started_at, claim.now, "when it began");
    ensure_eq!(runs[0].end, None, "its end");
    Ok(())
}

async fn ids_are_callers_and_stored_verbatim(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let claim = ClaimOne { run: id("Run%_ é{1} "), worker: id("host:1/Ω' \" ; --"), ..t.claim_one() };
    want!(t.store.claim_session(&key, claim.clone()).await?, ClaimOutcome::Claimed(_));
    let run = t.snapshot(&key).await?.runs.remove(0);
    ensure_eq!((run.run, run.worker.clone()), (claim.run, claim.worker), "run and worker");
    let lease = t.load(&key).await?.lease;
    ensure_eq!(lease.map(|lease| lease.worker), Some(run.worker), "the holder of the lease");
    Ok(())
}

async fn only_one_active_run_per_session(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let answer = t.store.claim_session(&claim.fence.key, t.claim_one()).await?;
    let held = ClaimOutcome::Held {
        worker: id("worker"),
        epoch: claim.fence.epoch,
        version: claim.session.version,
        lease_ends: claim.lease_ends,
    };
    ensure_eq!(answer, held, "the answer to the second claim");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn resume_is_a_new_run_with_parent_pointer(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    t.release(&first.fence, SessionStatus::Suspended).await?;
    let second = t.claim(&first.fence.key).await?;
    t.release(&second.fence, SessionStatus::Idle).await?;
    t.claim(&first.fence.key).await?;
    let taken_over = t.take_over(&first.fence.key).await?;
    ensure_eq!(taken_over.fence.epoch, Epoch(4), "epoch");
    let runs = t.snapshot(&first.fence.key).await?.runs;
    let parents: Vec<_> = runs.iter().map(|run| run.parent).collect();
    let expected = [None, Some(Epoch(1)), None, Some(Epoch(3))];
    ensure_eq!(parents, expected, "parents: of a first run, a resumed one, a new turn's, a takeover");
    let found: Vec<_> = runs.iter().map(|run| run.found).collect();
    use SessionStatus::{Active, Idle, Suspended};
    ensure_eq!(found, [Idle, Suspended, Idle, Active], "the status that each found");
    Ok(())
}

async fn finish_records_outcome_exactly_once(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let ends = |outcome, text| Commit { run: Some(RunEnd { outcome, detail: bytes(text) }), ..commit() };
    t.commit(&claim.fence, ends(OutcomeKind::Completed, "first")).await?;
    let first = t.snapshot(&claim.fence.key).await?.runs;
    let end = want!(first[0].end.clone(), Some(end) => end);
    ensure_eq!(end.outcome, OutcomeKind::Completed, "outcome");
    ensure_eq!(end.detail, Some(bytes("first")), "detail");
    t.advance(t.lease() / 10).await;
    let second =
        Commit { release: Some(release_to(SessionStatus::Failed)), ..ends(OutcomeKind::Failed, "second") };
    t.commit(&claim.fence, second).await?;
    ensure_eq!(t.snapshot(&claim.fence.key).await?.runs, first, "the runs after a second end");
    // The next claim does not rewrite the record either.
    t.claim(&claim.fence.key).await?;
    ensure_eq!(t.snapshot(&claim.fence.key).await?.runs[0], first[0], "the first run after the next claim");
    Ok(())
}

async fn outcome_variants_roundtrip(t: Bench) -> CaseResult {
    for outcome in OutcomeKind::ALL {
        let claim = t.running(outcome.as_str()).await?;
        t.commit(&claim.fence, Commit { run: run_end(outcome), ..commit() }).await?;
        let run = t.snapshot(&claim.fence.key).await?.runs.remove(0);
        ensure_eq!(run.end.map(|end| end.outcome), Some(outcome), "outcome");
    }
    Ok(())
}

async fn history_lists_in_start_order(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let mut begun = Vec::new();
    for _ in 0..12 {
        let claim = t.claim(&key).await?;
        begun.push((claim.fence.epoch, claim.run.clone()));
        t.release(&claim.fence, SessionStatus::Idle).await?;
    }
    let runs = t.snapshot(&key).await?.runs;
    let listed: Vec<_> = runs.into_iter().map(|run| (run.epoch, run.run)).collect();
    ensure_eq!(listed, begun, "the runs");
    Ok(())
}

async fn attempts_counted_at_claim_not_at_finish(t: Bench) -> CaseResult {
    let key = t.running("s").await?.fence.key;
    for attempts in 1..=5 {
        let claim = t.take_over(&key).await?;
        ensure_eq!(claim.session.attempts, attempts, "attempts in the claim");
        ensure_eq!(t.load(&key).await?.attempts, attempts, "attempts before anything was committed");
    }
    let claim = t.take_over(&key).await?;
    t.commit(&claim.fence, commit()).await?;
    ensure_eq!(t.load(&key).await?.attempts, 0, "attempts after a commit");
    Ok(())
}

async fn start_twice_concurrently_one_wins(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let claims = (0..16).map(|_| t.claim_one()).collect::<Vec<_>>();
    let answers = race(t.peers(16).await, |index, peer| {
        let (key, claim) = (key.clone(), claims[index].clone());
        Box::pin(async move { Ok(peer.claim_session(&key, claim).await?) })
    })
    .await?;
    let won = answers.iter().filter(|answer| matches!(answer, ClaimOutcome::Claimed(_))).count();
    ensure_eq!(won, 1, "how many claimed it");
    let held = answers.iter().filter(|answer| matches!(answer, ClaimOutcome::Held { .. })).count();
    ensure_eq!(held, 15, "how many were told who holds it");
    let runs = t.snapshot(&key).await?.runs;
    ensure!(runs.len() == 1 && runs[0].epoch == Epoch(1), "expected one run", found = "{runs:?}");
    Ok(())
}
