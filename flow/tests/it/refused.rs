//! Commits that the store refuses because an answer came in between: the code has not been told too much.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::message::ResultStatus;
use holdover_core::store::{Answer, Layer, Layered, Request, SessionStatus, StateStore, StoreError};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, StepError, Stop};
use holdover_runtime_local::Runtime;

use crate::bench::{self, Virtual, runtime, start, store_on, until, work};

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const SHIP: Step<u32, u32> = Step::at_most_once("ship");
const REFUND: Step<u32, u32> = Step::at_most_once("refund");

async fn count(cx: StepCx, number: u32) -> Result<u32, ToolError> {
    cx.get::<AtomicU32>()?.fetch_add(1, Ordering::SeqCst);
    Ok(number)
}

/// Approves just before the commit that closes the request because nobody has answered. The approval counts as given a
/// second before the deadline, so the store refuses the commit.
struct LastMoment {
    clock: Virtual,
    /// A runtime of the person who answers, and the session.
    person: OnceLock<(Runtime, SessionKey)>,
    answered: AtomicBool,
    /// The time that each read of the transcript takes.
    reads_take: Duration,
}

impl LastMoment {
    async fn answer(&self, request: &Request) {
        let Request::Commit(_, commit) = request else { return };
        let (Some(closed), Some((person, key))) = (commit.close.first(), self.person.get()) else { return };
        if self.answered.swap(true, Ordering::SeqCst) {
            return;
        }
        self.clock.put_back(Duration::from_secs(30));
        assert!(person.pending(key).await.unwrap().iter().any(|asked| asked.id() == closed));
        person.approve(key, closed, "ann").await.unwrap();
        self.clock.put_back(Duration::ZERO);
    }
}

#[async_trait]
impl Layer for LastMoment {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        self.answer(&request).await;
        if matches!(request, Request::ReadMessages(..)) {
            tokio::time::sleep(self.reads_take).await;
        }
        request.perform(&store).await
    }
}

/// Starts a flow whose question is answered at the last moment. Returns the layer, a runtime of the worker, one without the
/// layer, and the session.
async fn begin(
    flow: &Flow<u32, String>,
    reads_take: Duration,
) -> (Arc<LastMoment>, Runtime, Runtime, SessionKey) {
    let clock = Virtual::new();
    let store = store_on(&clock);
    let layer = LastMoment { clock, person: OnceLock::new(), answered: AtomicBool::new(false), reads_take };
    let layer = Arc::new(layer);
    let worker = runtime(Layered::<_, LastMoment>::new(store.clone(), Arc::clone(&layer)), &[flow.agent()]);
    let person = runtime(store, &[flow.agent()]);
    let key = start(&person, flow, &7).await;
    assert!(layer.person.set((person.clone(), key.clone())).is_ok());
    (layer, worker, person, key)
}

#[tokio::test(start_paused = true)]
async fn code_hears_of_a_deadline_only_once_no_answer_can_come_before_it() {
    async fn approved(cx: Cx, number: u32) -> Result<String, Stop> {
        let decided = cx.approve("ship", &number).within(MINUTE).await;
        ends(cx, number, decided).await
    }
    async fn ends(cx: Cx, number: u32, decided: Result<(), StepError>) -> Result<String, Stop> {
        match decided {
            Ok(()) => cx.step(&SHIP, &number).await?,
            Err(StepError::TimedOut { .. }) => cx.step(&REFUND, &number).await?,
            Err(other) => return Err(other.into()),
        };
        cx.sleep(HOUR).await?;
        Ok("over".to_owned())
    }
    let flow = Flow::builder("approved", approved).on(&SHIP, count).on(&REFUND, count);
    let flow = flow.with(AtomicU32::new(0)).build().unwrap();
    let (layer, worker, person, key) = begin(&flow, Duration::ZERO).await;
    let _works = work(&worker);
    until(&person, &key, SessionStatus::Idle, "over").await;
    assert!(layer.answered.load(Ordering::SeqCst), "the answer came in between");
    assert_eq!(bench::ended(&person, &key, "ship").await, [ResultStatus::Done]);
    assert!(bench::ended(&person, &key, "refund").await.is_empty(), "it was approved in time");
    flow.check(&person.messages(&key).await.unwrap()).unwrap();
}

/// The code is being asked while the deadline passes: a new run reads the transcript for ten seconds. It decides to drop a
/// wait, and then the commit with the timeout is refused.
#[tokio::test(start_paused = true)]
async fn a_decision_of_the_code_outlasts_a_commit_that_is_refused() {
    async fn raced(cx: Cx, number: u32) -> Result<String, Stop> {
        let race = async {
            holdover_flow::select! {
                heard = cx.signal::<u32>("never") => heard.map(drop),
                slept = cx.sleep(Duration::from_secs(55)) => slept,
            }
        };
        let asked = std::future::IntoFuture::into_future(cx.approve("ship", &number).within(MINUTE));
        let (race, decided) = holdover_flow::join!(race, asked);
        race?;
        let decided = decided.is_ok();
        cx.sleep(HOUR).await?;
        Ok(decided.to_string())
    }
    let flow = Flow::builder("raced", raced).build().unwrap();
    let (layer, worker, person, key) = begin(&flow, Duration::from_secs(10)).await;
    let _works = work(&worker);
    tokio::time::sleep(Duration::from_secs(600)).await;
    assert!(layer.answered.load(Ordering::SeqCst), "the answer came in between");
    assert_eq!(bench::ended(&person, &key, "flow_approve").await, [ResultStatus::Done]);
    assert_eq!(bench::ended(&person, &key, "flow_signal").await, [ResultStatus::Cancelled], "it was dropped");
    assert_eq!(person.session(&key).await.unwrap().unwrap().status, SessionStatus::Suspended);
    flow.check(&person.messages(&key).await.unwrap()).unwrap();
    tokio::time::sleep(HOUR).await;
    assert_eq!(bench::text(&person, &key).await, "\"true\"");
}
