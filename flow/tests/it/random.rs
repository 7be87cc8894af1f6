//! Random flows whose processes die at random writes: a later run decides as the first one did.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use holdover_core::event::Event;
use holdover_core::store::SessionStatus;
use holdover_core::tool::ToolError;
use holdover_flow::{Checked, Cx, Flow, Step, StepCx, StepError, Stop};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::bench::{self, Process, mortal, runtime, start, store, work};

/// A program of a flow.
#[derive(Debug, Clone, Serialize, Deserialize)]
enum Code {
    Step(u8),
    Read(u8),
    Sleep(u16),
    Draw,
    Row(Vec<Self>),
    Join(Vec<Self>),
    Race(Box<Self>, Box<Self>),
}

fn code() -> impl Strategy<Value = Code> {
    let leaf = prop_oneof![
        4 => any::<u8>().prop_map(Code::Step),
        2 => any::<u8>().prop_map(Code::Read),
        2 => (1..3_000_u16).prop_map(Code::Sleep),
        1 => Just(Code::Draw),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Row),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Code::Join),
            (inner.clone(), inner).prop_map(|(one, other)| Code::Race(Box::new(one), Box::new(other))),
        ]
    })
}

const STEP: Step<u8, u64> = Step::idempotent("step");
const READ: Step<u8, u64> = Step::read_only("read");

fn play(cx: Cx, code: Code) -> BoxFuture<'static, Result<u64, StepError>> {
    async move {
        Ok(match code {
            Code::Step(number) => cx.step(&STEP, &number).await?,
            Code::Read(number) => cx.step(&READ, &number).await?,
            Code::Sleep(ms) => {
                cx.sleep(Duration::from_millis(ms.into())).await?;
                1
            }
            Code::Draw => cx.random() % 2 + 1,
            Code::Row(all) => {
                let mut sum = 0_u64;
                for one in all {
                    sum = sum.wrapping_mul(31).wrapping_add(play(cx.clone(), one).await?);
                }
                sum
            }
            Code::Join(all) => {
                let all =
                    futures::future::try_join_all(all.into_iter().map(|one| play(cx.clone(), one))).await?;
                all.into_iter().fold(7_u64, |sum, one| sum.wrapping_mul(33).wrapping_add(one))
            }
            Code::Race(one, other) => holdover_flow::select! {
                one = play(cx.clone(), *one) => one?.wrapping_add(1_000),
                other = play(cx.clone(), *other) => other?.wrapping_add(2_000),
            },
        })
    }
    .boxed()
}

type Seen = Arc<Mutex<BTreeMap<String, u32>>>;

async fn step(cx: StepCx, number: u8) -> Result<u64, ToolError> {
    *cx.get::<Seen>()?.lock().unwrap().entry(cx.idempotency_key().to_owned()).or_default() += 1;
    tokio::time::sleep(Duration::from_millis(u64::from(number) * 7 % 50)).await;
    Ok(number.into())
}

async fn story(code: Code, deaths: Vec<(u8, bool)>) {
    let seen = Seen::default();
    let flow =
        Flow::builder("random", |cx: Cx, code: Code| async move { Ok::<u64, Stop>(play(cx, code).await?) })
            .on(&STEP, step)
            .on(&READ, |number: u8| async move { Ok::<u64, ToolError>(number.into()) })
            .with(Arc::clone(&seen))
            .build()
            .unwrap();
    let store = store();
    let front = runtime(store.clone(), &[flow.agent()]);
    let key = start(&front, &flow, &code).await;
    let mut processes = deaths.into_iter().map(|(at, after)| Process::dying(usize::from(at), after));
    let mut died = 0;
    loop {
        let process = processes.next().unwrap_or_default();
        let mortal = runtime(mortal(&store, &process), &[flow.agent()]);
        let works = work(&mortal);
        let ended = async {
            loop {
                let session = front.session(&key).await.unwrap().unwrap();
                if session.status == SessionStatus::Idle && session.last_message.0 > 0 {
                    return;
                }
                assert_ne!(
                    session.status,
                    SessionStatus::Failed,
                    "{:#?}",
                    bench::messages_in(&front, &key).await
                );
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let over = tokio::select! {
            () = ended => true,
            () = process.died.cancelled() => false,
        };
        drop(works);
        if over {
            break;
        }
        died += 1;
    }
    let diverged = |event: &Event| matches!(event, Event::Diverged { .. });
    assert!(!bench::events(&front, &key).await.iter().any(diverged), "after {died} deaths");
    // The whole transcript leads to the same end.
    let checked = flow.check(&front.messages(&key).await.unwrap()).unwrap();
    assert_eq!(checked, Checked::Returns(bench::text(&front, &key).await), "after {died} deaths");
}

/// Requirements of flows: the live trace equals the trace that is told again.
#[test]
fn whatever_dies_a_later_run_decides_as_the_first_one_did() {
    let cases = std::env::var("HOLDOVER_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(100);
    let config = ProptestConfig {
        cases,
        failure_persistence: None,
        max_shrink_iters: 200,
        ..ProptestConfig::default()
    };
    let deaths = prop::collection::vec((1..8_u8, any::<bool>()), 0..5);
    proptest!(config, |(code in code(), deaths in deaths)| {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        tokio.block_on(story(code, deaths));
    });
}
