//! Deaths of workers, of Temporal, and of both.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::OutcomeKind;
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Approval, CancellationToken, Runtime, Worker, WorkerOptions};
use holdover_runtime_temporal::TemporalOptions;

use crate::bench::{Server, Serving, begin, ends, file_store, key, pending, runtime, shared, until};
use crate::cast::{Caller, Pay, agent};

/// The variables that tell a process of a test where it works.
const FOLDER: &str = "HOLDOVER_TEST_FOLDER";
const TEMPORAL: &str = "HOLDOVER_TEST_TEMPORAL_URL";

fn worker_process(folder: &Path, temporal: &TemporalOptions) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "deaths::a_worker_process", "--ignored", "--nocapture"])
        .env(FOLDER, folder)
        .env(TEMPORAL, temporal.address())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// A worker of the agent `mortal`, until it is killed.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it as a process"]
async fn a_worker_process() {
    let folder = std::env::var(FOLDER).unwrap();
    let temporal = TemporalOptions::new(&std::env::var(TEMPORAL).unwrap()).unwrap();
    let tool = Pay::held_in(Path::new(&folder), EffectClass::Idempotent);
    let agent = agent("mortal", Caller::default(), &tool, vec![]);
    let store = file_store(Path::new(&folder)).await;
    let runtime = runtime(&store, &agent, &temporal);
    Serving::begin(&runtime, &temporal).task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn another_worker_takes_over_from_one_that_was_killed_in_a_call() {
    let folder = tempfile::tempdir().unwrap();
    let temporal = shared().options();
    let mut workers = [worker_process(folder.path(), &temporal), worker_process(folder.path(), &temporal)];
    let tool = Pay::new(EffectClass::Idempotent);
    let agent = agent("mortal", Caller::default(), &tool, vec![]);
    let client = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let key = key("mortal", "one");
    begin(&client, &agent, &key).await;

    let calls = || std::fs::read_to_string(folder.path().join("calls")).unwrap_or_default();
    let first = until("a call", async || calls().lines().next().map(str::to_owned)).await;
    let (caller, call) = first.split_once(' ').unwrap();
    let killed = workers.iter_mut().find(|worker| worker.id().to_string() == caller).unwrap();
    killed.kill().unwrap();
    killed.wait().unwrap();
    std::fs::write(folder.path().join("go"), "").unwrap();

    assert_eq!(ends(&client, &key).await, OutcomeKind::Completed);
    let calls = calls();
    let (second, again) = calls.lines().nth(1).and_then(|line| line.split_once(' ')).unwrap();
    assert_eq!((second != caller, again), (true, call), "the same call, in the other process");
    assert_eq!(calls.lines().count(), 2);
    shared().becomes(&key, "COMPLETED").await;
    for mut worker in workers {
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_goes_on_while_temporal_is_killed_and_is_not_sent_again() {
    let mut server = Server::new();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("patient", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("patient", "one");
    begin(&runtime, &agent, &key).await;
    tool.called(1).await;
    let beat = |server: &Server| {
        let workflow = server.workflow(&key)?;
        Some(workflow["pendingActivities"][0]["lastHeartbeatTime"].as_str()?.to_owned())
    };
    let before = until("a heartbeat", async || beat(&server)).await;

    server.temporal.process().kill();
    server.temporal.start().unwrap();
    // The activity is still there, and the worker finds the way back by itself.
    until("another heartbeat", async || beat(&server).filter(|now| *now != before)).await;
    tool.let_go();
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    server.becomes(&key, "COMPLETED").await;
    assert_eq!(tool.calls(), 1);
    assert_eq!(result(&runtime, &key).await, ResultStatus::Done);
    assert_eq!(serving.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outlives_the_thread_of_the_sdk_and_the_next_attempt_finds_it() {
    let (folder, temporal) = (tempfile::tempdir().unwrap(), shared().options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("outliving", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let first = Serving::begin(&runtime, &temporal);
    let key = key("outliving", "one");
    begin(&runtime, &agent, &key).await;
    tool.called(1).await;
    first.task.abort();
    // The next thread gets the activity once Temporal misses the heartbeats of the first one.
    let second = Serving::begin(&runtime, &temporal);
    until("a second attempt", async || {
        let attempt = shared().workflow(&key)?["pendingActivities"][0]["attempt"].as_u64()?;
        (attempt > 1).then_some(())
    })
    .await;
    tool.let_go();
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    shared().becomes(&key, "COMPLETED").await;
    assert_eq!((tool.calls(), result(&runtime, &key).await), (1, ResultStatus::Done));
    assert_eq!(second.end().await, 0);
}

/// Returns the status of the first result.
async fn result(runtime: &Runtime, key: &SessionKey) -> ResultStatus {
    let messages = runtime.messages(key).await.unwrap();
    let results = messages.iter().filter_map(|entry| match &entry.message {
        Message::Tool(result) => Some(result.status),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.into_iter().next().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_temporal_is_down_work_is_accepted_and_the_net_does_it() {
    let mut server = Server::new();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("netted", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let stop = CancellationToken::new();
    let net = WorkerOptions::net().poll(std::time::Duration::from_millis(200));
    let net = Worker::new(runtime.clone(), net).spawn(stop.clone());
    // One session is parked while Temporal is up, and one begins while it is down.
    let (before, during) = (key("netted", "before"), key("netted", "during"));
    begin(&runtime, &agent, &before).await;
    let asked_before = pending(&runtime, &before).await;
    server.counts("HoldoverStatus='suspended'", 1).await;

    server.temporal.process().kill();
    begin(&runtime, &agent, &during).await;
    let asked_during = pending(&runtime, &during).await;
    for (key, asked) in [(&before, asked_before), (&during, asked_during)] {
        runtime.approve(key, &asked, Approval::by("ada")).await.unwrap();
        assert_eq!(ends(&runtime, key).await, OutcomeKind::Completed);
    }
    assert_eq!(tool.calls(), 2);
    // Temporal learns of it once it is back, without anybody's help.
    server.temporal.start().unwrap();
    server.becomes(&before, "COMPLETED").await;
    stop.cancel();
    net.await.unwrap();
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_approval_counts_after_everything_was_started_again() {
    let mut server = Server::new();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("restarted", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let key = key("restarted", "one");
    let asked = {
        let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
        let serving = Serving::begin(&runtime, &temporal);
        begin(&runtime, &agent, &key).await;
        let asked = pending(&runtime, &key).await;
        server.counts("HoldoverStatus='suspended'", 1).await;
        server.temporal.process().kill();
        // A worker can be stopped while Temporal is down.
        assert_eq!(serving.end().await, 0);
        asked
    };
    server.temporal.start().unwrap();

    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    runtime.approve(&key, &asked, Approval::by("ada")).await.unwrap();
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    assert_eq!(tool.calls(), 1);
    server.becomes(&key, "COMPLETED").await;
    assert_eq!(serving.end().await, 0);
}
