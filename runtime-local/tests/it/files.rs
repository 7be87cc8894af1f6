//! The same behaviour on SQLite, in real time. Each store handle on the file stands for a process.
//!
//! Requirements: A60, H05, H14.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::message::ResultStatus;
use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Agent, Agents, Approval, Delivered, Runtime, RuntimeOptions, WorkerOptions};

use crate::bench::{
    agent, asking_for, file_store, finish, only_pending, only_result, say, settle, transcript, worker,
};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// Starts a process with this agent, or with none. Its leases are short, so that other processes soon take its
/// sessions over.
async fn process(folder: &Path, agent: Option<&Arc<Agent>>) -> Runtime {
    process_holding_for(Duration::from_secs(1), folder, agent).await
}

async fn process_holding_for(lease: Duration, folder: &Path, agent: Option<&Arc<Agent>>) -> Runtime {
    let store = file_store(folder.join("holdover.db")).await;
    let options = RuntimeOptions::default().lease(lease);
    let agents: Agents = agent.into_iter().cloned().collect();
    Runtime::new(Arc::new(store), Arc::new(agents), options)
}

/// Requirements: A60, H14.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_approval_reaches_a_session_from_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let (first, front) = (process(folder.path(), Some(&agent)).await, process(folder.path(), None).await);
    let (key, outcome) = finish(first.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let call = only_pending(&front, &key).await;
    let by = |at: u32| Approval::by(format!("decider {at}"));
    let deciders = (0..64).map(|at| front.approve(&key, &call, by(at)));
    let answers = futures::future::join_all(deciders).await;
    let accepted = answers.iter().filter(|answer| matches!(answer, Ok(Delivered::Accepted))).count();
    assert_eq!(accepted, 1);
    let second = process(folder.path(), Some(&agent)).await;
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
    assert_eq!(only_result(&first, &key).await, (ResultStatus::Done, r#"{"n":7}"#.into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_dead_process_left_is_taken_over() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Fake::stuck("act").effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let first = process(folder.path(), Some(&agent)).await;
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while tool.calls().is_empty() {
        settle().await;
    }
    drop(run);
    let front = process(folder.path(), None).await;
    let _worker = worker(&process(folder.path(), Some(&agent)).await, WorkerOptions::default());
    assert_eq!(front.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
    assert_eq!(only_result(&front, &key).await.0, ResultStatus::InDoubt);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_share_the_work_and_lose_none() {
    let folder = tempfile::tempdir().unwrap();
    let tool = Fake::echo("act");
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::Calls(vec![("act", "{}"), ("act", r#"{"n":1}"#)]),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let front = process(folder.path(), None).await;
    let mut started = Vec::new();
    for _ in 0..40 {
        started.push(front.start(say(&agent, "go").served_elsewhere()).await.unwrap().key);
    }
    // The lease is long: with a short one, a machine that stalls would cause a takeover, which this test does not
    // examine.
    let lease = RuntimeOptions::default().lease;
    let _one =
        worker(&process_holding_for(lease, folder.path(), Some(&agent)).await, WorkerOptions::default());
    let _two =
        worker(&process_holding_for(lease, folder.path(), Some(&agent)).await, WorkerOptions::default());
    for key in &started {
        assert_eq!(front.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
        assert_eq!(transcript(&front, key).await.len(), 5);
        let session = front.session(key).await.unwrap().unwrap();
        assert_eq!((session.status, session.epoch.0), (SessionStatus::Idle, 1));
    }
    assert_eq!(tool.calls().len(), 80);
}

/// Requirements: H05.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_from_another_process_stops_a_run_at_its_next_renewal() {
    let folder = tempfile::tempdir().unwrap();
    let model = Script::new(|_| Say::Nothing);
    let agent = Arc::new(agent(&model).build().unwrap());
    let first = process(folder.path(), Some(&agent)).await;
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while model.asked().is_empty() {
        settle().await;
    }
    process(folder.path(), None).await.interrupt(&key, "enough").await.unwrap();
    assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
}
