//! Schedules are added, listed, paused, resumed, triggered and removed.

use std::time::Duration;

use holdover_core::ids::{ItemKey, TenantId};
use holdover_core::store::{Labels, SessionStatus};
use holdover_schedules::{
    Added, CatchUp, InvalidSchedule, Overlap, SCHEDULE_LABEL, Schedule, ScheduleError, ScheduleName,
    Standing, Times,
};

use crate::bench::{DAY, HOUR, MINUTE, Program, Working, cron, every, instant, name, tenant};

const FROM: &str = "2030-01-01T00:00:00Z";

async fn hourly() -> (Program, Working) {
    let (_, program) = Program::at(FROM);
    let schedule = Schedule::new(every(HOUR), program.short()).catch_up(CatchUp::All(100));
    program.add("hourly", &schedule).await;
    let works = program.work();
    tokio::time::sleep(HOUR + MINUTE).await;
    assert_eq!(program.sessions("hourly").await.len(), 1);
    (program, works)
}

#[tokio::test(start_paused = true)]
async fn a_pause_leaves_instants_out_and_a_resumed_schedule_counts_from_then() {
    let (program, works) = hourly().await;
    let (hourly, tenant) = (name("hourly"), tenant());
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap());
    assert!(!program.schedules.pause(&tenant, &hourly).await.unwrap());
    let entry = program.entry("hourly").await;
    assert_eq!((entry.standing, entry.next), (Standing::Paused, None));
    // The pause needs no worker.
    drop(works);
    tokio::time::sleep(DAY).await;
    let _works = program.work();
    tokio::time::sleep(HOUR).await;
    assert_eq!(program.sessions("hourly").await.len(), 1);
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    assert!(!program.schedules.resume(&tenant, &hourly).await.unwrap());
    let entry = program.entry("hourly").await;
    assert_eq!((entry.standing, entry.next), (Standing::On, Some(instant("2030-01-02T03:00:00Z"))));
    tokio::time::sleep(HOUR).await;
    assert_eq!(program.instants("hourly").await, ["20300101T010000Z", "20300102T030000Z"]);
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap(), "it can be paused again");
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    tokio::time::sleep(HOUR).await;
    assert_eq!(program.sessions("hourly").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_no_worker_has_begun_can_be_paused_resumed_and_triggered() {
    let (_, program) = Program::at(FROM);
    let (hourly, tenant) = (name("hourly"), tenant());
    let schedule = Schedule::new(every(HOUR), program.short());
    program.add("hourly", &schedule).await;
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap());
    assert_eq!(program.entry("hourly").await.standing, Standing::Paused);
    program.schedules.trigger(&tenant, &hourly, None).await.unwrap();
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    assert_eq!(program.entry("hourly").await.standing, Standing::On);
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap());
    let works = program.work();
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(program.sessions("hourly").await.len(), 1, "paused before it began");
    assert_eq!(program.entry("hourly").await.standing, Standing::Paused);
    assert_eq!(program.schedules.add(&tenant, &hourly, &schedule).await.unwrap(), Added::Duplicate);
    program.schedules.trigger(&tenant, &hourly, None).await.unwrap();
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    drop(works);
    // A resumed schedule that no worker has taken up can be paused, too.
    assert!(program.schedules.pause(&tenant, &hourly).await.unwrap());
    let _works = program.work();
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(program.sessions("hourly").await.len(), 2);
    assert!(program.schedules.resume(&tenant, &hourly).await.unwrap());
    tokio::time::sleep(HOUR + MINUTE).await;
    assert_eq!(program.sessions("hourly").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_trigger_starts_at_once_beside_the_instants() {
    let (_, program) = Program::at(FROM);
    let (long, tenant) = (name("long"), tenant());
    program.add("long", &Schedule::new(every(HOUR), program.long()).overlap(Overlap::Skip)).await;
    let _works = program.work();
    let key = || Some(ItemKey::new("now").unwrap());
    let first = program.schedules.trigger(&tenant, &long, key()).await.unwrap();
    let again = program.schedules.trigger(&tenant, &long, key()).await.unwrap();
    assert_eq!(first, again);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let other = program.schedules.trigger(&tenant, &long, None).await.unwrap();
    assert_ne!(first, other, "it does not ask whether the first has ended");
    tokio::time::sleep(MINUTE).await;
    assert_eq!(program.sessions("long").await.len(), 2);
    let entry = program.entry("long").await;
    assert_eq!(entry.last_start.unwrap().session, other.id);
    assert_eq!(entry.next, Some(instant("2030-01-01T01:00:00Z")), "its instants stay");
    tokio::time::sleep(HOUR).await;
    assert_eq!(program.sessions("long").await.len(), 2, "a triggered session counts for the rule");
    program.done(first.id.as_str()).await;
    program.done(other.id.as_str()).await;
    tokio::time::sleep(HOUR).await;
    assert_eq!(program.sessions("long").await.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_removed_schedule_starts_nothing_and_its_name_is_free() {
    let (program, _works) = hourly().await;
    let (hourly, tenant) = (name("hourly"), tenant());
    let life = program.entry("hourly").await.life;
    program.schedules.remove(&tenant, &hourly).await.unwrap();
    assert!(matches!(program.schedules.remove(&tenant, &hourly).await, Err(ScheduleError::NotFound { .. })));
    assert!(program.schedules.get(&tenant, &hourly).await.unwrap().is_none());
    assert!(program.schedules.list(&tenant).await.unwrap().is_empty());
    tokio::time::sleep(2 * HOUR).await;
    assert_eq!(program.sessions("hourly").await.len(), 1, "what it started stays");
    let schedule = Schedule::new(every(2 * HOUR), program.short());
    assert_eq!(program.schedules.add(&tenant, &hourly, &schedule).await.unwrap(), Added::Created);
    assert_ne!(program.entry("hourly").await.life, life);
    tokio::time::sleep(2 * HOUR + MINUTE).await;
    assert_eq!(program.instants("hourly").await, ["20300101T010000Z", "20300101T050100Z"]);
    // A removal whose process died after the abort.
    let key = program.entry("hourly").await.session;
    program.runtime.abort(&key, "removed").await.unwrap();
    assert_eq!(program.entry("hourly").await.standing, Standing::Removing);
    assert!(program.schedules.resume(&tenant, &hourly).await.is_err());
    assert_eq!(program.schedules.add(&tenant, &hourly, &schedule).await.unwrap(), Added::Created);
    assert_eq!(program.entry("hourly").await.standing, Standing::On);
}

#[tokio::test(start_paused = true)]
async fn lists_are_those_of_a_tenant() {
    let (program, _works) = hourly().await;
    program.add("daily", &Schedule::new(cron("0 9 * * *", "Europe/Berlin"), program.short())).await;
    let listed = program.schedules.list(&tenant()).await.unwrap();
    let names: Vec<_> = listed.iter().map(|entry| entry.as_ref().unwrap().name.to_string()).collect();
    assert_eq!(names, ["daily", "hourly"]);
    let hourly = listed[1].as_ref().unwrap();
    assert_eq!(hourly.next, Some(instant("2030-01-01T02:00:00Z")));
    let last = hourly.last_start.as_ref().unwrap();
    assert_eq!((last.session.as_str(), last.status), ("hourly:20300101T010000Z", SessionStatus::Idle));
    assert!(program.schedules.list(&TenantId::new("other").unwrap()).await.unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_repeat_adds_nothing_and_another_schedule_of_the_name_is_refused() {
    let (program, _works) = hourly().await;
    let (hourly, tenant) = (name("hourly"), tenant());
    let same = Schedule::new(every(HOUR), program.short()).catch_up(CatchUp::All(100));
    let before = program.entry("hourly").await;
    assert_eq!(program.schedules.add(&tenant, &hourly, &same).await.unwrap(), Added::Duplicate);
    for other in [same.clone().overlap(Overlap::Allow), Schedule::new(every(HOUR), program.long())] {
        let refused = program.schedules.add(&tenant, &hourly, &other).await;
        assert!(matches!(refused, Err(ScheduleError::Exists { .. })), "{refused:?}");
    }
    assert_eq!(program.entry("hourly").await, before);
}

#[tokio::test(start_paused = true)]
async fn invalid_schedules_are_refused_and_change_nothing() {
    assert!(ScheduleName::new("a b").is_err() && ScheduleName::new("").is_err());
    let line = |line: &str| Times::cron(line, "UTC").unwrap_err();
    for wrong in ["", "x", "* * *", "60 * * * *", "0 9 * * 8", "@sometimes", "*/0 * * * *"] {
        assert!(matches!(line(wrong), InvalidSchedule::Cron { .. }), "{wrong:?}");
    }
    let zone = Times::cron("0 9 * * *", "Europe/Atlantis");
    assert!(matches!(zone, Err(InvalidSchedule::Zone { .. })), "{zone:?}");
    for wrong in [Duration::ZERO, Duration::from_millis(999), Duration::MAX] {
        let refused = Times::every(wrong);
        assert!(matches!(refused, Err(InvalidSchedule::Every { .. })), "{refused:?}");
    }
    let (_, program) = Program::at(FROM);
    let valid = Schedule::new(every(HOUR), program.short());
    let labelled = |count: usize| {
        let labels = (0..count).map(|nth| (format!("label-{nth}"), "x"));
        Schedule::new(every(HOUR), program.short().labelled(Labels::from_iter(labels)))
    };
    let never = Schedule::new(cron("0 0 30 2 *", "UTC"), program.short());
    let past = Schedule::new(cron("0 0 0 1 1 * 2020", "UTC"), program.short());
    for (schedule, told) in [
        (valid.clone().catch_up(CatchUp::All(0)), "catch-up of 0"),
        (valid.clone().catch_up(CatchUp::All(1_001)), "catch-up of 1001"),
        (valid.clone().jitter(Duration::MAX), "jitter"),
        (labelled(Labels::LABELS_MAX), "labels: 32"),
        (labelled(100), "labels: 100"),
        (never, "no instant to come"),
        (past, "no instant to come"),
    ] {
        let refused = program.schedules.add(&tenant(), &name("wrong"), &schedule).await.unwrap_err();
        assert!(matches!(refused, ScheduleError::Invalid(_)), "{refused:?}");
        assert!(refused.to_string().contains(told), "{refused}");
    }
    assert!(program.schedules.list(&tenant()).await.unwrap().is_empty());
    let missing = name("missing");
    assert!(matches!(
        program.schedules.pause(&tenant(), &missing).await,
        Err(ScheduleError::NotFound { .. })
    ));
    assert!(program.schedules.resume(&tenant(), &missing).await.is_err());
    assert!(program.schedules.trigger(&tenant(), &missing, None).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn the_sessions_of_a_target_with_many_labels_are_those_of_the_schedule() {
    let (_, program) = Program::at(FROM);
    let names = (1..Labels::LABELS_MAX).map(|nth| format!("label-{nth}"));
    let own = names.chain([SCHEDULE_LABEL.to_owned()]).map(|name| (name, "x"));
    let target = program.long().labelled(Labels::from_iter(own));
    program.add("full", &Schedule::new(every(HOUR), target)).await;
    let _works = program.work();
    tokio::time::sleep(2 * HOUR + MINUTE).await;
    let sessions = program.sessions("full").await;
    assert_eq!(sessions.len(), 1, "the first still works");
    assert_eq!(sessions[0].labels.0.len(), Labels::LABELS_MAX);
    assert_eq!(program.entry("full").await.counts.left_out, 1);
}

#[tokio::test(start_paused = true)]
async fn a_schedule_whose_last_instant_has_passed_is_over() {
    let (_, program) = Program::at("2030-06-01T00:00:00Z");
    program.add("once", &Schedule::new(cron("0 0 12 1 6 * 2030", "UTC"), program.short())).await;
    let _works = program.work_slowly();
    tokio::time::sleep(DAY).await;
    assert_eq!(program.instants("once").await, ["20300601T120000Z"]);
    let entry = program.entry("once").await;
    assert_eq!((entry.standing, entry.next, entry.counts.started), (Standing::Over, None, 1));
}
