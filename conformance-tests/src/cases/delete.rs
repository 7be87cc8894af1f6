//! Deleting a session, and creating it again.

use holdover_core::ids::{Epoch, InboxSeq, Version};
use holdover_core::store::{
    ClaimOutcome, Commit, CommitOutcome, CreateOutcome, DeleteOutcome, Deletion, NewSession, PendingQuery,
    SessionQuery, SessionStatus, StateStore,
};

use crate::bench::{Bench, nobody};
use crate::case::cases;
use crate::failure::{CaseResult, ensure_eq, want};
use crate::fixture::{
    TENANT, abort, approval, commit, events, id, inline, message, new_session, result, staging, state,
};
use crate::snapshot::{snapshot, walk_pending};

cases! {
    delete.removes_every_row_of_session: Core Sequential,
        "a session created again under its key has nothing of the one before",
        "what is left behind shows up in somebody else's conversation",
        "delete_session: removes every row of a session: messages, events, inbox, keys, pending calls, runs, staged results";
    delete.running_session_rejected_unless_forced: Core Property,
        "an active session is deleted only by force, any other at once",
        "a run would lose its session without having been asked to stop",
        "Deletion::UNLESS_ACTIVE: an active session is kept";
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
    delete.a_repeat_of_the_creation_creates_anew: Core Sequential,
        "the operation that created a deleted session creates it again",
        "its memory would be a row that deletion left behind",
        "delete_session: removes every row of a session";
}

/// A running session with something in every table.
async fn full(t: &Bench) -> CaseResult<holdover_core::store::Claim> {
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
        run: crate::fixture::run_end(holdover_core::store::OutcomeKind::Completed),
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
    let listed = t.store.list_sessions(&SessionQuery::all(id(TENANT))).await?;
    ensure_eq!(listed.items, [], "the list of sessions");
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
    // The rows that no read shows are gone too: keys, pending ids, places.
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

async fn a_repeat_of_the_creation_creates_anew(t: Bench) -> CaseResult {
    let new = NewSession { items: vec![message("m")], ..new_session("s") };
    let first = t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    t.release(&claim.fence, SessionStatus::Idle).await?;
    t.store.delete_session(&new.key, Deletion::UNLESS_ACTIVE).await?;
    ensure_eq!(t.store.create_session(new.clone()).await?, first, "the creation repeated");
    ensure_eq!(t.load(&new.key).await?.unread, 1, "unread");
    Ok(())
}
