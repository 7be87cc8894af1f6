//! The event log, cursors and change hints.

use std::time::Duration;

use holdover_store::ids::ItemKey;
use holdover_store::{StoredEvent, Watch};

use super::prelude::*;
use crate::backoff::Backoff;
use crate::reader::up_to;
use crate::snapshot::all_events;

cases! {
    events.append_offsets_strictly_increase: Core Sequential,
        "events are numbered 1, 2, 3, … over all commits and runs",
        "a client that counts on the numbers would skip or repeat",
        "Commit::events: appended to the event log in this order, with dense sequence numbers (INV-02)";
    events.read_is_after_the_cursor: Core Property,
        "a read begins after the event that its cursor names, for every place and limit",
        "off by one shows an event twice, or never",
        "read_events: reads events after a cursor, at most `limit`";
    events.resume_with_last_seen_no_gap_no_dup: Core Sequential,
        "a reader that keeps its cursor as text and comes back sees each event once",
        "clients reconnect all day",
        "EventPage::Events: what comes after the cursor, oldest first, without gap or repeat";
    events.read_limit_and_next_cursor: Core Sequential,
        "pages are bounded, say whether more is there, and a limit of 0 is refused",
        "a reader that believes it is at the end waits beside what is there",
        "EventPage::Events: more: whether the log goes on beyond this page already";
    events.read_beyond_end_empty_then_live: Core Sequential,
        "a reader at the end gets nothing and its own place, and goes on from there",
        "a cursor that moves at the end skips what comes next",
        "EventPage::Events: next: the given place when there was nothing";
    events.appended_with_commit_or_not_at_all: Durable Sequential,
        "a refused commit appends no event, an applied one's survive",
        "an event that announces what never happened cannot be taken back",
        "commit: applies a commit wholly or not at all (INV-04)";
    events.offset_visible_order_equals_commit_order: Distributed Concurrent,
        "a reader beside 6 writers never sees an event appear before its cursor",
        "numbers that are drawn before the commit become visible late, and are never read",
        "read_events: the order in which events become visible is their order";
    events.concurrent_appenders_byte_exact: Distributed Concurrent,
        "of 4 writers at once every event is there once, each writer's in order, byte for byte",
        "a client would show the words of one step with the end of another",
        "Commit::events: appended to the event log in this order (INV-02)";
    events.reader_on_peer_sees_committed_only: Distributed Sequential,
        "another handle sees events with the commit that carries them",
        "an event before its commit may never come true",
        "StateStore: once it answered, every handle on the same data sees it (INV-06)";
    events.tail_missed_notify_still_delivers: Core Sequential,
        "waiting ends in time without news, and whoever only polls misses nothing",
        "a hint that was missed would be a client that hangs",
        "wait_for_change: only a hint; at the latest after at_most; whoever only polls misses nothing";
    events.tail_wakes_on_append: Distributed Concurrent needs ChangeHints,
        "whoever waits for a session hears of a peer's change long before the time is up",
        "answers would show up a second late",
        "Capabilities::change_hints_across_processes: wait_for_change returns early";
}

async fn page(
    store: &Handle,
    key: &holdover_store::ids::SessionKey,
    after: &EventCursor,
    limit: u32,
) -> CaseResult<(Vec<StoredEvent>, EventCursor, bool)> {
    let page = up_to(store, key, after, limit).await?;
    Ok(want!(page, EventPage::Events { events, next, more, .. } => (events, next, more)))
}

async fn append_offsets_strictly_increase(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { events: events(["1", "2"]), ..commit() }).await?;
    t.commit(&claim.fence, commit()).await?;
    let next = t.take_over(key).await?;
    ensure_eq!(next.session.last_event, EventSeq(2), "newest event in the claim");
    t.commit(&next.fence, Commit { events: events(["3", "4"]), ..commit() }).await?;
    let read = all_events(&t.store, key).await?;
    ensure_eq!(read.iter().map(|event| event.seq.0).collect::<Vec<_>>(), [1, 2, 3, 4], "places");
    ensure_eq!(texts(read.iter().map(|event| &event.payload)), ["1", "2", "3", "4"], "events");
    ensure!(
        read.is_sorted_by_key(|event| event.at),
        "expected instants that do not fall",
        found = "{:?}",
        read.iter().map(|event| event.at).collect::<Vec<_>>()
    );
    Ok(())
}

async fn read_is_after_the_cursor(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { events: events(["1", "2", "3", "4"]), ..commit() }).await?;
    for after in 0..=4 {
        for limit in 1..=6 {
            let cursor = EventCursor::after(claim.fence.incarnation, EventSeq(after));
            let (read, next, more) = page(&t.store, key, &cursor, limit).await?;
            let places: Vec<_> = read.iter().map(|event| event.seq.0).collect();
            let expected: Vec<_> = (after + 1..=4).take(limit as usize).collect();
            ensure_eq!(places, expected, "events after {after}, at most {limit}");
            ensure_eq!(more, after + u64::from(limit) < 4, "whether more is there after {after} + {limit}");
            let place = expected.last().copied().unwrap_or(after);
            let expected = EventCursor::after(claim.fence.incarnation, EventSeq(place));
            ensure_eq!(next, expected, "the next cursor");
        }
    }
    Ok(())
}

async fn resume_with_last_seen_no_gap_no_dup(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let mut kept = EventCursor::START.to_string();
    let mut seen = Vec::new();
    for round in 0..5_u32 {
        for number in 0..3 {
            let event = format!("{round}-{number}");
            t.commit(&claim.fence, Commit { events: events([&event]), ..commit() }).await?;
        }
        for _ in 0..2 {
            let cursor = kept.parse().map_err(|why| Failure::new(format!("the cursor {kept}: {why}")))?;
            let (read, next, _) = page(&t.store, key, &cursor, 2).await?;
            seen.extend(read.into_iter().map(|event| event.seq.0));
            kept = next.to_string();
        }
    }
    ensure_eq!(seen, (1..=15).collect::<Vec<_>>(), "places of the events seen");
    Ok(())
}

async fn read_limit_and_next_cursor(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let total = u64::from(PAGE_ROWS_MAX) + 5;
    let many = (0..total).map(|number| bytes(&number.to_string())).collect();
    t.commit(&claim.fence, Commit { events: many, ..commit() }).await?;
    let first = t.store.read_events(key, &EventCursor::START, u32::MAX).await?;
    let rows = want!(first, EventPage::Events { events, more: true, .. } => events.len());
    ensure!(rows <= PAGE_ROWS_MAX as usize, "expected a page of a read without bound", found = "{rows} rows");
    let (read, next, more) = page(&t.store, key, &EventCursor::START, PAGE_ROWS_MAX).await?;
    ensure_eq!((read.len(), more), (PAGE_ROWS_MAX as usize, true), "the first rows");
    let (rest, _, more) = page(&t.store, key, &next, PAGE_ROWS_MAX).await?;
    ensure_eq!((rest.len(), more), (5, false), "the rest");
    let error = want!(t.store.read_events(key, &EventCursor::START, 0).await, Err(error) => error);
    ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "a limit of 0");
    Ok(())
}

async fn read_beyond_end_empty_then_live(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let (none, start, more) = page(&t.store, key, &EventCursor::START, 5).await?;
    ensure_eq!((none, more), (vec![], false), "events of a new session");
    t.commit(&claim.fence, Commit { events: events(["1"]), ..commit() }).await?;
    let (read, end, _) = page(&t.store, key, &start, 5).await?;
    ensure_eq!(read.len(), 1, "events after the start");
    let (none, still, more) = page(&t.store, key, &end, 5).await?;
    ensure_eq!((none, still, more), (vec![], end, false), "events at the end, and the next cursor");
    t.commit(&claim.fence, Commit { events: events(["2"]), ..commit() }).await?;
    let (read, ..) = page(&t.store, key, &still, 5).await?;
    ensure_eq!(texts(read.iter().map(|event| &event.payload)), ["2"], "events after the end");
    Ok(())
}

async fn appended_with_commit_or_not_at_all(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let bad = Commit { messages: promote(["nothing"]), events: events(["never"]), ..commit() };
    want!(t.try_commit(&claim.fence, bad).await?, CommitOutcome::NotStaged { .. });
    ensure_eq!(all_events(&t.store, key).await?, [], "events after a refused commit");
    t.commit(&claim.fence, Commit { events: events(["kept"]), ..commit() }).await?;
    let before = all_events(&t.store, key).await?;
    let t = t.reopen().await;
    ensure_eq!(all_events(&t.store, key).await?, before, "events after closing and opening");
    Ok(())
}

async fn offset_visible_order_equals_commit_order(t: Bench) -> CaseResult {
    const EACH: usize = 15;
    const WRITERS: usize = 6;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(WRITERS + 1).await, |index, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            if index < WRITERS {
                for number in 0..EACH {
                    let event = format!("{index}-{number}");
                    let append = Commit { events: events([&event, "twin"]), ..commit() };
                    want!(peer.commit(&fence, append).await?, CommitOutcome::Committed(_));
                }
                return Ok(());
            }
            let (mut cursor, mut seen) = (EventCursor::START, 0);
            while seen < (2 * WRITERS * EACH) as u64 {
                let (read, next, _) = page(&peer, &fence.key, &cursor, 3).await?;
                for event in read {
                    seen += 1;
                    ensure_eq!(event.seq, EventSeq(seen), "the next event that becomes visible");
                }
                cursor = next;
                tokio::task::yield_now().await;
            }
            Ok(())
        })
    })
    .await?;
    let all = all_events(&t.store, &fence.key).await?;
    ensure_eq!(all.len(), 2 * WRITERS * EACH, "events in the end");
    let twins =
        all.chunks(2).filter(|pair| texts(pair.iter().map(|event| &event.payload))[1] == "twin").count();
    ensure_eq!(twins, WRITERS * EACH, "commits whose two events stand together");
    Ok(())
}

/// Returns the event of a writer: all 256 byte values, each time in another rotation.
fn written(writer: usize, number: usize) -> Payload {
    let mut all: Vec<u8> = (0..=u8::MAX).collect();
    all.rotate_left(writer * 64 + number);
    Payload::new([format!("{writer}-{number:02} ").into_bytes(), all].concat())
}

async fn concurrent_appenders_byte_exact(t: Bench) -> CaseResult {
    const EACH: usize = 12;
    const WRITERS: usize = 4;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(WRITERS).await, |writer, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            for number in 0..EACH {
                let append = Commit { events: vec![written(writer, number)], ..commit() };
                want!(peer.commit(&fence, append).await?, CommitOutcome::Committed(_));
            }
            Ok(())
        })
    })
    .await?;
    let all = all_events(&t.peer().await, &fence.key).await?;
    ensure_eq!(all.len(), WRITERS * EACH, "how many events");
    for writer in 0..WRITERS {
        let begin = format!("{writer}-").into_bytes();
        let own = all.iter().map(|event| &event.payload).filter(|it| it.bytes().starts_with(&begin));
        let own: Vec<Payload> = own.cloned().collect();
        let expected: Vec<Payload> = (0..EACH).map(|number| written(writer, number)).collect();
        ensure_eq!(own, expected, "the events of writer {writer}");
    }
    Ok(())
}

async fn reader_on_peer_sees_committed_only(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let claim = t.running("s").await?;
    for count in 1..=10 {
        t.commit(&claim.fence, Commit { events: events(["e"]), ..commit() }).await?;
        ensure_eq!(all_events(&peer, &claim.fence.key).await?.len(), count, "events that a peer sees");
        let stale =
            Commit { events: events(["never"]), expected_version: Some(claim.session.version), ..commit() };
        t.try_commit(&claim.fence, stale).await?;
        ensure_eq!(load(&peer, &claim.fence.key).await?.last_event.0, count as u64, "newest event");
    }
    Ok(())
}

async fn tail_missed_notify_still_delivers(t: Bench) -> CaseResult {
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    let mut cursor = EventCursor::START;
    for _ in 0..3 {
        // The hint is sent before the wait begins.
        t.commit(&claim.fence, Commit { events: events(["e"]), ..commit() }).await?;
        for watch in [Watch::Session(key.clone()), Watch::News(key.clone()), Watch::Due] {
            t.store.wait_for_change(watch, Duration::from_millis(5)).await?;
        }
        let (read, next, _) = page(&t.store, key, &cursor, 5).await?;
        ensure_eq!(read.len(), 1, "events read by polling");
        cursor = next;
    }
    t.store.wait_for_change(Watch::Session(crate::bench::nobody()), Duration::ZERO).await?;
    Ok(())
}

async fn tail_wakes_on_append(t: Bench) -> CaseResult {
    const AT_MOST: Duration = Duration::from_secs(60);
    let key = t.create("s").await?;
    for watch in [Watch::Session(key.clone()), Watch::News(key.clone()), Watch::Due] {
        let waiter = t.peer().await;
        let began = tokio::time::Instant::now();
        let watched = watch.clone();
        let waiting = tokio::spawn(async move { waiter.wait_for_change(watched, AT_MOST).await });
        let mut pauses = Backoff::new();
        // The first change may come before the wait begins. One of the later changes is noticed.
        while !waiting.is_finished() {
            let name: ItemKey = fresh_id("m");
            let item = message_that(name.as_str(), Wake::Now);
            want!(t.store.deliver(&key, item.clone()).await?, Delivery::Accepted { .. });
            let due = NewSession { items: vec![item], ..new_session(name.as_str()) };
            t.store.create_session(due).await?;
            pauses.pause().await;
        }
        match waiting.await {
            Ok(answer) => answer?,
            Err(panicked) => return Err(Failure::panicked(panicked.to_string())),
        }
        let took = began.elapsed();
        ensure!(took < AT_MOST / 4, "expected {watch:?} to be heard at once", found = "it took {took:?}");
    }
    Ok(())
}
