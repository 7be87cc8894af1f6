//! Instants at which the earlier session still works.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::SessionId;
use holdover_core::store::{Labels, PAGE_ROWS_MAX, SessionStatus};
use holdover_runtime_local::{Deliver, Fork};
use holdover_schedules::{Overlap, SCHEDULE_LABEL, Schedule};

use crate::bench::{
    MINUTE, Program, UNDOING, World, counting, every, instant, store_at, tenant, until, with_short_pages,
};

const FIRST: &str = "long:20300101T001000Z";
const SECOND: &str = "long:20300101T002000Z";
const THIRD: &str = "long:20300101T003000Z";

/// Runs a schedule of ten minutes whose sessions last until they are told that they are done, until the first waits.
async fn long(overlap: Overlap) -> (Program, crate::bench::Working) {
    let (_, program) = Program::at("2030-01-01T00:00:00Z");
    program.add("long", &Schedule::new(every(10 * MINUTE), program.long()).overlap(overlap)).await;
    let works = program.work();
    tokio::time::sleep(11 * MINUTE).await;
    assert_eq!(program.status(FIRST).await, SessionStatus::Suspended);
    (program, works)
}

#[tokio::test(start_paused = true)]
async fn skip_leaves_instants_out_while_the_session_works() {
    let (program, _works) = long(Overlap::Skip).await;
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(program.sessions("long").await.len(), 1);
    let entry = program.entry("long").await;
    assert_eq!((entry.counts.started, entry.counts.left_out), (1, 2));
    assert_eq!(entry.last.unwrap().instant, instant("2030-01-01T00:30:00Z"));
    program.done(FIRST).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.instants("long").await, ["20300101T001000Z", "20300101T004000Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_works_is_found_behind_more_sessions_than_a_page_holds() {
    let (program, _works) = long(Overlap::Skip).await;
    // They end at once, and are newer than the one that works.
    let newer = usize::try_from(2 * PAGE_ROWS_MAX).unwrap();
    for nth in 0..newer {
        let id = SessionId::new(format!("newer-{nth}")).unwrap();
        let request = program.job.execute(tenant(), &"short".to_owned()).unwrap();
        let request = request.in_session(id).labelled(Labels::from_iter([(SCHEDULE_LABEL, "long")]));
        program.runtime.start(request).await.unwrap();
    }
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.sessions("long").await.len(), newer + 1);
    assert_eq!(program.entry("long").await.counts.left_out, 1);
    program.done(FIRST).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.sessions("long").await.len(), newer + 2);
}

/// Of the sessions that have ended, each look reads one.
#[tokio::test(start_paused = true)]
async fn a_look_costs_the_same_however_many_sessions_have_ended() {
    for overlap in [Overlap::Skip, Overlap::Queue, Overlap::Replace] {
        let (store, listed) = counting(&store_at("2030-01-01T00:00:00Z"));
        let program = Program::on(store, &World::default());
        let schedule = Schedule::new(every(10 * MINUTE), program.short()).overlap(overlap);
        program.add("short", &schedule).await;
        let _works = program.work();
        tokio::time::sleep(MINUTE).await;
        let mut read = Vec::new();
        for _ in 0..20 {
            tokio::time::sleep(10 * MINUTE).await;
            read.push(listed.take());
        }
        assert_eq!(program.entry("short").await.counts.started, 20, "{overlap:?}");
        assert!(read.iter().all(|read| *read <= 2), "{overlap:?}: {read:?}");
    }
}

/// It ended, and somebody goes on with it.
#[tokio::test(start_paused = true)]
async fn the_newest_session_counts_again_if_it_works_again() {
    let (program, _works) = long(Overlap::Skip).await;
    program.done(FIRST).await;
    tokio::time::sleep(10 * MINUTE).await;
    program.done(SECOND).await;
    let second = program.sessions("long").await.remove(1).key;
    tokio::time::sleep(MINUTE).await;
    program.runtime.deliver(&second, Deliver::message("\"long\"")).await.unwrap();
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.status(SECOND).await, SessionStatus::Suspended);
    assert_eq!(program.sessions("long").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_works_is_found_behind_an_empty_page() {
    let store = with_short_pages(&store_at("2030-01-01T00:00:00Z"));
    let program = Program::on(store, &World::default());
    program.add("long", &Schedule::new(every(10 * MINUTE), program.long())).await;
    let _works = program.work();
    tokio::time::sleep(21 * MINUTE).await;
    assert_eq!(program.instants("long").await, ["20300101T001000Z"]);
    let entry = program.entry("long").await;
    assert_eq!(entry.counts.left_out, 1);
    assert_eq!(entry.last_start.unwrap().session.as_str(), FIRST);
}

#[tokio::test(start_paused = true)]
async fn a_fork_of_a_session_is_none_of_the_schedule() {
    let (program, _works) = long(Overlap::Skip).await;
    let first = program.sessions("long").await.remove(0).key;
    let fork = program.runtime.fork(&first, Fork::newest()).await.unwrap().key;
    program.runtime.deliver(&fork, Deliver::message("\"long\"")).await.unwrap();
    program.done(FIRST).await;
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.status(fork.id.as_str()).await, SessionStatus::Suspended, "the fork still works");
    assert_eq!(program.instants("long").await, ["20300101T001000Z", "20300101T002000Z"]);
}

#[tokio::test(start_paused = true)]
async fn queue_starts_one_instant_once_the_session_has_ended() {
    let (program, _works) = long(Overlap::Queue).await;
    tokio::time::sleep(20 * MINUTE).await;
    assert_eq!(program.sessions("long").await.len(), 1);
    let entry = program.entry("long").await;
    assert_eq!(entry.waits, Some(instant("2030-01-01T00:20:00Z")), "the first of them waits");
    assert_eq!((entry.counts.started, entry.counts.left_out), (1, 1));
    program.done(FIRST).await;
    // It has waited for eleven minutes, so it looks each minute.
    tokio::time::sleep(MINUTE + Duration::from_secs(5)).await;
    assert_eq!(program.instants("long").await, ["20300101T001000Z", "20300101T002000Z"]);
    assert_eq!(program.entry("long").await.waits, None);
    program.done(SECOND).await;
    tokio::time::sleep(8 * MINUTE).await;
    assert_eq!(program.instants("long").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_short_wait_in_the_queue_ends_soon_after_the_session() {
    let (program, _works) = long(Overlap::Queue).await;
    tokio::time::sleep(9 * MINUTE + Duration::from_secs(4)).await;
    assert!(program.entry("long").await.waits.is_some());
    program.done(FIRST).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(program.sessions("long").await.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn allow_starts_beside_the_session() {
    let (program, _works) = long(Overlap::Allow).await;
    tokio::time::sleep(20 * MINUTE).await;
    for id in [FIRST, SECOND, THIRD] {
        assert_eq!(program.status(id).await, SessionStatus::Suspended);
    }
}

#[tokio::test(start_paused = true)]
async fn replace_interrupts_the_session_and_starts_once_it_has_ended() {
    let (program, _works) = long(Overlap::Replace).await;
    tokio::time::sleep(9 * MINUTE + Duration::from_secs(10)).await;
    assert_eq!(program.status(FIRST).await, SessionStatus::Interrupted);
    let first = program.sessions("long").await.remove(0);
    let second = program.sessions("long").await.remove(1);
    assert!(second.created_at >= first.updated_at, "never two at once");
    tokio::time::sleep(10 * MINUTE).await;
    assert_eq!(program.status(SECOND).await, SessionStatus::Interrupted);
    assert_eq!(program.status(THIRD).await, SessionStatus::Suspended);
    let entry = program.entry("long").await;
    assert_eq!((entry.counts.started, entry.counts.left_out), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn replace_lets_a_session_that_was_stopped_before_undo_what_it_did() {
    let (store, world) = (store_at("2030-01-01T00:00:00Z"), World::default());
    let program = Program::on(Arc::new(store), &world);
    let slow = Schedule::new(every(10 * MINUTE), program.slow()).overlap(Overlap::Replace);
    program.add("long", &slow).await;
    let _works = program.work();
    tokio::time::sleep(20 * MINUTE - UNDOING / 2).await;
    let first = program.sessions("long").await.remove(0);
    program.runtime.interrupt(&first.key, "a person stops it").await.unwrap();
    tokio::time::sleep(UNDOING).await;
    assert_eq!(program.sessions("long").await.len(), 1, "the first undoes what it did");
    tokio::time::sleep(UNDOING).await;
    assert_eq!(program.status(FIRST).await, SessionStatus::Interrupted);
    assert_eq!(program.status(SECOND).await, SessionStatus::Suspended);
    assert_eq!((world.effects(), world.undone()), (2, 1));
}

/// No worker has the code of the target, so its session does not begin.
#[tokio::test(start_paused = true)]
async fn replace_takes_the_place_of_a_session_that_has_not_begun() {
    let (store, program) = Program::at("2030-01-01T00:00:00Z");
    program.add("long", &Schedule::new(every(10 * MINUTE), program.long()).overlap(Overlap::Replace)).await;
    let options = holdover_runtime_local::RuntimeOptions::default();
    let agents = holdover_runtime_local::Agents::new().with(program.schedules.agent().clone());
    let other = holdover_runtime_local::Runtime::new(store, agents, options);
    let worker = holdover_runtime_local::Worker::new(other, holdover_runtime_local::WorkerOptions::default());
    let works =
        tokio::spawn(async move { worker.run(holdover_runtime_local::CancellationToken::new()).await });
    until("the first", async || program.sessions("long").await.len() == 1).await;
    assert_eq!(program.status(FIRST).await, SessionStatus::Idle);
    until("the second", async || program.sessions("long").await.len() == 2).await;
    assert_eq!(program.status(FIRST).await, SessionStatus::Aborted);
    works.abort();
}
