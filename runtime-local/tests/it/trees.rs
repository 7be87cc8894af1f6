//! A tree of sessions is waited for as a whole: its due sessions are run, and it rests where only people can move it
//! on.
//!
//! Requirements: C61, H06, H11, H25.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::Limits;
use holdover_core::children::ChildNames;
use holdover_core::engine::{Drain, RunOutcome};
use holdover_core::ids::SessionKey;
use holdover_core::message::ResultStatus;
use holdover_core::model::ModelRequest;
use holdover_core::store::{Deletion, OutcomeKind, PendingKind, SessionStatus, StateStore};
use holdover_core::tool::{
    Bound, ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_runtime_local::{Agent, Delivered, Runtime, RuntimeError, SubAgent, WorkerOptions};
use serde_json::Value;
use tokio::time::Instant;

use crate::bench::{
    agent, agentless, asking_for, finish, only_result, runtime, say, store, tool_results, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns the name of the agent that makes the request, from its instructions.
pub(crate) fn asked(request: &ModelRequest) -> &'static str {
    ["chief", "clerk", "page"]
        .into_iter()
        .find(|name| request.system.contains(&format!("You are {name}.")))
        .unwrap()
}

pub(crate) fn sub_agent(name: &str) -> SubAgent {
    SubAgent::new(name, "Does it.").instructions(format!("You are {name}."))
}

/// Returns a chief whose clerk has a page. The page's model answers with `does`.
pub(crate) fn three(does: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Arc<Agent> {
    let model = Script::new(move |request| match (asked(request), results(request).first()) {
        ("chief", None) => Say::Calls(vec![("clerk", r#"{"tasks":["one"]}"#)]),
        ("clerk", None) => Say::Calls(vec![("page", r#"{"tasks":["two"]}"#)]),
        ("page", _) => does(request),
        (_, Some(_)) => Say::Text("passed on"),
        (_, None) => panic!("nobody else is asked"),
    });
    let page = sub_agent("page").tools(["write".parse().unwrap()]);
    let built = agent(&model)
        .instructions("You are chief.")
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(sub_agent("clerk").tools(["write".parse().unwrap()]).sub_agent(page))
        .build()
        .unwrap();
    Arc::new(built)
}

pub(crate) fn writes(request: &ModelRequest) -> Say {
    if results(request).is_empty() { Say::Calls(vec![("write", "{}")]) } else { Say::Text("it is written") }
}

async fn is_waited_for(runtime: &Runtime, key: &SessionKey) -> RunOutcome {
    runtime.wait_at_most(key, Duration::from_secs(60)).await.unwrap().unwrap()
}

#[tokio::test(start_paused = true)]
async fn h11_whoever_waits_for_a_session_runs_its_children_too() {
    let agent = three(|_| Say::Text("it is done"));
    let runtime = runtime(&store(), &agent);
    let began = Instant::now();
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &parent).await.1, "passed on");
    assert!(began.elapsed() < Duration::from_secs(1), "nothing waits for a poll: {:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn h25_a_tree_rests_where_only_a_person_can_go_on() {
    let agent = three(writes);
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
    assert!(matches!(is_waited_for(&runtime, &parent).await, RunOutcome::Suspended(_)), "nobody works on it");

    let owed = runtime.pending(&parent).await.unwrap();
    let kinds: Vec<&PendingKind> = owed.iter().map(|entry| &entry.call.kind).collect();
    assert_eq!(
        kinds.len(),
        2,
        "the person is shown what a person owes, and what the session waits for: {kinds:?}"
    );
    let asked = owed.iter().find(|entry| entry.call.kind == PendingKind::Approval).unwrap();
    assert_ne!(asked.call.key, parent, "a grandchild asks");
    assert_eq!(asked.body.tool.as_str(), "write");
    assert_eq!(runtime.standing(&parent).await.unwrap().pending, owed);
    assert_eq!(runtime.snapshot(&parent, 1).await.unwrap().standing.pending, owed);
    assert_eq!(runtime.pending_call(&parent, asked.id()).await.unwrap().as_ref(), Some(asked));

    let (stranger, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let refused = runtime.approve(&stranger, asked.id(), "ann").await.unwrap_err();
    assert!(matches!(&refused, RuntimeError::NotAsked { key, .. } if *key == stranger), "{refused}");

    assert_eq!(runtime.approve(&parent, asked.id(), "ann").await.unwrap(), Delivered::Accepted);
    assert_eq!(runtime.approve(&parent, asked.id(), "ann").await.unwrap(), Delivered::Duplicate);
    assert_eq!(runtime.wait(&parent).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool_results(&runtime, &asked.call.key).await[0].status, ResultStatus::Done);
    assert_eq!(runtime.pending(&parent).await.unwrap(), []);
    let again = runtime.approve(&parent, asked.id(), "ann").await.unwrap();
    assert_eq!(again, Delivered::Duplicate, "it is known where it was said, also when all is over");
}

#[tokio::test(start_paused = true)]
async fn whoever_only_watches_a_tree_runs_nothing_in_it() {
    let agent = three(|_| Say::Text("it is done"));
    let store = store();
    let runtime = runtime(&store, &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    run.first_outcome().await.unwrap();
    let watcher = agentless(&store);
    assert_eq!(watcher.wait_at_most(&key, Duration::from_secs(20)).await.unwrap(), None, "its child is due");
    let _worker = worker(&runtime, WorkerOptions::default());
    let outcome = is_waited_for(&watcher, &key).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
}

#[tokio::test(start_paused = true)]
async fn nothing_of_a_tree_is_begun_while_its_runtime_drains() {
    let model = Script::new(|request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![
            (
                "clerk",
                r#"{"tasks":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17","18"]}"#,
            ),
            ("slow", "{}"),
        ]),
        ("chief", false) => Say::Text("done"),
        _ => Say::Slowly { pieces: vec!["x".into()], apart: Duration::from_secs(2), whole: true },
    });
    // The root runs here all the while, so that the tree is checked while it drains.
    let slow = Fake::new("slow", |_| async {
        tokio::time::sleep(Duration::from_secs(30)).await;
        Ok(ToolOutput::text("slowly").into())
    });
    let clerk = sub_agent("clerk").fan_out_max(1_000);
    let built = agent(&model).instructions("You are chief.").tool(slow).sub_agent(clerk).build();
    let agent = Arc::new(built.unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    let waits = tokio::spawn(run.outcome());
    tokio::time::sleep(Duration::from_secs(2)).await;
    runtime.drain(Drain::Calls, Duration::from_secs(60)).await;
    waits.await.unwrap().unwrap();
    let members = runtime.tree(&parent, false).await.unwrap().entries;
    let epochs: Vec<u64> = members.iter().skip(1).map(|entry| entry.session.epoch.0).collect();
    assert!(epochs.contains(&1), "some had begun: {epochs:?}");
    assert!(epochs.iter().all(|epoch| *epoch <= 1), "none is begun again: {epochs:?}");
    assert!(epochs.contains(&0), "and no other is begun: {epochs:?}");
}

#[tokio::test(start_paused = true)]
async fn the_first_outcome_that_is_asked_for_is_joined_while_another_child_still_runs_here() {
    let model = Script::new(|request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["quick","slow"],"first":1}"#)]),
        ("chief", false) => Say::Text("done"),
        _ if format!("{:?}", request.messages).contains("quick") => Say::Text("Q"),
        _ => Say::Nothing,
    });
    let agent =
        Arc::new(agent(&model).instructions("You are chief.").sub_agent(sub_agent("clerk")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    let (_, content) = only_result(&runtime, &parent).await;
    assert_eq!(content, "[1] done: Q\n[2] stopped: it was not waited for");
}

/// Returns a chief that asks two clerks without a time limit. The clerks' model answers with `does`.
fn for_ever(does: impl Fn(&ModelRequest) -> Say + Send + Sync + 'static) -> Arc<Agent> {
    let model = Script::new(move |request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["alpha","beta"]}"#)]),
        ("chief", false) => Say::Text("done"),
        _ => does(request),
    });
    let clerk = sub_agent("clerk")
        .tools(["write".parse().unwrap()])
        .timeout(Bound::Never)
        .limits(Limits::default().answer_timeout_ms(None));
    let built = agent(&model)
        .instructions("You are chief.")
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .sub_agent(clerk);
    Arc::new(built.build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn a_child_that_vanished_is_found_missing_within_an_hour_also_where_nothing_bounds_the_wait() {
    let agent = for_ever(|request| match format!("{:?}", request.messages).contains("alpha") {
        true => Say::Text("first"),
        false => writes(request),
    });
    let store = store();
    let runtime = runtime(&store, &agent);
    let (parent, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
    let waiting = runtime.pending(&parent).await.unwrap();
    let asks = waiting.iter().find(|entry| entry.call.kind == PendingKind::Approval).unwrap();
    let parked = runtime.session(&parent).await.unwrap().unwrap();
    assert!(
        matches!(parked.alarm, Some(at) if at <= runtime.now().after(Duration::from_secs(3_600))),
        "{parked:?}"
    );

    // Children that exist are left alone, however often the parent looks for them.
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(3 * 3_600)).await;
    let looked = runtime.session(&parent).await.unwrap().unwrap();
    assert!(looked.epoch.0 >= parked.epoch.0 + 2, "it was woken to look");
    assert_eq!(looked.status, SessionStatus::Suspended);

    store.delete_session(&asks.call.key, Deletion::FORCE).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_700)).await;
    assert_eq!(runtime.session(&parent).await.unwrap().unwrap().status, SessionStatus::Idle);
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!((status, content.as_str()), (ResultStatus::Done, "[1] done: first\n[2] failed: it is gone"));
}

/// A tool that never returns and needs `CLEANS_UP` to clean up.
struct SlowToEnd(Fake);

const CLEANS_UP: Duration = Duration::from_secs(20);

#[async_trait]
impl Tool for SlowToEnd {
    fn spec(&self) -> &ToolSpec {
        self.0.spec()
    }

    fn profile(&self, arguments: &Value) -> ResourceProfile {
        self.0.profile(arguments)
    }

    async fn call(&self, call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.0.call(call).await
    }

    async fn cleanup(&self, _call: &ToolCall) -> Result<(), ToolError> {
        tokio::time::sleep(CLEANS_UP).await;
        Ok(())
    }
}

/// Requirements: C61.
#[tokio::test(start_paused = true)]
async fn h06_children_are_stopped_first_while_a_call_beside_them_still_ends() {
    let model = Script::new(|request| match (asked(request), results(request).is_empty()) {
        ("chief", true) => Say::Calls(vec![("clerk", r#"{"tasks":["long"]}"#), ("stuck", "{}")]),
        ("chief", false) => Say::Text("done"),
        _ => Say::Nothing,
    });
    let built = agent(&model)
        .instructions("You are chief.")
        .tool(SlowToEnd(Fake::stuck("stuck")))
        .limits(Limits::default().stop_grace_ms(60_000))
        .sub_agent(sub_agent("clerk"))
        .build();
    let agent = Arc::new(built.unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    let waits = tokio::spawn(run.outcome());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked = runtime.pending(&parent).await.unwrap().remove(0);
    let child = SessionKey::new(parent.tenant.clone(), ChildNames::of(asked.id(), 0).unwrap().id);
    let status = async |key: &SessionKey| runtime.session(key).await.unwrap().unwrap().status;
    assert_eq!(
        status(&child).await,
        SessionStatus::Active,
        "it runs beside the other call, by whoever waits"
    );

    let began = Instant::now();
    runtime.interrupt(&parent, "enough").await.unwrap();
    while status(&child).await != SessionStatus::Aborted {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(began.elapsed() < CLEANS_UP / 2, "it is stopped at once");
    }
    assert_eq!(status(&parent).await, SessionStatus::Active, "the other call has not ended");
    assert_eq!(waits.await.unwrap().unwrap().kind(), OutcomeKind::Interrupted);
}
