//! A store on virtual time, and runtimes on it.

use std::io::{Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::gate::{ApprovalRule, RuleAction, RuleGate};
use holdover_core::ids::{PendingId, SessionKey, TenantId};
use holdover_core::message::{Message, ResultStatus, ToolResult};
use holdover_core::store::{Answer, Layer, Layered, OutcomeKind, Request, StateStore, StoreError};
use holdover_core::time::{Clock, Timestamp};
use holdover_runtime_local::{
    Agent, AgentBuilder, Agents, Execute, RunHandle, Runtime, RuntimeOptions, Worker, WorkerOptions,
};
use holdover_store_memory::{Limits, MemoryStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::script::Script;

/// A clock that follows tokio's clock, so that pausing tokio's time pauses the store's time too.
struct Virtual {
    began: Instant,
    _watch: Watch,
}

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        store_now(self.began)
    }
}

/// Returns the time on the clock of a store that was made at `began`.
pub(crate) fn store_now(began: Instant) -> Timestamp {
    Timestamp::from_ms(1_000_000).after(began.elapsed())
}

pub(crate) fn store() -> MemoryStore {
    store_for(REAL_TIME_MAX)
}

/// Returns a store that a test may use for this long, in real time.
pub(crate) fn store_for(real_time_max: Duration) -> MemoryStore {
    MemoryStore::with(
        Virtual { began: Instant::now(), _watch: Watch::begin(real_time_max) },
        Limits::default(),
    )
}

/// The longest real time for which a test may use a store, unless it says otherwise. Virtual time would run on for ever
/// if an awaited event never came. A test that exceeds this limit ends the whole test program, which prints the test's
/// name.
pub(crate) const REAL_TIME_MAX: Duration = Duration::from_secs(120);

/// A watchdog that ends the program unless it is dropped in time.
pub(crate) struct Watch(#[expect(dead_code, reason = "dropping it says that the test is over")] Sender<()>);

impl Watch {
    fn begin(real_time_max: Duration) -> Self {
        let (over, waits) = channel();
        let test = thread::current().name().unwrap_or("a test").to_owned();
        thread::spawn(move || {
            if waits.recv_timeout(real_time_max) == Err(RecvTimeoutError::Timeout) {
                // `eprintln` is not used, because the output of a test is held back until the test is over.
                let _ = writeln!(
                    stderr(),
                    "{test}: not over after {real_time_max:?}: what it waits for does not come"
                );
                std::process::exit(101);
            }
        });
        Self(over)
    }
}

#[async_trait]
impl Layer for Watch {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        request.perform(&store).await
    }
}

/// Opens a store in a file, which runs in real time, with the same time limit.
pub(crate) async fn file_store(file: impl AsRef<Path>) -> Layered<SqliteStore, Watch> {
    let store = SqliteStore::open(SqliteOptions::new(file)).await.unwrap();
    Layered::new(store, Watch::begin(REAL_TIME_MAX))
}

pub(crate) fn options() -> RuntimeOptions {
    RuntimeOptions::default().effects_override(Some("memory".into()))
}

/// Returns a runtime that knows this agent.
pub(crate) fn runtime(store: &(impl StateStore + Clone), agent: &Arc<Agent>) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    Runtime::new(Arc::new(store.clone()), Arc::new(agents), options())
}

/// Returns a runtime that knows no agent.
pub(crate) fn agentless(store: &(impl StateStore + Clone)) -> Runtime {
    Runtime::new(Arc::new(store.clone()), Arc::new(Agents::new()), options())
}

pub(crate) fn agent(model: &Script) -> AgentBuilder {
    Agent::builder("tester").instructions("Test.").model(model.clone())
}

pub(crate) fn asking_for(tool: &str) -> RuleGate {
    RuleGate::new(vec![ApprovalRule::new(tool, RuleAction::Ask)])
}

pub(crate) fn tenant() -> TenantId {
    TenantId::new("acme").unwrap()
}

pub(crate) fn say(agent: &Arc<Agent>, text: &str) -> Execute {
    Execute::new(tenant(), Arc::clone(agent), text)
}

/// Waits for the outcome of a turn: its end, or the input from outside that it needs.
pub(crate) async fn finish(run: RunHandle) -> (SessionKey, RunOutcome) {
    let key = run.key().clone();
    (key, run.outcome().await.unwrap())
}

pub(crate) async fn completes(run: RunHandle) -> SessionKey {
    let (key, outcome) = finish(run).await;
    assert_eq!(outcome.kind(), OutcomeKind::Completed, "{outcome:?}");
    key
}

pub(crate) async fn transcript(runtime: &Runtime, key: &SessionKey) -> Vec<Message> {
    runtime.messages(key).await.unwrap().into_iter().map(|entry| entry.message).collect()
}

pub(crate) async fn tool_results(runtime: &Runtime, key: &SessionKey) -> Vec<ToolResult> {
    let results = transcript(runtime, key).await.into_iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.collect()
}

pub(crate) async fn only_result(runtime: &Runtime, key: &SessionKey) -> (ResultStatus, String) {
    let mut results = tool_results(runtime, key).await;
    assert_eq!(results.len(), 1, "{results:?}");
    let result = results.remove(0);
    (result.status, result.content)
}

/// Returns the id of the only pending call of the session.
pub(crate) async fn only_pending(runtime: &Runtime, key: &SessionKey) -> PendingId {
    let pending = runtime.pending(key).await.unwrap();
    assert_eq!(pending.len(), 1, "{pending:?}");
    pending[0].id().clone()
}

/// Runs a worker in its own task until the returned guard is dropped.
pub(crate) fn worker(runtime: &Runtime, options: WorkerOptions) -> tokio_util::sync::DropGuard {
    let stop = CancellationToken::new();
    let worker = Worker::new(runtime.clone(), options);
    tokio::spawn({
        let stop = stop.clone();
        async move { worker.run(stop).await }
    });
    stop.drop_guard()
}

/// Waits a millisecond, so that everything that takes no time has happened.
pub(crate) async fn settle() {
    tokio::time::sleep(Duration::from_millis(1)).await;
}
