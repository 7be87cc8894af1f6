//! The events of children that do not exist yet, or that no run brings to an end.
//!
//! Requirements: A65.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt};
use holdover_core::event::Event;
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::message::Message;
use holdover_core::model::ModelRequest;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, PendingKind, Request, SessionStatus, StateStore, StoreError,
    StoreErrorKind,
};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, Follow, TreeCursor};

use crate::bench::{agent, asking_for, finish, runtime, say, store};
use crate::script::{Say, Script, results};
use crate::tools::Fake;
use crate::tree_events::{all, available, by_session, event, run_and_follow};
use crate::trees::{asked, sub_agent, three, writes};

/// A layer that fails claims of one session while it is stuck.
#[derive(Clone, Default)]
struct Stuck {
    session: Arc<Mutex<Option<SessionId>>>,
    is_stuck: Arc<AtomicBool>,
}

#[async_trait]
impl Layer for Stuck {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Claim(key, _) = &request
            && self.is_stuck.load(Ordering::SeqCst)
            && self.session.lock().unwrap().as_ref() == Some(&key.id)
        {
            return Err(StoreError::new(StoreErrorKind::Unavailable, request.operation(), "stuck"));
        }
        request.perform(&store).await
    }
}

/// Returns a chief that waits for the first of two clerks: one is slow, and one asks a person.
fn first_of_two(stuck: &Stuck) -> Arc<Agent> {
    let stuck = stuck.clone();
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["slow","asking"],"first":1}"#)]),
        ("chief", false) => Say::Text("done"),
        _ if said_last(request) == "slow" => {
            Say::Slowly { pieces: vec!["x".into()], apart: Duration::from_secs(5), whole: true }
        }
        _ => {
            *stuck.session.lock().unwrap() = Some(request.session.id.clone());
            stuck.is_stuck.store(true, Ordering::SeqCst);
            writes(request)
        }
    });
    let built = agent(&model)
        .instructions("You are chief.")
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(sub_agent("clerk").tools(["write".parse().unwrap()]));
    Arc::new(built.build().unwrap())
}

fn said_last(request: &ModelRequest) -> String {
    let mut said = request.messages.iter().filter_map(|message| match &**message {
        Message::User(said) => Some(said.text.clone()),
        Message::Assistant(_)
        | Message::Tool(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    said.next_back().unwrap_or_default()
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_not_waited_for_any_more_is_run_to_its_end_by_whoever_waits() {
    let stuck = Stuck::default();
    let agent = first_of_two(&stuck);
    let runtime = runtime(&store(), &agent);
    let (root, outcome, followed) = run_and_follow(&runtime, &agent, Follow::UntilRest).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let child = SessionKey::new(root.tenant.clone(), stuck.session.lock().unwrap().clone().unwrap());
    assert_eq!(runtime.session(&child).await.unwrap().unwrap().status, SessionStatus::Aborted);
    assert_eq!(by_session(&available(&runtime, &root, TreeCursor::START).await), all(&runtime, &root).await);
    assert!(matches!(event(followed.last().unwrap()), Event::Done { .. }));
}

#[tokio::test(start_paused = true)]
async fn hundreds_of_children_that_are_not_waited_for_any_more_are_run_to_their_ends() {
    let tasks = ["slow".to_owned()].into_iter().chain((0..200).map(|task| format!("asking {task}")));
    let tasks = serde_json::json!({ "tasks": tasks.collect::<Vec<_>>(), "first": 1 });
    let arguments: &str = tasks.to_string().leak();
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", arguments)]),
        ("chief", false) => Say::Text("done"),
        _ if said_last(request) == "slow" => {
            Say::Slowly { pieces: vec!["x".into()], apart: Duration::from_secs(60), whole: true }
        }
        _ => writes(request),
    });
    let clerk = sub_agent("clerk").fan_out_max(1_000).tools(["write".parse().unwrap()]);
    let built = agent(&model)
        .instructions("You are chief.")
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(clerk);
    let agent = Arc::new(built.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (root, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let members = runtime.tree(&root, true).await.unwrap().entries;
    let aborted = members.iter().filter(|entry| entry.session.status == SessionStatus::Aborted).count();
    assert_eq!((members.len(), aborted), (202, 200));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_held_for_a_child_that_was_stopped_and_that_nobody_runs() {
    let stuck = Stuck::default();
    let agent = first_of_two(&stuck);
    let runtime = runtime(&Layered::new(store(), stuck.clone()), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let root = run.key().clone();
    let (_, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let id = stuck.session.lock().unwrap().clone().unwrap();
    let child = SessionKey::new(root.tenant.clone(), id);
    assert_eq!(runtime.session(&child).await.unwrap().unwrap().status, SessionStatus::Suspended);

    let now = available(&runtime, &root, TreeCursor::START).await;
    assert_eq!(by_session(&now), all(&runtime, &root).await, "all that there is");
    let until_rest = runtime.tree_events(&root, TreeCursor::START, Follow::UntilRest);
    let until_rest: Vec<_> = until_rest.try_collect().await.unwrap();
    assert_eq!(by_session(&until_rest), by_session(&now));

    stuck.is_stuck.store(false, Ordering::SeqCst);
    let _ = runtime.wait(&child).await.unwrap();
    let rest = available(&runtime, &root, now.last().unwrap().cursor.to_string().parse().unwrap()).await;
    assert!(!rest.is_empty(), "its end");
    assert_eq!(by_session(&[now, rest].concat()), all(&runtime, &root).await);
}

/// A layer that creates each child five seconds late.
struct Late;

#[async_trait]
impl Layer for Late {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Create(new) = &request
            && new.key.id.as_str().starts_with("child-")
        {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn a_child_that_is_not_there_yet_when_its_parent_asks_is_followed_once_it_is() {
    let agent = three(writes);
    let runtime = runtime(&Layered::new(store(), Late), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let root = run.key().clone();
    let mut followed = runtime.tree_events(&root, TreeCursor::START, Follow::Forever);
    let asked = async {
        while let Some(item) = followed.next().await {
            if matches!(event(&item.unwrap()), Event::Asked { kind: PendingKind::Approval, .. }) {
                return;
            }
        }
    };
    let asked = tokio::time::timeout(Duration::from_secs(60), asked);
    let (_, asked) = tokio::join!(finish(run), asked);
    asked.expect("the grandchild is followed while it waits");
}
