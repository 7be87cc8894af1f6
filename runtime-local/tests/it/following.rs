//! A reader that follows a session sees everything once, wherever the connection is cut.
//!
//! Requirements: A15, A38, B16, C15, C17.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures::StreamExt;
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::ids::{Epoch, Fence, MessageSeq, OperationId, RunId, SessionKey, TurnNumber, WorkerId};
use holdover_core::message::{Mentions, Message};
use holdover_core::payload::Payload;
use holdover_core::store::{
    ClaimOne, ClaimOutcome, Commit, CommitOutcome, DeltaBatch, DeltaOutcome, EventCursor, SessionStatus,
    StateStore, StreamId,
};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Agent, Agents, Follow, Runtime, Shown, Worker, WorkerOptions};
use holdover_store_memory::MemoryStore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, agentless, completes, options, runtime, say, store, worker};
use crate::dice::Dice;
use crate::script::{Say, Script, results};
use crate::stub_store::stumbling;
use crate::tools::Fake;

/// The number of times that readers are cut, over all stories.
const CUTS: u32 = 200;
const LEASE: Duration = Duration::from_secs(10);

/// The screen of a reader; each new item is checked against it.
#[derive(Debug, Default, PartialEq)]
struct Screen {
    events: Vec<(u64, Event)>,
    /// The text of each stream as shown so far, with the place of its last delta.
    said: BTreeMap<StreamId, (u64, String)>,
    /// The stream on the screen that is not complete yet.
    open: Option<StreamId>,
    dropped: Vec<StreamId>,
}

impl Screen {
    fn take(&mut self, shown: Shown) {
        match shown {
            Shown::Event(entry) => {
                let expected = self.events.last().map_or(1, |(seq, _)| seq + 1);
                assert_eq!(entry.seq.0, expected, "events without gap or repeat");
                if let Event::Message { stream: Some(stream), .. } = entry.event {
                    assert!(!self.dropped.contains(&stream), "{stream} was said to be void");
                    self.open = self.open.filter(|open| *open != stream);
                }
                self.events.push((entry.seq.0, entry.event));
            }
            Shown::Delta(entry) => {
                if let Some(open) = self.open {
                    assert_eq!(open, entry.stream, "a new stream while {open} is on the screen");
                }
                self.open = Some(entry.stream);
                let (place, text) = self.said.entry(entry.stream).or_default();
                assert_eq!(entry.place, *place + 1, "{}: deltas without gap or repeat", entry.stream);
                *place = entry.place;
                match entry.delta {
                    Delta::Text { text: more } => text.push_str(&more),
                    Delta::Reasoning { .. }
                    | Delta::CallStarted { .. }
                    | Delta::CallRunning { .. }
                    | Delta::CallProgress { .. } => {
                        panic!("the model only says text")
                    }
                    other => panic!("{other:?}"),
                }
            }
            Shown::Dropped { stream, .. } => {
                assert_eq!(self.open.take(), Some(stream), "what is dropped was on the screen");
                self.dropped.push(stream);
            }
            other => panic!("{other:?}"),
        }
    }

    /// Returns the durable events as bytes. Panics if anything provisional is left.
    fn bytes(&self) -> Vec<u8> {
        assert_eq!(self.open, None, "nothing provisional is left");
        serde_json::to_vec(&self.events).unwrap()
    }
}

/// Returns a model that speaks slowly, for three turns. The first attempt at the second turn is cut off in the
/// middle.
fn talker() -> Script {
    let cut = Arc::new(AtomicU32::new(0));
    Script::new(move |request| {
        let turn = request.messages.iter().filter(|message| matches!(&***message, Message::User(_))).count();
        let asked = cut.fetch_add(1, Ordering::SeqCst);
        let pieces = (0..20).map(|piece| format!("{turn}.{asked}.{piece} ")).collect();
        Say::Slowly { pieces, apart: Duration::from_millis(110), whole: !(turn == 2 && request.attempt == 0) }
    })
}

fn quick_lease(store: &(impl StateStore + Clone), agent: &Arc<Agent>) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    let options = options().lease(LEASE);
    Runtime::new(Arc::new(store.clone()), Arc::new(agents), options)
}

/// Returns the text of the message that each stream became.
async fn messages_by_stream(runtime: &Runtime, key: &SessionKey) -> BTreeMap<StreamId, String> {
    let texts: BTreeMap<_, _> = runtime
        .messages(key)
        .await
        .unwrap()
        .into_iter()
        .filter_map(|entry| match entry.message {
            Message::Assistant(said) => Some((entry.seq, said.text())),
            Message::User(_)
            | Message::Tool(_)
            | Message::Decision(_)
            | Message::Notice(_)
            | Message::Summary(_) => None,
        })
        .collect();
    let events: Vec<_> = runtime.events(key, EventCursor::START, Follow::Available).collect().await;
    let mut messages = BTreeMap::new();
    for entry in events {
        if let Event::Message { seq, stream: Some(stream), .. } = entry.unwrap().event {
            messages.insert(stream, texts[&seq].clone());
        }
    }
    messages
}

fn is_event(shown: &Shown, is: impl Fn(&Event) -> bool) -> bool {
    match shown {
        Shown::Event(entry) => is(&entry.event),
        Shown::Delta(_) | Shown::Dropped { .. } => false,
        other => panic!("{other:?}"),
    }
}

/// Reads to the end of the third turn. With dice, the reader is cut after a few items, again and again.
async fn read(front: Runtime, key: SessionKey, mut dice: Option<Dice>) -> (Screen, u32, u32) {
    let (mut screen, mut cuts, mut within) = (Screen::default(), 0, 0);
    let mut cursor = EventCursor::START;
    let mut turns = 0;
    loop {
        let many = dice.as_mut().map_or(u64::MAX, |dice| 1 + dice.below(12));
        let mut shown = front.follow(&key, cursor, Follow::Forever);
        for _ in 0..many {
            let next = shown.next().await.unwrap().unwrap();
            // Clients keep the cursor as text.
            cursor = next.cursor().to_string().parse().unwrap();
            turns += u32::from(is_event(&next, |event| matches!(event, Event::Done { .. })));
            screen.take(next);
            if turns == 3 {
                return (screen, cuts, within);
            }
        }
        cuts += 1;
        within += u32::from(screen.open.is_some());
        // The reader is away for a while. Meanwhile an attempt may die, or its message may arrive.
        if let Some(dice) = &mut dice {
            sleep(Duration::from_millis(dice.below(4) * dice.below(4_000))).await;
        }
    }
}

/// Requirements: A15, A38, B16, C15.
#[tokio::test(start_paused = true)]
async fn a_reader_that_is_cut_anywhere_ends_with_the_same_bytes() {
    let (mut cuts, mut within, mut dropped, mut takeovers, mut seed) = (0, 0, 0, 0, 0);
    while cuts < CUTS {
        seed += 1;
        let mut dice = Dice(seed);
        let agent = Arc::new(agent(&talker()).build().unwrap());
        let store = store();
        let front = agentless(&store);
        let key = front.start(say(&agent, "one").served_elsewhere()).await.unwrap().key;
        let whole = tokio::spawn(read(front.clone(), key.clone(), None));
        let cut = tokio::spawn(read(front.clone(), key.clone(), Some(Dice(seed + 1_000))));
        for text in ["two", "three"] {
            // One worker dies in the middle of the answer, and its lease ends. Another finishes the turn.
            let mortal = Worker::new(quick_lease(&store, &agent), WorkerOptions::default());
            let life = tokio::spawn(async move { mortal.run(CancellationToken::new()).await });
            sleep(Duration::from_millis(200 + dice.below(2_500))).await;
            life.abort();
            let _worker = worker(&quick_lease(&store, &agent), WorkerOptions::default());
            front.wait(&key).await.unwrap();
            front.start(say(&agent, text).served_elsewhere().in_session(key.id.clone())).await.unwrap();
        }
        let _worker = worker(&quick_lease(&store, &agent), WorkerOptions::default());
        let (whole, _, _) = whole.await.unwrap();
        let (screen, cut, in_stream) = cut.await.unwrap();
        assert_eq!(screen.bytes(), whole.bytes(), "seed {seed}");
        let messages = messages_by_stream(&front, &key).await;
        for reader in [&screen, &whole] {
            for (stream, (_, said)) in &reader.said {
                match messages.get(stream) {
                    Some(message) => assert!(message.starts_with(said.as_str()), "seed {seed}: {stream}"),
                    None => assert!(reader.dropped.contains(stream), "seed {seed}: {stream} left no message"),
                }
            }
        }
        let takeover =
            |event: &Event| matches!(event, Event::RunStarted { found: SessionStatus::Active, .. });
        takeovers += whole.events.iter().filter(|(_, event)| takeover(event)).count();
        cuts += cut;
        within += in_stream;
        dropped += screen.dropped.len();
    }
    assert!(within >= CUTS / 4 && dropped >= 5 && takeovers >= 5, "{within} {dropped} {takeovers}");
}

#[tokio::test(start_paused = true)]
async fn a15_each_part_is_shown_before_the_next_one_comes() {
    let apart = Duration::from_secs(1);
    let model = Script::new(move |_| Say::Slowly { pieces: pieces(10), apart, whole: true });
    let agent = Arc::new(agent(&model).build().unwrap());
    let front = runtime(&store(), &agent);
    let began = tokio::time::Instant::now();
    let run = front.execute(say(&agent, "go")).await.unwrap();
    let mut shown = front.follow(run.key(), EventCursor::START, Follow::UntilRest);
    let mut seconds = Vec::new();
    while let Some(next) = shown.next().await {
        if matches!(next.unwrap(), Shown::Delta(_)) {
            seconds.push(began.elapsed().as_secs());
        }
    }
    assert_eq!(seconds, (1..=10).collect::<Vec<u64>>());
}

/// Returns a session that a run holds, with two deltas of its first stream, and the cursor of a reader that has seen
/// both.
async fn speaking(store: &MemoryStore, front: &Runtime) -> (Fence, SessionKey, EventCursor) {
    let agent = Arc::new(agent(&talker()).build().unwrap());
    let key = front.start(say(&agent, "one").served_elsewhere()).await.unwrap().key;
    let fence = claim(store, &key, "first").await;
    let deltas = ["a", "b"].map(|text| Payload::json(&Delta::Text { text: text.into() }).unwrap());
    let batch = DeltaBatch { stream: 1, first: 1, deltas: deltas.into() };
    let appended = store.append_deltas(&fence, batch).await.unwrap();
    assert!(matches!(appended, DeltaOutcome::Appended(_)), "{appended:?}");
    let shown = available(front, &key, EventCursor::START).await;
    assert!(matches!(shown.as_slice(), [Shown::Delta(_), Shown::Delta(_)]), "{shown:?}");
    (fence, key, shown[1].cursor())
}

async fn claim(store: &MemoryStore, key: &SessionKey, run: &str) -> Fence {
    let claim = ClaimOne {
        run: RunId::new(run).unwrap(),
        worker: WorkerId::new("w").unwrap(),
        lease: LEASE,
        expected_version: None,
        items: Vec::new(),
    };
    match store.claim_session(key, claim).await.unwrap() {
        ClaimOutcome::Claimed(claim) => claim.fence,
        refused @ (ClaimOutcome::VersionConflict { .. }
        | ClaimOutcome::Held { .. }
        | ClaimOutcome::Aborted
        | ClaimOutcome::LeaseEnded
        | ClaimOutcome::ItemRefused { .. }
        | ClaimOutcome::NotFound) => panic!("{refused:?}"),
    }
}

async fn available(front: &Runtime, key: &SessionKey, cursor: EventCursor) -> Vec<Shown> {
    front.follow(key, cursor, Follow::Available).map(Result::unwrap).collect().await
}

async fn append(store: &MemoryStore, fence: &Fence, events: &[Event], streamed: Option<u32>) {
    let events = events.iter().map(|event| Payload::json(event).unwrap()).collect();
    let commit = Commit { events, streamed, ..Commit::new(OperationId::new("c").unwrap()) };
    let outcome = store.commit(fence, commit).await.unwrap();
    assert!(matches!(outcome, CommitOutcome::Committed(_)), "{outcome:?}");
}

/// Requirements: C17.
#[tokio::test(start_paused = true)]
async fn a_reader_in_a_dead_attempt_is_told_at_once() {
    let store = store();
    let front = agentless(&store);
    let (_, key, cursor) = speaking(&store, &front).await;
    assert_eq!(available(&front, &key, cursor).await, [], "nothing new while it runs");
    sleep(LEASE * 2).await;
    let second = claim(&store, &key, "second").await;
    let shown = available(&front, &key, cursor).await;
    let stream = StreamId { run: Epoch(1), number: 1 };
    assert!(matches!(shown.as_slice(), [Shown::Dropped { stream: of, .. }] if *of == stream), "{shown:?}");
    assert_eq!(available(&front, &key, shown[0].cursor()).await, [], "told once");
    // A reader that looks only now is shown the drop before anything of the next run.
    let began = Event::RunStarted { run: Epoch(2), found: SessionStatus::Active, kind: None };
    append(&store, &second, &[began], None).await;
    let shown = available(&front, &key, cursor).await;
    assert!(matches!(shown.as_slice(), [Shown::Dropped { .. }, Shown::Event(_)]), "{shown:?}");
}

/// Requirements: B16.
#[tokio::test(start_paused = true)]
async fn a_message_takes_the_place_of_its_deltas_however_much_comes_after_it() {
    let store = store();
    let front = agentless(&store);
    let (fence, key, cursor) = speaking(&store, &front).await;
    let stream = Some(StreamId { run: Epoch(1), number: 1 });
    let (role, mentions) = ("assistant".into(), Mentions::none());
    let message = Event::Message { seq: MessageSeq(1), role, stream, mentions };
    let more = (1..=450).map(|turn| Event::Init { turn: TurnNumber(turn), session: None });
    let events: Vec<Event> = std::iter::once(message).chain(more).collect();
    append(&store, &fence, &events, Some(1)).await;
    let shown = available(&front, &key, cursor).await;
    assert_eq!(shown.len(), 451, "{:?}", &shown[..2]);
    assert!(shown.iter().all(|shown| is_event(shown, |_| true)), "nothing is dropped");
}

fn pieces(many: u32) -> Vec<String> {
    (0..many).map(|piece| format!("{piece} ")).collect()
}

#[tokio::test(start_paused = true)]
async fn no_stream_is_void_whose_message_is_only_slow_to_be_written() {
    let store = stumbling(store());
    let apart = Duration::from_millis(110);
    let faults = Arc::clone(store.layer());
    let model = Script::new(move |request| match results(request).is_empty() {
        true => Say::SlowlyCall { pieces: pieces(10), apart, tool: "look" },
        false => Say::Slowly { pieces: pieces(40), apart, whole: true },
    });
    let look = Fake::new("look", move |_| {
        // The commit of the answer and of this result takes more than a second.
        faults.commits_to_refuse.store(7, Ordering::SeqCst);
        async { Ok(ToolOutput::text("seen").into()) }
    });
    let agent = Arc::new(agent(&model).tool(look.effect(EffectClass::ReadOnly)).build().unwrap());
    let front = runtime(&store, &agent);
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    let _worker = worker(&front, WorkerOptions::default());
    let mut screen = Screen::default();
    let mut shown = front.follow(&key, EventCursor::START, Follow::UntilRest);
    while let Some(next) = shown.next().await {
        screen.take(next.unwrap());
    }
    assert_eq!(store.layer().fired(), 7, "the commit was refused");
    assert_eq!((screen.dropped.len(), screen.said.len()), (0, 2), "{screen:?}");
    screen.bytes();
}

#[tokio::test(start_paused = true)]
async fn deltas_bring_the_news_that_a_renewal_would() {
    let store = stumbling(store());
    let apart = Duration::from_millis(110);
    let model = Script::new(move |_| Say::Slowly { pieces: pieces(300), apart, whole: true });
    let agent = Arc::new(agent(&model).build().unwrap());
    let front = runtime(&store, &agent);
    let began = tokio::time::Instant::now();
    completes(front.execute(say(&agent, "go")).await.unwrap()).await;
    let regular = began.elapsed().as_secs() / 5;
    let renewals = u64::from(store.layer().renewals.load(Ordering::SeqCst));
    assert!(began.elapsed() > Duration::from_secs(30), "it was slow");
    assert!(renewals <= regular + 1, "{renewals} renewals, {regular} are due");
}

#[tokio::test(start_paused = true)]
async fn deltas_may_be_gathered_for_longer_than_a_clock_can_count() {
    let store = store();
    let apart = Duration::from_millis(110);
    let model = Script::new(move |_| Say::Slowly { pieces: pieces(3), apart, whole: true });
    let agent = Arc::new(agent(&model).build().unwrap());
    let agents = Agents::new().with(Arc::clone(&agent));
    let options = options().delta_interval(Some(Duration::MAX));
    let front = Runtime::new(Arc::new(store), Arc::new(agents), options);
    completes(front.execute(say(&agent, "go")).await.unwrap()).await;
}
