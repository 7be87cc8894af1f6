//! Staged results and their promotion.
//!
//! Requirements: H12.

use holdover_store::ids::CallId;

use super::prelude::*;

cases! {
    staging.result_is_invisible_until_promoted: Core Sequential,
        "a staged result is no message, and the version stays",
        "a result without its step breaks the transcript",
        "stage_result: durable before their step is finished; does not change the version";
    staging.stage_is_idempotent_by_call_id: Core Sequential,
        "staging the same result again is accepted and changes nothing",
        "after a lost answer the run stages again",
        "StageOutcome::Staged: by this write or by an earlier one with the same bytes";
    staging.restage_different_payload_is_conflict_first_wins: Core Sequential,
        "another result for a call is refused with all that came along, in staging and in a commit",
        "a second send of a call would overwrite what the first one did",
        "Staging::results: the first for a call wins for ever (INV-17)";
    staging.results_may_arrive_out_of_order: Core Sequential,
        "results are staged in any order and listed by call",
        "calls that run side by side end as they like",
        "Staged::results: in the order of their call ids";
    staging.start_marks_last_until_the_next_state: Core Sequential,
        "start marks are listed until a commit carries a state, and only until then",
        "a start mark that is lost makes an at-most-once call be sent twice",
        "Commit::state: start marks staged before it are dropped: the state names what started";
    staging.what_is_left_is_dropped_at_rest: Core Sequential,
        "what is staged stays while the session is left suspended, and is dropped once it is left idle",
        "a result that comes again after it was promoted would come with every claim, for ever",
        "Release::To: left idle, what is staged is dropped, also what this commit stages";
    staging.survives_reopen: Durable Sequential,
        "staged results and start marks are there after the store was closed and opened",
        "a result that is lost is a call that is sent again",
        "stage_result: makes results and start marks durable";
    staging.orphans_of_dead_run_are_listed_for_resume: Durable Crash,
        "the claim after a dead run brings what it had staged",
        "a result that the next run does not see is a call that is sent again",
        "Claim::session: its state, what is staged";
    promotion.state_and_results_become_visible_together: Core Sequential,
        "a promoted result is a message, is staged no longer, and comes with the commit's state",
        "a state that believes in messages that are not there cannot be resumed",
        "NewMessage::Promote: the staged result of this call; it is staged no longer";
    promotion.order_is_the_commits_not_arrival_order: Core Sequential,
        "promoted results stand where the commit names them, between other messages",
        "results in the order of arrival differ from one run to the next",
        "Commit::messages: appended in this order";
    promotion.unknown_staged_id_fails_whole_commit: Core Sequential,
        "a commit that promotes what is not staged changes nothing",
        "a call without a result would stay open for ever",
        "CommitOutcome::NotStaged: no result of this call is staged; nothing was changed";
    promotion.failed_cas_leaves_staged_intact: Core Sequential,
        "a refused commit keeps what it would have promoted",
        "a lost race would cost a result",
        "CommitOutcome::VersionConflict: nothing was changed";
    promotion.promotes_each_result_once: Core Sequential,
        "a result is promoted once: not twice in one commit, not by a later one, not by a repeat",
        "two results for one call are refused by every provider",
        "INV-08: each call has exactly one result";
    promotion.subset_keeps_remainder_staged: Core Sequential,
        "what a commit does not promote stays staged",
        "a result that is dropped is a call that is sent again",
        "Staged::results: results that no commit has promoted";
    promotion.clears_suspension_in_same_commit: Core Sequential,
        "closing a pending call, consuming its answer and promoting its result are one commit",
        "between them a second answer could slip in",
        "Commit: everything a run changes, applied wholly or not at all";
    promotion.lost_ack_then_retry_is_exactly_once: Durable Crash,
        "a commit repeated after its answer was lost, also on another handle, promotes once",
        "the owner repeats until it is answered; each repeat could append again",
        "commit: a repeat of the last commit under the same fence answers the first outcome";
    promotion.concurrent_stage_during_promote_not_lost: Distributed Concurrent,
        "results staged while others are promoted are all there in the end",
        "a commit that clears the staging area instead of what it names loses a result",
        "NewMessage::Promote: the staged result of this call";
    promotion.stale_lease_cannot_promote: Distributed Time,
        "a run that was taken over neither stages nor promotes",
        "its results would appear in a transcript that has moved on",
        "INV-23: a taken-over worker's writes change nothing, whenever they arrive";
}

fn names(calls: &[CallId]) -> Vec<&str> {
    calls.iter().map(CallId::as_str).collect()
}

async fn staged(t: &Bench, key: &holdover_store::ids::SessionKey) -> CaseResult<Vec<String>> {
    let results = t.load(key).await?.staged.results;
    Ok(results.iter().map(|result| result.call.to_string()).collect())
}

async fn result_is_invisible_until_promoted(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let receipt = t.stage(&claim.fence, staging([("call", "result")])).await?;
    ensure_eq!(receipt.version, claim.session.version, "version in the receipt");
    ensure_eq!(receipt.last_message, claim.session.last_message, "newest message in the receipt");
    let key = &claim.fence.key;
    ensure_eq!(t.messages(key).await?, Vec::<String>::new(), "messages");
    ensure_eq!(t.load(key).await?.staged.results, [result("call", "result")], "what is staged");
    Ok(())
}

async fn stage_is_idempotent_by_call_id(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("call", "result")])).await?;
    let before = t.load(&claim.fence.key).await?.staged;
    t.stage(&claim.fence, staging([("call", "result")])).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.staged, before, "what is staged");
    t.commit(&claim.fence, Commit { stage: vec![result("call", "result")], ..commit() }).await?;
    ensure_eq!(t.load(&claim.fence.key).await?.staged, before, "what is staged after a commit staged it too");
    Ok(())
}

async fn restage_different_payload_is_conflict_first_wins(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("call", "first")])).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let mut second = staging([("new", "new"), ("call", "second")]);
    second.starts = vec![id("mark")];
    let answer = t.store.stage_result(&claim.fence, second).await?;
    ensure_eq!(answer, StageOutcome::Conflict { call: id("call") }, "staging another result");
    let within = t.store.stage_result(&claim.fence, staging([("twin", "a"), ("twin", "b")])).await?;
    ensure_eq!(within, StageOutcome::Conflict { call: id("twin") }, "two results for one call in one write");
    let committing = Commit { stage: vec![result("call", "second")], messages: inline(["m"]), ..commit() };
    let answer = t.try_commit(&claim.fence, committing).await?;
    ensure_eq!(answer, CommitOutcome::StageConflict { call: id("call") }, "committing another result");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the conflicts");
    Ok(())
}

async fn results_may_arrive_out_of_order(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("c", "3")])).await?;
    t.stage(&claim.fence, staging([("b", "2"), ("A", "0"), ("a", "1")])).await?;
    let expected = [result("A", "0"), result("a", "1"), result("b", "2"), result("c", "3")];
    ensure_eq!(t.load(&claim.fence.key).await?.staged.results, expected, "what is staged");
    Ok(())
}

async fn start_marks_last_until_the_next_state(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let marks = |calls: &[&str]| Staging {
        starts: calls.iter().map(|call| id(call)).collect(),
        ..Staging::default()
    };
    t.stage(&claim.fence, marks(&["b"])).await?;
    t.stage(&claim.fence, marks(&["a", "b"])).await?;
    ensure_eq!(names(&t.load(&claim.fence.key).await?.staged.starts), ["a", "b"], "marks");
    t.commit(&claim.fence, Commit { messages: inline(["m"]), ..commit() }).await?;
    ensure_eq!(
        names(&t.load(&claim.fence.key).await?.staged.starts),
        ["a", "b"],
        "marks after a commit without a state"
    );
    t.stage(&claim.fence, staging([("a", "result")])).await?;
    t.commit(&claim.fence, Commit { state: state("names what started"), ..commit() }).await?;
    let left = t.load(&claim.fence.key).await?.staged;
    ensure_eq!(names(&left.starts), Vec::<&str>::new(), "marks after a commit with a state");
    ensure_eq!(left.results, [result("a", "result")], "results after a commit with a state");
    Ok(())
}

async fn what_is_left_is_dropped_at_rest(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = claim.fence.key.clone();
    t.stage(&claim.fence, staging([("call", "result"), ("other", "kept")])).await?;
    t.commit(&claim.fence, Commit { messages: promote(["call"]), ..commit() }).await?;
    t.stage(&claim.fence, staging([("call", "result")])).await?;
    let both = [result("call", "result"), result("other", "kept")];
    ensure_eq!(t.load(&key).await?.staged.results, both, "what came again, beside what is owed");
    t.release(&claim.fence, SessionStatus::Suspended).await?;
    let claim = t.claim(&key).await?;
    ensure_eq!(claim.session.staged.results, both, "after the session was suspended");
    let ends = Commit {
        stage: vec![result("late", "too")],
        messages: promote(["other"]),
        release: Some(release_to(SessionStatus::Idle)),
        ..commit()
    };
    t.commit(&claim.fence, ends).await?;
    ensure_eq!(t.load(&key).await?.staged.results, [], "after the session was left idle");
    ensure_eq!(t.messages(&key).await?, ["result", "kept"], "messages");
    let claim = t.claim(&key).await?;
    ensure_eq!(claim.session.staged.results, [], "in the next claim");
    t.stage(&claim.fence, staging([("call", "another")])).await?;
    ensure_eq!(t.load(&key).await?.staged.results, [result("call", "another")], "a call of the next turn");
    Ok(())
}

async fn survives_reopen(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let mut both = staging([("a", "1"), ("b", "2")]);
    both.starts = vec![id("c")];
    t.stage(&claim.fence, both).await?;
    let before = t.load(&claim.fence.key).await?;
    let t = t.reopen().await;
    ensure_eq!(t.load(&claim.fence.key).await?, before, "the session after closing and opening");
    Ok(())
}

async fn orphans_of_dead_run_are_listed_for_resume(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let mut both = staging([("done", "result")]);
    both.starts = vec![id("out")];
    t.stage(&claim.fence, both).await?;
    let t = t.reopen().await;
    let next = t.take_over(&claim.fence.key).await?;
    ensure_eq!(next.session.staged.results, [result("done", "result")], "results in the claim");
    ensure_eq!(names(&next.session.staged.starts), ["out"], "start marks in the claim");
    t.commit(&next.fence, Commit { messages: promote(["done"]), ..commit() }).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, ["result"], "messages");
    Ok(())
}

/// Requirements: H12.
async fn state_and_results_become_visible_together(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("a", "1")])).await?;
    t.commit(&claim.fence, Commit { messages: promote(["a"]), state: state("after a"), ..commit() }).await?;
    let session = t.load(&claim.fence.key).await?;
    ensure_eq!(session.state, state("after a").map(|state| state.payload), "state");
    ensure_eq!(session.staged.results, [], "what is staged");
    ensure_eq!(t.messages(&claim.fence.key).await?, ["1"], "messages");
    Ok(())
}

async fn order_is_the_commits_not_arrival_order(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    for (call, text) in [("c", "3"), ("a", "1"), ("b", "2")] {
        t.stage(&claim.fence, staging([(call, text)])).await?;
    }
    let mut messages = inline(["before"]);
    messages.extend(promote(["b", "c", "a"]));
    messages.extend(inline(["after"]));
    t.commit(&claim.fence, Commit { messages, ..commit() }).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, ["before", "2", "3", "1", "after"], "messages");
    Ok(())
}

async fn unknown_staged_id_fails_whole_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("known", "result")])).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let bad = Commit {
        messages: promote(["known", "unknown"]),
        state: state("new"),
        events: events(["e"]),
        open: vec![approval("p")],
        release: Some(release_to(SessionStatus::Idle)),
        ..commit()
    };
    let answer = t.try_commit(&claim.fence, bad).await?;
    ensure_eq!(answer, CommitOutcome::NotStaged { call: id("unknown") }, "the answer");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn failed_cas_leaves_staged_intact(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("a", "1")])).await?;
    let promoting = |version| Commit { expected_version: version, messages: promote(["a"]), ..commit() };
    let stale = t.try_commit(&claim.fence, promoting(Some(claim.session.version.next()))).await?;
    want!(stale, CommitOutcome::VersionConflict { .. });
    ensure_eq!(staged(&t, &claim.fence.key).await?, ["a"], "what is staged");
    t.commit(&claim.fence, promoting(Some(claim.session.version))).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, ["1"], "messages");
    Ok(())
}

async fn promotes_each_result_once(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("a", "1")])).await?;
    let twice = t.try_commit(&claim.fence, Commit { messages: promote(["a", "a"]), ..commit() }).await?;
    ensure_eq!(twice, CommitOutcome::NotStaged { call: id("a") }, "twice in one commit");
    let promoting = Commit { messages: promote(["a"]), ..commit() };
    let first = t.try_commit(&claim.fence, promoting.clone()).await?;
    want!(&first, CommitOutcome::Committed(_));
    ensure_eq!(t.try_commit(&claim.fence, promoting).await?, first, "a repeat of the commit");
    let later = t.try_commit(&claim.fence, Commit { messages: promote(["a"]), ..commit() }).await?;
    ensure_eq!(later, CommitOutcome::NotStaged { call: id("a") }, "a later commit");
    ensure_eq!(t.messages(&claim.fence.key).await?, ["1"], "messages");
    Ok(())
}

async fn subset_keeps_remainder_staged(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("a", "1"), ("b", "2"), ("c", "3")])).await?;
    let half = Commit { messages: promote(["b"]), stage: vec![result("d", "4")], ..commit() };
    t.commit(&claim.fence, half).await?;
    ensure_eq!(staged(&t, &claim.fence.key).await?, ["a", "c", "d"], "what is staged");
    t.commit(&claim.fence, Commit { messages: promote(["d", "c", "a"]), ..commit() }).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, ["2", "4", "3", "1"], "messages");
    Ok(())
}

async fn clears_suspension_in_same_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.stage(&claim.fence, staging([("done", "1")])).await?;
    let park = Commit {
        open: vec![approval("asked")],
        release: Some(release_to(SessionStatus::Suspended)),
        ..commit()
    };
    t.commit(&claim.fence, park).await?;
    let seq = t.deliver(key, crate::fixture::answer(&claim.fence, "asked", "yes")).await?;
    let next = t.claim(key).await?;
    let resume = Commit {
        inbox_seen: Some(seq),
        consumed: vec![seq],
        close: vec![id("asked")],
        messages: [promote(["done"]), inline(["2"])].concat(),
        state: state("resumed"),
        ..commit()
    };
    t.commit(&next.fence, resume).await?;
    let after = t.snapshot(key).await?;
    ensure_eq!(after.pending, [], "pending calls");
    ensure_eq!(after.inbox, [], "inbox");
    ensure_eq!(t.messages(key).await?, ["1", "2"], "messages");
    Ok(())
}

async fn lost_ack_then_retry_is_exactly_once(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.stage(&claim.fence, staging([("a", "1")])).await?;
    let promoting = Commit { messages: promote(["a"]), events: events(["e"]), ..commit() };
    let first = t.try_commit(&claim.fence, promoting.clone()).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let peer = t.peer().await;
    let repeat = peer.commit(&claim.fence, promoting.clone()).await?;
    ensure_eq!(repeat, first, "the repeat on another handle");
    drop(peer);
    let t = t.reopen().await;
    ensure_eq!(t.try_commit(&claim.fence, promoting.clone()).await?, first, "the repeat after a restart");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the repeats");
    t.take_over(&claim.fence.key).await?;
    let late = t.try_commit(&claim.fence, promoting).await?;
    ensure_eq!(late, CommitOutcome::StaleFence { applied: Applied::Yes }, "the repeat after a takeover");
    Ok(())
}

async fn concurrent_stage_during_promote_not_lost(t: Bench) -> CaseResult {
    const CALLS: usize = 12;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(2).await, |index, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            let mut promoted = 0;
            while index == 0 && promoted < CALLS {
                let call: CallId = id(&format!("c{promoted:02}"));
                let messages = vec![holdover_store::NewMessage::Promote(call)];
                let outcome = peer.commit(&fence, Commit { messages, ..commit() }).await?;
                if let CommitOutcome::Committed(_) = outcome {
                    promoted += 1;
                } else {
                    want!(outcome, CommitOutcome::NotStaged { .. });
                    tokio::task::yield_now().await;
                }
            }
            for number in (0..CALLS).filter(|_| index == 1) {
                let (call, kept) = (format!("c{number:02}"), format!("k{number:02}"));
                let results = staging([(call.as_str(), call.as_str()), (kept.as_str(), "kept")]);
                want!(peer.stage_result(&fence, results).await?, StageOutcome::Staged(_));
            }
            Ok(())
        })
    })
    .await?;
    let expected: Vec<_> = (0..CALLS).map(|number| format!("c{number:02}")).collect();
    ensure_eq!(t.messages(&fence.key).await?, expected, "messages");
    let kept: Vec<_> = (0..CALLS).map(|number| format!("k{number:02}")).collect();
    ensure_eq!(staged(&t, &fence.key).await?, kept, "what is staged");
    Ok(())
}

async fn stale_lease_cannot_promote(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    t.stage(&old.fence, staging([("a", "1")])).await?;
    t.take_over(&old.fence.key).await?;
    let before = t.snapshot(&old.fence.key).await?;
    let answer = t.try_commit(&old.fence, Commit { messages: promote(["a"]), ..commit() }).await?;
    ensure_eq!(answer, CommitOutcome::StaleFence { applied: Applied::No }, "the promotion");
    let answer = t.store.stage_result(&old.fence, staging([("b", "2")])).await?;
    ensure_eq!(answer, StageOutcome::StaleFence, "the staging");
    ensure_eq!(t.snapshot(&old.fence.key).await?, before, "the session");
    Ok(())
}
