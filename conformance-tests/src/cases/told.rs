//! The contents of answers and rows, field by field.

use holdover_store::StoredItem;
use holdover_store::ids::{SessionId, WorkerId};

use super::prelude::*;
use crate::snapshot::walk_messages;

cases! {
    session.create_existing_names_the_life_that_is_there: Core Sequential,
        "a creation of a key that is taken is told the incarnation, the status and the version of what is there",
        "a caller would take somebody else's session for its own",
        "CreateOutcome::AlreadyExists: which life of it, its status, its version";
    session.a_repeat_of_the_creation_answers_the_first_version: Core Sequential,
        "a creation, or a fork, that is repeated late answers what it answered first",
        "a caller that names the version would write over what it has not read",
        "CreateOutcome::Created: a repeat answers the same; ForkOutcome::Forked: a repeat answers the same";
    session.a_refused_item_is_named_by_its_place: Core Sequential,
        "creation, claim and move name the place of the item that was refused, among all that they carry",
        "a caller would drop an item that was good, and send the bad one again",
        "ItemRefused::index: its place among the items; ItemConflict::index: place of the second among all items";
    session.cas_sets_the_alarm_to_now_and_keeps_an_abort: Core Sequential,
        "a session that is moved to suspended is due now, whatever alarm it had, and an abort that waits goes on waiting",
        "a retry would wait for tomorrow's alarm, or a conversation that was to end go on",
        "compare_and_set_status: moves to suspended with the alarm now; a waiting abort is never dropped";
    session.cas_at_another_version_is_told_the_status: Core Sequential,
        "a claim and a move at another version are told the version and the status that the session has",
        "a caller would decide on a session that it believes idle",
        "CasOutcome::VersionConflict, ClaimOutcome::VersionConflict: the status it has";
    claim.held_says_who_until_when: Distributed Sequential,
        "whoever is refused a session is told its holder, the run, the version and the end of the lease",
        "a caller would wait for the wrong time, or think that it holds the session itself",
        "ClaimOutcome::Held: who, which run, its version, until when";
    claim.repeat_names_the_status_that_it_found: Distributed Sequential,
        "the repeat of a claim says of the session what the claim found",
        "a run that was begun anew would be taken for a recovery, and its calls for in doubt",
        "ClaimOutcome::Claimed: a repeat with the same run id answers the same claim; Claim::found";
    claim.of_what_is_due_is_a_claim_like_any_other: Distributed Sequential,
        "a claim of what is due takes over, counts, closes, opens and brings all that a claim by name does",
        "workers claim what is due: what it leaves out nobody has",
        "claim_due: Claim: a session in the hands of a run, with all its news";
    claim.of_what_is_due_at_its_bounds: Distributed Time,
        "a session is due from the instant of its alarm on, to whoever names its queue last and reads its format just so",
        "a session would wait for a worker that reads more than it needs, or names fewer queues",
        "claim_due: whose alarm has rung; ClaimDue: which queues are served; sessions with a newer format are left alone";
    claim.attempts_are_set_back_by_commits_alone: Distributed Sequential,
        "a renewal and a staging leave the takeovers counted, every commit sets them back, also one that gives back",
        "a session that kills each of its workers would never be ended, or a sound one be",
        "Session::attempts: takeovers of an ended lease since the last commit of any kind";
    claim.giving_back_keeps_what_a_session_waits_for: Distributed Sequential,
        "a suspended session that is claimed and given back wakes by as many items as before",
        "it would sleep on, however many messages come",
        "Release::GiveBack: the status that it found returns; Release::To: wake_on";
    lease.names_its_newest_holder: Distributed Sequential,
        "the lease, the record of the run and the claim beside it name the worker that claimed last",
        "people would look for the fault on the wrong machine",
        "Lease: the holder, as it calls itself; RunRecord::worker: who ran it";
    lease.commits_extend_by_what_was_renewed: Distributed Time,
        "after a renewal a commit extends the lease by as long as that asked for",
        "a run that asked for more time would lose it with its next commit",
        "Lease::granted_ms: how long it was granted for; a commit extends the lease by it below half";
    delete.of_a_dead_run_needs_force: Core Sequential,
        "a session whose run died, or whose takeover was given back, is deleted by force alone",
        "what the run has done and not told would be gone before anybody took it over",
        "DeleteMode::UnlessActive: an active session is kept; SessionStatus::Active: or held it when its lease ended";
    staging.one_call_twice_with_other_bytes_is_a_conflict: Core Sequential,
        "two results for one call are refused as a whole, in a staging, in a commit, and in a commit after a staging",
        "a call would have two results, and which one counts be a matter of luck",
        "StageConflict, StageOutcome::Conflict: this call has another result; the first for a call wins for ever (INV-17)";
    staging.one_call_twice_with_the_same_bytes_is_one: Core Sequential,
        "two results of the same bytes for one call are one result",
        "a sender that repeats itself would be refused, or its call answered twice",
        "StageOutcome::Staged: by this write or by an earlier one with the same bytes";
    interrupt.an_aborted_session_has_none: Core Sequential,
        "a session that was left aborted has no interrupt and no alarm, whatever waited and whatever was named",
        "nobody could ever clear it: retention would keep the session for ever",
        "SessionStatus::Aborted: ended for ever; RetentionRule: with an alarm or an interrupt it is never touched";
    pending.names_the_call_that_waits: Core Sequential,
        "a pending call says which call waits, for whom, also if only a newer version knows that, how many answers it \
         takes, until when and what is shown",
        "an answer would be handed to a call that nobody made",
        "PendingCall: the call that waits; who owes the answer; how many answers it takes";
    submit.items_are_kept_as_they_were_sent: Core Sequential,
        "messages, signals, answers, and what only a newer version knows, are read as they were sent: kind, how they \
         count, what they settle",
        "a refusal would be read as one approval of many, a quiet note as urgent",
        "StoredItem::kind: what it is";
    messages.ranges_may_overlap_and_be_none: Core Sequential,
        "a message that two ranges hold is read twice, no range reads nothing, and of nobody not even that",
        "a reader that puts its ranges together would miss what it asked for twice",
        "read_messages: by ranges, in the order of the ranges; an unknown session is NotFound";
}

async fn create_existing_names_the_life_that_is_there(t: Bench) -> CaseResult {
    let new = new_session("s");
    t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    let version = t.release(&claim.fence, SessionStatus::Failed).await?.version;
    let other = NewSession { incarnation: fresh_incarnation(), operation: fresh_id("create"), ..new.clone() };
    let expected =
        CreateOutcome::AlreadyExists { incarnation: new.incarnation, status: SessionStatus::Failed, version };
    ensure_eq!(t.store.create_session(other).await?, expected, "the answer");
    Ok(())
}

async fn a_repeat_of_the_creation_answers_the_first_version(t: Bench) -> CaseResult {
    let new = new_session("s");
    let first = t.store.create_session(new.clone()).await?;
    let claim = t.claim(&new.key).await?;
    let kept = t.commit(&claim.fence, checkpoint("state")).await?;
    ensure_eq!(t.store.create_session(new.clone()).await?, first, "the creation, repeated after a commit");
    if t.store.capabilities().forks {
        let fork = new_fork(new.incarnation, "fork");
        let first = t.fork(&new.key, kept.version, fork.clone()).await?;
        t.claim(&fork.key).await?;
        let again = t.fork(&new.key, kept.version, fork).await?;
        ensure_eq!(again, first, "the fork, repeated after a claim");
    }
    Ok(())
}

async fn a_refused_item_is_named_by_its_place(t: Bench) -> CaseResult {
    let one = ClaimOne { items: vec![message("c"), message("a")], ..t.claim_one() };
    let twice = NewSession {
        items: vec![message("a"), message("b")],
        start: Start::Claimed(one),
        ..new_session("new")
    };
    ensure_eq!(
        t.store.create_session(twice).await?,
        CreateOutcome::ItemConflict { index: 3 },
        "a key of the first items among those of the claim"
    );
    let key = t.create("s").await?;
    let seq = t.deliver(&key, message("known")).await?;
    let items = vec![message("x"), message("y"), message("known")];
    let refusal = Delivery::Duplicate { seq };
    let refused = t.store.claim_session(&key, ClaimOne { items: items.clone(), ..t.claim_one() }).await?;
    let expected = ClaimOutcome::ItemRefused { index: 2, refusal: refusal.clone() };
    ensure_eq!(refused, expected, "the claim");
    let claim = t.claim(&key).await?;
    let expected_version = t.release(&claim.fence, SessionStatus::Failed).await?.version;
    let cas = StatusCas { incarnation: None, expected_version, to: SessionStatus::Suspended, items };
    let refused = t.store.compare_and_set_status(&key, cas).await?;
    ensure_eq!(refused, CasOutcome::ItemRefused { index: 2, refusal }, "the move");
    Ok(())
}

async fn cas_sets_the_alarm_to_now_and_keeps_an_abort(t: Bench) -> CaseResult {
    for status in [SessionStatus::Failed, SessionStatus::Interrupted] {
        let claim = t.running(status.as_str()).await?;
        let deadline = Some(claim.now.after(t.lease() * 100));
        let release = Some(Release::To { status, deadline, wake_on: 0 });
        let expected_version = t.commit(&claim.fence, Commit { release, ..commit() }).await?.version;
        let cas =
            StatusCas { incarnation: None, expected_version, to: SessionStatus::Suspended, items: vec![] };
        let key = &claim.fence.key;
        want!(t.store.compare_and_set_status(key, cas).await?, CasOutcome::Moved { .. });
        ensure!(t.is_due(key).await?, "expected it to be due", found = "{}", t.waking(key).await?);

        let claim = t.running(&format!("aborted-{status}")).await?;
        let expected_version = t.release(&claim.fence, status).await?.version;
        let key = &claim.fence.key;
        t.interrupt(key, abort("abort")).await?;
        let cas =
            StatusCas { incarnation: None, expected_version, to: SessionStatus::Suspended, items: vec![] };
        want!(t.store.compare_and_set_status(key, cas).await?, CasOutcome::Moved { .. });
        ensure_eq!(t.load(key).await?.interrupt, Some(abort("abort")), "the abort that waits");
    }
    Ok(())
}

async fn cas_at_another_version_is_told_the_status(t: Bench) -> CaseResult {
    for status in SessionStatus::ALL {
        let key = t.left_as(status.as_str(), status).await?;
        let actual = t.load(&key).await?.version;
        let expected = Version(actual.0 + 5);
        let to = SessionStatus::Suspended;
        let cas = StatusCas { incarnation: None, expected_version: expected, to, items: Vec::new() };
        let refused = t.store.compare_and_set_status(&key, cas).await?;
        ensure_eq!(refused, CasOutcome::VersionConflict { expected, actual, status }, "a move of {status}");
        if !matches!(status, SessionStatus::Active | SessionStatus::Aborted) {
            let one = ClaimOne { expected_version: Some(expected), ..t.claim_one() };
            let refused = t.store.claim_session(&key, one).await?;
            let conflict = ClaimOutcome::VersionConflict { expected, actual, status };
            ensure_eq!(refused, conflict, "a claim of {status}");
        }
    }
    Ok(())
}

/// Makes the request of a claim by this worker.
fn by(t: &Bench, worker: &str) -> ClaimOne {
    ClaimOne { worker: id(worker), ..t.claim_one() }
}

async fn held_says_who_until_when(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let first = by(&t, "holder");
    let claim = want!(t.store.claim_session(&key, first).await?, ClaimOutcome::Claimed(claim) => *claim);
    let Receipt { version, lease_ends, .. } = t.commit(&claim.fence, commit()).await?;
    let held = t.store.claim_session(&key, by(&t, "asker")).await?;
    let epoch = claim.fence.epoch;
    ensure_eq!(held, ClaimOutcome::Held { worker: id("holder"), epoch, version, lease_ends }, "the answer");
    Ok(())
}

async fn repeat_names_the_status_that_it_found(t: Bench) -> CaseResult {
    use SessionStatus::{Failed, Idle, Interrupted, Suspended};
    for status in [Idle, Suspended, Interrupted, Failed] {
        let key = t.left_as(status.as_str(), status).await?;
        let one = t.claim_one();
        for time in ["first", "second"] {
            let claimed = t.store.claim_session(&key, one.clone()).await?;
            let claim = want!(claimed, ClaimOutcome::Claimed(claim) => *claim);
            ensure_eq!(claim.found, status, "what the {time} answer says it found");
        }
    }
    Ok(())
}

async fn of_what_is_due_is_a_claim_like_any_other(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let dead =
        want!(t.store.claim_session(&key, by(&t, "dead")).await?, ClaimOutcome::Claimed(claim) => *claim);
    t.commit(&dead.fence, Commit { open: vec![approval("p")], state: state("state"), ..commit() }).await?;
    let mut staged = staging([("call", "result")]);
    staged.starts = vec![id("started")];
    t.stage(&dead.fence, staged).await?;
    t.deliver(&key, message("m")).await?;
    t.append(&dead.fence, deltas(1, 1, ["word"])).await?;
    t.interrupt(&key, soft("stop")).await?;
    t.advance(t.lease()).await;
    let before = t.load(&key).await?;
    let claims = t.store.claim_due(ClaimDue { worker: id("heir"), ..t.due(3) }).await?;
    let claim = want!(claims.first(), Some(claim) => claim.clone());

    ensure_eq!(claim.found, SessionStatus::Active, "what it found");
    ensure_eq!(claim.fence.epoch, before.epoch.next(), "the number of the run");
    let session = &claim.session;
    ensure_eq!((session.version, session.attempts), (before.version.next(), 1), "version and takeovers");
    ensure_eq!((&session.definition, &session.state), (&before.definition, &before.state), "what it runs");
    ensure_eq!(
        (&session.staged, &session.interrupt),
        (&before.staged, &before.interrupt),
        "staged, and the stop"
    );
    ensure_eq!(claim.pending, t.pending(&key).await?, "open calls");
    ensure_eq!(claim.inbox, all_items(&t.store, &key).await?, "the inbox");
    ensure_eq!((claim.pending.len(), claim.inbox.len()), (1, 1), "how many open calls and items");
    let after = t.snapshot(&key).await?;
    ensure_eq!(after.stream, None, "the deltas of the run that died");
    ensure_eq!(after.session.as_ref(), Some(session), "the session as it is read");
    ensure_eq!(after.runs.len(), 2, "runs");
    let ended = after.runs[0].end.as_ref().map(|end| end.outcome);
    ensure_eq!(ended, Some(OutcomeKind::Lost), "how the first run ended");
    let newest = &after.runs[1];
    ensure_eq!((&newest.run, &newest.worker), (&claim.run, &id::<WorkerId>("heir")), "run and worker");
    ensure_eq!(
        (newest.found, newest.parent),
        (SessionStatus::Active, Some(dead.fence.epoch)),
        "found and parent"
    );
    t.commit(&claim.fence, Commit { messages: promote(["call"]), ..commit() }).await?;
    Ok(())
}

async fn of_what_is_due_at_its_bounds(t: Bench) -> CaseResult {
    let at = t.now().await?.after(t.lease());
    let new = NewSession { queue: id("second"), start: Start::At(at), ..new_session("s") };
    t.store.create_session(new.clone()).await?;
    let serves = |names: &[&str]| ClaimDue {
        queues: Queues::Named(names.iter().map(|name| id(name)).collect()),
        newest_format: new.format,
        ..t.due(3)
    };
    if t.advance_to_just_before(t.lease()).await {
        ensure_eq!(t.store.claim_due(serves(&["second"])).await?, [], "what is due a millisecond before");
        t.advance(std::time::Duration::from_millis(1)).await;
    } else {
        t.advance(t.lease()).await;
    }
    ensure_eq!(t.store.claim_due(serves(&[])).await?, [], "what is due to whoever serves no queue");
    ensure_eq!(t.store.claim_due(serves(&["first", "sec"])).await?, [], "what is due in other queues");
    let claims = t.store.claim_due(serves(&["first", "second"])).await?;
    ensure_eq!(claims.len(), 1, "what is due at the instant, in the second queue, in the newest format");
    Ok(())
}

async fn attempts_are_set_back_by_commits_alone(t: Bench) -> CaseResult {
    let key = t.running("s").await?.fence.key;
    let first = t.take_over(&key).await?.fence;
    t.stage(&first, staging([("call", "result")])).await?;
    ensure_eq!(t.load(&key).await?.attempts, 1, "takeovers after a staging");
    want!(t.store.renew_lease(&first, t.lease() * 2).await?, LeaseOutcome::Renewed(_));
    ensure_eq!(t.load(&key).await?.attempts, 1, "takeovers after a renewal");
    t.append(&first, deltas(1, 1, ["word"])).await?;
    t.store.take_interrupt(&first).await?;
    ensure_eq!(t.load(&key).await?.attempts, 1, "takeovers after deltas and a look at the stop");
    t.advance(t.lease() * 2).await;
    let second = t.claim(&key).await?;
    ensure_eq!(second.session.attempts, 2, "takeovers after the second");
    let back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    t.commit(&second.fence, back).await?;
    ensure_eq!(t.load(&key).await?.attempts, 0, "takeovers after a claim that was given back");
    Ok(())
}

async fn giving_back_keeps_what_a_session_waits_for(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { release: suspended(None, 2), ..commit() }).await?;
    let again = t.claim(key).await?;
    let back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    t.commit(&again.fence, back).await?;
    for (name, due) in [("one", false), ("two", true)] {
        t.deliver(key, message_that(name, Wake::Count)).await?;
        ensure_eq!(t.is_due(key).await?, due, "whether it is due after item {name} of two");
    }
    Ok(())
}

async fn names_its_newest_holder(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    for worker in ["ann", "bob", "cem"] {
        let claimed = t.store.claim_session(&key, by(&t, worker)).await?;
        let claim = want!(claimed, ClaimOutcome::Claimed(claim) => *claim);
        let expected = Some(id::<WorkerId>(worker));
        let held = t.load(&key).await?.lease.map(|lease| lease.worker);
        ensure_eq!(held, expected, "who holds it, as it is read");
        ensure_eq!(claim.session.lease.map(|lease| lease.worker), expected, "who holds it, as it is claimed");
        let run = t.snapshot(&key).await?.runs.pop();
        ensure_eq!(run.map(|run| run.worker), expected, "who runs it");
        t.release(&claim.fence, SessionStatus::Idle).await?;
    }
    Ok(())
}

async fn commits_extend_by_what_was_renewed(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let longer = t.lease() * 4;
    want!(t.store.renew_lease(&claim.fence, longer).await?, LeaseOutcome::Renewed(_));
    let granted = t.load(&claim.fence.key).await?.lease.map(|lease| u128::from(lease.granted_ms));
    ensure_eq!(granted, Some(longer.as_millis()), "how long it was granted for");
    t.advance(t.lease() * 3).await;
    let receipt = t.commit(&claim.fence, commit()).await?;
    ensure_eq!(
        receipt.lease_ends,
        receipt.now.after(longer),
        "the end of the lease after a quarter was left"
    );
    Ok(())
}

async fn of_a_dead_run_needs_force(t: Bench) -> CaseResult {
    let dead = t.running("dead").await?.fence.key;
    t.advance(t.lease() * 2).await;
    let back = t.running("back").await?.fence.key;
    let claim = t.take_over(&back).await?;
    let give_back = Commit { release: Some(Release::GiveBack { alarm: None }), ..commit() };
    t.commit(&claim.fence, give_back).await?;
    for (what, key) in [("whose lease is over", dead), ("that was given back", back)] {
        let before = t.snapshot(&key).await?;
        let kept = t.store.delete_session(&key, Deletion::UNLESS_ACTIVE).await?;
        ensure_eq!(kept, DeleteOutcome::Active, "a session {what}");
        ensure_eq!(t.snapshot(&key).await?, before, "the session {what}");
        let gone = t.store.delete_session(&key, Deletion::FORCE).await?;
        ensure_eq!(gone, DeleteOutcome::Deleted, "a session {what}, by force");
    }
    Ok(())
}

async fn one_call_twice_with_other_bytes_is_a_conflict(t: Bench) -> CaseResult {
    let fence = t.running("s").await?.fence;
    let two = || vec![result("call", "first"), result("other", "other"), result("call", "second")];
    let conflict = CommitOutcome::StageConflict { call: id("call") };
    let before = t.snapshot(&fence.key).await?;
    let staged = t.store.stage_result(&fence, Staging { results: two(), starts: vec![id("s")] }).await?;
    ensure_eq!(staged, StageOutcome::Conflict { call: id("call") }, "two in one staging");
    ensure_eq!(t.snapshot(&fence.key).await?, before, "the session after two in one staging");
    let both = Commit { stage: two(), messages: inline(["m"]), ..commit() };
    ensure_eq!(t.try_commit(&fence, both).await?, conflict, "two in one commit");
    let promoted = Commit { stage: two(), messages: promote(["call"]), ..commit() };
    ensure_eq!(t.try_commit(&fence, promoted).await?, conflict, "two in one commit that promotes the call");
    ensure_eq!(t.snapshot(&fence.key).await?, before, "the session after two in one commit");

    t.stage(&fence, staging([("call", "first")])).await?;
    let before = t.snapshot(&fence.key).await?;
    let late = Commit { stage: vec![result("call", "second")], ..commit() };
    ensure_eq!(t.try_commit(&fence, late).await?, conflict, "another in a commit after a staging");
    ensure_eq!(t.snapshot(&fence.key).await?, before, "the session after another in a commit");
    Ok(())
}

async fn one_call_twice_with_the_same_bytes_is_one(t: Bench) -> CaseResult {
    let fence = t.running("s").await?.fence;
    let same = || vec![result("call", "same"), result("call", "same")];
    t.stage(&fence, Staging { results: same(), starts: vec![id("s"), id("s")] }).await?;
    let staged = t.load(&fence.key).await?.staged;
    ensure_eq!((staged.results.len(), staged.starts.len()), (1, 1), "results and start marks");
    t.commit(&fence, Commit { stage: same(), messages: promote(["call"]), ..commit() }).await?;
    ensure_eq!(t.messages(&fence.key).await?, ["same"], "messages");
    ensure_eq!(t.load(&fence.key).await?.staged.results, [], "what is staged after the promotion");
    let fresh = vec![result("fresh", "same"), result("fresh", "same")];
    t.commit(&fence, Commit { stage: fresh, ..commit() }).await?;
    ensure_eq!(t.load(&fence.key).await?.staged.results.len(), 1, "results that one commit staged twice");
    Ok(())
}

async fn an_aborted_session_has_none(t: Bench) -> CaseResult {
    for (name, stop) in [("soft", soft("stop")), ("abort", abort("stop"))] {
        for confirmed in [None, Some(id("stop")), Some(id("another"))] {
            let name = format!("{name}, {confirmed:?} confirmed");
            let claim = t.running(fresh_id::<SessionId>("s").as_str()).await?;
            let key = &claim.fence.key;
            t.deliver(key, message("urgent")).await?;
            t.interrupt(key, stop.clone()).await?;
            let deadline = Some(claim.now.after(t.lease()));
            let release = Some(Release::To { status: SessionStatus::Aborted, deadline, wake_on: 1 });
            t.commit(&claim.fence, Commit { interrupt_confirmed: confirmed, release, ..commit() }).await?;
            let session = t.load(key).await?;
            ensure_eq!((session.interrupt, session.alarm), (None, None), "interrupt and alarm, {name}");
        }
    }
    Ok(())
}

async fn names_the_call_that_waits(t: Bench) -> CaseResult {
    let fence = t.running("s").await?.fence;
    let deadline = Some(t.now().await?.after(t.lease() * 7));
    let new = NewPending { call: id("the call"), needed: 3, deadline, body: bytes("shown"), ..approval("p") };
    t.commit(&fence, Commit { open: vec![new.clone()], ..commit() }).await?;
    let open = t.pending(&fence.key).await?.remove(0);
    ensure_eq!((&open.key, open.incarnation), (&fence.key, fence.incarnation), "session and life");
    ensure_eq!((&open.id, &open.call, open.kind), (&new.id, &new.call, new.kind), "id, call and kind");
    ensure_eq!((open.needed, open.deadline, &open.body), (3, deadline, &new.body), "answers, deadline, body");
    ensure_eq!((open.answered, open.last_answer), (0, InboxSeq(0)), "answers so far");
    let alike = ["newer", "newer_kind", "newer_kind2", "Newer"].map(|name| PendingKind::Other(id(name)));
    let kinds: Vec<_> = alike.into_iter().chain([PendingKind::ClientTool]).collect();
    for (kind, name) in kinds.iter().zip(["q", "r", "s", "t", "u"]) {
        let new = NewPending { kind: kind.clone(), ..approval(name) };
        t.commit(&fence, Commit { open: vec![new], ..commit() }).await?;
    }
    for kind in kinds {
        let of_kind = PendingQuery { kind: Some(kind.clone()), ..PendingQuery::all(id(TENANT)) };
        let listed = walk_pending(&t.store, of_kind).await?;
        let found: Vec<_> = listed.into_iter().map(|call| call.kind).collect();
        ensure_eq!(found, [kind], "kinds of the calls that are listed by their kind");
    }
    Ok(())
}

async fn items_are_kept_as_they_were_sent(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let open = ["p", "q"].map(|name| NewPending { needed: 3, ..approval(name) }).into();
    t.commit(&claim.fence, Commit { open, ..commit() }).await?;
    let mut sent = Vec::new();
    for wake in [Wake::Now, Wake::Count, Wake::Quiet] {
        sent.push(message_that(&format!("message-{wake:?}"), wake));
        sent.push(signal_that(&format!("signal-{wake:?}"), wake));
        let newer = ItemKind::Other { name: id("newer-kind"), wake };
        sent.push(InboxItem { kind: newer, ..message(&format!("newer-{wake:?}")) });
    }
    let settles = ItemKind::Answer { pending: id("q"), settles: true };
    sent.push(answer(&claim.fence, "p", "approval"));
    sent.push(InboxItem { kind: settles, ..answer(&claim.fence, "q", "refusal") });
    for item in &sent {
        t.deliver(key, item.clone()).await?;
    }
    let kinds = |all: &[StoredItem]| -> Vec<(String, ItemKind)> {
        all.iter().map(|item| (item.key.to_string(), item.kind.clone())).collect()
    };
    let expected: Vec<_> = sent.iter().map(|item| (item.key.to_string(), item.kind.clone())).collect();
    ensure_eq!(kinds(&all_items(&t.store, key).await?), expected, "items as they are read");
    ensure_eq!(kinds(&t.take_over(key).await?.inbox), expected, "items as a claim brings them");
    Ok(())
}

async fn ranges_may_overlap_and_be_none(t: Bench) -> CaseResult {
    let fence = t.running("s").await?.fence;
    t.commit(&fence, Commit { messages: inline(["1", "2", "3"]), ..commit() }).await?;
    let messages = walk_messages(&t.store, &fence.key, &[range(1, 2), range(2, 3), range(2, 2)]).await?;
    let places: Vec<_> = messages.iter().map(|message| message.seq.0).collect();
    ensure_eq!(places, [1, 2, 2, 3, 2], "places of ranges that overlap");
    let page = t.store.read_messages(&fence.key, &[]).await?;
    ensure_eq!((page.messages, page.rest), (vec![], vec![]), "no range");
    let error = want!(t.store.read_messages(&nobody(), &[]).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "no range of nobody");
    Ok(())
}
