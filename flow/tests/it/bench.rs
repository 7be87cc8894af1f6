//! A store on virtual time, runtimes on it, and processes that die.

use std::future::pending;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::event::Event;
use holdover_core::ids::{PendingId, SessionKey, TenantId};
use holdover_core::message::{Message, ResultStatus, ToolResult};
use holdover_core::store::payload::Payload;
use holdover_core::store::{
    Answer, EventCursor, EventPage, Layer, Layered, MessageRange, NewMessage, Request, SessionStatus,
    StateStore, StateStoreExt, StoreError,
};
use holdover_core::time::{Clock, Timestamp};
use holdover_flow::Flow;
use holdover_runtime_local::{Agent, Agents, Runtime, RuntimeOptions, Worker, WorkerOptions};
use holdover_store_memory::{Limits, MemoryStore};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A clock that follows tokio's clock, and that a test can put back.
#[derive(Clone)]
pub(crate) struct Virtual {
    began: Instant,
    back_ms: Arc<AtomicI64>,
}

impl Virtual {
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), back_ms: Arc::default() }
    }

    /// Puts the clock back by this time, compared with the true one.
    pub(crate) fn put_back(&self, by: Duration) {
        self.back_ms.store(i64::try_from(by.as_millis()).unwrap(), Ordering::SeqCst);
    }
}

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        let now = Timestamp::from_ms(1_000_000).after(self.began.elapsed());
        Timestamp::from_ms(now.as_ms() - self.back_ms.load(Ordering::SeqCst))
    }
}

pub(crate) fn store() -> MemoryStore {
    store_on(&Virtual::new())
}

pub(crate) fn store_on(clock: &Virtual) -> MemoryStore {
    MemoryStore::with(clock.clone(), Limits::default())
}

pub(crate) fn tenant() -> TenantId {
    TenantId::new("t").unwrap()
}

pub(crate) fn runtime(store: impl StateStore, agents: &[&Arc<Agent>]) -> Runtime {
    let agents = agents.iter().fold(Agents::new(), |all, agent| all.with(Arc::clone(agent)));
    Runtime::new(store, agents, RuntimeOptions::default().effects_override(Some("memory".into())))
}

/// Counts the writes of runs, and lets a process die at one of them.
#[derive(Debug, Default)]
pub(crate) struct Process {
    /// The write at which the process dies, from 1. 0: it does not die.
    at: usize,
    /// The tool instead of whose first result the process dies.
    instead_of: Option<&'static str>,
    /// True if the write is applied before the process dies.
    after: bool,
    pub(crate) writes: AtomicUsize,
    pub(crate) died: CancellationToken,
}

impl Process {
    pub(crate) fn dying(at: usize, after: bool) -> Arc<Self> {
        Arc::new(Self { at, after, ..Self::default() })
    }

    /// A process that dies instead of the first write that holds a result of this tool.
    pub(crate) fn dying_instead_of(tool: &'static str) -> Arc<Self> {
        Arc::new(Self { instead_of: Some(tool), ..Self::default() })
    }

    /// Returns true if the process dies at this write.
    fn dies_at(&self, request: &Request) -> bool {
        let inline = |message: &NewMessage| match message {
            NewMessage::Inline(payload) => Some(payload.clone()),
            NewMessage::Promote(_) => None,
        };
        let written: Vec<Payload> = match request {
            Request::Commit(_, commit) => commit.messages.iter().filter_map(inline).collect(),
            Request::Stage(_, staging) => staging.results.iter().map(|one| one.payload.clone()).collect(),
            _ => return false,
        };
        let is_result = |payload: &Payload, tool: &str| matches!(payload.parse(), Ok(Message::Tool(result)) if result.tool == tool);
        let holds = |tool| written.iter().any(|payload| is_result(payload, tool));
        self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.at || self.instead_of.is_some_and(holds)
    }
}

#[async_trait]
impl Layer for Process {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.died.is_cancelled() {
            return pending().await;
        }
        if self.dies_at(&request) {
            self.died.cancel();
            if self.after {
                drop(request.perform(&store).await);
            }
            return pending().await;
        }
        request.perform(&store).await
    }
}

pub(crate) fn mortal<S: StateStore + Clone>(store: &S, process: &Arc<Process>) -> Layered<S, Process> {
    mortal_on(store.clone(), process)
}

pub(crate) fn mortal_on<S: StateStore>(store: S, process: &Arc<Process>) -> Layered<S, Process> {
    Layered::<_, Process>::new(store, Arc::clone(process))
}

/// A worker, until it is dropped.
pub(crate) struct Working(tokio::task::JoinHandle<()>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.abort();
    }
}

pub(crate) fn work(runtime: &Runtime) -> Working {
    works(Worker::new(runtime.clone(), WorkerOptions::default()))
}

/// A worker that runs one session at a time.
pub(crate) fn work_on_one(runtime: &Runtime) -> Working {
    works(Worker::new(runtime.clone(), WorkerOptions::default().max_running(NonZeroUsize::MIN)))
}

fn works(worker: Worker) -> Working {
    Working(tokio::spawn(async move {
        let _ = worker.run(CancellationToken::new()).await;
    }))
}

/// Lets the first runtime work until its process dies, and the heir from then on.
pub(crate) fn work_and_inherit(first: &Runtime, process: &Process, heir: &Runtime) -> Working {
    let (works, heir, died) = (work(first), heir.clone(), process.died.clone());
    Working(tokio::spawn(async move {
        died.cancelled().await;
        drop(works);
        let _works = work(&heir);
        pending().await
    }))
}

/// Starts a flow and leaves it to workers.
pub(crate) async fn start<I, O>(runtime: &Runtime, flow: &Flow<I, O>, input: &I) -> SessionKey
where
    I: Serialize + DeserializeOwned + Send + 'static,
    O: Serialize + DeserializeOwned + Send + 'static,
{
    runtime.start(flow.execute(tenant(), input).unwrap()).await.unwrap().key
}

/// Waits until the session has this status.
pub(crate) async fn until(runtime: &Runtime, key: &SessionKey, status: SessionStatus, told: &str) {
    let began = Instant::now();
    let is_over = async || {
        let session = runtime.session(key).await.unwrap().unwrap();
        // A session is idle before its turn, too.
        session.status == status && session.last_message.0 > 0
    };
    let mut wait = Duration::from_millis(50);
    while !is_over().await {
        tokio::time::sleep(wait).await;
        wait = (wait * 5 / 4).min(Duration::from_secs(1));
        assert!(
            began.elapsed() < Duration::from_secs(7_200),
            "{told}: {:?} {:?}\n{:#?}",
            runtime.session(key).await.unwrap().unwrap().status,
            runtime.wait(key).await,
            messages_in(runtime, key).await,
        );
    }
}

pub(crate) async fn messages_in(runtime: &Runtime, key: &SessionKey) -> Vec<Message> {
    let Some(session) = runtime.session(key).await.unwrap() else { return Vec::new() };
    let last = session.last_message;
    let range = MessageRange::new(holdover_core::ids::MessageSeq(1), last);
    let read = runtime.store().read_all_messages(key, &[range]).await.unwrap();
    read.into_iter().map(|stored| stored.payload.parse().unwrap()).collect()
}

pub(crate) async fn results(runtime: &Runtime, key: &SessionKey) -> Vec<ToolResult> {
    let messages = messages_in(runtime, key).await;
    let results = messages.into_iter().filter_map(|message| match message {
        Message::Tool(result) => Some(result),
        _ => None,
    });
    results.collect()
}

/// Returns the statuses of the calls of this tool, in the order of the transcript.
pub(crate) async fn ended(runtime: &Runtime, key: &SessionKey, tool: &str) -> Vec<ResultStatus> {
    let results = results(runtime, key).await;
    results.into_iter().filter(|result| result.tool == tool).map(|result| result.status).collect()
}

pub(crate) async fn text(runtime: &Runtime, key: &SessionKey) -> String {
    let messages = messages_in(runtime, key).await;
    let said = messages.iter().rev().find_map(|message| match message {
        Message::Assistant(said) if said.plan.is_none() => Some(said.text()),
        _ => None,
    });
    said.unwrap_or_default()
}

pub(crate) async fn pending_of(runtime: &Runtime, key: &SessionKey) -> Vec<PendingId> {
    let pending = runtime.pending(key).await.unwrap();
    pending.into_iter().map(|entry| entry.call.id).collect()
}

/// Returns the error with which the flow ended, as kind and text.
pub(crate) fn error_of(outcome: &RunOutcome) -> (String, String) {
    let RunOutcome::Ended(ending) = outcome else { panic!("not ended: {outcome:?}") };
    let error = ending.error.clone().unwrap_or_else(|| panic!("no error: {ending:?}"));
    (error.code, error.detail)
}

pub(crate) async fn events(runtime: &Runtime, key: &SessionKey) -> Vec<Event> {
    let page = runtime.store().read_events(key, &EventCursor::START, 1_000).await.unwrap();
    let EventPage::Events { events, .. } = page else { panic!("{page:?}") };
    events.into_iter().map(|stored| stored.payload.parse().unwrap()).collect()
}
