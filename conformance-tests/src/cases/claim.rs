//! Claims: what they return, which sessions they may take, and who gets a due session.

use std::collections::BTreeSet;

use super::prelude::*;

cases! {
    claim.brings_staged_pending_inbox_interrupt_attempts_now_atomically: Distributed Sequential,
        "a claim brings everything that the run must know, as it stands in the store",
        "what is missing in the claim is done again, or never",
        "design 4: a Claim brings, atomically: session, fence, staged results, open pending calls, first inbox page, waiting interrupt, attempts, now";
    claim.what_it_brings_is_of_one_instant: Distributed Concurrent,
        "a claim beside deliveries shows a count and a page that belong together",
        "an item between the two would be seen by no run",
        "Claim: with all its news, read at one instant";
    claim.repeat_takes_nothing_anew: Distributed Time,
        "a claim repeated under its run id answers the same run while its lease runs, then is refused",
        "after a lost answer the session would wait for the lease's end",
        "ClaimOutcome: a repeat with the same run id answers the same claim while its lease runs; LeaseEnded";
    claim.repeat_with_same_operation_id_answers_the_same_claim: Durable Time,
        "the same over a restart of the store",
        "the answer may be lost because the store went down",
        "design 4: the row keeps the last claim's operation id";
    claim.unknown_session_is_not_found: Core Sequential,
        "a claim of nobody's session is not found and creates nothing",
        "a session without a creation has no definition",
        "ClaimOutcome::NotFound: there is no such session";
    claim.named_version_must_match: Core Sequential,
        "a claim that names a version is refused at any other",
        "a front that decided on what it read would run something else",
        "ClaimOne::expected_version: claim only at this version";
    claim.serves_only_named_queues_and_readable_formats: Distributed Property,
        "a worker gets what lies in its queues, in formats that it reads, of its tenant",
        "an old worker would misread a new state",
        "ClaimDue: which queues are served; sessions with a newer format are left alone";
    claim.the_format_is_that_of_the_newest_state: Distributed Sequential,
        "a commit of a state in a newer format hides the session from workers that cannot read it",
        "during an upgrade the old workers would take sessions back",
        "NewState::format; ClaimDue::newest_format";
    claim.attempts_count_only_takeovers: Distributed Time,
        "claims of resting or parked sessions count nothing, takeovers do, any commit clears the count",
        "a busy session would be called poisoned",
        "design 4: attempts counts takeovers of an ended lease since the last commit of any kind";
    claim.names_the_status_it_found_and_giving_back_restores_it: Distributed Property,
        "a claim says what it found; given back the session has that status again, a takeover is due at once",
        "a takeover that is given back and not due is lost for ever",
        "Release::GiveBack: the status that it found returns, a takeover's with its lease ended";
    claim.giving_back_loses_no_wake_up: Distributed Sequential,
        "what arrived during a claim that is given back makes the session due",
        "the message would wait for the next one",
        "design 4: no wake-up is ever lost";
    claim.carries_items_with_the_move_or_not_at_all: Distributed Sequential,
        "items come in with the claim, or neither happens",
        "a turn would begin without the message that it is about",
        "ClaimOne::items: accepted with the claim or not at all";
    claim.interrupt_waiting_is_due_in_every_queue: Distributed Sequential,
        "a session with a stop waiting is due to every worker, whatever its queue and format",
        "no agent definition is needed to end a session; without this, a queue nobody serves is never stopped",
        "ClaimDue::queues: a session that nobody runs and that has an interrupt waiting is due in every queue";
    claim.closes_the_open_run_of_a_dead_worker_as_lost: Distributed Time,
        "the record of a run that died is closed by the claim that takes over",
        "it would seem to run for ever",
        "RunEnded::outcome: Lost is written by the claim that found it open";
    ready.due_once_however_often_woken: Distributed Sequential,
        "a session woken five times is due once, and not again once its items were seen",
        "each wake-up would start a run",
        "design 4: every session has at most one alarm";
    ready.none_only_when_nothing_claimable: Distributed Concurrent,
        "10 claimers of 10 due sessions get 10 different ones",
        "an empty answer beside due work leaves a worker idle",
        "claim_due: claims at most `runs` sessions whose alarm has rung";
    ready.batch_claim_bounded_and_disjoint: Distributed Concurrent,
        "claims of several at once are bounded, and no session is in two of them",
        "a worker that gets more than it asked for holds leases that it does not serve",
        "claim_due: at most claim.runs.len() (INV-32)";
    ready.recovery_does_not_requeue_live_owner: Distributed Time,
        "a run that renews is never due, one that stopped renewing is",
        "a healthy run would be taken over",
        "design 4: a dead worker's session is simply one whose alarm has rung";
    ready.woken_during_processing_is_not_lost: Distributed Sequential,
        "what arrives while a run works and is not seen by it makes the session due after it",
        "the message would wait for the next one",
        "design 4: only items after inbox_seen count";
}

async fn brings_staged_pending_inbox_interrupt_attempts_now_atomically(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    let key = &first.fence.key;
    let open = vec![approval("p1"), approval("p2")];
    t.commit(&first.fence, Commit { state: state("state"), open, ..commit() }).await?;
    let mut staged = staging([("call", "result")]);
    staged.starts = vec![id("started")];
    t.stage(&first.fence, staged).await?;
    t.deliver(key, message("a")).await?;
    t.deliver(key, message_that("b", Wake::Quiet)).await?;
    t.interrupt(key, soft("stop")).await?;
    t.advance(t.lease()).await;
    let peer = t.peer().await;
    let (before, one) = (t.now().await?, t.claim_one());
    let claim = want!(peer.claim_session(key, one.clone()).await?, ClaimOutcome::Claimed(claim) => claim);
    let after = t.now().await?;
    ensure_eq!(claim.run, one.run, "run");
    ensure_eq!((claim.fence.epoch, claim.found), (Epoch(2), SessionStatus::Active), "epoch and found");
    ensure_eq!(claim.session, t.load(key).await?, "the session");
    ensure_eq!(claim.session.state, Some(bytes("state")), "state");
    ensure_eq!(claim.session.staged.results, [result("call", "result")], "staged results");
    ensure_eq!(claim.session.staged.starts, [id("started")], "start marks");
    ensure_eq!(claim.session.attempts, 1, "attempts");
    ensure_eq!(claim.interrupt(), Some(&soft("stop")), "interrupt");
    ensure_eq!(claim.pending, t.pending(key).await?, "pending calls");
    ensure_eq!(claim.inbox, all_items(&t.store, key).await?, "inbox");
    ensure_eq!((claim.pending.len(), claim.inbox.len()), (2, 2), "pending calls and items");
    ensure!(
        before <= claim.now && claim.now <= after,
        "expected the claim's now to lie between {before:?} and {after:?}",
        found = "{:?}",
        claim.now
    );
    Ok(())
}

async fn what_it_brings_is_of_one_instant(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Suspended).await?;
    let claims: Vec<_> = (0..20).map(|_| t.claim_one()).collect();
    race(t.peers(2).await, |index, peer| {
        let (key, claims) = (key.clone(), claims.clone());
        Box::pin(async move {
            if index == 0 {
                for number in 0..40 {
                    let item = message(&format!("m{number}"));
                    want!(peer.deliver(&key, item).await?, Delivery::Accepted { .. });
                }
                return Ok(());
            }
            for one in claims {
                let outcome = peer.claim_session(&key, one).await?;
                let claim = want!(outcome, ClaimOutcome::Claimed(claim) => claim);
                let (unread, items) = (claim.session.unread, claim.inbox.len() as u64);
                ensure_eq!(unread, items, "the count beside a page of {items}");
                let newest = claim.inbox.last().map_or(0, |item| item.seq.0);
                ensure_eq!(claim.session.last_item.0, newest, "the newest item beside the page");
                let release = Commit { release: Some(release_to(SessionStatus::Suspended)), ..commit() };
                want!(peer.commit(&claim.fence, release).await?, CommitOutcome::Committed(_));
            }
            Ok(())
        })
    })
    .await?;
    Ok(())
}

async fn repeat_takes_nothing_anew(t: Bench) -> CaseResult {
    repeated_claim(t, Restart::No).await
}

async fn repeat_with_same_operation_id_answers_the_same_claim(t: Bench) -> CaseResult {
    repeated_claim(t, Restart::Yes).await
}

async fn repeated_claim(t: Bench, restart: Restart) -> CaseResult {
    let key = t.create("s").await?;
    let one = ClaimOne { items: vec![message("m")], ..t.claim_one() };
    let first = want!(t.store.claim_session(&key, one.clone()).await?, ClaimOutcome::Claimed(claim) => claim);
    let before = t.snapshot(&key).await?;
    let t = t.after(restart).await;
    let again = want!(t.store.claim_session(&key, one.clone()).await?, ClaimOutcome::Claimed(claim) => claim);
    ensure_eq!((&again.fence, &again.run), (&first.fence, &first.run), "fence and run of the repeat");
    ensure_eq!(
        (again.found, again.lease_ends),
        (first.found, first.lease_ends),
        "found and lease of the repeat"
    );
    ensure_eq!(
        (&again.session, &again.inbox),
        (&first.session, &first.inbox),
        "session and inbox of the repeat"
    );
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the repeat");
    t.advance(t.lease()).await;
    ensure_eq!(t.store.claim_session(&key, one.clone()).await?, ClaimOutcome::LeaseEnded, "after its lease");
    ensure_eq!(t.snapshot(&key).await?, before, "the session after the late repeat");
    // A released claim has ended too.
    let next = t.claim_one();
    let claim =
        want!(t.store.claim_session(&key, next.clone()).await?, ClaimOutcome::Claimed(claim) => claim);
    t.release(&claim.fence, SessionStatus::Idle).await?;
    ensure_eq!(t.store.claim_session(&key, next).await?, ClaimOutcome::LeaseEnded, "after its release");
    Ok(())
}

async fn unknown_session_is_not_found(t: Bench) -> CaseResult {
    let one = ClaimOne { items: vec![message("m")], ..t.claim_one() };
    ensure_eq!(t.store.claim_session(&nobody(), one).await?, ClaimOutcome::NotFound, "the answer");
    ensure_eq!(t.store.load_session(&nobody()).await?, None, "the session");
    Ok(())
}

async fn named_version_must_match(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Suspended).await?;
    let before = t.snapshot(&key).await?;
    let actual = t.load(&key).await?.version;
    for expected in [Version(actual.0 - 1), actual.next()] {
        let one = ClaimOne { expected_version: Some(expected), items: vec![message("m")], ..t.claim_one() };
        let conflict = ClaimOutcome::VersionConflict { expected, actual, status: SessionStatus::Suspended };
        ensure_eq!(t.store.claim_session(&key, one).await?, conflict, "a claim at version {expected}");
        ensure_eq!(t.snapshot(&key).await?, before, "the session");
    }
    let one = ClaimOne { expected_version: Some(actual), ..t.claim_one() };
    want!(t.store.claim_session(&key, one).await?, ClaimOutcome::Claimed(_));
    // The right version does not take a session from the run that holds it.
    let held = ClaimOne { expected_version: Some(actual.next()), ..t.claim_one() };
    want!(t.store.claim_session(&key, held).await?, ClaimOutcome::Held { .. });
    Ok(())
}

async fn serves_only_named_queues_and_readable_formats(t: Bench) -> CaseResult {
    let due = async |tenant: &str, name: &str, queue: &str, format| -> CaseResult {
        let new = NewSession {
            key: crate::fixture::key_of(tenant, name),
            queue: id(queue),
            format: StateFormat(format),
            items: vec![message("m")],
            ..new_session(name)
        };
        t.store.create_session(new).await?;
        Ok(())
    };
    due("acme", "a1", "a", 1).await?;
    due("acme", "a2", "a", 2).await?;
    due("acme", "b1", "b", 1).await?;
    due("acme", "A1", "A", 1).await?;
    due("other", "o1", "a", 1).await?;
    let claimed = async |queues, newest, tenant: Option<&str>| -> CaseResult<Vec<String>> {
        let wanted =
            ClaimDue { queues, newest_format: StateFormat(newest), tenant: tenant.map(id), ..t.due(10) };
        let claims = t.all_due(&wanted).await?;
        let mut names: Vec<_> = claims.iter().map(|claim| claim.fence.key.id.to_string()).collect();
        names.sort();
        Ok(names)
    };
    let none: [&str; 0] = [];
    let named = |queue: &str| Queues::Named(vec![id(queue)]);
    ensure_eq!(claimed(Queues::Named(vec![]), 9, None).await?, none, "no queue");
    ensure_eq!(claimed(named("c"), 9, None).await?, none, "an empty queue");
    ensure_eq!(claimed(named("a"), 0, None).await?, none, "a worker that reads no format");
    ensure_eq!(claimed(named("b"), 9, Some("other")).await?, none, "the other tenant's");
    ensure_eq!(claimed(named("a"), 1, Some("acme")).await?, ["a1"], "queue a, format 1, of acme");
    ensure_eq!(
        claimed(Queues::Named(vec![id("a"), id("b")]), 1, None).await?,
        ["b1", "o1"],
        "queues a and b"
    );
    ensure_eq!(claimed(Queues::All, 9, None).await?, ["A1", "a2"], "all that is left");
    Ok(())
}

async fn the_format_is_that_of_the_newest_state(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let newer = NewState { format: StateFormat(7), payload: bytes("state") };
    t.commit(&claim.fence, Commit { state: Some(newer), release: suspended(None, 0), ..commit() }).await?;
    t.deliver(&claim.fence.key, message("m")).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.format, StateFormat(7), "format");
    for (newest, found) in [(1, 0), (6, 0), (7, 1)] {
        let wanted = ClaimDue { newest_format: StateFormat(newest), ..t.due(5) };
        ensure_eq!(t.all_due(&wanted).await?.len(), found, "claims by a worker that reads {newest}");
    }
    Ok(())
}

async fn attempts_count_only_takeovers(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    for status in [SessionStatus::Suspended, SessionStatus::Failed, SessionStatus::Interrupted] {
        let claim = t.claim(&key).await?;
        ensure_eq!(claim.session.attempts, 0, "attempts of a claim that is no takeover");
        t.release(&claim.fence, status).await?;
    }
    t.claim(&key).await?;
    for attempts in 1..=3 {
        let claim = t.take_over(&key).await?;
        ensure_eq!(claim.session.attempts, attempts, "attempts after {attempts} takeovers");
    }
    let claim = t.take_over(&key).await?;
    t.store.renew_lease(&claim.fence, t.lease() * 2).await?;
    t.stage(&claim.fence, staging([("c", "r")])).await?;
    ensure_eq!(t.load(&key).await?.attempts, 4, "attempts after a renewal and staging");
    t.commit(&claim.fence, Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() }).await?;
    ensure_eq!(t.load(&key).await?.attempts, 0, "attempts after a commit");
    Ok(())
}

async fn names_the_status_it_found_and_giving_back_restores_it(t: Bench) -> CaseResult {
    let later = t.now().await?.after(t.lease() * 50);
    for status in SessionStatus::ALL {
        let key = t.left_as(status.as_str(), status).await?;
        if status == SessionStatus::Aborted {
            continue;
        }
        if status == SessionStatus::Active {
            t.advance(t.lease()).await;
        }
        let claim = t.claim(&key).await?;
        ensure_eq!(claim.found, status, "found");
        let back = |alarm| Commit { release: Some(Release::GiveBack { alarm }), ..commit() };
        t.commit(&claim.fence, back(None)).await?;
        let session = t.load(&key).await?;
        ensure_eq!((session.status, session.lease), (status, None), "status and lease, given back");
        let takeover = status == SessionStatus::Active;
        ensure_eq!(t.is_due(&key).await?, takeover, "whether a given back {status} session is due");
        let next = t.claim(&key).await?;
        ensure_eq!(next.found, status, "found by the next claim");
        t.commit(&next.fence, back(Some(later))).await?;
        ensure_eq!(t.load(&key).await?.alarm, Some(later), "the alarm that giving back {status} named");
    }
    Ok(())
}

async fn giving_back_loses_no_wake_up(t: Bench) -> CaseResult {
    let later = Some(t.now().await?.after(t.lease() * 50));
    for status in [SessionStatus::Idle, SessionStatus::Suspended, SessionStatus::Failed] {
        let key = t.left_as(status.as_str(), status).await?;
        let claim = t.claim(&key).await?;
        t.deliver(&key, message("m")).await?;
        let back = Commit { release: Some(Release::GiveBack { alarm: later }), ..commit() };
        t.commit(&claim.fence, back).await?;
        ensure!(
            t.is_due(&key).await?,
            "expected a {status} session to be due for its message",
            found = "{}",
            t.waking(&key).await?
        );
    }
    // The count of a suspended session continues when a claim is given back.
    let claim = t.running("counts").await?;
    t.commit(&claim.fence, Commit { release: suspended(None, 2), ..commit() }).await?;
    let claim = t.claim(&claim.fence.key).await?;
    t.deliver(&claim.fence.key, message_that("one", Wake::Count)).await?;
    t.commit(&claim.fence, Commit { release: Some(Release::GiveBack { alarm: later }), ..commit() }).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, later, "alarm after one of two counted items");
    t.deliver(&claim.fence.key, message_that("two", Wake::Count)).await?;
    ensure!(
        t.is_due(&claim.fence.key).await?,
        "expected two counted items to wake it",
        found = "{}",
        t.waking(&claim.fence.key).await?
    );
    Ok(())
}

async fn carries_items_with_the_move_or_not_at_all(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Idle).await?;
    let seq = t.deliver(&key, message_that("known", Wake::Quiet)).await?;
    let before = t.snapshot(&key).await?;
    let other = InboxItem { payload: bytes("other"), ..message("known") };
    let elsewhere = InboxItem { incarnation: Some(crate::fixture::fresh_incarnation()), ..message("x") };
    let refused = [
        (other, Delivery::Conflict { seq }, "other content under a known key"),
        (message("known"), Delivery::Duplicate { seq }, "what was accepted before"),
        (elsewhere, Delivery::NotFound, "an item for another life"),
    ];
    for (item, refusal, what) in refused {
        let one = ClaimOne { items: vec![message("new"), item], ..t.claim_one() };
        let answer = t.store.claim_session(&key, one).await?;
        ensure_eq!(answer, ClaimOutcome::ItemRefused { index: 1, refusal }, "{what}");
        ensure_eq!(t.snapshot(&key).await?, before, "the session after {what}");
    }
    let one = ClaimOne { items: vec![message("a"), message("b")], ..t.claim_one() };
    let claim = want!(t.store.claim_session(&key, one).await?, ClaimOutcome::Claimed(claim) => claim);
    let keys: Vec<_> = claim.inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(keys, ["known", "a", "b"], "the inbox in the claim");
    ensure_eq!(claim.session.alarm, Some(claim.lease_ends), "alarm: the items are in the run's hands");
    let held = ClaimOne { items: vec![message("c")], ..t.claim_one() };
    want!(t.store.claim_session(&key, held).await?, ClaimOutcome::Held { .. });
    ensure_eq!(t.load(&key).await?.unread, 3, "unread after a claim of a held session");
    Ok(())
}

async fn interrupt_waiting_is_due_in_every_queue(t: Bench) -> CaseResult {
    let stranger = || ClaimDue {
        queues: Queues::Named(vec![id("nothing-here")]),
        newest_format: StateFormat(0),
        ..t.due(10)
    };
    let parked = t.left_as("parked", SessionStatus::Suspended).await?;
    let idle = t.left_as("idle", SessionStatus::Idle).await?;
    let woken = t.left_as("woken", SessionStatus::Suspended).await?;
    t.interrupt(&parked, soft("stop")).await?;
    t.interrupt(&idle, abort("stop")).await?;
    t.deliver(&woken, message("m")).await?;
    let mut names: Vec<String> =
        t.store.claim_due(stranger()).await?.iter().map(|claim| claim.fence.key.id.to_string()).collect();
    names.sort();
    ensure_eq!(names, ["idle", "parked"], "what a worker of another queue gets");
    // The same holds for the session of a dead run.
    let dead = t.running("dead").await?;
    t.interrupt(&dead.fence.key, soft("stop")).await?;
    ensure_eq!(t.store.claim_due(stranger()).await?.len(), 0, "claims while the run lives");
    t.advance(t.lease()).await;
    let claims = t.store.claim_due(ClaimDue { runs: stranger().runs, ..stranger() }).await?;
    let found = claims.iter().any(|claim| claim.fence.key == key("dead"));
    ensure!(found, "expected the dead run's session", found = "{claims:?}");
    Ok(())
}

async fn closes_the_open_run_of_a_dead_worker_as_lost(t: Bench) -> CaseResult {
    let dead = t.running("s").await?;
    let next = t.take_over(&dead.fence.key).await?;
    let runs = t.snapshot(&dead.fence.key).await?.runs;
    let end = want!(runs[0].end.clone(), Some(end) => end);
    ensure_eq!((end.outcome, end.at, end.detail), (OutcomeKind::Lost, next.now, None::<Payload>), "its end");
    ensure_eq!(runs[1].end, None, "the end of the run that took over");
    // A run that recorded its own end keeps that record when another run takes over.
    t.commit(&next.fence, Commit { run: run_end(OutcomeKind::Failed), ..commit() }).await?;
    t.take_over(&dead.fence.key).await?;
    let runs = t.snapshot(&dead.fence.key).await?.runs;
    let outcomes: Vec<_> = runs.iter().map(|run| run.end.as_ref().map(|end| end.outcome)).collect();
    ensure_eq!(outcomes, [Some(OutcomeKind::Lost), Some(OutcomeKind::Failed), None], "outcomes");
    Ok(())
}

async fn due_once_however_often_woken(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Suspended).await?;
    for name in ["a", "b", "c", "d", "e"] {
        t.deliver(&key, message(name)).await?;
    }
    let claims = t.claim_due(10).await?;
    ensure_eq!(claims.len(), 1, "claims");
    let seen =
        Commit { inbox_seen: Some(claims[0].session.last_item), release: suspended(None, 0), ..commit() };
    t.commit(&claims[0].fence, seen).await?;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due once they were seen");
    Ok(())
}

async fn none_only_when_nothing_claimable(t: Bench) -> CaseResult {
    for number in 0..10 {
        let new = NewSession { items: vec![message("m")], ..new_session(&format!("s{number}")) };
        t.store.create_session(new).await?;
    }
    let wanted: Vec<_> = (0..10).map(|_| t.due(1)).collect();
    let claims = race(t.peers(10).await, |index, peer| {
        let due = wanted[index].clone();
        Box::pin(async move { Ok(peer.claim_due(due).await?) })
    })
    .await?;
    // The claims may have skipped sessions that others were writing. Now nothing is being written.
    let late = t.all_due(&t.due(1)).await?;
    let claims: Vec<_> = claims.iter().flatten().chain(&late).collect();
    let names: BTreeSet<_> = claims.iter().map(|claim| claim.fence.key.id.clone()).collect();
    ensure_eq!((claims.len(), names.len()), (10, 10), "claims and different sessions");
    Ok(())
}

async fn batch_claim_bounded_and_disjoint(t: Bench) -> CaseResult {
    for number in 0..20 {
        let new = NewSession { items: vec![message("m")], ..new_session(&format!("s{number:02}")) };
        t.store.create_session(new).await?;
    }
    ensure_eq!(t.store.claim_due(t.due(0)).await?.len(), 0, "claims of nothing");
    let wanted: Vec<_> = (0..4).map(|_| t.due(6)).collect();
    let claims = race(t.peers(4).await, |index, peer| {
        let due = wanted[index].clone();
        Box::pin(async move { Ok(peer.claim_due(due).await?) })
    })
    .await?;
    for (claims, due) in claims.iter().zip(&wanted) {
        ensure!(claims.len() <= 6, "expected at most 6", found = "{}", claims.len());
        let runs: BTreeSet<_> = claims.iter().map(|claim| &claim.run).collect();
        ensure!(
            runs.len() == claims.len() && runs.iter().all(|run| due.runs.contains(run)),
            "expected each claim under a run id of its own of those given",
            found = "{runs:?}"
        );
    }
    let late = t.all_due(&t.due(6)).await?;
    let claims: Vec<_> = claims.iter().flatten().chain(&late).collect();
    let names: BTreeSet<_> = claims.iter().map(|claim| claim.fence.key.id.clone()).collect();
    ensure_eq!((claims.len(), names.len()), (20, 20), "claims and different sessions");
    Ok(())
}

async fn recovery_does_not_requeue_live_owner(t: Bench) -> CaseResult {
    let (live, dead) = (t.running("live").await?, t.running("dead").await?);
    for _ in 0..3 {
        t.advance(t.lease() / 3).await;
        t.store.renew_lease(&live.fence, t.lease()).await?;
    }
    t.advance(t.lease() / 3).await;
    ensure_eq!(t.due_names().await?, ["dead"], "what is due");
    t.commit(&live.fence, commit()).await?;
    want!(t.try_commit(&dead.fence, commit()).await?, CommitOutcome::StaleFence { .. });
    Ok(())
}

async fn woken_during_processing_is_not_lost(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let key = t.left_as("s", SessionStatus::Suspended).await?;
    let first = t.deliver(&key, message("first")).await?;
    let claim = t.claim_due(1).await?.remove(0);
    want!(peer.deliver(&key, message("second")).await?, Delivery::Accepted { .. });
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due while the run works");
    let done = Commit {
        inbox_seen: Some(first),
        consumed: vec![first],
        release: Some(release_to(SessionStatus::Idle)),
        ..commit()
    };
    t.commit(&claim.fence, done).await?;
    let next = t.claim_due(1).await?;
    ensure_eq!(next.len(), 1, "what is due after it");
    let keys: Vec<_> = next[0].inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(keys, ["second"], "the inbox in the next claim");
    ensure_eq!(load(&peer, &key).await?.epoch, next[0].fence.epoch, "epoch that a peer sees");
    Ok(())
}
