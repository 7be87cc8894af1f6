//! Tasks of background children: each is reported once, and only awaited children are waited for.
//!
//! Requirements: H21.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::Limits;
use holdover_core::engine::{Drain, RunOutcome};
use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::ToolOutput;
use holdover_runtime_local::{Agent, BeginChild, RuntimeError, SubAgent, WorkerOptions, machine_of};

use crate::background::{begin, call, child_of, family, ids, is_child, last_said, status};
use crate::bench::{agent, asking_for, completes, finish, runtime, say, store, tool_results, worker};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns a parent that begins a child and, after ten more seconds, makes these calls about it.
fn sends_late(calls: &'static [(&'static str, &'static str)]) -> Arc<Agent> {
    let (_, agent) = family(move |request| match (results(request).len(), results(request).first()) {
        (0, _) => call("helper", begin("")),
        (1, Some(begun)) => {
            let id = ids(begun).remove(0);
            let with_id = |(tool, arguments): &(&'static str, &str)| {
                (*tool, &*Box::leak(arguments.replace("ID", &id).into_boxed_str()))
            };
            Say::SlowlyCalls {
                pieces: vec!["a".into(), "b".into()],
                apart: Duration::from_secs(5),
                calls: calls.iter().map(with_id).collect(),
            }
        }
        (_, _) => Say::Text("done"),
    });
    agent
}

#[tokio::test(start_paused = true)]
async fn the_end_of_an_earlier_task_is_not_that_of_a_later_one() {
    let agent = sends_late(&[("send_child", r#"{"id":"ID","text":"write"}"#)]);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (parent, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    tokio::time::sleep(Duration::from_secs(30)).await;
    let child = child_of(&runtime, &parent).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Suspended, "it asks a person");
    assert_eq!(runtime.pending(&parent).await.unwrap().len(), 1);
    runtime.abort(&parent, "enough").await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Aborted);
}

#[tokio::test(start_paused = true)]
async fn a_wait_beside_a_send_waits_for_what_was_sent() {
    let agent = sends_late(&[("send_child", r#"{"id":"ID","text":"write"}"#), ("wait_children", "{}")]);
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedAwaitingChildren, "{outcome:?}");
}

#[tokio::test(start_paused = true)]
async fn a_wait_in_the_step_that_begins_children_waits_for_them() {
    let (_, agent) = family(|request| match results(request).len() {
        0 => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#), ("wait_children", "{}")]),
        _ => Say::Text("done"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let told = tool_results(&runtime, &parent).await;
    assert!(told[1].content.contains("dug it"), "{}", told[1].content);
}

#[tokio::test(start_paused = true)]
async fn a_task_that_a_child_was_stopped_before_it_read_is_told_of() {
    let (_, agent) = family(|request| match (results(request).len(), results(request).first()) {
        (0, _) => call("helper", begin("")),
        (1, _) => Say::Calls(vec![("wait_children", "{}")]),
        (2, Some(begun)) => {
            let id = ids(begun).remove(0);
            let leak = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
            Say::Calls(vec![
                ("send_child", leak(format!(r#"{{"id":"{id}","text":"never"}}"#))),
                ("stop_child", leak(format!(r#"{{"id":"{id}"}}"#))),
            ])
        }
        (4, _) => Say::Calls(vec![("wait_children", r#"{"timeout_s":600}"#)]),
        (_, _) => Say::Text("done"),
    });
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    run.detach();
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    let child = child_of(&runtime, &parent).await;
    assert_eq!(status(&runtime, &child).await, SessionStatus::Aborted);
    let machine = machine_of(&runtime.session(&parent).await.unwrap().unwrap()).unwrap().unwrap();
    assert!(machine.background[0].has_ended(), "{:?}", machine.background);
    let told = tool_results(&runtime, &parent).await;
    assert!(told.last().unwrap().content.contains("has failed"), "{told:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_comes_to_a_run_that_leaves_is_carried_out_by_the_next() {
    let (_, agent) = family(|request| match last_said(request).as_str() {
        "go" => {
            Say::Slowly { pieces: vec!["a".into(), "b".into()], apart: Duration::from_secs(20), whole: true }
        }
        _ => Say::Text("heard"),
    });
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let parent = run.key().clone();
    run.detach();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let drains = tokio::spawn({
        let first = first.clone();
        async move { first.drain(Drain::Calls, Duration::from_secs(100)).await }
    });
    tokio::time::sleep(Duration::from_secs(5)).await;
    let begun = BeginChild::new("helper".parse().unwrap(), "dig");
    let child = second.begin_child(&parent, begun).await.unwrap();
    drains.await.unwrap();
    let _worker = worker(&second, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(status(&second, &child).await, SessionStatus::Idle);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_a_session_does_not_wait_for_what_it_does_not_wait_for() {
    let model = Script::new(|request| match (is_child(request), results(request).len()) {
        (true, _) => {
            Say::Slowly { pieces: vec!["dug it".into()], apart: Duration::from_secs(50_000), whole: true }
        }
        (false, 0) => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#)]),
        (false, _) => Say::Slowly { pieces: vec!["a".into()], apart: Duration::from_secs(5), whole: true },
    });
    let helper = SubAgent::new("helper", "Digs.").instructions("You help.").background();
    let agent = Arc::new(agent(&model).sub_agent(helper).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let outcome = tokio::time::timeout(Duration::from_secs(60), run.outcome()).await;
    assert_eq!(outcome.unwrap().unwrap().kind(), OutcomeKind::Completed);
}

#[tokio::test(start_paused = true)]
async fn a_model_waits_no_longer_than_its_agent_allows() {
    let model = Script::new(|request| match (is_child(request), results(request).len()) {
        (true, _) => Say::Calls(vec![("write", "{}")]),
        (false, 0) => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#)]),
        (false, 1) => Say::Calls(vec![("wait_children", r#"{"timeout_s":1000000}"#)]),
        (false, _) => Say::Text("done"),
    });
    let helper = SubAgent::new("helper", "Digs.")
        .instructions("You help.")
        .tools(["write".parse().unwrap()])
        .background();
    let built = agent(&model)
        .tool(Fake::new("write", |_| async { Ok(ToolOutput::text("written").into()) }))
        .gate(asking_for("write"))
        .limits(Limits::default().answer_timeout_ms(Some(60_000)))
        .sub_agent(helper)
        .build();
    let agent = Arc::new(built.unwrap());
    let runtime = runtime(&store(), &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    let Some(RunOutcome::Suspended(parked)) = run.first_outcome().await.unwrap() else { panic!("it waits") };
    assert!(parked.until.unwrap() <= runtime.now().after(Duration::from_secs(60)), "{parked:?}");
}

#[tokio::test(start_paused = true)]
async fn each_task_of_a_child_has_a_share_of_what_is_left_then() {
    let model = Script::new(|request| match (is_child(request), results(request).len()) {
        (true, _) if last_said(request) == "never" => Say::Nothing,
        (true, _) => Say::Text("dug it"),
        (false, 0) => Say::Calls(vec![("helper", r#"{"tasks":["dig"],"background":true}"#)]),
        (false, n) if n % 2 == 1 => Say::Calls(vec![("wait_children", "{}")]),
        (false, n) => {
            let id = ids(&results(request)[0]).remove(0);
            let text = if n < 8 { "dig" } else { "never" };
            call("send_child", format!(r#"{{"id":"{id}","text":"{text}"}}"#))
        }
    });
    let helper = SubAgent::new("helper", "Digs.").instructions("You help.").background();
    let agent = agent(&model).limits(Limits::default().max_tokens(Some(40))).sub_agent(helper).build();
    let agent = Arc::new(agent.unwrap());
    let runtime = runtime(&store(), &agent);
    let _worker = worker(&runtime, WorkerOptions::default());
    let parent = runtime.start(say(&agent, "go")).await.unwrap().key;
    tokio::time::sleep(Duration::from_secs(5)).await;
    let child = child_of(&runtime, &parent).await;
    let machine = machine_of(&runtime.session(&child).await.unwrap().unwrap()).unwrap().unwrap();
    let allowed = machine.turn.replies.iter().filter_map(|reply| reply.allowance.tokens).min().unwrap();
    let used = runtime.standing(&parent).await.unwrap().usage.tokens.total();
    assert!(allowed <= 40 - used, "{used} of 40 are used, and the child may use {allowed} more");
}

#[tokio::test(start_paused = true)]
async fn nobody_takes_the_end_of_a_child_back() {
    let (_, agent) = family(|request| match results(request).is_empty() {
        true => call("helper", begin(r#","quiet":true"#)),
        false => Say::Text("begun"),
    });
    let runtime = runtime(&store(), &agent);
    let parent = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let _worker = worker(&runtime, WorkerOptions::default());
    tokio::time::sleep(Duration::from_secs(5)).await;
    let session = runtime.session(&parent).await.unwrap().unwrap();
    assert_eq!((session.unread, runtime.queued(&parent).await.unwrap().len()), (1, 0));
    let withdrawn = runtime.withdraw(&parent, session.last_item).await;
    assert!(matches!(withdrawn, Err(RuntimeError::NotQueued { .. })), "{withdrawn:?}");
}
