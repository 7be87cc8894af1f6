//! Interrupts of sessions.
//!
//! Requirements: H05.

use holdover_store::InterruptKind;

use super::prelude::*;

cases! {
    interrupt.by_status_table_every_pair: Core Property,
        "a soft stop and an abort are taken as the design says in every status, and wake who is not run",
        "a stop that is taken and wakes nobody never stops",
        "request_interrupt: a session that nobody runs becomes due; InterruptOutcome::AtRest, Aborted";
    interrupt.first_soft_kept_abort_replaces: Core Sequential,
        "the first soft stop is kept, the first abort replaces it, nothing replaces an abort",
        "an abort that is lost behind a soft stop leaves the session alive",
        "Interrupt: the first soft one that waits is kept; the first abort replaces a soft one";
    interrupt.everything_of_it_roundtrips: Core Sequential,
        "id, kind, reason and instant come to the run as they were asked",
        "the run tells whoever reads along who stopped it and why",
        "Interrupt: why, in the asker's words; when it was asked";
    interrupt.on_idle_session_does_not_kill_next_run: Core Sequential,
        "a soft stop of a session at rest leaves nothing behind",
        "the next turn would end before it began",
        "InterruptOutcome::AtRest: there is nothing to stop, and the next turn is not harmed";
    interrupt.one_that_comes_again_when_it_is_over_stops_nothing: Core Sequential,
        "a stop that is asked for again once it was heeded, or its turn has ended by itself, does not stop a later turn",
        "a request that was sent twice, or was long on its way, would end a turn that nobody meant",
        "InterruptOutcome::Over: this very stop was asked for before, and waits no more";
    interrupt.wakes_suspended_session: Distributed Sequential,
        "a parked session with a stop waiting is due at once",
        "nobody would carry the stop out",
        "request_interrupt: a session that nobody runs becomes due";
    interrupt.handed_to_epoch_and_cleared_only_by_commit: Distributed Sequential,
        "an interrupt waits until a commit names it, however often it was read",
        "one that is cleared by reading is lost with the reader",
        "take_interrupt: it goes on waiting until a commit names it";
    interrupt.a_commit_that_names_another_clears_nothing: Core Sequential,
        "a commit that carries out one interrupt keeps the one that replaced it",
        "the abort that came in between would be dropped",
        "Commit::interrupt_confirmed: cleared if it still is the one that waits";
    interrupt.unconfirmed_is_seen_by_next_claim: Durable Crash,
        "the run after a dead one finds the interrupt that was handed to it",
        "a crash in between would lose the stop",
        "take_interrupt: a crash in between loses nothing";
    interrupt.set_during_commit_is_seen_by_this_or_next_step: Distributed Concurrent,
        "a stop that races with commits shows in the receipts, and in all from then on",
        "a run that never hears of it goes on for ever",
        "Receipt::interrupt: whether an interrupt waits";
    interrupt.exactly_one_taker: Distributed Concurrent,
        "of 8 workers one gets the parked session with the stop",
        "two would both end the turn",
        "claim_due: no two claims share a session and epoch (INV-32)";
    alarm.turn_end_drops_waiting_soft_interrupt_never_an_abort: Core Property,
        "a commit that ends the turn drops a soft stop, and keeps an abort due",
        "a soft stop that outlives its turn kills the next; an abort that does not leaves the session alive",
        "design 4: a commit that ends the turn drops a waiting soft interrupt; a waiting abort is never dropped";
    alarm.interrupt_waiting_at_suspend_wakes_at_once: Distributed Sequential,
        "a commit that parks with a stop waiting leaves the session due",
        "the stop would wait for the answer that it is to make needless",
        "design 4: when suspending, the alarm is now if an interrupt waits";
}

async fn by_status_table_every_pair(t: Bench) -> CaseResult {
    for status in SessionStatus::ALL {
        for interrupt in [soft("stop"), abort("stop")] {
            let cell = format!("{} of {status}", interrupt.kind.as_str());
            one_interrupt(&t, &cell, status, interrupt).await.map_err(|failure| failure.within(&cell))?;
        }
    }
    ensure_eq!(t.store.request_interrupt(&nobody(), soft("s")).await?, InterruptOutcome::NotFound, "nobody");
    Ok(())
}

async fn one_interrupt(t: &Bench, name: &str, status: SessionStatus, interrupt: Interrupt) -> CaseResult {
    let expected = match (status, interrupt.kind) {
        (SessionStatus::Aborted, _) => InterruptOutcome::Aborted,
        (SessionStatus::Idle | SessionStatus::Interrupted | SessionStatus::Failed, InterruptKind::Soft) => {
            InterruptOutcome::AtRest
        }
        (_, InterruptKind::Soft | InterruptKind::Abort) => InterruptOutcome::Requested,
    };
    let key = t.left_as(name, status).await?;
    let before = t.load(&key).await?;
    let answer = t.store.request_interrupt(&key, interrupt.clone()).await?;
    ensure_eq!(answer, expected, "the answer");
    let after = t.load(&key).await?;
    ensure_eq!((after.status, after.version), (before.status, before.version), "status and version");
    if expected != InterruptOutcome::Requested {
        ensure_eq!(after, before, "the session");
        return Ok(());
    }
    ensure_eq!(after.interrupt, Some(interrupt), "what waits");
    if status == SessionStatus::Active {
        ensure_eq!(after.alarm, before.alarm, "alarm: a live run is not to be taken over");
    } else {
        ensure!(t.is_due(&key).await?, "expected it to be due", found = "{}", t.waking(&key).await?);
    }
    Ok(())
}

async fn first_soft_kept_abort_replaces(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let waiting = |name| InterruptOutcome::AlreadyWaiting { id: id(name) };
    t.interrupt(key, soft("first")).await?;
    ensure_eq!(t.store.request_interrupt(key, soft("second")).await?, waiting("first"), "a second soft stop");
    ensure_eq!(t.load(key).await?.interrupt, Some(soft("first")), "what waits");
    t.interrupt(key, abort("third")).await?;
    ensure_eq!(t.load(key).await?.interrupt, Some(abort("third")), "what waits after an abort");
    for later in [soft("fourth"), abort("fifth")] {
        ensure_eq!(t.store.request_interrupt(key, later).await?, waiting("third"), "after an abort");
    }
    ensure_eq!(t.load(key).await?.interrupt, Some(abort("third")), "what waits in the end");
    Ok(())
}

async fn everything_of_it_roundtrips(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let interrupt = Interrupt {
        id: id("int-1"),
        kind: InterruptKind::Soft,
        reason: "it's \"enough\" — \u{0} \n 够了".into(),
        at: holdover_store::time::Timestamp::from_ms(1_234_567_890_123),
        incarnation: Some(claim.fence.incarnation),
    };
    t.interrupt(&claim.fence.key, interrupt.clone()).await?;
    let check = t.store.take_interrupt(&claim.fence).await?;
    ensure_eq!(check, InterruptCheck::Waiting(interrupt.clone()), "what the run is handed");
    let next = t.take_over(&claim.fence.key).await?;
    ensure_eq!(next.interrupt(), Some(&interrupt), "what the next claim brings");
    Ok(())
}

async fn on_idle_session_does_not_kill_next_run(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Idle).await?;
    ensure_eq!(t.store.request_interrupt(&key, soft("stop")).await?, InterruptOutcome::AtRest, "the answer");
    let claim = t.claim(&key).await?;
    ensure_eq!(claim.interrupt(), None, "the interrupt in the next claim");
    ensure_eq!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::Clear, "the check");
    Ok(())
}

async fn one_that_comes_again_when_it_is_over_stops_nothing(t: Bench) -> CaseResult {
    let heeded = Commit {
        interrupt_confirmed: Some(id("stop")),
        release: Some(release_to(SessionStatus::Interrupted)),
        ..commit()
    };
    let by_itself = Commit { release: Some(release_to(SessionStatus::Idle)), ..commit() };
    for (name, end) in [("heeded", heeded), ("by-itself", by_itself)] {
        let claim = t.running(name).await?;
        let key = &claim.fence.key;
        t.interrupt(key, soft("stop")).await?;
        t.commit(&claim.fence, end).await?;
        let claim = t.claim(key).await?;
        let before = t.load(key).await?;
        let again = t.peer().await.request_interrupt(key, soft("stop")).await?;
        ensure_eq!(again, InterruptOutcome::Over, "the answer to a stop that was {name} before");
        ensure_eq!(t.load(key).await?, before, "the session after a stop that was {name} before");
        ensure_eq!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::Clear, "the check, {name}");
        // Another interrupt stops the turn, and the end of that turn does not bring the first one back.
        t.interrupt(key, soft("other")).await?;
        let waiting = InterruptOutcome::AlreadyWaiting { id: id("other") };
        ensure_eq!(t.store.request_interrupt(key, soft("other")).await?, waiting, "the other, again");
    }
    // The interrupt does not exist in another life of the session.
    t.store.delete_session(&key("heeded"), Deletion::FORCE).await?;
    let claim = t.running("heeded").await?;
    t.interrupt(&claim.fence.key, soft("stop")).await
}

async fn wakes_suspended_session(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let far = claim.now.after(t.lease() * 100);
    let park = Commit { open: vec![approval("p")], release: suspended(Some(far), 0), ..commit() };
    t.commit(&claim.fence, park).await?;
    t.interrupt(&claim.fence.key, soft("stop")).await?;
    let claims = t.claim_due(5).await?;
    ensure_eq!(claims.len(), 1, "what is due");
    ensure_eq!(claims[0].interrupt(), Some(&soft("stop")), "the interrupt in the claim");
    ensure_eq!(claims[0].pending.len(), 1, "pending calls in the claim");
    Ok(())
}

/// Requirements: H05.
async fn handed_to_epoch_and_cleared_only_by_commit(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    ensure_eq!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::Clear, "before");
    want!(peer.request_interrupt(key, soft("stop")).await?, InterruptOutcome::Requested);
    let waiting = InterruptCheck::Waiting(soft("stop"));
    for time in ["first", "second", "third"] {
        ensure_eq!(t.store.take_interrupt(&claim.fence).await?, waiting, "the {time} check");
    }
    let receipt = t.commit(&claim.fence, commit()).await?;
    ensure!(
        receipt.interrupt,
        "expected a commit that does not name it to leave it waiting",
        found = "a receipt that says nothing waits: {receipt:?}"
    );
    ensure_eq!(t.store.take_interrupt(&claim.fence).await?, waiting, "after a commit");
    let confirm = Commit { interrupt_confirmed: Some(id("stop")), ..commit() };
    let receipt = t.commit(&claim.fence, confirm).await?;
    ensure!(
        !receipt.interrupt,
        "expected the commit that names it to clear it",
        found = "a receipt that says one waits: {receipt:?}"
    );
    ensure_eq!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::Clear, "after its commit");
    let next = t.take_over(key).await?;
    ensure_eq!(next.interrupt(), None, "the interrupt in the next claim");
    ensure_eq!(t.store.take_interrupt(&claim.fence).await?, InterruptCheck::StaleFence, "an old fence");
    Ok(())
}

async fn a_commit_that_names_another_clears_nothing(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.interrupt(&claim.fence.key, soft("soft")).await?;
    t.store.take_interrupt(&claim.fence).await?;
    t.interrupt(&claim.fence.key, abort("abort")).await?;
    let receipt =
        t.commit(&claim.fence, Commit { interrupt_confirmed: Some(id("soft")), ..commit() }).await?;
    ensure!(
        receipt.interrupt,
        "expected the abort to wait on",
        found = "a receipt that says nothing waits: {receipt:?}"
    );
    ensure_eq!(t.load(&claim.fence.key).await?.interrupt, Some(abort("abort")), "what waits");
    Ok(())
}

/// Requirements: H05.
async fn unconfirmed_is_seen_by_next_claim(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.interrupt(&claim.fence.key, soft("stop")).await?;
    t.store.take_interrupt(&claim.fence).await?;
    let t = t.reopen().await;
    let next = t.take_over(&claim.fence.key).await?;
    ensure_eq!(next.interrupt(), Some(&soft("stop")), "the interrupt in the next claim");
    let check = t.store.take_interrupt(&next.fence).await?;
    ensure_eq!(check, InterruptCheck::Waiting(soft("stop")), "what the next run is handed");
    Ok(())
}

async fn set_during_commit_is_seen_by_this_or_next_step(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    let seen = race(t.peers(2).await, |index, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            if index == 1 {
                want!(peer.request_interrupt(&fence.key, soft("stop")).await?, InterruptOutcome::Requested);
                return Ok(Vec::new());
            }
            let mut seen = Vec::new();
            // Bounded by the case's time: a receipt that never reports the interrupt is a hang, and a failure.
            while seen.iter().filter(|waits| **waits).count() < 3 {
                let outcome = peer.commit(&fence, commit()).await?;
                seen.push(
                    want!(outcome, holdover_store::CommitOutcome::Committed(receipt) => receipt.interrupt),
                );
                tokio::task::yield_now().await;
            }
            Ok(seen)
        })
    })
    .await?;
    ensure!(seen[0].is_sorted(), "expected it to wait from some receipt on", found = "{:?}", seen[0]);
    Ok(())
}

/// Requirements: H05.
async fn exactly_one_taker(t: Bench) -> CaseResult {
    let parked = t.left_as("s", SessionStatus::Suspended).await?;
    t.interrupt(&parked, abort("stop")).await?;
    let wanted: Vec<_> =
        (0..8).map(|_| ClaimDue { queues: Queues::Named(vec![id("another")]), ..t.due(2) }).collect();
    let claims = race(t.peers(8).await, |index, peer| {
        let due = wanted[index].clone();
        Box::pin(async move { Ok(peer.claim_due(due).await?) })
    })
    .await?;
    let taken: Vec<_> = claims.iter().flatten().collect();
    ensure_eq!(taken.len(), 1, "claims by 8 workers");
    ensure_eq!(taken[0].interrupt(), Some(&abort("stop")), "the interrupt in the claim");
    Ok(())
}

async fn turn_end_drops_waiting_soft_interrupt_never_an_abort(t: Bench) -> CaseResult {
    for status in [SessionStatus::Idle, SessionStatus::Interrupted, SessionStatus::Failed] {
        let claim = t.running(&format!("soft-{status}")).await?;
        t.interrupt(&claim.fence.key, soft("stop")).await?;
        t.release(&claim.fence, status).await?;
        let session = t.load(&claim.fence.key).await?;
        ensure_eq!((session.interrupt, session.alarm), (None, None), "soft stop and alarm, left {status}");

        let claim = t.running(&format!("abort-{status}")).await?;
        t.interrupt(&claim.fence.key, abort("stop")).await?;
        t.release(&claim.fence, status).await?;
        let session = t.load(&claim.fence.key).await?;
        ensure_eq!(session.interrupt, Some(abort("stop")), "abort, left {status}");
        ensure!(
            t.is_due(&claim.fence.key).await?,
            "expected the abort to be due, left {status}",
            found = "{}",
            t.waking(&claim.fence.key).await?
        );
    }
    let claim = t.running("done").await?;
    t.interrupt(&claim.fence.key, abort("stop")).await?;
    t.release(&claim.fence, SessionStatus::Aborted).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.alarm, None, "alarm once the abort is carried out");
    Ok(())
}

async fn interrupt_waiting_at_suspend_wakes_at_once(t: Bench) -> CaseResult {
    let far = t.now().await?.after(t.lease() * 100);
    for (name, stop) in [("soft", soft("stop")), ("abort", abort("stop"))] {
        let claim = t.running(name).await?;
        t.deliver(&claim.fence.key, message("m")).await?;
        t.interrupt(&claim.fence.key, stop.clone()).await?;
        let park = Commit {
            inbox_seen: Some(holdover_store::ids::InboxSeq(1)),
            release: suspended(Some(far), 0),
            ..commit()
        };
        t.commit(&claim.fence, park).await?;
        ensure!(
            t.is_due(&key(name)).await?,
            "expected the {name} stop to wake it",
            found = "{}",
            t.waking(&key(name)).await?
        );
        let next = t.claim(&key(name)).await?;
        ensure_eq!(next.interrupt(), Some(&stop), "the interrupt in the next claim");
        t.commit(&next.fence, Commit { release: Some(release_to(SessionStatus::Aborted)), ..commit() })
            .await?;
    }
    Ok(())
}
