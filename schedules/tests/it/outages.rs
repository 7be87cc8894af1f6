//! Instants that pass while no worker runs.

use std::time::Duration;

use holdover_schedules::{CatchUp, Overlap, Schedule};

use crate::bench::{DAY, HOUR, MINUTE, Program, cron, every, instant, instant_of};

/// Runs a daily schedule for a day, stops all workers for three, and returns the instants of the days after that.
async fn after_three_days(catch_up: CatchUp) -> Vec<String> {
    let (_, program) = Program::at("2030-06-03T06:00:00Z");
    let daily = Schedule::new(cron("0 9 * * *", "Europe/Berlin"), program.short());
    program.add("daily", &daily.overlap(Overlap::Allow).catch_up(catch_up)).await;
    let works = program.work_slowly();
    tokio::time::sleep(6 * HOUR).await;
    assert_eq!(program.instants("daily").await, ["20300603T070000Z"]);
    drop(works);
    tokio::time::sleep(3 * DAY).await;
    let _works = program.work_slowly();
    tokio::time::sleep(HOUR).await;
    program.instants("daily").await.split_off(1)
}

#[tokio::test(start_paused = true)]
async fn none_starts_nothing_that_was_missed() {
    assert!(after_three_days(CatchUp::None).await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn last_starts_the_newest() {
    assert_eq!(after_three_days(CatchUp::Last).await, ["20300606T070000Z"]);
}

#[tokio::test(start_paused = true)]
async fn all_starts_as_many_as_it_says_and_no_more_than_there_are() {
    assert_eq!(after_three_days(CatchUp::All(2)).await, ["20300605T070000Z", "20300606T070000Z"]);
    let all = ["20300604T070000Z", "20300605T070000Z", "20300606T070000Z"];
    assert_eq!(after_three_days(CatchUp::All(3)).await, all);
    assert_eq!(after_three_days(CatchUp::All(1_000)).await, all);
}

#[tokio::test(start_paused = true)]
async fn an_instant_is_on_time_for_a_minute_and_the_schedule_goes_on() {
    for (late, expected) in [(20, 1), (70, 0)] {
        let (_, program) = Program::at("2030-06-03T06:59:00Z");
        let daily = Schedule::new(cron("0 7 * * *", "UTC"), program.short()).catch_up(CatchUp::None);
        program.add("daily", &daily).await;
        // A worker begins the schedule, and dies.
        let works = program.work_slowly();
        tokio::time::sleep(MINUTE / 2).await;
        drop(works);
        tokio::time::sleep(MINUTE / 2 + Duration::from_secs(late)).await;
        let _works = program.work_slowly();
        tokio::time::sleep(MINUTE).await;
        assert_eq!(program.instants("daily").await.len(), expected, "{late} s late");
        tokio::time::sleep(DAY).await;
        assert_eq!(program.instants("daily").await.len(), expected + 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_schedule_counts_from_its_beginning_although_no_worker_ran_then() {
    let (_, program) = Program::at("2030-06-03T06:00:00Z");
    let daily = Schedule::new(cron("0 7 * * *", "UTC"), program.short());
    program.add("daily", &daily.overlap(Overlap::Allow).catch_up(CatchUp::All(9))).await;
    assert_eq!(program.entry("daily").await.next, Some(instant("2030-06-03T07:00:00Z")));
    tokio::time::sleep(2 * DAY).await;
    let _works = program.work_slowly();
    tokio::time::sleep(MINUTE).await;
    assert_eq!(program.instants("daily").await, ["20300603T070000Z", "20300604T070000Z"]);
}

#[tokio::test(start_paused = true)]
async fn a_long_outage_of_a_schedule_with_many_instants_costs_little() {
    let (_, program) = Program::at("2030-06-03T06:00:00Z");
    let often = Schedule::new(cron("* * * * * *", "Europe/Berlin"), program.short());
    program.add("often", &often.overlap(Overlap::Allow).catch_up(CatchUp::All(3))).await;
    tokio::time::sleep(2_000 * DAY).await;
    let works = program.work_slowly();
    let began = std::time::Instant::now();
    crate::bench::until("three", async || program.instants("often").await.len() >= 3).await;
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    drop(works);
    // The three that are made up for are among those that are on time: of the 5 seconds before the look.
    let sessions = program.sessions("often").await;
    let look = sessions[0].created_at;
    let instants: Vec<_> = sessions.iter().map(|session| instant_of(&session.key.id)).collect();
    let begin = instant("2030-06-03T06:00:00Z").after(2_000 * DAY);
    let newest = (0..).map(|second| begin.after(Duration::from_secs(second)));
    let newest = newest.take_while(|at| *at <= look).last().unwrap();
    let oldest = instants[0];
    assert!(oldest.until(look) <= Duration::from_secs(5), "{oldest}, {look}");
    assert!(oldest.until(newest) >= Duration::from_secs(4), "{oldest}, {newest}");
    let expected = (0..).map(|second| oldest.after(Duration::from_secs(second)));
    assert_eq!(instants, expected.take(instants.len()).collect::<Vec<_>>());
}

/// Runs a schedule with an instant each second for a minute, at which a worker looks every `look` seconds for a moment. Returns
/// the seconds whose instants were started.
async fn each_second(catch_up: CatchUp, look: u64) -> Vec<u64> {
    const MOMENT: Duration = Duration::from_millis(300);
    let (_, program) = Program::at("2030-06-03T06:00:00Z");
    let often = Schedule::new(every(Duration::from_secs(1)), program.short());
    program.add("often", &often.overlap(Overlap::Allow).catch_up(catch_up)).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    for _ in 0..60 / look {
        tokio::time::sleep(Duration::from_secs(look) - MOMENT).await;
        let works = program.work();
        tokio::time::sleep(MOMENT).await;
        works.stop().await;
    }
    let begin = instant("2030-06-03T06:00:00Z");
    let sessions = program.sessions("often").await;
    sessions.iter().map(|session| begin.until(instant_of(&session.key.id)).as_secs()).collect()
}

#[tokio::test(start_paused = true)]
async fn instants_that_became_due_shortly_before_one_look_are_all_on_time() {
    for catch_up in [CatchUp::None, CatchUp::Last, CatchUp::All(2)] {
        for look in [2, 3, 5] {
            let seconds = each_second(catch_up, look).await;
            assert_eq!(seconds, Vec::from_iter(1..=60), "{catch_up:?}, a look every {look} s");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn the_rule_of_catch_up_decides_about_instants_that_are_not_on_time() {
    for (catch_up, kept) in
        [(CatchUp::None, 5), (CatchUp::Last, 5), (CatchUp::All(2), 5), (CatchUp::All(9), 9)]
    {
        let seconds = each_second(catch_up, 20).await;
        let expected: Vec<_> = [20, 40, 60].into_iter().flat_map(|look| look - kept + 1..=look).collect();
        assert_eq!(seconds, expected, "{catch_up:?}");
    }
}
