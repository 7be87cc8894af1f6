//! The transcript: append-only, dense, never rewritten.

use holdover_store::MessagePage;

use super::prelude::*;
use crate::snapshot::{all_messages, walk_messages};

cases! {
    messages.append_assigns_dense_sequence: Core Sequential,
        "messages are numbered 1, 2, 3, … over all commits",
        "state keeps ranges of numbers; a hole is a message that is missing for ever",
        "Commit::messages: appended in this order, with dense sequence numbers (INV-02)";
    messages.batch_append_is_atomic_and_ordered: Core Sequential,
        "the messages of one commit keep their order, and a refused commit appends none",
        "a call whose result comes before it makes every provider refuse the transcript",
        "commit: applies a commit wholly or not at all (INV-04)";
    messages.append_at_another_version_is_conflict: Core Sequential,
        "a commit decided on another version appends nothing and is told the actual one",
        "two steps decided on one transcript would both be appended",
        "CommitOutcome::VersionConflict: the session has another version; nothing was changed (INV-03)";
    messages.existing_rows_are_immutable: Core Sequential,
        "what was appended never changes, whatever is committed later",
        "a transcript that changes under its readers cannot be trusted",
        "design 4: messages and events are append-only, dense, never truncated";
    messages.read_range_inclusive: Core Property,
        "a range holds its first and its last message, for every pair of ends",
        "off by one drops the newest message or repeats the oldest",
        "MessageRange: messages from ..= to; empty when to lies before from";
    messages.read_past_end_is_empty_not_error: Core Sequential,
        "what lies past the end is left out",
        "a reader that asks ahead would fail instead of waiting",
        "read_messages: what lies past the end is left out";
    messages.ranges_are_read_in_the_order_asked: Core Sequential,
        "several ranges come back in their order, also when they overlap",
        "after a rewind the current view is several ranges; in another order it is another conversation",
        "read_messages: by ranges, in the order of the ranges";
    messages.read_after_write_on_peer: Distributed Sequential,
        "another handle sees a commit as soon as it was acknowledged",
        "a worker that reads old messages answers an old question",
        "StateStore: once it answered, every handle on the same data sees it (INV-06)";
    messages.concurrent_append_no_gap_no_duplicate: Distributed Concurrent,
        "of 8 writers that name the version each commit is applied once, in some order, without gap",
        "a lost update is a message that somebody was told is there",
        "design 4: dense sequences; of K commits naming one version exactly one is applied (INV-02, INV-03)";
    messages.reader_never_sees_partial_batch: Distributed Concurrent,
        "a reader beside a writer sees each commit whole: messages and the state that counts them",
        "a reader that sees calls without results resumes from a state that never was",
        "commit: everything in one commit becomes visible together (INV-04)";
}

async fn append_assigns_dense_sequence(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { messages: inline(["1", "2"]), ..commit() }).await?;
    t.commit(&claim.fence, commit()).await?;
    let receipt = t.commit(&claim.fence, Commit { messages: inline(["3"]), ..commit() }).await?;
    ensure_eq!(receipt.last_message, MessageSeq(3), "newest message in the receipt");
    let next = t.take_over(&claim.fence.key).await?;
    ensure_eq!(next.session.last_message, MessageSeq(3), "newest message in the next claim");
    t.commit(&next.fence, Commit { messages: inline(["4", "5"]), ..commit() }).await?;
    let messages = t.snapshot(&claim.fence.key).await?.messages;
    let places: Vec<_> = messages.iter().map(|message| message.seq.0).collect();
    ensure_eq!(places, [1, 2, 3, 4, 5], "places");
    ensure_eq!(t.messages(&claim.fence.key).await?, ["1", "2", "3", "4", "5"], "messages");
    Ok(())
}

async fn batch_append_is_atomic_and_ordered(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let texts: [&str; 6] = ["f", "b", "a", "e", "", "a"];
    t.commit(&claim.fence, Commit { messages: inline(texts), ..commit() }).await?;
    ensure_eq!(t.messages(&claim.fence.key).await?, texts, "messages in the order of the commit");
    let before = t.snapshot(&claim.fence.key).await?;
    let mut messages = inline(["x", "y"]);
    messages.extend(crate::fixture::promote(["nothing-staged"]));
    let answer = t.try_commit(&claim.fence, Commit { messages, state: state("new"), ..commit() }).await?;
    want!(answer, CommitOutcome::NotStaged { .. });
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after a refused commit");
    Ok(())
}

async fn append_at_another_version_is_conflict(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let at = |version, text| Commit {
        expected_version: Some(version),
        messages: inline([text]),
        state: state(text),
        ..commit()
    };
    let first = t.commit(&claim.fence, at(claim.session.version, "first")).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    for expected in [claim.session.version, first.version.next()] {
        let answer = t.try_commit(&claim.fence, at(expected, "second")).await?;
        let conflict = CommitOutcome::VersionConflict { expected, actual: first.version };
        ensure_eq!(answer, conflict, "a commit decided on version {expected}");
        ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after the conflict");
    }
    Ok(())
}

async fn existing_rows_are_immutable(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { messages: inline(["1", "2"]), events: vec![bytes("e")], ..commit() })
        .await?;
    let before = t.snapshot(&claim.fence.key).await?;
    t.advance(t.lease() / 10).await;
    t.commit(&claim.fence, Commit { messages: inline(["3"]), state: state("other"), ..commit() }).await?;
    t.take_over(&claim.fence.key).await?;
    let after = t.snapshot(&claim.fence.key).await?;
    ensure_eq!(after.messages[..2], before.messages[..], "the first messages, with their instants");
    ensure_eq!(after.events[..1], before.events[..], "the first event, with its instant");
    Ok(())
}

async fn read_range_inclusive(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { messages: inline(["1", "2", "3", "4"]), ..commit() }).await?;
    for from in 0..=6 {
        for to in 0..=6 {
            let read = walk_messages(&t.store, &claim.fence.key, &[range(from, to)]).await?;
            let places: Vec<u64> = read.iter().map(|message| message.seq.0).collect();
            let expected: Vec<u64> = (1..=4).filter(|seq| from <= *seq && *seq <= to).collect();
            ensure_eq!(places, expected, "messages {from} ..= {to} of four");
        }
    }
    Ok(())
}

async fn read_past_end_is_empty_not_error(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    ensure_eq!(walk_messages(&t.store, &key, &[range(1, 10)]).await?, [], "messages of a new session");
    ensure_eq!(t.store.read_messages(&key, &[]).await?, MessagePage::default(), "no range");
    let claim = t.claim(&key).await?;
    t.commit(&claim.fence, Commit { messages: inline(["1"]), ..commit() }).await?;
    ensure_eq!(walk_messages(&t.store, &key, &[range(2, 10)]).await?, [], "messages past the end");
    let read = walk_messages(&t.store, &key, &[range(1, u64::MAX >> 1)]).await?;
    ensure_eq!(read.len(), 1, "messages from the first on");
    Ok(())
}

async fn ranges_are_read_in_the_order_asked(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { messages: inline(["1", "2", "3", "4", "5"]), ..commit() }).await?;
    let ranges = [range(4, 5), range(1, 2), range(3, 2), range(2, 4)];
    let read = walk_messages(&t.store, &claim.fence.key, &ranges).await?;
    let places: Vec<_> = read.iter().map(|message| message.seq.0).collect();
    ensure_eq!(places, [4, 5, 1, 2, 2, 3, 4], "messages of {ranges:?}");
    Ok(())
}

async fn read_after_write_on_peer(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    for count in 1..=20 {
        let receipt =
            t.commit(&claim.fence, Commit { messages: inline(["m"]), state: state("s"), ..commit() }).await?;
        let seen = all_messages(&peer, &claim.fence.key).await?.len();
        ensure_eq!(seen, count, "messages that a peer sees");
        let version = load(&peer, &claim.fence.key).await?.version;
        ensure_eq!(version, receipt.version, "version that a peer sees");
    }
    Ok(())
}

async fn concurrent_append_no_gap_no_duplicate(t: Bench) -> CaseResult {
    const EACH: usize = 10;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(8).await, |writer, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            let mut version = load(&peer, &fence.key).await?.version;
            for number in 0..EACH {
                let text = format!("{writer}-{number}");
                loop {
                    let append = Commit {
                        expected_version: Some(version),
                        messages: inline([text.as_str()]),
                        ..commit()
                    };
                    let outcome = peer.commit(&fence, append).await?;
                    if let CommitOutcome::Committed(receipt) = outcome {
                        version = receipt.version;
                        break;
                    }
                    version = want!(outcome, CommitOutcome::VersionConflict { actual, .. } => actual);
                }
            }
            Ok(())
        })
    })
    .await?;
    let messages = t.snapshot(&fence.key).await?.messages;
    let places: Vec<_> = messages.iter().map(|message| message.seq.0).collect();
    ensure_eq!(places, (1..=8 * EACH as u64).collect::<Vec<_>>(), "places");
    let mut texts = t.messages(&fence.key).await?;
    for writer in 0..8 {
        let own: Vec<_> = texts.iter().filter(|text| text.starts_with(&format!("{writer}-"))).collect();
        ensure!(own.is_sorted(), "expected writer {writer}'s messages in order", found = "{own:?}");
    }
    texts.sort();
    texts.dedup();
    ensure_eq!(texts.len(), 8 * EACH, "different messages");
    let version = t.load(&fence.key).await?.version;
    ensure_eq!(version, Version(2 + 8 * EACH as u64), "version: one for each commit");
    Ok(())
}

async fn reader_never_sees_partial_batch(t: Bench) -> CaseResult {
    const COMMITS: u64 = 30;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(3).await, |index, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            if index == 0 {
                for number in 1..=COMMITS {
                    let batch = Commit {
                        messages: inline(["a", "b", "c"]),
                        events: crate::fixture::events(["e"]),
                        state: state(&number.to_string()),
                        ..commit()
                    };
                    want!(peer.commit(&fence, batch).await?, CommitOutcome::Committed(_));
                }
                return Ok(());
            }
            loop {
                let session = load(&peer, &fence.key).await?;
                let commits = session.last_event.0;
                let shown = session.state.map_or(0, |state| {
                    String::from_utf8_lossy(state.bytes()).parse::<u64>().unwrap_or_default()
                });
                ensure_eq!(session.last_message.0, commits * 3, "newest message beside event {commits}");
                ensure_eq!(shown, commits, "state beside event {commits}");
                let read = all_messages(&peer, &fence.key).await?.len() as u64;
                ensure!(read.is_multiple_of(3), "expected whole batches of 3", found = "{read} messages");
                ensure!(
                    read >= session.last_message.0,
                    "expected what was announced",
                    found = "{read} messages"
                );
                if commits == COMMITS {
                    return Ok(());
                }
                // A store that never waits would block the writer.
                tokio::task::yield_now().await;
            }
        })
    })
    .await?;
    Ok(())
}
