//! Sessions that begin from a checkpoint of another session.
//!
//! Requirements: C63, H19, H24.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::event::Event;
use holdover_core::ids::{CheckpointId, SessionId, SessionKey};
use holdover_core::machine::Machine;
use holdover_core::machine::history::rebuild;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{EventCursor, Labels, OutcomeKind, PageRequest, SessionQuery, SessionStatus};
use holdover_core::tool::{EffectClass, ToolOutput};
use holdover_runtime_local::{Agent, Approval, Follow, Fork, Runtime};
use tokio::time::sleep;

use crate::bench::{
    agent, asking_for, completes, finish, only_pending, runtime, say, settle, store, tool_results, transcript,
};
use crate::script::{Say, Script, results};
use crate::tools::Fake;

/// Returns an agent with two steps: in the first all calls end; the second parks on an approval beside a call that
/// has ended.
fn mixed() -> (Arc<Agent>, Fake) {
    let pay = Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let look = Fake::echo("look").effect(EffectClass::ReadOnly);
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("look", r#"{"n":1}"#), ("look", r#"{"n":2}"#)]),
        2 => Say::Calls(vec![("look", r#"{"n":3}"#), ("pay", r#"{"n":4}"#)]),
        _ => Say::Text("done"),
    });
    let agent = agent(&model).tool(pay.clone()).tool(look).gate(asking_for("pay"));
    (Arc::new(agent.build().unwrap()), pay)
}

async fn checkpoint_ids(runtime: &Runtime, key: &SessionKey) -> Vec<CheckpointId> {
    let page = runtime.checkpoints(key, PageRequest::default()).await.unwrap();
    page.items.into_iter().map(|entry| entry.checkpoint.id).collect()
}

/// Returns everything that a reader can read of the session, as text.
async fn everything(runtime: &Runtime, key: &SessionKey) -> String {
    let session = runtime.session(key).await.unwrap();
    let messages = runtime.messages(key).await.unwrap();
    let events: Vec<_> = runtime.events(key, EventCursor::START, Follow::Available).collect().await;
    let checkpoints = checkpoint_ids(runtime, key).await;
    let pending = runtime.pending(key).await.unwrap();
    format!("{session:?} {messages:?} {events:?} {checkpoints:?} {pending:?}")
}

/// Asserts that each call has one result, in call order (INV-08), that each turn that began has ended once (INV-12),
/// and that the rows rebuild the state (INV-10).
async fn check(runtime: &Runtime, key: &SessionKey) {
    let (mut asked, mut answered) = (Vec::new(), Vec::new());
    for message in transcript(runtime, key).await {
        match message {
            Message::Assistant(said) => asked.extend(said.calls().map(|call| call.id.clone())),
            Message::Tool(result) => answered.push(result.call),
            Message::User(_) | Message::Decision(_) | Message::Notice(_) | Message::Summary(_) => {}
        }
    }
    assert_eq!(asked, answered, "{key}");
    let mut rows = Vec::new();
    let (mut done, mut begun) = (0, 0);
    for entry in runtime.events(key, EventCursor::START, Follow::Available).collect::<Vec<_>>().await {
        let event = entry.unwrap().event;
        done += u32::from(matches!(event, Event::Done { .. }));
        begun += u32::from(matches!(event, Event::Init { .. }));
        if let Event::History { rows: more } = event {
            rows.extend(more);
        }
    }
    assert_eq!(begun, done, "{key}: every turn that began is done, once (INV-12)");
    let state = runtime.session(key).await.unwrap().unwrap().state.unwrap();
    assert_eq!(rebuild(&rows).unwrap(), state.parse::<Machine>().unwrap(), "{key}");
}

/// Requirements: C63, H19.
#[tokio::test(start_paused = true)]
async fn every_checkpoint_forks_into_a_session_that_rests_and_goes_on() {
    let (agent, pay) = mixed();
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let parked = checkpoint_ids(&runtime, &key).await;
    assert_eq!(parked.len(), 2, "after the first step, and where it parked");
    let while_parked = fork(&runtime, &key, Fork::at(parked[0])).await;

    runtime.approve(&key, &only_pending(&runtime, &key).await, Approval::default()).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let before = everything(&runtime, &key).await;
    let checkpoints = checkpoint_ids(&runtime, &key).await;
    assert_eq!(checkpoints[checkpoints.len() - 2..], parked, "newest first, and they stay");
    let paid = pay.calls().len();

    // The result of the ended call is known in both forks: it was staged at the first, and promoted by the second.
    let later = fork(&runtime, &key, Fork::at(parked[0])).await;
    for fork in [&while_parked, &later] {
        let ends: Vec<_> = tool_results(&runtime, fork)
            .await
            .into_iter()
            .map(|result| (result.status, result.content))
            .collect();
        assert_eq!(ends[2], (ResultStatus::Done, r#"{"n":3}"#.into()), "{fork}");
        assert_eq!(ends[3].0, ResultStatus::Cancelled, "{fork}");
        assert!(ends[3].1.contains("system:forked"), "{ends:?}");
    }
    assert_eq!(pay.calls().len(), paid, "a fork calls nothing");

    for at in checkpoints.clone() {
        let forked = fork(&runtime, &key, Fork::at(at)).await;
        let at_end = at == checkpoints[0];
        let status = runtime.session(&forked).await.unwrap().unwrap().status;
        assert_eq!(status == SessionStatus::Idle, at_end, "{at}: {status}");
        let run = if at_end {
            runtime.execute(say(&agent, "more").in_session(forked.id.clone())).await.unwrap()
        } else {
            runtime.resume(&forked).await.unwrap()
        };
        let (_, outcome) = finish(run).await;
        if outcome.kind() != OutcomeKind::Completed {
            let call = only_pending(&runtime, &forked).await;
            runtime.approve(&forked, &call, Approval::default()).await.unwrap();
            assert_eq!(runtime.wait(&forked).await.unwrap().kind(), OutcomeKind::Completed, "{at}");
        }
        check(&runtime, &forked).await;
        let again = fork(&runtime, &forked, Fork::newest()).await;
        check(&runtime, &again).await;
    }
    assert_eq!(everything(&runtime, &key).await, before, "the source is not touched");
}

/// Forks a session, and asserts that the fork rests with no open work.
async fn fork(runtime: &Runtime, from: &SessionKey, how: Fork) -> SessionKey {
    let forked = runtime.fork(from, how).await.unwrap();
    let session = runtime.session(&forked.key).await.unwrap().unwrap();
    assert_eq!(session.status, forked.status);
    assert!(session.status.at_rest() && session.alarm.is_none() && session.lease.is_none(), "{session:?}");
    assert!(session.staged.results.is_empty() && session.unread == 0, "{session:?}");
    assert_eq!(runtime.pending(&forked.key).await.unwrap(), []);
    check(runtime, &forked.key).await;
    forked.key
}

#[tokio::test(start_paused = true)]
async fn a_step_of_many_calls_is_forked_with_the_result_of_each() {
    const MANY: usize = 250;
    let pay = Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let look = Fake::echo("look").effect(EffectClass::ReadOnly);
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls([vec![("pay", "{}")], vec![("look", "{}"); MANY]].concat()),
        _ => Say::Text("done"),
    });
    let agent = Arc::new(agent(&model).tool(pay).tool(look).gate(asking_for("pay")).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let parked = checkpoint_ids(&runtime, &key).await[0];
    runtime.approve(&key, &only_pending(&runtime, &key).await, Approval::default()).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let forked = fork(&runtime, &key, Fork::at(parked)).await;
    let done = tool_results(&runtime, &forked).await;
    assert_eq!(done.iter().filter(|result| result.status == ResultStatus::Done).count(), MANY);
}

#[tokio::test(start_paused = true)]
async fn a_session_that_runs_is_forked_from_where_it_last_closed_a_step() {
    let slow = Fake::new("slow", |_| async {
        sleep(Duration::from_secs(5)).await;
        Ok(ToolOutput::text("done").into())
    });
    let model = Script::new(|request| match results(request).len() {
        0 => Say::Calls(vec![("look", "{}")]),
        1 => Say::Calls(vec![("slow", "{}")]),
        _ => Say::Text("done"),
    });
    let look = Fake::echo("look").effect(EffectClass::ReadOnly);
    let agent = Arc::new(agent(&model).tool(slow.clone()).tool(look).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let running = tokio::spawn(run.outcome());
    settle().await;
    assert_eq!(slow.calls().len(), 1, "it is out");
    let forked = fork(&runtime, &key, Fork::newest()).await;
    assert_eq!(tool_results(&runtime, &forked).await.len(), 1, "the step that runs is not part of it");
    assert_eq!(running.await.unwrap().unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(slow.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_forked_says_so_and_makes_nothing() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("hi"))).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let unknown = SessionKey::new(key.tenant.clone(), SessionId::new("nobody").unwrap());
    let to = SessionId::new("fork").unwrap();
    let target = SessionKey::new(key.tenant.clone(), to.clone());

    let error = runtime.fork(&unknown, Fork::newest().to(to.clone())).await.unwrap_err();
    assert_eq!(error.to_string(), "session acme/nobody: there is no such session");
    let error = runtime.fork(&key, Fork::at(CheckpointId(99)).to(to.clone())).await.unwrap_err();
    assert_eq!(error.to_string(), format!("session {key}: there is no checkpoint 99"));
    assert_eq!(runtime.session(&target).await.unwrap(), None);

    let once = || Fork::newest().to(to.clone()).label("why", "test").once("op".parse().unwrap());
    let first = runtime.fork(&key, once()).await.unwrap();
    assert_eq!(runtime.fork(&key, once()).await.unwrap(), first, "a repeat");
    let labels = runtime.session(&target).await.unwrap().unwrap().labels;
    assert_eq!(labels.0.get("why").map(String::as_str), Some("test"));
    let error = runtime.fork(&key, Fork::newest().to(to)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "session acme/fork: it exists already and is at rest; choose another session id"
    );
}

/// A fork is listed only under the session that it was forked from directly.
#[tokio::test(start_paused = true)]
async fn h24_a_fork_is_listed_by_the_session_that_it_came_from() {
    let agent = Arc::new(agent(&Script::new(|_| Say::Text("hi"))).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let fork = async |from: &SessionKey| runtime.fork(from, Fork::newest()).await.unwrap().key;
    let (one, other) = (fork(&key).await, fork(&key).await);
    let of_one = fork(&one).await;
    let forks_of = async |of: &SessionKey| {
        let labels = Labels::from_iter([(Labels::FORKED_FROM, of.id.as_str())]);
        let query = SessionQuery { labels, ..SessionQuery::all(of.tenant.clone()) };
        let found = runtime.list(&query).await.unwrap().items;
        found.into_iter().map(|found| found.key).collect::<BTreeSet<_>>()
    };
    assert_eq!(forks_of(&key).await, [one.clone(), other.clone()].into());
    assert_eq!(forks_of(&one).await, [of_one].into(), "of the nearest");
    assert_eq!(forks_of(&other).await, [].into());

    // A fork of a session with the most labels allowed keeps them all, and gets no fork label.
    let labels: Labels = (0..Labels::LABELS_MAX).map(|number| (number.to_string(), "x")).collect();
    let full = completes(runtime.execute(say(&agent, "go").labelled(labels.clone())).await.unwrap()).await;
    let forked = fork(&full).await;
    for key in [full, forked] {
        assert_eq!(runtime.session(&key).await.unwrap().unwrap().labels, labels);
    }
}
