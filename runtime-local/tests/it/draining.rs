//! A worker that is told to stop leaves its sessions to others, in good order.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::message::ResultStatus;
use holdover_core::step::{Drain, RunKind};
use holdover_core::store::{OutcomeKind, PageRequest, SessionStatus};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Agent, Worker, WorkerOptions};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, runtime, say, settle, store, tool_results, worker};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// A tool that takes longer than half of the time that a worker is given, and is sent at most once.
fn slow(name: &str) -> Fake {
    Fake::new(name, |_| async {
        tokio::time::sleep(Duration::from_secs(22)).await;
        Ok(ToolOutput::text("paid").into())
    })
    .effect(EffectClass::AtMostOnce)
    .serial()
}

/// Two calls in a row, then a third in a step of its own.
fn paying(tool: &Fake) -> Arc<Agent> {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::Calls(vec![("pay", "{}"), ("pay", "{}")]),
        2 => Say::Calls(vec![("pay", "{}")]),
        _ => Say::Text("done"),
    });
    Arc::new(agent(&model).tool(tool.clone()).build().unwrap())
}

/// Told to stop once the tool has been called.
async fn told(worker: Worker, tool: &Fake) -> JoinHandle<usize> {
    let stop = CancellationToken::new();
    let working = worker.spawn(stop.clone());
    while tool.calls().is_empty() {
        settle().await;
    }
    stop.cancel();
    working
}

#[tokio::test(start_paused = true)]
async fn a_planned_stop_leaves_no_call_in_doubt_and_another_worker_goes_on_at_once() {
    let tool = slow("pay");
    let agent = paying(&tool);
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let key = first.start(say(&agent, "go")).await.unwrap().key;
    let options = WorkerOptions { shutdown_grace: Duration::from_secs(100), ..WorkerOptions::default() };
    let working = told(Worker::new(first.clone(), options), &tool).await;
    let began = Instant::now();
    let _idle = worker(&second, WorkerOptions::default());
    assert_eq!(working.await.unwrap(), 0, "none was dropped");
    assert!(began.elapsed() < Duration::from_secs(23), "nothing more was started: {:?}", began.elapsed());
    while tool.calls().len() < 2 {
        settle().await;
    }
    assert!(began.elapsed() < Duration::from_secs(24), "at once: {:?}", began.elapsed());

    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let statuses: Vec<_> = tool_results(&second, &key).await.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Done; 3]);
    assert_eq!(tool.calls().len(), 3, "each was sent once");
    let runs = second.runs(&key, PageRequest::default()).await.unwrap().items;
    let told: Vec<_> = runs.iter().map(|run| (run.end.as_ref().unwrap().outcome, RunKind::of(run))).collect();
    assert_eq!(
        told,
        [
            (OutcomeKind::SuspendedUntil, Some(RunKind::Execute)),
            (OutcomeKind::Completed, Some(RunKind::Wake))
        ],
        "no takeover"
    );
    assert!(second.replay(&key).await.unwrap().agrees());
}

#[tokio::test(start_paused = true)]
async fn how_far_runs_go_on_is_an_option() {
    for (drain, calls, status) in [
        (Drain::Calls, 1, SessionStatus::Suspended),
        (Drain::Step, 2, SessionStatus::Suspended),
        (Drain::Turn, 3, SessionStatus::Idle),
    ] {
        let tool = slow("pay");
        let agent = paying(&tool);
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = runtime.start(say(&agent, "go")).await.unwrap().key;
        let shutdown_grace = Duration::from_secs(100);
        let options = WorkerOptions { drain, shutdown_grace, ..WorkerOptions::default() };
        assert_eq!(told(Worker::new(runtime.clone(), options), &tool).await.await.unwrap(), 0);
        let left = runtime.session(&key).await.unwrap().unwrap();
        assert_eq!((tool.calls().len(), left.status), (calls, status), "{drain:?}");
        assert_eq!(left.alarm.is_some_and(|alarm| alarm <= runtime.now()), drain != Drain::Turn);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_being_written_is_not_thrown_away() {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::SlowlyCall {
            pieces: vec!["let ".into(), "me".into()],
            apart: Duration::from_secs(5),
            tool: "pay",
        },
        _ => Say::Text("done"),
    });
    let tool = slow("pay");
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let key = first.start(say(&agent, "go")).await.unwrap().key;
    let stop = CancellationToken::new();
    let working = Worker::new(first.clone(), WorkerOptions::default()).spawn(stop.clone());
    while model.asked().is_empty() {
        settle().await;
    }
    stop.cancel();
    assert_eq!(working.await.unwrap(), 0);
    assert_eq!((model.asked().len(), tool.calls().len()), (1, 0));
    let second = runtime(&store, &agent);
    let _worker = worker(&second, WorkerOptions::default());
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(
        (model.asked().len(), tool.calls().len()),
        (2, 1),
        "nobody asked the model twice for one step"
    );
}
