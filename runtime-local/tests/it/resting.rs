//! A session at rest while its background children run: it is kept, and notices children that have vanished.
//!
//! Requirements: C48, H21.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::store::{Deletion, OutcomeKind, SessionStatus, StateStore};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, ChildStanding, Retention, SubAgent, WorkerOptions, is_due, only_looks};

use crate::background::{child_of, is_child, status};
use crate::bench::{agent, asking_for, completes, runtime, say, store, transcript, worker};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns a parent that begins background helpers with these arguments. Each helper waits for a person, without a
/// time limit.
fn begins(arguments: &'static str) -> (Script, Arc<Agent>) {
    let model = Script::new(move |request| match (is_child(request), results(request).is_empty()) {
        (true, true) => Say::Calls(vec![("write", "{}")]),
        (true, false) => Say::Text("dug it"),
        (false, true) => Say::Calls(vec![("helper", arguments)]),
        (false, false) => Say::Text("said"),
    });
    let patient = Limits::default().answer_timeout_ms(None);
    let helper = SubAgent::new("helper", "Digs.")
        .instructions("You help.")
        .tools(["write".parse().unwrap()])
        .limits(patient.clone())
        .background();
    let built = agent(&model)
        .limits(patient)
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(helper)
        .build();
    (model, Arc::new(built.unwrap()))
}

const HOUR: Duration = Duration::from_hours(1);
const LATER: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn it_is_purged_once_its_children_have_ended_and_not_before() {
    let (_, agent) = begins(r#"{"tasks":["dig"],"background":true}"#);
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(LATER).await;
    let child = child_of(&runtime, &parent).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended);
    let all = Retention::sessions(Duration::ZERO);
    assert_eq!(runtime.purge(&all).await.unwrap().sessions, 0);

    let asked = runtime.pending(&parent).await.unwrap();
    runtime.approve(&parent, asked[0].id(), "ann").await.unwrap();
    tokio::time::sleep(LATER).await;
    let rests = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!((rests.status, rests.alarm), (SessionStatus::Idle, None));
    assert_eq!(runtime.purge(&all).await.unwrap().sessions, 2);
}

#[tokio::test(start_paused = true)]
async fn it_looks_for_its_children_once_an_hour_and_begins_a_turn_if_one_has_vanished() {
    let (model, agent) = begins(r#"{"tasks":["dig"],"background":true}"#);
    let store = store();
    let runtime = runtime(&store, &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let rests = runtime.session(&parent).await.unwrap().unwrap();
    assert!(rests.alarm.is_some_and(|at| at > runtime.now() && at <= runtime.now().after(HOUR)), "{rests:?}");

    // A child that still exists is left alone, and the session stays at rest.
    let child = child_of(&runtime, &parent).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(3 * HOUR).await;
    let looked = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!(looked.epoch.0, rests.epoch.0 + 3, "one run an hour");
    assert_eq!((looked.status, looked.last_message), (SessionStatus::Idle, rests.last_message));
    assert!(runtime.replay(&parent).await.unwrap().agrees());

    store.delete_session(&child, Deletion::FORCE).await.unwrap();
    let asked = model.asked().len();
    tokio::time::sleep(2 * HOUR).await;
    let told = format!("{:?}", transcript(&runtime, &parent).await);
    assert!(told.contains("it is gone"), "{told}");
    assert_eq!(model.asked().len(), asked + 1, "told once");
    let children = runtime.children(&parent).await.unwrap();
    assert!(children.iter().all(|child| child.standing == ChildStanding::Gone), "{children:?}");
    assert_eq!(runtime.session(&parent).await.unwrap().unwrap().alarm, None, "nothing is left to look for");
    assert!(runtime.replay(&parent).await.unwrap().agrees());
}

#[tokio::test(start_paused = true)]
async fn the_end_of_a_quiet_child_that_vanished_begins_no_turn_and_is_looked_for_no_more() {
    let (_, agent) = begins(r#"{"tasks":["dig"],"background":true,"quiet":true}"#);
    let store = store();
    let runtime = runtime(&store, &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let before = runtime.session(&parent).await.unwrap().unwrap();
    store.delete_session(&child_of(&runtime, &parent).await, Deletion::FORCE).await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(2 * HOUR).await;
    let looked = runtime.session(&parent).await.unwrap().unwrap().epoch.0;
    assert!(looked > before.epoch.0, "it has looked");
    tokio::time::sleep(3 * HOUR).await;
    let after = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!((after.unread, after.alarm, after.last_message), (1, None, before.last_message));
    assert_eq!(after.epoch.0, looked, "there is nothing left to look for");
}

#[tokio::test(start_paused = true)]
async fn nobody_waits_for_a_session_that_only_looks_for_its_children() {
    let (_, agent) = begins(r#"{"tasks":["dig"],"background":true}"#);
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let before = tokio::time::Instant::now();
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(before.elapsed() < LATER, "{:?}", before.elapsed());

    // Without a worker the look is overdue, and that is no work either.
    tokio::time::sleep(2 * HOUR).await;
    let rests = runtime.session(&parent).await.unwrap().unwrap();
    assert!(rests.alarm.is_some_and(|at| at < runtime.now()), "{rests:?}");
    assert!(only_looks(&rests) && !is_due(&rests, runtime.now()));
    let outcome = runtime.wait_at_most(&parent, LATER).await.unwrap();
    assert_eq!(outcome.map(|outcome| outcome.kind()), Some(OutcomeKind::Completed));
}
