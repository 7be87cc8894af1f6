//! Workers that come and go.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::Incarnation;
use holdover_core::message::MessagePolicy;
use holdover_core::store::{Deletion, OutcomeKind, SessionStatus};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Agents, Approval, Deliver, Engine, Known, Runtime, RuntimeOptions, WakeUp};
use holdover_runtime_temporal::{
    TemporalEngine, TemporalError, TemporalOptions, TemporalWorker, workflow_id_of,
};
use holdover_store_memory::MemoryStore;

use crate::bench::{Serving, begin, ends, file_store, key, pending, runtime, shared, until};
use crate::cast::{Caller, Pay, agent};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_nobody_serves_are_a_backlog_until_a_worker_comes() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let agent = agent("unserved", Caller::default(), &Pay::new(EffectClass::AtMostOnce), vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let key = key("unserved", "one");
    begin(&runtime, &agent, &key).await;
    let queue = "holdover:unserved";
    until("a backlog", async || {
        let described = server.ask(&["task-queue", "describe", "--task-queue", queue]).ok()?;
        let waiting = described.to_string();
        (waiting.contains(r#""approximateBacklogCount":"1""#)
            || waiting.contains(r#""approximateBacklogCount":1"#))
        .then_some(())
    })
    .await;
    let serving = Serving::begin(&runtime, &temporal);
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_leaves_its_session_to_another() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::Idempotent);
    let agent = agent("stopping", Caller::default(), &tool, vec![]);
    let store = file_store(folder.path()).await;
    let (first, second) = (runtime(&store, &agent, &temporal), runtime(&store, &agent, &temporal));
    let stopping = Serving::begin(&first, &temporal.clone().shutdown_grace(Duration::from_millis(100)));
    let key = key("stopping", "one");
    begin(&second, &agent, &key).await;
    tool.called(1).await;
    assert_eq!(stopping.end().await, 1, "the call does not end, so its run is dropped");
    tool.let_go();
    let staying = Serving::begin(&second, &temporal);
    assert_eq!(ends(&second, &key).await, OutcomeKind::Completed);
    assert_eq!(tool.calls(), 2, "the same call, again");
    server.becomes(&key, "COMPLETED").await;
    staying.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_runs_no_more_sessions_at_once_than_it_may() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("narrow", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal.clone().max_running(NonZeroUsize::MIN));
    let keys = [key("narrow", "one"), key("narrow", "two")];
    for key in &keys {
        begin(&runtime, &agent, key).await;
    }
    tool.called(1).await;
    until("an activity that waits for its turn", async || {
        let states = keys.iter().map(|key| {
            let workflow = server.workflow(key)?;
            Some(workflow["pendingActivities"][0]["state"].as_str()?.to_owned())
        });
        let mut states = states.collect::<Option<Vec<_>>>()?;
        states.sort();
        (states == ["PENDING_ACTIVITY_STATE_SCHEDULED", "PENDING_ACTIVITY_STATE_STARTED"]).then_some(())
    })
    .await;
    assert_eq!(tool.calls(), 1);
    tool.let_go();
    for key in &keys {
        assert_eq!(ends(&runtime, key).await, OutcomeKind::Completed);
    }
    serving.end().await;
}

#[tokio::test]
async fn an_engine_sends_no_api_key_unencrypted_to_another_machine() {
    // An address for documents, at which nobody answers.
    let options = TemporalOptions::new("temporal://192.0.2.1").unwrap().api_key("hunter2".to_owned());
    let error = TemporalEngine::new(options).look(&key("secret", "one")).await.unwrap_err().to_string();
    assert!(error.contains("unencrypted") && !error.contains("hunter2"), "{error}");
}

/// Interrupts have places of their own.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_interrupted_also_while_all_places_are_taken() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("full", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal.clone().max_running(NonZeroUsize::MIN));
    let key = key("full", "one");
    begin(&runtime, &agent, &key).await;
    tool.called(1).await;
    server.ask(&["workflow", "cancel", "--workflow-id", &workflow_id_of(&key)]).unwrap();
    server.becomes(&key, "CANCELED").await;
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Interrupted);
    serving.end().await;
}

/// Messages that wait are served one after the other, without a pause: the history has no timer.
#[tokio::test(flavor = "multi_thread")]
async fn messages_that_wait_are_served_without_a_pause() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::held(EffectClass::AtMostOnce);
    let agent = agent("queued", Caller::default(), &tool, vec![]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("queued", "one");
    begin(&runtime, &agent, &key).await;
    tool.called(1).await;
    for number in 0..4 {
        let message = Deliver::message(format!("more {number}")).under(MessagePolicy::Enqueue);
        runtime.deliver(&key, message).await.unwrap();
    }
    assert!(runtime.tell_engine(Duration::from_secs(10)).await);
    tool.let_go();
    server.becomes(&key, "COMPLETED").await;
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!((session.unread, session.epoch.0 >= 5), (0, true), "{session:?}");
    let history = server.history(&key);
    let timers = history["events"].as_array().unwrap().iter();
    assert_eq!(
        timers.filter(|event| event["eventType"] == "EVENT_TYPE_TIMER_STARTED").count(),
        0,
        "{history}"
    );
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_with_many_events_continues_as_a_new_one() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options().events_max(30));
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let agent = agent("eventful", Caller::default(), &Pay::new(EffectClass::AtMostOnce), rules);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("eventful", "one");
    begin(&runtime, &agent, &key).await;
    let asked = pending(&runtime, &key).await;
    let known = Known::from(&runtime.session(&key).await.unwrap().unwrap());
    let continued = format!("WorkflowId='{}' AND ExecutionStatus='ContinuedAsNew'", workflow_id_of(&key));
    let engine = TemporalEngine::new(temporal.clone());
    until("a workflow that continues", async || {
        engine.wake(&WakeUp::new(key.clone(), Some(known.clone()))).await.unwrap();
        let counted = server.ask(&["workflow", "count", "--query", &continued]).ok()?;
        counted["count"].as_str().is_some_and(|count| count != "0").then_some(())
    })
    .await;
    runtime.approve(&key, &asked, Approval::by("ada")).await.unwrap();
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    server.becomes(&key, "COMPLETED").await;
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_gets_another_agent_moves_to_its_queue() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let (old, new) =
        (agent("old", Caller::default(), &tool, rules), agent("new", Caller::default(), &tool, vec![]));
    let store = file_store(folder.path()).await;
    let (of_old, of_new) = (runtime(&store, &old, &temporal), runtime(&store, &new, &temporal));
    let serving = Serving::begin(&of_old, &temporal);
    let key = key("moving", "one");
    begin(&of_old, &old, &key).await;
    pending(&of_old, &key).await;
    server.counts("TaskQueue='holdover:old' AND HoldoverStatus='suspended'", 1).await;
    serving.end().await;
    // Nobody serves the old queue when the session is deleted, so its workflow is still there when it begins anew.
    of_new.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    begin(&of_new, &new, &key).await;
    let of_old = runtime(&store, &old, &temporal);
    let (old, new) = (Serving::begin(&of_old, &temporal), Serving::begin(&of_new, &temporal));
    assert_eq!(ends(&of_new, &key).await, OutcomeKind::Completed);
    server.becomes(&key, "COMPLETED").await;
    let query = format!("WorkflowId='{}' AND ExecutionStatus='ContinuedAsNew'", workflow_id_of(&key));
    server.counts(&query, 1).await;
    old.end().await;
    new.end().await;
}

#[tokio::test]
async fn a_temporal_that_cannot_be_reached_is_named_in_one_line() {
    let port = holdover_launcher::free_port().unwrap();
    let temporal = TemporalOptions::new(&format!("temporal://127.0.0.1:{port}/default")).unwrap();
    let known = Known::new("any".to_owned().try_into().unwrap(), incarnation().await, SessionStatus::Idle);
    let engine = TemporalEngine::new(temporal.clone());
    let error = engine.wake(&WakeUp::new(key("a", "b"), Some(known))).await.unwrap_err().to_string();
    assert!(error.starts_with(&temporal.address()) && !error.contains('\n'), "{error}");

    // A server without TLS is not used as one with TLS.
    let plain = shared().temporal.url().replace("temporal://", "temporals://");
    let engine = TemporalEngine::new(TemporalOptions::new(&plain).unwrap());
    let error = engine.wake(&WakeUp::new(key("a", "b"), None)).await.unwrap_err().to_string();
    assert!(error.starts_with(&plain) && !error.contains('\n'), "{error}");

    let nowhere = shared().temporal.url().replace("/default", "/nowhere");
    let engine = TemporalEngine::new(TemporalOptions::new(&nowhere).unwrap());
    let error = engine.wake(&WakeUp::new(key("a", "b"), None)).await.unwrap_err().to_string();
    assert!(error.starts_with(&nowhere) && !error.contains('\n'), "{error}");

    let nothing = Runtime::new(MemoryStore::new(), Agents::new(), RuntimeOptions::default());
    let refused = TemporalWorker::new(nothing, temporal.clone()).unwrap_err();
    assert_eq!(refused, TemporalError::NoQueues { engine: temporal.address() });
}

/// Returns the incarnation of a new session.
async fn incarnation() -> Incarnation {
    let tool = Pay::new(EffectClass::Idempotent);
    let agent = agent("any", Caller::default(), &tool, vec![]);
    let store: Arc<dyn holdover_core::store::StateStore> = Arc::new(MemoryStore::new());
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let runtime = Runtime::new(Arc::clone(&store), Agents::new().with(Arc::clone(&agent)), options);
    let key = key("a", "b");
    begin(&runtime, &agent, &key).await;
    runtime.session(&key).await.unwrap().unwrap().incarnation
}
