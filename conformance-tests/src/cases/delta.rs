//! Deltas: the text of a model as it is streamed.

use super::prelude::*;
use crate::reader::Shown;

cases! {
    deltas.shown_after_the_log_in_order: Core Sequential,
        "batches of one stream are shown after the newest event, each delta once and in order",
        "a client would show words in another order than they were said",
        "append_deltas: what is acknowledged is shown by read_events until the stream is over";
    deltas.replaced_by_next_attempt_removed_by_commit: Core Sequential,
        "the next stream replaces what is there, the commit of its message removes it, late batches are refused",
        "a dead attempt's words would stand beside the message, or come back after it",
        "design 4: the next attempt replaces it, the commit of the message removes it";
    deltas.commit_of_an_earlier_message_leaves_a_later_stream: Core Sequential,
        "a commit removes the stream that it names and those before it, and no other",
        "the commit of one message would cut the next in the middle of a word",
        "Commit::streamed: the number of the model call whose message is in this commit";
    deltas.removed_by_release_claim_and_give_back: Distributed Time,
        "whatever ends the run removes its deltas",
        "a session that rests would look as if its model still spoke",
        "store::delta: the commit of the message, a release and a claim empty it";
    deltas.takeover_never_continues_a_dead_attempts_numbers: Distributed Time,
        "after a takeover deltas begin at 1 in a stream that is greater",
        "two attempts would run together in one text",
        "design 4: a takeover never continues a dead attempt's numbers";
    deltas.stale_fence_cannot_append: Distributed Time,
        "no fence but that of the run that holds the session appends",
        "a dead worker would talk into its successor's answer",
        "DeltaOutcome::StaleFence: another run owns the session now, or it was released or deleted (INV-22)";
    deltas.do_not_touch_version_or_event_sequence: Core Time,
        "deltas leave the session, its log, its lease and its instants as they were",
        "a stream would make the commit fail that was decided beside it",
        "append_deltas: changes nothing but the deltas: not the version, not the event log, not the lease";
    deltas.a_gap_is_refused: Core Sequential,
        "a batch that does not follow is refused and told what is expected, and changes nothing",
        "a reader would show a text with a hole",
        "DeltaOutcome::Gap: the batch would leave a gap; nothing was changed";
    deltas.a_repeated_batch_appends_only_what_is_new: Core Property,
        "a batch sent again changes nothing, one that overlaps appends its rest, whatever its bytes",
        "an acknowledgement that was lost would show words twice",
        "DeltaBatch::first: what is there already stays as it is";
    deltas.survive_reopen: Durable Sequential,
        "deltas and cursors within them go on after the store was closed and opened",
        "every restart would void what clients show",
        "append_deltas: what is acknowledged is shown by read_events until the stream is over";
    deltas.too_large_or_empty_is_refused: Core Property,
        "a batch at the limits is taken, one beyond them or without meaning is refused and changes nothing",
        "a store that takes what it cannot keep fails later, in the middle of something",
        "DeltaBatch::check: no delta, a number of 0, a payload or a whole larger than capabilities allow";
    deltas.removed_with_the_session: Core Sequential,
        "a session created again shows none of the old deltas, and begins at 1",
        "a new conversation would begin with a stranger's words",
        "delete_session: removes every row of a session: messages, events, deltas";
    deltas.late_batch_beside_the_commit_that_ends_its_stream: Distributed Concurrent,
        "of a batch and the commit that ends its stream, whichever comes first, nothing is left",
        "words of a message that was committed would stay for ever",
        "DeltaOutcome::Ended: its message was committed";
}

/// Reads the deltas that the session shows, in one page.
async fn shown(t: &Bench, key: &SessionKey) -> CaseResult<Shown> {
    Ok(read(&t.store, key, &EventCursor::START, 200).await?.stream)
}

/// Returns stream `number` of run `run` with these texts.
fn stream<const N: usize>(run: u64, number: u32, texts: [&str; N]) -> Shown {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    Some((StreamId { run: Epoch(run), number }, texts))
}

async fn shown_after_the_log_in_order(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    ensure_eq!(shown(&t, key).await?, None, "before the first delta");
    t.commit(&claim.fence, Commit { events: events(["1", "2"]), ..commit() }).await?;
    t.append(&claim.fence, deltas(1, 1, ["b"])).await?;
    let receipt = t.append(&claim.fence, deltas(1, 2, ["a", ""])).await?;
    let session = t.load(key).await?;
    ensure_eq!(receipt.version, session.version, "the version in the receipt");
    ensure_eq!(Some(receipt.lease_ends), session.lease.map(|lease| lease.ends), "the lease in the receipt");
    let page = read(&t.store, key, &EventCursor::START, 200).await?;
    ensure_eq!(page.events, [1, 2], "events");
    ensure_eq!(page.stream, stream(1, 1, ["b", "a", ""]), "the stream");
    ensure!(!page.more, "expected a page that is the last", found = "that it says there is more");
    let rest = read(&t.store, key, &page.next, 200).await?;
    ensure_eq!((rest.events, rest.stream, rest.next), (vec![], stream(1, 1, []), page.next), "the next page");
    // Another session shows no deltas.
    let other = t.running("other").await?;
    ensure_eq!(shown(&t, &other.fence.key).await?, None, "the other session");
    Ok(())
}

async fn replaced_by_next_attempt_removed_by_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.append(&claim.fence, deltas(1, 1, ["x", "y", "z"])).await?;
    t.append(&claim.fence, deltas(2, 1, ["a"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 2, ["a"]), "after the next attempt began");
    let late = t.try_append(&claim.fence, deltas(1, 4, ["late"])).await?;
    ensure_eq!(late, DeltaOutcome::Ended, "a late batch of the attempt before");
    t.append(&claim.fence, deltas(2, 2, ["b"])).await?;
    // A commit of something else keeps the stream.
    t.commit(&claim.fence, Commit { events: events(["e"]), ..commit() }).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 2, ["a", "b"]), "after a commit of something else");
    t.commit(&claim.fence, Commit { streamed: Some(2), ..commit() }).await?;
    ensure_eq!(shown(&t, key).await?, None, "after the commit of the message");
    for (number, first) in [(2, 3), (2, 1), (1, 1)] {
        let late = t.try_append(&claim.fence, deltas(number, first, ["late"])).await?;
        ensure_eq!(late, DeltaOutcome::Ended, "a late batch of call {number} from {first}");
        ensure_eq!(shown(&t, key).await?, None, "after the late batch");
    }
    t.append(&claim.fence, deltas(3, 1, ["c"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 3, ["c"]), "the next message's stream");
    Ok(())
}

async fn commit_of_an_earlier_message_leaves_a_later_stream(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.append(&claim.fence, deltas(1, 1, ["one"])).await?;
    t.append(&claim.fence, deltas(2, 1, ["two"])).await?;
    t.commit(&claim.fence, Commit { streamed: Some(1), ..commit() }).await?;
    t.append(&claim.fence, deltas(2, 2, ["goes on"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 2, ["two", "goes on"]), "the later stream");
    // A message without deltas ends the stream before it.
    t.commit(&claim.fence, Commit { streamed: Some(4), ..commit() }).await?;
    ensure_eq!(shown(&t, key).await?, None, "after the commit of a later message");
    for number in [2, 3, 4] {
        let late = t.try_append(&claim.fence, deltas(number, 1, ["late"])).await?;
        ensure_eq!(late, DeltaOutcome::Ended, "a late batch of call {number}");
    }
    t.append(&claim.fence, deltas(5, 1, ["five"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 5, ["five"]), "the stream after it");
    Ok(())
}

async fn removed_by_release_claim_and_give_back(t: Bench) -> CaseResult {
    let ends = [
        ("idle", Some(release_to(SessionStatus::Idle))),
        ("failed", Some(release_to(SessionStatus::Failed))),
        ("suspended", suspended(None, 0)),
        ("given back", Some(Release::GiveBack { alarm: None })),
        ("taken over", None),
    ];
    for (number, (what, release)) in ends.into_iter().enumerate() {
        let claim = t.running(&format!("s{number}")).await?;
        let key = &claim.fence.key;
        t.append(&claim.fence, deltas(1, 1, ["a", "b"])).await?;
        match release {
            Some(release) => {
                t.commit(&claim.fence, Commit { release: Some(release), ..commit() }).await?;
                ensure_eq!(shown(&t, key).await?, None, "{what}");
                t.claim(key).await?;
            }
            None => {
                t.take_over(key).await?;
            }
        }
        ensure_eq!(shown(&t, key).await?, None, "{what}, in the next run");
        let claim = t.take_over(key).await?;
        t.append(&claim.fence, deltas(1, 1, ["new"])).await?;
        ensure_eq!(shown(&t, key).await?, stream(claim.fence.epoch.0, 1, ["new"]), "{what}, a new stream");
    }
    Ok(())
}

async fn takeover_never_continues_a_dead_attempts_numbers(t: Bench) -> CaseResult {
    let dead = t.running("s").await?;
    let key = &dead.fence.key;
    t.append(&dead.fence, deltas(3, 1, ["a", "b"])).await?;
    let next = t.take_over(key).await?;
    for number in [1, 3, 4] {
        let gap = t.try_append(&next.fence, deltas(number, 3, ["c"])).await?;
        ensure_eq!(gap, DeltaOutcome::Gap { expected: 1 }, "where the dead attempt stood, call {number}");
    }
    t.append(&next.fence, deltas(1, 1, ["other"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(2, 1, ["other"]), "the stream");
    let [later, before] =
        [(next.fence.epoch, 1), (dead.fence.epoch, 3)].map(|(run, number)| StreamId { run, number });
    ensure!(
        later > before,
        "expected a stream of the next run to come after {before:?}",
        found = "{later:?}"
    );
    Ok(())
}

async fn stale_fence_cannot_append(t: Bench) -> CaseResult {
    let old = t.running("s").await?;
    t.append(&old.fence, deltas(1, 1, ["dead"])).await?;
    let new = t.take_over(&old.fence.key).await?;
    t.append(&new.fence, deltas(1, 1, ["alive"])).await?;
    let released = t.running("released").await?;
    t.release(&released.fence, SessionStatus::Suspended).await?;
    let deleted = t.running("deleted").await?;
    t.store.delete_session(&deleted.fence.key, Deletion::FORCE).await?;
    let before = [t.snapshot(&new.fence.key).await?, t.snapshot(&released.fence.key).await?];
    let wrong = [
        ("an old epoch", old.fence.clone()),
        ("an epoch to come", Fence { epoch: new.fence.epoch.next(), ..new.fence.clone() }),
        ("another incarnation", Fence { incarnation: fresh_incarnation(), ..new.fence.clone() }),
        ("another tenant", Fence { key: key_of("other", "s"), ..new.fence.clone() }),
        ("a released session", released.fence.clone()),
        ("a deleted session", deleted.fence.clone()),
    ];
    for (what, fence) in wrong {
        for batch in [deltas(1, 2, ["late"]), deltas(2, 1, ["late"]), deltas(1, 1, ["late"])] {
            ensure_eq!(t.try_append(&fence, batch).await?, DeltaOutcome::StaleFence, "{what}");
        }
        let after = [t.snapshot(&new.fence.key).await?, t.snapshot(&released.fence.key).await?];
        ensure_eq!(after, before, "the sessions, under {what}");
    }
    // The lease does not matter. Only the latest run counts.
    t.advance(t.lease()).await;
    t.append(&new.fence, deltas(1, 2, ["still"])).await?;
    Ok(())
}

async fn do_not_touch_version_or_event_sequence(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { events: events(["e"]), ..commit() }).await?;
    let before = t.snapshot(key).await?;
    let version = t.load(key).await?.version;
    for place in 1..=4 {
        t.advance(t.lease() / 5).await;
        t.append(&claim.fence, deltas(1, place, ["d"])).await?;
    }
    t.append(&claim.fence, deltas(2, 1, ["d"])).await?;
    let mut after = t.snapshot(key).await?;
    after.stream = None;
    ensure_eq!(after, before, "the session but for its stream");
    t.commit(&claim.fence, Commit { expected_version: Some(version), ..commit() }).await?;
    Ok(())
}

async fn a_gap_is_refused(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let gap = t.try_append(&claim.fence, deltas(1, 2, ["b"])).await?;
    ensure_eq!(gap, DeltaOutcome::Gap { expected: 1 }, "a stream that begins at 2");
    ensure_eq!(shown(&t, key).await?, None, "after it");
    t.append(&claim.fence, deltas(1, 1, ["a", "b"])).await?;
    for first in [4, 5, 1 << 40] {
        let gap = t.try_append(&claim.fence, deltas(1, first, ["x"])).await?;
        ensure_eq!(gap, DeltaOutcome::Gap { expected: 3 }, "a batch from {first} after two");
    }
    // The next stream begins at 1. A batch with another place is refused and leaves the stream before it.
    let gap = t.try_append(&claim.fence, deltas(2, 3, ["x"])).await?;
    ensure_eq!(gap, DeltaOutcome::Gap { expected: 1 }, "the next stream from 3");
    ensure_eq!(shown(&t, key).await?, stream(1, 1, ["a", "b"]), "the stream");
    t.append(&claim.fence, deltas(1, 3, ["c"])).await?;
    Ok(())
}

async fn a_repeated_batch_appends_only_what_is_new(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.append(&claim.fence, deltas(1, 1, ["a", "b", "c"])).await?;
    let before = t.snapshot(key).await?;
    for batch in
        [deltas(1, 1, ["a", "b", "c"]), deltas(1, 2, ["b"]), deltas(1, 1, ["A"]), deltas(1, 3, ["C"])]
    {
        let what = format!("{batch:?}");
        t.append(&claim.fence, batch).await?;
        ensure_eq!(t.snapshot(key).await?, before, "after {what}");
    }
    t.append(&claim.fence, deltas(1, 2, ["B", "C", "d", "e"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 1, ["a", "b", "c", "d", "e"]), "after an overlap");
    t.append(&claim.fence, deltas(1, 6, ["f"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 1, ["a", "b", "c", "d", "e", "f"]), "after what follows");
    Ok(())
}

async fn survive_reopen(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { events: events(["e"]), ..commit() }).await?;
    t.append(&claim.fence, deltas(2, 1, ["a", "b", "c"])).await?;
    let kept = read(&t.store, key, &EventCursor::START, 2).await?.next;
    let before = t.snapshot(key).await?;
    let t = t.reopen().await;
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    ensure_eq!(read(&t.store, key, &kept, 9).await?.stream, stream(1, 2, ["b", "c"]), "after the cursor");
    let late = t.try_append(&claim.fence, deltas(1, 1, ["late"])).await?;
    ensure_eq!(late, DeltaOutcome::Ended, "a batch of the attempt before");
    t.append(&claim.fence, deltas(2, 4, ["d"])).await?;
    t.commit(&claim.fence, Commit { streamed: Some(2), ..commit() }).await?;
    let t = t.reopen().await;
    ensure_eq!(shown(&t, key).await?, None, "after the commit of the message");
    let late = t.try_append(&claim.fence, deltas(2, 5, ["late"])).await?;
    ensure_eq!(late, DeltaOutcome::Ended, "a batch after the commit of its message");
    Ok(())
}

fn refused<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    kind: StoreErrorKind,
    what: &str,
) -> CaseResult {
    let error = want!(answer, Err(error) => error);
    ensure_eq!(error.kind, kind, "{what}");
    Ok(())
}

async fn too_large_or_empty_is_refused(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let (one, all) = (t.payload_bytes_max()?, t.commit_bytes_max()?);
    let sized = |sizes: Vec<usize>| DeltaBatch {
        stream: 1,
        first: 1,
        deltas: sizes.into_iter().map(|size| bytes(&"x".repeat(size))).collect(),
    };
    let whole = |more: usize| {
        let mut sizes = vec![one; all / one];
        sizes.push(all % one + more);
        sizes
    };
    let before = t.snapshot(&claim.fence.key).await?;
    let beyond = [
        ("no delta", sized(vec![]), StoreErrorKind::InvalidArgument),
        ("call 0", deltas(0, 1, ["x"]), StoreErrorKind::InvalidArgument),
        ("place 0", deltas(1, 0, ["x"]), StoreErrorKind::InvalidArgument),
        ("a delta beyond the limit", sized(vec![1, one + 1]), StoreErrorKind::TooLarge),
        ("a batch beyond the limit", sized(whole(1)), StoreErrorKind::TooLarge),
    ];
    for (what, batch, kind) in beyond {
        refused(t.store.append_deltas(&claim.fence, batch).await, kind, what)?;
        ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session after {what}");
    }
    t.append(&claim.fence, sized(vec![one])).await?;
    t.append(&claim.fence, DeltaBatch { stream: 2, ..sized(whole(0)) }).await?;
    Ok(())
}

async fn removed_with_the_session(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.append(&claim.fence, deltas(7, 1, ["old", "old"])).await?;
    t.store.delete_session(key, Deletion::FORCE).await?;
    let claim = t.running("s").await?;
    ensure_eq!(shown(&t, key).await?, None, "once it was created again");
    t.append(&claim.fence, deltas(1, 1, ["new"])).await?;
    ensure_eq!(shown(&t, key).await?, stream(1, 1, ["new"]), "the stream");
    Ok(())
}

async fn late_batch_beside_the_commit_that_ends_its_stream(t: Bench) -> CaseResult {
    const ROUNDS: usize = 20;
    let peers = t.peers(2).await;
    for round in 0..ROUNDS {
        let claim = t.running(&format!("s{round}")).await?;
        t.append(&claim.fence, deltas(1, 1, ["a"])).await?;
        let answers = race(peers.clone(), |index, peer| {
            let fence = claim.fence.clone();
            Box::pin(async move {
                if index == 0 {
                    return Ok(Some(peer.append_deltas(&fence, deltas(1, 2, ["b"])).await?));
                }
                let end = Commit { streamed: Some(1), ..commit() };
                let answer = peer.commit(&fence, end).await?;
                want!(answer, CommitOutcome::Committed(_));
                Ok(None)
            })
        })
        .await?;
        let late = answers.into_iter().flatten().next();
        let legal = matches!(late, Some(DeltaOutcome::Appended(_) | DeltaOutcome::Ended));
        ensure!(legal, "expected it to be appended before, or refused after", found = "{late:?}");
        ensure_eq!(shown(&t, &claim.fence.key).await?, None, "what is left");
        let later = t.try_append(&claim.fence, deltas(1, 3, ["c"])).await?;
        ensure_eq!(later, DeltaOutcome::Ended, "a batch after both");
    }
    Ok(())
}
