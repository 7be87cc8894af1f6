//! Sessions from their beginning to their end.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::gate::{ApprovalRule, ApprovalTerms, AtExpiry, RuleAction};
use holdover_core::store::{Deletion, OutcomeKind, SessionStatus};
use holdover_core::tool::{Bound, EffectClass};
use holdover_runtime_local::{Approval, Execute};

use crate::bench::{Serving, begin, ends, file_store, key, pending, runtime, shared};
use crate::cast::{Caller, Pay, agent};

#[tokio::test(flavor = "multi_thread")]
async fn a_session_is_served_to_its_end_and_an_approval_parks_it() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let store = file_store(folder.path()).await;
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("first", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let client = runtime(&store, &agent, &temporal);
    let worker = runtime(&store, &agent, &temporal);
    let serving = Serving::begin(&worker, &temporal);

    let key = key("first", "one");
    begin(&client, &agent, &key).await;
    let asked = pending(&client, &key).await;
    server.counts("TaskQueue='holdover:first' AND HoldoverStatus='suspended'", 1).await;
    assert_eq!(tool.calls(), 0);
    client.approve(&key, &asked, Approval::by("ada")).await.unwrap();
    assert_eq!(ends(&client, &key).await, OutcomeKind::Completed);
    assert_eq!(tool.calls(), 1);
    server.becomes(&key, "COMPLETED").await;
    server.counts("TaskQueue='holdover:first' AND HoldoverStatus='idle'", 1).await;
    assert_eq!(serving.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_to_begin_later_is_begun_by_a_timer_of_temporal() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("later", Caller::default(), &tool, Vec::new());
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("later", "one");
    let at = runtime.now().after(Duration::from_millis(1_500));
    let execute =
        Execute::new(key.tenant.clone(), Arc::clone(&agent), "buy").in_session(key.id.clone()).at(at);
    runtime.start(execute).await.unwrap();
    server.becomes(&key, "COMPLETED").await;
    assert_eq!((ends(&runtime, &key).await, tool.calls()), (OutcomeKind::Completed, 1));
    let first = runtime.messages(&key).await.unwrap()[0].at;
    assert!(first >= at, "the message was taken at {first}, {at} was asked for");
    let history = server.history(&key);
    let fired = history["events"].as_array().unwrap().iter();
    assert!(fired.clone().any(|event| event["eventType"] == "EVENT_TYPE_TIMER_FIRED"), "{history}");
    assert_eq!(serving.end().await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn timers_of_temporal_end_a_back_off_and_let_a_request_expire() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let terms = ApprovalTerms::default()
        .expires_after_ms(Some(Bound::At(1_500)))
        .at_expiry(AtExpiry::Result("nobody was there".into()));
    let rule = ApprovalRule { terms, ..ApprovalRule::new("pay", RuleAction::Ask) };
    let model = Caller { failures: 1, ..Caller::default() };
    let agent = agent("timed", model, &tool, vec![rule]);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("timed", "one");
    begin(&runtime, &agent, &key).await;
    server.becomes(&key, "COMPLETED").await;
    assert_eq!(ends(&runtime, &key).await, OutcomeKind::Completed);
    assert_eq!(tool.calls(), 0, "the request expired");
    let history = server.history(&key);
    let fired = history["events"].as_array().unwrap().iter();
    let fired = fired.filter(|event| event["eventType"] == "EVENT_TYPE_TIMER_FIRED").count();
    assert_eq!(fired, 2, "one for the back-off, one for the expiry: {history}");
    serving.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_workflow_interrupts_its_session() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let (tool, parked) = (Pay::held(EffectClass::AtMostOnce), key("cancelled", "parked"));
    let agent = agent("cancelled", Caller::default(), &tool, vec![]);
    let asking = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let asking = crate::cast::agent("asking", Caller::default(), &tool, asking);
    let store = file_store(folder.path()).await;
    let (runtime, of_asking) = (runtime(&store, &agent, &temporal), runtime(&store, &asking, &temporal));
    let (serving, also) = (Serving::begin(&runtime, &temporal), Serving::begin(&of_asking, &temporal));
    let running = key("cancelled", "running");
    begin(&runtime, &agent, &running).await;
    begin(&of_asking, &asking, &parked).await;
    tool.called(1).await;
    pending(&of_asking, &parked).await;
    server.counts("TaskQueue='holdover:asking' AND HoldoverStatus='suspended'", 1).await;
    for key in [&running, &parked] {
        let id = holdover_runtime_temporal::workflow_id_of(key);
        server.ask(&["workflow", "cancel", "--workflow-id", &id]).unwrap();
        server.becomes(key, "CANCELED").await;
        let session = runtime.session(key).await.unwrap().unwrap();
        assert_eq!(session.status, SessionStatus::Interrupted, "{key}");
    }
    serving.end().await;
    also.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_workflow_of_a_deleted_session_ends() {
    let server = shared();
    let (folder, temporal) = (tempfile::tempdir().unwrap(), server.options());
    let rules = vec![ApprovalRule::new("pay", RuleAction::Ask)];
    let agent = agent("deleted", Caller::default(), &Pay::new(EffectClass::AtMostOnce), rules);
    let runtime = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let serving = Serving::begin(&runtime, &temporal);
    let key = key("deleted", "one");
    begin(&runtime, &agent, &key).await;
    pending(&runtime, &key).await;
    server.counts("TaskQueue='holdover:deleted' AND HoldoverStatus='suspended'", 1).await;
    runtime.delete(&key, Deletion::UNLESS_ACTIVE).await.unwrap();
    server.becomes(&key, "COMPLETED").await;
    serving.end().await;
}
