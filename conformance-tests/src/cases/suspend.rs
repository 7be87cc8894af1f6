//! Suspending a session, and waking it.

use super::prelude::*;

cases! {
    suspend.pending_client_tool_calls_roundtrip: Core Sequential,
        "an opened pending call reads back as it was written, and comes with the next claim",
        "whoever owes the answer sees what is stored, and nothing else",
        "Commit::open: pending calls to open; Claim::pending: in the order they were opened";
    suspend.mixed_reasons_coexist: Core Sequential,
        "approvals, client tools, a deadline and a count of messages wait side by side",
        "a store with one place for the reason keeps only the last",
        "Release::To: deadline, wake_on; Commit::open: any number";
    suspend.partial_step_resumes_at_same_cursor: Core Sequential,
        "a step that is half done when the session is parked is found as it was left, and finished once",
        "calls that are done would be done again, or forgotten",
        "Claim: the session with its state, what is staged and what is open, read at one instant";
    suspend.woken_only_when_last_answer_arrives: Core Sequential,
        "each answer that completes its call wakes the session, one that does not is quiet",
        "a session woken for every partial answer runs in vain",
        "ItemKind::Answer: urgent once its call has all it needs, else quiet";
    suspend.suspend_and_release_lease_is_one_commit: Distributed Sequential,
        "with the commit that parks, the lease is gone and the next may claim at once",
        "a parked session that is still leased sleeps through its answer",
        "Release: how the session is left; a release ends the fence";
    suspend.submission_between_decision_and_suspend_commit_not_lost: Distributed Sequential,
        "what was delivered before the parking commit, but not read, makes the session due at once",
        "this is the lost wake-up: the session sleeps on an answer that is there",
        "design 4: a releasing commit sets the alarm to now if unseen items reach wake_on or one is urgent";
    suspend.suspended_session_is_not_in_ready_queue: Distributed Time,
        "a session that waits without a deadline is never due",
        "workers would spin on everything that waits for a person",
        "design 4: the alarm is nothing when it rests; the deadline when it waits with one";
    suspend.becomes_ready_exactly_once_when_satisfied: Distributed Concurrent,
        "an answered session is claimed once, by one of 8 workers",
        "two workers would both go on",
        "claim_due: no two claims share a session and epoch (INV-32)";
    suspend.deadline_expiry_makes_ready: Distributed Time,
        "a passed deadline makes the session due, and not earlier",
        "a timeout that nobody notices is no timeout",
        "Release::To: deadline: when it wants a worker if nothing wakes it before";
    suspend.an_earlier_wake_beats_the_deadline: Core Time,
        "an urgent item brings the alarm forward, a later deadline never pushes it back",
        "the answer would lie there until the deadline",
        "design 4: deliver to a session that nobody runs sets the alarm to now";
}

async fn pending_client_tool_calls_roundtrip(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let deadline = claim.now.after(t.lease() * 100);
    let asked = NewPending {
        id: id("p:1 ü"),
        call: id("call-1"),
        kind: PendingKind::ClientTool,
        needed: 3,
        deadline: Some(deadline),
        body: bytes("{\"show\":\"this\"}"),
    };
    let park = Commit {
        open: vec![approval("z"), asked.clone(), approval("a")],
        release: suspended(None, 0),
        ..commit()
    };
    t.commit(&claim.fence, park).await?;
    let next = t.claim(&claim.fence.key).await?;
    let order: Vec<_> = next.pending.iter().map(|pending| pending.id.as_str()).collect();
    ensure_eq!(order, ["z", "p:1 ü", "a"], "pending calls in the claim");
    let pending = &next.pending[1];
    ensure_eq!(pending.key, claim.fence.key, "session");
    ensure_eq!(pending.incarnation, claim.fence.incarnation, "incarnation");
    ensure_eq!((&pending.id, &pending.call), (&asked.id, &asked.call), "ids");
    ensure_eq!((&pending.kind, pending.needed), (&asked.kind, asked.needed), "kind and answers needed");
    ensure_eq!(pending.deadline, asked.deadline, "deadline");
    ensure_eq!(pending.body, asked.body, "body");
    ensure_eq!((pending.answered, pending.last_answer.0), (0, 0), "answers so far");
    ensure!(
        pending.opened_at >= claim.now,
        "expected it opened by the run, at its claim or after",
        found = "opened at {:?}, claimed at {:?}",
        pending.opened_at,
        claim.now
    );
    Ok(())
}

async fn mixed_reasons_coexist(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let deadline = claim.now.after(t.lease() * 3);
    let tool = NewPending { kind: PendingKind::ClientTool, ..approval("tool") };
    let park =
        Commit { open: vec![approval("ok?"), tool], release: suspended(Some(deadline), 2), ..commit() };
    t.commit(&claim.fence, park).await?;
    ensure_eq!(t.pending(key).await?.len(), 2, "pending calls");
    ensure_eq!(t.load(key).await?.alarm, Some(deadline), "alarm");
    t.deliver(key, message_that("one", Wake::Count)).await?;
    ensure_eq!(t.load(key).await?.alarm, Some(deadline), "alarm after one of two messages");
    t.deliver(key, message_that("two", Wake::Count)).await?;
    ensure!(t.is_due(key).await?, "expected two messages to wake it", found = "{}", t.waking(key).await?);
    Ok(())
}

async fn partial_step_resumes_at_same_cursor(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    // Of three calls, one is done, one has started, and one waits for an answer from outside.
    let begun = Staging { starts: vec![id("begun")], ..staging([("done", "result")]) };
    let half = Commit { state: state("half"), open: vec![approval("asked")], ..commit() };
    t.commit(&claim.fence, half).await?;
    t.stage(&claim.fence, begun).await?;
    let park = Commit { release: suspended(None, 0), ..commit() };
    let left = t.commit(&claim.fence, park).await?;
    t.deliver(key, answer(&claim.fence, "asked", "yes")).await?;
    let next = t.claim(key).await?;
    ensure_eq!(next.session.state, Some(bytes("half")), "the state that the next run finds");
    ensure_eq!(next.session.version, left.version.next(), "its version");
    ensure_eq!(next.session.staged.results, [result("done", "result")], "what is staged");
    ensure_eq!(next.session.staged.starts, [id("begun")], "what has begun");
    let open: Vec<_> = next.pending.iter().map(|pending| (pending.id.as_str(), pending.answered)).collect();
    ensure_eq!(open, [("asked", 1)], "what is open, and how often it was answered");
    let finish = Commit {
        expected_version: Some(next.session.version),
        state: state("whole"),
        messages: promote(["done"]),
        close: vec![id("asked")],
        consumed: vec![next.session.last_item],
        inbox_seen: Some(next.session.last_item),
        ..commit()
    };
    t.commit(&next.fence, finish).await?;
    ensure_eq!(t.messages(key).await?, ["result"], "messages");
    let after = t.load(key).await?;
    ensure_eq!((after.staged.results, after.staged.starts), (vec![], vec![]), "what is staged afterwards");
    Ok(())
}

async fn woken_only_when_last_answer_arrives(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let two = NewPending { needed: 2, ..approval("two") };
    t.commit(&claim.fence, Commit { open: vec![two], release: suspended(None, 1), ..commit() }).await?;
    t.deliver(key, answer(&claim.fence, "two", "first")).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "alarm after one of two answers");
    t.deliver(key, answer(&claim.fence, "two", "second")).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the second of two answers to wake it",
        found = "{}",
        t.waking(key).await?
    );
    Ok(())
}

async fn suspend_and_release_lease_is_one_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let park = Commit {
        state: state("parked"),
        run: run_end(holdover_store::OutcomeKind::SuspendedClientTool),
        open: vec![approval("p")],
        release: suspended(None, 0),
        ..commit()
    };
    let receipt = t.commit(&claim.fence, park).await?;
    ensure!(
        receipt.lease_ends <= receipt.now,
        "expected no lease",
        found = "one until {}",
        receipt.lease_ends
    );
    let session = t.load(&claim.fence.key).await?;
    ensure_eq!((session.status, session.lease), (SessionStatus::Suspended, None), "status and lease");
    let peer = t.peer().await;
    let next = peer.claim_session(&claim.fence.key, t.claim_one()).await?;
    let next = want!(next, ClaimOutcome::Claimed(claim) => claim);
    ensure_eq!(next.found, SessionStatus::Suspended, "what the next claim found");
    ensure_eq!(next.session.state, state("parked").map(|state| state.payload), "state");
    Ok(())
}

async fn submission_between_decision_and_suspend_commit_not_lost(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    // The run has decided to suspend. Before it does, the answer arrives through another handle.
    want!(peer.deliver(key, answer(&claim.fence, "p", "yes")).await?, Delivery::Accepted { .. });
    t.commit(&claim.fence, Commit { release: suspended(None, 0), ..commit() }).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the unseen answer to wake it",
        found = "{}",
        t.waking(key).await?
    );

    // The same holds for as many counted messages as the session waits for.
    let claim = t.running("counted").await?;
    for name in ["a", "b"] {
        t.deliver(&claim.fence.key, message_that(name, Wake::Count)).await?;
    }
    t.commit(&claim.fence, Commit { release: suspended(None, 2), ..commit() }).await?;
    ensure!(
        t.is_due(&claim.fence.key).await?,
        "expected two unseen messages to wake it",
        found = "{}",
        t.waking(&claim.fence.key).await?
    );

    let mut due = t.due_names().await?;
    due.sort();
    ensure_eq!(due, ["counted", "s"], "what a worker finds");
    Ok(())
}

async fn suspended_session_is_not_in_ready_queue(t: Bench) -> CaseResult {
    let claim = t.running("waits").await?;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() })
        .await?;
    t.advance(t.lease() * 3).await;
    let sentinel = t.left_as("sentinel", SessionStatus::Idle).await?;
    t.deliver(&sentinel, message("m")).await?;
    ensure_eq!(t.due_names().await?, ["sentinel"], "what is due, long after");
    Ok(())
}

async fn becomes_ready_exactly_once_when_satisfied(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], release: suspended(None, 0), ..commit() })
        .await?;
    t.deliver(&claim.fence.key, answer(&claim.fence, "p", "yes")).await?;
    let wanted: Vec<_> = (0..8).map(|_| t.due(4)).collect();
    let claims = race(t.peers(8).await, |index, peer| {
        let due = wanted[index].clone();
        Box::pin(async move { Ok(peer.claim_due(due).await?.len()) })
    })
    .await?;
    ensure_eq!(claims.iter().sum::<usize>(), 1, "claims by 8 workers");
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due after that");
    Ok(())
}

async fn deadline_expiry_makes_ready(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let deadline = claim.now.after(t.lease() * 2);
    t.commit(&claim.fence, Commit { release: suspended(Some(deadline), 0), ..commit() }).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, Some(deadline), "alarm");
    t.advance(t.lease()).await;
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due before the deadline");
    t.advance(t.lease()).await;
    let claims = t.claim_due(5).await?;
    ensure_eq!(claims.len(), 1, "what is due at the deadline");
    ensure_eq!(claims[0].found, SessionStatus::Suspended, "found");
    ensure!(
        claims[0].now >= deadline,
        "expected a claim at the deadline {deadline:?} or after",
        found = "one at {:?}",
        claims[0].now
    );
    Ok(())
}

async fn an_earlier_wake_beats_the_deadline(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let deadline = claim.now.after(t.lease() * 50);
    let park =
        |deadline| Release::To { status: SessionStatus::Suspended, deadline: Some(deadline), wake_on: 0 };
    t.commit(&claim.fence, Commit { release: Some(park(deadline)), ..commit() }).await?;
    let seq = t.deliver(key, message("urgent")).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the urgent item to wake it before the deadline",
        found = "{}",
        t.waking(key).await?
    );
    // The session is due already, so a later item does not move its alarm.
    let rang = t.load(key).await?.alarm;
    t.advance(t.lease() / 10).await;
    t.deliver(key, message("later")).await?;
    ensure_eq!(t.load(key).await?.alarm, rang, "alarm after a second urgent item");
    // The session is suspended again with only the first item seen, so the second still wakes it.
    let next = t.claim(key).await?;
    let again = Commit { inbox_seen: Some(seq), release: Some(park(deadline)), ..commit() };
    t.commit(&next.fence, again).await?;
    ensure!(
        t.is_due(key).await?,
        "expected the unseen second item to wake it",
        found = "{}",
        t.waking(key).await?
    );
    let last = t.claim(key).await?;
    let seen = Commit {
        inbox_seen: Some(last.session.last_item),
        release: Some(release_to(SessionStatus::Suspended)),
        ..commit()
    };
    t.commit(&last.fence, seen).await?;
    ensure_eq!(t.load(key).await?.alarm, None, "alarm once all was seen");
    Ok(())
}
