//! What a step writes, and flows that begin again.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, Stop};
use serde::{Deserialize, Serialize};

use crate::bench::{self, Process, mortal, runtime, start, store, tenant, until, work_and_inherit};

const ADD: Step<u32, u32> = Step::idempotent("add");
const LOOK: Step<u32, u32> = Step::read_only("look");

async fn add(number: u32) -> Result<u32, ToolError> {
    Ok(number + 1)
}

/// Returns the number of commits and stagings of a flow with this many steps.
async fn writes(step: &'static Step<u32, u32>, steps: u32) -> usize {
    let flow = Flow::builder("row", move |cx: Cx, steps: u32| async move {
        let mut number = 0;
        for _ in 0..steps {
            number = cx.step(step, &number).await?;
        }
        Ok::<u32, Stop>(number)
    });
    let flow = flow.on(&ADD, add).on(&LOOK, add).build().unwrap();
    let process = Arc::new(Process::default());
    let runtime = runtime(mortal(&store(), &process), &[flow.agent()]);
    let run = runtime.execute(flow.execute(tenant(), &steps).unwrap()).await.unwrap();
    assert_eq!(run.output::<u32>().await.unwrap(), steps);
    process.writes.load(Ordering::SeqCst)
}

#[tokio::test(start_paused = true)]
async fn a_step_in_a_row_is_one_write() {
    let (few, many) = (writes(&ADD, 10).await, writes(&ADD, 110).await);
    assert_eq!(many - few, 100, "{few} writes for 10 steps, {many} for 110");
}

#[tokio::test(start_paused = true)]
async fn steps_that_only_read_share_their_writes() {
    let (few, many) = (writes(&LOOK, 10).await, writes(&LOOK, 110).await);
    assert!(many < few + 10, "{few} writes for 10 reads, {many} for 110");
}

#[derive(Serialize, Deserialize)]
struct Round {
    left: u32,
    sum: u32,
}

/// Adds in rounds, each of which begins the flow again.
async fn rounds(cx: Cx, round: Round) -> Result<u32, Stop> {
    let sum = cx.step(&ADD, &round.sum).await?;
    let _left_open = cx.sleep(Duration::from_secs(5));
    cx.sleep(Duration::from_secs(1)).await?;
    if round.left == 0 {
        return Ok(sum);
    }
    cx.carry_on(&Round { left: round.left - 1, sum })
}

async fn rounds_with_a_death(at: usize, after: bool) -> bool {
    static ADDED: AtomicU32 = AtomicU32::new(0);
    let flow = Flow::builder("rounds", rounds).on(&ADD, |_: StepCx, number: u32| async move {
        ADDED.fetch_add(1, Ordering::SeqCst);
        Ok::<u32, ToolError>(number + 1)
    });
    let flow = flow.build().unwrap();
    let store = store();
    let process = Process::dying(at, after);
    let first = runtime(mortal(&store, &process), &[flow.agent()]);
    let heir = runtime(store.clone(), &[flow.agent()]);
    let key = start(&heir, &flow, &Round { left: 3, sum: 0 }).await;
    let works = work_and_inherit(&first, &process, &heir);
    until(&heir, &key, SessionStatus::Idle, "rounds").await;
    drop(works);
    assert_eq!(bench::text(&heir, &key).await, "4", "dies at {at}, after {after}");
    assert_eq!(
        bench::ended(&heir, &key, "add").await.len(),
        4,
        "dies at {at}, after {after}: each round adds once"
    );
    process.died.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn a_flow_that_carries_on_survives_a_death_at_each_write() {
    for after in [false, true] {
        let mut at = 1;
        while rounds_with_a_death(at, after).await {
            at += 1;
        }
        assert!(at > 8, "{at} writes: the story has become shorter");
    }
}
