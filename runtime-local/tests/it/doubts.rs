//! Calls in doubt that are settled by hand.
//!
//! Requirements: U03.

use std::sync::Arc;

use holdover_core::agent::OnDoubt;
use holdover_core::message::{Message, ResultStatus, SETTLEMENT_BYTES_MAX, Settlement};
use holdover_core::store::{OutcomeKind, PendingKind, PendingQuery, SessionStatus};
use holdover_core::tool::ToolError;
use holdover_runtime_local::{Delivered, RuntimeError, SubAgent, WorkerOptions, outcome_of};

use crate::bench::{
    agent, agentless, completes, only_pending, only_result, runtime, say, settle, store, tenant, transcript,
    worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

fn paid() -> Settlement {
    Settlement::done("receipt 4711").by("ann").because("it is on the statement")
}

#[tokio::test(start_paused = true)]
async fn u03_a_call_whose_run_died_is_listed_settled_and_told_to_the_model() {
    let model = Script::new(|request| match request.step {
        1 => Say::Calls(vec![("pay", r#"{"cents":900}"#)]),
        _ => Say::Text("noted"),
    });
    let tool = Fake::stuck("pay");
    let agent = Arc::new(agent(&model).tool(tool.clone()).in_doubt(OnDoubt::Ask).build().unwrap());
    let store = store();
    let first = runtime(&store, &agent);
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    while tool.calls().is_empty() {
        settle().await;
    }
    drop(run);
    let second = runtime(&store, &agent);
    let _worker = worker(&second, WorkerOptions::default());
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let before = only_result(&second, &key).await;
    assert_eq!(before.0, ResultStatus::InDoubt);

    // A front without the agent lists the call and settles it.
    let front = agentless(&store);
    let query = PendingQuery { kind: Some(PendingKind::InDoubt), ..PendingQuery::all(tenant()) };
    let page = front.list_pending(&query).await.unwrap();
    assert_eq!(page.items.len(), 1);
    assert_eq!(page.items[0].body.arguments, r#"{"cents":900}"#);
    let pending = only_pending(&front, &key).await;
    let refused = front.approve(&key, &pending, "ann").await;
    assert!(
        matches!(refused, Err(RuntimeError::OtherAnswer { found: PendingKind::InDoubt, .. })),
        "{refused:?}"
    );
    let refused = front.settle(&key, &pending, Settlement::not_done().by(" ")).await;
    assert!(matches!(refused, Err(RuntimeError::Id(_))), "{refused:?}");
    let long = Settlement::done("x".repeat(SETTLEMENT_BYTES_MAX));
    assert_eq!(long.bytes(), SETTLEMENT_BYTES_MAX);
    let refused = front.settle(&key, &pending, long.by("x")).await;
    assert!(matches!(refused, Err(RuntimeError::TooLong { what: "settlement", .. })), "{refused:?}");
    assert_eq!(front.settle(&key, &pending, paid()).await.unwrap(), Delivered::Accepted);
    while !front.pending(&key).await.unwrap().is_empty() {
        settle().await;
    }

    // The session rests again. Nothing but the notice has changed.
    let session = front.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.alarm), (SessionStatus::Idle, None));
    let outcome = outcome_of(&session, front.now()).unwrap().unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(model.asked().len(), 2, "no model was asked");
    assert_eq!(only_result(&second, &key).await, before);
    assert!(matches!(transcript(&second, &key).await.last(), Some(Message::Notice(notice)) if notice.told));

    // The same settlement again is a repeat; another one comes too late.
    assert_eq!(front.settle(&key, &pending, paid()).await.unwrap(), Delivered::Duplicate);
    let late = front.settle(&key, &pending, Settlement::not_done()).await;
    assert!(matches!(late, Err(RuntimeError::NotPending { .. })), "{late:?}");

    completes(second.execute(say(&agent, "and?").in_session(key.id.clone())).await.unwrap()).await;
    let shown = model.asked().pop().unwrap().messages;
    let told = shown
        .iter()
        .filter(|message| matches!(&***message, Message::User(said) if said.text.contains("receipt 4711")));
    assert_eq!(told.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn u03_a_call_of_a_child_is_settled_if_its_parent_asks_for_that() {
    let model =
        Script::new(|request| match (request.system.contains("You help."), results(request).is_empty()) {
            (true, true) => Say::Calls(vec![("pay", "{}")]),
            (false, true) => Say::Calls(vec![("helper", r#"{"tasks":["pay"]}"#)]),
            (true | false, false) => Say::Text("done"),
        });
    let tool = Fake::new("pay", |_| async { Err(ToolError::Lost("the line went dead".into())) });
    let helper =
        SubAgent::new("helper", "Does one thing.").instructions("You help.").tools(["pay".parse().unwrap()]);
    let built = agent(&model).tool(tool).sub_agent(helper).in_doubt(OnDoubt::Ask).build().unwrap();
    let agent = Arc::new(built);
    let store = store();
    let runtime = runtime(&store, &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let key = runtime.execute(say(&agent, "go")).await.unwrap().key().clone();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let query = PendingQuery { kind: Some(PendingKind::InDoubt), ..PendingQuery::all(tenant()) };
    let asked = runtime.list_pending(&query).await.unwrap().items;
    assert_eq!(asked.len(), 1);
    let (child, pending) = (asked[0].call.key.clone(), asked[0].id().clone());
    assert_ne!(child, key);
    assert_eq!(runtime.settle(&child, &pending, paid()).await.unwrap(), Delivered::Accepted);
    while !runtime.pending(&child).await.unwrap().is_empty() {
        settle().await;
    }
    assert!(
        matches!(transcript(&runtime, &child).await.last(), Some(Message::Notice(notice)) if notice.told)
    );
}

#[tokio::test(start_paused = true)]
async fn who_has_settled_a_call_is_shown_until_a_run_takes_it() {
    let model = Script::calling(vec![("pay", "{}")]);
    let lost = || Err(holdover_core::tool::ToolError::Lost("the line went dead".into()));
    let tool = Fake::new("pay", move |_| async move { lost() });
    let agent = Arc::new(agent(&model).tool(tool).in_doubt(OnDoubt::Ask).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let standing = runtime.standing(&key).await.unwrap();
    assert_eq!(standing.pending.len(), 1, "a session at rest shows it");
    assert!(runtime.snapshot(&key, 1).await.unwrap().standing.pending.is_empty(), "nothing waits for it");
    let pending = standing.pending[0].id().clone();
    runtime.settle(&key, &pending, paid()).await.unwrap();
    let shown = runtime.pending(&key).await.unwrap();
    assert_eq!(shown[0].answered.as_ref().and_then(|answered| answered.by.as_deref()), Some("ann"));
    // A caller that waits for the session takes it up as a worker would.
    runtime.wait(&key).await.unwrap();
    assert!(runtime.pending(&key).await.unwrap().is_empty());
}
