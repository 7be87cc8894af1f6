//! Instants: changes of daylight saving time, jitter, lateness, and many workers.

use std::collections::BTreeSet;
use std::time::Duration;

use holdover_schedules::{CatchUp, Overlap, Schedule, Times};

use crate::bench::{
    DAY, HOUR, Program, SLOWLY, World, cron, every, instant, instant_of, name, store_at, tenant,
};

/// Runs a schedule for a time, and returns its instants. No instant is later than a second after the look of a worker.
async fn instants(times: Times, from: &str, time: Duration) -> Vec<String> {
    let (_, program) = Program::at(from);
    program.add("clock", &Schedule::new(times, program.short())).await;
    let (_works, late_max) = match time < 5 * HOUR {
        true => (program.work(), Duration::from_secs(1)),
        false => (program.work_slowly(), SLOWLY + Duration::from_secs(1)),
    };
    tokio::time::sleep(time).await;
    for session in program.sessions("clock").await {
        let late = instant_of(&session.key.id).until(session.created_at);
        assert!(late <= late_max, "{}: {late:?} late", session.key.id);
        assert!(session.created_at >= instant_of(&session.key.id), "{}: too early", session.key.id);
    }
    program.instants("clock").await
}

#[tokio::test(start_paused = true)]
async fn in_berlin_the_clock_goes_forward() {
    let from = "2030-03-30T12:30:00Z";
    let daily = instants(cron("30 2 * * *", "Europe/Berlin"), from, 2 * DAY).await;
    assert_eq!(
        daily,
        ["20300331T010000Z", "20300401T003000Z"],
        "half past two is the first instant after the gap"
    );
    let listed = instants(cron("0,30 2 * * *", "Europe/Berlin"), from, DAY).await;
    assert_eq!(listed, ["20300331T010000Z"], "both times in the gap are one instant");
    let hourly = instants(cron("0 * * * *", "Europe/Berlin"), "2030-03-30T23:30:00Z", 4 * HOUR).await;
    assert_eq!(hourly, ["20300331T000000Z", "20300331T010000Z", "20300331T020000Z", "20300331T030000Z"]);
    let starred = instants(cron("*/30 2 * * *", "Europe/Berlin"), from, 2 * DAY).await;
    assert_eq!(starred, ["20300401T000000Z", "20300401T003000Z"], "the hour does not exist");
    let interval = instants(every(HOUR), "2030-03-30T23:30:00Z", 4 * HOUR).await;
    assert_eq!(interval, ["20300331T003000Z", "20300331T013000Z", "20300331T023000Z"]);
}

#[tokio::test(start_paused = true)]
async fn in_berlin_the_clock_goes_back() {
    let from = "2030-10-26T12:30:00Z";
    let daily = instants(cron("30 2 * * *", "Europe/Berlin"), from, 2 * DAY).await;
    assert_eq!(daily, ["20301027T003000Z", "20301028T013000Z"], "half past two comes twice and counts once");
    let listed = instants(cron("0,30 2 * * *", "Europe/Berlin"), from, DAY).await;
    assert_eq!(listed, ["20301027T000000Z", "20301027T003000Z"]);
    let hourly = instants(cron("0 * * * *", "Europe/Berlin"), "2030-10-26T22:30:00Z", 4 * HOUR).await;
    assert_eq!(hourly, ["20301026T230000Z", "20301027T000000Z", "20301027T010000Z", "20301027T020000Z"]);
    let interval = instants(every(HOUR), "2030-10-26T22:30:00Z", 4 * HOUR).await;
    assert_eq!(interval, ["20301026T233000Z", "20301027T003000Z", "20301027T013000Z"]);
}

#[tokio::test(start_paused = true)]
async fn in_new_york_the_clock_goes_forward_and_back() {
    let forward = instants(cron("30 2 * * *", "America/New_York"), "2030-03-09T12:00:00Z", 3 * DAY).await;
    assert_eq!(forward, ["20300310T070000Z", "20300311T063000Z", "20300312T063000Z"]);
    let back = instants(cron("30 1 * * *", "America/New_York"), "2030-11-02T12:00:00Z", 3 * DAY).await;
    assert_eq!(back, ["20301103T053000Z", "20301104T063000Z", "20301105T063000Z"]);
    let halves = instants(cron("*/30 1 * * *", "America/New_York"), "2030-11-03T04:30:00Z", 3 * HOUR).await;
    assert_eq!(halves, ["20301103T050000Z", "20301103T053000Z", "20301103T060000Z", "20301103T063000Z"]);
    let interval = instants(every(HOUR), "2030-11-03T04:30:00Z", 3 * HOUR + HOUR / 2).await;
    assert_eq!(interval, ["20301103T053000Z", "20301103T063000Z", "20301103T073000Z"]);
    let working_days =
        instants(cron("0 9 * * 1-5", "America/New_York"), "2030-03-08T12:00:00Z", 4 * DAY).await;
    assert_eq!(working_days, ["20300308T140000Z", "20300311T130000Z"]);
}

#[tokio::test(start_paused = true)]
async fn eight_workers_start_each_of_a_thousand_instants_once() {
    const COUNT: u32 = 1_000;
    let (store, world) = (store_at("2030-01-01T00:00:00Z"), World::default());
    let programs: Vec<_> = (0..8).map(|_| Program::on(std::sync::Arc::new(store.clone()), &world)).collect();
    let program = &programs[0];
    let interval = Duration::from_secs(2);
    program.add("often", &Schedule::new(every(interval), program.short()).overlap(Overlap::Allow)).await;
    let _work: Vec<_> = programs.iter().map(Program::work).collect();
    tokio::time::sleep(interval * COUNT + Duration::from_millis(1_500)).await;
    let sessions = program.sessions("often").await;
    let instants: BTreeSet<_> = sessions.iter().map(|session| instant_of(&session.key.id)).collect();
    let begin = instant("2030-01-01T00:00:00Z");
    let expected: BTreeSet<_> = (1..=COUNT).map(|count| begin.after(interval * count)).collect();
    assert_eq!(sessions.len(), 1_000);
    assert_eq!(instants, expected);
    assert_eq!(world.effects(), 1_000);
    for session in &sessions {
        let late = instant_of(&session.key.id).until(session.created_at);
        assert!(late <= Duration::from_secs(1), "{}: {late:?} late", session.key.id);
    }
    let entry = program.entry("often").await;
    assert_eq!((entry.counts.started, entry.counts.left_out, entry.counts.failed), (1_000, 0, 0));
    assert_eq!(entry.next, Some(begin.after(interval * (COUNT + 1))));
}

#[tokio::test(start_paused = true)]
async fn jitter_stays_within_its_bound_and_differs() {
    let (_, program) = Program::at("2030-01-01T00:00:00Z");
    let jitter = Duration::from_secs(30);
    program.add("a", &Schedule::new(every(2 * jitter), program.short()).jitter(jitter)).await;
    let _works = program.work();
    let due = program.entry("a").await.next_due.unwrap();
    tokio::time::sleep(40 * jitter + Duration::from_secs(31)).await;
    let sessions = program.sessions("a").await;
    assert_eq!(sessions.len(), 20);
    let late: BTreeSet<_> =
        sessions.iter().map(|session| instant_of(&session.key.id).until(session.created_at)).collect();
    assert!(late.iter().all(|late| *late <= jitter + Duration::from_secs(1)), "{late:?}");
    assert!(late.len() > 10, "{late:?}");
    assert!(late.last().unwrap() > &Duration::from_secs(10), "{late:?}");
    assert!(due.until(sessions[0].created_at) <= Duration::from_secs(1), "it came when it was announced");
    assert!(program.schedules.remove(&tenant(), &name("a")).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn jitter_never_moves_an_instant_behind_the_next() {
    let (_, program) = Program::at("2030-01-01T00:00:00Z");
    let interval = Duration::from_secs(5);
    let often = Schedule::new(every(interval), program.short()).overlap(Overlap::Allow);
    // A worker that looks late may find two instants due at once. Both are on time.
    program.add("b", &often.jitter(HOUR).catch_up(CatchUp::Last)).await;
    let _works = program.work();
    tokio::time::sleep(HOUR / 4 + Duration::from_secs(6)).await;
    let sessions = program.sessions("b").await;
    let count = u32::try_from(sessions.len()).unwrap();
    assert!((180..=181).contains(&count), "{count}");
    let begin = instant("2030-01-01T00:00:00Z");
    let instants: Vec<_> = sessions.iter().map(|session| instant_of(&session.key.id)).collect();
    let expected: Vec<_> = (1..=count).map(|count| begin.after(interval * count)).collect();
    assert_eq!(instants, expected);
    let entry = program.entry("b").await;
    assert_eq!((entry.counts.started, entry.counts.left_out), (u64::from(count), 0));
}
