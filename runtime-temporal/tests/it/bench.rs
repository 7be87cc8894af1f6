//! Servers, and programs that use them.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use holdover_core::ids::{PendingId, SessionId, SessionKey, TenantId};
use holdover_core::store::{OutcomeKind, StateStore};
use holdover_launcher::{Launcher, Temporal};
use holdover_runtime_local::{Agent, Agents, CancellationToken, Execute, Runtime, RuntimeOptions};
use holdover_runtime_temporal::{STATUS_ATTRIBUTE, TemporalEngine, TemporalOptions, TemporalWorker};
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

/// The lease of the runs. A dead worker's session is taken over after it.
pub(crate) const LEASE: Duration = Duration::from_secs(2);

/// The time within which everything happens that a test waits for.
pub(crate) const PATIENCE: Duration = Duration::from_secs(45);

/// The interval of questions.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// Returns the server that the tests share which kill none.
pub(crate) fn shared() -> &'static Server {
    static SHARED: LazyLock<Server> = LazyLock::new(Server::new);
    &SHARED
}

/// A server of its own.
pub(crate) struct Server {
    _launcher: Launcher,
    pub(crate) temporal: Temporal,
}

impl Server {
    pub(crate) fn new() -> Self {
        Self::with(&[STATUS_ATTRIBUTE])
    }

    /// Returns a server with these search attributes.
    pub(crate) fn with(attributes: &[&str]) -> Self {
        let launcher = Launcher::new().unwrap();
        let temporal = launcher.temporal(attributes).unwrap();
        Self { _launcher: launcher, temporal }
    }

    pub(crate) fn options(&self) -> TemporalOptions {
        TemporalOptions::new(&self.temporal.url()).unwrap()
    }
}

pub(crate) async fn file_store(folder: &Path) -> Arc<dyn StateStore> {
    Arc::new(SqliteStore::open(SqliteOptions::new(folder.join("sessions.db"))).await.unwrap())
}

/// Returns a runtime that leaves the runs to Temporal.
pub(crate) fn runtime(
    store: &Arc<dyn StateStore>,
    agent: &Arc<Agent>,
    temporal: &TemporalOptions,
) -> Runtime {
    runtime_with(store, std::slice::from_ref(agent), temporal)
}

/// Returns a runtime with several agents.
pub(crate) fn runtime_with(
    store: &Arc<dyn StateStore>,
    agents: &[Arc<Agent>],
    temporal: &TemporalOptions,
) -> Runtime {
    runtime_leasing(store, agents, temporal, LEASE)
}

/// Returns a runtime whose runs have this lease.
pub(crate) fn runtime_leasing(
    store: &Arc<dyn StateStore>,
    agents: &[Arc<Agent>],
    temporal: &TemporalOptions,
    lease: Duration,
) -> Runtime {
    let engine = TemporalEngine::new(temporal.clone());
    let options = RuntimeOptions::default().lease(lease).engine(Some(Arc::new(engine))).run_here(false);
    let agents = agents.iter().fold(Agents::new(), |agents, agent| agents.with(Arc::clone(agent)));
    Runtime::new(Arc::clone(store), agents, options)
}

/// A worker in this process.
pub(crate) struct Serving {
    stop: CancellationToken,
    pub(crate) task: JoinHandle<usize>,
}

impl Serving {
    pub(crate) fn begin(runtime: &Runtime, temporal: &TemporalOptions) -> Self {
        let stop = CancellationToken::new();
        let worker = TemporalWorker::new(runtime.clone(), temporal.clone()).unwrap();
        Self { task: worker.spawn(stop.clone()), stop }
    }

    /// Stops the worker. Returns the number of runs that did not leave in time.
    pub(crate) async fn end(self) -> usize {
        self.stop.cancel();
        self.task.await.unwrap()
    }
}

pub(crate) fn key(tenant: &str, id: &str) -> SessionKey {
    SessionKey::new(TenantId::new(tenant).unwrap(), SessionId::new(id).unwrap())
}

/// Begins a session whose first message contains the [secret](crate::cast::SECRET).
pub(crate) async fn begin(runtime: &Runtime, agent: &Arc<Agent>, key: &SessionKey) {
    let text = format!("buy a {}", crate::cast::SECRET);
    let execute = Execute::new(key.tenant.clone(), Arc::clone(agent), text).in_session(key.id.clone());
    drop(runtime.execute(execute).await.unwrap());
}

/// Waits until somebody owes the session an answer.
pub(crate) async fn pending(runtime: &Runtime, key: &SessionKey) -> PendingId {
    until("an open request", async || {
        runtime.pending(key).await.unwrap().first().map(|first| first.id().clone())
    })
    .await
}

/// Waits for the end of the session's turn. Returns its kind.
pub(crate) async fn ends(runtime: &Runtime, key: &SessionKey) -> OutcomeKind {
    timeout(PATIENCE, runtime.wait(key)).await.unwrap().unwrap().kind()
}

/// Asks until there is an answer.
pub(crate) async fn until<T>(what: &str, ask: impl AsyncFnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, ask).await
}

/// Asks until there is an answer, for this long.
pub(crate) async fn until_within<T>(
    patience: Duration,
    what: &str,
    mut ask: impl AsyncFnMut() -> Option<T>,
) -> T {
    let began = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(began.elapsed() < patience, "waited in vain for {what}");
        sleep(ASK_EVERY).await;
    }
}
