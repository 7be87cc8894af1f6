//! The numbers of decisions: those of calls that were taken back, and of calls that were never made.

use std::time::Duration;

use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;
use holdover_flow::{Checked, Cx, Flow, Step, Stop};
use holdover_runtime_local::Runtime;

use crate::bench::{self, runtime, start, store, until, work};

const ADD: Step<u32, u32> = Step::idempotent("add");

async fn add(number: u32) -> Result<u32, ToolError> {
    Ok(number + 1)
}

/// Returns the numbers of the decisions that the transcript records as taken back.
async fn taken_back(runtime: &Runtime, key: &SessionKey) -> Vec<u64> {
    let messages = bench::messages_in(runtime, key).await;
    let records = messages.iter().filter_map(|message| match message {
        Message::Assistant(said) => said.plan.as_ref(),
        _ => None,
    });
    records.flat_map(|record| record.skipped.clone()).collect()
}

#[tokio::test(start_paused = true)]
async fn a_call_that_is_made_and_dropped_in_one_poll_was_never_made() {
    async fn hasty(cx: Cx, number: u32) -> Result<u32, Stop> {
        let known = holdover_flow::select! {
            asked = cx.step(&ADD, &(number + 100)) => asked?,
            known = std::future::ready(number) => known,
        };
        // A later run tells the code everything again.
        cx.sleep(Duration::from_secs(100)).await?;
        Ok(cx.step(&ADD, &known).await?)
    }
    let flow = Flow::builder("hasty", hasty).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &1).await;
    until(&runtime, &key, SessionStatus::Idle, "hasty").await;
    assert_eq!(bench::text(&runtime, &key).await, "2");
    let results = bench::results(&runtime, &key).await;
    let tools: Vec<&str> = results.iter().map(|result| result.tool.as_str()).collect();
    assert_eq!(tools, ["flow_sleep", "add"]);
    assert!(taken_back(&runtime, &key).await.is_empty());
    let checked = flow.check(&runtime.messages(&key).await.unwrap()).unwrap();
    assert_eq!(checked, Checked::Returns("2".to_owned()));
}

/// A branch is dropped while its second step waits for room behind many others.
#[tokio::test(start_paused = true)]
async fn a_decision_that_is_taken_back_keeps_its_number() {
    const MANY: Step<u32, u32> = Step::idempotent("many").timeout(Duration::from_secs(5_000));
    async fn many(number: u32) -> Result<u32, ToolError> {
        tokio::time::sleep(Duration::from_secs(if number < 10 { 1 } else { 30 + u64::from(number) })).await;
        Ok(number)
    }
    async fn crowd(cx: Cx, count: u32) -> Result<u32, Stop> {
        let branch = async {
            holdover_flow::select! {
                slept = cx.sleep(Duration::from_secs(5)) => { slept?; Ok::<u32, Stop>(0) }
                second = async {
                    let first = cx.step(&MANY, &1).await?;
                    cx.step(&MANY, &(first + 1_000)).await
                } => Ok(second?),
            }
        };
        let others = futures::future::try_join_all((10..count).map(|number| {
            let cx = cx.clone();
            async move { cx.step(&MANY, &number).await }
        }));
        let (one, others) = holdover_flow::join!(branch, others);
        Ok(one? + u32::try_from(others?.len()).unwrap())
    }
    let flow = Flow::builder("crowd", crowd).on(&MANY, many).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &100).await;
    until(&runtime, &key, SessionStatus::Idle, "crowd").await;
    assert_eq!(bench::text(&runtime, &key).await, "90");
    assert!(flow.check(&runtime.messages(&key).await.unwrap()).is_ok());
}

/// The 65th call waits for room and is dropped; the 66th waited behind it, and runs.
#[tokio::test(start_paused = true)]
async fn a_decision_that_is_taken_back_keeps_its_number_before_a_later_one() {
    const LONG: Step<u32, u32> = Step::idempotent("long").timeout(Duration::from_secs(5_000));
    const NEVER: Step<u32, u32> = Step::idempotent("never");
    async fn long(number: u32) -> Result<u32, ToolError> {
        tokio::time::sleep(Duration::from_secs(u64::from(number))).await;
        Ok(number)
    }
    async fn crowd(cx: Cx, others: u32) -> Result<(usize, u32, u32), Stop> {
        let all = futures::future::try_join_all((0..others).map(|number| {
            let cx = cx.clone();
            async move { cx.step(&LONG, &(30 + number)).await }
        }));
        let raced = async {
            holdover_flow::select! {
                first = cx.step(&LONG, &1) => first,
                never = cx.step(&NEVER, &2) => never,
            }
        };
        let behind = cx.step(&ADD, &3);
        let (all, raced, behind) = holdover_flow::join!(all, raced, behind);
        cx.sleep(Duration::from_secs(100)).await?;
        Ok((all?.len(), raced?, behind?))
    }
    let flow = Flow::builder("crowd", crowd).on(&LONG, long).on(&NEVER, add).on(&ADD, add).build().unwrap();
    let runtime = runtime(store(), &[flow.agent()]);
    let _works = work(&runtime);
    let key = start(&runtime, &flow, &63).await;
    until(&runtime, &key, SessionStatus::Idle, "crowd").await;
    assert_eq!(bench::text(&runtime, &key).await, "[63,1,4]");
    assert_eq!(taken_back(&runtime, &key).await, [65]);
    assert_eq!(bench::ended(&runtime, &key, "add").await, [ResultStatus::Done]);
    assert!(bench::ended(&runtime, &key, "never").await.is_empty());
    let checked = flow.check(&runtime.messages(&key).await.unwrap()).unwrap();
    assert_eq!(checked, Checked::Returns("[63,1,4]".to_owned()));
}
