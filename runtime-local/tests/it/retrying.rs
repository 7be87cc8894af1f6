//! Retries of failed model and tool calls: later, by the next model, or at once on request.
//!
//! Requirements: A22, B40, C49, C52, C53.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use holdover_core::agent::{Limits, Prices, Retries};
use holdover_core::delta::Delta;
use holdover_core::event::Event;
use holdover_core::gate::{ApprovalRule, RuleAction, RuleGate};
use holdover_core::message::{Message, ResultStatus, SignalBody};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{EventCursor, OutcomeKind, SessionStatus};
use holdover_core::tool::{EffectClass, ToolError, ToolOutput};
use holdover_runtime_local::{
    AgentError, Deliver, Follow, RuntimeError, Shown, SubAgent, WorkerOptions, machine_of,
};
use tokio::time::Instant;

use crate::bench::{agent, completes, finish, only_result, runtime, say, store, transcript, worker};
use crate::script::{Say, Script};
use crate::tools::Fake;

const HOUR: Duration = Duration::from_secs(3600);

/// Returns a model that first fails and asks for a wait of an hour.
fn patient() -> Script {
    Script::new(|request| match request.attempt {
        0 => Say::Fail(ModelError::transient("it is being loaded", Some(HOUR))),
        _ => Say::Text("at last"),
    })
}

#[tokio::test(start_paused = true)]
async fn b40_a_back_off_is_cut_short_by_retry_resume_requeue_and_a_signal() {
    for how in ["retry", "resume", "requeue", "signal"] {
        let agent = Arc::new(agent(&patient()).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let began = Instant::now();
        let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
        let first = run.first_outcome().await.unwrap().unwrap();
        assert_eq!(first.kind(), OutcomeKind::SuspendedUntil);
        let key = run.key().clone();
        drop(run);
        match how {
            "retry" => drop(completes(runtime.retry(&key).await.unwrap()).await),
            "resume" => drop(completes(runtime.resume(&key).await.unwrap()).await),
            other => {
                let _worker = worker(&runtime, WorkerOptions::default());
                if other == "requeue" {
                    assert!(runtime.requeue(&key).await.unwrap());
                } else {
                    runtime.deliver(&key, Deliver::signal(SignalBody::Retry)).await.unwrap();
                }
                assert_eq!(runtime.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
            }
        }
        assert!(began.elapsed() < Duration::from_secs(10), "{how}: {:?}", began.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn b40_a_back_off_is_called_off_by_an_interrupt() {
    let agent = Arc::new(agent(&patient()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let mut run = runtime.execute(say(&agent, "go")).await.unwrap();
    run.first_outcome().await.unwrap();
    runtime.interrupt(run.key(), "never mind").await.unwrap();
    let session = runtime.session(run.key()).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Interrupted);
}

/// A watcher that keeps a screen sees the text of the failed attempt, the back-off, and then the answer once.
#[tokio::test(start_paused = true)]
async fn b40_the_text_of_an_attempt_that_failed_is_taken_back_and_a_back_off_is_shown() {
    let model = Script::new(|request| {
        let failed = request.attempt == 0;
        // After the last word some time passes, so that it is seen.
        let pieces = ["Half an ", if failed { "ans" } else { "answer." }, ""].map(str::to_owned).to_vec();
        Say::Slowly { pieces, apart: Duration::from_secs(1), whole: !failed }
    });
    let agent = Arc::new(agent(&model).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let key = runtime.start(say(&agent, "go")).await.unwrap().key;
    let _worker = worker(&runtime, WorkerOptions::default());
    let (mut screen, mut dropped, mut waits, mut over) = (String::new(), Vec::new(), Vec::new(), false);
    let mut shown = runtime.follow(&key, EventCursor::START, Follow::Forever);
    while !over {
        match shown.next().await.unwrap().unwrap() {
            Shown::Delta(entry) => {
                let Delta::Text { text } = entry.delta else { panic!("{entry:?}") };
                // An attempt does not begin to speak before the one that failed is taken back.
                assert!(waits.is_empty() || dropped.len() == 1, "{waits:?} {dropped:?}");
                screen.push_str(&text);
            }
            Shown::Dropped { .. } => dropped.push(std::mem::take(&mut screen)),
            Shown::Event(entry) => {
                over = matches!(entry.event, Event::Done { .. });
                if let Event::BackingOff { attempt, error, .. } = entry.event {
                    waits.push((attempt, error.code));
                }
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((dropped, waits), (vec!["Half an ans".to_owned()], vec![(1, "model.incomplete".to_owned())]));
    assert_eq!(screen, "Half an answer.");
    let asked = model.asked();
    assert_eq!(asked[1].messages, asked[0].messages, "the model is not shown what it had begun to say");
    let [_, Message::Assistant(said)] = &transcript(&runtime, &key).await[..] else { panic!("one answer") };
    assert_eq!((said.text().as_str(), said.aborted), ("Half an answer.", false));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_for_something_else_is_not_retried() {
    let model = Script::calling(vec![("work", "{}")]);
    let agent = agent(&model).tool(Fake::echo("work")).gate(crate::bench::asking_for("work"));
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let (key, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::SuspendedClientTool);
    let refused = runtime.retry(&key).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::NotResumable { .. }), "{refused:?}");
}

#[tokio::test(start_paused = true)]
async fn c49_a_call_that_takes_too_long_is_sent_again_with_the_same_key() {
    let tool = {
        let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        Fake::new("work", move |_| {
            let first = tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            async move {
                if first {
                    std::future::pending::<()>().await;
                }
                Ok(ToolOutput::text("worked").into())
            }
        })
    };
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    let waited = Duration::from_secs(30 + 2);
    assert!(began.elapsed() >= waited && began.elapsed() < waited + Duration::from_secs(3));
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "worked".to_owned()));
    let [first, second] = &tool.calls()[..] else { panic!("twice: {:?}", tool.calls()) };
    assert_eq!(first.idempotency_key, second.idempotency_key);
}

#[tokio::test(start_paused = true)]
async fn c52_a_tool_that_says_that_its_error_will_pass_is_called_again_when_it_says() {
    let tool = {
        let tries = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        Fake::new("work", move |_| {
            let first = tries.fetch_add(1, std::sync::atomic::Ordering::SeqCst) == 0;
            async move {
                if first {
                    return Err(ToolError::Transient { detail: "busy".into(), wait: Some(HOUR) });
                }
                Ok(ToolOutput::text("worked").into())
            }
        })
        .effect(EffectClass::AtMostOnce)
    };
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert!(began.elapsed() >= HOUR && began.elapsed() < HOUR + Duration::from_secs(3));
    assert_eq!(only_result(&runtime, &key).await, (ResultStatus::Done, "worked".to_owned()));
}

#[tokio::test(start_paused = true)]
async fn c53_the_next_model_of_the_agent_answers_when_its_own_does_not() {
    let own = Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Quota, "pay first")));
    let spare = Script::new(|_| Say::Text("the spare one"));
    let prices = Prices::default().input_microusd(3_000_000).output_microusd(4_000_000);
    let agent = agent(&own).shared_fallback(Arc::new(spare.clone()), Some(prices)).build().unwrap();
    let agent = Arc::new(agent);
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let key = run.key().clone();
    assert_eq!(run.text().await.unwrap(), "the spare one");
    assert_eq!((own.asked().len(), spare.asked().len()), (1, 1));
    let session = runtime.session(&key).await.unwrap().unwrap();
    let machine = machine_of(&session).unwrap().unwrap();
    assert_eq!(machine.usage.cost_microusd, 7, "a token read, a token written");
}

#[tokio::test(start_paused = true)]
async fn a22_a_turn_whose_model_says_nothing_ends_when_its_time_is_up() {
    let model = Script::new(|_| Say::Nothing);
    let limits = Limits::default().max_run_ms(Some(7_000));
    let agent = Arc::new(agent(&model).limits(limits).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(began.elapsed().as_secs(), 7);
}

#[tokio::test(start_paused = true)]
async fn a22_a_turn_whose_tool_does_not_come_back_ends_when_its_time_is_up() {
    let tool = Fake::stuck("work").effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("work", "{}")]);
    let limits = Limits::default().max_run_ms(Some(7_000));
    let agent = Arc::new(agent(&model).tool(tool).limits(limits).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let began = Instant::now();
    let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert!((7..10).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(only_result(&runtime, &key).await.0, ResultStatus::InDoubt);
}

#[test]
fn an_agent_that_would_try_too_often_is_refused() {
    let model = Script::new(|_| Say::Text("ok"));
    let retries = Retries::default().tool_waits_ms(vec![1; 101]);
    let refused = agent(&model).retries(retries).build().unwrap_err();
    assert!(matches!(refused, AgentError::Retries { .. }), "{refused}");
}

/// Returns a tool whose calls never act: each attempt reports that it was not run.
fn unreachable_tool(name: &str) -> Fake {
    Fake::new(name, |_| async { Err(ToolError::NotRun("no route".into())) }).effect(EffectClass::AtMostOnce)
}

fn tool_name(name: &str) -> holdover_core::ids::ToolName {
    holdover_core::ids::ToolName::new(name).unwrap()
}

#[tokio::test(start_paused = true)]
async fn c53_a_fallback_gets_the_arguments_of_the_call_if_they_fit_its_schema_and_the_gate_allows_it() {
    let schema = serde_json::json!({ "type": "object", "required": ["place"] });
    for (arguments, denied, status, said) in [
        (r#"{"place":"x"}"#, false, ResultStatus::Done, r#"{"place":"x"}"#),
        (
            "{}",
            false,
            ResultStatus::Error,
            "the arguments do not fit: arguments: \"place\" is a required property",
        ),
        (r#"{"place":"x"}"#, true, ResultStatus::Denied, "denied: not here"),
    ] {
        let spare = Fake::echo("spare").effect(EffectClass::AtMostOnce).parameters(schema.clone());
        let model = Script::calling(vec![("work", arguments)]);
        let gate = if denied {
            RuleGate::new(vec![ApprovalRule::new("spare", RuleAction::Deny).because("not here")])
        } else {
            RuleGate::default()
        };
        let agent = agent(&model).tool(unreachable_tool("work")).tool(spare.clone()).gate(gate);
        let agent = Arc::new(agent.tool_fallback(tool_name("work"), tool_name("spare")).build().unwrap());
        let store = store();
        let runtime = runtime(&store, &agent);
        let key = completes(runtime.execute(say(&agent, "go")).await.unwrap()).await;
        let (found, content) = only_result(&runtime, &key).await;
        assert_eq!((found, spare.calls().len()), (status, usize::from(status == ResultStatus::Done)));
        let (line, rest) = content.split_once('\n').unwrap();
        let told =
            "[work could not be run: no route. spare stands in for it, and this is what became of that.]";
        assert_eq!((line, rest), (told, said));
    }
}

#[test]
fn c53_a_fallback_that_cannot_work_is_refused_and_a_sub_agent_has_those_of_its_tools() {
    let builder =
        || agent(&Script::new(|_| Say::Text("ok"))).tool(Fake::echo("work")).tool(Fake::echo("spare"));
    let with = |from: &str, to: &str| builder().tool_fallback(tool_name(from), tool_name(to));
    let refused = with("work", "spade").build().unwrap_err();
    assert!(matches!(refused, AgentError::ToolFallback { .. }), "{refused}");
    assert!(refused.to_string().ends_with(": tool_fallbacks.work: the agent has no tool spade"), "{refused}");
    let circle =
        with("work", "spare").tool_fallback(tool_name("spare"), tool_name("work")).build().unwrap_err();
    assert!(circle.to_string().ends_with("the fallbacks lead back to spare"), "{circle}");
    for (tools, many) in [(&["work", "spare"][..], 1), (&["work"], 0)] {
        let tools = tools.iter().copied().map(tool_name);
        let child = SubAgent::new("clerk", "Helps.").tools(tools);
        let parent = with("work", "spare").sub_agent(child).build().unwrap();
        let clerk = parent.sub_agent(&tool_name("clerk")).unwrap();
        assert_eq!(clerk.spec().tool_fallbacks.len(), many);
    }
}
