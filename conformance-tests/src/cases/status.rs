//! The transitions of a session's status, and the operations that raise its version.
//!
//! Requirements: H02, H03.

use super::prelude::*;

cases! {
    session.cas_status_succeeds_on_expected_version: Core Sequential,
        "a failed or interrupted session is moved to suspended and is due at once",
        "a front that has no agent could not ask for a retry",
        "compare_and_set_status: moves a failed or interrupted session to suspended with the alarm now";
    session.cas_status_wrong_version_is_conflict_with_actual: Core Sequential,
        "a compare-and-set at another version is told the actual one",
        "without the actual version the caller cannot decide again",
        "CasOutcome::VersionConflict: the version it has, the status it has";
    session.cas_failure_changes_nothing: Core Sequential,
        "a refused compare-and-set leaves no trace",
        "half a move leaves a session due that nobody asked for",
        "StateStore: losing a race is a value in the outcome, and changes nothing";
    session.cas_carries_items_with_the_move_or_not_at_all: Core Sequential,
        "a compare-and-set brings its items, or neither happens",
        "a retry whose signal was refused would begin a turn out of nothing",
        "StatusCas::items: accepted with the move or not at all";
    session.concurrent_cas_one_winner_rest_conflict: Distributed Concurrent,
        "of 16 compare-and-sets at one version one moves the session",
        "two winners begin two retries",
        "compare_and_set_status: atomic (INV-03)";
    status.table_of_allowed_moves_every_pair: Core Property,
        "claims, releases and compare-and-sets move the status as the design's table says, for every pair",
        "one extra edge in the table revives what was final, or parks what was running",
        "design 4: claims move all but aborted to active, commits active to any, compare-and-set failed or interrupted to suspended; all else is refused";
    session.terminal_status_is_final: Core Sequential,
        "an aborted session accepts nothing but being read and deleted",
        "after a committed abort nothing but retention follows (INV-28)",
        "SessionStatus::Aborted: ended for ever";
    version.only_claim_commit_and_cas_raise_it: Core Property,
        "claims, commits and compare-and-sets raise the version by one; nothing else touches it",
        "a delivery that raised the version would make every commit a conflict",
        "design 4: claims, commits and compare-and-sets raise the version, nothing else does";
}

fn cas(version: Version, to: SessionStatus) -> StatusCas {
    StatusCas { incarnation: None, expected_version: version, to, items: Vec::new() }
}

async fn cas_status_succeeds_on_expected_version(t: Bench) -> CaseResult {
    for status in [SessionStatus::Failed, SessionStatus::Interrupted] {
        let key = t.left_as(status.as_str(), status).await?;
        let version = t.load(&key).await?.version;
        let answer = t.store.compare_and_set_status(&key, cas(version, SessionStatus::Suspended)).await?;
        ensure_eq!(answer, CasOutcome::Moved { version: version.next() }, "the answer, from {status}");
        let session = t.load(&key).await?;
        ensure_eq!(session.status, SessionStatus::Suspended, "status, from {status}");
        ensure_eq!(session.version, version.next(), "version, from {status}");
        ensure!(
            t.is_due(&key).await?,
            "expected it to be due, from {status}",
            found = "{}",
            t.waking(&key).await?
        );
        ensure_eq!(t.due_names().await?, [status.as_str()], "what a worker finds, from {status}");
    }
    Ok(())
}

/// Requirements: H02.
async fn cas_status_wrong_version_is_conflict_with_actual(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Failed).await?;
    let actual = t.load(&key).await?.version;
    for expected in [Version(actual.0 - 1), actual.next()] {
        let answer = t.store.compare_and_set_status(&key, cas(expected, SessionStatus::Suspended)).await?;
        let conflict = CasOutcome::VersionConflict { expected, actual, status: SessionStatus::Failed };
        ensure_eq!(answer, conflict, "the answer at version {expected}");
    }
    Ok(())
}

async fn cas_failure_changes_nothing(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Failed).await?;
    let before = t.snapshot(&key).await?;
    let version = t.load(&key).await?.version;
    let with_item = |version, to| StatusCas { items: vec![message("m")], ..cas(version, to) };
    for refused in
        [with_item(version.next(), SessionStatus::Suspended), with_item(version, SessionStatus::Idle)]
    {
        t.store.compare_and_set_status(&key, refused).await?;
        ensure_eq!(t.snapshot(&key).await?, before, "the session after a refused move");
    }
    let unknown = crate::bench::nobody();
    let answer = t.store.compare_and_set_status(&unknown, cas(version, SessionStatus::Suspended)).await?;
    ensure_eq!(answer, CasOutcome::NotFound, "an unknown session");
    Ok(())
}

async fn cas_carries_items_with_the_move_or_not_at_all(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Interrupted).await?;
    t.deliver(&key, message("known")).await?;
    let before = t.snapshot(&key).await?;
    let version = t.load(&key).await?.version;
    let mut other = message("known");
    other.payload = crate::fixture::bytes("something else");
    let refused = StatusCas { items: vec![message("new"), other], ..cas(version, SessionStatus::Suspended) };
    let answer = t.store.compare_and_set_status(&key, refused).await?;
    let (index, refusal) = want!(answer, CasOutcome::ItemRefused { index, refusal } => (index, refusal));
    ensure_eq!(index, 1, "the place of the refused item");
    ensure!(!refusal.is_in(), "expected a conflict", found = "{refusal:?}");
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");

    let retry = StatusCas {
        items: vec![signal_that("retry", holdover_store::Wake::Now)],
        ..cas(version, SessionStatus::Suspended)
    };
    want!(t.store.compare_and_set_status(&key, retry).await?, CasOutcome::Moved { .. });
    let inbox = t.snapshot(&key).await?.inbox;
    let keys: Vec<_> = inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(keys, ["known", "retry"], "the inbox after the move");
    Ok(())
}

/// Requirements: H02.
async fn concurrent_cas_one_winner_rest_conflict(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Failed).await?;
    let version = t.load(&key).await?.version;
    let answers = race(t.peers(16).await, |_, peer| {
        let key = key.clone();
        Box::pin(async move {
            Ok(peer.compare_and_set_status(&key, cas(version, SessionStatus::Suspended)).await?)
        })
    })
    .await?;
    let moved = answers.iter().filter(|answer| matches!(answer, CasOutcome::Moved { .. })).count();
    ensure_eq!(moved, 1, "how many moved it");
    let conflict = CasOutcome::VersionConflict {
        expected: version,
        actual: version.next(),
        status: SessionStatus::Suspended,
    };
    ensure_eq!(
        answers.iter().filter(|answer| **answer == conflict).count(),
        15,
        "how many were told of a conflict"
    );
    ensure_eq!(t.load(&key).await?.version, version.next(), "version");
    Ok(())
}

/// Requirements: H03.
async fn table_of_allowed_moves_every_pair(t: Bench) -> CaseResult {
    use SessionStatus::{Aborted, Active, Failed, Idle, Interrupted, Suspended};
    for from in SessionStatus::ALL {
        claim_from(&t, from, from != Aborted)
            .await
            .map_err(|failure| failure.within(format!("claim of {from}")))?;
        for to in SessionStatus::ALL {
            let allowed = matches!((from, to), (Failed | Interrupted, Suspended));
            let pair = format!("compare-and-set of {from} to {to}");
            cas_pair(&t, from, to, allowed).await.map_err(|failure| failure.within(pair))?;
            let pair = format!("release of {from} to {to}");
            release_pair(&t, from, to).await.map_err(|failure| failure.within(pair))?;
        }
    }
    let every = [Idle, Active, Suspended, Interrupted, Failed, Aborted];
    ensure_eq!(every.len(), SessionStatus::ALL.len(), "statuses in the table");
    Ok(())
}

/// Checks that a claim moves every status except aborted to active, and takes an active session only after its lease.
async fn claim_from(t: &Bench, from: SessionStatus, allowed: bool) -> CaseResult {
    let key = t.left_as(&format!("claim-{from}"), from).await?;
    if from == SessionStatus::Active {
        let held = t.store.claim_session(&key, t.claim_one()).await?;
        want!(held, ClaimOutcome::Held { .. });
        t.advance(t.lease()).await;
    }
    let before = t.snapshot(&key).await?;
    let answer = t.store.claim_session(&key, t.claim_one()).await?;
    if allowed {
        let claim = want!(answer, ClaimOutcome::Claimed(claim) => claim);
        ensure_eq!(claim.found, from, "the status that the claim found");
        ensure_eq!(claim.session.status, SessionStatus::Active, "status");
    } else {
        ensure_eq!(answer, ClaimOutcome::Aborted, "the answer");
        ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
    }
    Ok(())
}

async fn cas_pair(t: &Bench, from: SessionStatus, to: SessionStatus, allowed: bool) -> CaseResult {
    let key = t.left_as(&format!("cas-{from}-{to}"), from).await?;
    let before = t.snapshot(&key).await?;
    let version = t.load(&key).await?.version;
    let answer = t.store.compare_and_set_status(&key, cas(version, to)).await?;
    if allowed {
        ensure_eq!(answer, CasOutcome::Moved { version: version.next() }, "the answer");
        ensure_eq!(t.load(&key).await?.status, to, "status");
    } else {
        ensure_eq!(answer, CasOutcome::NotAllowed { from, to }, "the answer");
        ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
    }
    Ok(())
}

/// Checks that only a run that holds the session can release it, to any status except active.
async fn release_pair(t: &Bench, from: SessionStatus, to: SessionStatus) -> CaseResult {
    let key = t.left_as(&format!("release-{from}-{to}"), from).await?;
    let session = t.load(&key).await?;
    let fence = holdover_store::ids::Fence {
        key: key.clone(),
        incarnation: session.incarnation,
        epoch: session.epoch,
    };
    let before = t.snapshot(&key).await?;
    let release = Commit { release: Some(release_to(to)), ..commit() };
    let answer = t.store.commit(&fence, release).await;
    let active = |status| status == SessionStatus::Active;
    match (active(from), active(to)) {
        (_, true) => {
            let error = want!(answer, Err(error) => error);
            ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a release to active");
            ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
        }
        (true, false) => {
            want!(answer?, CommitOutcome::Committed(_));
            ensure_eq!(t.load(&key).await?.status, to, "status");
        }
        (false, false) => {
            want!(answer?, CommitOutcome::StaleFence { .. });
            ensure_eq!(t.snapshot(&key).await?, before, "the session after the refusal");
        }
    }
    Ok(())
}

async fn terminal_status_is_final(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Aborted).await?;
    let before = t.snapshot(&key).await?;
    let version = t.load(&key).await?.version;
    ensure_eq!(t.store.claim_session(&key, t.claim_one()).await?, ClaimOutcome::Aborted, "claim");
    let moved = t.store.compare_and_set_status(&key, cas(version, SessionStatus::Suspended)).await?;
    let (from, to) = (SessionStatus::Aborted, SessionStatus::Suspended);
    ensure_eq!(moved, CasOutcome::NotAllowed { from, to }, "compare-and-set");
    ensure_eq!(t.store.deliver(&key, message("m")).await?, Delivery::Aborted, "delivery");
    for interrupt in [soft("soft"), abort("abort")] {
        let answer = t.store.request_interrupt(&key, interrupt).await?;
        ensure_eq!(answer, InterruptOutcome::Aborted, "interrupt");
    }
    t.advance(t.lease() * 10).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due, long after");
    ensure_eq!(t.snapshot(&key).await?, before, "the session after all that");
    t.store.delete_session(&key, Deletion::UNLESS_ACTIVE).await?;
    ensure_eq!(t.store.load_session(&key).await?, None, "the deleted session");
    Ok(())
}

async fn only_claim_commit_and_cas_raise_it(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let version = async |step: &str, expected: u64| -> CaseResult {
        ensure_eq!(t.load(&key).await?.version, Version(expected), "version after {step}");
        Ok(())
    };
    version("creation", 1).await?;
    t.deliver(&key, message("a")).await?;
    version("a delivery at rest", 1).await?;
    let claim = t.claim(&key).await?;
    version("a claim", 2).await?;
    t.stage(&claim.fence, staging([("call", "result")])).await?;
    version("staging", 2).await?;
    t.append(&claim.fence, crate::fixture::deltas(1, 1, ["word"])).await?;
    version("deltas", 2).await?;
    t.store.renew_lease(&claim.fence, t.lease() * 2).await?;
    version("a renewal", 2).await?;
    t.deliver(&key, message("b")).await?;
    version("a delivery to a running session", 2).await?;
    t.interrupt(&key, soft("stop")).await?;
    version("an interrupt", 2).await?;
    t.store.take_interrupt(&claim.fence).await?;
    version("handing the interrupt out", 2).await?;
    t.store.claim_session(&key, t.claim_one()).await?;
    version("a claim of a held session", 2).await?;
    t.commit(&claim.fence, commit()).await?;
    version("a commit", 3).await?;
    t.release(&claim.fence, SessionStatus::Failed).await?;
    version("a release", 4).await?;
    t.store.renew_lease(&claim.fence, t.lease()).await?;
    version("a stale renewal", 4).await?;
    t.store.compare_and_set_status(&key, cas(Version(4), SessionStatus::Suspended)).await?;
    version("a compare-and-set", 5).await?;
    t.claim_due(1).await?;
    version("a claim of what is due", 6).await?;
    Ok(())
}
