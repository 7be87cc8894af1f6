//! Calls that wait for a person or a client.
//!
//! Requirements: A44, A45, A59, B45, C21, C22, C24, C25, C27, C28, C29, H03, H09, H17.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use holdover_core::agent::Limits;
use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover_core::ids::{PendingId, SessionId, SessionKey, TenantId};
use holdover_core::message::{ClientAnswer, ResultStatus};
use holdover_core::payload::Digest;
use holdover_core::store::{EventCursor, OutcomeKind, PageRequest, PendingKind, PendingQuery, SessionStatus};
use holdover_runtime_local::{
    Approval, Delivered, Denial, EDIT_BYTES_MAX, Follow, PendingEntry, RuntimeError, RuntimeErrorKind,
    WorkerOptions,
};
use serde_json::json;
use tokio::time::Instant;

use crate::bench::{
    agent, agentless, asking_for, completes, finish, only_pending, only_result, runtime, say, store, tenant,
    worker,
};
use crate::script::Script;
use crate::tools::{Fake, spec};

/// Requirements: A45, C25, C28, H03.
#[tokio::test(start_paused = true)]
async fn an_approval_from_another_process_lets_the_call_run_once() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), runtime(&store, &agent));

    let (key, outcome) = finish(first.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    assert_eq!(tool.calls(), []);
    let session = first.session(&key).await.unwrap().unwrap();
    assert_eq!((session.status, session.lease), (SessionStatus::Suspended, None));

    let call = only_pending(&second, &key).await;
    let approval = Approval::by("ada");
    let delivered = second.approve(&key, &call, approval.clone()).await.unwrap();
    assert_eq!(delivered, Delivered::Accepted);
    assert_eq!(second.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
    assert_eq!(only_result(&second, &key).await, (ResultStatus::Done, r#"{"n":7}"#.into()));
    // A person who missed the reply may repeat the answer; a different answer is too late.
    assert_eq!(second.approve(&key, &call, approval).await.unwrap(), Delivered::Duplicate);
    let late = second.deny(&key, &call, Denial::default()).await.unwrap_err();
    assert!(matches!(late, RuntimeError::NotPending { .. }), "{late}");
}

#[tokio::test(start_paused = true)]
async fn an_edit_runs_with_the_edited_arguments() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    let edit = Approval::default().editing(r#"{"n":5}"#);
    runtime.approve(&key, &call, edit).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    let sent: Vec<_> = tool.calls().into_iter().map(|call| call.arguments).collect();
    assert_eq!(sent, [json!({ "n": 5 })]);
}

#[tokio::test(start_paused = true)]
async fn c25_what_would_come_to_nothing_is_refused_also_where_nobody_knows_the_agent() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (before, call) = (runtime.session(&key).await.unwrap(), only_pending(&runtime, &key).await);
    let edit = |arguments: &str| Approval::default().editing(arguments);
    let only = |name: &str| Approval::default().always_where([(name, "*")].into_iter().collect());
    for (approval, why) in [
        (edit(r#"{"n":"seven"}"#), "/n: "),
        (edit("{"), "arguments: not JSON"),
        (only("m"), "this call has no argument \"m\""),
    ] {
        let refused = agentless(&store).approve(&key, &call, approval).await.expect_err(why);
        assert!(matches!(&refused, RuntimeError::Unfit { why: said, .. } if said.contains(why)), "{refused}");
        assert_eq!(refused.kind(), RuntimeErrorKind::Invalid);
    }
    assert_eq!(runtime.session(&key).await.unwrap(), before, "nothing was stored");
    agentless(&store).approve(&key, &call, only("n")).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
}

#[tokio::test(start_paused = true)]
async fn c25_an_edit_is_judged_by_the_agent_as_it_is_now() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let of =
        |tool: Fake| Arc::new(agent(&model).version("1").tool(tool).gate(asking_for("pay")).build().unwrap());
    let before = of(Fake::echo("pay"));
    let store = store();
    let (key, _) = finish(runtime(&store, &before).execute(say(&before, "go")).await.unwrap()).await;
    // Under the same name and version, the tool now also accepts a word as the sum.
    let tool = Fake::echo("pay").parameters(json!({ "type": "object", "properties": { "n": {} } }));
    let now = of(tool.clone());
    let process = runtime(&store, &now);
    let call = only_pending(&process, &key).await;
    let edit = Approval::default().editing(r#"{"n":"seven"}"#);
    let refused = runtime(&store, &before).approve(&key, &call, edit.clone()).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::Unfit { .. }), "{refused}");
    process.approve(&key, &call, edit).await.unwrap();
    assert_eq!(process.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls()[0].arguments, json!({ "n": "seven" }));
}

#[tokio::test(start_paused = true)]
async fn a_tool_that_is_called_as_the_asking_for_more_steps_is_approved_as_any() {
    let model = Script::calling(vec![("more_steps", r#"{"n":7}"#)]);
    let tool = Fake::echo("more_steps");
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("more_steps")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    let always = Approval::default().always();
    runtime.would_approve(&key, &call, &always).await.unwrap();
    assert_eq!(runtime.pending(&key).await.unwrap().len(), 1, "nothing was said yet");
    runtime.approve(&key, &call, always).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(tool.calls().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_denied_call_never_runs_and_the_model_is_told() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    // No agent is needed to deny.
    let denial = Denial::default().because("too much");
    let delivered = agentless(&store).deny(&key, &call, denial).await.unwrap();
    assert_eq!(delivered, Delivered::Accepted);
    runtime.wait(&key).await.unwrap();
    let (status, told) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(told.contains("too much"), "{told}");
    assert_eq!(tool.calls(), []);
}

/// Requirements: H09.
#[tokio::test(start_paused = true)]
async fn a_client_tool_is_answered_from_outside() {
    let model = Script::calling(vec![("ask_user", r#"{"n":1}"#)]);
    let agent = Arc::new(agent(&model).client_tool(spec("ask_user")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let call = only_pending(&runtime, &key).await;
    let wrong = runtime.approve(&key, &call, Approval::default()).await;
    assert!(matches!(wrong, Err(RuntimeError::OtherAnswer { .. })), "{wrong:?}");
    let answer = ClientAnswer::done("blue");
    runtime.answer(&key, &call, answer).await.unwrap();
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "blue".into()));
}

/// Requirements: H09.
#[tokio::test(start_paused = true)]
async fn an_answer_that_is_too_long_is_not_delivered_and_the_call_waits_as_before() {
    let tool = Fake::echo("pay");
    let limits = Limits::default().result_bytes_max(4);
    for (call, text) in [("ask_user", "12345"), ("pay", "")] {
        let model = Script::calling(vec![(call, r#"{"n":1}"#)]);
        let built = agent(&model).client_tool(spec("ask_user")).tool(tool.clone()).limits(limits.clone());
        let agent = Arc::new(built.gate(asking_for("pay")).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let before = runtime.session(&key).await.unwrap();
        let pending = only_pending(&runtime, &key).await;
        // A process that knows no agent reads the limit from what is stored with the session.
        let refused = if call == "pay" {
            let arguments = format!(r#"{{"n":"{}"}}"#, "x".repeat(EDIT_BYTES_MAX));
            let edit = Approval::default().editing(arguments);
            agentless(&store).approve(&key, &pending, edit).await
        } else {
            let answer = ClientAnswer::done(text);
            agentless(&store).answer(&key, &pending, answer).await
        };
        let error = refused.expect_err("it is too long");
        assert_eq!(error.kind(), RuntimeErrorKind::TooLarge, "{error}");
        assert!(
            matches!(&error, RuntimeError::TooLong { bytes, bytes_max, .. } if bytes > bytes_max),
            "{error}"
        );
        assert_eq!(runtime.session(&key).await.unwrap(), before, "nothing was delivered");
    }
}

/// Requirements: C27.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_64_deciders_one_decides_and_the_call_runs_once() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let call = only_pending(&runtime, &key).await;
    let deciders = (0..64).map(|at| {
        let (runtime, key, call) = (runtime.clone(), key.clone(), call.clone());
        tokio::spawn(async move {
            let by = Some(format!("decider {at}"));
            let delivered = runtime.approve(&key, &call, Approval::from(by)).await;
            let outcome = runtime.wait(&key).await.unwrap();
            assert_eq!(outcome.kind(), OutcomeKind::Completed);
            delivered
        })
    });
    let delivered: Vec<_> =
        futures::future::join_all(deciders).await.into_iter().map(|answer| answer.unwrap()).collect();
    let accepted = delivered.iter().filter(|answer| matches!(answer, Ok(Delivered::Accepted))).count();
    assert_eq!(accepted, 1, "{delivered:?}");
    assert_eq!(tool.calls().len(), 1);
}

/// A gate that never answers, fails, or panics.
#[derive(Clone, Copy, Debug)]
enum Broken {
    Silent,
    Failing,
    Panicking,
}

#[async_trait]
impl PolicyGate for Broken {
    async fn consult(&self, _question: &GateQuestion) -> Result<Verdict, GateError> {
        match self {
            Self::Silent => futures::future::pending().await,
            Self::Failing => Err(GateError("no connection".into())),
            Self::Panicking => panic!("gate"),
        }
    }
}

/// Requirements: C21, C22.
#[tokio::test(start_paused = true)]
async fn a_gate_that_cannot_say_yes_says_no() {
    for broken in [Broken::Silent, Broken::Failing, Broken::Panicking] {
        let tool = Fake::echo("pay");
        let model = Script::calling(vec![("pay", "{}")]);
        let agent = Arc::new(agent(&model).tool(tool.clone()).gate(broken).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let began = Instant::now();
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let took = began.elapsed();
        assert!(took < Duration::from_secs(6), "{broken:?}: {took:?}");
        // A gate has five seconds to answer.
        assert!(!matches!(broken, Broken::Silent) || took >= Duration::from_secs(5), "{took:?}");
        assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Denied, "{broken:?}");
        assert_eq!(tool.calls(), [], "{broken:?}");
    }
}

/// Requirements: C24.
#[tokio::test(start_paused = true)]
async fn an_approval_is_seen_at_once_while_a_sibling_runs() {
    // The sibling ends only when the approved call runs: the run must see the approval while it waits.
    let met = Arc::new(tokio::sync::Barrier::new(2));
    let meeting = |name: &str| {
        let met = Arc::clone(&met);
        Fake::new(name, move |_| {
            let met = Arc::clone(&met);
            async move {
                met.wait().await;
                Ok(holdover_core::tool::ToolOutput::text("met").into())
            }
        })
    };
    let model = Script::calling(vec![("pay", "{}"), ("other", "{}")]);
    let agent = agent(&model).tool(meeting("pay")).tool(meeting("other")).gate(asking_for("pay"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let (first, second) = (runtime(&store, &agent), agentless(&store));
    let run = first.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    let began = Instant::now();
    while second.pending(&key).await.unwrap().is_empty() {
        crate::bench::settle().await;
    }
    let call = only_pending(&second, &key).await;
    second.approve(&key, &call, Approval::default()).await.unwrap();
    completes(run).await;
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

/// Requirements: A59, B45, C29, H17.
#[tokio::test(start_paused = true)]
async fn an_approval_that_nobody_gives_times_out_by_itself() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", "{}")]);
    let limits = Limits::default().answer_timeout_ms(Some(60_000));
    let agent = agent(&model).tool(tool.clone()).gate(asking_for("pay")).limits(limits);
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    // Nothing is due: a resume changes nothing.
    let again = finish(runtime.resume(&key).await.unwrap()).await.1;
    assert_eq!(again.kind(), OutcomeKind::SuspendedClientTool);

    let began = Instant::now();
    let _worker = worker(&runtime, WorkerOptions::default());
    let done = runtime.events(&key, EventCursor::START, Follow::UntilRest);
    done.for_each(|entry| async move { drop(entry.unwrap()) }).await;
    // After one minute on the virtual clock, plus at most the workers' polling interval.
    let took = began.elapsed();
    assert!((59..=62).contains(&took.as_secs()), "{took:?}");
    let session = runtime.session(&key).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Idle);
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::Error);
    assert_eq!(tool.calls(), []);
}

/// Requirements: A44.
#[tokio::test(start_paused = true)]
async fn arguments_that_two_readers_could_take_differently_are_shown_to_nobody_and_never_run() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":1,"n":1000}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let (status, said) = only_result(&runtime, &key).await;
    assert_eq!(status, ResultStatus::Error);
    assert!(said.contains("named twice"), "{said}");
    assert_eq!(tool.calls(), []);
}

#[tokio::test(start_paused = true)]
async fn what_is_owed_is_listed_across_sessions_and_each_says_how_it_stands() {
    let tool = Fake::echo("pay");
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let mut keys = Vec::new();
    for _ in 0..3 {
        keys.push(finish(runtime.execute(say(&agent, "go")).await.unwrap()).await.0);
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let mut listed = Vec::new();
    let mut query = PendingQuery {
        kind: Some(PendingKind::Approval),
        page: PageRequest::first(NonZeroU32::new(2).unwrap()),
        ..PendingQuery::all(tenant())
    };
    loop {
        let page = runtime.list_pending(&query).await.unwrap();
        for PendingEntry { call, body, .. } in page.items {
            assert_eq!((body.tool.as_str(), body.arguments.as_str()), ("pay", r#"{"n":7}"#));
            assert_eq!(body.digest, Digest::of(body.arguments.as_bytes()));
            listed.push(call.key);
        }
        let Some(next) = page.next else { break };
        query.page.after = Some(next);
    }
    assert_eq!(listed, keys, "soonest deadline first");
    let others = PendingQuery::all(TenantId::new("other").unwrap());
    assert_eq!(runtime.list_pending(&others).await.unwrap().items, []);

    let key = &keys[0];
    let stands = async || runtime.outcome(&runtime.session(key).await.unwrap().unwrap()).unwrap();
    assert_eq!(stands().await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    let asked = only_pending(&runtime, key).await;
    let entry = runtime.pending_call(key, &asked).await.unwrap().unwrap();
    assert_eq!(entry.id(), &asked);
    let shown = serde_json::to_value(&entry).unwrap();
    assert_eq!((&shown["tool"], &shown["arguments"]), (&json!("pay"), &json!(r#"{"n":7}"#)), "{shown}");
    assert_eq!((&shown["id"], &shown["session"]), (&json!(asked), &json!(key.id)), "{shown}");
    let nobody = SessionKey::new(tenant(), SessionId::new("nobody").unwrap());
    for (key, asked) in [(&nobody, &asked), (key, &PendingId::new("c1-0").unwrap()), (&keys[1], &asked)] {
        let error = runtime.pending_call(key, asked).await.unwrap_err();
        assert_eq!(error.kind(), RuntimeErrorKind::NotFound, "{error}");
    }

    // A message has arrived that no run has taken up, so the outcome of the last run still stands.
    let started = agentless(&store).start(say(&agent, "hello").served_elsewhere()).await.unwrap();
    let new = runtime.session(&started.key).await.unwrap().unwrap();
    assert_eq!(runtime.outcome(&new).unwrap(), None, "no turn yet");
    runtime.approve(key, &asked, Approval::default()).await.unwrap();
    assert_eq!(stands().await.unwrap().kind(), OutcomeKind::SuspendedClientTool);
    runtime.wait(key).await.unwrap();
    assert_eq!(stands().await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(runtime.pending_call(key, &asked).await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn what_is_answered_and_waits_to_be_taken_up_says_by_whom_and_when() {
    let model = Script::calling(vec![("pay", r#"{"n":7}"#)]);
    let agent = Arc::new(agent(&model).tool(Fake::echo("pay")).gate(asking_for("pay")).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, _) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let inbox = agentless(&store);
    let owed = inbox.pending(&key).await.unwrap().remove(0);
    assert_eq!(owed.answered, None);
    assert!(serde_json::to_value(&owed).unwrap().get("answered").is_none());

    // No worker runs: the answer waits.
    let at = runtime.now();
    let approval = Approval::by("ann");
    inbox.approve(&key, owed.id(), approval).await.unwrap();
    let page = inbox.list_pending(&PendingQuery::all(tenant())).await.unwrap();
    let answered = page.items[0].answered.clone().expect("nobody has to act on it any more");
    assert_eq!((answered.by.as_deref(), answered.at), (Some("ann"), Some(at)));
    let shown = serde_json::to_value(&page.items[0]).unwrap();
    assert_eq!(shown["answered"], json!({ "by": "ann", "at": at }));

    let _worker = worker(&runtime, WorkerOptions::default());
    assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert!(inbox.pending(&key).await.unwrap().is_empty());
}
