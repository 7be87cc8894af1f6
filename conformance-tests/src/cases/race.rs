//! Concurrent operations: the result must be one that the operations would have one after another.

mod histories;
mod pairs;

use super::prelude::*;

cases! {
    race.op_pair_matrix: Distributed Property,
        "every pair of operations at one instant ends in each session as one after the other would, in answers and in rows",
        "a pair that ends otherwise is a state that no rule foresaw",
        "StateStore: the write locks the row first and checks fence, version and status there (INV-22)";
    race.linearizable_histories: Distributed Property,
        "whatever several peers ask at once, each session answers as if one operation had come after the other",
        "who read an answer would act on a session that never was, or no longer is",
        "StateStore: applied wholly or not at all; once it answered, every handle sees it (INV-04, INV-06)";
    race.reads_beside_a_write_hold_what_was_acknowledged: Distributed Concurrent,
        "who reads while another writes is shown all that was acknowledged before, also what others wrote since it looked last",
        "a handle that remembers would act on what it saw last, just when somebody is about to change it again",
        "StateStore: once it answered, every handle sees it (INV-04, INV-06)";
    race.submit_vs_suspend: Distributed Concurrent,
        "an urgent item and a parking commit at one instant leave the session due",
        "this is the lost wake-up",
        "design 4: no wake-up is ever lost";
    race.finish_vs_interrupt: Distributed Concurrent,
        "a soft stop and the end of the turn at one instant leave nothing waiting",
        "the stop would end the next turn",
        "design 4: a commit that ends the turn drops a waiting soft interrupt";
    race.suspend_vs_interrupt: Distributed Concurrent,
        "a soft stop and a parking commit at one instant leave the session due with the stop",
        "the stop would wait for the answer that it makes needless",
        "design 4: when suspending, the alarm is now if an interrupt waits";
    race.commit_vs_delete: Distributed Concurrent,
        "a commit and a deletion by force at one instant leave no session",
        "a commit that lands after the deletion resurrects half a session",
        "delete_session: removes every row of a session";
    race.renew_vs_claim: Distributed Concurrent,
        "of a renewal and a takeover at the lease's end one succeeds",
        "both would believe that they hold the session",
        "renew_lease: accepted under the newest epoch (INV-22)";
    race.answer_vs_close: Distributed Concurrent,
        "of an answer and the commit that closes its call one succeeds",
        "a person who said yes, and was told that it counts, would not be heard",
        "design 4: a commit that closes an answered call is refused; an answer to a closed call is NotPending";
}

const ROUNDS: usize = 25;

async fn op_pair_matrix(t: Bench) -> CaseResult {
    pairs::race_every_pair(&t).await
}

async fn linearizable_histories(t: Bench) -> CaseResult {
    histories::check_histories(&t).await
}

/// Creates one running session for each round.
async fn rounds(t: &Bench) -> CaseResult<Vec<holdover_store::Claim>> {
    let mut claims = Vec::new();
    for round in 0..ROUNDS {
        let claim = t.running(&format!("s{round}")).await?;
        claims.push(claim);
    }
    Ok(claims)
}

async fn due_for_sure(t: &Bench, key: &SessionKey) -> CaseResult {
    ensure!(t.is_due(key).await?, "expected it to be due", found = "{}", t.waking(key).await?);
    Ok(())
}

async fn reads_beside_a_write_hold_what_was_acknowledged(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        let (fence, reader) = (claim.fence, &peers[1]);
        write(&peers[0], &fence, "first").await?;
        let looked_at = snapshot(reader, &fence.key).await?;
        write(&peers[0], &fence, "second").await?;
        let acknowledged = t.snapshot(&fence.key).await?;
        ensure!(
            !looked_at.holds(&acknowledged),
            "expected news since the last look",
            found = "{looked_at:?}"
        );
        let (writer, held) = (peers[0].clone(), fence.clone());
        let writing = tokio::spawn(async move { write(&writer, &held, "third").await });
        // Reads without a pause until the write is over, so that every intermediate state can be seen.
        let mut over = false;
        while !over {
            over = writing.is_finished();
            let shown = snapshot(reader, &fence.key).await?;
            ensure!(shown.holds(&acknowledged), "expected at least {acknowledged:?}", found = "{shown:?}");
            tokio::task::yield_now().await;
        }
        writing.await.map_err(|panicked| Failure::panicked(format!("expected an answer: {panicked}")))??;
        let written = t.snapshot(&fence.key).await?;
        let shown = snapshot(reader, &fence.key).await?;
        ensure!(shown.holds(&written), "expected {written:?}", found = "{shown:?}");
    }
    Ok(())
}

/// Delivers an item, then commits a message, an event and a checkpoint.
async fn write(peer: &Handle, fence: &Fence, what: &str) -> CaseResult {
    want!(peer.deliver(&fence.key, message(what)).await?, Delivery::Accepted { .. });
    let step = Commit { messages: inline([what]), events: events([what]), ..checkpoint(what) };
    want!(peer.commit(fence, step).await?, CommitOutcome::Committed(_));
    Ok(())
}

async fn submit_vs_suspend(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        race(peers.clone(), |index, peer| {
            let fence = claim.fence.clone();
            Box::pin(async move {
                if index == 0 {
                    want!(peer.deliver(&fence.key, message("m")).await?, Delivery::Accepted { .. });
                } else {
                    let park = Commit { release: suspended(None, 0), ..commit() };
                    want!(peer.commit(&fence, park).await?, CommitOutcome::Committed(_));
                }
                Ok(())
            })
        })
        .await?;
        due_for_sure(&t, &claim.fence.key).await?;
    }
    Ok(())
}

async fn finish_vs_interrupt(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        let stop_beside_release = stop_beside_release(&peers, &claim, SessionStatus::Idle).await?;
        let legal = [InterruptOutcome::Requested, InterruptOutcome::AtRest].contains(&stop_beside_release);
        ensure!(legal, "expected it to wait, or find the session at rest", found = "{stop_beside_release:?}");
        let session = t.load(&claim.fence.key).await?;
        ensure_eq!((session.interrupt, session.alarm), (None, None), "what waits, and the alarm");
    }
    Ok(())
}

async fn suspend_vs_interrupt(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        let answer = stop_beside_release(&peers, &claim, SessionStatus::Suspended).await?;
        ensure_eq!(answer, InterruptOutcome::Requested, "the answer to the stop");
        ensure_eq!(t.load(&claim.fence.key).await?.interrupt, Some(soft("stop")), "what waits");
        due_for_sure(&t, &claim.fence.key).await?;
    }
    Ok(())
}

async fn stop_beside_release(
    peers: &[Handle],
    claim: &holdover_store::Claim,
    status: SessionStatus,
) -> CaseResult<InterruptOutcome> {
    let answers = race(peers.to_vec(), |index, peer| {
        let fence = claim.fence.clone();
        Box::pin(async move {
            if index == 0 {
                return Ok(Some(peer.request_interrupt(&fence.key, soft("stop")).await?));
            }
            let release = Commit { release: Some(release_to(status)), ..commit() };
            want!(peer.commit(&fence, release).await?, CommitOutcome::Committed(_));
            Ok(None)
        })
    })
    .await?;
    let answer = answers.into_iter().flatten().next();
    answer.ok_or_else(|| Failure::new("expected an answer to the stop"))
}

async fn commit_vs_delete(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        let outcomes = race(peers.clone(), |index, peer| {
            let fence = claim.fence.clone();
            Box::pin(async move {
                if index == 0 {
                    let deleted = peer.delete_session(&fence.key, Deletion::FORCE).await?;
                    ensure_eq!(deleted, DeleteOutcome::Deleted, "the deletion");
                    return Ok(None);
                }
                let append = Commit { messages: inline(["m"]), open: vec![approval("p")], ..commit() };
                Ok(Some(peer.commit(&fence, append).await?))
            })
        })
        .await?;
        for outcome in outcomes.into_iter().flatten() {
            let legal = matches!(outcome, CommitOutcome::Committed(_) | CommitOutcome::StaleFence { .. });
            ensure!(legal, "expected it to be applied before, or refused after", found = "{outcome:?}");
        }
        let gone = t.snapshot(&claim.fence.key).await?;
        ensure_eq!((gone.session, gone.pending), (None, vec![]), "the session and its pending calls");
        t.store.create_session(crate::fixture::new_session(claim.fence.key.id.as_str())).await?;
        ensure_eq!(t.messages(&claim.fence.key).await?, Vec::<String>::new(), "messages once created again");
    }
    Ok(())
}

async fn renew_vs_claim(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    let claims = rounds(&t).await?;
    t.advance(t.lease()).await;
    for claim in claims {
        let (lease, one) = (t.lease(), t.claim_one());
        let answers = race(peers.clone(), |index, peer| {
            let (fence, one) = (claim.fence.clone(), one.clone());
            Box::pin(async move {
                if index == 0 {
                    return Ok((Some(peer.renew_lease(&fence, lease).await?), None));
                }
                Ok((None, Some(peer.claim_session(&fence.key, one).await?)))
            })
        })
        .await?;
        match (&answers[0].0, &answers[1].1) {
            (Some(LeaseOutcome::Renewed(_)), Some(ClaimOutcome::Held { epoch, .. })) => {
                ensure_eq!(*epoch, claim.fence.epoch, "the holder's epoch");
            }
            (Some(LeaseOutcome::StaleFence), Some(ClaimOutcome::Claimed(next))) => {
                ensure_eq!(next.fence.epoch, claim.fence.epoch.next(), "the new holder's epoch");
            }
            other => return Err(Failure::new(format!("expected one of two to hold it, found {other:?}"))),
        }
    }
    Ok(())
}

async fn answer_vs_close(t: Bench) -> CaseResult {
    let peers = t.peers(2).await;
    for claim in rounds(&t).await? {
        t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
        let answers = race(peers.clone(), |index, peer| {
            let fence = claim.fence.clone();
            Box::pin(async move {
                if index == 0 {
                    return Ok((Some(peer.deliver(&fence.key, answer(&fence, "p", "yes")).await?), None));
                }
                let close = Commit { close: vec![id("p")], ..commit() };
                Ok((None, Some(peer.commit(&fence, close).await?)))
            })
        })
        .await?;
        match (&answers[0].0, &answers[1].1) {
            (Some(Delivery::Accepted { .. }), Some(CommitOutcome::AnswerWaiting { .. }))
            | (Some(Delivery::NotPending), Some(CommitOutcome::Committed(_))) => {}
            other => return Err(Failure::new(format!("expected one of two to succeed, found {other:?}"))),
        }
    }
    Ok(())
}
