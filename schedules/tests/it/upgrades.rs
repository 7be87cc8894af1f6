//! Instants that were recorded before the tables of time zones or the code changed.

use std::time::Duration;

use holdover_core::ids::Incarnation;
use holdover_runtime_local::Deliver;
use holdover_schedules::{Outcome, Overlap, Schedule};

use crate::bench::{HOUR, MINUTE, Program, Working, cron, instant, name, tenant};

const FROM: &str = "2030-01-01T00:00:00Z";

/// Lets a daily schedule go on from a record: the next instant is not one of its times.
async fn recorded(jitter: Duration, next: &str, due: Option<&str>) -> (Program, Working) {
    recorded_in(None, jitter, next, due).await
}

/// Lets a daily schedule go on from a record of this life. `None`: of its own.
async fn recorded_in(
    life: Option<Incarnation>,
    jitter: Duration,
    next: &str,
    due: Option<&str>,
) -> (Program, Working) {
    let (_, program) = Program::at(FROM);
    let daily = Schedule::new(cron("0 1 * * *", "UTC"), program.short()).overlap(Overlap::Allow);
    program.add("daily", &daily.jitter(jitter)).await;
    let works = program.work();
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(program.schedules.pause(&tenant(), &name("daily")).await.unwrap());
    let entry = program.entry("daily").await;
    let rules = serde_json::json!({
        "times": entry.times, "jitter_ms": entry.jitter_ms, "overlap": "allow", "catch_up": "last",
    });
    let mut place = serde_json::json!({
        "born": { "life": life.unwrap_or(entry.life), "at": instant(FROM) }, "next": instant(next),
    });
    if let Some(due) = due {
        place["due"] = serde_json::json!(instant(due));
    }
    let input = serde_json::json!({ "rules": rules, "place": place });
    program.runtime.deliver(&entry.session, Deliver::message(input.to_string())).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    (program, works)
}

#[tokio::test(start_paused = true)]
async fn a_recorded_instant_starts_although_the_times_no_longer_have_it() {
    for due in [None, Some("2030-01-01T00:30:00Z")] {
        let (program, _works) = recorded(Duration::ZERO, "2030-01-01T00:30:00Z", due).await;
        assert_eq!(program.entry("daily").await.next, Some(instant("2030-01-01T00:30:00Z")));
        tokio::time::sleep(HOUR / 2 + MINUTE).await;
        assert_eq!(program.instants("daily").await, ["20300101T003000Z"]);
        assert_eq!(program.entry("daily").await.next, Some(instant("2030-01-01T01:00:00Z")));
        tokio::time::sleep(HOUR / 2).await;
        assert_eq!(program.instants("daily").await, ["20300101T003000Z", "20300101T010000Z"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_recorded_instant_is_due_when_it_was_announced() {
    for due in ["2030-01-01T00:30:01Z", "2030-01-01T00:30:20Z", "2030-01-01T00:59:00Z"] {
        let (program, _works) = recorded(HOUR, "2030-01-01T00:30:00Z", Some(due)).await;
        assert_eq!(program.entry("daily").await.next_due, Some(instant(due)));
        tokio::time::sleep(HOUR).await;
        let started = program.sessions("daily").await.remove(0);
        assert_eq!(started.key.id.as_str(), "daily:20300101T003000Z");
        assert!(started.created_at >= instant(due), "{due}: too early");
        assert!(instant(due).until(started.created_at) <= Duration::from_secs(1), "{due}");
    }
}

/// A run that was cut off from the store may go on after its schedule was removed and another one was added under the name.
#[tokio::test(start_paused = true)]
async fn an_instant_of_another_life_starts_nothing() {
    let other = Incarnation::derived([7; 16]);
    let (program, _works) = recorded_in(Some(other), Duration::ZERO, "2030-01-01T00:30:00Z", None).await;
    tokio::time::sleep(HOUR / 2 + MINUTE).await;
    assert!(program.sessions("daily").await.is_empty());
    let entry = program.entry("daily").await;
    assert_eq!((entry.counts.started, entry.counts.failed), (0, 1));
    let Outcome::Failed { why } = entry.last.unwrap().outcome else { panic!("failed") };
    assert!(why.contains("removed"), "{why}");
}
