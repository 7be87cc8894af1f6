//! Deletion of a session, and creation of a new one under its key.
//!
//! Requirements: C09.

use holdover_store::ids::Incarnation;
use holdover_store::{Session, TOMBSTONE_STANDS};

use super::prelude::*;

cases! {
    delete.removes_every_row_of_session: Core Sequential,
        "a session created again under its key has nothing of the one before",
        "what is left behind shows up in somebody else's conversation",
        "delete_session: removes every row of a session: messages, events, inbox, keys, pending calls, runs, staged results";
    delete.running_session_rejected_unless_forced: Core Property,
        "an active session is deleted only by force, any other at once",
        "a run would lose its session without having been asked to stop",
        "DeleteMode::UnlessActive: an active session is kept";
    delete.of_another_version_is_refused: Core Property,
        "a deletion that names a version finds the session at that version, or changes nothing and tells the version it has",
        "what a session began since the caller read it, children among them, would be left alone",
        "Deletion::expected_version, DeleteOutcome::VersionConflict: nothing was changed";
    delete.unknown_is_not_found: Core Sequential,
        "deleting nobody's session is told so",
        "a caller that repeats must not take it for an error",
        "DeleteOutcome::NotFound: there is no such session";
    delete.forced_then_late_commit_cannot_resurrect: Distributed Sequential,
        "a run whose session was deleted brings nothing back",
        "half a session without a beginning would appear",
        "INV-22: no write of another incarnation is applied";
    delete.recreate_same_id_ignores_stale_lease_and_submissions: Distributed Sequential,
        "a session created again is not held by the old lease, and knows none of the old keys",
        "a new conversation would wait for a dead worker, or swallow its first message",
        "Incarnation: drawn at random, so that deleting and creating again revives no old fence";
    delete.a_late_duplicate_of_the_creation_brings_nothing_back: Distributed Property,
        "a creation that is repeated after its session was deleted, under its operation or its incarnation, answers Deleted",
        "the next run would have the fence of a dead one, whose late commit would be taken for its own",
        "Tombstone: a creation that names its incarnation or operation answers Deleted and changes nothing (INV-22, INV-23)";
    delete.a_purged_session_is_not_brought_back: Distributed Sequential needs Retention,
        "what retention removed is brought back by no late duplicate either",
        "a nightly sweep would open the door that a deletion has closed",
        "Remove::Sessions: a Tombstone is left";
    delete.a_tombstone_stands_for_a_day: Distributed Time,
        "a tombstone stands for a day, however many sessions are deleted meanwhile",
        "a request that was stuck for an hour would revive a dead fence",
        "TOMBSTONE_STANDS: how long a tombstone stands at least, by the store's clock";
    delete.survives_reopen: Durable Sequential,
        "a late duplicate brings nothing back after the store was closed and opened",
        "the first restart would forget what was deleted",
        "Tombstone: left in the write that removes the session";
    delete.beside_a_repeat_of_the_creation: Distributed Concurrent,
        "of a deletion and a repeat of the creation at one instant no order brings the session back",
        "a retry that crosses a deletion would undo it",
        "create_session: the session, or Deleted; nothing in between";
    delete.names_the_life_that_is_meant: Distributed Property,
        "a deletion, an interrupt or a move that names another life finds nothing and changes nothing",
        "what was meant for a conversation that is gone would hit the one that took its name",
        "Deletion::incarnation, Interrupt::incarnation, StatusCas::incarnation: another answers NotFound";
}

/// Creates a running session with rows of every kind except labels, checkpoints and deltas.
async fn full(t: &Bench) -> CaseResult<Claim> {
    let claim = t.running("s").await?;
    t.deliver(&claim.fence.key, message("waiting")).await?;
    let mut staged = staging([("call", "result")]);
    staged.starts = vec![id("started")];
    let everything = Commit {
        state: state("state"),
        messages: inline(["m"]),
        events: events(["e"]),
        stage: vec![result("call-2", "result")],
        open: vec![approval("p")],
        run: crate::fixture::run_end(holdover_store::OutcomeKind::Completed),
        ..commit()
    };
    t.commit(&claim.fence, everything).await?;
    t.stage(&claim.fence, staged).await?;
    t.interrupt(&claim.fence.key, abort("stop")).await?;
    Ok(claim)
}

async fn removes_every_row_of_session(t: Bench) -> CaseResult {
    let claim = full(&t).await?;
    let key = &claim.fence.key;
    ensure_eq!(t.store.delete_session(key, Deletion::FORCE).await?, DeleteOutcome::Deleted, "the answer");
    let gone = t.snapshot(key).await?;
    ensure_eq!((gone.session, gone.pending.len()), (None, 0), "the session and its pending calls");
    let listed = walk_sessions(&t.store, SessionQuery::all(id(TENANT))).await?;
    ensure_eq!(listed, [], "the list of sessions");
    let pending = walk_pending(&t.store, PendingQuery::all(id(TENANT))).await?;
    ensure_eq!(pending, [], "the list of pending calls");

    t.create("s").await?;
    let again = t.snapshot(key).await?;
    let session = t.load(key).await?;
    ensure_eq!((session.status, session.version), (SessionStatus::Idle, Version(1)), "status and version");
    ensure_eq!(session.epoch, Epoch(0), "epoch");
    ensure_eq!((session.state, session.interrupt), (None, None), "state and interrupt");
    ensure_eq!((session.alarm, session.lease), (None, None), "alarm and lease");
    ensure_eq!((session.last_item, session.unread), (InboxSeq(0), 0), "inbox counters");
    ensure_eq!((session.staged.results, session.staged.starts), (vec![], vec![]), "what is staged");
    ensure_eq!((again.messages, again.events), (vec![], vec![]), "messages and events");
    ensure_eq!(
        (again.inbox, again.runs, again.pending),
        (vec![], vec![], vec![]),
        "inbox, runs, pending calls"
    );
    // What no read shows is gone too: the item keys, the pending ids and the sequence numbers.
    ensure_eq!(t.deliver(key, message("waiting")).await?, InboxSeq(1), "an old key's place in the new inbox");
    let claim = t.claim(key).await?;
    let reuse = Commit {
        open: vec![approval("p")],
        messages: inline(["m"]),
        events: events(["e"]),
        stage: vec![result("call", "other")],
        ..commit()
    };
    t.commit(&claim.fence, reuse).await?;
    ensure_eq!(t.load(key).await?.staged.starts, [], "start marks");
    Ok(())
}

async fn running_session_rejected_unless_forced(t: Bench) -> CaseResult {
    for status in SessionStatus::ALL {
        let key = t.left_as(status.as_str(), status).await?;
        let before = t.snapshot(&key).await?;
        let answer = t.store.delete_session(&key, Deletion::UNLESS_ACTIVE).await?;
        if status == SessionStatus::Active {
            ensure_eq!(answer, DeleteOutcome::Active, "the answer for {status}");
            ensure_eq!(t.snapshot(&key).await?, before, "the session");
            let forced = t.store.delete_session(&key, Deletion::FORCE).await?;
            ensure_eq!(forced, DeleteOutcome::Deleted, "the answer by force");
        } else {
            ensure_eq!(answer, DeleteOutcome::Deleted, "the answer for {status}");
        }
        ensure_eq!(t.store.load_session(&key).await?, None, "the {status} session");
    }
    Ok(())
}

async fn of_another_version_is_refused(t: Bench) -> CaseResult {
    for status in SessionStatus::ALL {
        let key = t.left_as(status.as_str(), status).await?;
        let before = t.snapshot(&key).await?;
        let actual = t.load(&key).await?.version;
        for expected in [Version(actual.0 - 1), actual.next()] {
            let conflict = DeleteOutcome::VersionConflict { expected, actual };
            let forced = t.store.delete_session(&key, Deletion::FORCE.at(expected)).await?;
            ensure_eq!(forced, conflict, "the answer by force for {status}");
            let answer = t.store.delete_session(&key, Deletion::UNLESS_ACTIVE.at(expected)).await?;
            let kept = if status == SessionStatus::Active { DeleteOutcome::Active } else { conflict };
            ensure_eq!(answer, kept, "the answer for {status}");
            ensure_eq!(t.snapshot(&key).await?, before, "the {status} session");
        }
        let deletion = Deletion::FORCE.at(actual);
        ensure_eq!(t.store.delete_session(&key, deletion).await?, DeleteOutcome::Deleted, "at its version");
        ensure_eq!(t.store.load_session(&key).await?, None, "the {status} session");
    }
    let claim = t.running("runs").await?;
    let seen = t.load(&claim.fence.key).await?.version;
    t.commit(&claim.fence, commit()).await?;
    let late = t.store.delete_session(&claim.fence.key, Deletion::FORCE.at(seen)).await?;
    want!(late, DeleteOutcome::VersionConflict { .. });
    let answer = t.store.delete_session(&nobody(), Deletion::FORCE.at(seen)).await?;
    ensure_eq!(answer, DeleteOutcome::NotFound, "of nobody");
    Ok(())
}

async fn unknown_is_not_found(t: Bench) -> CaseResult {
    let other = t.create("other").await?;
    for mode in [Deletion::UNLESS_ACTIVE, Deletion::FORCE] {
        let answer = t.store.delete_session(&nobody(), mode).await?;
        ensure_eq!(answer, DeleteOutcome::NotFound, "the answer, {mode:?}");
    }
    t.store.delete_session(&other, Deletion::FORCE).await?;
    let again = t.store.delete_session(&other, Deletion::FORCE).await?;
    ensure_eq!(again, DeleteOutcome::NotFound, "the second deletion");
    Ok(())
}

async fn forced_then_late_commit_cannot_resurrect(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = full(&t).await?;
    peer.delete_session(&claim.fence.key, Deletion::FORCE).await?;
    let late = Commit { messages: inline(["late"]), state: state("late"), ..commit() };
    want!(t.try_commit(&claim.fence, late).await?, CommitOutcome::StaleFence { .. });
    t.store.stage_result(&claim.fence, staging([("late", "late")])).await?;
    t.store.renew_lease(&claim.fence, t.lease()).await?;
    t.store.deliver(&claim.fence.key, message("late")).await?;
    for handle in [&t.store, &peer] {
        ensure_eq!(snapshot(handle, &claim.fence.key).await?.session, None, "the session");
    }
    t.advance(t.lease() * 2).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due later");
    Ok(())
}

async fn recreate_same_id_ignores_stale_lease_and_submissions(t: Bench) -> CaseResult {
    let old = full(&t).await?;
    t.store.delete_session(&old.fence.key, Deletion::FORCE).await?;
    let new = NewSession { items: vec![message("waiting")], ..new_session("s") };
    want!(t.store.create_session(new.clone()).await?, CreateOutcome::Created { .. });
    let claim =
        want!(t.store.claim_session(&new.key, t.claim_one()).await?, ClaimOutcome::Claimed(claim) => claim);
    ensure_eq!(claim.found, SessionStatus::Idle, "found: no takeover");
    ensure_eq!(claim.fence.incarnation, new.incarnation, "incarnation");
    ensure_eq!(claim.inbox.len(), 1, "items");
    ensure_eq!(claim.session.attempts, 0, "attempts");
    Ok(())
}

/// Returns late duplicates of the creation of a deleted session: the same request, one with only its operation, and one
/// with only its incarnation.
fn late(new: &NewSession) -> [(&'static str, NewSession); 3] {
    [
        ("as it was", new.clone()),
        ("under its operation", NewSession { incarnation: fresh_incarnation(), ..new.clone() }),
        ("in its incarnation", NewSession { operation: fresh_id("create"), ..new.clone() }),
    ]
}

/// Repeats the creation of a deleted session in every way, then uses its key for another session.
async fn stays_gone(t: &Bench, new: &NewSession, dead: &Claim) -> CaseResult {
    for (how, late) in late(new) {
        let begun = NewSession { start: Start::Claimed(t.claim_one()), ..late.clone() };
        for late in [late, begun] {
            ensure_eq!(t.store.create_session(late).await?, CreateOutcome::Deleted, "the creation {how}");
            ensure_eq!(t.store.load_session(&new.key).await?, None, "the session after the creation {how}");
        }
    }
    let other = NewSession { incarnation: fresh_incarnation(), operation: fresh_id("create"), ..new.clone() };
    want!(t.store.create_session(other.clone()).await?, CreateOutcome::Created { .. });
    let claim = t.claim(&new.key).await?;
    ensure_eq!(claim.fence.epoch, dead.fence.epoch, "the epoch, which begins anew");
    let before = t.snapshot(&new.key).await?;
    for (how, late) in late(new) {
        ensure_eq!(t.store.create_session(late).await?, CreateOutcome::Deleted, "beside another, {how}");
    }
    let stale = Commit { messages: inline(["late"]), ..commit() };
    want!(t.try_commit(&dead.fence, stale).await?, CommitOutcome::StaleFence { .. });
    ensure_eq!(t.snapshot(&new.key).await?, before, "the session that has the key now");
    Ok(())
}

async fn a_late_duplicate_of_the_creation_brings_nothing_back(t: Bench) -> CaseResult {
    for (name, deletion) in [("forced", Deletion::FORCE), ("asked", Deletion::UNLESS_ACTIVE)] {
        let new = NewSession { items: vec![message("m")], ..new_session(name) };
        t.store.create_session(new.clone()).await?;
        let dead = t.claim(&new.key).await?;
        if deletion == Deletion::UNLESS_ACTIVE {
            t.release(&dead.fence, SessionStatus::Idle).await?;
        }
        t.store.delete_session(&new.key, deletion).await?;
        stays_gone(&t, &new, &dead).await?;
        // The next session is deleted too. Both deletions are remembered.
        t.store.delete_session(&new.key, Deletion::FORCE).await?;
        stays_gone(&t, &new, &dead).await?;
    }
    Ok(())
}

async fn a_purged_session_is_not_brought_back(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    let dead = t.claim(&new.key).await?;
    t.release(&dead.fence, SessionStatus::Idle).await?;
    removed(&t.store, &retention(Remove::Sessions)).await?;
    ensure_eq!(t.store.load_session(&new.key).await?, None, "the session");
    stays_gone(&t, &new, &dead).await
}

/// Requirements: C09.
async fn a_tombstone_stands_for_a_day(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    let dead = t.claim(&new.key).await?;
    t.store.delete_session(&new.key, Deletion::FORCE).await?;
    for half in 0..2 {
        for number in 0..20 {
            let other = t.create(&format!("other-{half}-{number}")).await?;
            t.store.delete_session(&other, Deletion::FORCE).await?;
        }
        // A case on a real clock cannot wait for a day.
        if t.moves_time() {
            t.advance(TOMBSTONE_STANDS / 2).await;
        }
    }
    t.create("after").await?;
    t.store.delete_session(&key("after"), Deletion::FORCE).await?;
    stays_gone(&t, &new, &dead).await
}

async fn survives_reopen(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    let dead = t.claim(&new.key).await?;
    t.store.delete_session(&new.key, Deletion::FORCE).await?;
    let t = t.reopen().await;
    stays_gone(&t, &new, &dead).await
}

async fn beside_a_repeat_of_the_creation(t: Bench) -> CaseResult {
    const ROUNDS: usize = 25;
    let peers = t.peers(2).await;
    for round in 0..ROUNDS {
        let new = new_session(&format!("s{round}"));
        t.store.create_session(new.clone()).await?;
        let repeats = race(peers.clone(), |index, peer| {
            let new = new.clone();
            Box::pin(async move {
                if index == 0 {
                    peer.delete_session(&new.key, Deletion::FORCE).await?;
                    return Ok(None);
                }
                Ok(Some(peer.create_session(new).await?))
            })
        })
        .await?;
        for repeat in repeats.into_iter().flatten() {
            ensure!(
                matches!(repeat, CreateOutcome::Created { claim: None, .. } | CreateOutcome::Deleted),
                "expected it created before, or deleted",
                found = "{repeat:?}"
            );
        }
        ensure_eq!(t.store.load_session(&new.key).await?, None, "the session of round {round}");
        ensure_eq!(
            t.store.create_session(new).await?,
            CreateOutcome::Deleted,
            "a repeat after round {round}"
        );
    }
    Ok(())
}

async fn names_the_life_that_is_meant(t: Bench) -> CaseResult {
    let old = t.create("s").await?;
    let other = t.load(&old).await?.incarnation;
    t.store.delete_session(&old, Deletion::FORCE).await?;
    let key = t.left_as("s", SessionStatus::Failed).await?;
    let session = t.load(&key).await?;
    let before = t.snapshot(&key).await?;
    for life in [other, fresh_incarnation()] {
        for deletion in [Deletion::UNLESS_ACTIVE, Deletion::FORCE] {
            let answer = t.store.delete_session(&key, deletion.of(life)).await?;
            ensure_eq!(answer, DeleteOutcome::NotFound, "a deletion of another life");
        }
        for stop in [soft("soft"), abort("abort")] {
            let answer =
                t.store.request_interrupt(&key, Interrupt { incarnation: Some(life), ..stop }).await?;
            ensure_eq!(answer, InterruptOutcome::NotFound, "an interrupt of another life");
        }
        let answer = t.store.compare_and_set_status(&key, requeue(life, &session)).await?;
        ensure_eq!(answer, CasOutcome::NotFound, "a move of another life");
        ensure_eq!(t.snapshot(&key).await?, before, "the session");
    }
    let own = session.incarnation;
    let moved = t.store.compare_and_set_status(&key, requeue(own, &session)).await?;
    want!(moved, CasOutcome::Moved { .. });
    t.interrupt(&key, Interrupt { incarnation: Some(own), ..soft("soft") }).await?;
    let deleted = t.store.delete_session(&key, Deletion::UNLESS_ACTIVE.of(own)).await?;
    ensure_eq!(deleted, DeleteOutcome::Deleted, "a deletion of this life");
    Ok(())
}

fn requeue(life: Incarnation, session: &Session) -> StatusCas {
    StatusCas {
        incarnation: Some(life),
        expected_version: session.version,
        to: SessionStatus::Suspended,
        items: vec![message("m")],
    }
}
