//! The effects of the lease, the fence and the store's clock on a run.
//!
//! Requirements: B07, D12, H01.

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::store::{Deletion, OutcomeKind, StateStore};
use holdover_core::time::Timestamp;
use holdover_core::tool::{
    Bound, EffectClass, ResourceProfile, Tool, ToolCall, ToolError, ToolOutput, ToolReturn, ToolSpec,
};
use holdover_runtime_local::{Agents, Runtime, WorkerOptions};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::bench::{agent, finish, options, runtime, say, settle, store, store_now, worker};
use crate::script::{Say, Script};
use crate::stub_store::{LATE, stumbling};
use crate::tools::{Fake, spec};

/// The interval at which a run renews its lease while a call is out.
const RENEWS_EVERY: Duration = Duration::from_secs(5);

#[tokio::test(start_paused = true)]
async fn a_stale_fence_that_a_renewal_hears_of_ends_the_run_in_the_middle_of_a_call() {
    let tool = Fake::stuck("act").timeout(Bound::Never).effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = store();
    let mut run = runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap();
    while tool.calls().is_empty() {
        settle().await;
    }
    let began = Instant::now();
    store.delete_session(run.key(), Deletion::FORCE).await.unwrap();
    let outcome = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(outcome.kind(), OutcomeKind::Lost);
    assert!(began.elapsed() <= 2 * RENEWS_EVERY, "{:?}", began.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_lease_is_a_second_at_least_and_a_day_at_most() {
    for (asked, granted) in [(Duration::ZERO, 1), (Duration::MAX, 24 * 60 * 60)] {
        let model = Script::new(|_| Say::Nothing);
        let agent = Arc::new(agent(&model).build().unwrap());
        let store = store();
        let agents = Arc::new(Agents::new().with(Arc::clone(&agent)));
        let options = options().lease(asked);
        let runtime = Runtime::new(Arc::new(store.clone()), agents, options);
        let run = runtime.execute(say(&agent, "go")).await.unwrap();
        let lease = store.load_session(run.key()).await.unwrap().unwrap().lease.unwrap();
        assert_eq!(lease.granted_ms, granted * 1_000, "{asked:?}");
    }
}

/// A tool that takes its time to prepare a call, and logs its phases.
#[derive(Clone)]
struct Slow {
    spec: ToolSpec,
    prepares_for: Duration,
    log: Arc<Mutex<Vec<&'static str>>>,
}

impl Slow {
    fn new(prepares_for: Duration) -> Self {
        let spec =
            ToolSpec { effect: EffectClass::AtMostOnce, timeout_ms: Some(Bound::Never), ..spec("act") };
        Self { spec, prepares_for, log: Arc::default() }
    }

    fn log(&self) -> Vec<&'static str> {
        self.log.lock().unwrap().clone()
    }
}

#[async_trait]
impl Tool for Slow {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn profile(&self, _arguments: &Value) -> ResourceProfile {
        ResourceProfile::Serial
    }

    async fn prepare(&self, _call: &ToolCall) -> Result<(), ToolError> {
        self.log.lock().unwrap().push("prepare");
        sleep(self.prepares_for).await;
        Ok(())
    }

    async fn call(&self, _call: ToolCall) -> Result<ToolReturn, ToolError> {
        self.log.lock().unwrap().push("act");
        Ok(ToolOutput::text("acted").into())
    }
}

/// The number of the commit that carries the intents of the first step. The commit before it begins the turn.
const INTENTS: u32 = 2;

#[tokio::test(start_paused = true)]
async fn a_call_is_not_even_made_ready_when_the_lease_has_ended_before_it() {
    let tool = Slow::new(Duration::ZERO);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = stumbling(store());
    store.layer().late_commit.store(INTENTS, Ordering::SeqCst);
    *store.layer().no_renewals_until.lock().unwrap() = Some(Instant::now() + 10 * LATE);
    let mut run = runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap();
    assert_eq!(run.first_outcome().await.unwrap().unwrap().kind(), OutcomeKind::Lost);
    assert!(store.layer().fired() >= 2);
    assert_eq!(tool.log(), Vec::<&str>::new());
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_made_ready_does_not_act_when_the_lease_has_ended_meanwhile() {
    let tool = Slow::new(LATE);
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).build().unwrap());
    let store = stumbling(store());
    // No renewal is answered in time. An error as the answer would not end the run while the lease runs.
    *store.layer().no_renewals_until.lock().unwrap() = Some(Instant::now() + 10 * LATE);
    let mut run = runtime(&store, &agent).execute(say(&agent, "go")).await.unwrap();
    assert_eq!(run.first_outcome().await.unwrap().unwrap().kind(), OutcomeKind::Lost);
    sleep(2 * LATE).await;
    assert!(store.layer().fired() >= 1);
    assert_eq!(tool.log(), ["prepare"]);
}

#[tokio::test(start_paused = true)]
async fn a_worker_claims_no_more_than_it_has_room_for() {
    const MOST: usize = 2;
    let (now, peak) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let tool = Fake::new("act", {
        let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
        move |_| {
            let (now, peak) = (Arc::clone(&now), Arc::clone(&peak));
            async move {
                peak.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                sleep(Duration::from_secs(20)).await;
                now.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text("acted").into())
            }
        }
    });
    let agent = agent(&Script::calling(vec![("act", "{}")])).tool(tool.clone());
    let agent = Arc::new(agent.build().unwrap());
    let store = store();
    let process = runtime(&store, &agent);
    let most = WorkerOptions::default().max_running(NonZeroUsize::new(MOST).unwrap());
    let _worker = worker(&process, most);
    // One session runs already when the others become due.
    let mut keys = vec![process.start(say(&agent, "go")).await.unwrap().key];
    while tool.calls().is_empty() {
        settle().await;
    }
    for _ in 0..4 {
        keys.push(process.start(say(&agent, "go")).await.unwrap().key);
    }
    sleep(Duration::from_secs(300)).await;
    assert_eq!(tool.calls().len(), keys.len(), "all have run");
    assert_eq!(peak.load(Ordering::SeqCst), MOST);
}

#[tokio::test(start_paused = true)]
async fn the_answer_to_a_repeated_commit_sets_the_clock_of_the_store_back_for_nobody() {
    let process: Arc<Mutex<Option<Runtime>>> = Arc::default();
    let began = Instant::now();
    let seen = Arc::new(Mutex::new(None));
    let tool = Fake::new("act", {
        let (process, seen) = (Arc::clone(&process), Arc::clone(&seen));
        move |_| {
            let heard: Option<Timestamp> = process.lock().unwrap().as_ref().map(Runtime::now);
            *seen.lock().unwrap() = Some((heard, store_now(began)));
            async { Ok(ToolOutput::text("acted").into()) }
        }
    });
    let model = Script::calling(vec![("act", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.effect(EffectClass::AtMostOnce)).build().unwrap());
    let store = stumbling(store());
    // The commit that the call waits for is applied, but its answer is lost. The repeat is answered much later.
    let late = Duration::from_secs(20);
    store.layer().late_commit.store(INTENTS, Ordering::SeqCst);
    *store.layer().late_by.lock().unwrap() = Some(late);
    store.layer().late_is_lost.store(true, Ordering::SeqCst);
    let runtime = runtime(&store, &agent);
    *process.lock().unwrap() = Some(runtime.clone());
    let (_, outcome) = finish(runtime.execute(say(&agent, "go")).await.unwrap()).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed);
    assert_eq!(store.layer().fired(), 1);
    let (heard, now) = seen.lock().unwrap().expect("it acted");
    let behind = heard.expect("there is a clock").until(now);
    assert!(behind < Duration::from_secs(1), "{behind:?} behind");
    // Breaks the cycle of runtime and tool, so that the store is dropped, and with it the watchdog of this test.
    process.lock().unwrap().take();
}
