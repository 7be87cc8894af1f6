//! Errors for impossible requests: one line that names the session, call, key or field.
//!
//! Requirements: U11.

use std::sync::Arc;

use futures::StreamExt;
use holdover_core::agent::{Limits, LoopDetection, StopCondition};
use holdover_core::ids::{CheckpointId, InvalidId, ItemKey, PendingId, SessionId, SessionKey, ToolName};
use holdover_core::message::{ClientAnswer, ResultStatus};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{Deletion, EventCursor};
use holdover_runtime_local::{
    Agent, AgentError, Approval, Deliver, Denial, EDIT_BYTES_MAX, Follow, Fork, RuntimeError,
};

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_pending, only_result, runtime, say, store, tenant,
};
use crate::script::{Say, Script};
use crate::tools::Fake;

/// Asserts that the result is an error of one line that contains all these names.
#[track_caller]
fn names<T: std::fmt::Debug, E: std::fmt::Display>(result: Result<T, E>, path: &[&str]) {
    let said = match result {
        Ok(done) => panic!("it was done: {done:?}"),
        Err(error) => error.to_string(),
    };
    assert!(!said.contains(['\n', '\r']), "one line: {said:?}");
    assert!(said.len() < 1_000, "a line that can be read: {said}");
    for name in path {
        assert!(said.contains(name), "{said:?} names {name:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn u11_what_is_asked_of_a_session_that_is_not_there_names_it() {
    let model = Script::new(|_| Say::Text("ok"));
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = SessionKey::new(tenant(), SessionId::new("nowhere").unwrap());
    let path = ["session acme/nowhere"];
    let pending = PendingId::new("p").unwrap();
    names(runtime.standing(&key).await, &path);
    names(runtime.snapshot(&key, 9).await, &path);
    names(runtime.messages(&key).await, &path);
    names(runtime.last_text(&key).await, &path);
    names(runtime.replay(&key).await, &path);
    names(runtime.runs(&key, Default::default()).await, &path);
    names(runtime.wait(&key).await, &path);
    names(runtime.resume(&key).await, &path);
    names(runtime.retry(&key).await, &path);
    names(runtime.compact(&key).await, &path);
    names(runtime.interrupt(&key, "enough").await, &path);
    names(runtime.abort(&key, "enough").await, &path);
    names(runtime.requeue(&key).await, &path);
    names(runtime.delete(&key, Deletion::FORCE).await, &path);
    names(runtime.fork(&key, Fork::newest()).await, &path);
    names(runtime.deliver(&key, Deliver::message("hello")).await, &path);
    names(runtime.approve(&key, &pending, Approval::default()).await, &path);
    names(runtime.would_approve(&key, &pending, &Approval::default()).await, &path);
    names(runtime.deny(&key, &pending, Denial::default()).await, &path);
    let mut events = runtime.events(&key, EventCursor::START, Follow::Available);
    names(events.next().await.unwrap(), &path);
}

#[tokio::test(start_paused = true)]
async fn u11_what_does_not_fit_a_session_names_it_and_the_call_the_key_or_the_field() {
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = agent(&model).version("1").tool(Fake::echo("pay")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let order = ItemKey::new("order-17").unwrap();
    let id = SessionId::new("mine").unwrap();
    let request = say(&agent, "go").in_session(id.clone()).once(order.clone());
    let (key, _) = finish(runtime.execute(request).await.unwrap()).await;
    let session = "session acme/mine";
    let asked = only_pending(&runtime, &key).await;

    names(runtime.retry(&key).await, &[session, "waiting"]);
    let other = Arc::new(Agent::builder("other").model(model.clone()).build().unwrap());
    names(runtime.execute(say(&other, "go").in_session(id.clone())).await, &[session, "tester@1", "other"]);
    let twice = say(&agent, "else").in_session(id.clone()).once(order);
    names(runtime.start(twice).await, &[session, "order-17"]);
    names(agentless(&store).resume(&key).await, &[session, "tester@1"]);

    // A decision: the error names the call and the field.
    let unknown = PendingId::new("nothing").unwrap();
    names(runtime.approve(&key, &unknown, Approval::default()).await, &[session, "pending call nothing"]);
    let long = Approval::default().editing("x".repeat(EDIT_BYTES_MAX + 1));
    names(runtime.approve(&key, &asked, long).await, &[session, asked.as_str(), "arguments", "bytes"]);
    let pending = runtime.pending(&key).await.unwrap();
    let call = format!("call {}", pending[0].call.call);
    let unfit = Approval::default().editing(r#"{"n":"seven"}"#);
    names(runtime.approve(&key, &asked, unfit).await, &[session, &call, "/n", "integer"]);
    let only = [("m", "*")].into_iter().collect();
    let unfit = Approval::default().always_where(only);
    names(runtime.approve(&key, &asked, unfit).await, &[session, &call, "only", "\"m\""]);
    let told = runtime.answer(&key, &asked, ClientAnswer::done("42")).await;
    names(told, &[session, &call, "approval"]);
    runtime.approve(&key, &asked, Approval::default()).await.unwrap();
    names(runtime.deny(&key, &asked, Denial::default()).await, &[session, asked.as_str(), "answered"]);
    completes(runtime.resume(&key).await.unwrap()).await;
    names(runtime.deny(&key, &asked, Denial::default()).await, &[session, asked.as_str()]);

    names(runtime.retry(&key).await, &[session, "at rest"]);
    let fork = Fork::at(CheckpointId(9_999));
    names(runtime.fork(&key, fork).await, &[session, "checkpoint 9999"]);
    let taken = Fork::newest().to(id.clone());
    names(runtime.fork(&key, taken).await, &[session, "exists"]);
    let strange =
        completes(runtime.execute(say(&agent, "more")).await.unwrap_or_else(|error| panic!("{error}")));
    drop(strange);
    let cursor =
        EventCursor::after(holdover_core::ids::Incarnation(uuid::Uuid::from_u128(1)), Default::default());
    let mut events = runtime.events(&key, cursor, Follow::Available);
    names(events.next().await.unwrap(), &[session, "events", "cursor"]);
    runtime.abort(&key, "no more").await.unwrap();
    names(runtime.execute(say(&agent, "more").in_session(id)).await, &[session, "aborted"]);
}

#[tokio::test(start_paused = true)]
async fn u11_a_turn_that_does_not_answer_and_arguments_that_do_not_fit_say_where() {
    let failing = Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Auth, "the key is wrong")));
    let failing = Arc::new(agent(&failing).build().unwrap());
    let store = store();
    let runtime_of_failing = runtime(&store, &failing);
    let run = runtime_of_failing.execute(say(&failing, "go")).await.unwrap();
    let session = format!("session {}", run.key());
    names(run.text().await, &[&session, "failed", "step 1", "model.auth", "the key is wrong"]);

    // The model learns which field of which arguments does not fit.
    let model = Script::calling(vec![("count", r#"{"n":"many"}"#)]);
    let counting = Arc::new(agent(&model).tool(Fake::echo("count")).build().unwrap());
    let runtime = runtime(&store, &counting);
    let key = completes(runtime.execute(say(&counting, "go")).await.unwrap()).await;
    let (status, told) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Error);
    names(Err::<(), _>(told), &["/n", "integer"]);
}

#[test]
fn u11_an_agent_and_an_id_that_cannot_be_name_the_field() {
    let model = Script::new(|_| Say::Text("ok"));
    names(Agent::builder("tester").build(), &["tester", "model"]);
    names(agent(&model).version("\n").build(), &["tester", "version"]);
    names(agent(&model).tool(Fake::echo("a")).tool(Fake::echo("a")).build(), &["tester", "tool a"]);
    let unknown = agent(&model).human_only(ToolName::new("b").unwrap()).build();
    names(unknown, &["tester", "human_only", "b"]);
    let zero = Limits::default().max_steps(0);
    let zero: Result<_, AgentError> = agent(&model).limits(zero).build();
    names(zero, &["tester", "max_steps"]);
    let loops = |stop_at, warn_at| {
        agent(&model).loops(LoopDetection::default().stop_at(stop_at).warn_at(warn_at)).build()
    };
    assert!(loops(100, 99).is_ok());
    names(loops(101, 0), &["tester", "loops.stop_at", "101", "at most 100"]);
    names(loops(5, 5), &["tester", "loops.warn_at", "is 5", "ends at 5"]);
    let typing_error = StopCondition::ToolDone(ToolName::new("b").unwrap());
    names(agent(&model).stop_when(typing_error).build(), &["tester", "stop_when", "no tool b"]);
    let anything = StopCondition::TextContains(String::new());
    names(agent(&model).stop_when(anything).build(), &["tester", "stop_when", "text_contains is empty"]);
    let ids: [Result<SessionId, InvalidId>; 3] =
        [SessionId::new(""), SessionId::new("two\nlines"), SessionId::new("x".repeat(10_000))];
    for id in ids {
        names(id.map_err(RuntimeError::from), &["session id"]);
    }
}
