//! Steps in a row and side by side, waits, approvals, and the end of a flow.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdover_core::engine::RunOutcome;
use holdover_core::message::ResultStatus;
use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, StepError, Stop};
use holdover_runtime_local::Signal;

use crate::bench::{self, error_of, runtime, start, store, tenant, until, work};

const ADD: Step<(u32, u32), u32> = Step::idempotent("add");
const SLOW: Step<u64, u64> = Step::at_most_once("slow");

async fn add((one, other): (u32, u32)) -> Result<u32, ToolError> {
    Ok(one + other)
}

async fn slow(seconds: u64) -> Result<u64, ToolError> {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    Ok(seconds)
}

#[tokio::test(start_paused = true)]
async fn steps_in_a_row_give_the_value_of_the_flow() {
    async fn sum(cx: Cx, upto: u32) -> Result<u32, Stop> {
        let mut sum = 0;
        for number in 1..=upto {
            sum = cx.step(&ADD, &(sum, number)).await?;
        }
        Ok(sum)
    }
    let flow = Flow::builder("sum", sum).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &10).unwrap()).await.unwrap();
    assert_eq!(run.text().await.unwrap(), "55");
}

#[tokio::test(start_paused = true)]
async fn branches_go_on_side_by_side() {
    async fn both(cx: Cx, _: ()) -> Result<(u64, u64), Stop> {
        let branch = async |seconds: u64| {
            let first = cx.step(&SLOW, &seconds).await?;
            let second = cx.step(&SLOW, &(seconds + 1)).await?;
            Ok::<_, StepError>(first + second)
        };
        let (one, other) = holdover_flow::join!(branch(1), branch(5));
        Ok((one?, other?))
    }
    let flow = Flow::builder("both", both).on(&SLOW, slow).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let began = tokio::time::Instant::now();
    let run = runtime.execute(flow.execute(tenant(), &()).unwrap()).await.unwrap();
    assert_eq!(run.text().await.unwrap(), "[3,11]");
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn the_loser_of_a_race_is_cancelled_and_a_wait_is_durable() {
    async fn race(cx: Cx, _: ()) -> Result<String, Stop> {
        let won = holdover_flow::select! {
            slept = cx.sleep(Duration::from_secs(360)) => { slept?; "slept" }
            approved = std::future::IntoFuture::into_future(cx.approve("ship", &7)) => { approved?; "approved" }
        };
        cx.step(&ADD, &(1, 1)).await?;
        Ok(won.to_owned())
    }
    let flow = Flow::builder("race", race).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _worker = work(&runtime);
    let key = start(&runtime, &flow, &()).await;
    until(&runtime, &key, SessionStatus::Suspended, "waits").await;
    until(&runtime, &key, SessionStatus::Idle, "slept").await;
    assert_eq!(bench::text(&runtime, &key).await, "\"slept\"");
    assert_eq!(bench::ended(&runtime, &key, "flow_approve").await, [ResultStatus::Cancelled]);
    assert!(bench::pending_of(&runtime, &key).await.is_empty(), "nobody is asked any more");

    let key = start(&runtime, &flow, &()).await;
    until(&runtime, &key, SessionStatus::Suspended, "waits").await;
    let asked = bench::pending_of(&runtime, &key).await.remove(0);
    runtime.approve(&key, &asked, "ann").await.unwrap();
    until(&runtime, &key, SessionStatus::Idle, "approved").await;
    assert_eq!(bench::text(&runtime, &key).await, "\"approved\"");
    assert_eq!(bench::ended(&runtime, &key, "flow_sleep").await, [ResultStatus::Cancelled]);
}

#[tokio::test(start_paused = true)]
async fn a_failed_step_fails_the_flow_and_a_saga_undoes_what_was_done() {
    const BOOK: Step<String, String> = Step::idempotent("book");
    const CANCEL: Step<String, ()> = Step::idempotent("cancel");
    async fn trip(cx: Cx, _: ()) -> Result<(), Stop> {
        let mut saga = cx.saga();
        for what in ["flight", "hotel", "nothing"] {
            if let Err(error) = saga.step(&BOOK, &what.to_owned(), &CANCEL).await {
                return saga.undo(error).await;
            }
        }
        Ok(())
    }
    async fn book(what: String) -> Result<String, ToolError> {
        if what == "nothing" { Err(ToolError::failed("there is none")) } else { Ok(what) }
    }
    let cancelled = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    async fn cancel(cx: StepCx, what: String) -> Result<(), ToolError> {
        cx.get::<Arc<std::sync::Mutex<Vec<String>>>>()?.lock().unwrap().push(what);
        Ok(())
    }
    let flow = Flow::builder("trip", trip)
        .on(&BOOK, book)
        .on(&CANCEL, cancel)
        .with(Arc::clone(&cancelled))
        .build()
        .unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &()).unwrap()).await.unwrap();
    let outcome = run.outcome().await.unwrap();
    let (kind, why) = error_of(&outcome);
    assert_eq!((kind.as_str(), why.as_str()), ("flow.failed", "step book failed: there is none"));
    assert_eq!(*cancelled.lock().unwrap(), ["hotel", "flight"]);
}

#[tokio::test(start_paused = true)]
async fn a_flow_that_waits_for_something_else_fails_with_a_typed_error() {
    async fn foreign(_: Cx, _: ()) -> Result<(), Stop> {
        std::future::pending::<()>().await;
        Ok(())
    }
    let flow = Flow::builder("foreign", foreign).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &()).unwrap()).await.unwrap();
    assert_eq!(error_of(&run.outcome().await.unwrap()).0, "flow.foreign_future");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_branches_wait_for_their_turn_and_all_end() {
    static MOST: AtomicU32 = AtomicU32::new(0);
    static NOW: AtomicU32 = AtomicU32::new(0);
    async fn counted(number: u64) -> Result<u64, ToolError> {
        MOST.fetch_max(NOW.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_millis(10)).await;
        NOW.fetch_sub(1, Ordering::SeqCst);
        Ok(number)
    }
    async fn many(cx: Cx, count: u64) -> Result<u64, Stop> {
        let branches = (0..count).map(|number| {
            let cx = cx.clone();
            async move { cx.step(&SLOW, &number).await }
        });
        let all = futures::future::try_join_all(branches).await?;
        Ok(all.iter().sum())
    }
    let flow = Flow::builder("many", many).on(&SLOW, counted).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &1_000).unwrap()).await.unwrap();
    assert_eq!(run.text().await.unwrap(), "499500");
    assert_eq!(MOST.load(Ordering::SeqCst), 64);
}

#[tokio::test(start_paused = true)]
async fn clocks_and_random_numbers_are_drawn_once() {
    async fn draws(cx: Cx, _: ()) -> Result<(i64, u64, String), Stop> {
        let (now, random, uuid) = (cx.now(), cx.random(), cx.uuid());
        cx.sleep(Duration::from_secs(100)).await?;
        cx.step(&ADD, &(1, 2)).await?;
        Ok((now.as_ms(), random, uuid.to_string()))
    }
    let flow = Flow::builder("draws", draws).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &()).unwrap()).await.unwrap();
    let key = run.key().clone();
    let RunOutcome::Ended(_) = run.outcome().await.unwrap() else { panic!("ended") };
    let messages = bench::messages_in(&runtime, &key).await;
    let drawn: Vec<_> = messages
        .iter()
        .filter_map(|message| match message {
            holdover_core::message::Message::Assistant(said) => said.plan.as_ref(),
            _ => None,
        })
        .flat_map(|record| record.drawn.iter())
        .collect();
    // Now, random, uuid, and the clock of the sleep. The second run, after the sleep, drew nothing.
    assert_eq!(drawn.len(), 4, "{drawn:?}");
    let said: (i64, u64, String) = serde_json::from_str(&bench::text(&runtime, &key).await).unwrap();
    assert_eq!(said.0, 1_000_000);
}

#[tokio::test(start_paused = true)]
async fn a_flow_waits_for_signals_and_takes_those_that_came_earlier() {
    async fn paid(cx: Cx, _: ()) -> Result<u32, Stop> {
        let first: u32 = cx.signal("paid").await?;
        let second: u32 = cx.signal("paid").await?;
        match cx.signal::<u32>("paid").within(Duration::from_secs(60)).await {
            Err(StepError::TimedOut { .. }) => Ok(first * 10 + second),
            other => Ok(other?),
        }
    }
    let flow = Flow::builder("paid", paid).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _worker = work(&runtime);
    let key = start(&runtime, &flow, &()).await;
    for body in [4, 2] {
        runtime.signal(&key, Signal::new("paid").unwrap().with(&body).unwrap()).await.unwrap();
    }
    until(&runtime, &key, SessionStatus::Idle, "paid").await;
    assert_eq!(bench::text(&runtime, &key).await, "42");
}
