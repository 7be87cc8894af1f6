//! Heirs: sessions that took over from a child. Requests to look at, stop or ask about the child reach them.
//!
//! Requirements: H26.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Limits;
use holdover_core::hook::{BeforeSubAgent, Hook, HookError, HookPoint, SubAgentAsked};
use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{Deletion, PendingKind, SessionStatus, StateStore, Wake};
use holdover_runtime_local::{
    Agent, AgentBuilder, Approval, ChildStanding, Deliver, Retention, Runtime, SubAgent, WorkerOptions,
};

use crate::background::{ids, last_said};
use crate::bench::{
    agent, asking_for, finish, only_pending, runtime, say, store, tool_results, transcript, worker,
};
use crate::script::{Say, Script, results};
use crate::taking_over::{asks_for_extract, heir, writer};

const LATER: Duration = Duration::from_secs(10);

/// Returns a model whose helper hands over at once and answers later messages, and whose heir calls `write`.
fn script(root: impl Fn(&holdover_core::model::ModelRequest) -> Say + Send + Sync + 'static) -> Script {
    Script::new(move |request| {
        let is_new = request.messages.last().is_some_and(|last| !matches!(&**last, Message::Tool(_)));
        let part = |name: &str| request.system.contains(name);
        match () {
            () if asks_for_extract(request) => Say::Text("what matters"),
            () if part("You inherit.") && is_new => Say::Calls(vec![("write", "{}")]),
            () if part("You inherit.") => Say::Text("inherited"),
            () if part("You help.") && last_said(request) == "help" => {
                Say::Calls(vec![("heir", r#"{"goal":"write"}"#)])
            }
            () if part("You help.") => Say::Text("here I am"),
            () => root(request),
        }
    })
}

fn helper() -> SubAgent {
    SubAgent::new("helper", "Helps.").instructions("You help.").tools(["write".parse().unwrap()]).background()
}

fn built(model: &Script, with: impl Fn(AgentBuilder) -> AgentBuilder) -> Arc<Agent> {
    let builder = agent(model).tool(writer()).gate(asking_for("write")).sub_agent(helper().sub_agent(heir()));
    Arc::new(with(builder).build().unwrap())
}

/// Returns a model whose root session gives the helper a task and waits for it.
fn waits() -> Script {
    script(|request| match results(request).is_empty() {
        true => Say::Calls(vec![("helper", r#"{"tasks":["help"]}"#)]),
        false => Say::Text("done"),
    })
}

async fn named(runtime: &Runtime, root: &SessionKey, prefix: &str) -> SessionKey {
    let all = holdover_core::store::SessionQuery::all(root.tenant.clone());
    let mut keys = runtime.list(&all).await.unwrap().items.into_iter().map(|session| session.key);
    keys.find(|key| key.id.as_str().starts_with(prefix)).unwrap()
}

async fn status(runtime: &Runtime, key: &SessionKey) -> SessionStatus {
    runtime.session(key).await.unwrap().unwrap().status
}

async fn begun(runtime: &Runtime, agent: &Arc<Agent>) -> SessionKey {
    let (parent, _) = finish(runtime.execute(say(agent, "go")).await.unwrap()).await;
    tokio::time::sleep(LATER).await;
    parent
}

#[tokio::test(start_paused = true)]
async fn h26_a_later_turn_of_the_old_session_hides_the_new_one_from_nobody() {
    let agent = built(&waits(), |builder| builder);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = begun(&runtime, &agent).await;
    let (child, heir) = (named(&runtime, &parent, "child-").await, named(&runtime, &parent, "next-").await);
    runtime.deliver(&child, Deliver::message("hello")).await.unwrap();
    tokio::time::sleep(LATER).await;
    let pending = runtime.pending(&parent).await.unwrap();
    assert_eq!(pending.iter().filter(|entry| entry.call.kind == PendingKind::Approval).count(), 1);
    assert_eq!(runtime.tree(&parent, true).await.unwrap().entries.len(), 3);
    runtime.abort(&parent, "enough").await.unwrap();
    tokio::time::sleep(LATER).await;
    assert_eq!(status(&runtime, &heir).await, SessionStatus::Aborted);
    assert!(runtime.replay(&child).await.unwrap().agrees());
}

#[tokio::test(start_paused = true)]
async fn h26_a_successor_that_vanished_is_found_missing() {
    let agent = built(&waits(), |builder| builder.limits(Limits::default().answer_timeout_ms(None)));
    let store = store();
    let runtime = runtime(&store, &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = begun(&runtime, &agent).await;
    let heir = named(&runtime, &parent, "next-").await;
    store.delete_session(&heir, Deletion::FORCE).await.unwrap();
    tokio::time::sleep(Duration::from_hours(3)).await;
    assert_eq!(status(&runtime, &parent).await, SessionStatus::Idle);
    assert!(tool_results(&runtime, &parent).await[0].content.contains("it is gone"));
}

#[tokio::test(start_paused = true)]
async fn h26_the_old_child_is_kept_while_its_successor_works_and_no_longer() {
    let patient = Limits::default().answer_timeout_ms(None);
    let helper = helper().limits(patient.clone()).sub_agent(heir().limits(patient.clone()));
    let built = agent(&waits()).tool(writer()).gate(asking_for("write")).limits(patient).sub_agent(helper);
    let agent = Arc::new(built.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = begun(&runtime, &agent).await;
    let (child, heir) = (named(&runtime, &parent, "child-").await, named(&runtime, &parent, "next-").await);
    let all = Retention::sessions(Duration::ZERO);
    let epoch = async || runtime.session(&child).await.unwrap().unwrap().epoch.0;
    let before = epoch().await;
    for hours in 1..=3 {
        assert_eq!(runtime.purge(&all).await.unwrap().sessions, 0);
        tokio::time::sleep(Duration::from_hours(1)).await;
        assert_eq!(epoch().await, before + hours, "it looks once an hour");
    }
    assert_eq!(status(&runtime, &heir).await, SessionStatus::Suspended);
    assert!(runtime.replay(&child).await.unwrap().agrees());

    let asked = runtime.pending(&parent).await.unwrap();
    let asked = asked.iter().find(|entry| entry.call.kind == PendingKind::Approval).unwrap();
    runtime.approve(&parent, asked.id(), "ann").await.unwrap();
    tokio::time::sleep(LATER).await;
    assert_eq!(tool_results(&runtime, &parent).await[0].status, ResultStatus::Done);
    // A note that nobody has to read is no work.
    runtime.deliver(&heir, Deliver::message_that("a note", Wake::Quiet)).await.unwrap();
    tokio::time::sleep(Duration::from_hours(2)).await;
    assert_eq!((epoch().await, runtime.session(&child).await.unwrap().unwrap().alarm), (before + 4, None));
    assert_eq!(runtime.purge(&all).await.unwrap().sessions, 2, "all but the one with a note");
}

#[tokio::test(start_paused = true)]
async fn h26_the_old_child_that_is_deleted_takes_its_successor_with_it_and_the_parent_hears() {
    let agent = built(&waits(), |builder| builder);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = begun(&runtime, &agent).await;
    let (child, heir) = (named(&runtime, &parent, "child-").await, named(&runtime, &parent, "next-").await);
    runtime.delete(&child, Deletion::UNLESS_ACTIVE).await.unwrap();
    tokio::time::sleep(LATER).await;
    assert_eq!(status(&runtime, &heir).await, SessionStatus::Aborted);
    assert_eq!(status(&runtime, &parent).await, SessionStatus::Idle);
    assert_eq!(tool_results(&runtime, &parent).await[0].status, ResultStatus::Error);
}

#[tokio::test(start_paused = true)]
async fn h26_a_background_child_that_was_handed_over_is_shown_and_stopped_where_it_goes_on() {
    let model = script(|request| match (results(request).len(), results(request).first()) {
        (0, _) => Say::Calls(vec![("helper", r#"{"tasks":["help"],"background":true}"#)]),
        (1, Some(begun)) if last_said(request) == "stop it" => {
            let of: &'static str = Box::leak(format!(r#"{{"id":"{}"}}"#, ids(begun)[0]).into_boxed_str());
            Say::Calls(vec![("list_children", "{}"), ("stop_child", of)])
        }
        (_, _) => Say::Text("heard"),
    });
    let agent = built(&model, |builder| builder);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = begun(&runtime, &agent).await;
    let heir = named(&runtime, &parent, "next-").await;
    assert_eq!(runtime.children(&parent).await.unwrap()[0].standing, ChildStanding::Waits);
    runtime.deliver(&parent, Deliver::message("stop it")).await.unwrap();
    tokio::time::sleep(LATER).await;
    assert!(tool_results(&runtime, &parent).await[1].content.contains("helper: waits"));
    assert_eq!(status(&runtime, &heir).await, SessionStatus::Aborted);
    assert_eq!(runtime.children(&parent).await.unwrap()[0].standing, ChildStanding::Stopped);
    assert!(runtime.replay(&parent).await.unwrap().agrees());
}

/// A hook that denies every sub-agent, and keeps the tasks that it was asked about.
#[derive(Clone, Default)]
struct Warden(Arc<Mutex<Vec<String>>>);

#[async_trait]
impl Hook for Warden {
    fn name(&self) -> &str {
        "warden"
    }

    fn points(&self) -> &[HookPoint] {
        &[HookPoint::BeforeSubAgent]
    }

    async fn before_sub_agent(&self, asked: &SubAgentAsked) -> Result<BeforeSubAgent, HookError> {
        self.0.lock().unwrap().extend(asked.tasks.tasks.clone());
        Ok(BeforeSubAgent::Deny { reason: "not today".to_owned() })
    }
}

/// Returns a model whose root session hands itself over.
fn hands_over() -> Script {
    script(|request| match results(request).is_empty() {
        true => Say::Calls(vec![("heir", r#"{"goal":"paint"}"#)]),
        false => Say::Text("not handed over"),
    })
}

#[tokio::test(start_paused = true)]
async fn h26_a_hook_before_sub_agents_is_asked_about_the_goal_of_a_handoff() {
    let warden = Warden::default();
    let agent = built(&hands_over(), |builder| builder.sub_agent(heir()).hook(warden.clone()));
    let runtime = runtime(&store(), &agent);
    let (source, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(*warden.0.lock().unwrap(), ["paint"]);
    assert_eq!(tool_results(&runtime, &source).await[0].status, ResultStatus::Denied);
}

#[tokio::test(start_paused = true)]
async fn h26_a_person_decides_on_a_handoff_and_may_give_another_goal() {
    let model = hands_over();
    let built = agent(&model).tool(writer()).gate(asking_for("heir")).sub_agent(heir()).build();
    let agent = Arc::new(built.unwrap());
    let runtime = runtime(&store(), &agent);
    let (source, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let asked = only_pending(&runtime, &source).await;
    let edited = Approval::by("ann").editing(r#"{"goal":"sweep"}"#);
    runtime.approve(&source, &asked, edited).await.unwrap();
    runtime.wait(&source).await.unwrap();
    let heir = named(&runtime, &source, "next-").await;
    let said = transcript(&runtime, &heir)
        .await
        .into_iter()
        .any(|message| matches!(message, Message::User(said) if said.text == "sweep"));
    assert!(said, "it works on the goal that the person gave");
}

#[tokio::test(start_paused = true)]
async fn a_person_decides_whether_children_begin() {
    let model =
        Script::new(|request| match (request.system.contains("You help."), results(request).is_empty()) {
            (true, _) => Say::Text("helped"),
            (false, true) => Say::Calls(vec![("helper", r#"{"tasks":["help"]}"#)]),
            (false, false) => Say::Text("done"),
        });
    for approves in [true, false] {
        let built = agent(&model)
            .gate(asking_for("helper"))
            .sub_agent(SubAgent::new("helper", "Helps.").instructions("You help."))
            .build();
        let agent = Arc::new(built.unwrap());
        let runtime = runtime(&store(), &agent);
        let (source, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        assert_eq!(runtime.tree(&source, true).await.unwrap().entries.len(), 1, "none has begun");
        let asked = only_pending(&runtime, &source).await;
        if approves {
            runtime.approve(&source, &asked, "ann").await.unwrap();
        } else {
            runtime.deny(&source, &asked, "ann").await.unwrap();
        }
        runtime.wait(&source).await.unwrap();
        let expect = if approves { ResultStatus::Done } else { ResultStatus::RejectedByUser };
        assert_eq!(tool_results(&runtime, &source).await[0].status, expect);
    }
}
