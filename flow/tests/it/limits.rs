//! The times that calls, and whole flows, may take.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::gate::{GateError, GateQuestion, PolicyGate, Verdict};
use holdover_core::ids::SessionKey;
use holdover_core::message::ResultStatus;
use holdover_core::store::{SessionQuery, SessionStatus, StateStore};
use holdover_core::tool::ToolError;
use holdover_flow::{Child, Cx, Flow, FlowBuilder, Step, StepCx, StepError, Stop};
use holdover_runtime_local::Runtime;
use tokio::time::{Instant, sleep, timeout};

use crate::bench::{
    self, Process, error_of, mortal, runtime, start, store, tenant, until, work, work_and_inherit,
};

/// Works for some seconds.
const WORK: Step<u64, u64> = Step::at_most_once("work").timeout(Duration::from_secs(10_000));
const UNDO: Step<u64, u64> = Step::idempotent("undo");
const SLOW: Child<u64, u64> = Child::new("slow");
const TOO_SLOW: Child<u64, u64> = Child::new("too-slow").timeout(Duration::from_secs(600));

async fn works(cx: StepCx, seconds: u64) -> Result<u64, ToolError> {
    cx.get::<AtomicU32>()?.fetch_add(1, Ordering::SeqCst);
    sleep(Duration::from_secs(seconds)).await;
    Ok(seconds)
}

async fn undo(seconds: u64) -> Result<u64, ToolError> {
    Ok(seconds)
}

fn slow() -> FlowBuilder<u64, u64> {
    Flow::builder("slow", |cx: Cx, seconds: u64| async move {
        cx.sleep(Duration::from_secs(seconds)).await?;
        Ok::<_, Stop>(seconds)
    })
}

fn builder<F, Fut>(function: F) -> FlowBuilder<u64, String>
where
    F: Fn(Cx, u64) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<String, Stop>> + Send + 'static,
{
    let flow = Flow::builder("limited", function).on(&WORK, works).on(&UNDO, undo).child(&SLOW, slow());
    flow.child(&TOO_SLOW, slow()).with(AtomicU32::new(0))
}

const TEN: Duration = Duration::from_secs(10);

/// Runs a flow to its end. Returns its value, the runtime, the session, and the time that it took.
async fn run(flow: FlowBuilder<u64, String>, input: u64) -> (String, Runtime, SessionKey, u64) {
    let flow = flow.build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let began = Instant::now();
    let run = runtime.execute(flow.execute(tenant(), &input).unwrap()).await.unwrap();
    let key = run.key().clone();
    let value = run.output::<String>().await.unwrap();
    (value, runtime, key, began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn a_call_that_ends_in_time_has_its_value_and_nobody_waits_for_the_timer() {
    async fn in_time(cx: Cx, seconds: u64) -> Result<String, Stop> {
        Ok(cx.step(&WORK, &seconds).within(1_000 * TEN).await?.to_string())
    }
    let (value, runtime, key, took) = run(builder(in_time), 7).await;
    assert_eq!((value.as_str(), took), ("7", 7));
    assert_eq!(bench::ended(&runtime, &key, "flow_sleep").await, [ResultStatus::Cancelled]);
    assert_eq!(bench::ended(&runtime, &key, "work").await, [ResultStatus::Done]);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cut_off_and_the_flow_goes_on() {
    async fn late(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let step = cx.step(&WORK, &seconds).within(TEN).await;
        let child = cx.flow(&SLOW, &seconds).within(TEN).await;
        let children = cx.map(&SLOW, &[seconds, 1]).within(TEN).all_or_error().await;
        let each = cx.map(&SLOW, &[seconds, 1]).within(TEN).await.map(|_| 0);
        let mut told = Vec::new();
        for end in [step, child, children.map(|_| 0), each] {
            let Err(error @ StepError::TimedOut { .. }) = end else { panic!("{end:?}") };
            told.push(error.to_string());
        }
        let in_time = cx.map(&SLOW, &[1, 2]).within(TEN).all_or_error().await?;
        Ok(format!("{}; {in_time:?}", told.join(", ")))
    }
    let (value, runtime, key, took) = run(builder(late), 5_000).await;
    assert_eq!(value, "work timed out, slow timed out, slow timed out, slow timed out; [1, 2]");
    assert!((40..60).contains(&took), "{took} s");
    assert_eq!(bench::ended(&runtime, &key, "work").await, [ResultStatus::InDoubt], "it may have acted");
    let query = SessionQuery { status: vec![SessionStatus::Aborted], ..SessionQuery::all(tenant()) };
    let stopped = runtime.store().list_sessions(&query).await.unwrap().items;
    assert_eq!(stopped.len(), 3, "the slow children were stopped");
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_a_call_with_a_time_limit_at_once() {
    async fn child(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let mut saga = cx.saga();
        saga.keep(&UNDO, &seconds);
        match cx.flow(&SLOW, &seconds).within(1_000 * TEN).await {
            Ok(_) => Ok("done".to_owned()),
            Err(error) => saga.undo(error).await,
        }
    }
    async fn step(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let mut saga = cx.saga();
        saga.keep(&UNDO, &seconds);
        match cx.step(&WORK, &seconds).within(1_000 * TEN).await {
            Ok(_) => Ok("done".to_owned()),
            Err(error) => saga.undo(error).await,
        }
    }
    for flow in [builder(child), builder(step)] {
        let flow = flow.build().unwrap();
        let runtime = runtime(store(), &[flow.agent()]);
        let _works = work(&runtime);
        let key = start(&runtime, &flow, &5_000).await;
        sleep(2 * TEN).await;
        let began = Instant::now();
        runtime.interrupt(&key, "enough").await.unwrap();
        until(&runtime, &key, SessionStatus::Interrupted, "stopped").await;
        assert!(began.elapsed() < 5 * TEN, "{:?}", began.elapsed());
        assert_eq!(bench::ended(&runtime, &key, "undo").await, [ResultStatus::Done]);
    }
}

/// Plays a flow with limits that are kept and limits that are not. Returns true if the process died.
async fn mixed_limits(process: Arc<Process>) -> bool {
    async fn mixed(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let late = cx.flow(&SLOW, &seconds).within(TEN).await;
        let kept = cx.flow(&SLOW, &3).within(200 * TEN).await?;
        let each = cx.map(&TOO_SLOW, &[2, seconds]).await?;
        let each: Vec<String> = each
            .into_iter()
            .map(|end| end.map_or_else(|error| error.to_string(), |ms| ms.to_string()))
            .collect();
        let undone = cx.step(&UNDO, &seconds).within(1_000 * TEN).await?;
        Ok(format!("{}, {kept}, {}, {undone}", late.unwrap_err(), each.join(" and ")))
    }
    let told = format!("{process:?}");
    let (flow, store) = (builder(mixed).build().unwrap(), store());
    let first = runtime(mortal(&store, &process), &[flow.agent()]);
    let heir = runtime(store.clone(), &[flow.agent()]);
    let key = start(&heir, &flow, &5_000).await;
    let works = work_and_inherit(&first, &process, &heir);
    until(&heir, &key, SessionStatus::Idle, &told).await;
    drop(works);
    assert_eq!(
        bench::text(&heir, &key).await,
        "\"slow timed out, 3, 2 and too-slow[2] timed out, 5000\"",
        "{told}"
    );
    assert_eq!(bench::ended(&heir, &key, "undo").await, [ResultStatus::Done], "{told}");
    process.died.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn limits_hold_whatever_dies() {
    for after in [false, true] {
        let mut at = 1;
        while mixed_limits(Process::dying(at, after)).await {
            at += 1;
        }
        assert!(at > 10, "{at} writes: the story has become shorter");
    }
}

/// The process dies once it has stopped its children: those of a call that the code has dropped, and those of a call whose
/// deadline has passed. They have ended when somebody takes over.
#[tokio::test(start_paused = true)]
async fn children_that_were_cut_off_have_timed_out_also_if_the_run_that_stopped_them_died() {
    for tool in ["slow", "too-slow"] {
        assert!(mixed_limits(Process::dying_instead_of(tool)).await, "the process dies");
    }
}

/// A flow that begins again whatever happens. A time limit and a stop end it all the same.
#[tokio::test(start_paused = true)]
async fn a_flow_that_carries_on_after_its_end_was_asked_for_ends() {
    async fn again(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let _ = cx.sleep(Duration::from_secs(seconds)).await;
        cx.carry_on(&seconds)
    }
    let flow = builder(again).within(TEN).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &100).unwrap()).await.unwrap();
    let outcome = timeout(100 * TEN, run.outcome()).await.expect("the flow ends").unwrap();
    let (code, why) = error_of(&outcome);
    assert_eq!(code, "flow.timed_out");
    assert!(why.starts_with("its time of 10 s is over"), "{why}");

    // Each of its lives is shorter than its time.
    let flow = builder(again).within(TEN).build().unwrap();
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &5).await;
    sleep(10 * TEN).await;
    assert!(bench::ended(&runtime, &key, "flow_sleep").await.len() > 15, "it begins again");
    runtime.interrupt(&key, "enough").await.unwrap();
    until(&runtime, &key, SessionStatus::Interrupted, "stopped").await;
}

#[tokio::test(start_paused = true)]
async fn a_value_that_comes_after_the_time_still_counts() {
    async fn stubborn(cx: Cx, seconds: u64) -> Result<String, Stop> {
        let slept = cx.sleep(Duration::from_secs(seconds)).await;
        Ok(slept.unwrap_err().to_string())
    }
    let (value, ..) = run(builder(stubborn).within(TEN), 100).await;
    assert!(value.contains("flow_sleep"), "{value}");
}

struct DenyAll;

#[async_trait]
impl PolicyGate for DenyAll {
    async fn consult(&self, question: &GateQuestion) -> Result<Verdict, GateError> {
        Ok(Verdict::Deny { reason: format!("no {}", question.tool), rule: None })
    }
}

/// The gate of the program decides on steps. What the code waits for is no step.
#[tokio::test(start_paused = true)]
async fn a_gate_that_denies_everything_lets_the_code_wait() {
    async fn waits(cx: Cx, seconds: u64) -> Result<String, Stop> {
        cx.sleep(Duration::from_secs(seconds)).await?;
        let heard = cx.signal::<u64>("never").within(TEN).await.unwrap_err();
        let asked = cx.ask("who?").within(TEN).await.unwrap_err();
        let denied = cx.step(&UNDO, &seconds).await.unwrap_err();
        Ok([heard, asked, denied].map(|error| error.to_string()).join(", "))
    }
    let flow = builder(waits).gate(DenyAll).within(100 * TEN).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &30).await;
    until(&runtime, &key, SessionStatus::Idle, "waits").await;
    let value = bench::text(&runtime, &key).await;
    assert_eq!(value, "\"flow_signal timed out, flow_ask timed out, step undo was denied: no undo\"");
}
