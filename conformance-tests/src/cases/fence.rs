//! Fences, repeats and receipts.

use super::prelude::*;

cases! {
    lease.stale_epoch_commit_rejected_and_no_effect: Distributed Time,
        "a full commit of a run that was taken over is refused and leaves no trace",
        "a worker that slept through its lease would write over its successor",
        "INV-23: a taken-over worker's writes change nothing, whenever they arrive";
    lease.every_mutating_op_is_fenced: Distributed Property,
        "every operation of a run is refused under every wrong fence, and none goes around the fence",
        "one unfenced operation is a back door for every dead worker",
        "design 4: every write of a run carries the fence; a store refuses an old one (INV-22)";
    fence.old_incarnation_is_stale_after_delete_and_recreate: Distributed Sequential,
        "a fence of the life before is refused although its epoch is the newest",
        "a worker of the deleted session would write into the new one",
        "Fence: the incarnation, so that deleting and creating again revives no old fence";
    fence.repeat_under_an_old_fence_says_what_is_known: Distributed Time,
        "a commit repeated after a takeover is told whether it was applied, as long as that is known",
        "without the answer the loser does not know whether what it did is recorded",
        "design 4: a repeat under an old fence answers StaleFence { applied: yes | no | unknown }";
    fence.repeat_of_commit_under_old_fence_answers_stale_yes_no_unknown: Durable Time,
        "the same over restarts of the store",
        "most old fences are those of processes that died",
        "design 4: the row keeps the last commit's operation id and outcome";
    fence.ended_by_release_except_for_the_repeat_of_that_commit: Durable Sequential,
        "after a release the fence writes nothing, but the release itself may be repeated",
        "a run that goes on after its release writes into a session that nobody holds",
        "Release: a release ends the fence, except for the repeat of that commit";
    commit.repeat_answers_the_first_outcome: Core Sequential,
        "a commit repeated under its operation id answers the same receipt and changes nothing",
        "a second application would append everything twice",
        "commit: a repeat of the last commit under the same fence answers the first outcome";
    commit.release_only_gives_the_claim_back: Core Sequential,
        "a claim given back leaves the status it found, with the alarm it names",
        "a worker that cannot serve a session must be able to put it back",
        "Release::GiveBack: the status that it found returns";
    commit.nobody_is_released_to_active: Core Sequential,
        "a release to active, or an asking that needs no answer, is an invalid argument",
        "active without a holder is a session that nobody takes",
        "Commit::check: refuses a release to active, a pending call that needs no answer";
    commit.one_failing_neighbour_does_not_fail_others: Distributed Concurrent,
        "a commit that is too large fails alone, those beside it are applied",
        "stores that write many commits at once would fail all of them",
        "design 6: a group that fails as a whole is repeated one by one";
    receipt.every_fenced_write_answers_news_and_now: Core Property,
        "commit, renewal, staging and deltas answer version, places, unread count, interrupt, now and lease",
        "a running session would have to poll for its news",
        "design 4: a commit, renewal, staging and delta batch answer one Receipt";
}

fn full() -> Commit {
    Commit {
        state: state("new"),
        messages: inline(["m"]),
        stage: vec![crate::fixture::result("c", "r")],
        events: events(["e"]),
        open: vec![approval("p")],
        run: crate::fixture::run_end(holdover_store::OutcomeKind::Completed),
        ..commit()
    }
}

async fn stale_epoch_commit_rejected_and_no_effect(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    t.take_over(&old.fence.key).await?;
    let before = t.snapshot(&old.fence.key).await?;
    let late = Commit { release: Some(release_to(SessionStatus::Idle)), ..full() };
    for commit in [full(), late] {
        let answer = t.try_commit(&old.fence, commit).await?;
        ensure_eq!(answer, CommitOutcome::StaleFence { applied: Applied::No }, "the answer");
        ensure_eq!(t.snapshot(&old.fence.key).await?, before, "the session");
    }
    Ok(())
}

async fn every_mutating_op_is_fenced(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    let new = t.take_over(&old.fence.key).await?;
    t.interrupt(&new.fence.key, soft("stop")).await?;
    let deleted = t.running("deleted").await?;
    t.store.delete_session(&deleted.fence.key, Deletion::FORCE).await?;
    let released = t.running("released").await?;
    t.release(&released.fence, SessionStatus::Suspended).await?;
    let wrong = [
        ("an old epoch", old.fence.clone()),
        ("an epoch to come", Fence { epoch: new.fence.epoch.next(), ..new.fence.clone() }),
        ("epoch 0", Fence { epoch: Epoch(0), ..new.fence.clone() }),
        ("another incarnation", Fence { incarnation: fresh_incarnation(), ..new.fence.clone() }),
        ("another tenant", Fence { key: key_of("other", "s"), ..new.fence.clone() }),
        ("another session", Fence { key: key("released"), ..new.fence.clone() }),
        ("a deleted session", deleted.fence.clone()),
        ("a released session", released.fence.clone()),
    ];
    let (held, parked) = (t.snapshot(&key("s")).await?, t.snapshot(&key("released")).await?);
    for (what, fence) in wrong {
        every_fenced_op(&t, &fence).await.map_err(|failure| failure.within(what))?;
        ensure_eq!(t.snapshot(&key("s")).await?, held, "the held session, under {what}");
        ensure_eq!(t.snapshot(&key("released")).await?, parked, "the released session, under {what}");
        ensure_eq!(
            t.store.load_session(&deleted.fence.key).await?,
            None,
            "the deleted session, under {what}"
        );
    }
    no_way_around_the_fence(&t, &new.fence, new.session.version).await?;
    ensure_eq!(t.snapshot(&key("s")).await?, held, "the held session, after what carries no fence");
    want!(t.store.take_interrupt(&new.fence).await?, InterruptCheck::Waiting(_));
    t.commit(&new.fence, commit()).await?;
    Ok(())
}

async fn every_fenced_op(t: &Bench, fence: &Fence) -> CaseResult {
    let renewed = t.store.renew_lease(fence, t.lease() * 9).await?;
    ensure_eq!(renewed, LeaseOutcome::StaleFence, "renew_lease");
    let staged = t.store.stage_result(fence, staging([("call", "result")])).await?;
    ensure_eq!(staged, StageOutcome::StaleFence, "stage_result");
    want!(t.try_commit(fence, full()).await?, CommitOutcome::StaleFence { .. });
    want!(t.try_commit(fence, commit()).await?, CommitOutcome::StaleFence { .. });
    let appended = t.try_append(fence, deltas(1, 1, ["word"])).await?;
    ensure_eq!(appended, DeltaOutcome::StaleFence, "append_deltas");
    let check = t.store.take_interrupt(fence).await?;
    ensure_eq!(check, InterruptCheck::StaleFence, "take_interrupt");
    Ok(())
}

/// Checks that operations without a fence take nothing from a run whose lease has not ended.
async fn no_way_around_the_fence(t: &Bench, fence: &Fence, version: Version) -> CaseResult {
    want!(t.store.claim_session(&fence.key, t.claim_one()).await?, ClaimOutcome::Held { .. });
    ensure_eq!(t.due_names().await?, Vec::<String>::new(), "what is due");
    for to in SessionStatus::ALL {
        let cas = StatusCas { incarnation: None, expected_version: version, to, items: vec![message("m")] };
        let answer = t.store.compare_and_set_status(&fence.key, cas).await?;
        want!(answer, CasOutcome::NotAllowed { .. });
    }
    let deleted = t.store.delete_session(&fence.key, Deletion::UNLESS_ACTIVE).await?;
    ensure_eq!(deleted, DeleteOutcome::Active, "delete_session");
    Ok(())
}

async fn old_incarnation_is_stale_after_delete_and_recreate(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    t.store.delete_session(&first.fence.key, Deletion::FORCE).await?;
    let second = t.running("s").await?;
    ensure_eq!(second.fence.epoch, first.fence.epoch, "the epoch, which begins anew");
    let before = t.snapshot(&first.fence.key).await?;
    every_fenced_op(&t, &first.fence).await?;
    let answer = t.try_commit(&first.fence, full()).await?;
    ensure_eq!(
        answer,
        CommitOutcome::StaleFence { applied: Applied::Unknown },
        "a commit of the life before"
    );
    ensure_eq!(t.snapshot(&first.fence.key).await?, before, "the session");
    Ok(())
}

async fn repeat_under_an_old_fence_says_what_is_known(t: Bench) -> CaseResult {
    yes_no_unknown(t, Restart::No).await
}

async fn repeat_of_commit_under_old_fence_answers_stale_yes_no_unknown(t: Bench) -> CaseResult {
    yes_no_unknown(t, Restart::Yes).await
}

async fn yes_no_unknown(t: Bench, restart: Restart) -> CaseResult {
    let old = t.running("s").await?;
    let first = Commit { expected_version: Some(old.session.version), ..commit() };
    let second = t.commit(&old.fence, first.clone()).await?.version;
    let applied = full();
    let third = t.commit(&old.fence, applied.clone()).await?.version;
    // This commit was decided on the version of the newest commit, so it can only come after it.
    let never = Commit { expected_version: Some(third), ..commit() };
    let lost = [
        ("an earlier one", first),
        ("one that was decided on an earlier version", Commit { expected_version: Some(second), ..commit() }),
        ("one that names no version", commit()),
    ];
    let t = t.after(restart).await;
    let new = t.take_over(&old.fence.key).await?;
    let stale = |applied| CommitOutcome::StaleFence { applied };
    let before = t.snapshot(&old.fence.key).await?;
    ensure_eq!(t.try_commit(&old.fence, applied.clone()).await?, stale(Applied::Yes), "what was applied");
    ensure_eq!(t.try_commit(&old.fence, never.clone()).await?, stale(Applied::No), "what was not");
    for (what, lost) in lost {
        ensure_eq!(t.try_commit(&old.fence, lost).await?, stale(Applied::Unknown), "{what}");
    }
    ensure_eq!(t.snapshot(&old.fence.key).await?, before, "the session after the repeats");
    t.commit(&new.fence, commit()).await?;
    let t = t.after(restart).await;
    for repeat in [applied, never] {
        let answer = t.try_commit(&old.fence, repeat).await?;
        ensure_eq!(answer, stale(Applied::Unknown), "once the newer run has committed");
    }
    Ok(())
}

async fn ended_by_release_except_for_the_repeat_of_that_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let earlier = commit();
    t.commit(&claim.fence, earlier.clone()).await?;
    let release = Commit { release: Some(release_to(SessionStatus::Idle)), ..full() };
    let first = t.try_commit(&claim.fence, release.clone()).await?;
    want!(&first, CommitOutcome::Committed(_));
    let t = t.reopen().await;
    let before = t.snapshot(&claim.fence.key).await?;
    ensure_eq!(t.try_commit(&claim.fence, release).await?, first, "the release repeated");
    every_fenced_op(&t, &claim.fence).await?;
    want!(t.try_commit(&claim.fence, earlier).await?, CommitOutcome::StaleFence { .. });
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn repeat_answers_the_first_outcome(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let named = Commit { expected_version: Some(claim.session.version), ..full() };
    let first = t.try_commit(&claim.fence, named.clone()).await?;
    want!(&first, CommitOutcome::Committed(_));
    // Changes in between do not change the answer.
    t.deliver(&claim.fence.key, message("m")).await?;
    t.advance(t.lease() / 10).await;
    let before = t.snapshot(&claim.fence.key).await?;
    ensure_eq!(t.try_commit(&claim.fence, named.clone()).await?, first, "the repeat");
    ensure_eq!(t.try_commit(&claim.fence, named.clone()).await?, first, "the second repeat");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the repeats");
    // The operation id decides, not the contents.
    let other = Commit { operation: crate::fixture::fresh_id("commit"), ..named };
    want!(t.try_commit(&claim.fence, other).await?, CommitOutcome::VersionConflict { .. });
    Ok(())
}

async fn release_only_gives_the_claim_back(t: Bench) -> CaseResult {
    let later = t.now().await?.after(t.lease() * 5);
    for alarm in [None, Some(later)] {
        for status in [SessionStatus::Idle, SessionStatus::Suspended, SessionStatus::Failed] {
            let key = t.left_as(&format!("{status}-{}", alarm.is_some()), status).await?;
            let claim = t.claim(&key).await?;
            let back = Commit { release: Some(Release::GiveBack { alarm }), ..commit() };
            t.commit(&claim.fence, back).await?;
            let session = t.load(&key).await?;
            ensure_eq!(session.status, status, "status after giving back");
            ensure_eq!(session.alarm, alarm, "alarm of a session that was {status}");
            ensure_eq!(session.lease, None, "lease of a session that was {status}");
            every_fenced_op(&t, &claim.fence).await?;
        }
    }
    Ok(())
}

async fn nobody_is_released_to_active(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let none_needed = holdover_store::NewPending { needed: 0, ..approval("p") };
    let invalid = [
        Commit { release: Some(release_to(SessionStatus::Active)), ..full() },
        Commit { open: vec![none_needed], ..commit() },
    ];
    for commit in invalid {
        let error = want!(t.store.commit(&claim.fence, commit).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "kind of the error");
        ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    }
    Ok(())
}

async fn one_failing_neighbour_does_not_fail_others(t: Bench) -> CaseResult {
    let too_large = t.too_large()?;
    let mut claims = Vec::new();
    for number in 0..8 {
        claims.push(t.running(&format!("s{number}")).await?);
    }
    let huge = holdover_store::payload::Payload::new(vec![b' '; too_large]);
    let answers = race(t.peers(8).await, |index, peer| {
        let fence = claims[index].fence.clone();
        let text = match index {
            3 => huge.clone(),
            _ => crate::fixture::bytes("m"),
        };
        Box::pin(async move {
            let append = Commit { messages: vec![holdover_store::NewMessage::Inline(text)], ..commit() };
            let stale = Commit { expected_version: Some(Version(1)), ..append.clone() };
            let append = if index == 5 { stale } else { append };
            Ok(peer.commit(&fence, append).await.map_err(|error| error.kind))
        })
    })
    .await?;
    for (index, answer) in answers.into_iter().enumerate() {
        match index {
            3 => ensure_eq!(answer, Err(StoreErrorKind::TooLarge), "the oversized commit"),
            5 => {
                want!(answer, Ok(CommitOutcome::VersionConflict { .. }));
            }
            _ => {
                want!(answer, Ok(CommitOutcome::Committed(_)));
            }
        }
        let expected = u64::from(![3, 5].contains(&index));
        let last = t.load(&claims[index].fence.key).await?.last_message;
        ensure_eq!(last, MessageSeq(expected), "newest message of session {index}");
    }
    Ok(())
}

async fn every_fenced_write_answers_news_and_now(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { messages: inline(["a", "b"]), ..commit() }).await?;
    let writes = ["commit", "renewal", "deltas", "staging"];
    for (round, write) in writes.into_iter().enumerate() {
        t.deliver(key, message(write)).await?;
        if round == 1 {
            t.interrupt(key, soft("stop")).await?;
        }
        t.advance(t.lease() / 20).await;
        let before = t.now().await?;
        let receipt = match write {
            "commit" => t.commit(&claim.fence, commit()).await?,
            "renewal" => {
                let renewed = t.store.renew_lease(&claim.fence, t.lease()).await?;
                want!(renewed, LeaseOutcome::Renewed(receipt) => receipt)
            }
            "deltas" => t.append(&claim.fence, deltas(1, 1, ["word"])).await?,
            _ => t.stage(&claim.fence, staging([("call", "result")])).await?,
        };
        let after = t.now().await?;
        ensure!(
            before <= receipt.now && receipt.now <= after,
            "expected the {write} to tell the store's now, from {before:?} to {after:?}",
            found = "{:?}",
            receipt.now
        );
        let session = t.load(key).await?;
        let items = round as u64 + 1;
        let expected = Receipt {
            version: session.version,
            last_message: MessageSeq(2),
            last_item: InboxSeq(items),
            unread: items,
            interrupt: round >= 1,
            now: receipt.now,
            lease_ends: session.lease.map_or(receipt.now, |lease| lease.ends),
        };
        ensure_eq!(receipt, expected, "the receipt of a {write}");
    }
    Ok(())
}
