//! Retries of failed model and tool calls: later, by the next model, or at once on request.
//!
//! Requirements: A22, B40, C49, C52, C53.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::agent::{Limits, Prices, Retries};
use holdover_core::message::{ResultStatus, SignalBody};
use holdover_core::model::{ModelError, ModelErrorKind};
use holdover_core::store::{OutcomeKind, SessionStatus};
use holdover_core::tool::{EffectClass, ToolError, ToolOutput};
use holdover_runtime_local::{AgentError, Deliver, RuntimeError, WorkerOptions, machine_of};
use tokio::time::Instant;

use crate::bench::{agent, completes, finish, only_result, runtime, say, store, worker};
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
