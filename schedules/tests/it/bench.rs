//! A store on virtual time, programs with schedules on it, and processes that die.

use std::collections::BTreeMap;
use std::future::pending;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use chrono::DateTime;
use holdover_core::ids::{SessionId, SessionKey, TenantId};
use holdover_core::store::{
    Answer, Labels, Layer, Layered, Page, PageCursor, Request, SessionQuery, SessionStatus, SessionSummary,
    StateStore, StoreError,
};
use holdover_core::time::{Clock, Timestamp};
use holdover_core::tool::ToolError;
use holdover_flow::{Cx, Flow, Step, StepCx, Stop};
use holdover_runtime_local::{Agents, Runtime, RuntimeOptions, Signal, Worker, WorkerOptions};
use holdover_schedules::{Entry, SCHEDULE_LABEL, Schedule, ScheduleName, Schedules, Target, Times};
use holdover_store_memory::{Limits, MemoryStore};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) const MINUTE: Duration = Duration::from_secs(60);
pub(crate) const HOUR: Duration = Duration::from_secs(60 * 60);
/// A short lease, so that a session of a dead process soon goes on.
const LEASE: Duration = Duration::from_secs(5);
/// The pause between two looks of a slow worker.
pub(crate) const SLOWLY: Duration = Duration::from_secs(30);
pub(crate) const DAY: Duration = Duration::from_secs(24 * 60 * 60);

pub(crate) fn instant(text: &str) -> Timestamp {
    Timestamp::from(DateTime::parse_from_rfc3339(text).unwrap().to_utc())
}

/// A clock that follows tokio's clock from an instant on.
struct Virtual(Instant, Timestamp);

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        self.1.after(self.0.elapsed())
    }
}

/// Returns a store whose clock shows `now`.
pub(crate) fn store_at(now: &str) -> MemoryStore {
    MemoryStore::with(Virtual(Instant::now(), instant(now)), Limits::default())
}

pub(crate) fn tenant() -> TenantId {
    TenantId::new("t").unwrap()
}

pub(crate) fn name(text: &str) -> ScheduleName {
    ScheduleName::new(text).unwrap()
}

/// The effects of jobs, and what undid them, by their idempotency keys.
#[derive(Clone, Default)]
pub(crate) struct World {
    acted: Arc<Mutex<BTreeMap<String, u32>>>,
    undone: Arc<Mutex<BTreeMap<String, u32>>>,
}

impl World {
    /// Returns the number of different effects.
    pub(crate) fn effects(&self) -> usize {
        self.acted.lock().unwrap().len()
    }

    /// Returns the number of effects that were undone.
    pub(crate) fn undone(&self) -> usize {
        self.undone.lock().unwrap().len()
    }
}

const ACT: Step<String, ()> = Step::idempotent("act");
const UNDO: Step<String, ()> = Step::idempotent("undo");
/// The time that the undo of a slow job takes: longer than a call has to end once its turn is stopped.
pub(crate) const UNDOING: Duration = Duration::from_secs(8);

/// Acts at once, or once somebody says that it may. A job that is stopped meanwhile is undone.
async fn job(cx: Cx, kind: String) -> Result<(), Stop> {
    let mut saga = cx.saga();
    saga.step(&ACT, &kind, &UNDO).await?;
    if kind != "short"
        && let Err(stopped) = cx.signal::<()>("done").await
    {
        return saga.undo(stopped).await;
    }
    Ok(())
}

fn job_on(world: &World) -> Flow<String, ()> {
    async fn act(cx: StepCx, _: String) -> Result<(), ToolError> {
        let world = cx.get::<World>()?;
        *world.acted.lock().unwrap().entry(cx.idempotency_key().to_owned()).or_default() += 1;
        Ok(())
    }
    async fn undo(cx: StepCx, kind: String) -> Result<(), ToolError> {
        let world = cx.get::<World>()?;
        if kind == "slow" {
            tokio::time::sleep(UNDOING).await;
        }
        *world.undone.lock().unwrap().entry(cx.idempotency_key().to_owned()).or_default() += 1;
        Ok(())
    }
    let flow = Flow::builder("job", job).version("7").on(&ACT, act).on(&UNDO, undo);
    flow.with(world.clone()).build().unwrap()
}

/// One process.
pub(crate) struct Program {
    pub(crate) runtime: Runtime,
    pub(crate) schedules: Schedules,
    pub(crate) job: Flow<String, ()>,
}

impl Program {
    pub(crate) fn on(store: Arc<dyn StateStore>, world: &World) -> Self {
        let options = RuntimeOptions::default().effects_override(Some("memory".into())).lease(LEASE);
        let schedules = Schedules::new(Arc::clone(&store), options.clone()).unwrap();
        let job = job_on(world);
        let agents = Agents::new().with(Arc::clone(schedules.agent())).with(Arc::clone(job.agent()));
        Self { runtime: Runtime::new(store, agents, options), schedules, job }
    }

    /// Returns a process on a new store.
    pub(crate) fn at(now: &str) -> (MemoryStore, Self) {
        let store = store_at(now);
        let program = Self::on(Arc::new(store.clone()), &World::default());
        (store, program)
    }

    /// Returns the target whose sessions act and end.
    pub(crate) fn short(&self) -> Target {
        Target::flow(&self.job, &"short".to_owned()).unwrap()
    }

    /// Returns the target whose sessions act and wait for a signal.
    pub(crate) fn long(&self) -> Target {
        Target::flow(&self.job, &"long".to_owned()).unwrap()
    }

    /// Returns the target whose sessions act and wait for a signal, and take their time to undo.
    pub(crate) fn slow(&self) -> Target {
        Target::flow(&self.job, &"slow".to_owned()).unwrap()
    }

    /// Adds a schedule.
    pub(crate) async fn add(&self, text: &str, schedule: &Schedule) {
        self.schedules.add(&tenant(), &name(text), schedule).await.unwrap();
    }

    pub(crate) async fn entry(&self, text: &str) -> Entry {
        self.schedules.get(&tenant(), &name(text)).await.unwrap().unwrap()
    }

    /// Runs a worker that looks at the store each second.
    pub(crate) fn work(&self) -> Working {
        self.work_looking(Duration::from_secs(1))
    }

    /// Runs a worker that looks at the store less often, for tests that take days.
    pub(crate) fn work_slowly(&self) -> Working {
        self.work_looking(SLOWLY)
    }

    fn work_looking(&self, each: Duration) -> Working {
        let worker = Worker::new(self.runtime.clone(), WorkerOptions::default().poll(each));
        let stops = CancellationToken::new();
        let token = stops.clone();
        let works = tokio::spawn(async move {
            let _ = worker.run(token).await;
        });
        Working { works, stops }
    }

    /// Returns the sessions that a schedule started, the oldest first.
    pub(crate) async fn sessions(&self, text: &str) -> Vec<SessionSummary> {
        let mut query = SessionQuery::all(tenant());
        query.labels = Labels::from_iter([(SCHEDULE_LABEL, text)]);
        let mut found = Vec::new();
        loop {
            let page = self.runtime.list(&query).await.unwrap();
            found.extend(page.items);
            match page.next {
                Some(next) => query.page.after = Some(next),
                None => break,
            }
        }
        found.reverse();
        found
    }

    /// Returns the instants of these sessions, as their ids name them, in the order of their creation.
    pub(crate) async fn instants(&self, text: &str) -> Vec<String> {
        let of = format!("{text}:");
        let sessions = self.sessions(text).await;
        sessions.iter().map(|session| session.key.id.as_str().replace(&of, "")).collect()
    }

    pub(crate) async fn status(&self, id: &str) -> SessionStatus {
        let key = SessionKey::new(tenant(), SessionId::new(id).unwrap());
        self.runtime.session(&key).await.unwrap().unwrap().status
    }

    /// Lets a long job end.
    pub(crate) async fn done(&self, id: &str) {
        let key = SessionKey::new(tenant(), SessionId::new(id).unwrap());
        self.runtime.signal(&key, Signal::new("done").unwrap()).await.unwrap();
    }
}

/// Returns the instant of an id.
pub(crate) fn instant_of(id: &SessionId) -> Timestamp {
    let text = id.as_str().rsplit_once(':').unwrap().1;
    let time = chrono::NaiveDateTime::parse_from_str(text, "%Y%m%dT%H%M%SZ").unwrap();
    Timestamp::from(time.and_utc())
}

pub(crate) fn every(interval: Duration) -> Times {
    Times::every(interval).unwrap()
}

pub(crate) fn cron(line: &str, zone: &str) -> Times {
    Times::cron(line, zone).unwrap()
}

/// A worker, until it is dropped: then it dies, and what it holds stays held.
pub(crate) struct Working {
    works: tokio::task::JoinHandle<()>,
    stops: CancellationToken,
}

impl Working {
    /// Lets the worker give back what it holds, and end.
    pub(crate) async fn stop(mut self) {
        self.stops.cancel();
        (&mut self.works).await.unwrap();
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.works.abort();
    }
}

/// Waits until this holds, for at most an hour.
pub(crate) async fn until(told: &str, holds: impl AsyncFn() -> bool) {
    let began = Instant::now();
    while !holds().await {
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert!(began.elapsed() < HOUR, "{told}");
    }
}

/// Counts the writes of a process, and lets it die at one of them.
#[derive(Default)]
pub(crate) struct Process {
    /// The write at which the process dies, from 1. 0: it does not die.
    at: usize,
    /// True if the write is applied before the process dies.
    after: bool,
    writes: AtomicUsize,
    pub(crate) died: CancellationToken,
}

impl Process {
    pub(crate) fn dying(at: usize, after: bool) -> Arc<Self> {
        Arc::new(Self { at, after, ..Self::default() })
    }
}

#[async_trait]
impl Layer for Process {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.died.is_cancelled() {
            return pending().await;
        }
        let writes = matches!(
            request,
            Request::Create(..)
                | Request::Deliver(..)
                | Request::Interrupt(..)
                | Request::Commit(..)
                | Request::Stage(..)
        );
        if writes && self.writes.fetch_add(1, Ordering::SeqCst) + 1 == self.at {
            self.died.cancel();
            if self.after {
                drop(request.perform(&store).await);
            }
            return pending().await;
        }
        request.perform(&store).await
    }
}

/// Holds the next request of an operation back until something else has happened.
pub(crate) struct Held {
    operation: &'static str,
    came: AtomicUsize,
    pub(crate) reached: CancellationToken,
    pub(crate) goes_on: CancellationToken,
}

impl Held {
    /// Returns a store that holds back the next `operation`.
    pub(crate) fn at(store: &MemoryStore, operation: &'static str) -> (Arc<dyn StateStore>, Arc<Self>) {
        let (reached, goes_on) = (CancellationToken::new(), CancellationToken::new());
        let held = Arc::new(Self { operation, came: AtomicUsize::new(0), reached, goes_on });
        (Arc::new(Layered::<_, Self>::new(store.clone(), Arc::clone(&held))), held)
    }
}

#[async_trait]
impl Layer for Held {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if request.operation() == self.operation && self.came.fetch_add(1, Ordering::SeqCst) == 0 {
            self.reached.cancel();
            self.goes_on.cancelled().await;
        }
        request.perform(&store).await
    }
}

/// A store with short pages: the first page of each list of sessions is empty, and the others have half of what was asked for.
struct ShortPages;

#[async_trait]
impl Layer for ShortPages {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let Request::ListSessions(mut query) = request else { return request.perform(&store).await };
        let begin = PageCursor::at(query.digest(), b"begin");
        match query.page.after.take() {
            None => return Ok(Page::<SessionSummary> { items: Vec::new(), next: Some(begin) }.into()),
            Some(after) => query.page.after = Some(after).filter(|after| *after != begin),
        }
        query.page.limit = NonZeroU32::new(query.page.rows().div_ceil(2));
        Request::ListSessions(query).perform(&store).await
    }
}

pub(crate) fn with_short_pages(store: &MemoryStore) -> Arc<dyn StateStore> {
    Arc::new(Layered::<_, ShortPages>::new(store.clone(), Arc::new(ShortPages)))
}

/// Counts the sessions in all lists of sessions.
#[derive(Default)]
pub(crate) struct Listed(AtomicUsize);

impl Listed {
    /// Returns the number since the last call.
    pub(crate) fn take(&self) -> usize {
        self.0.swap(0, Ordering::SeqCst)
    }
}

#[async_trait]
impl Layer for Listed {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        let answer = request.perform(&store).await;
        if let Ok(Answer::Sessions(page)) = &answer {
            self.0.fetch_add(page.items.len(), Ordering::SeqCst);
        }
        answer
    }
}

pub(crate) fn counting(store: &MemoryStore) -> (Arc<dyn StateStore>, Arc<Listed>) {
    let listed = Arc::new(Listed::default());
    (Arc::new(Layered::<_, Listed>::new(store.clone(), Arc::clone(&listed))), listed)
}

pub(crate) fn mortal(store: &MemoryStore, process: &Arc<Process>) -> Arc<dyn StateStore> {
    Arc::new(Layered::<_, Process>::new(store.clone(), Arc::clone(process)))
}
