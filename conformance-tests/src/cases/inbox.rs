//! Deliveries: idempotent, ordered, and consumed once.

use holdover_store::INBOX_PAGE;

use super::prelude::*;
use crate::snapshot::walk_items;

cases! {
    submit.accepted_while_suspended: Core Sequential,
        "a message to a parked session is kept and wakes it",
        "a session that waits for a person must hear what the person says instead",
        "deliver: puts an item into the inbox; design 4: suspended by wake_on";
    submit.idempotent_by_key_returns_first_receipt: Core Sequential,
        "the same item again is a duplicate, with the place of the first",
        "a sender that repeats after a lost answer would say everything twice",
        "Delivery::Duplicate: the same was accepted before; nothing was changed";
    submit.same_key_other_payload_is_conflict: Core Sequential,
        "another content under a known key is a conflict",
        "one of the two would be lost without a word",
        "Delivery::Conflict: something else was accepted before under this key (INV-27)";
    submit.unknown_call_id_is_rejected: Core Sequential,
        "an answer to a call that was never asked is refused",
        "it would wait in the inbox for ever, or answer a call to come",
        "Delivery::NotPending: closed, past its deadline, or never opened";
    submit.after_terminal_is_rejected_typed: Core Sequential,
        "what comes to an aborted session is refused by name, a known item still answers as known",
        "a sender must know whether it is worth trying again",
        "Delivery::Aborted: the session is aborted, for ever";
    submit.while_running_is_buffered: Core Sequential,
        "a delivery to a running session waits in the inbox and shows in the next receipt",
        "without the count a running session would have to poll",
        "Receipt::unread: how many inbox items are not consumed";
    submit.drain_returns_each_once_in_order: Core Sequential,
        "the inbox is read in order, page by page; consumed items are gone",
        "an item read twice is a message said twice",
        "read_inbox: what is not consumed after `after`, in order";
    submit.drain_is_part_of_commit: Core Sequential,
        "a refused commit consumes nothing, one item that is not there refuses all",
        "a message would be lost between reading and deciding",
        "Commit::consumed; CommitOutcome::NotInInbox: nothing was changed";
    submit.consumed_one_by_one_not_as_prefix: Core Sequential,
        "items are consumed by name, those between stay",
        "a held message in front would be lost, or block those behind it",
        "design 4: consumed items are named one by one, not as a prefix";
    submit.key_is_remembered_after_consumption: Core Sequential,
        "a key stays known after its item was consumed",
        "a late repeat would begin a second turn",
        "InboxItem::key: unique in the session for ever";
    submit.pages_are_bounded_and_complete: Core Sequential,
        "a claim brings the first page, the rest is read after it",
        "an inbox of ten thousand would not fit into a claim",
        "Claim::inbox: at most INBOX_PAGE items in order; more_inbox_after";
    submit.crash_after_drain_before_commit_redelivers: Durable Crash,
        "what a dead run had read but not consumed is there for the next",
        "an accepted delivery is consumed exactly once",
        "Delivery::Accepted: it will be consumed exactly once (INV-26)";
    submit.receipts_survive_reopen: Durable Sequential,
        "keys, places and counts survive closing and opening, also of consumed items",
        "after a restart a repeat would be accepted anew",
        "InboxItem::key: unique in the session for ever";
    submit.concurrent_same_key_one_row: Distributed Concurrent,
        "of 32 deliveries under one key one is accepted, the others are duplicates of it",
        "two rows under one key are a message said twice",
        "deliver: once per key (INV-27)";
    submit.concurrent_deliveries_lose_nothing: Distributed Concurrent,
        "deliveries from 8 handles at once are all there, densely numbered, each sender's in order",
        "a lost update is a message that its sender was told is in",
        "INV-26: an accepted delivery is consumed exactly once, per sender in order";
    submit.concurrent_drain_no_double_delivery: Distributed Concurrent,
        "of two commits that consume one item one is applied",
        "both would act on it",
        "CommitOutcome::NotInInbox; VersionConflict (INV-03)";
    deliver.by_status_table_every_pair: Core Property,
        "each kind of item is accepted, refused and wakes as the design's table says, in every status",
        "one wrong cell is a session that sleeps through its message, or a live run taken over",
        "design 4: what deliver accepts";
    deliver.wake_now_count_quiet: Core Sequential,
        "an urgent item wakes at once, counted ones when enough came, quiet ones never",
        "a sender that says quiet must not start a run",
        "Wake: wakes it; counts one towards wake_on; counts nothing";
}

async fn keys(t: &Bench, key: &holdover_store::ids::SessionKey) -> CaseResult<Vec<String>> {
    Ok(t.snapshot(key).await?.inbox.iter().map(|item| item.key.to_string()).collect())
}

async fn accepted_while_suspended(t: Bench) -> CaseResult {
    let key = t.left_as("s", SessionStatus::Suspended).await?;
    let seq = t.deliver(&key, message("hello")).await?;
    ensure_eq!(seq, InboxSeq(1), "its place");
    let item = t.snapshot(&key).await?.inbox.remove(0);
    ensure_eq!((item.seq, &item.key), (seq, &id("hello")), "place and key");
    ensure_eq!((item.kind, item.payload), (message("hello").kind, bytes("hello")), "kind and content");
    ensure!(t.is_due(&key).await?, "expected the message to wake it", found = "{}", t.waking(&key).await?);
    ensure_eq!(t.store.deliver(&nobody(), message("m")).await?, Delivery::NotFound, "to nobody");
    Ok(())
}

async fn idempotent_by_key_returns_first_receipt(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let first = t.deliver(&key, message("a")).await?;
    t.deliver(&key, message("b")).await?;
    let before = t.snapshot(&key).await?;
    for wake in [Wake::Now, Wake::Count, Wake::Quiet] {
        // The wake-up mode is not part of an item's contents.
        let again = t.store.deliver(&key, message_that("a", wake)).await?;
        ensure_eq!(again, Delivery::Duplicate { seq: first }, "the repeat");
    }
    ensure_eq!(t.snapshot(&key).await?, before, "the session");
    Ok(())
}

async fn same_key_other_payload_is_conflict(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let seq = t.deliver(&key, message("k")).await?;
    let before = t.snapshot(&key).await?;
    let other = InboxItem { payload: bytes("other"), ..message("k") };
    ensure_eq!(t.store.deliver(&key, other).await?, Delivery::Conflict { seq }, "other content");
    let signal = t.store.deliver(&key, signal_that("k", Wake::Now)).await?;
    ensure_eq!(signal, Delivery::Conflict { seq }, "the same content as another kind");
    let incarnation = Some(t.load(&key).await?.incarnation);
    let kind = ItemKind::Answer { pending: id("never"), settles: false };
    let unasked = InboxItem { kind, incarnation, ..message("k") };
    let answered = t.store.deliver(&key, unasked).await?;
    ensure_eq!(answered, Delivery::Conflict { seq }, "an answer to what was never asked");
    ensure_eq!(t.snapshot(&key).await?, before, "the session");
    Ok(())
}

/// Requirements: C28.
async fn unknown_call_id_is_rejected(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    let before = t.snapshot(&claim.fence.key).await?;
    let answered = t.store.deliver(&claim.fence.key, answer(&claim.fence, "never", "yes")).await?;
    ensure_eq!(answered, Delivery::NotPending, "an answer to what was never asked");
    ensure_eq!(t.snapshot(&claim.fence.key).await?, before, "the session");
    Ok(())
}

async fn after_terminal_is_rejected_typed(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let seq = t.deliver(key, message("before")).await?;
    t.release(&claim.fence, SessionStatus::Aborted).await?;
    let before = t.snapshot(key).await?;
    for item in [message("m"), signal_that("s", Wake::Quiet)] {
        ensure_eq!(t.store.deliver(key, item).await?, Delivery::Aborted, "a new item");
    }
    let known = t.store.deliver(key, message("before")).await?;
    ensure_eq!(known, Delivery::Duplicate { seq }, "an item that was accepted before the abort");
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    Ok(())
}

async fn while_running_is_buffered(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    ensure_eq!(t.commit(&claim.fence, commit()).await?.unread, 0, "unread before");
    t.deliver(key, message("a")).await?;
    t.deliver(key, message_that("b", Wake::Quiet)).await?;
    let receipt = t.commit(&claim.fence, commit()).await?;
    ensure_eq!((receipt.unread, receipt.last_item), (2, InboxSeq(2)), "unread and newest in the receipt");
    ensure_eq!(keys(&t, key).await?, ["a", "b"], "the inbox");
    Ok(())
}

async fn drain_returns_each_once_in_order(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for name in ["c", "a", "b", "e", "d"] {
        t.deliver(key, message(name)).await?;
    }
    let read = walk_items(&t.store, key, InboxSeq(0), 2).await?;
    let read: Vec<_> = read.iter().map(|item| (item.seq.0, item.key.to_string())).collect();
    let expected =
        [(1, "c"), (2, "a"), (3, "b"), (4, "e"), (5, "d")].map(|(seq, key)| (seq, key.to_string()));
    ensure_eq!(read, expected, "the inbox by twos");
    let consume = Commit { consumed: seqs([1, 2, 3, 4, 5]), inbox_seen: Some(InboxSeq(5)), ..commit() };
    let receipt = t.commit(&claim.fence, consume).await?;
    ensure_eq!(receipt.unread, 0, "unread in the receipt");
    ensure_eq!(keys(&t, key).await?, Vec::<String>::new(), "the inbox after consumption");
    let error = want!(t.store.read_inbox(key, InboxSeq(0), 0).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a limit of 0");
    Ok(())
}

async fn drain_is_part_of_commit(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for name in ["a", "b", "c"] {
        t.deliver(key, message(name)).await?;
    }
    let before = t.snapshot(key).await?;
    let consume = |seen: u64, places: &[u64]| Commit {
        inbox_seen: Some(InboxSeq(seen)),
        consumed: places.iter().copied().map(InboxSeq).collect(),
        ..commit()
    };
    let stale = Commit { expected_version: Some(claim.session.version.next()), ..consume(3, &[1, 2]) };
    want!(t.try_commit(&claim.fence, stale).await?, CommitOutcome::VersionConflict { .. });
    let refused = [
        (consume(9, &[1, 9]), 9, "an item that is not there"),
        (consume(3, &[1, 1]), 1, "an item named twice"),
        (consume(1, &[1, 2]), 2, "an item after inbox_seen"),
    ];
    for (commit, seq, what) in refused {
        let answer = t.try_commit(&claim.fence, commit).await?;
        ensure_eq!(answer, CommitOutcome::NotInInbox { seq: InboxSeq(seq) }, "{what}");
        ensure_eq!(t.snapshot(key).await?, before, "the session after {what}");
    }
    t.commit(&claim.fence, consume(3, &[1])).await?;
    let again = t.try_commit(&claim.fence, consume(3, &[1])).await?;
    ensure_eq!(again, CommitOutcome::NotInInbox { seq: InboxSeq(1) }, "an item that was consumed");
    Ok(())
}

async fn consumed_one_by_one_not_as_prefix(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    for name in ["a", "b", "c", "d"] {
        t.deliver(key, message(name)).await?;
    }
    let consume = Commit { consumed: seqs([4, 2]), inbox_seen: Some(InboxSeq(4)), ..commit() };
    let receipt = t.commit(&claim.fence, consume).await?;
    ensure_eq!(receipt.unread, 2, "unread in the receipt");
    ensure_eq!(keys(&t, key).await?, ["a", "c"], "the inbox");
    let next = t.take_over(key).await?;
    let left: Vec<_> = next.inbox.iter().map(|item| item.key.as_str()).collect();
    ensure_eq!(left, ["a", "c"], "the inbox in the next claim");
    ensure_eq!(t.deliver(key, message("e")).await?, InboxSeq(5), "the place of the next item");
    Ok(())
}

/// Requirements: C09.
async fn key_is_remembered_after_consumption(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let seq = t.deliver(key, message("a")).await?;
    t.commit(&claim.fence, Commit { consumed: vec![seq], inbox_seen: Some(seq), ..commit() }).await?;
    let before = t.snapshot(key).await?;
    ensure_eq!(t.store.deliver(key, message("a")).await?, Delivery::Duplicate { seq }, "the repeat");
    let other = InboxItem { payload: bytes("other"), ..message("a") };
    ensure_eq!(t.store.deliver(key, other).await?, Delivery::Conflict { seq }, "other content");
    ensure_eq!(t.snapshot(key).await?, before, "the session");
    Ok(())
}

async fn pages_are_bounded_and_complete(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let total = u64::from(INBOX_PAGE) + 10;
    for number in 1..=total {
        t.deliver(&key, message_that(&number.to_string(), Wake::Quiet)).await?;
    }
    let claim = t.claim(&key).await?;
    ensure!(
        (1..=INBOX_PAGE as usize).contains(&claim.inbox.len()),
        "expected from 1 to {INBOX_PAGE} items in the claim",
        found = "{}",
        claim.inbox.len()
    );
    ensure_eq!(claim.session.unread, total, "unread");
    let after = want!(claim.more_inbox_after(), Some(after) => after);
    let rest = walk_items(&t.store, &key, after, INBOX_PAGE).await?;
    let mut places: Vec<_> = claim.inbox.iter().map(|item| item.seq.0).collect();
    places.extend(rest.iter().map(|item| item.seq.0));
    ensure_eq!(places, (1..=total).collect::<Vec<_>>(), "places of the claim's page and of the rest");
    let page = t.store.read_inbox(&key, InboxSeq(0), u32::MAX).await?;
    let rows = page.items.len();
    ensure!(rows <= INBOX_PAGE as usize, "expected a page of a read without bound", found = "{rows} items");
    ensure_eq!(page.next, page.items.last().map(|last| last.seq), "where it goes on");
    Ok(())
}

async fn crash_after_drain_before_commit_redelivers(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = claim.fence.key;
    t.deliver(&key, message("a")).await?;
    t.store.read_inbox(&key, InboxSeq(0), 10).await?;
    let t = t.reopen().await;
    let next = t.take_over(&key).await?;
    ensure_eq!(next.inbox.iter().map(|item| item.seq.0).collect::<Vec<_>>(), [1], "items in the next claim");
    let consume = Commit { consumed: seqs([1]), inbox_seen: Some(InboxSeq(1)), ..commit() };
    t.commit(&next.fence, consume).await?;
    let t = t.reopen().await;
    let last = t.take_over(&key).await?;
    ensure_eq!(last.inbox, [], "items in the claim after consumption");
    Ok(())
}

async fn receipts_survive_reopen(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = claim.fence.key.clone();
    for name in ["a", "b"] {
        t.deliver(&key, message(name)).await?;
    }
    let consume = Commit { consumed: seqs([1]), inbox_seen: Some(InboxSeq(1)), ..commit() };
    t.commit(&claim.fence, consume).await?;
    let t = t.reopen().await;
    let consumed = t.store.deliver(&key, message("a")).await?;
    ensure_eq!(consumed, Delivery::Duplicate { seq: InboxSeq(1) }, "a consumed item again");
    let waiting = t.store.deliver(&key, message("b")).await?;
    ensure_eq!(waiting, Delivery::Duplicate { seq: InboxSeq(2) }, "a waiting item again");
    ensure_eq!(t.deliver(&key, message("c")).await?, InboxSeq(3), "the place of the next item");
    ensure_eq!(t.load(&key).await?.unread, 2, "unread");
    Ok(())
}

async fn concurrent_same_key_one_row(t: Bench) -> CaseResult {
    let key = t.create("s").await?;
    let answers = race(t.peers(32).await, |_, peer| {
        let key = key.clone();
        Box::pin(async move { Ok(peer.deliver(&key, message("same")).await?) })
    })
    .await?;
    let accepted =
        answers.iter().filter(|answer| **answer == Delivery::Accepted { seq: InboxSeq(1) }).count();
    let duplicate =
        answers.iter().filter(|answer| **answer == Delivery::Duplicate { seq: InboxSeq(1) }).count();
    ensure_eq!((accepted, duplicate), (1, 31), "accepted and duplicates");
    ensure_eq!(keys(&t, &key).await?, ["same"], "the inbox");
    ensure_eq!(t.load(&key).await?.unread, 1, "unread");
    Ok(())
}

async fn concurrent_deliveries_lose_nothing(t: Bench) -> CaseResult {
    const EACH: usize = 10;
    let claim = t.running("s").await?;
    let key = claim.fence.key.clone();
    race(t.peers(8).await, |sender, peer| {
        let key = key.clone();
        Box::pin(async move {
            for number in 0..EACH {
                let item = message(&format!("{sender}-{number}"));
                want!(peer.deliver(&key, item).await?, Delivery::Accepted { .. });
            }
            Ok(())
        })
    })
    .await?;
    let inbox = t.snapshot(&key).await?.inbox;
    let places: Vec<_> = inbox.iter().map(|item| item.seq.0).collect();
    ensure_eq!(places, (1..=8 * EACH as u64).collect::<Vec<_>>(), "places");
    let all = keys(&t, &key).await?;
    for sender in 0..8 {
        let own: Vec<_> = all.iter().filter(|key| key.starts_with(&format!("{sender}-"))).collect();
        ensure!(
            own.len() == EACH && own.is_sorted(),
            "expected sender {sender}'s in order",
            found = "{own:?}"
        );
    }
    ensure_eq!(t.load(&key).await?.unread, 8 * EACH as u64, "unread");
    Ok(())
}

async fn concurrent_drain_no_double_delivery(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    t.deliver(&claim.fence.key, message("a")).await?;
    let fence = claim.fence.clone();
    let answers = race(t.peers(8).await, |_, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            let consume = Commit { consumed: seqs([1]), inbox_seen: Some(InboxSeq(1)), ..commit() };
            Ok(peer.commit(&fence, consume).await?)
        })
    })
    .await?;
    let applied = answers.iter().filter(|answer| matches!(answer, CommitOutcome::Committed(_))).count();
    let gone = CommitOutcome::NotInInbox { seq: InboxSeq(1) };
    let refused = answers.iter().filter(|answer| **answer == gone).count();
    ensure_eq!((applied, refused), (1, 7), "applied and refused");
    ensure_eq!(t.load(&fence.key).await?.unread, 0, "unread");
    Ok(())
}

async fn by_status_table_every_pair(t: Bench) -> CaseResult {
    for status in SessionStatus::ALL {
        for wake in [Wake::Now, Wake::Count, Wake::Quiet] {
            for (kind, item) in [("message", message_that("m", wake)), ("signal", signal_that("s", wake))] {
                let cell = format!("{kind} {wake:?} to {status}");
                // The expectations of the design, cell by cell. Suspended sessions here wait for two counted items.
                let expected = match (status, wake) {
                    (SessionStatus::Aborted, _) => None,
                    (SessionStatus::Active, _) => Some(false),
                    (_, Wake::Quiet) | (SessionStatus::Suspended, Wake::Count) => Some(false),
                    (_, Wake::Now | Wake::Count) => Some(true),
                };
                one_delivery(&t, &cell, status, item, expected)
                    .await
                    .map_err(|failure| failure.within(&cell))?;
            }
        }
        let cell = format!("answer to {status}");
        one_answer(&t, &cell, status).await.map_err(|failure| failure.within(&cell))?;
    }
    Ok(())
}

/// Delivers one item. `wakes` is `None` if the item must be refused.
async fn one_delivery(
    t: &Bench,
    name: &str,
    status: SessionStatus,
    item: InboxItem,
    wakes: Option<bool>,
) -> CaseResult {
    let claim = t.running(name).await?;
    let key = &claim.fence.key;
    if status == SessionStatus::Suspended {
        t.commit(&claim.fence, Commit { release: suspended(None, 2), ..commit() }).await?;
    } else if status != SessionStatus::Active {
        t.release(&claim.fence, status).await?;
    }
    let before = t.load(key).await?;
    let answer = t.store.deliver(key, item).await?;
    let after = t.load(key).await?;
    let Some(wakes) = wakes else {
        ensure_eq!(answer, Delivery::Aborted, "the answer");
        ensure_eq!(after, before, "the session");
        return Ok(());
    };
    ensure_eq!(answer, Delivery::Accepted { seq: InboxSeq(1) }, "the answer");
    ensure_eq!(after.status, before.status, "status: a delivery does not move it");
    ensure_eq!(t.is_due(key).await?, wakes, "whether it is due");
    if !wakes {
        ensure_eq!(after.alarm, before.alarm, "alarm");
    }
    Ok(())
}

/// Delivers an answer. Only an open call accepts one; resting and aborted sessions have no open call.
async fn one_answer(t: &Bench, name: &str, status: SessionStatus) -> CaseResult {
    let claim = t.running(name).await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { open: vec![approval("p")], ..commit() }).await?;
    let waits = matches!(status, SessionStatus::Active | SessionStatus::Suspended);
    if status != SessionStatus::Active {
        let close = if waits { Vec::new() } else { vec![id("p")] };
        t.commit(&claim.fence, Commit { close, release: Some(release_to(status)), ..commit() }).await?;
    }
    let before = t.load(key).await?;
    let answered = t.store.deliver(key, answer(&claim.fence, "p", "yes")).await?;
    let expected = if waits { Delivery::Accepted { seq: InboxSeq(1) } } else { Delivery::NotPending };
    ensure_eq!(answered, expected, "the answer");
    ensure_eq!(t.is_due(key).await?, status == SessionStatus::Suspended, "whether it is due");
    if status == SessionStatus::Active {
        ensure_eq!(t.load(key).await?.alarm, before.alarm, "alarm");
    }
    Ok(())
}

async fn wake_now_count_quiet(t: Bench) -> CaseResult {
    let parked = async |name: &str, wake_on| -> CaseResult<_> {
        let claim = t.running(name).await?;
        t.commit(&claim.fence, Commit { release: suspended(None, wake_on), ..commit() }).await?;
        Ok(claim.fence.key)
    };
    let key = parked("counts", 2).await?;
    for (name, wake, due) in [
        ("quiet", Wake::Quiet, false),
        ("one", Wake::Count, false),
        ("quiet too", Wake::Quiet, false),
        ("two", Wake::Count, true),
    ] {
        t.deliver(&key, message_that(name, wake)).await?;
        ensure_eq!(t.is_due(&key).await?, due, "whether it is due after {name}");
    }
    let key = parked("counts nothing", 0).await?;
    for name in ["a", "b", "c"] {
        t.deliver(&key, message_that(name, Wake::Count)).await?;
    }
    ensure_eq!(t.load(&key).await?.alarm, None, "alarm with wake_on 0 after three counted items");
    t.deliver(&key, message("urgent")).await?;
    ensure_eq!(t.is_due(&key).await?, true, "whether it is due after an urgent item");
    Ok(())
}
