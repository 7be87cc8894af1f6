//! The handles of calls: with them tools report progress, and learn that they should stop.
//!
//! Requirements: A50, B33.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use holdover_core::agent::Limits;
use holdover_core::delta::Delta;
use holdover_core::ending::CancelReason;
use holdover_core::event::Event;
use holdover_core::ids::{CallId, SessionKey};
use holdover_core::message::{MessagePolicy, ResultStatus};
use holdover_core::store::{EventCursor, OutcomeKind};
use holdover_core::tool::{EffectClass, Progress, StopRequest, ToolCall, ToolError, ToolOutput, ToolReturn};
use holdover_runtime_local::{Agent, Denial, Follow, RunHandle, RunObserver, Runtime, RuntimeOptions, Shown};
use tokio::time::{Instant, sleep};

use crate::bench::{
    agent, asking_for, completes, finish, only_pending, only_result, runtime, say, settle, store,
    tool_results,
};
use crate::script::Script;
use crate::tools::Fake;

/// The agents' time for a call to return after a request to stop.
const GRACE: Duration = Duration::from_secs(2);

/// An observer that keeps the progress reports of the call `c1-0`.
#[derive(Default)]
struct Watching(Mutex<Vec<Progress>>);

impl RunObserver for Watching {
    fn on_call_progress(&self, _: &SessionKey, call: &CallId, progress: &Progress) {
        assert_eq!(call.as_str(), "c1-0");
        self.0.lock().unwrap().push(progress.clone());
    }
}

/// Returns a tool that reports its progress every 10 ms, this many times.
fn reporting(times: u64, effect: EffectClass) -> Fake {
    let act = move |call: ToolCall| async move {
        for at in 1..=times {
            sleep(Duration::from_millis(10)).await;
            call.handle.report(Progress::text(format!("line {at}")).of(at, Some(times)));
        }
        Ok(ToolReturn::from(ToolOutput::text("done")))
    };
    Fake::new("work", act).effect(effect)
}

#[tokio::test(start_paused = true)]
async fn a50_progress_is_shown_between_the_start_and_the_result_of_a_call_and_is_throttled() {
    shows_progress(vec![("work", "{}")], EffectClass::AtMostOnce).await;
    // A read is sent before the answer that asks for it is in the store, and is still out when it is.
    shows_progress(vec![("work", "{}")], EffectClass::ReadOnly).await;
    shows_progress(vec![("work", "{}"), ("pay", "{}")], EffectClass::ReadOnly).await;
}

async fn shows_progress(calls: Vec<(&'static str, &'static str)>, effect: EffectClass) {
    let model = Script::calling(calls);
    let pay = Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let agent = Arc::new(agent(&model).tool(reporting(200, effect)).tool(pay).build().unwrap());
    let (store, watching) = (store(), Arc::<Watching>::default());
    let options = RuntimeOptions::default().effects_override(Some("memory".into()));
    let agents = holdover_runtime_local::Agents::new().with(Arc::clone(&agent));
    let runner = Runtime::new(Arc::new(store.clone()), agents, options.observer(Some(watching.clone())));
    let reader = runtime(&store, &agent);
    let run = runner.execute(say(&agent, "go")).await.unwrap();
    let mut shown = reader.follow(run.key(), EventCursor::START, Follow::UntilRest);
    let told = tokio::spawn(async move {
        let mut told = Vec::new();
        while let Some(shown) = shown.next().await {
            match shown.unwrap() {
                Shown::Event(entry) => {
                    if let Event::Call { call, is, .. } = entry.event
                        && call.as_str() == "c1-0"
                    {
                        told.push((is.to_string(), None));
                    }
                }
                Shown::Delta(entry) => {
                    if let Delta::CallRunning { call, .. } = &entry.delta
                        && call.as_str() == "c1-0"
                    {
                        told.push(("runs".to_owned(), None));
                    }
                    if let Delta::CallProgress { call, tool, progress } = entry.delta {
                        assert_eq!((call.as_str(), tool.as_str()), ("c1-0", "work"));
                        told.push(("progress".to_owned(), Some(progress)));
                    }
                }
                Shown::Dropped { .. } => {}
                other => panic!("{other:?}"),
            }
        }
        told
    });
    completes(run).await;
    let told = told.await.unwrap();
    let kinds: Vec<&str> = told.iter().map(|(kind, _)| kind.as_str()).collect();
    let at = |kind: &str| kinds.iter().position(|found| *found == kind).unwrap();
    let last = kinds.iter().rposition(|kind| *kind == "progress").unwrap();
    assert!(at("runs") < at("progress") && last < at("done"), "{kinds:?}");
    // The start of a read is in no write of its own.
    assert!(effect == EffectClass::ReadOnly || at("executing") < at("runs"), "{kinds:?}");

    let reports: Vec<Progress> = told.into_iter().filter_map(|(_, progress)| progress).collect();
    // 2 s of work in intervals of 150 ms.
    assert!((8..=14).contains(&reports.len()), "{} reports", reports.len());
    let lines: Vec<&str> = reports.iter().flat_map(|report| report.message.lines()).collect();
    let all: Vec<String> = (1..=200).map(|at| format!("line {at}")).collect();
    assert!(lines.len() > 150 && lines.iter().zip(&all).all(|(line, one)| line == one), "{lines:?}");
    assert!(reports.iter().all(|report| report.total == Some(200)), "{reports:?}");
    let watched = watching.0.lock().unwrap();
    assert!(watched.starts_with(&reports), "the observer of the run is told the same: {watched:?}");
}

#[tokio::test(start_paused = true)]
async fn a50_progress_of_a_short_call_is_not_worth_a_write() {
    let model = Script::calling(vec![("work", "{}")]);
    let agent = Arc::new(agent(&model).tool(reporting(5, EffectClass::AtMostOnce)).build().unwrap());
    let store = store();
    let runtime = runtime(&store, &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    let shown = runtime.follow(run.key(), EventCursor::START, Follow::UntilRest);
    completes(run).await;
    let shown: Vec<_> = shown.collect().await;
    let deltas = shown.iter().filter(|shown| matches!(shown, Ok(Shown::Delta(_)))).count();
    assert_eq!(deltas, 0, "{shown:?}");
}

/// Begins a turn of at most ten seconds that calls the tool, and returns when the call is out.
async fn calls(tool: Fake, model: &Script) -> (Arc<Agent>, Runtime, RunHandle) {
    let limits = Limits::default().max_run_ms(Some(10_000));
    let agent = Arc::new(agent(model).tool(tool.clone()).limits(limits).build().unwrap());
    let runtime = runtime(&store(), &agent);
    let run = runtime.execute(say(&agent, "go")).await.unwrap();
    while tool.calls().is_empty() {
        settle().await;
    }
    (agent, runtime, run)
}

/// Runs a call of the tool, makes `ask` when the call is out, and returns its status, its text, and the time that the
/// turn took to end.
async fn stopped(tool: Fake, ask: impl AsyncFn(&Runtime, &SessionKey)) -> (ResultStatus, String, Duration) {
    let (_, runtime, run) = calls(tool, &Script::calling(vec![("work", "{}")])).await;
    let asked = Instant::now();
    ask(&runtime, run.key()).await;
    let (key, _) = finish(run).await;
    let (status, text) = only_result(&runtime, &key).await;
    (status, text, asked.elapsed())
}

async fn interrupts(runtime: &Runtime, key: &SessionKey) {
    runtime.interrupt(key, "enough").await.unwrap();
}

/// Returns a tool that heeds a request to stop, and then takes this long to answer with it.
fn heeding(takes: Duration) -> Fake {
    let act = move |call: ToolCall| async move {
        assert_eq!(call.handle.stop_request(), None);
        let StopRequest { reason, grace } = call.handle.stopped().await;
        assert_eq!(call.handle.stop_request().map(|stop| stop.reason), Some(reason));
        sleep(takes).await;
        Ok(ToolReturn::from(ToolOutput::text(format!("{}, {} s", reason.as_str(), grace.as_secs()))))
    };
    Fake::new("work", act).effect(EffectClass::AtMostOnce)
}

#[tokio::test(start_paused = true)]
async fn b33_a_call_is_asked_to_stop_with_the_reason_and_what_it_answers_within_the_grace_counts() {
    let soon = Duration::from_millis(500);
    let (status, text, took) = stopped(heeding(soon), interrupts).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Done, "user:cancelled, 2 s"));
    assert!(took >= soon && took < GRACE, "{took:?}");

    let alone = async |runtime: &Runtime, key: &SessionKey| {
        runtime.stop_call(key, &CallId::new("c1-0").unwrap()).await.unwrap();
    };
    let (status, text, took) = stopped(heeding(soon), alone).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Done, "user:cancelled, 2 s"));
    assert!(took < GRACE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn b33_a_tool_sees_that_a_message_interrupts_its_turn() {
    let model = Script::calling(vec![("work", "{}")]);
    let (agent, runtime, run) = calls(heeding(Duration::ZERO), &model).await;
    let now = say(&agent, "now").in_session(run.key().id.clone()).under(MessagePolicy::Interrupt);
    let next = runtime.execute(now).await.unwrap();
    assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
    let key = completes(next).await;
    let asked = model.asked();
    let told = crate::script::results(asked.last().unwrap()).remove(0);
    assert!(told.contains(CancelReason::UserInterrupted.as_str()), "{told}");
    assert!(runtime.session(&key).await.unwrap().is_some());
}

#[tokio::test(start_paused = true)]
async fn b33_a_call_is_asked_to_stop_when_its_turn_has_no_time_left_or_its_session_is_aborted() {
    let soon = Duration::from_millis(500);
    let (status, text, took) = stopped(heeding(soon), async |_, _| {}).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Done, "system:disposed, 2 s"));
    assert!(took < Duration::from_secs(10) + GRACE, "{took:?}");

    let aborts = async |runtime: &Runtime, key: &SessionKey| {
        runtime.abort(key, "never again").await.unwrap();
    };
    let (status, text, took) = stopped(heeding(soon), aborts).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Done, "user:cancelled, 2 s"));
    assert!(took < GRACE, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn b33_a_second_stop_does_not_prolong_the_grace() {
    let twice = async |runtime: &Runtime, key: &SessionKey| {
        interrupts(runtime, key).await;
        sleep(GRACE - Duration::from_millis(500)).await;
        runtime.abort(key, "at once").await.unwrap();
    };
    let (status, text, took) = stopped(Fake::stuck("work"), twice).await;
    assert_eq!(status, ResultStatus::InDoubt, "{text}");
    assert!(took >= GRACE && took < GRACE + Duration::from_secs(1), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn b33_a_call_that_does_not_heed_the_request_has_the_grace_and_is_dropped_after_it() {
    let lasting = |takes: Duration| {
        let act = move |_| async move {
            sleep(takes).await;
            Ok(ToolReturn::from(ToolOutput::text("whole")))
        };
        Fake::new("work", act).effect(EffectClass::AtMostOnce)
    };
    let (status, text, took) = stopped(lasting(Duration::from_millis(1_500)), interrupts).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Done, "whole"));
    assert!(took < GRACE, "{took:?}");
    for tool in [lasting(Duration::from_secs(20)), Fake::stuck("work"), heeding(2 * GRACE)] {
        let (status, text, took) = stopped(tool, interrupts).await;
        assert_eq!(status, ResultStatus::InDoubt, "{text}");
        assert!(took >= GRACE && took < GRACE + Duration::from_secs(1), "{took:?}");
    }
    let unsent = Fake::stuck("work").says_it_did_not_act();
    assert_eq!(stopped(unsent, interrupts).await.0, ResultStatus::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn b33_an_error_of_a_call_that_heeds_the_request_counts() {
    let act = |call: ToolCall| async move {
        call.handle.stopped().await;
        Err::<ToolReturn, _>(ToolError::Failed("half of it is done".into()))
    };
    let tool = Fake::new("work", act).effect(EffectClass::AtMostOnce);
    let (status, text, took) = stopped(tool, interrupts).await;
    assert_eq!((status, text.as_str()), (ResultStatus::Error, "half of it is done"));
    assert!(took < GRACE, "{took:?}");
}

/// Requirements: C25.
#[tokio::test(start_paused = true)]
async fn c25_calls_that_run_are_asked_to_stop_when_their_step_is_aborted_and_dropped_after_the_grace() {
    let stuck = Fake::stuck("work").effect(EffectClass::AtMostOnce).says_it_did_not_act();
    for (tool, status, told) in [
        (heeding(Duration::from_millis(500)), ResultStatus::Done, "user:rejected, 2 s"),
        (stuck, ResultStatus::Cancelled, "cancelled (user:rejected): the user refused another call of"),
    ] {
        let model = Script::calling(vec![("work", "{}"), ("edit", "{}")]);
        let agent = agent(&model).tool(tool.clone()).tool(Fake::echo("edit")).gate(asking_for("edit"));
        let agent = Arc::new(agent.build().unwrap());
        let runtime = runtime(&store(), &agent);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        while tool.calls().is_empty() || runtime.pending(run.key()).await.unwrap().is_empty() {
            settle().await;
        }
        let asked = Instant::now();
        let pending = only_pending(&runtime, run.key()).await;
        runtime.deny(run.key(), &pending, Denial::by("ann").aborting(true)).await.unwrap();
        let key = completes(run).await;
        assert!(asked.elapsed() < GRACE + Duration::from_secs(1), "{:?}", asked.elapsed());
        let results = tool_results(&runtime, &key).await;
        let results: Vec<_> = results.iter().map(|result| (result.status, result.content.as_str())).collect();
        assert_eq!(results[0].0, status, "{results:?}");
        assert!(results[0].1.starts_with(told), "{results:?}");
        assert_eq!(results[1], (ResultStatus::RejectedByUser, "Function call aborted"));
    }
}
