//! The process of a schedule dies at each of its writes, and another one goes on.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use holdover_core::store::{SessionStatus, SessionSummary};
use holdover_schedules::{CatchUp, Overlap, Schedule};
use tokio::time::Instant;

use crate::bench::{Process, Program, World, every, instant, instant_of, mortal, store_at, until};

const FROM: &str = "2030-01-01T00:00:00Z";
const INTERVAL: Duration = Duration::from_secs(20);
const COUNT: usize = 3;
const LONG_INTERVAL: Duration = Duration::from_secs(30);
/// The time from its instant after which a long session is told that it is done: it still works at the next instant, and has
/// ended by the one after that, also if a process dies meanwhile. An instant in the queue need not wait as long.
const LASTS: Duration = Duration::from_secs(45);
const LASTS_BEFORE_A_QUEUE: Duration = Duration::from_secs(34);
const LONG_COUNT: usize = 2;

/// Lets the first process work until it dies, and the heir from then on.
fn first_dies(first: Program, heir: Program, process: &Process) -> tokio::task::JoinHandle<()> {
    let died = process.died.clone();
    tokio::spawn(async move {
        let first_works = first.work();
        died.cancelled().await;
        drop(first_works);
        let _heir_works = heir.work();
        std::future::pending().await
    })
}

/// Plays three instants with a process that dies at its write number `at`. Returns true if it died.
async fn story(at: usize, after: bool, overlap: Overlap, jitter: Duration) -> bool {
    let told = format!("dies at {at}, after {after}, {overlap:?}");
    let (store, world) = (store_at(FROM), World::default());
    let process = Process::dying(at, after);
    let first = Program::on(mortal(&store, &process), &world);
    let heir = Program::on(Arc::new(store.clone()), &world);
    let schedule = Schedule::new(every(INTERVAL), heir.short()).overlap(overlap).jitter(jitter);
    heir.add("job", &schedule.catch_up(CatchUp::All(5))).await;
    let announced = heir.entry("job").await.next_due.unwrap();
    let heir_works = first_dies(first, Program::on(Arc::new(store.clone()), &world), &process);
    let ended = async || {
        let sessions = heir.sessions("job").await;
        let ended =
            sessions.iter().filter(|session| session.status == SessionStatus::Idle && session.unread == 0);
        ended.count() >= COUNT && heir.entry("job").await.counts.started >= 3
    };
    until(&told, ended).await;
    let entry = heir.entry("job").await;
    heir_works.abort();
    let sessions = heir.sessions("job").await;
    let instants: Vec<_> = sessions.iter().map(|session| instant_of(&session.key.id)).collect();
    let begin = instant(FROM);
    let count = u32::try_from(instants.len()).unwrap();
    let expected: Vec<_> = (1..=count).map(|count| begin.after(INTERVAL * count)).collect();
    assert_eq!(instants, expected, "{told}: each instant once, in order");
    assert_eq!((entry.counts.left_out, entry.counts.failed), (0, 0), "{told}");
    assert_eq!(world.effects(), sessions.len(), "{told}: each session acted once");
    assert!(sessions.len() <= COUNT + 1, "{told}");
    // The part of the jitter is that which was announced before anybody died.
    let late = announced.until(sessions[0].created_at);
    assert!(sessions[0].created_at >= announced, "{told}: too early");
    assert!(process.died.is_cancelled() || late <= Duration::from_secs(1), "{told}: {late:?} late");
    if !jitter.is_zero() {
        let due = entry.next_due.unwrap();
        assert!(due >= entry.next.unwrap() && due < entry.next.unwrap().after(jitter), "{told}");
    }
    process.died.is_cancelled()
}

async fn sweep(overlap: Overlap, jitter: Duration) {
    for after in [false, true] {
        let mut at = 1;
        while story(at, after, overlap, jitter).await {
            at += 1;
        }
        // For each instant, the schedule and its target make several writes.
        assert!(at > 3 * COUNT, "{at} writes: the story has become shorter");
    }
}

#[tokio::test(start_paused = true)]
async fn each_instant_starts_once_whatever_write_a_process_dies_at() {
    sweep(Overlap::Allow, Duration::ZERO).await;
}

#[tokio::test(start_paused = true)]
async fn a_repeated_start_is_no_overlap_with_itself() {
    sweep(Overlap::Skip, Duration::from_secs(4)).await;
}

#[tokio::test(start_paused = true)]
async fn a_repeated_start_replaces_nothing() {
    sweep(Overlap::Replace, Duration::ZERO).await;
}

fn works(session: &&SessionSummary) -> bool {
    let waits = session.status == SessionStatus::Idle && session.unread > 0;
    waits || !session.status.at_rest()
}

/// Plays two sessions that still work at the next instant, with a process that dies at its write number `at`. Returns true if
/// it died. `started` has the numbers of the instants that start a session.
async fn long_story(
    at: usize,
    after: bool,
    overlap: Overlap,
    started: [u32; LONG_COUNT],
    left_out: u64,
) -> bool {
    let told = format!("dies at {at}, after {after}, {overlap:?}, long");
    let (store, world) = (store_at(FROM), World::default());
    let (begin, began) = (instant(FROM), Instant::now());
    let process = Process::dying(at, after);
    let first = Program::on(mortal(&store, &process), &world);
    let heir = Program::on(Arc::new(store.clone()), &world);
    let is_replaced = overlap == Overlap::Replace;
    let lasts = if overlap == Overlap::Queue { LASTS_BEFORE_A_QUEUE } else { LASTS };
    let target = if is_replaced { heir.slow() } else { heir.long() };
    heir.add("job", &Schedule::new(every(LONG_INTERVAL), target).overlap(overlap).catch_up(CatchUp::All(5)))
        .await;
    let all_work = first_dies(first, Program::on(Arc::new(store.clone()), &world), &process);
    let signalled = Mutex::new(BTreeSet::new());
    let ended = async || {
        let sessions = heir.sessions("job").await;
        assert!(sessions.iter().filter(works).count() <= 1, "{told}: two at once");
        for session in &sessions {
            let done = instant_of(&session.key.id).after(lasts);
            let is_new = begin.after(began.elapsed()) >= done
                && signalled.lock().unwrap().insert(session.key.id.clone());
            if is_new && !is_replaced {
                heir.done(session.key.id.as_str()).await;
            }
        }
        let waits = sessions.last().is_some_and(|session| session.status == SessionStatus::Suspended);
        waits && sessions.len() >= LONG_COUNT && heir.entry("job").await.counts.started >= 2
    };
    until(&told, ended).await;
    let entry = heir.entry("job").await;
    all_work.abort();
    let sessions = heir.sessions("job").await;
    let instants: Vec<_> = sessions.iter().map(|session| instant_of(&session.key.id)).collect();
    assert_eq!(instants, started.map(|count| begin.after(LONG_INTERVAL * count)), "{told}");
    assert_eq!(
        (entry.counts.started, entry.counts.left_out, entry.counts.failed),
        (2, left_out, 0),
        "{told}"
    );
    for pair in sessions.windows(2) {
        assert!(pair[0].updated_at <= pair[1].created_at, "{told}: two at once");
        let expected = if is_replaced { SessionStatus::Interrupted } else { SessionStatus::Idle };
        assert_eq!(pair[0].status, expected, "{told}");
    }
    assert_eq!(world.effects(), LONG_COUNT, "{told}: each session acted once");
    let undone = if is_replaced { LONG_COUNT - 1 } else { 0 };
    assert_eq!(world.undone(), undone, "{told}: what was replaced was undone");
    process.died.is_cancelled()
}

async fn long_sweep(overlap: Overlap, started: [u32; LONG_COUNT], left_out: u64) {
    for after in [false, true] {
        let mut at = 1;
        while long_story(at, after, overlap, started, left_out).await {
            at += 1;
        }
        assert!(at > 6 * LONG_COUNT, "{at} writes: the story has become shorter");
    }
}

#[tokio::test(start_paused = true)]
async fn every_other_instant_is_left_out_whatever_write_a_process_dies_at() {
    long_sweep(Overlap::Skip, [1, 3], 1).await;
}

#[tokio::test(start_paused = true)]
async fn an_instant_waits_in_the_queue_whatever_write_a_process_dies_at() {
    long_sweep(Overlap::Queue, [1, 2], 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_session_is_replaced_once_and_undone_whatever_write_a_process_dies_at() {
    long_sweep(Overlap::Replace, [1, 2], 0).await;
}
