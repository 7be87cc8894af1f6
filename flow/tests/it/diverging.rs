//! Code that decides otherwise than the transcript records: it waits, nothing is lost, and the right code goes on.

use std::time::Duration;

use holdover_core::event::Event;
use holdover_core::message::ResultStatus;
use holdover_core::store::{SessionQuery, SessionStatus};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, Stop};
use holdover_runtime_local::Runtime;

use crate::bench::{self, runtime, start, store, until, work};

const ONE: Step<u32, u32> = Step::idempotent("one");
const TWO: Step<u32, u32> = Step::idempotent("two");
const THREE: Step<u32, u32> = Step::idempotent("three");

async fn same(number: u32) -> Result<u32, ToolError> {
    Ok(number)
}

/// The versions of the code of one flow, all under one label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Old,
    Inserted,
    Removed,
    Reordered,
    Renamed,
    Changed,
    Random,
    Patched,
    EndsEarly,
}

fn flow(code: Code) -> Flow<u32, u32> {
    let function = move |cx: Cx, input: u32| async move {
        let mut sum = 0;
        match code {
            Code::Random => drop(cx.random()),
            _ => drop(cx.now()),
        }
        if code == Code::Inserted || (code == Code::Patched && cx.patched("three first")) {
            sum += cx.step(&THREE, &input).await?;
        }
        let (first, second) = match code {
            Code::Reordered => (&TWO, &ONE),
            Code::Renamed => (&THREE, &TWO),
            _ => (&ONE, &TWO),
        };
        let argument = if code == Code::Changed { input + 1 } else { input };
        sum += cx.step(first, &argument).await?;
        if code != Code::Removed {
            sum += cx.step(second, &input).await?;
        }
        if code == Code::EndsEarly {
            return Ok(sum);
        }
        cx.sleep(Duration::from_secs(100)).await?;
        sum += cx.step(&THREE, &sum).await?;
        Ok::<u32, Stop>(sum)
    };
    Flow::builder("sums", function).on(&ONE, same).on(&TWO, same).on(&THREE, same).build().unwrap()
}

async fn divergences(runtime: &Runtime, key: &holdover_core::ids::SessionKey) -> Vec<String> {
    let events = bench::events(runtime, key).await;
    let found = events.into_iter().filter_map(|event| match event {
        Event::Diverged { found } => Some(found.to_string()),
        _ => None,
    });
    found.collect()
}

async fn story(code: Code, expected: &str) {
    let told = format!("{code:?}");
    let store = store();
    let old = flow(Code::Old);
    let with_old = runtime(store.clone(), &[old.agent()]);
    let key = start(&with_old, &old, &5).await;
    let works = work(&with_old);
    until(&with_old, &key, SessionStatus::Suspended, &told).await;
    drop(works);
    let before = bench::results(&with_old, &key).await;

    let new = flow(code);
    let with_new = runtime(store.clone(), &[new.agent()]);
    let broken = with_new.would_break(&SessionQuery::all(bench::tenant())).await.unwrap();
    let why: Vec<String> = broken.iter().flat_map(|broken| &broken.why).map(ToString::to_string).collect();
    assert_eq!(why, [format!("its flow diverges here: {expected}")], "{told}: found before it is deployed");
    let works = work(&with_new);
    // The sleep rings, the new code takes the flow up, and later once more.
    tokio::time::sleep(Duration::from_secs(130)).await;
    let session = with_new.session(&key).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Suspended, "{told}");
    let found = divergences(&with_new, &key).await;
    assert_eq!(found, [expected], "{told}: one event, however often it was tried");
    assert!(bench::results(&with_new, &key).await.starts_with(&before), "{told}: nothing is lost");
    drop(works);

    let _works = work(&with_old);
    until(&with_old, &key, SessionStatus::Idle, &told).await;
    assert_eq!(bench::text(&with_old, &key).await, "20", "{told}: the old code goes on");
    assert_eq!(bench::ended(&with_old, &key, "three").await, [ResultStatus::Done], "{told}");
}

#[tokio::test(start_paused = true)]
async fn each_change_of_the_code_is_found_and_healed_by_the_old_code() {
    let slept = "the code makes flow_sleep({\"until\":1100000})";
    let missed = &format!("decision 2: the transcript records two(5), and {slept}");
    story(Code::Inserted, "decision 1: the transcript records one(5), and the code makes three(5)").await;
    story(Code::Removed, missed).await;
    story(Code::Reordered, "decision 1: the transcript records one(5), and the code makes two(5)").await;
    story(Code::Renamed, "decision 1: the transcript records one(5), and the code makes three(5)").await;
    story(Code::Changed, "decision 1: the transcript records one(5), and the code makes one(6)").await;
    let drew = "decision 0: the transcript records Now { at: @1000000 }, and the code makes a random number";
    story(Code::Random, drew).await;
    let ended =
        "decision 3: the transcript records flow_sleep({\"until\":1100000}), and the code makes nothing";
    story(Code::EndsEarly, ended).await;
}

#[tokio::test(start_paused = true)]
async fn a_patched_flow_goes_on_where_the_old_code_was_and_new_ones_take_the_new_path() {
    let store = store();
    let old = flow(Code::Old);
    let with_old = runtime(store.clone(), &[old.agent()]);
    let key = start(&with_old, &old, &5).await;
    let works = work(&with_old);
    until(&with_old, &key, SessionStatus::Suspended, "old").await;
    drop(works);
    let new = flow(Code::Patched);
    let with_new = runtime(store.clone(), &[new.agent()]);
    let _works = work(&with_new);
    until(&with_new, &key, SessionStatus::Idle, "patched").await;
    assert_eq!(bench::text(&with_new, &key).await, "20");
    let fresh = with_new.execute(new.execute(bench::tenant(), &5).unwrap()).await.unwrap();
    assert_eq!(fresh.text().await.unwrap(), "30");
}
