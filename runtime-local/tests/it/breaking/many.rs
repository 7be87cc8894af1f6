//! A circuit breaker that many processes use, some of which die.
//!
//! Requirements: U10.

use futures::future::join_all;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;
use holdover_runtime_local::AgentSource;

use super::*;
use crate::bench::options;

/// A layer that makes breaker records slow to reach.
struct Far;

#[async_trait]
impl Layer for Far {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if request.key().is_some_and(|key| key.tenant.as_str() == BREAKER_TENANT) {
            sleep(Duration::from_millis(5)).await;
        }
        request.perform(&store).await
    }
}

fn processes(many: usize, store: &Layered<impl StateStore + Clone, Far>, agent: &Arc<Agent>) -> Vec<Runtime> {
    (0..many).map(|_| runtime(store, agent)).collect()
}

#[tokio::test(start_paused = true)]
async fn u10_failures_of_many_processes_at_one_instant_are_all_counted() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let processes = processes(6, &Layered::new(store(), Far), &agent);
    let ended = join_all(processes[..4].iter().map(|process| ends(process, &agent))).await;
    assert!(ended.iter().all(|end| end == "model.provider"), "{ended:?}");
    sleep(Duration::from_secs(1)).await;
    // The fifth failure opens the breaker; processes that have not failed themselves see that too.
    assert_eq!(ends(&processes[0], &agent).await, "model.provider");
    assert_eq!(ends(&processes[5], &agent).await, "model.circuit_open");
    assert_eq!(provider.asked(), 5);
}

#[tokio::test(start_paused = true)]
async fn u10_of_many_processes_that_come_back_at_once_one_probes() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    // Too many processes for all to write, one after the other, in the time for which each one tries.
    let processes = processes(60, &Layered::new(store(), Far), &agent);
    open(&[&processes[0]], &agent).await;
    sleep(Duration::from_secs(31)).await;
    provider.is_back();
    let mut ended = join_all(processes.iter().map(|process| ends(process, &agent))).await;
    ended.sort();
    assert_eq!(ended[0], "completed", "the probe");
    assert!(ended[1..].iter().all(|end| end == "model.circuit_open"), "{ended:?}");
    assert_eq!(provider.asked(), 6);
}

/// An agent source with one agent. It does not declare which queues it serves, so workers serve all of them.
struct All(Arc<Agent>);

#[async_trait]
impl AgentSource for All {
    async fn agent(&self, queue: &QueueLabel, _: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        match queue == self.0.queue() {
            true => Ok(Arc::clone(&self.0)),
            false => Err(ErrorInfo::new("test.unknown", queue.to_string())),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn u10_what_a_dead_writer_left_is_no_workers_and_goes_when_the_model_answers() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let process = Runtime::new(store.clone(), All(Arc::clone(&agent)), options());
    let dies = async || {
        assert_eq!(ends(&process, &agent).await, "model.provider");
        let claimed = store.claim_session(&key(), dying()).await.unwrap();
        assert!(matches!(claimed, ClaimOutcome::Claimed(_)), "{claimed:?}");
        // The lease has ended, so the record is due for any worker that serves all queues.
        sleep(Duration::from_secs(3)).await;
    };
    dies().await;
    let left = store.load_session(&key()).await.unwrap().unwrap();
    let worker = worker(&process, WorkerOptions::default());
    sleep(Duration::from_secs(120)).await;
    assert_eq!(store.load_session(&key()).await.unwrap().unwrap(), left);
    drop(worker);

    provider.is_back();
    assert_eq!(ends(&process, &agent).await, "completed");
    assert_eq!(records(&process).await, 0);
}

/// A layer that makes breaker records unavailable while it is set.
#[derive(Clone, Default)]
struct AwayNow(Arc<AtomicBool>);

#[async_trait]
impl Layer for AwayNow {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let is_breaker = request.key().is_some_and(|key| key.tenant.as_str() == BREAKER_TENANT);
        if is_breaker && self.0.load(Ordering::SeqCst) {
            let away = StoreError::new(StoreErrorKind::Unavailable, request.operation(), "away");
            return Err(away.retry(Retry::Later));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn u10_a_probe_is_heard_although_the_store_was_away_while_it_asked() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let (memory, away) = (store(), AwayNow::default());
    let process = runtime(&Layered::new(memory.clone(), away.clone()), &agent);
    open(&[&process], &agent).await;
    sleep(Duration::from_secs(31)).await;
    let slow = Script::new(|_| Say::Slowly { pieces: vec![], apart: Duration::from_secs(5), whole: true });
    let slow = crate::bench::agent(&slow).breaker(BreakerRules::default()).build().unwrap();
    let probe = process.execute(say(&Arc::new(slow), "go")).await.unwrap();
    sleep(Duration::from_secs(2)).await;
    away.0.store(true, Ordering::SeqCst);
    // Meanwhile no process can read the breaker.
    assert_eq!(ends(&process, &agent).await, "model.provider");
    away.0.store(false, Ordering::SeqCst);
    assert_eq!(finish(probe).await.1.kind(), OutcomeKind::Completed);
    assert_eq!(records(&runtime(&memory, &agent)).await, 0);
}
