//! Flows that are told to stop, given up, or left by their worker.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdover_core::ids::{InterruptId, SessionKey};
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{InterruptOutcome, PageRequest, SessionStatus};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, Stop};
use holdover_runtime_local::{Runtime, RuntimeError, Worker, WorkerOptions};
use tokio_util::sync::CancellationToken;

use crate::bench::{self, Process, mortal, runtime, start, store, until, work};

const ADD: Step<u32, u32> = Step::idempotent("add");

async fn add(number: u32) -> Result<u32, ToolError> {
    Ok(number + 1)
}

async fn sum(cx: Cx, number: u32) -> Result<u32, Stop> {
    Ok(cx.step(&ADD, &number).await?)
}

#[tokio::test(start_paused = true)]
async fn an_abort_undoes_nothing_and_a_second_stop_waits_for_no_undo() {
    const BOOK: Step<u32, u32> = Step::idempotent("book");
    const CANCEL: Step<u32, u32> = Step::idempotent("cancel").timeout(Duration::from_secs(5_000));
    async fn slow(cx: StepCx, number: u32) -> Result<u32, ToolError> {
        cx.get::<AtomicU32>()?.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1_000)).await;
        Ok(number)
    }
    async fn trip(cx: Cx, number: u32) -> Result<u32, Stop> {
        let mut saga = cx.saga();
        saga.step(&BOOK, &number, &CANCEL).await?;
        match cx.sleep(Duration::from_secs(5_000)).await {
            Ok(()) => Ok(1),
            Err(error) => saga.undo(error).await,
        }
    }
    for (aborts, aborts_later) in [(true, false), (false, false), (false, true)] {
        let flow = Flow::builder("trip", trip).on(&BOOK, add).on(&CANCEL, slow).with(AtomicU32::new(0));
        let flow = flow.build().unwrap();
        let runtime = runtime(store(), &[flow.agent()]);
        let _works = work(&runtime);
        let key = start(&runtime, &flow, &1).await;
        until(&runtime, &key, SessionStatus::Suspended, "sleeps").await;
        if aborts {
            runtime.abort(&key, "enough").await.unwrap();
            until(&runtime, &key, SessionStatus::Aborted, "aborted").await;
            assert!(bench::ended(&runtime, &key, "cancel").await.is_empty(), "nothing is undone");
            continue;
        }
        runtime.interrupt(&key, "enough").await.unwrap();
        until(&runtime, &key, SessionStatus::Active, "undoes").await;
        let again = InterruptId::new("again").unwrap();
        let asked = runtime.interrupt_once(&key, again, "enough").await.unwrap();
        assert_eq!(asked, InterruptOutcome::Over, "it was told to stop before");
        tokio::time::sleep(Duration::from_secs(20)).await;
        assert_eq!(
            runtime.session(&key).await.unwrap().unwrap().status,
            SessionStatus::Active,
            "it still undoes"
        );
        let began = tokio::time::Instant::now();
        let end = if aborts_later {
            runtime.abort(&key, "at once").await.unwrap();
            SessionStatus::Aborted
        } else {
            runtime.interrupt(&key, "at once").await.unwrap();
            SessionStatus::Interrupted
        };
        until(&runtime, &key, end, "stopped").await;
        assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
        assert_eq!(
            bench::ended(&runtime, &key, "cancel").await,
            [ResultStatus::InDoubt],
            "the undo was cut off"
        );
    }
}

/// A step fails by itself and its undo runs. A stop that comes then leaves the undo alone; a second one, which the same run
/// hears, cuts it off.
#[tokio::test(start_paused = true)]
async fn a_stop_does_not_cancel_an_undo_that_runs_and_a_second_one_does() {
    const BOOK: Step<u32, u32> = Step::idempotent("book");
    const CANCEL: Step<u32, u32> = Step::idempotent("cancel").timeout(Duration::from_secs(5_000));
    async fn slow(number: u32) -> Result<u32, ToolError> {
        tokio::time::sleep(Duration::from_secs(100)).await;
        Ok(number)
    }
    async fn trip(cx: Cx, number: u32) -> Result<u32, Stop> {
        let mut saga = cx.saga();
        saga.step(&BOOK, &number, &CANCEL).await?;
        saga.undo(Stop::failed("no room")).await
    }
    for twice in [false, true] {
        let flow = Flow::builder("trip", trip).on(&BOOK, add).on(&CANCEL, slow).build().unwrap();
        let runtime = runtime(store(), &[flow.agent()]);
        let _works = work(&runtime);
        let key = start(&runtime, &flow, &1).await;
        until(&runtime, &key, SessionStatus::Active, "undoes").await;
        let began = tokio::time::Instant::now();
        tokio::time::sleep(Duration::from_secs(20)).await;
        runtime.interrupt(&key, "enough").await.unwrap();
        if twice {
            tokio::time::sleep(Duration::from_secs(10)).await;
            let status = runtime.session(&key).await.unwrap().unwrap().status;
            assert_eq!(status, SessionStatus::Active, "the first stop waits for the undo");
            runtime.interrupt(&key, "at once").await.unwrap();
        }
        until(&runtime, &key, SessionStatus::Interrupted, "stopped").await;
        let (end, least, most) =
            if twice { (ResultStatus::InDoubt, 30, 60) } else { (ResultStatus::Done, 100, 120) };
        let results = bench::results(&runtime, &key).await;
        assert_eq!(bench::ended(&runtime, &key, "cancel").await, [end], "{results:?}");
        let took = began.elapsed().as_secs();
        assert!((least..most).contains(&took), "{took} s");
        let page = PageRequest::first(NonZeroU32::new(10).unwrap());
        let runs = runtime.store().list_runs(&key, page).await.unwrap();
        assert_eq!(runs.items.len(), 1, "one run heard everything");
    }
}

#[tokio::test(start_paused = true)]
async fn a_flow_that_goes_on_for_ever_after_a_stop_fails() {
    async fn stubborn(cx: Cx, _: ()) -> Result<u32, Stop> {
        loop {
            if let Ok(value) = cx.signal::<u32>("go").await {
                return Ok(value);
            }
            let _ = cx.sleep(Duration::from_secs(1)).await;
        }
    }
    let flow = Flow::builder("stubborn", stubborn).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &()).await;
    until(&runtime, &key, SessionStatus::Suspended, "waits").await;
    runtime.interrupt(&key, "enough").await.unwrap();
    until(&runtime, &key, SessionStatus::Failed, "fails").await;
    let outcome = runtime.wait(&key).await.unwrap();
    assert_eq!(bench::error_of(&outcome).0, "flow.spins");
}

/// A worker is told to leave while a step is out beside an approval: another one goes on with the branch of the step.
#[tokio::test(start_paused = true)]
async fn a_worker_that_leaves_leaves_nothing_behind() {
    const SLOW: Step<u32, u32> = Step::idempotent("slow");
    async fn slow(number: u32) -> Result<u32, ToolError> {
        tokio::time::sleep(Duration::from_secs(10)).await;
        Ok(number)
    }
    async fn both(cx: Cx, number: u32) -> Result<u32, Stop> {
        let (approved, sum) =
            holdover_flow::join!(std::future::IntoFuture::into_future(cx.approve("it", &number)), async {
                let sum = cx.step(&SLOW, &number).await?;
                cx.step(&ADD, &sum).await
            });
        approved?;
        Ok(sum?)
    }
    let flow = Flow::builder("both", both).on(&SLOW, slow).on(&ADD, add).build().unwrap();
    let store = store();
    let first = runtime(store.clone(), &[flow.agent()]);
    let stop = CancellationToken::new();
    let leaves = Worker::new(first.clone(), WorkerOptions::default()).spawn(stop.clone());
    let key = start(&first, &flow, &1).await;
    until(&first, &key, SessionStatus::Active, "works").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    stop.cancel();
    leaves.await.unwrap();
    let second = runtime(store.clone(), &[flow.agent()]);
    let _works = work(&second);
    let began = tokio::time::Instant::now();
    while bench::ended(&second, &key, "add").await.is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60), "the branch of the step goes on by itself");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let asked = bench::pending_of(&second, &key).await.remove(0);
    second.approve(&key, &asked, "ann").await.unwrap();
    until(&second, &key, SessionStatus::Idle, "approved").await;
    assert_eq!(bench::text(&second, &key).await, "2");
}

/// Counts the times that the flow has begun again.
async fn begun_again(runtime: &Runtime, key: &SessionKey) -> usize {
    let messages = bench::messages_in(runtime, key).await;
    let begins_again = |message: &&Message| match message {
        Message::Assistant(said) => said.plan.as_ref().is_some_and(|record| record.carries_on.is_some()),
        _ => false,
    };
    messages.iter().filter(begins_again).count()
}

#[tokio::test(start_paused = true)]
async fn code_that_was_told_to_stop_does_not_begin_again() {
    /// Goes a round, and then begins again whatever has become of it. A question stays open, whose future is never dropped.
    async fn patrol(cx: Cx, round: u32) -> Result<u32, Stop> {
        let mut asks = std::mem::ManuallyDrop::new(cx.ask(format!("round {round}?")));
        let _ = futures::poll!(&mut *asks);
        let _ = cx.sleep(Duration::from_secs(100)).await;
        cx.carry_on(&(round + 1))
    }
    let flow = Flow::builder("patrol", patrol).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &0).await;
    tokio::time::sleep(Duration::from_secs(250)).await;
    assert_eq!(begun_again(&runtime, &key).await, 2);
    assert_eq!(bench::ended(&runtime, &key, "flow_ask").await, [ResultStatus::Cancelled; 2]);
    assert_eq!(bench::pending_of(&runtime, &key).await.len(), 1, "only the question of this round is open");

    runtime.interrupt(&key, "enough").await.unwrap();
    until(&runtime, &key, SessionStatus::Interrupted, "stopped").await;
    assert!(bench::pending_of(&runtime, &key).await.is_empty());
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    assert_eq!(begun_again(&runtime, &key).await, 2, "it was told to stop");
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Interrupted);

    // Who resumes it tells the code the same again, which was about to begin its next round.
    runtime.resume(&key).await.unwrap().detach();
    tokio::time::sleep(Duration::from_secs(150)).await;
    assert_eq!(begun_again(&runtime, &key).await, 4);
    assert_eq!(runtime.session(&key).await.unwrap().unwrap().status, SessionStatus::Suspended);
}

/// The way in which a flow is given up.
#[derive(Debug, Clone, Copy, PartialEq)]
enum GivenUp {
    /// Each run dies before its first write.
    Poisoned,
    /// The first run dies after its first write, and then the flow is stopped.
    Stopped,
    Aborted,
}

/// The code of the flow never began, so nothing of it is recorded. The input is not lost.
#[tokio::test(start_paused = true)]
async fn a_flow_that_is_given_up_before_its_code_began_begins_when_it_is_resumed() {
    for given_up in [GivenUp::Poisoned, GivenUp::Stopped, GivenUp::Aborted] {
        let told = format!("{given_up:?}");
        let flow = Flow::builder("sum", sum).on(&ADD, add).build().unwrap();
        let store = store();
        let heir = runtime(store.clone(), &[flow.agent()]);
        let key = start(&heir, &flow, &6).await;
        let (deaths, after) = if given_up == GivenUp::Poisoned { (5, false) } else { (1, true) };
        for _ in 0..deaths {
            let process = Process::dying(1, after);
            let dies = runtime(mortal(&store, &process), &[flow.agent()]);
            let _works = work(&dies);
            process.died.cancelled().await;
        }
        let status = match given_up {
            GivenUp::Poisoned => SessionStatus::Failed,
            GivenUp::Stopped => {
                heir.interrupt(&key, "enough").await.unwrap();
                SessionStatus::Interrupted
            }
            GivenUp::Aborted => {
                heir.abort(&key, "enough").await.unwrap();
                SessionStatus::Aborted
            }
        };
        let works = work(&heir);
        until(&heir, &key, status, &told).await;
        drop(works);
        let messages = bench::messages_in(&heir, &key).await;
        let begun = |message: &Message| matches!(message, Message::Assistant(_) | Message::Tool(_));
        assert!(!messages.iter().any(begun), "{told}: {messages:#?}");
        if given_up == GivenUp::Poisoned {
            assert_eq!(bench::error_of(&heir.wait(&key).await.unwrap()).0, "engine.poisoned");
        }
        match heir.resume(&key).await {
            Ok(run) => {
                assert_ne!(given_up, GivenUp::Aborted);
                assert_eq!(run.output::<u32>().await.unwrap(), 7, "{told}");
                assert_eq!(bench::ended(&heir, &key, "add").await, [ResultStatus::Done], "{told}");
            }
            Err(RuntimeError::Aborted { .. }) => assert_eq!(given_up, GivenUp::Aborted),
            Err(other) => panic!("{told}: {other}"),
        }
    }
}

/// A session at rest has nothing to stop, and says so. Its flow begins.
#[tokio::test(start_paused = true)]
async fn a_flow_that_no_run_has_seen_is_not_stopped() {
    let flow = Flow::builder("sum", sum).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let key = start(&runtime, &flow, &6).await;
    assert_eq!(runtime.interrupt(&key, "enough").await.unwrap(), InterruptOutcome::AtRest);
    let _works = work(&runtime);
    until(&runtime, &key, SessionStatus::Idle, "begins").await;
    assert_eq!(bench::text(&runtime, &key).await, "7");
}
