//! Checkpoints: saved states of a session.

use super::prelude::*;
use crate::snapshot::{all_checkpoints, walk_checkpoints};

cases! {
    checkpoint.latest_and_by_id: Core Time,
        "a checkpoint keeps the state and the places as of its commit, under the version that it made",
        "a fork would begin at another moment than the one that was chosen",
        "Checkpoint: the state of a session after one of its commits; id: the version that its commit made";
    checkpoint.newest_first_by_pages_of_every_size: Core Property,
        "checkpoints are listed newest first, each once, by pages of every size",
        "a page that skips one hides it for good",
        "list_checkpoints: lists the checkpoints of a session, newest first";
    checkpoint.cursor_of_another_query_is_refused: Core Sequential,
        "a cursor is refused by the list of another session and by another choice of id",
        "read elsewhere it would skip rows",
        "CheckpointQuery::digest: everything but the page, to which its cursors are bound";
    checkpoint.without_a_state_is_refused: Core Sequential,
        "a commit that asks for a checkpoint without a state is an invalid argument and changes nothing",
        "a place would be kept from which nothing can begin",
        "Commit::checkpoint: only with a state";
    checkpoint.made_with_its_commit_or_not_at_all: Core Sequential,
        "a refused commit makes none, a repeated one no second",
        "a fork could begin at a moment that never was",
        "commit: applies a commit wholly or not at all (INV-04)";
    checkpoint.parent_chain_is_linear_per_branch: Core Time,
        "over runs and takeovers each checkpoint is later than the one before, in version, run and places",
        "a chain with two ends has two truths",
        "Checkpoint: never changed";
    checkpoint.concurrent_writers_cannot_fork_chain: Distributed Concurrent,
        "of 8 commits on one version one makes a checkpoint",
        "two checkpoints would claim to follow the same one",
        "Commit::expected_version: the version it was decided on (INV-22)";
    checkpoint.survives_reopen: Durable Sequential,
        "checkpoints are there after the store was closed and opened",
        "a place to go back to is kept for the day on which things went wrong",
        "Capabilities::commit_survives (INV-01)";
    checkpoint.removed_with_its_session: Core Sequential,
        "a session created again has none of the old checkpoints, and an unknown session is told so",
        "a fork of a new conversation would begin in a deleted one",
        "delete_session: removes every row of a session: ... checkpoints; list_checkpoints: NotFound";
}

async fn one(store: &Handle, key: &holdover_store::ids::SessionKey, id: u64) -> CaseResult<Vec<Checkpoint>> {
    let query = CheckpointQuery::one(key.clone(), CheckpointId(id));
    walk_checkpoints(store, query).await
}

async fn latest_and_by_id(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { messages: inline(["1"]), ..commit() }).await?;
    ensure_eq!(all_checkpoints(&t.store, key).await?, [], "after a commit that asked for none");
    t.advance(t.lease() / 5).await;
    let format = StateFormat(7);
    let kept = Commit {
        state: Some(NewState { format, payload: bytes("kept") }),
        messages: inline(["2", "3"]),
        events: events(["e"]),
        ..checkpoint("kept")
    };
    let receipt = t.commit(&claim.fence, kept).await?;
    let first = Checkpoint {
        id: CheckpointId(receipt.version.0),
        incarnation: claim.fence.incarnation,
        epoch: claim.fence.epoch,
        last_message: MessageSeq(3),
        last_event: EventSeq(1),
        at: receipt.now,
        format,
        state: bytes("kept"),
    };
    ensure_eq!(all_checkpoints(&t.store, key).await?, std::slice::from_ref(&first), "the checkpoints");
    // Later commits change neither the checkpoint nor the data that it keeps.
    t.advance(t.lease() / 5).await;
    let more = Commit { state: state("later"), messages: inline(["4"]), events: events(["f"]), ..commit() };
    t.commit(&claim.fence, more).await?;
    let release = Some(release_to(SessionStatus::Idle));
    let second = t.commit(&claim.fence, Commit { release, ..checkpoint("last") }).await?;
    let all = all_checkpoints(&t.store, key).await?;
    ensure_eq!(all.len(), 2, "checkpoints");
    ensure_eq!(all[1], first, "the first");
    ensure_eq!((all[0].id.0, &all[0].state), (second.version.0, &bytes("last")), "the newest");
    ensure_eq!(one(&t.store, key, receipt.version.0).await?, [first], "the first by its id");
    ensure_eq!(one(&t.store, key, second.version.0).await?, all[..1], "the newest by its id");
    for unknown in [0, 1, receipt.version.0 + 1, second.version.0 + 1, u64::MAX >> 1] {
        ensure_eq!(one(&t.store, key, unknown).await?, [], "version {unknown}, which made none");
    }
    Ok(())
}

async fn newest_first_by_pages_of_every_size(t: Bench) -> CaseResult {
    const CHECKPOINTS: u32 = 12;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&t.running("other").await?.fence, checkpoint("other")).await?;
    let mut made = Vec::new();
    for number in 0..CHECKPOINTS {
        made.push(t.commit(&claim.fence, checkpoint(&number.to_string())).await?.version.0);
        if number % 3 == 0 {
            t.commit(&claim.fence, commit()).await?;
        }
    }
    made.reverse();
    for limit in 1..=CHECKPOINTS + 1 {
        let mut query = CheckpointQuery::all(key.clone());
        query.page = PageRequest::first(count(limit));
        let mut walked = Vec::new();
        for page in 0..=PAGES_MAX {
            ends(page + 1)?;
            let read = t.store.list_checkpoints(&query).await?;
            ensure!(
                read.items.len() <= limit as usize,
                "expected at most {limit} rows",
                found = "{}",
                read.items.len()
            );
            walked.extend(read.items.into_iter().map(|checkpoint| checkpoint.id.0));
            match read.next {
                Some(next) => query.page.after = Some(next),
                None => break,
            }
        }
        ensure_eq!(walked, made, "a walk by {limit}");
    }
    Ok(())
}

async fn cursor_of_another_query_is_refused(t: Bench) -> CaseResult {
    for name in ["s", "other"] {
        let claim = t.running(name).await?;
        for _ in 0..4 {
            t.commit(&claim.fence, checkpoint("state")).await?;
        }
    }
    let own = CheckpointQuery::all(crate::fixture::key("s"));
    let first = CheckpointQuery { page: PageRequest::first(count(2)), ..own.clone() };
    let read = t.store.list_checkpoints(&first).await?;
    let cursor = want!(read.next, Some(cursor) => cursor);
    let page = PageRequest { after: Some(cursor), limit: Some(count(2)) };
    let others = [
        ("another session", CheckpointQuery::all(crate::fixture::key("other"))),
        ("one checkpoint", CheckpointQuery::one(crate::fixture::key("s"), CheckpointId(3))),
    ];
    for (what, query) in others {
        let query = CheckpointQuery { page: page.clone(), ..query };
        let error = want!(t.store.list_checkpoints(&query).await, Err(error) => error);
        ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "{what}");
    }
    let wider = PageRequest { limit: Some(count(9)), ..page };
    let rest = walk_checkpoints(&t.store, CheckpointQuery { page: wider, ..own }).await?;
    ensure_eq!(read.items.len() + rest.len(), 4, "the first page of its own query and those after it");
    Ok(())
}

async fn without_a_state_is_refused(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, checkpoint("state")).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let stateless = Commit { state: None, messages: inline(["m"]), ..checkpoint("") };
    let error = want!(t.store.commit(&claim.fence, stateless).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "the answer");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn made_with_its_commit_or_not_at_all(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let refused = [
        Commit { messages: promote(["nothing"]), ..checkpoint("never") },
        Commit { expected_version: Some(Version(99)), ..checkpoint("never") },
    ];
    for commit in refused {
        let answer = t.try_commit(&claim.fence, commit).await?;
        ensure!(!matches!(answer, CommitOutcome::Committed(_)), "expected a refusal", found = "{answer:?}");
        ensure_eq!(all_checkpoints(&t.store, key).await?, [], "after a refusal");
    }
    let kept = checkpoint("kept");
    let first = t.commit(&claim.fence, kept.clone()).await?;
    let before = t.snapshot(key).await?;
    t.advance(t.lease() / 5).await;
    ensure_eq!(t.commit(&claim.fence, kept).await?, first, "the repeat");
    ensure_eq!(t.snapshot(key).await?, before, "the session after the repeat");
    ensure_eq!(before.checkpoints.len(), 1, "checkpoints");
    Ok(())
}

async fn parent_chain_is_linear_per_branch(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let mut claim = t.claim(&key).await?;
    let mut made = Vec::new();
    for number in 0..6_u64 {
        let more = Commit { messages: inline(["m"]), events: events(["e"]), ..checkpoint("state") };
        made.push(t.commit(&claim.fence, more).await?.version.0);
        claim = if number % 2 == 0 {
            t.take_over(&key).await?
        } else {
            t.release(&claim.fence, SessionStatus::Idle).await?;
            t.claim(&key).await?
        };
    }
    let mut chain = all_checkpoints(&t.store, &key).await?;
    chain.reverse();
    ensure_eq!(chain.iter().map(|link| link.id.0).collect::<Vec<_>>(), made, "ids");
    for (link, number) in chain.iter().zip(1..) {
        let found = (link.epoch, link.last_message, link.last_event);
        ensure_eq!(found, (Epoch(number), MessageSeq(number), EventSeq(number)), "run and places, {number}");
    }
    ensure!(
        chain.is_sorted_by(|a, b| a.id < b.id && a.at <= b.at),
        "expected later and later",
        found = "{chain:?}"
    );
    Ok(())
}

async fn concurrent_writers_cannot_fork_chain(t: Bench) -> CaseResult {
    const ROUNDS: u64 = 8;
    const WRITERS: usize = 8;
    let claim = t.running("s").await?;
    let key = claim.fence.key.clone();
    let peers = t.peers(WRITERS).await;
    for round in 1..=ROUNDS {
        let version = t.load(&key).await?.version;
        let answers = race(peers.clone(), |index, peer| {
            let fence = claim.fence.clone();
            let name = format!("{round} by {index}");
            let one =
                Commit { expected_version: Some(version), messages: inline([&name]), ..checkpoint(&name) };
            Box::pin(async move { Ok(peer.commit(&fence, one).await?) })
        })
        .await?;
        let won = answers.iter().filter(|answer| matches!(answer, CommitOutcome::Committed(_))).count();
        ensure_eq!(won, 1, "commits that were applied in round {round}");
    }
    let found = snapshot(&t.store, &key).await?;
    ensure_eq!(found.checkpoints.len() as u64, ROUNDS, "checkpoints");
    for (kept, message) in found.checkpoints.iter().rev().zip(&found.messages) {
        ensure_eq!((&kept.state, kept.last_message), (&message.payload, message.seq), "a checkpoint's state");
    }
    Ok(())
}

async fn survives_reopen(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for text in ["1", "2", "3"] {
        t.commit(&claim.fence, Commit { messages: inline([text]), ..checkpoint(text) }).await?;
    }
    let before = t.snapshot(key).await?;
    ensure_eq!(before.checkpoints.len(), 3, "checkpoints");
    let t = t.reopen().await;
    ensure_eq!(t.snapshot(key).await?, before, "the session after closing and opening");
    Ok(())
}

async fn removed_with_its_session(t: Bench) -> CaseResult {
    let error = want!(t.store.list_checkpoints(&CheckpointQuery::all(nobody())).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "of nobody's session");
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let version = t.commit(&claim.fence, checkpoint("old")).await?.version;
    t.store.delete_session(key, Deletion::FORCE).await?;
    let error =
        want!(t.store.list_checkpoints(&CheckpointQuery::all(key.clone())).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::NotFound, "of a deleted session");
    let claim = t.running("s").await?;
    ensure_eq!(all_checkpoints(&t.store, key).await?, [], "once it was created again");
    let again = t.commit(&claim.fence, checkpoint("new")).await?.version;
    ensure_eq!(again, version, "the same version in the new life");
    let kept = one(&t.store, key, version.0).await?;
    ensure_eq!(kept.iter().map(|kept| &kept.state).collect::<Vec<_>>(), [&bytes("new")], "its state");
    Ok(())
}
