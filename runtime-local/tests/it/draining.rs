//! A worker, or a whole program, that is asked to stop leaves its sessions to others in good order.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use holdover_core::engine::{Drain, RunKind};
use holdover_core::message::ResultStatus;
use holdover_core::store::{OutcomeKind, PageRequest, SessionStatus};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Agent, Worker, WorkerOptions};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use crate::bench::{agent, runtime, say, settle, store, tool_results, worker};
use crate::script::{Say, Script};
use crate::stub_store::{LATE, stumbling};
use crate::tools::Fake;

/// Returns an at-most-once tool that takes 22 s, more than half of a worker's default shutdown grace.
fn slow(name: &str) -> Fake {
    Fake::new(name, |_| async {
        tokio::time::sleep(Duration::from_secs(22)).await;
        Ok(ToolOutput::text("paid").into())
    })
    .effect(EffectClass::AtMostOnce)
    .serial()
}

/// Returns an agent that makes two calls in one step, then a third in the next.
fn paying(tool: &Fake) -> Arc<Agent> {
    let model = Script::new(|request| match crate::script::results(request).len() {
        0 => Say::Calls(vec![("pay", "{}"), ("pay", "{}")]),
        2 => Say::Calls(vec![("pay", "{}")]),
        _ => Say::Text("done"),
    });
    Arc::new(agent(&model).tool(tool.clone()).build().unwrap())
}

/// Starts the worker, and asks it to stop once the tool has been called.
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
    let options = WorkerOptions::default().shutdown_grace(Duration::from_secs(100));
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
        let options = WorkerOptions::default().drain(drain).shutdown_grace(shutdown_grace);
        assert_eq!(told(Worker::new(runtime.clone(), options), &tool).await.await.unwrap(), 0);
        let left = runtime.session(&key).await.unwrap().unwrap();
        assert_eq!((tool.calls().len(), left.status), (calls, status), "{drain:?}");
        assert_eq!(left.alarm.is_some_and(|alarm| alarm <= runtime.now()), drain != Drain::Turn);
    }
}

/// Waits until the tool has been called `times` times.
async fn called(tool: &Fake, times: usize) {
    while tool.calls().len() < times {
        settle().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_program_tells_all_that_it_runs_itself_to_leave() {
    let tool = slow("pay");
    let agent = paying(&tool);
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    // Three runs: one begun by `execute`, one that a waiter runs here, and one of a worker.
    let begun = first.execute(say(&agent, "go")).await.unwrap();
    let mut keys = vec![begun.key().clone()];
    keys.push(first.start(say(&agent, "go")).await.unwrap().key);
    let waiter = tokio::spawn({
        let (first, key) = (first.clone(), keys[1].clone());
        async move { first.wait(&key).await }
    });
    called(&tool, 2).await;
    keys.push(first.start(say(&agent, "go")).await.unwrap().key);
    let working = Worker::new(first.clone(), WorkerOptions::default()).spawn(CancellationToken::new());
    called(&tool, 3).await;

    let told = Instant::now();
    assert_eq!(first.drain(Drain::Calls, Duration::from_secs(100)).await, 0, "none was dropped");
    assert!(told.elapsed() < Duration::from_secs(23), "nothing more was started: {:?}", told.elapsed());
    assert_eq!(tool.calls().len(), 3);
    assert_eq!(begun.outcome().await.unwrap().kind(), OutcomeKind::SuspendedUntil);
    assert_eq!(waiter.await.unwrap().unwrap().kind(), OutcomeKind::SuspendedUntil);
    assert_eq!(working.await.unwrap(), 0);
    for key in &keys {
        let left = first.session(key).await.unwrap().unwrap();
        assert_eq!(left.status, SessionStatus::Suspended);
        assert!(left.alarm.is_some_and(|alarm| alarm <= first.now()), "due at once: {:?}", left.alarm);
        assert!(first.wait(key).await.is_ok(), "who waits here is told how it stands");
    }
    // A message that arrives after the drain is left to other processes.
    let late = first.execute(say(&agent, "go")).await.unwrap();
    keys.push(late.key().clone());
    assert_eq!(late.outcome().await.unwrap().kind(), OutcomeKind::Released);
    let _worker = worker(&second, WorkerOptions::default());
    for key in &keys {
        assert_eq!(second.wait(key).await.unwrap().kind(), OutcomeKind::Completed);
        let statuses = tool_results(&second, key).await.into_iter().map(|result| result.status);
        assert_eq!(statuses.collect::<Vec<_>>(), [ResultStatus::Done; 3], "no call is in doubt");
    }
}

#[tokio::test(start_paused = true)]
async fn runs_that_do_not_leave_in_time_are_dropped_and_counted() {
    let tool = slow("pay");
    let agent = paying(&tool);
    let first = runtime(&store(), &agent);
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    run.detach();
    called(&tool, 1).await;
    assert_eq!(first.drain(Drain::Calls, Duration::from_secs(1)).await, 1);
    assert_eq!(first.session(&key).await.unwrap().unwrap().status, SessionStatus::Active);
    assert_eq!(first.drain(Drain::Calls, Duration::from_secs(1)).await, 0, "none is left");
}

/// The number of the commit that carries the intents of the first step. The commit before it begins the turn.
const INTENTS: u32 = 2;

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_the_lease_is_not_sent_once_nothing_starts_any_more() {
    let tool = slow("pay");
    let agent = paying(&tool);
    let store = stumbling(store());
    let renewed_from = Instant::now() + LATE + Duration::from_secs(5);
    store.layer().late_commit.store(INTENTS, Ordering::SeqCst);
    *store.layer().no_renewals_until.lock().unwrap() = Some(renewed_from);
    let first = runtime(&store, &agent);
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    run.detach();
    // The intent of the call is written, and the lease has ended meanwhile.
    sleep(LATE + Duration::from_secs(1)).await;
    assert_eq!(first.drain(Drain::Calls, Duration::from_secs(100)).await, 0);
    assert!(store.layer().fired() >= 2);
    assert_eq!(tool.calls().len(), 0);
    assert_eq!(first.session(&key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    let second = runtime(&store, &agent);
    let _worker = worker(&second, WorkerOptions::default());
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let statuses: Vec<_> = tool_results(&second, &key).await.iter().map(|result| result.status).collect();
    assert_eq!((statuses, tool.calls().len()), (vec![ResultStatus::Done; 3], 3));
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
