//! Forks that are repeated, refused, interrupted in the middle, or concurrent with other operations.

use std::time::Duration;

use super::prelude::*;
use crate::backoff::Backoff;
use crate::cancel::PollAtMost;

cases! {
    fork.repeat_answers_the_same_and_changes_nothing: Core Sequential needs Forks,
        "a fork repeated under its operation id is answered again, also when source or fork have moved on or the source is gone",
        "an acknowledgement that was lost would leave the caller without a branch, or with two",
        "fork_session: a repeat with the same operation id answers Forked again";
    fork.of_another_operation_is_already_exists: Core Property needs Forks,
        "a key that is taken is answered with who has it, and left as it is",
        "a branch would be written over a conversation",
        "ForkOutcome::AlreadyExists: another session has the fork's key; it was not touched";
    fork.visible_only_when_whole_and_repeatable: Core Crash needs Forks,
        "dropped at any await, a peer sees nothing of a fork or all of it, and the repeat completes it",
        "half a transcript would be taken for the whole",
        "fork_session: the fork becomes visible whole (INV-04)";
    fork.beside_commits_of_the_source: Distributed Concurrent needs Forks,
        "forks made while the source runs hold exactly the prefix of their checkpoint",
        "a fork would begin with words that were said after it",
        "fork_session: from the prefix of another one that a checkpoint names";
    fork.concurrent_forks_of_one_key_one_winner: Distributed Concurrent needs Forks,
        "of 8 forks to one key one is made, whole, and the others are told whose it is",
        "two branches would be mixed in one session",
        "ForkOutcome::AlreadyExists: another session has the fork's key";
}

/// Creates a running session with `messages` messages and events, and a checkpoint after them.
async fn source(t: &Bench, messages: usize) -> CaseResult<(Claim, Version)> {
    let claim = t.running("source").await?;
    let said = (0..messages).map(|number| bytes(&number.to_string()));
    let all = Commit {
        messages: said.clone().map(NewMessage::Inline).collect(),
        events: said.collect(),
        ..checkpoint("state")
    };
    let version = t.commit(&claim.fence, all).await?.version;
    Ok((claim, version))
}

async fn fork(store: &Handle, from: &SessionKey, at: Version, new: &NewFork) -> CaseResult<ForkOutcome> {
    Ok(store.fork_session(from, CheckpointId(at.0), new.clone()).await?)
}

async fn repeat_answers_the_same_and_changes_nothing(t: Bench) -> CaseResult {
    let (claim, at) = source(&t, 3).await?;
    let (origin, new) = (&claim.fence.key, new_fork(claim.fence.incarnation, "fork"));
    let first = fork(&t.store, origin, at, &new).await?;
    want!(&first, ForkOutcome::Forked { .. });
    let again = async |what: &str| -> CaseResult {
        let before = t.snapshot(&new.key).await?;
        t.advance(t.lease() / 10).await;
        ensure_eq!(fork(&t.store, origin, at, &new).await?, first, "the repeat, {what}");
        ensure_eq!(t.snapshot(&new.key).await?, before, "the fork, {what}");
        Ok(())
    };
    again("at once").await?;
    t.commit(&claim.fence, Commit { messages: inline(["later"]), ..checkpoint("later") }).await?;
    again("after the source went on").await?;
    t.deliver(&new.key, message("m")).await?;
    let run = t.claim(&new.key).await?;
    t.commit(&run.fence, Commit { messages: inline(["own"]), ..commit() }).await?;
    again("after the fork went on").await?;
    t.store.delete_session(origin, Deletion::FORCE).await?;
    again("after the source was deleted").await?;
    t.running("source").await?;
    again("after the source was created again").await?;
    // After the fork is deleted, no repeat brings it back.
    t.store.delete_session(&new.key, Deletion::FORCE).await?;
    ensure_eq!(fork(&t.store, origin, at, &new).await?, ForkOutcome::Deleted, "after the fork was deleted");
    Ok(())
}

async fn of_another_operation_is_already_exists(t: Bench) -> CaseResult {
    let (claim, at) = source(&t, 3).await?;
    let (origin, life) = (&claim.fence.key, claim.fence.incarnation);
    let first = new_fork(life, "fork");
    t.fork(origin, at, first.clone()).await?;
    let suspended = t.left_as("suspended", SessionStatus::Suspended).await?;
    for taken in [first.key, suspended, origin.clone()] {
        let before = t.snapshot(&taken).await?;
        let session = t.load(&taken).await?;
        let new = NewFork { key: taken.clone(), ..new_fork(life, "other") };
        let expected = ForkOutcome::AlreadyExists {
            incarnation: session.incarnation,
            status: session.status,
            version: session.version,
        };
        ensure_eq!(fork(&t.store, origin, at, &new).await?, expected, "a fork to {taken}");
        ensure_eq!(t.snapshot(&taken).await?, before, "{taken}");
    }
    Ok(())
}

/// More awaits than a fork needs.
const POLLS_MAX: usize = 500;
/// The time for which a cancelled fork may continue in the background.
const SETTLE_MAX: Duration = Duration::from_secs(20);

/// Returns true if a peer sees the whole fork, and false if it sees no fork. Fails if it sees a part of the fork. A
/// dropped fork may continue for a while, so a read that overlaps its end is repeated.
async fn none_or_whole(peer: &Handle, whole: &Snapshot) -> CaseResult<bool> {
    let deadline = tokio::time::Instant::now() + SETTLE_MAX;
    let key = key("fork");
    let mut pauses = Backoff::new();
    loop {
        match snapshot(peer, &key).await {
            Ok(found) if found.session.is_none() => return Ok(false),
            Ok(found) if same_rows(&found, whole) => return Ok(true),
            found if tokio::time::Instant::now() > deadline => {
                return Err(Failure::new(format!("expected none of it, or all\n    found {found:?}")));
            }
            Ok(_) | Err(_) => pauses.pause().await,
        }
    }
}

fn same_rows(found: &Snapshot, whole: &Snapshot) -> bool {
    let said = |of: &Snapshot| of.messages.iter().map(|m| (m.seq, m.payload.clone())).collect::<Vec<_>>();
    let told = |of: &Snapshot| of.events.iter().map(|e| (e.seq, e.payload.clone())).collect::<Vec<_>>();
    let kept = |of: &Snapshot| of.checkpoints.iter().map(|c| (c.id, c.state.clone())).collect::<Vec<_>>();
    said(found) == said(whole) && told(found) == told(whole) && kept(found) == kept(whole)
}

async fn visible_only_when_whole_and_repeatable(t: Bench) -> CaseResult {
    const MESSAGES: usize = 250;
    let (claim, at) = source(&t, MESSAGES).await?;
    let (origin, new) = (&claim.fence.key, new_fork(claim.fence.incarnation, "fork"));
    t.fork(origin, at, new.clone()).await?;
    let whole = t.snapshot(&new.key).await?;
    ensure_eq!((whole.messages.len(), whole.events.len()), (MESSAGES + 1, MESSAGES + 1), "rows of the fork");
    let peer = t.peer().await;
    for polls in 1..=POLLS_MAX {
        t.store.delete_session(&new.key, Deletion::FORCE).await?;
        let new = NewFork { incarnation: fresh_incarnation(), operation: fresh_id("fork"), ..new.clone() };
        let ended = PollAtMost::new(polls, fork(&t.store, origin, at, &new)).await;
        let seen =
            none_or_whole(&peer, &whole).await.map_err(|at| at.within(format!("after {polls} polls")))?;
        ensure!(seen || ended.is_none(), "expected the fork that was acknowledged", found = "none");
        // A repeat through another handle completes the fork.
        want!(fork(&peer, origin, at, &new).await?, ForkOutcome::Forked { .. });
        ensure!(none_or_whole(&peer, &whole).await?, "expected the fork that was repeated", found = "none");
        // The dropped fork may still be on its way through this handle, so another write follows it.
        t.commit(&claim.fence, commit()).await?;
        if ended.is_some() {
            return Ok(());
        }
    }
    Err(Failure::new(format!("expected an end after at most {POLLS_MAX} polls\n    found none")))
}

async fn beside_commits_of_the_source(t: Bench) -> CaseResult {
    const ROUNDS: usize = 12;
    let (claim, at) = source(&t, 4).await?;
    let (origin, life) = (claim.fence.key.clone(), claim.fence.incarnation);
    let before = t.snapshot(&origin).await?;
    race(t.peers(3).await, |index, peer| {
        let (fence, origin) = (claim.fence.clone(), origin.clone());
        Box::pin(async move {
            for round in 0..ROUNDS {
                if index == 0 {
                    let more = Commit {
                        messages: inline(["more", "and more"]),
                        events: vec![bytes("more")],
                        ..checkpoint("more")
                    };
                    let answer = peer.commit(&fence, more).await?;
                    want!(answer, CommitOutcome::Committed(_));
                } else {
                    let new = new_fork(life, &format!("fork-{index}-{round}"));
                    want!(fork(&peer, &origin, at, &new).await?, ForkOutcome::Forked { .. });
                }
            }
            Ok(())
        })
    })
    .await?;
    for index in 1..3 {
        for round in 0..ROUNDS {
            let fork = t.snapshot(&key(&format!("fork-{index}-{round}"))).await?;
            ensure_eq!(fork.messages.len(), before.messages.len() + 1, "messages of fork {index}-{round}");
            ensure_eq!(fork.messages[..4], before.messages, "the prefix of fork {index}-{round}");
            ensure_eq!(fork.events[..4], before.events, "the events of fork {index}-{round}");
            ensure_eq!(fork.checkpoints.len(), 2, "the checkpoints of fork {index}-{round}");
        }
    }
    let source = t.snapshot(&origin).await?;
    ensure_eq!(source.messages.len(), 4 + 2 * ROUNDS, "messages of the source");
    Ok(())
}

async fn concurrent_forks_of_one_key_one_winner(t: Bench) -> CaseResult {
    const ROUNDS: usize = 6;
    const FORKS: usize = 8;
    let (claim, at) = source(&t, 2).await?;
    let life = claim.fence.incarnation;
    let peers = t.peers(FORKS).await;
    for round in 0..ROUNDS {
        let answers = race(peers.clone(), |index, peer| {
            let origin = claim.fence.key.clone();
            let own = NewFork {
                messages: vec![bytes(&index.to_string()); 3],
                ..new_fork(life, &format!("fork-{round}"))
            };
            Box::pin(async move { Ok((own.incarnation, fork(&peer, &origin, at, &own).await?)) })
        })
        .await?;
        let winner = |(_, answer): &&(_, ForkOutcome)| matches!(answer, ForkOutcome::Forked { .. });
        let won: Vec<_> = answers.iter().filter(winner).collect();
        ensure_eq!(won.len(), 1, "forks that were made in round {round}");
        let found = t.load(&key(&format!("fork-{round}"))).await?;
        ensure_eq!(found.incarnation, won[0].0, "whose fork it is");
        for (_, answer) in &answers {
            if let ForkOutcome::AlreadyExists { incarnation, .. } = answer {
                ensure_eq!(*incarnation, found.incarnation, "whose it is, as the others were told");
            }
        }
        let said = t.messages(&found.key).await?;
        ensure_eq!(said.len(), 5, "messages of the fork");
        ensure!(
            said[2..].iter().all(|text| *text == said[2]),
            "expected the words of one",
            found = "{said:?}"
        );
    }
    Ok(())
}
