//! Children: sessions that answer a call of another session.
//!
//! Requirements: A09, A47, A61, A62, A63, A66, C48, C62, H06, H07, H11, H21.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::children::{ChildNames, OUTCOME_CHARS_MAX};
use holdover_core::engine::{RunOutcome, STATE_FORMAT_ALONE, STATE_FORMAT_LINKED};
use holdover_core::ids::{SessionId, SessionKey};
use holdover_core::machine::Machine;
use holdover_core::message::ResultStatus;
use holdover_core::model::ModelRequest;
use holdover_core::store::{Labels, OutcomeKind, Session, SessionStatus};
use holdover_core::tool::{Bound, ToolOutput};
use holdover_runtime_local::{Agent, AgentError, Denial, Runtime, SubAgent, WorkerOptions};

use crate::bench::{
    agent, asking_for, finish, only_pending, only_result, runtime, say, settle, store, tool_results, worker,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns the task of a child's request; `None` for a request of the parent.
fn task(request: &ModelRequest) -> Option<String> {
    request.system.contains("You help.").then(|| {
        let holdover_core::message::Message::User(said) = &*request.messages[0] else { panic!("a task") };
        said.text.clone()
    })
}

fn helper() -> SubAgent {
    SubAgent::new("helper", "Does one thing.").instructions("You help.")
}

/// Returns a parent that gives the tasks in `arguments`, and children whose model answers with `does`.
fn family(
    arguments: &'static str,
    does: impl Fn(&str, &ModelRequest) -> Say + Send + Sync + 'static,
) -> (Script, Arc<Agent>) {
    let model = Script::new(move |request| match task(request) {
        Some(task) => does(&task, request),
        None if results(request).is_empty() => Say::Calls(vec![("helper", arguments)]),
        None => Say::Text("done"),
    });
    let built = agent(&model).sub_agent(helper().fan_out_max(1_000)).build().unwrap();
    (model, Arc::new(built))
}

/// Runs a new session until its first run has ended. Its children have not begun by then.
async fn parks(runtime: &Runtime, agent: &Arc<Agent>) -> (SessionKey, RunOutcome) {
    let mut run = runtime.execute(say(agent, "go")).await.unwrap();
    let outcome = run.first_outcome().await.unwrap().unwrap();
    (run.key().clone(), outcome)
}

async fn session(runtime: &Runtime, key: &SessionKey) -> Session {
    runtime.session(key).await.unwrap().unwrap()
}

/// Waits until the session rests.
async fn rests(runtime: &Runtime, key: &SessionKey) -> SessionStatus {
    loop {
        let status = session(runtime, key).await.status;
        if status.at_rest() {
            return status;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Returns the sessions of the first `count` children of the only pending call, in the order of their tasks.
async fn children(runtime: &Runtime, parent: &SessionKey, count: u32) -> Vec<SessionKey> {
    let pending = only_pending(runtime, parent).await;
    let names = (0..count).map(|index| ChildNames::of(&pending, index).unwrap().id);
    names.map(|id: SessionId| SessionKey::new(parent.tenant.clone(), id)).collect()
}

/// Requirements: A09, H07, H11, H21.
#[tokio::test(start_paused = true)]
async fn a61_a_child_does_its_task_in_a_session_of_its_own_and_its_last_words_are_the_result() {
    let (model, agent) = family(r#"{"tasks":["count to three"]}"#, |_, _| Say::Text("one, two, three"));
    let runtime = runtime(&store(), &agent);
    let (parent, outcome) = parks(&runtime, &agent).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren);
    let RunOutcome::Suspended(suspension) = outcome else { panic!("{outcome:?}") };
    assert!(suspension.until.is_some(), "a wait has a deadline");
    let child = children(&runtime, &parent, 1).await.remove(0);
    let begun = session(&runtime, &child).await;
    let labels: Labels = [
        (Labels::AGENT, "tester>helper"),
        (Labels::PARENT, parent.id.as_str()),
        (Labels::ROOT, parent.id.as_str()),
    ]
    .into_iter()
    .collect();
    assert!(begun.labels.contains_all(&labels), "{:?}", begun.labels);
    assert_eq!(begun.format, STATE_FORMAT_LINKED, "an older version would not answer its parent");
    assert_eq!(session(&runtime, &parent).await.format, STATE_FORMAT_LINKED);

    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(rests(&runtime, &parent).await, SessionStatus::Idle);
    assert_eq!(only_result(&runtime, &parent).await, (ResultStatus::Done, "one, two, three".to_owned()));
    assert_eq!(rests(&runtime, &child).await, SessionStatus::Idle);
    assert_eq!(session(&runtime, &parent).await.format, STATE_FORMAT_ALONE, "nothing of a child is left");
    let of_child = model.asked().into_iter().find(|request| task(request).is_some()).unwrap();
    assert_eq!(of_child.messages.len(), 1, "a child knows its task alone");
}

#[tokio::test(start_paused = true)]
async fn several_children_are_joined_in_the_order_of_their_tasks_and_each_failure_is_told() {
    let (_, agent) = family(r#"{"tasks":["a","b","c"]}"#, |task, _| match task {
        "b" => Say::Fail(holdover_core::model::ModelError::new(
            holdover_core::model::ModelErrorKind::Auth,
            "no key",
        )),
        other => Say::Text(if other == "a" { "A" } else { "C" }),
    });
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (parent, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    rests(&runtime, &parent).await;
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Done);
    let lines: Vec<&str> = content.lines().collect();
    assert_eq!((lines[0], lines[2]), ("[1] done: A", "[3] done: C"));
    assert!(lines[1].starts_with("[2] failed: ") && lines[1].contains("no key"), "{content}");
}

#[tokio::test(start_paused = true)]
async fn a66_a_child_that_fails_gives_an_error() {
    let (_, agent) = family(r#"{"tasks":["a"]}"#, |_, _| Say::Calls(vec![("nothing", "{}")]));
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (parent, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    rests(&runtime, &parent).await;
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Error, "{content}");
    assert!(content.starts_with("ended by "), "{content}");
}

#[tokio::test(start_paused = true)]
async fn the_first_outcomes_that_are_asked_for_end_the_call_and_the_other_children_are_stopped() {
    let (_, agent) = family(r#"{"tasks":["quick","slow"],"first":1}"#, |task, _| match task {
        "quick" => Say::Text("Q"),
        _ => Say::Nothing,
    });
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let both = children(&runtime, &parent, 2).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    rests(&runtime, &parent).await;
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(
        (status, content.as_str()),
        (ResultStatus::Done, "[1] done: Q\n[2] stopped: it was not waited for")
    );
    assert_eq!(rests(&runtime, &both[1]).await, SessionStatus::Aborted);
    assert_eq!(session(&runtime, &both[0]).await.status, SessionStatus::Idle, "it had ended");
}

#[tokio::test(start_paused = true)]
async fn the_first_failure_ends_a_call_that_asks_for_that() {
    let (_, agent) = family(r#"{"tasks":["bad","slow"],"fail_fast":true}"#, |task, _| match task {
        "bad" => Say::Calls(vec![("nothing", "{}")]),
        _ => Say::Nothing,
    });
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let both = children(&runtime, &parent, 2).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    rests(&runtime, &parent).await;
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Error, "{content}");
    assert_eq!(rests(&runtime, &both[1]).await, SessionStatus::Aborted);
}

/// Requirements: A62.
#[tokio::test(start_paused = true)]
async fn a_deadline_ends_the_call_and_the_child() {
    let model = Script::new(|request| match task(request) {
        Some(_) => Say::Nothing,
        None if results(request).is_empty() => Say::Calls(vec![("helper", r#"{"tasks":["slow"]}"#)]),
        None => Say::Text("done"),
    });
    let built = agent(&model).sub_agent(helper().timeout(Bound::At(5_000))).build().unwrap();
    let agent = Arc::new(built);
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let child = children(&runtime, &parent, 1).await.remove(0);
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(rests(&runtime, &parent).await, SessionStatus::Idle);
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Error, "{content}");
    assert!(rests(&runtime, &child).await.at_rest());
}

/// Requirements: H06.
#[tokio::test(start_paused = true)]
async fn a62_a_parent_that_is_stopped_stops_its_children() {
    for abort in [false, true] {
        let (_, agent) = family(r#"{"tasks":["a","b"]}"#, |_, _| Say::Nothing);
        let runtime = runtime(&store(), &agent);
        let (parent, _) = parks(&runtime, &agent).await;
        let both = children(&runtime, &parent, 2).await;
        let _worker = worker(&runtime, WorkerOptions::default());
        settle().await;
        match abort {
            true => runtime.abort(&parent, "enough").await.map(drop).unwrap(),
            false => runtime.interrupt(&parent, "enough").await.map(drop).unwrap(),
        }
        let expected = if abort { SessionStatus::Aborted } else { SessionStatus::Interrupted };
        assert_eq!(rests(&runtime, &parent).await, expected);
        for child in both {
            assert_eq!(rests(&runtime, &child).await, SessionStatus::Aborted);
        }
        assert_eq!(only_result(&runtime, &parent).await.0, ResultStatus::Cancelled);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_of_children_that_is_stopped_alone_ends_and_its_siblings_go_on() {
    let (_, agent) = family(r#"{"tasks":["a"]}"#, |_, _| Say::Nothing);
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let child = children(&runtime, &parent, 1).await.remove(0);
    let call = runtime.pending(&parent).await.unwrap()[0].call.call.clone();
    let _worker = worker(&runtime, WorkerOptions::default());
    settle().await;
    runtime.stop_call(&parent, &call).await.unwrap();
    assert_eq!(rests(&runtime, &parent).await, SessionStatus::Idle);
    assert_eq!(only_result(&runtime, &parent).await.0, ResultStatus::Cancelled);
    assert_eq!(rests(&runtime, &child).await, SessionStatus::Aborted);
}

#[tokio::test(start_paused = true)]
async fn c25_the_children_of_a_call_are_stopped_when_its_step_is_aborted() {
    let model = Script::new(move |request| match task(request) {
        Some(_) => Say::Nothing,
        None if results(request).is_empty() => {
            Say::Calls(vec![("helper", r#"{"tasks":["a"]}"#), ("edit", "{}")])
        }
        None => Say::Text("done"),
    });
    let edit = Fake::echo("edit");
    let agent = agent(&model).sub_agent(helper()).tool(edit.clone()).gate(asking_for("edit"));
    let agent = Arc::new(agent.build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    settle().await;
    let pending = runtime.pending(&parent).await.unwrap();
    let of = |call: &str| pending.iter().find(|pending| pending.call.call.as_str() == call).unwrap();
    let child = ChildNames::of(&of("c1-0").call.id, 0).unwrap().id;
    runtime.deny(&parent, &of("c1-1").call.id, Denial::default().aborting(true)).await.unwrap();
    assert_eq!(rests(&runtime, &parent).await, SessionStatus::Idle);
    let child = SessionKey::new(parent.tenant.clone(), child);
    assert_eq!(rests(&runtime, &child).await, SessionStatus::Aborted);
    let statuses: Vec<_> = tool_results(&runtime, &parent).await.iter().map(|result| result.status).collect();
    assert_eq!(statuses, [ResultStatus::Cancelled, ResultStatus::RejectedByUser]);
    assert_eq!(edit.calls().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn c48_a_child_that_is_aborted_before_it_began_answers_its_parent() {
    let (_, agent) = family(r#"{"tasks":["a"]}"#, |_, _| Say::Text("never"));
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let child = children(&runtime, &parent, 1).await.remove(0);
    runtime.abort(&child, "not that").await.unwrap();
    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(rests(&runtime, &parent).await, SessionStatus::Idle);
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Error, "{content}");
    assert_eq!(rests(&runtime, &child).await, SessionStatus::Aborted);
}

/// Requirements: A47.
#[tokio::test(start_paused = true)]
async fn c62_a_child_has_the_tools_that_are_named_behind_the_gate_of_its_parent() {
    let model = Script::new(|request| match task(request) {
        Some(_) if results(request).is_empty() => Say::Calls(vec![("write", "{}"), ("hidden", "{}")]),
        Some(_) => Say::Text("written"),
        None if results(request).is_empty() => Say::Calls(vec![("helper", r#"{"tasks":["write it"]}"#)]),
        None => Say::Text("done"),
    });
    let built = agent(&model)
        .tool(Fake::echo("write"))
        .tool(Fake::echo("hidden"))
        .gate(asking_for("write"))
        .sub_agent(helper().tools(["write".parse().unwrap()]))
        .build()
        .unwrap();
    let agent = Arc::new(built);
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let child = children(&runtime, &parent, 1).await.remove(0);
    let worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let asked = only_pending(&runtime, &child).await;
    runtime.approve(&child, &asked, holdover_runtime_local::Approval::by("ann")).await.unwrap();
    rests(&runtime, &parent).await;
    drop(worker);
    let of_child = tool_results(&runtime, &child).await;
    assert_eq!(of_child[0].status, ResultStatus::Done);
    assert!(of_child[1].content.contains("there is no tool \"hidden\" now"), "{:?}", of_child[1]);
    let told: Vec<String> = model
        .asked()
        .iter()
        .find(|request| task(request).is_some())
        .map(|request| request.tools.iter().map(|tool| tool.name.clone()).collect())
        .unwrap();
    assert_eq!(told, ["write"], "A47: no sub-agent of its own, so no recursion");
}

#[tokio::test(start_paused = true)]
async fn a63_a_child_has_no_more_steps_and_tokens_than_its_parent_has_left() {
    // Each model call counts two tokens: the parent has 8 left for two children.
    let model = Script::new(|request| match task(request) {
        Some(_) => Say::Calls(vec![("again", "{}")]),
        None if results(request).is_empty() => Say::Calls(vec![("helper", r#"{"tasks":["a","b"]}"#)]),
        None => Say::Text("done"),
    });
    let built = agent(&model)
        .tool(Fake::new("again", |_| async { Ok(ToolOutput::text("again").into()) }))
        .limits(Limits::default().max_tokens(Some(10)))
        .sub_agent(helper().tools(["again".parse().unwrap()]))
        .build()
        .unwrap();
    let agent = Arc::new(built);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (parent, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    rests(&runtime, &parent).await;
    let (_, content) = only_result(&runtime, &parent).await;
    assert_eq!(content.matches("ended by budget_exceeded").count(), 2, "{content}");
    let of_children = model.asked().iter().filter(|request| task(request).is_some()).count();
    assert_eq!(of_children, 4, "two calls of two tokens each");
    assert_eq!(session(&runtime, &parent).await.status, SessionStatus::Idle);
    let machine: Machine = session(&runtime, &parent).await.state.unwrap().parse().unwrap();
    let used = machine.usage.tokens.total();
    assert_eq!(used, 10, "A64: what children use is used by the parent");
}

/// Requirements: H11.
#[tokio::test(start_paused = true)]
async fn a_thousand_children_are_joined_by_one_claim() {
    let tasks: Vec<String> = (0..1_000).map(|task| task.to_string()).collect();
    let arguments = serde_json::json!({ "tasks": tasks }).to_string().leak();
    let (_, agent) = family(arguments, |_, _| Say::Text("x"));
    let runtime = runtime(&store(), &agent);
    let (parent, _) = parks(&runtime, &agent).await;
    let epoch = session(&runtime, &parent).await.epoch;
    let _worker = worker(&runtime, WorkerOptions::default());
    rests(&runtime, &parent).await;
    let (status, content) = only_result(&runtime, &parent).await;
    assert_eq!(status, ResultStatus::Done);
    assert_eq!(content.lines().count(), 1_000);
    assert!(content.len() < OUTCOME_CHARS_MAX * 3);
    assert_eq!(session(&runtime, &parent).await.epoch.0, epoch.0 + 1);
}

/// Requirements: A47, C62.
#[test]
fn sub_agents_lie_three_deep_at_most_and_have_tools_of_their_parent_alone() {
    let model = Script::new(|_| Say::Text("done"));
    let nested = |name: &str, below: Option<SubAgent>| {
        let sub = SubAgent::new(name, "Does it.");
        match below {
            Some(below) => sub.sub_agent(below),
            None => sub,
        }
    };
    let three = nested("a", Some(nested("b", Some(nested("c", None)))));
    let built = agent(&model).sub_agent(three).build().unwrap();
    let a = built.sub_agent(&"a".parse().unwrap()).unwrap();
    assert_eq!(a.label().as_str(), "tester>a");
    let four = nested("a", Some(nested("b", Some(nested("c", Some(nested("d", None)))))));
    let refused = agent(&model).sub_agent(four).build().unwrap_err();
    assert_eq!(refused.to_string(), r#"agent "tester>a>b>c": sub_agent d: lies deeper than 3"#);
    let unknown = helper().tools(["write".parse().unwrap()]);
    let refused = agent(&model).sub_agent(unknown).build().unwrap_err();
    assert!(matches!(refused, AgentError::UnknownTool { .. }), "{refused}");
    // Another sub-agent of the parent is not a tool that the helper may use.
    let beside = helper().tools(["a".parse().unwrap()]);
    let refused = agent(&model).sub_agent(nested("a", None)).sub_agent(beside).build().unwrap_err();
    assert_eq!(refused.to_string(), r#"agent "tester>helper": sub_agent tools: there is no tool a"#);
    let queued = agent(&model).sub_agent(helper().queue("ours".parse().unwrap())).build().unwrap();
    assert_eq!(queued.sub_agent(&"helper".parse().unwrap()).unwrap().queue().as_str(), "ours");
    let refused = agent(&model).sub_agent(helper().fan_out_max(1_001)).build().unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"agent "tester": sub_agent helper: fan_out_max: is 1001, expected 1 to 1000"#
    );
}
