//! The circuit breaker that all processes on a store share: all of them know what one has learned about a model.
//!
//! Requirements: C53, U10.

mod freed;
mod many;
mod servers;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::agent::{BreakerRules, Compaction, Retries};
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{RunId, SessionKey, TenantId, WorkerId};
use holdover_core::model::{Model, ModelError, ModelErrorKind, ModelRequest, ModelStream};
use holdover_core::store::{
    Answer, ClaimOne, ClaimOutcome, Layer, Layered, OutcomeKind, Request, Retry, SessionQuery, SessionStatus,
    StateStore, StoreError, StoreErrorKind,
};
use holdover_runtime_local::{Agent, Agents, BREAKER_TENANT, Runtime, WorkerOptions};
use holdover_store_layers::{Encrypted, EncryptionKey, KeyId, Keyring, PayloadCodec};
use tokio::time::{Instant, sleep};

use crate::bench::{agent, finish, options, runtime, say, store, worker};
use crate::script::{Say, Script};

/// A provider that can be out. It counts how often it is asked.
#[derive(Clone, Default)]
struct Provider {
    out: Arc<AtomicBool>,
    asked: Arc<AtomicU32>,
}

impl Provider {
    fn is_out() -> Self {
        let provider = Self::default();
        provider.out.store(true, Ordering::SeqCst);
        provider
    }

    fn is_back(&self) {
        self.out.store(false, Ordering::SeqCst);
    }

    fn asked(&self) -> u32 {
        self.asked.load(Ordering::SeqCst)
    }

    /// Returns a model that takes a second to answer, or fails at once if the provider is out.
    fn model(&self) -> Script {
        let provider = self.clone();
        Script::new(move |_| {
            provider.asked.fetch_add(1, Ordering::SeqCst);
            if provider.out.load(Ordering::SeqCst) {
                Say::Fail(ModelError::new(ModelErrorKind::Provider, "out"))
            } else {
                Say::Slowly { pieces: vec!["hello".into()], apart: Duration::from_secs(1), whole: true }
            }
        })
    }

    /// Returns an agent that asks the provider's model once per step and does not retry.
    fn agent(&self) -> Arc<Agent> {
        let agent = agent(&self.model()).retries(Retries::none()).breaker(BreakerRules::default());
        Arc::new(agent.build().unwrap())
    }
}

/// Runs a new turn and returns its error code, or `completed`.
async fn ends(runtime: &Runtime, agent: &Arc<Agent>) -> String {
    let (_, outcome) = finish(runtime.execute(say(agent, "go")).await.unwrap()).await;
    let RunOutcome::Ended(ending) = outcome else { panic!("the turn ends: {outcome:?}") };
    ending.error.map_or("completed".to_owned(), |error| error.code)
}

async fn records(runtime: &Runtime) -> usize {
    let query = SessionQuery::all(TenantId::new(BREAKER_TENANT).unwrap());
    runtime.store().list_sessions(&query).await.unwrap().items.len()
}

/// Opens the breaker by five failures in a row.
async fn open(runtimes: &[&Runtime], agent: &Arc<Agent>) {
    for round in 0..5 {
        assert_eq!(ends(runtimes[round % runtimes.len()], agent).await, "model.provider");
    }
}

#[tokio::test(start_paused = true)]
async fn u10_what_sessions_of_two_processes_found_out_a_third_process_knows() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let [one, two, three] = [(); 3].map(|()| runtime(&store, &agent));
    open(&[&one, &two], &agent).await;
    assert_eq!(ends(&three, &agent).await, "model.circuit_open");
    // Processes that read the breaker before it opened learn of it a second later.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ends(&one, &agent).await, "model.circuit_open");
    assert_eq!(ends(&two, &agent).await, "model.circuit_open");
    assert_eq!(provider.asked(), 5, "nobody asks");
}

#[tokio::test(start_paused = true)]
async fn u10_one_of_all_probes_and_its_answer_lets_all_through() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let [one, two] = [(); 2].map(|()| runtime(&store, &agent));
    open(&[&one, &two], &agent).await;
    sleep(Duration::from_secs(31)).await;
    provider.is_back();
    let asking = (0..8).map(|nth| ends(if nth % 2 == 0 { &one } else { &two }, &agent));
    let mut ended = futures::future::join_all(asking).await;
    ended.sort();
    assert_eq!(ended[0], "completed", "the probe");
    assert!(ended[1..].iter().all(|end| end == "model.circuit_open"), "{ended:?}");
    assert_eq!(provider.asked(), 6);
    // The breaker is closed, and its record is deleted.
    assert_eq!(records(&one).await, 0);
    sleep(Duration::from_secs(1)).await;
    for runtime in [&one, &two] {
        assert_eq!(ends(runtime, &agent).await, "completed");
    }
}

#[tokio::test(start_paused = true)]
async fn u10_a_probe_that_fails_holds_all_for_longer() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let runtime = runtime(&store, &agent);
    open(&[&runtime], &agent).await;
    sleep(Duration::from_secs(31)).await;
    assert_eq!(ends(&runtime, &agent).await, "model.provider", "the probe");
    sleep(Duration::from_secs(59)).await;
    assert_eq!(ends(&runtime, &agent).await, "model.circuit_open");
    sleep(Duration::from_secs(2)).await;
    assert_eq!(ends(&runtime, &agent).await, "model.provider", "the next probe");
    assert_eq!(provider.asked(), 7);
}

#[tokio::test(start_paused = true)]
async fn u10_a_session_that_is_held_rests_in_the_store_and_goes_on_by_itself() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let patient = agent_with_retries(&provider);
    let store = store();
    open(&[&runtime(&store, &agent)], &agent).await;
    let process = runtime(&store, &patient);
    let mut run = process.execute(say(&patient, "go")).await.unwrap();
    let parked = run.first_outcome().await.unwrap().unwrap();
    assert_eq!(parked.kind(), OutcomeKind::SuspendedUntil);
    let key = run.key().clone();
    drop(run);
    provider.is_back();
    let _worker = worker(&process, WorkerOptions::default());
    assert_eq!(process.wait(&key).await.unwrap().kind(), OutcomeKind::Completed);
    assert_eq!(provider.asked(), 6);
}

#[tokio::test(start_paused = true)]
async fn u10_a_provider_that_hangs_fails_and_so_does_a_probe_of_one() {
    let silent = Script::new(|_| Say::Nothing).silent_for(Duration::from_secs(10));
    let hangs = agent(&silent).retries(Retries::none()).breaker(BreakerRules::default()).build().unwrap();
    let hangs = Arc::new(hangs);
    let store = store();
    let process = runtime(&store, &hangs);
    for _ in 0..5 {
        assert_eq!(ends(&process, &hangs).await, "model.stalled");
    }
    assert_eq!(ends(&process, &hangs).await, "model.circuit_open");
    sleep(Duration::from_secs(31)).await;
    assert_eq!(ends(&process, &hangs).await, "model.stalled", "the probe");
    sleep(Duration::from_secs(58)).await;
    assert_eq!(ends(&process, &hangs).await, "model.circuit_open", "for twice as long from there on");
    sleep(Duration::from_secs(3)).await;
    assert_eq!(ends(&process, &hangs).await, "model.stalled");
}

#[tokio::test(start_paused = true)]
async fn u10_a_summary_that_takes_too_long_says_nothing_of_its_model() {
    let summaries = Arc::new(AtomicU32::new(0));
    let asked = Arc::clone(&summaries);
    let model = Script::new(move |request| {
        if request.system.contains("keep the notes") {
            asked.fetch_add(1, Ordering::SeqCst);
            return Say::Nothing;
        }
        Say::Text("hello")
    });
    let compaction = Compaction::default().kept_turns(1);
    let agent = agent(&model).retries(Retries::none()).breaker(BreakerRules::default());
    let agent = Arc::new(agent.compaction(compaction).build().unwrap());
    let process = runtime(&store(), &agent);
    let (key, _) = finish(process.execute(say(&agent, "go")).await.unwrap()).await;
    finish(process.execute(say(&agent, "go on").in_session(key.id.clone())).await.unwrap()).await;
    for _ in 0..5 {
        process.compact(&key).await.unwrap().outcome().await.unwrap();
    }
    assert_eq!(summaries.load(Ordering::SeqCst), 5);
    assert_eq!(ends(&process, &agent).await, "completed");
}

#[tokio::test(start_paused = true)]
async fn u10_an_adapter_that_panics_fails() {
    let panics = agent(&Script::new(|_| panic!("out of order"))).retries(Retries::none());
    let panics = Arc::new(panics.breaker(BreakerRules::default()).build().unwrap());
    let process = runtime(&store(), &panics);
    open(&[&process], &panics).await;
    assert_eq!(ends(&process, &panics).await, "model.circuit_open");
}

#[tokio::test(start_paused = true)]
async fn u10_a_turn_that_is_stopped_tells_nothing_and_a_stopped_probe_is_followed_by_another() {
    let provider = Provider::is_out();
    let own = provider.agent();
    let store = store();
    let process = runtime(&store, &own);
    let hangs = agent(&Script::new(|_| Say::Nothing)).breaker(BreakerRules::default()).build().unwrap();
    let hangs = Arc::new(hangs);
    let other = runtime(&store, &hangs);
    let stopped = async || {
        let run = other.execute(say(&hangs, "go")).await.unwrap();
        sleep(Duration::from_secs(10)).await;
        other.interrupt(run.key(), "enough").await.unwrap();
        assert_eq!(finish(run).await.1.kind(), OutcomeKind::Interrupted);
    };
    for _ in 0..4 {
        assert_eq!(ends(&process, &own).await, "model.provider");
    }
    stopped().await;
    assert_eq!(ends(&process, &own).await, "model.provider", "four failures and none, no fifth");
    assert_eq!(ends(&process, &own).await, "model.circuit_open");
    sleep(Duration::from_secs(31)).await;
    // This turn is the probe.
    stopped().await;
    provider.is_back();
    assert_eq!(ends(&process, &own).await, "model.circuit_open");
    sleep(Duration::from_secs(51)).await;
    assert_eq!(ends(&process, &own).await, "completed", "a minute after it began");
}

fn agent_with_retries(provider: &Provider) -> Arc<Agent> {
    Arc::new(agent(&provider.model()).breaker(BreakerRules::default()).build().unwrap())
}

#[tokio::test(start_paused = true)]
async fn c53_a_model_that_is_held_is_followed_by_the_next_at_once() {
    let provider = Provider::is_out();
    let own = provider.agent();
    let store = store();
    open(&[&runtime(&store, &own)], &own).await;
    let agent = agent(&provider.model()).breaker(BreakerRules::default()).fallback(Spare);
    let agent = Arc::new(agent.build().unwrap());
    let began = Instant::now();
    let runtime = runtime(&store, &agent);
    assert_eq!(ends(&runtime, &agent).await, "completed");
    assert!(began.elapsed() < Duration::from_secs(1));
    assert_eq!(provider.asked(), 5);
}

/// A model with another name.
struct Spare;

#[async_trait]
impl Model for Spare {
    fn name(&self) -> &str {
        "test:spare"
    }

    async fn stream(&self, request: ModelRequest) -> Result<ModelStream, ModelError> {
        Script::new(|_| Say::Text("the spare one")).stream(request).await
    }
}

#[tokio::test(start_paused = true)]
async fn u10_a_provider_that_refuses_lives() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let process = runtime(&store, &agent);
    for _ in 0..4 {
        assert_eq!(ends(&process, &agent).await, "model.provider");
    }
    let refusing = Script::new(|_| Say::Fail(ModelError::new(ModelErrorKind::Refused, "no")));
    let other = crate::bench::agent(&refusing).breaker(BreakerRules::default()).build().unwrap();
    let other = Arc::new(other);
    assert_eq!(ends(&runtime(&store, &other), &other).await, "model.refused");
    sleep(Duration::from_secs(1)).await;
    assert_eq!(ends(&process, &agent).await, "model.provider");
    assert_eq!(ends(&process, &agent).await, "model.provider", "the count began anew");
}

/// Returns the key of the record that holds the breaker of `test:script`.
fn key() -> SessionKey {
    SessionKey::new(TenantId::new(BREAKER_TENANT).unwrap(), "breaker test:script".parse().unwrap())
}

/// Returns a claim by a worker that dies at once.
fn dying() -> ClaimOne {
    ClaimOne {
        run: RunId::new("dies").unwrap(),
        worker: WorkerId::new("dies").unwrap(),
        lease: Duration::from_secs(2),
        expected_version: None,
        items: Vec::new(),
    }
}

#[tokio::test(start_paused = true)]
async fn u10_who_dies_while_he_writes_a_breaker_holds_nobody_up() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let process = runtime(&store, &agent);
    assert_eq!(ends(&process, &agent).await, "model.provider");
    let claimed = store.claim_session(&key(), dying()).await.unwrap();
    assert!(matches!(claimed, ClaimOutcome::Claimed(_)), "{claimed:?}");
    // This failure is not counted, and its turn ends as usual.
    assert_eq!(ends(&process, &agent).await, "model.provider");
    // The record's lease has ended, so the store offers it to workers. No worker may take it for a session.
    sleep(Duration::from_secs(3)).await;
    let _worker = worker(&process, WorkerOptions::default());
    sleep(Duration::from_secs(60)).await;
    for _ in 0..4 {
        assert_eq!(ends(&process, &agent).await, "model.provider");
    }
    assert_eq!(ends(&process, &agent).await, "model.circuit_open");
    let session = store.load_session(&key()).await.unwrap().unwrap();
    assert_eq!(session.status, SessionStatus::Idle);
}

#[tokio::test(start_paused = true)]
async fn u10_a_breaker_whose_key_is_missing_is_left_as_it_is() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = store();
    let ring = Keyring::of(KeyId(1), EncryptionKey::new([7; EncryptionKey::BYTES]));
    let keyed = Arc::new(Encrypted::new(ring).around(store.clone()));
    let able = Runtime::new(keyed, Agents::new().with(Arc::clone(&agent)), options());
    for _ in 0..3 {
        assert_eq!(ends(&able, &agent).await, "model.provider");
    }
    let before = store.load_session(&key()).await.unwrap().unwrap();
    let keyless = runtime(&store, &agent);
    for _ in 0..7 {
        assert_eq!(ends(&keyless, &agent).await, "model.provider", "it knows of no breaker");
    }
    let after = store.load_session(&key()).await.unwrap().unwrap();
    assert!(after.epoch > before.epoch, "it was to be written");
    assert_eq!((after.state, after.status), (before.state, SessionStatus::Idle));
    assert!(after.alarm.is_none(), "{:?}", after.alarm);
    // Processes that can read the record go on counting.
    for _ in 0..2 {
        assert_eq!(ends(&able, &agent).await, "model.provider");
    }
    assert_eq!(ends(&able, &agent).await, "model.circuit_open");
}

/// A layer that makes all breaker records unavailable.
#[derive(Default)]
struct Away {
    fired: AtomicU32,
}

#[async_trait]
impl Layer for Away {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let operation = request.operation();
        if request.key().is_some_and(|key| key.tenant.as_str() == BREAKER_TENANT) {
            self.fired.fetch_add(1, Ordering::SeqCst);
            return Err(StoreError::new(StoreErrorKind::Unavailable, operation, "away").retry(Retry::Later));
        }
        request.perform(&store).await
    }
}

#[tokio::test(start_paused = true)]
async fn u10_a_breaker_that_cannot_be_read_lets_all_through() {
    let provider = Provider::is_out();
    let agent = provider.agent();
    let store = Layered::new(store(), Away::default());
    let process = runtime(&store, &agent);
    for _ in 0..7 {
        assert_eq!(ends(&process, &agent).await, "model.provider");
    }
    assert!(store.layer().fired.load(Ordering::SeqCst) >= 7, "it was asked");
    provider.is_back();
    assert_eq!(ends(&process, &agent).await, "completed");
}

#[tokio::test(start_paused = true)]
async fn an_agent_without_a_breaker_asks_whatever_others_found_out() {
    let provider = Provider::is_out();
    let guarded = provider.agent();
    let store = store();
    open(&[&runtime(&store, &guarded)], &guarded).await;
    let agent = Arc::new(agent(&provider.model()).retries(Retries::none()).build().unwrap());
    assert_eq!(ends(&runtime(&store, &agent), &agent).await, "model.provider");
    assert_eq!(provider.asked(), 6);
}

#[test]
fn rules_that_cannot_be_meant_are_refused() {
    let rules = BreakerRules::default().probe_ms(0);
    let error = agent(&Provider::default().model()).breaker(rules).build().unwrap_err();
    assert_eq!(error.to_string(), "agent \"tester\": breaker.probe_ms: is zero");
}
