//! Remote tasks that are handed over, deleted, or refused after they were accepted.
//!
//! Requirements: H21, H26.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::remote::{RemoteTask, TaskLimits, TaskOutcome, TaskStanding};
use holdover_core::store::{
    Answer, Deletion, Labels, Layer, Layered, OutcomeKind, Request, SessionQuery, SessionStatus,
    SessionSummary, StateStore, StoreError, StoreErrorKind,
};
use holdover_runtime_local::{Agent, Runtime, SubAgent, WorkerOptions};

use super::until_there;
use super::world::{Wire, World, digger, tenant_there};
use crate::bench::{agent, runtime, settle, store, worker};
use crate::script::{Say, Script};
use crate::taking_over::asks_for_extract;

/// Returns an agent that hands its session over to an heir, with its runtime and its model. The heir answers with
/// `says`, or never.
fn handing_over(says: Option<&'static str>) -> (Runtime, Arc<Agent>, Script) {
    let model = Script::new(move |request| match request.system.contains("You inherit.") {
        _ if asks_for_extract(request) => Say::Text("what matters"),
        true => says.map_or(Say::Nothing, Say::Text),
        false => Say::Calls(vec![("heir", r#"{"goal":"end it"}"#)]),
    });
    let heir = SubAgent::new("heir", "Goes on.").instructions("You inherit.").takes_over();
    let built = Arc::new(agent(&model).sub_agent(heir).build().unwrap());
    (runtime(&store(), &built), built, model)
}

fn task() -> RemoteTask {
    let id = SessionId::new("t").unwrap();
    RemoteTask { id, task: "go".into(), limits: TaskLimits::default(), reply_to: None }
}

async fn sessions(there: &Runtime) -> Vec<SessionSummary> {
    there.list(&SessionQuery::all(tenant_there())).await.unwrap().items
}

async fn heir(there: &Runtime) -> Option<SessionSummary> {
    sessions(there).await.into_iter().find(|session| session.key.id.as_str().starts_with("next-"))
}

/// Accepts the task, and waits until its heir has this status.
async fn until_heir(there: &Runtime, agent: &Arc<Agent>, status: SessionStatus) {
    there.take_task(&tenant_there(), agent, task()).await.unwrap();
    while heir(there).await.is_none_or(|heir| heir.status != status || heir.unread > 0) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    settle().await;
}

/// Waits until a session is aborted. The session is running, so it is aborted a little after the stop.
async fn until_aborted(there: &Runtime, key: &SessionKey) {
    let outcome = there.wait_at_most(key, Duration::from_secs(60)).await.unwrap();
    assert_eq!(outcome.map(|outcome| outcome.kind()), Some(OutcomeKind::Aborted));
}

async fn ended(there: &Runtime, agent: &Arc<Agent>) -> TaskOutcome {
    match there.task(&tenant_there(), agent, &task().id).await.unwrap() {
        Some(TaskStanding::Ended(outcome)) => outcome,
        other => panic!("{other:?}"),
    }
}

#[tokio::test(start_paused = true)]
async fn h21_a_stop_follows_the_task_to_the_session_that_took_it_over() {
    let (there, agent, _) = handing_over(None);
    let _works = worker(&there, WorkerOptions::default().poll(Duration::from_millis(100)));
    until_heir(&there, &agent, SessionStatus::Active).await;
    there.stop_task(&tenant_there(), &agent, &task().id).await.unwrap();
    while heir(&there).await.unwrap().status != SessionStatus::Aborted {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!ended(&there, &agent).await.ok);
}

#[tokio::test(start_paused = true)]
async fn h21_what_was_used_before_a_task_was_handed_over_counts_and_without_its_heir_it_is_gone() {
    let (there, agent, model) = handing_over(Some("inherited"));
    let _works = worker(&there, WorkerOptions::default().poll(Duration::from_millis(100)));
    until_heir(&there, &agent, SessionStatus::Idle).await;
    let outcome = ended(&there, &agent).await;
    assert_eq!((outcome.ok, outcome.text.as_str()), (true, "inherited"));
    assert_eq!(outcome.usage.model_calls, model.asked().len() as u64);
    let heir = heir(&there).await.unwrap().key;
    there.delete(&heir, Deletion::UNLESS_ACTIVE).await.unwrap();
    assert_eq!(there.task(&tenant_there(), &agent, &task().id).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_is_deleted_takes_the_session_with_it_that_took_it_over() {
    let (there, agent, _) = handing_over(None);
    let _works = worker(&there, WorkerOptions::default().poll(Duration::from_millis(100)));
    until_heir(&there, &agent, SessionStatus::Active).await;
    let both = sessions(&there).await;
    let of_task = |session: &&SessionSummary| session.labels.0.get(Labels::TASK).is_some_and(|id| id == "t");
    assert_eq!(both.iter().filter(of_task).count(), 2, "both are listed by the task: {both:?}");
    let first = both.iter().find(|session| session.key.id.as_str().starts_with("task-")).unwrap();
    there.delete(&first.key, Deletion::UNLESS_ACTIVE).await.unwrap();
    until_aborted(&there, &heir(&there).await.unwrap().key).await;
    assert_eq!(there.task(&tenant_there(), &agent, &task().id).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_is_deleted_takes_the_last_of_several_sessions_with_it_that_took_it_over() {
    let model = Script::new(|request| match request.system.contains("You end it.") {
        _ if asks_for_extract(request) => Say::Text("what matters"),
        true => Say::Nothing,
        false if request.system.contains("You inherit.") => {
            Say::Calls(vec![("last", r#"{"goal":"end it"}"#)])
        }
        false => Say::Calls(vec![("heir", r#"{"goal":"end it"}"#)]),
    });
    let last = SubAgent::new("last", "Ends it.").instructions("You end it.").takes_over();
    let heir = SubAgent::new("heir", "Goes on.").instructions("You inherit.").takes_over().sub_agent(last);
    let agent = Arc::new(agent(&model).sub_agent(heir).build().unwrap());
    let there = runtime(&store(), &agent);
    let _works = worker(&there, WorkerOptions::default().poll(Duration::from_millis(100)));
    there.take_task(&tenant_there(), &agent, task()).await.unwrap();
    let working = async || {
        let active = |session: &SessionSummary| session.status == SessionStatus::Active;
        sessions(&there).await.into_iter().find(active).filter(|_| model.asked().len() >= 5)
    };
    let last = loop {
        match working().await {
            Some(last) => break last.key,
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    assert_eq!(sessions(&there).await.len(), 3);
    let first = sessions(&there).await.into_iter().find(|found| found.key.id.as_str().starts_with("task-"));
    there.delete(&first.unwrap().key, Deletion::UNLESS_ACTIVE).await.unwrap();
    until_aborted(&there, &last).await;
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_was_deleted_does_not_begin_again() {
    let world = World::new(Wire::default(), "{}", digger());
    let (there, agent) = world.wire.there();
    let given = RemoteTask { task: "north".into(), ..task() };
    there.take_task(&tenant_there(), &agent, given.clone()).await.unwrap();
    let key = sessions(&there).await.remove(0).key;
    there.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    let _works = world.works_there();
    let TaskStanding::Ended(outcome) = there.take_task(&tenant_there(), &agent, given).await.unwrap() else {
        panic!("it is over")
    };
    assert_eq!((outcome.ok, outcome.text.as_str()), (false, "it was deleted"));
    settle().await;
    assert_eq!((sessions(&there).await.len(), world.digger.asked().len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_that_was_taken_and_then_refused_is_stopped() {
    let wire = Wire {
        loses: AtomicUsize::new(1),
        only_the_answer: true,
        then_refuses: Some("no"),
        ..Wire::default()
    };
    let world = World::new(wire, r#"{"tasks":["for ever"]}"#, digger());
    let _there = world.works_there();
    world.ends().await;
    assert_eq!(world.wire.begun.lock().unwrap().len(), 1, "it was taken");
    assert_eq!(world.wire.loses.load(Ordering::SeqCst), 0);
    until_there(&world, SessionStatus::Aborted).await;
}

/// A layer that makes requests to interrupt fail.
#[derive(Clone)]
struct StopsNothing;

#[async_trait]
impl Layer for StopsNothing {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if matches!(request, Request::Interrupt(..)) {
            return Err(StoreError::new(StoreErrorKind::Unavailable, request.operation(), "cut off"));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn h21_a_task_whose_stop_was_cut_off_in_the_middle_begins_when_it_comes() {
    let world = World::new(Wire::default(), "{}", digger());
    let (there, agent) = world.wire.there();
    let cut_off = runtime(&Layered::new(world.store_there.clone(), StopsNothing), &agent);
    cut_off.stop_task(&tenant_there(), &agent, &task().id).await.unwrap_err();
    let given = RemoteTask { task: "north".into(), ..task() };
    assert_eq!(there.take_task(&tenant_there(), &agent, given).await.unwrap(), TaskStanding::Open);
    let _works = world.works_there();
    until_there(&world, SessionStatus::Idle).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(ended(&there, &agent).await.text, "found north");
}
