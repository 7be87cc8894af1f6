//! Programs on a real Restate server.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use holdover_core::ids::{PendingId, SessionId, SessionKey, TenantId};
use holdover_core::message::Message;
use holdover_core::store::{OutcomeKind, StateStore};
use holdover_launcher::{Launcher, Restate, free_port};
use holdover_runtime_local::{
    Agent, Agents, CancellationToken, Execute, Runtime, RuntimeOptions, Worker, WorkerOptions,
};
use holdover_runtime_restate::{RestateEngine, RestateOptions, RestateWorker};
use holdover_store_memory::MemoryStore;
use holdover_store_sqlite::{SqliteOptions, SqliteStore};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

/// The longest time that a test waits for something.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// The pause between two looks at something that a test waits for.
const LOOK: Duration = Duration::from_millis(20);

/// The server that tests share if they do not kill it.
pub(crate) fn shared() -> RestateOptions {
    static SERVER: LazyLock<(Launcher, Restate)> = LazyLock::new(|| {
        let launcher = Launcher::new().unwrap();
        let restate = launcher.restate().unwrap();
        (launcher, restate)
    });
    at(&SERVER.1)
}

/// Returns the options for a server. The services have names that no other test uses.
pub(crate) fn at(restate: &Restate) -> RestateOptions {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    RestateOptions::default()
        .ingress_url(restate.ingress_url())
        .admin_url(restate.admin_url())
        .service(format!("test-{}", TESTS.fetch_add(1, Ordering::Relaxed)))
        .shutdown_grace(Duration::from_secs(5))
}

pub(crate) fn memory() -> Arc<dyn StateStore> {
    Arc::new(MemoryStore::new())
}

pub(crate) async fn file_store(file: &Path) -> Arc<dyn StateStore> {
    Arc::new(SqliteStore::open(SqliteOptions::new(file)).await.unwrap())
}

/// Returns the options of a runtime that runs nothing itself.
pub(crate) fn runtime_options(restate: &RestateOptions) -> RuntimeOptions {
    RuntimeOptions::default()
        .effects_override(Some("memory".into()))
        .lease(Duration::from_secs(2))
        .engine(Some(Arc::new(RestateEngine::new(restate).unwrap())))
        .run_here(false)
}

/// Returns a runtime that serves nothing: the front of a service.
pub(crate) fn front(store: &Arc<dyn StateStore>, agent: &Arc<Agent>, restate: &RestateOptions) -> Runtime {
    let agents = Agents::new().with(Arc::clone(agent));
    Runtime::new(Arc::clone(store), Arc::new(agents), runtime_options(restate))
}

/// A program that serves sessions for Restate. It has a tokio runtime of its own, so that it can die at any instruction.
pub(crate) struct Program {
    tokio: Option<tokio::runtime::Runtime>,
    stop: CancellationToken,
    ended: tokio::sync::oneshot::Receiver<usize>,
    pub(crate) address: SocketAddr,
}

impl Program {
    /// Starts a program with this agent, and waits until Restate knows its service.
    pub(crate) async fn start(
        store: &Arc<dyn StateStore>,
        agent: &Arc<Agent>,
        restate: &RestateOptions,
    ) -> Self {
        Self::start_with(store, agent, restate, None).await
    }

    /// As [`start`](Self::start), and with a worker that looks at the store.
    pub(crate) async fn start_with(
        store: &Arc<dyn StateStore>,
        agent: &Arc<Agent>,
        restate: &RestateOptions,
        net: Option<WorkerOptions>,
    ) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        let program = Self::listening_on(store, agent, restate, address, net);
        program.registered(restate).await;
        program
    }

    /// Starts a program, and does not wait until Restate knows it.
    pub(crate) fn listening(
        store: &Arc<dyn StateStore>,
        agent: &Arc<Agent>,
        restate: &RestateOptions,
    ) -> Self {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
        Self::listening_on(store, agent, restate, address, None)
    }

    pub(crate) fn listening_on(
        store: &Arc<dyn StateStore>,
        agent: &Arc<Agent>,
        restate: &RestateOptions,
        address: SocketAddr,
        net: Option<WorkerOptions>,
    ) -> Self {
        let restate = restate.clone().listen(address);
        let tokio =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (stop, (tell, ended)) = (CancellationToken::new(), tokio::sync::oneshot::channel());
        let (store, agent, shutdown) = (Arc::clone(store), Arc::clone(agent), stop.clone());
        let own = runtime_options(&restate);
        tokio.spawn(async move {
            let runtime = Runtime::new(store, Arc::new(Agents::new().with(agent)), own);
            if let Some(net) = net {
                Worker::new(runtime.clone(), net).spawn(shutdown.clone());
            }
            let _ = tell.send(RestateWorker::new(runtime, &restate).unwrap().run(shutdown).await.unwrap());
        });
        Self { tokio: Some(tokio), stop, ended, address }
    }

    /// Waits until Restate calls this program, and returns the id of the deployment.
    pub(crate) async fn registered(&self, restate: &RestateOptions) -> String {
        let url = restate.advertised_url.clone().unwrap_or_else(|| format!("http://{}", self.address));
        until(async || deployment(restate, &url).await).await
    }

    /// Returns the id of the deployment, also if Restate calls another one for new work.
    pub(crate) async fn registered_as(&self, restate: &RestateOptions) -> String {
        let query = format!("SELECT id FROM sys_deployment WHERE endpoint LIKE 'http://{}%'", self.address);
        let rows = sql(restate, &query).await;
        rows.first().unwrap()["id"].as_str().unwrap().to_owned()
    }

    /// Returns the number of tasks of the program.
    pub(crate) fn tasks(&self) -> usize {
        self.tokio.as_ref().unwrap().metrics().num_alive_tasks()
    }

    /// Kills the program: nothing of it runs on.
    pub(crate) fn kill(mut self) {
        self.tokio.take().unwrap().shutdown_background();
    }

    /// Stops the program as an operator does. Returns the number of runs that were dropped.
    pub(crate) async fn stop(mut self) -> usize {
        self.stop.cancel();
        timeout(PATIENCE, &mut self.ended).await.unwrap().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        if let Some(tokio) = self.tokio.take() {
            tokio.shutdown_background();
        }
    }
}

/// Forwards connections to the first of several programs that listens, as a load balancer does.
pub(crate) struct Balancer {
    pub(crate) url: String,
    behind: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Balancer {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let behind = Arc::new(Mutex::new(Vec::new()));
        let programs = Arc::clone(&behind);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let programs: Vec<SocketAddr> = programs.lock().unwrap().clone();
                tokio::spawn(async move {
                    for program in programs {
                        if let Ok(mut server) = TcpStream::connect(program).await {
                            let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                            return;
                        }
                    }
                });
            }
        });
        Self { url, behind }
    }

    pub(crate) fn add(&self, program: SocketAddr) {
        self.behind.lock().unwrap().push(program);
    }
}

/// Repeats `condition` until it returns a value.
pub(crate) async fn until<T>(condition: impl AsyncFn() -> Option<T>) -> T {
    let comes = async {
        loop {
            if let Some(it) = condition().await {
                return it;
            }
            sleep(LOOK).await;
        }
    };
    timeout(PATIENCE, comes).await.unwrap()
}

/// Asks Restate in SQL. Repeats the question while Restate starts.
pub(crate) async fn sql(restate: &RestateOptions, query: &str) -> Vec<Value> {
    let (url, body) = (format!("{}/query", restate.admin_url), json!({ "query": query }).to_string());
    until(async || {
        let request = reqwest::Client::new().post(&url).header("accept", "application/json");
        let request = request.header("content-type", "application/json").body(body.clone());
        let answer = request.send().await.ok()?.error_for_status().ok()?;
        let answer: Value = serde_json::from_str(&answer.text().await.ok()?).unwrap();
        answer["rows"].as_array().cloned()
    })
    .await
}

/// Returns the id of the deployment at `url`, once Restate calls it for new work.
pub(crate) async fn deployment(restate: &RestateOptions, url: &str) -> Option<String> {
    let query = format!(
        "SELECT s.deployment_id AS id FROM sys_service s JOIN sys_deployment d ON d.id = s.deployment_id \
         WHERE d.endpoint LIKE '{url}%' AND s.name LIKE '{}.%'",
        restate.service
    );
    let rows = sql(restate, &query).await;
    rows.first().map(|row| row["id"].as_str().unwrap().to_owned())
}

pub(crate) fn session(name: &str) -> SessionKey {
    SessionKey::new(TenantId::new("acme").unwrap(), SessionId::new(name).unwrap())
}

/// Sends the first message of a session. Returns once it is in the store.
pub(crate) async fn begin(front: &Runtime, agent: &Arc<Agent>, name: &str, message: &str) -> SessionKey {
    let key = session(name);
    let message = format!("{message} {}", crate::clerk::SECRET);
    let request = Execute::new(key.tenant.clone(), Arc::clone(agent), message).in_session(key.id.clone());
    front.execute(request).await.unwrap().detach();
    key
}

/// Waits until the session has this outcome.
pub(crate) async fn until_outcome(front: &Runtime, key: &SessionKey, kind: OutcomeKind) {
    until(async || (front.wait(key).await.unwrap().kind() == kind).then_some(())).await;
}

/// Returns the only pending call of the session, once there is one.
pub(crate) async fn pending(front: &Runtime, key: &SessionKey) -> PendingId {
    until(async || front.pending(key).await.unwrap().first().map(|call| call.id().clone())).await
}

/// Returns the status and the content of the only result of the session.
pub(crate) async fn only_result(front: &Runtime, key: &SessionKey) -> (String, String) {
    let messages = front.messages(key).await.unwrap();
    let mut results = messages.iter().filter_map(|entry| match &entry.message {
        Message::Tool(result) => Some((format!("{:?}", result.status), result.content.clone())),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    let result = results.next().unwrap();
    assert_eq!(results.next(), None);
    result
}
