//! A worker dies at each call of the store, and a session kills each worker that runs it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::pending;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::ids::SessionKey;
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, PageRequest, Request, SessionStatus, StateStore, StoreError,
};
use holdover_launcher::free_port;
use holdover_runtime_local::{Agents, Approval, CancellationToken, Runtime};
use holdover_runtime_restate::{RestateOptions, RestateWorker, object_key};
use tokio::time::{Instant, sleep};

use crate::bench::{
    Balancer, Program, begin, file_store, front, memory, only_result, runtime_options, session, shared, sql,
    until, until_outcome,
};
use crate::clerk::{DEADLY, Desk};

/// The number of calls of the store at which workers die. A session needs fewer.
const CALLS: usize = 24;

/// The number of calls that each session needs at least.
const CALLS_MIN: usize = 10;

/// The sessions of the sweep: a worker dies before each call, and after each.
const SESSIONS: usize = 2 * CALLS;

/// The time for all sessions to end. It passes only on a busy machine.
const ALL_END: Duration = Duration::from_secs(300);

/// A worker dies in the session with this number: at this call of the store, counted from 1, and before or after it.
fn death(number: usize) -> (usize, bool) {
    (number % CALLS + 1, number >= CALLS)
}

/// A store that answers nothing more about a session from the death of its worker on.
#[derive(Default)]
struct Mortal {
    calls: Mutex<HashMap<SessionKey, usize>>,
    dead: Mutex<BTreeSet<SessionKey>>,
}

impl Mortal {
    fn dead(&self, key: &SessionKey) -> bool {
        self.dead.lock().unwrap().contains(key)
    }

    /// Counts a call about the session. Returns the number of the call.
    fn count(&self, key: &SessionKey) -> usize {
        let mut calls = self.calls.lock().unwrap();
        let calls = calls.entry(key.clone()).or_default();
        *calls += 1;
        *calls
    }
}

#[async_trait]
impl Layer for Mortal {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        // Waits for hints are no step of the work.
        let key = request.key().filter(|_| !matches!(request, Request::Wait(..))).cloned();
        let Some(key) = key else { return request.perform(&store).await };
        if self.dead(&key) {
            return pending().await;
        }
        let (at, after) = death(key.id.as_str().parse().unwrap());
        if self.count(&key) == at {
            if after {
                drop(request.perform(&store).await);
            }
            self.dead.lock().unwrap().insert(key);
            return pending().await;
        }
        request.perform(&store).await
    }
}

/// One worker dies in all sessions, in each at another call of the store; another one takes all of them over. A call is done
/// and was sent once, or it is in doubt.
#[tokio::test]
async fn r02_a_worker_dies_at_each_call_of_the_store_and_another_one_goes_on() {
    let (store, desk, balancer) = (memory(), Desk::open(), Balancer::new().await);
    let restate = shared().advertised_url(balancer.url.clone()).max_running(SESSIONS.try_into().unwrap());
    let agent = Arc::new(desk.clerk().build().unwrap());
    let mortal = Arc::new(Mortal::default());
    let doomed: Arc<dyn StateStore> =
        Arc::new(Layered::<Arc<dyn StateStore>, Mortal>::new(Arc::clone(&store), Arc::clone(&mortal)));
    let front = front(&store, &agent, &restate);
    let first = Program::listening(&doomed, &agent, &restate);
    balancer.add(first.address);
    first.registered(&restate).await;
    let mut keys = Vec::new();
    for number in 0..SESSIONS {
        keys.push(begin(&front, &agent, &number.to_string(), "pay").await);
    }
    let approved = RefCell::default();
    for_all(&keys, async |key| mortal.dead(key) || ended(&front, &approved, key).await).await;
    first.kill();
    let second = Program::listening(&store, &agent, &restate);
    balancer.add(second.address);
    for_all(&keys, async |key| ended(&front, &approved, key).await).await;
    for key in &keys {
        let sent = desk.calls().iter().filter(|call| call.session == *key).count();
        match only_result(&front, key).await.0.as_str() {
            "Done" => assert_eq!(sent, 1, "{key}"),
            "InDoubt" => assert!(mortal.dead(key) && sent <= 1, "{key}: sent {sent}"),
            status => panic!("{key}: {status}"),
        }
    }
    // No handler is left at work, and no state.
    let service = &restate.service;
    let open = format!(
        "SELECT id FROM sys_invocation WHERE status NOT IN ('scheduled', 'completed') \
         AND target_service_name LIKE '{service}.%'"
    );
    until(async || sql(&restate, &open).await.is_empty().then_some(())).await;
    let states = format!("SELECT key FROM state WHERE service_name LIKE '{service}.%'");
    assert_eq!(sql(&restate, &states).await, Vec::<serde_json::Value>::new());
    let dead = (0..SESSIONS).filter(|number| mortal.dead(&session(&number.to_string()))).map(death);
    let dead: BTreeSet<_> = dead.collect();
    // How many calls a session needs depends on the time, a little.
    let all = |calls: usize| (1..=calls).all(|at| dead.contains(&(at, false)) && dead.contains(&(at, true)));
    assert!(all(CALLS_MIN) && !all(CALLS), "the sweep is too short, or the sessions are: {dead:?}");
}

/// Waits until the condition has held for each session.
async fn for_all(keys: &[SessionKey], holds: impl AsyncFn(&SessionKey) -> bool) {
    let began = Instant::now();
    let mut left = keys.to_vec();
    while !left.is_empty() {
        assert!(began.elapsed() < ALL_END, "waited in vain for {left:?}");
        for key in std::mem::take(&mut left) {
            if !holds(&key).await {
                left.push(key);
            }
        }
        sleep(Duration::from_millis(20)).await;
    }
}

/// Approves what the session asks for, once. Returns true if its turn has ended.
async fn ended(front: &Runtime, approved: &RefCell<BTreeSet<SessionKey>>, key: &SessionKey) -> bool {
    let session = front.session(key).await.unwrap().unwrap();
    if session.status == SessionStatus::Suspended
        && let Some(asked) = front.pending(key).await.unwrap().first()
        && approved.borrow_mut().insert(key.clone())
    {
        front.approve(key, asked.id(), Approval::by("ada")).await.unwrap();
    }
    session.status == SessionStatus::Idle && session.unread == 0
}

/// The variables that tell a process of a test where it works.
const FILE: &str = "HOLDOVER_TEST_FILE";
const INGRESS: &str = "HOLDOVER_TEST_INGRESS";
const ADMIN: &str = "HOLDOVER_TEST_ADMIN";
const SERVICE: &str = "HOLDOVER_TEST_SERVICE";
const LISTEN: &str = "HOLDOVER_TEST_LISTEN";

/// A process, which is killed at the end.
struct Process(Mutex<Child>);

impl Process {
    fn start(file: &Path, restate: &RestateOptions) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "crashes::a_process_that_its_session_kills", "--ignored", "--nocapture"]);
        command.env(FILE, file).env(LISTEN, restate.listen.to_string()).env(SERVICE, &restate.service);
        command.env(INGRESS, &restate.ingress_url).env(ADMIN, &restate.admin_url);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(Mutex::new(command.spawn().unwrap()))
    }

    /// Returns the exit code if the process has ended.
    fn ended(&self) -> Option<i32> {
        self.0.lock().unwrap().try_wait().unwrap().map(|status| status.code().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.0.lock().unwrap();
        // It may have ended.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A worker whose model ends the process.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it as a process"]
async fn a_process_that_its_session_kills() {
    let variable = |name| std::env::var(name).unwrap();
    let restate = RestateOptions::default().ingress_url(variable(INGRESS)).admin_url(variable(ADMIN));
    let restate = restate.service(variable(SERVICE)).listen(variable(LISTEN).parse().unwrap());
    let agent = Arc::new(Desk::deadly().clerk().build().unwrap());
    let store = file_store(Path::new(&variable(FILE))).await;
    let options = runtime_options(&restate).lease(Duration::from_secs(1));
    let runtime = Runtime::new(store, Arc::new(Agents::new().with(agent)), options);
    RestateWorker::new(runtime, &restate).unwrap().run(CancellationToken::new()).await.unwrap();
}

#[tokio::test]
async fn r02_a_session_that_kills_its_worker_processes_ends_after_five_deaths() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sessions.db");
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
    let restate = shared().listen(listen);
    let agent = Arc::new(Desk::open().clerk().build().unwrap());
    let front = front(&file_store(&file).await, &agent, &restate);
    let key = begin(&front, &agent, "deadly", "say").await;
    for _ in 0..5 {
        let worker = Process::start(&file, &restate);
        assert_eq!(until(async || worker.ended()).await, DEADLY);
    }
    let survivor = Process::start(&file, &restate);
    until_outcome(&front, &key, OutcomeKind::Failed).await;
    let letter = front.dead_letters(&key.tenant, PageRequest::default()).await.unwrap().items.remove(0);
    assert_eq!((letter.letter.error.code.as_str(), letter.letter.attempts), ("engine.poisoned", 5));
    // No handler and no timer are left, and Restate shows how the session has ended.
    let of_it = format!("= '{}.clerk'", restate.service);
    let open = format!(
        "SELECT id FROM sys_invocation WHERE status <> 'completed' AND target_service_name {of_it} \
         AND target_service_key = '{}'",
        object_key(&key)
    );
    until(async || sql(&restate, &open).await.is_empty().then_some(())).await;
    let shown = sql(&restate, &format!("SELECT key, value_utf8 FROM state WHERE service_name {of_it}")).await;
    assert!(shown.iter().any(|row| row["key"] == "status" && row["value_utf8"] == "\"failed\""), "{shown:?}");
    assert!(shown.iter().all(|row| row["key"] != "timer"), "{shown:?}");
    assert_eq!(survivor.ended(), None);
}
