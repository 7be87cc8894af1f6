//! Cursors: places in the log of a session, and in lists.

use holdover_store::payload::Digest;
use holdover_store::runs_digest;

use super::prelude::*;
use crate::reader::{Reader, Shown};
use crate::snapshot::all_events;

cases! {
    cursor.of_deleted_incarnation_is_gone: Core Sequential,
        "a cursor of a deleted life is gone, also when the session was created again",
        "a reader would go on in the middle of another conversation",
        "EventPage::Gone: the cursor belongs to a life of the session that was deleted";
    cursor.of_one_list_is_refused_by_every_other: Core Property,
        "a cursor of one list, and one whose place is none, is refused by every list",
        "a place read as another skips rows, or shows those of another session",
        "PageCursor: a place in a list, bound to the query it came from";
    deltas.cursor_joins_anywhere_without_gap_or_repeat: Distributed Property,
        "readers that join at any moment and read pages of any size see each event once and the stream whole",
        "clients come and go in the middle of a word",
        "design 4: a reader joins anywhere, without gap or repeat";
    deltas.page_limit_counts_events_and_deltas: Core Property,
        "a page holds at most its limit of events and deltas together, and says whether there is more",
        "a reader that believes it is at the end waits beside what is there",
        "read_events: events after a cursor and, at the end of the log, the deltas, at most `limit` rows";
    deltas.a_reader_in_a_dead_attempt_is_told: Distributed Time,
        "a reader in the middle of an attempt that died is shown that it is over, and then the next from its first",
        "a client would show half a sentence of a worker that is gone, and go on with another's",
        "design 4: a reader in the middle of an attempt that died is told so";
    deltas.events_and_deltas_are_of_one_instant: Distributed Concurrent,
        "a page shows a stream together with exactly the events that were there while it ran",
        "a message would be shown twice: as committed, and as still being said",
        "read_events: events after a cursor and the deltas of the stream that runs, all at one instant";
}

async fn of_deleted_incarnation_is_gone(t: Bench) -> CaseResult {
    let first = t.running("s").await?;
    let key = &first.fence.key;
    t.commit(&first.fence, Commit { events: events(["old 1", "old 2"]), ..commit() }).await?;
    t.append(&first.fence, deltas(1, 1, ["old a", "old b"])).await?;
    let after_event = read(&t.store, key, &EventCursor::START, 1).await?.next;
    let within_stream = read(&t.store, key, &EventCursor::START, 3).await?.next;
    ensure!(within_stream != after_event, "expected two places", found = "{within_stream}");
    t.store.delete_session(key, Deletion::FORCE).await?;
    for cursor in [after_event, within_stream] {
        let answer = t.store.read_events(key, &cursor, 5).await?;
        ensure_eq!(answer, EventPage::NotFound, "while there is no session, {cursor}");
    }
    let second = t.running("s").await?;
    t.commit(&second.fence, Commit { events: events(["new 1", "new 2", "new 3"]), ..commit() }).await?;
    t.append(&second.fence, deltas(1, 1, ["new a", "new b", "new c"])).await?;
    for cursor in [after_event, within_stream] {
        let answer = t.store.read_events(key, &cursor, 5).await?;
        ensure_eq!(answer, EventPage::Gone, "once it was created again, {cursor}");
    }
    let all = all_events(&t.store, key).await?;
    let found = crate::fixture::texts(all.iter().map(|event| &event.payload));
    ensure_eq!(found, ["new 1", "new 2", "new 3"], "from the start");
    Ok(())
}

/// Reads one page of a list and returns the cursor of the next page.
async fn list(store: &Handle, which: usize, page: PageRequest) -> Result<Option<PageCursor>, StoreError> {
    match which {
        0 => Ok(store.list_sessions(&SessionQuery { page, ..SessionQuery::all(id(TENANT)) }).await?.next),
        1 => Ok(store.list_pending(&PendingQuery { page, ..PendingQuery::all(id(TENANT)) }).await?.next),
        2 => Ok(store.list_runs(&key("s"), page).await?.next),
        3 => Ok(store.list_runs(&key("other"), page).await?.next),
        4 => {
            let query = CheckpointQuery { page, ..CheckpointQuery::all(key("s")) };
            Ok(store.list_checkpoints(&query).await?.next)
        }
        _ => {
            let query = CheckpointQuery { page, ..CheckpointQuery::all(key("other")) };
            Ok(store.list_checkpoints(&query).await?.next)
        }
    }
}

/// Returns the digest that the cursors of a list are bound to.
fn digest(which: usize) -> Digest {
    match which {
        0 => SessionQuery::all(id(TENANT)).digest(),
        1 => PendingQuery::all(id(TENANT)).digest(),
        2 => runs_digest(&key("s")),
        3 => runs_digest(&key("other")),
        4 => CheckpointQuery::all(key("s")).digest(),
        _ => CheckpointQuery::all(key("other")).digest(),
    }
}

async fn of_one_list_is_refused_by_every_other(t: Bench) -> CaseResult {
    const LISTS: [&str; 6] =
        ["sessions", "pending calls", "runs", "another's runs", "checkpoints", "another's checkpoints"];
    for name in ["s", "other"] {
        t.create(name).await?;
        for number in 0..3 {
            let claim = t.claim(&key(name)).await?;
            let open = vec![approval(&format!("{name}-{number}"))];
            let release = Some(crate::fixture::release_to(SessionStatus::Idle));
            t.commit(&claim.fence, Commit { open, release, ..checkpoint("state") }).await?;
        }
    }
    let mut cursors = Vec::new();
    for (which, name) in LISTS.iter().enumerate() {
        let next = list(&t.store, which, PageRequest::first(count(1))).await?;
        let cursor = next.ok_or_else(|| Failure::new(format!("expected a second page of {name}")))?;
        cursors.push((which, *name, cursor));
    }
    for (of, name, cursor) in &cursors {
        for (which, other) in LISTS.iter().enumerate() {
            let page = PageRequest { after: Some(cursor.clone()), limit: Some(count(1)) };
            let answer = list(&t.store, which, page).await;
            if which == *of {
                answer?;
                continue;
            }
            let error = want!(answer, Err(error) => error);
            ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "{other} after a cursor of {name}");
        }
        for position in [&b""[..], b"\xff", b"no place of any list\xff"] {
            let made_up = PageCursor::at(digest(*of), position);
            let page = PageRequest { after: Some(made_up), limit: Some(count(1)) };
            let error = want!(list(&t.store, *of, page).await, Err(error) => error);
            ensure_eq!(error.kind, StoreErrorKind::InvalidArgument, "{name} after a place that is none");
        }
    }
    Ok(())
}

/// A step in the life of a session that readers follow.
#[derive(Debug, Clone, Copy)]
enum Step {
    Events(usize),
    Deltas {
        call: u32,
        number: usize,
    },
    /// A commit of the message of this model call.
    Message(u32),
    TakeOver,
    /// A release, followed by another claim.
    NextRun,
}

const STORY: [Step; 15] = [
    Step::Deltas { call: 1, number: 2 },
    Step::Deltas { call: 1, number: 1 },
    Step::Message(1),
    Step::Events(2),
    Step::Deltas { call: 2, number: 1 },
    Step::Deltas { call: 3, number: 3 },
    Step::Message(2),
    Step::TakeOver,
    Step::Deltas { call: 1, number: 1 },
    Step::Events(1),
    Step::Deltas { call: 1, number: 3 },
    Step::NextRun,
    Step::Events(3),
    Step::Deltas { call: 1, number: 2 },
    Step::Deltas { call: 1, number: 2 },
];

/// The events and deltas that a session should show.
struct Expected {
    fence: holdover_store::ids::Fence,
    events: u64,
    shown: Shown,
}

impl Expected {
    async fn step(&mut self, t: &Bench, step: Step) -> CaseResult {
        match step {
            Step::Events(number) => {
                let events = vec![bytes("event"); number];
                self.events += number as u64;
                t.commit(&self.fence, Commit { events, ..commit() }).await?;
            }
            Step::Deltas { call, number } => {
                let stream = StreamId { run: self.fence.epoch, number: call };
                let mut texts =
                    self.shown.take().filter(|(shown, _)| *shown == stream).unwrap_or((stream, vec![])).1;
                let first = texts.len() as u64 + 1;
                let new = (0..number).map(|place| format!("{stream} {}", place as u64 + first));
                let new: Vec<String> = new.collect();
                let batch = new.iter().map(|text| bytes(text)).collect();
                t.append(&self.fence, DeltaBatch { stream: call, first, deltas: batch }).await?;
                texts.extend(new);
                self.shown = Some((stream, texts));
            }
            Step::Message(call) => {
                self.events += 1;
                let message = Commit { events: events(["message"]), streamed: Some(call), ..commit() };
                t.commit(&self.fence, message).await?;
                let ended = StreamId { run: self.fence.epoch, number: call };
                self.shown = self.shown.take().filter(|(shown, _)| *shown > ended);
            }
            Step::TakeOver => {
                self.fence = t.take_over(&self.fence.key).await?.fence;
                self.shown = None;
            }
            Step::NextRun => {
                t.release(&self.fence, SessionStatus::Idle).await?;
                self.fence = t.claim(&self.fence.key).await?.fence;
                self.shown = None;
            }
        }
        Ok(())
    }

    fn is_seen(&self, reader: &Reader) -> CaseResult {
        ensure_eq!(reader.events, self.events, "events seen");
        ensure_eq!(reader.shown, self.shown, "the stream seen");
        Ok(())
    }
}

async fn cursor_joins_anywhere_without_gap_or_repeat(t: Bench) -> CaseResult {
    const LIMITS: [u32; 4] = [1, 2, 3, 7];
    let peer = t.peer().await;
    let fence = t.running("s").await?.fence;
    let key = fence.key.clone();
    let mut expected = Expected { fence, events: 0, shown: None };
    // Some readers catch up after every step; the others read one page.
    let mut readers: Vec<(String, u32, bool, Reader)> = Vec::new();
    for (number, step) in STORY.into_iter().enumerate() {
        for limit in LIMITS {
            for eager in [true, false] {
                let who = format!("joined before step {number}, pages of {limit}, eager: {eager}");
                readers.push((who, limit, eager, Reader::new()));
            }
        }
        expected.step(&t, step).await?;
        for (who, limit, eager, reader) in &mut readers {
            let what = format!("{who}, after step {number} {step:?}");
            let reads = async {
                if *eager {
                    reader.catch_up(&peer, &key, *limit).await?;
                    return expected.is_seen(reader);
                }
                reader.page(&peer, &key, *limit).await.map(drop)
            };
            reads.await.map_err(|failure| failure.within(what))?;
        }
    }
    for (who, limit, _, reader) in &mut readers {
        reader.catch_up(&peer, &key, *limit).await?;
        expected.is_seen(reader).map_err(|failure| failure.within(format!("{who}, at the end")))?;
    }
    Ok(())
}

async fn page_limit_counts_events_and_deltas(t: Bench) -> CaseResult {
    const EVENTS: usize = 3;
    const DELTAS: usize = 4;
    let claim = t.running("s").await?;
    let key = &claim.fence.key;
    t.commit(&claim.fence, Commit { events: events(["1", "2", "3"]), ..commit() }).await?;
    t.append(&claim.fence, deltas(1, 1, ["a", "b", "c", "d"])).await?;
    for begin in 0..=EVENTS + DELTAS {
        let cursor = match begin {
            0 => EventCursor::START,
            begin => read(&t.store, key, &EventCursor::START, begin as u32).await?.next,
        };
        for limit in 1..=EVENTS + DELTAS + 1 {
            let page = read(&t.store, key, &cursor, limit as u32).await?;
            let end = (begin + limit).min(EVENTS + DELTAS);
            let found = (page.events.len(), page.stream.as_ref().map_or(0, |(_, texts)| texts.len()));
            let expected = (
                end.min(EVENTS).saturating_sub(begin.min(EVENTS)),
                end.max(EVENTS).saturating_sub(begin.max(EVENTS)),
            );
            ensure_eq!(found, expected, "events and deltas after {begin} rows, at most {limit}");
            ensure_eq!(page.more, end < EVENTS + DELTAS, "whether there is more after {begin} + {limit}");
            ensure_eq!(
                page.stream.is_some(),
                end >= EVENTS,
                "whether the stream is told after {begin} + {limit}"
            );
        }
    }
    Ok(())
}

async fn a_reader_in_a_dead_attempt_is_told(t: Bench) -> CaseResult {
    let peer = t.peer().await;
    let dead = t.running("s").await?;
    let key = &dead.fence.key;
    t.commit(&dead.fence, Commit { events: events(["1"]), ..commit() }).await?;
    t.append(&dead.fence, deltas(1, 1, ["half", "a"])).await?;
    let within = read(&peer, key, &EventCursor::START, 2).await?;
    ensure_eq!(within.stream.map(|(_, texts)| texts), Some(vec!["half".to_owned()]), "what was read");

    let next = t.take_over(key).await?;
    let told = read(&peer, key, &within.next, 9).await?;
    ensure_eq!((&told.events, &told.stream, told.more), (&vec![], &None, false), "after the takeover");
    let end = EventCursor::after(dead.fence.incarnation, holdover_store::ids::EventSeq(1));
    ensure_eq!(told.next, end, "the place, which is in no stream any more");

    t.append(&next.fence, deltas(1, 1, ["x", "y", "z"])).await?;
    let whole = Some((StreamId { run: Epoch(2), number: 1 }, vec!["x".into(), "y".into(), "z".into()]));
    for (what, cursor) in [("one that was told", told.next), ("one that was not", within.next)] {
        ensure_eq!(read(&peer, key, &cursor, 9).await?.stream, whole, "the next stream, for {what}");
    }
    // The same holds for the next attempt of the same run.
    let within = read(&peer, key, &end, 2).await?.next;
    t.append(&next.fence, deltas(2, 1, ["again"])).await?;
    let again = Some((StreamId { run: Epoch(2), number: 2 }, vec!["again".to_owned()]));
    ensure_eq!(read(&peer, key, &within, 9).await?.stream, again, "the attempt after");
    Ok(())
}

/// Writes `messages` messages. Each is streamed and then committed with one event.
async fn speak(peer: &Handle, fence: &holdover_store::ids::Fence, messages: u32) -> CaseResult {
    for call in 1..=messages {
        for place in 1..=2 {
            let answer = peer.append_deltas(fence, deltas(call, place, ["word"])).await?;
            want!(answer, DeltaOutcome::Appended(_));
            tokio::task::yield_now().await;
        }
        let message = Commit { events: events(["message"]), streamed: Some(call), ..commit() };
        want!(peer.commit(fence, message).await?, CommitOutcome::Committed(_));
    }
    Ok(())
}

/// Follows the writes of [`speak`]. While call n streams, exactly the n - 1 messages before it must be there.
async fn listen(peer: &Handle, key: &SessionKey, messages: u32) -> CaseResult {
    let mut reader = Reader::new();
    while reader.events < u64::from(messages) {
        if !reader.page(peer, key, 3).await?
            && let Some((stream, _)) = &reader.shown
        {
            ensure_eq!(reader.events + 1, u64::from(stream.number), "messages, and the one that streams");
        }
        tokio::task::yield_now().await;
    }
    Ok(())
}

async fn events_and_deltas_are_of_one_instant(t: Bench) -> CaseResult {
    const MESSAGES: u32 = 20;
    let claim = t.running("s").await?;
    let fence = claim.fence.clone();
    race(t.peers(4).await, |index, peer| {
        let fence = fence.clone();
        Box::pin(async move {
            match index {
                0 => speak(&peer, &fence, MESSAGES).await,
                _ => listen(&peer, &fence.key, MESSAGES).await,
            }
        })
    })
    .await?;
    ensure_eq!(read(&t.store, &fence.key, &EventCursor::START, 200).await?.stream, None, "in the end");
    Ok(())
}
