//! The process that works for an engine dies at each of its calls of the store, and another process takes over.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::message::ResultStatus;
use holdover_core::store::{Answer, Layer, Layered, Request, SessionStatus, StateStore, StoreError};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Agents, Runtime, WorkerOptions};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::fake::{Fake, HEARTBEAT};
use crate::bench::{agent, asking_for, only_pending, say, store, tool_results, worker};
use crate::script::Script;
use crate::tools;

/// A process that dies at its call number `at` of the store, counted from 1.
struct Mortal {
    at: usize,
    /// True if the call is answered in the store before the process dies.
    after: bool,
    calls: AtomicUsize,
    died: CancellationToken,
}

#[async_trait]
impl Layer for Mortal {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.died.is_cancelled() {
            return pending().await;
        }
        // Waits for hints are no step of the work.
        let counts = !matches!(request, Request::Wait(..));
        if counts && self.calls.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.died.cancel();
            if self.after {
                drop(request.perform(&store).await);
            }
            return pending().await;
        }
        request.perform(&store).await
    }
}

/// Returns true if the process died.
async fn story(at: usize, after: bool, nudges: bool) -> bool {
    let told = format!("dies at {at}, after {after}, the front wakes the engine: {nudges}");
    let tool = tools::Fake::echo("pay").effect(EffectClass::AtMostOnce);
    let model = Script::calling(vec![("pay", "{}")]);
    let agent = Arc::new(agent(&model).tool(tool.clone()).gate(asking_for("pay")).build().unwrap());
    let agents = || Agents::new().with(Arc::clone(&agent));
    let (store, engine) = (store(), Fake::default());
    let mortal = Arc::new(Mortal { at, after, calls: AtomicUsize::new(0), died: CancellationToken::new() });
    let first = Runtime::new(
        Layered::<_, Mortal>::new(store.clone(), Arc::clone(&mortal)),
        agents(),
        engine.options(),
    );
    let heir = Runtime::new(store.clone(), agents(), engine.options());
    let options = if nudges { engine.options() } else { crate::bench::options().run_here(false) };
    let front = Runtime::new(store.clone(), agents(), options);

    let work = tokio::spawn({
        let (engine, died, heir) = (engine.clone(), mortal.died.clone(), heir.clone());
        async move { engine.work(|| if died.is_cancelled() { heir.clone() } else { first.clone() }).await }
    });
    // The net finds what the engine was not told of.
    let _net = worker(&heir, WorkerOptions::net());
    let key = front.start(say(&agent, "go")).await.unwrap().key;
    let rests = async |status: SessionStatus| {
        let began = Instant::now();
        while front.session(&key).await.unwrap().unwrap().status != status {
            tokio::time::sleep(Duration::from_millis(50)).await;
            let most = HEARTBEAT + 2 * WorkerOptions::NET_POLL + Duration::from_secs(30);
            assert!(began.elapsed() < most, "{told}: {:?}", front.session(&key).await);
        }
    };
    rests(SessionStatus::Suspended).await;
    let call = only_pending(&front, &key).await;
    front.approve(&key, &call, "ann").await.unwrap();
    rests(SessionStatus::Idle).await;
    work.abort();
    let results = tool_results(&front, &key).await;
    let status: Vec<_> = results.iter().map(|result| result.status).collect();
    let sent = tool.calls().len();
    match status[..] {
        [ResultStatus::Done] => assert_eq!(sent, 1, "{told}"),
        [ResultStatus::InDoubt] => assert!(mortal.died.is_cancelled() && sent <= 1, "{told}"),
        _ => panic!("{told}: {results:?}"),
    }
    mortal.died.is_cancelled()
}

async fn sweep(after: bool, nudges: bool) {
    let mut at = 1;
    while story(at, after, nudges).await {
        at += 1;
    }
    assert!(at > 8, "{at} calls: the story has become shorter");
}

#[tokio::test(start_paused = true)]
async fn a_worker_of_an_engine_dies_at_each_call_of_the_store() {
    sweep(false, true).await;
    sweep(true, true).await;
}

/// The process that writes dies before the engine is woken: then the net finds the session.
#[tokio::test(start_paused = true)]
async fn without_any_wake_up_the_net_serves_within_one_poll() {
    assert!(!story(usize::MAX, false, false).await);
}
