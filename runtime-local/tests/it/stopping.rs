//! Interrupts and aborts.
//!
//! Requirements: A16, C44, H02.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::{SessionKey, TurnNumber};
use holdover_core::message::ResultStatus;
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::provision::Provisioner;
use holdover_core::store::{InterruptOutcome, OutcomeKind, SessionStatus};
use holdover_runtime_local::{RuntimeError, WorkerOptions};
use tokio::time::Instant;

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_result, runtime, say, settle, store, worker,
};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// Requirements: A16.
#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_a_model_in_the_middle_and_a_resume_goes_on() {
    let model = Script::new(|request| match request.step {
        1 => Say::Nothing,
        _ => Say::Text("there"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while model.asked().is_empty() {
        settle().await;
    }
    let began = Instant::now();
    let asked = agentless(&store).interrupt(&key, "enough").await.unwrap();
    assert_eq!(asked, InterruptOutcome::Requested);
    let (_, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Interrupted);
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    completes(runtime.resume(&key).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn an_interrupt_stops_a_tool_and_says_whether_it_acted() {
    for (tool, expect) in [
        (Fake::stuck("stuck"), ResultStatus::InDoubt),
        (Fake::stuck("stuck").says_it_did_not_act(), ResultStatus::Cancelled),
    ] {
        let model = Script::calling(vec![("stuck", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let key = run.key().clone();
        while tool.calls().is_empty() {
            settle().await;
        }
        runtime.interrupt(&key, "enough").await.unwrap();
        assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
        assert_eq!(only_result(&runtime, &key).await.0, expect);
    }
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_aborted_without_its_agent() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let stranger = agentless(&store);
    assert_eq!(stranger.abort(&key, "no more").await.unwrap(), InterruptOutcome::Requested);
    let session = stranger.session(&key).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Aborted);
    assert_eq!(stranger.wait(&key).await.unwrap().kind(), OutcomeKind::Aborted);
    assert_eq!(only_result(&stranger, &key).await.0, ResultStatus::Cancelled);
    assert_eq!(stranger.pending(&key).await.unwrap(), []);
    let again = runtime.execute(say(&agent, "more").in_session(key.id.clone())).await;
    assert!(matches!(again, Err(RuntimeError::Aborted { .. })), "{again:?}");
}

#[tokio::test(start_paused = true)]
async fn a_parked_session_is_interrupted_without_its_agent_and_taken_up_again_with_it() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    agentless(&store).interrupt(&key, "later").await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Interrupted);
    completes(runtime.resume(&key).await.unwrap()).await;
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn there_is_nothing_to_stop_in_a_session_at_rest() {
    let model = Script::new(|_| Say::Text("hello"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(runtime.interrupt(&key, "stop").await.unwrap(), InterruptOutcome::AtRest);
    completes(runtime.execute(say(&agent, "again").in_session(key.id.clone())).await.unwrap()).await;
}

#[tokio::test(start_paused = true)]
async fn a_failed_turn_is_taken_up_again_here_or_by_a_worker() {
    let model = Script::new(|request| match request.step {
        1 | 2 => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key")),
        _ => Say::Text("there"),
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Failed);
    let again = runtime.retry(&key).await.unwrap();
    assert_eq!(finish(again).await.1.kind(), OutcomeKind::Failed);

    let front = agentless(&store);
    assert!(front.requeue(&key).await.unwrap());
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let idle = runtime.retry(&key).await;
    assert!(matches!(idle, Err(RuntimeError::NotResumable { .. })), "{idle:?}");
}

/// Requirements: H02.
#[tokio::test(start_paused = true)]
async fn of_two_resumes_one_wins_and_the_other_learns_who_did() {
    let model = Script::new(|request| match request.step {
        1 => Say::Fail(ModelError::new(ModelErrorKind::Auth, "no key")),
        _ => Say::Nothing,
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let (key, _) = finish(first.execute(say(&agent, "go")).await.unwrap()).await;
    let _run = first.retry(&key).await.unwrap();
    match second.retry(&key).await {
        Err(RuntimeError::Held { worker, .. }) => assert_eq!(&worker, first.worker_id()),
        Err(RuntimeError::NotResumable { status: SessionStatus::Active, .. }) => {}
        other => panic!("{other:?}"),
    }
    match second.resume(&key).await {
        Err(RuntimeError::Held { worker, .. }) => assert_eq!(&worker, first.worker_id()),
        other => panic!("{other:?}"),
    }
}

/// A provisioner that records what it provisions and tears down, with the number of the turn.
#[derive(Default)]
pub(crate) struct Rooms(pub(crate) Mutex<Vec<(&'static str, u64)>>);

#[async_trait]
impl Provisioner for Rooms {
    async fn provision(&self, _session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo> {
        self.0.lock().unwrap().push(("made", turn.0));
        Ok(())
    }

    async fn tear_down(&self, _session: &SessionKey, turn: TurnNumber) -> Result<(), ErrorInfo> {
        self.0.lock().unwrap().push(("freed", turn.0));
        Ok(())
    }
}

/// Requirements: C44.
#[tokio::test(start_paused = true)]
async fn what_a_turn_holds_is_freed_also_when_it_is_aborted_while_parked() {
    let rooms = Arc::new(Rooms::default());
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).provisioner(rooms.clone());
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(*rooms.0.lock().unwrap(), [("made", 1)]);
    runtime.abort(&key, "no more").await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Aborted);
    assert_eq!(*rooms.0.lock().unwrap(), [("made", 1), ("freed", 1)]);
}
