//! Targets: agents, and messages to one session.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::message::Message;
use holdover_core::model::{Model, ModelAnswer, ModelError, ModelRequest, ModelStream};
use holdover_core::store::{Labels, StateStore};
use holdover_runtime_local::{Agent, Agents, Execute, Runtime, RuntimeOptions, Worker, WorkerOptions};
use holdover_schedules::{Outcome, Overlap, Schedule, Schedules, Target};
use tokio_util::sync::CancellationToken;

use crate::bench::{MINUTE, Program, cron, every, name, store_at, tenant};

/// A model that takes its time.
struct Slow(Duration);

#[async_trait]
impl Model for Slow {
    fn name(&self) -> &str {
        "slow"
    }

    async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
        tokio::time::sleep(self.0).await;
        Ok(ModelAnswer::text("ok").into_stream())
    }
}

async fn said(runtime: &Runtime, key: &SessionKey) -> usize {
    let messages = runtime.messages(key).await.unwrap();
    messages.iter().filter(|entry| matches!(entry.message, Message::User(_))).count()
}

/// A clerk whose turn takes this time, in a session of its own.
async fn clerk(turn: Duration) -> (Runtime, Schedules, Arc<Agent>, SessionKey) {
    let store: Arc<dyn StateStore> = Arc::new(store_at("2030-01-01T00:00:00Z"));
    let options = RuntimeOptions::default();
    let schedules = Schedules::new(Arc::clone(&store), options.clone()).unwrap();
    let clerk = Arc::new(Agent::builder("clerk").version("2").model(Slow(turn)).build().unwrap());
    let agents = Agents::new().with(Arc::clone(schedules.agent())).with(Arc::clone(&clerk));
    let runtime = Runtime::new(store, agents, options);
    let worker = Worker::new(runtime.clone(), WorkerOptions::default());
    tokio::spawn(async move { worker.run(CancellationToken::new()).await });
    let first =
        Execute::new(tenant(), Arc::clone(&clerk), "hello").in_session(SessionId::new("desk").unwrap());
    let key = runtime.start(first).await.unwrap().key;
    (runtime, schedules, clerk, key)
}

#[tokio::test(start_paused = true)]
async fn an_agent_gets_its_message_in_a_new_labelled_session() {
    let (runtime, schedules, clerk, _) = clerk(Duration::from_secs(1)).await;
    let target = Target::agent(&clerk, "The daily round").labelled(Labels::from_iter([("team", "desk")]));
    let schedule = Schedule::new(cron("0 9 * * *", "UTC"), target);
    schedules.add(&tenant(), &name("daily"), &schedule).await.unwrap();
    tokio::time::sleep(10 * 60 * MINUTE).await;
    let key = SessionKey::new(tenant(), SessionId::new("daily:20300101T090000Z").unwrap());
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!(runtime.last_text(&key).await.unwrap().as_deref(), Some("ok"));
    let label = |name: &str| session.labels.0.get(name).map(String::as_str);
    assert_eq!((label("schedule"), label("team")), (Some("daily"), Some("desk")));
    assert_eq!((label("agent"), label("agent_version")), (Some("clerk"), Some("2")));
    assert_eq!((session.queue.as_str(), &session.definition), ("clerk@2", clerk.definition()));
}

#[tokio::test(start_paused = true)]
async fn one_session_gets_messages_by_the_rule_of_overlap() {
    // A turn takes 100 seconds, and the schedule has an instant each 40.
    for (overlap, expected) in
        [(Overlap::Skip, 3), (Overlap::Queue, 3), (Overlap::Allow, 3), (Overlap::Replace, 7)]
    {
        let (runtime, schedules, _, key) = clerk(Duration::from_secs(100)).await;
        let target = Target::session(key.id.clone(), "more");
        let schedule = Schedule::new(every(Duration::from_secs(40)), target).overlap(overlap);
        schedules.add(&tenant(), &name("more"), &schedule).await.unwrap();
        tokio::time::sleep(Duration::from_secs(260)).await;
        assert_eq!(said(&runtime, &key).await, expected, "{overlap:?}");
        let counts = schedules.get(&tenant(), &name("more")).await.unwrap().unwrap().counts;
        let queued = runtime.queued(&key).await.unwrap().len();
        match overlap {
            Overlap::Skip => assert_eq!((counts.started, counts.left_out, queued), (2, 4, 0)),
            Overlap::Queue => assert_eq!((counts.started, queued), (2, 0)),
            // All were sent; the session takes one after the other.
            Overlap::Allow => assert_eq!((counts.started, counts.left_out, queued), (6, 0, 4)),
            Overlap::Replace => assert_eq!((counts.started, counts.left_out, queued), (6, 0, 0)),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_target_that_cannot_be_started_fails_its_instant_alone() {
    let (_, program) = Program::at("2030-01-01T00:00:00Z");
    let target = Target::session(SessionId::new("nowhere").unwrap(), "hello");
    program.add("lost", &Schedule::new(every(MINUTE), target)).await;
    let _works = program.work();
    tokio::time::sleep(3 * MINUTE + Duration::from_secs(5)).await;
    let entry = program.entry("lost").await;
    assert_eq!(entry.counts.failed, 3);
    let Outcome::Failed { why } = entry.last.unwrap().outcome else { panic!("failed") };
    assert!(why.contains("nowhere"), "{why}");
    assert!(entry.next.is_some());
}
