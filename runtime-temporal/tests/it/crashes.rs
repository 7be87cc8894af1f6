//! A worker dies at each call of the store, and a session kills each worker that runs it.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::future::pending;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::gate::{ApprovalRule, RuleAction};
use holdover_core::ids::SessionKey;
use holdover_core::message::{Message, ResultStatus};
use holdover_core::store::{
    Answer, Layer, Layered, OutcomeKind, PageRequest, Request, SessionStatus, StateStore, StoreError,
};
use holdover_core::tool::EffectClass;
use holdover_runtime_local::{Approval, Runtime};
use holdover_runtime_temporal::{TemporalOptions, workflow_id_of};

use tokio::time::{Instant, sleep};

use crate::bench::{Serving, begin, ends, file_store, key, runtime, runtime_leasing, shared, until};
use crate::cast::{Caller, DEADLY, Pay, agent};
use crate::program::Program;

/// The number of calls of the store at which workers die. A session needs fewer.
const CALLS: usize = 24;

/// The number of calls that each session needs at least.
const CALLS_MIN: usize = 10;

/// The sessions of the sweep, unless `HOLDOVER_CRASHES` sets another number. With half of them, a worker dies before every
/// other call, and after those in between. With twice as many as there are calls, it dies before and after each.
const SESSIONS: usize = CALLS;

/// The time for all sessions to end. It passes only on a busy machine.
const ALL_END: Duration = Duration::from_secs(300);

/// A worker dies in the session with this number: at this call of the store, counted from 1, and before or after it.
fn death(number: usize) -> (usize, bool) {
    (number % CALLS + 1, (number + number / CALLS) % 2 == 1)
}

fn session(number: usize) -> SessionKey {
    key("sweep", &number.to_string())
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
///
/// `HOLDOVER_CRASHES=48 cargo test -p holdover-runtime-temporal --test it crashes` runs the whole sweep.
#[tokio::test(flavor = "multi_thread")]
async fn r01_a_worker_dies_at_each_call_of_the_store_and_another_one_goes_on() {
    let sessions = std::env::var("HOLDOVER_CRASHES").map_or(SESSIONS, |count| count.parse().unwrap());
    let (folder, temporal) = (tempfile::tempdir().unwrap(), shared().options());
    let temporal = temporal.max_running(sessions.try_into().unwrap());
    let tool = Pay::new(EffectClass::AtMostOnce);
    let agent = agent("sweep", Caller::default(), &tool, vec![ApprovalRule::new("pay", RuleAction::Ask)]);
    let store = file_store(folder.path()).await;
    let mortal = Arc::new(Mortal::default());
    let doomed: Arc<dyn StateStore> =
        Arc::new(Layered::<Arc<dyn StateStore>, Mortal>::new(Arc::clone(&store), Arc::clone(&mortal)));
    let first = Program::start(&doomed, &agent, &temporal);
    let front = runtime(&store, &agent, &temporal);
    let keys: Vec<_> = (0..sessions).map(session).collect();
    for key in &keys {
        begin(&front, &agent, key).await;
    }
    let approved = RefCell::default();
    for_all(&keys, async |key| mortal.dead(key) || ended(&front, &approved, key).await).await;
    first.kill().await;
    let _second = Program::start(&store, &agent, &temporal);
    for_all(&keys, async |key| ended(&front, &approved, key).await).await;
    for key in &keys {
        let (results, sent) = (results(&front, key).await, tool.calls_of(key));
        match results[..] {
            [ResultStatus::Done] => assert_eq!(sent, 1, "{key}"),
            [ResultStatus::InDoubt] => assert!(mortal.dead(key) && sent <= 1, "{key}: sent {sent}"),
            _ => panic!("{key}: {results:?}"),
        }
    }
    // No workflow is left.
    let closed = "TaskQueue='holdover:sweep' AND ExecutionStatus='Completed'";
    shared().counts(closed, sessions as u64).await;
    let dead: BTreeSet<_> =
        (0..sessions).filter(|number| mortal.dead(&session(*number))).map(death).collect();
    // How many calls a session needs depends on the time, a little.
    let all = |calls: usize| (1..=calls).all(|at| dead.contains(&(at, false)) || dead.contains(&(at, true)));
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
        sleep(Duration::from_millis(50)).await;
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

async fn results(front: &Runtime, key: &SessionKey) -> Vec<ResultStatus> {
    let messages = front.messages(key).await.unwrap();
    let results = messages.iter().filter_map(|entry| match &entry.message {
        Message::Tool(result) => Some(result.status),
        Message::User(_)
        | Message::Assistant(_)
        | Message::Decision(_)
        | Message::Notice(_)
        | Message::Summary(_) => None,
    });
    results.collect()
}

/// The variables that tell a process of a test where it works.
const FOLDER: &str = "HOLDOVER_TEST_FOLDER";
const TEMPORAL: &str = "HOLDOVER_TEST_TEMPORAL_URL";

/// A process, which is killed at the end.
struct Process(Child);

impl Process {
    fn start(folder: &Path, temporal: &TemporalOptions) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "crashes::a_process_that_its_session_kills", "--ignored", "--nocapture"]);
        command.env(FOLDER, folder).env(TEMPORAL, temporal.address());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(command.spawn().unwrap())
    }

    /// Returns the exit code if the process has ended.
    fn ended(&mut self) -> Option<i32> {
        self.0.try_wait().unwrap().map(|status| status.code().unwrap())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A worker of the agent `deadly`, whose model ends the process.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "another test starts it as a process"]
async fn a_process_that_its_session_kills() {
    let folder = std::env::var(FOLDER).unwrap();
    let temporal = TemporalOptions::new(&std::env::var(TEMPORAL).unwrap()).unwrap();
    let model = Caller { deadly: true, ..Caller::default() };
    let agent = agent("deadly", model, &Pay::new(EffectClass::AtMostOnce), vec![]);
    let store = file_store(Path::new(&folder)).await;
    let runtime = runtime_leasing(&store, &[agent], &temporal, Duration::from_secs(1));
    Serving::begin(&runtime, &temporal).task.await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_a_session_that_kills_its_worker_processes_ends_after_five_deaths() {
    let (server, folder) = (shared(), tempfile::tempdir().unwrap());
    let temporal = server.options();
    let agent = agent("deadly", Caller::default(), &Pay::new(EffectClass::AtMostOnce), vec![]);
    let front = runtime(&file_store(folder.path()).await, &agent, &temporal);
    let key = key("deadly", "one");
    begin(&front, &agent, &key).await;
    for _ in 0..5 {
        let mut worker = Process::start(folder.path(), &temporal);
        assert_eq!(until("a death", async || worker.ended()).await, DEADLY);
    }
    let mut survivor = Process::start(folder.path(), &temporal);
    assert_eq!(ends(&front, &key).await, OutcomeKind::Failed);
    let letter = front.dead_letters(&key.tenant, PageRequest::default()).await.unwrap().items.remove(0);
    assert_eq!((letter.letter.error.code.as_str(), letter.letter.attempts), ("engine.poisoned", 5));
    // The workflow has ended, and shows how. Nothing of the session is left to do.
    server.becomes(&key, "COMPLETED").await;
    let of_it = format!("WorkflowId='{}' AND ", workflow_id_of(&key));
    server.counts(&format!("{of_it}HoldoverStatus='failed'"), 1).await;
    server.counts(&format!("{of_it}ExecutionStatus='Running'"), 0).await;
    assert_eq!(survivor.ended(), None);
}
