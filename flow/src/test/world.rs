//! The world of one run of a test: a store in memory, a clock that runs on by itself, and processes that may die.

use std::collections::BTreeMap;
use std::future::pending;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::RunOutcome;
use holdover_core::ids::{CallId, SessionKey, TenantId, ToolName};
use holdover_core::store::{Answer, Layer, Layered, Request, SessionStatus, StateStore, StoreError, Watch};
use holdover_core::time::{Clock, Timestamp};
use holdover_runtime_local::{Agent, Agents, Execute, RunObserver, Runtime, RuntimeError, RuntimeOptions};
use holdover_store_memory::{Limits, MemoryStore};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::TestError;
use super::people::{People, Rule};
use super::report::Seen;

/// The shortest and the longest pause between two looks of the people, if they hear nothing. They hear of everything but
/// requests of children.
const LOOK_MIN: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(60 * 60);

/// The write at which a process dies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Death {
    /// The number of the write, from 1.
    pub(super) at: usize,
    /// True if the store applies the write before the process dies.
    pub(super) after: bool,
}

/// One run of a test.
pub(super) struct World {
    pub(super) agent: Arc<Agent>,
    pub(super) input: String,
    pub(super) rules: Vec<Rule>,
    pub(super) within: Duration,
    pub(super) death: Option<Death>,
}

/// A clock that follows the clock of the async runtime.
#[derive(Clone, Copy)]
struct Virtual(Instant);

impl Clock for Virtual {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(1_000_000_000).after(self.0.elapsed())
    }
}

/// Counts the writes of a process, and lets it die at one of them. A dead process gets no answer any more.
struct Process {
    death: Option<Death>,
    writes: AtomicUsize,
    dead: CancellationToken,
}

#[async_trait]
impl Layer for Process {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if self.dead.is_cancelled() {
            return pending().await;
        }
        let writes = matches!(
            request,
            Request::Commit(..) | Request::Stage(..) | Request::Create(..) | Request::Deliver(..)
        );
        let number = self.writes.fetch_add(usize::from(writes), Ordering::Relaxed) + 1;
        if let Some(death) = self.death.filter(|death| writes && death.at == number) {
            self.dead.cancel();
            if death.after {
                drop(request.perform(&store).await);
            }
            return pending().await;
        }
        request.perform(&store).await
    }
}

/// Counts the calls that were sent, by their tools.
#[derive(Default)]
struct Sent(Mutex<BTreeMap<String, Vec<(SessionKey, CallId)>>>);

impl RunObserver for Sent {
    fn on_call_sent(&self, session: &SessionKey, call: &CallId, tool: &ToolName) {
        let mut sent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sent.entry(tool.to_string()).or_default().push((session.clone(), call.clone()));
    }
}

impl World {
    /// Plays the run in a thread of its own, so that it does not matter whether the test has an async runtime.
    pub(super) fn play(&self) -> Result<Seen, TestError> {
        let broken = |why: &dyn std::fmt::Display| TestError::World(why.to_string());
        let plays = || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .start_paused(true)
                .build()
                .map_err(|error| broken(&error))?;
            runtime.block_on(self.lives())
        };
        std::thread::scope(|scope| match scope.spawn(plays).join() {
            Ok(seen) => seen,
            Err(_) => Err(broken(&"its thread panicked")),
        })
    }

    async fn lives(&self) -> Result<Seen, TestError> {
        let refused = |what: &str| {
            let what = what.to_owned();
            move |source| TestError::refused(&what, source)
        };
        let began = Instant::now();
        let clock = Virtual(began);
        let store = MemoryStore::with(clock, Limits::default());
        let sent = Arc::new(Sent::default());
        let dead = CancellationToken::new();
        let process = Process { death: self.death, writes: AtomicUsize::new(0), dead: dead.clone() };
        let first = self.process(Layered::<_, Process>::new(store.clone(), Arc::new(process)), &sent);
        let heir = self.process(store, &sent);
        let tenant = TenantId::new("test").map_err(|error| TestError::World(error.to_string()))?;
        let begin = Execute::new(tenant, Arc::clone(&self.agent), self.input.clone());
        let key = heir.start(begin).await.map_err(refused("begin"))?.key;
        let mut people = People::new(&self.rules, clock.now());
        let mut serves = pin!(serve(&first, &heir, &key, &dead));
        let outcome = loop {
            let (next, passed) = (people.act(&heir, &key, clock.now()).await?, began.elapsed());
            let look = (passed / 50).clamp(LOOK_MIN, LOOK_MAX);
            let pause = next.map_or(look, |next| clock.now().until(next).min(look));
            tokio::select! {
                biased;
                outcome = &mut serves => break Some(outcome.map_err(refused("run"))?),
                () = sleep(pause) => {}
                _ = heir.store().wait_for_change(Watch::Session(key.clone()), pause) => {}
            }
            if passed >= self.within
                || (next.is_none() && is_stuck(&heir, &key).await.map_err(refused("look"))?)
            {
                break None;
            }
        };
        let entries = heir.messages(&key).await.map_err(refused("read"))?;
        let waits = heir.pending(&key).await.map_err(refused("read"))?;
        let sent = std::mem::take(&mut *sent.0.lock().unwrap_or_else(PoisonError::into_inner));
        let died = self.death.filter(|_| dead.is_cancelled());
        Ok(Seen { outcome, entries, waits, sent, elapsed: began.elapsed(), died })
    }

    fn process(&self, store: impl StateStore, sent: &Arc<Sent>) -> Runtime {
        let observer: Arc<dyn RunObserver> = Arc::<Sent>::clone(sent);
        let options =
            RuntimeOptions::default().effects_override(Some("memory".to_owned())).observer(Some(observer));
        Runtime::new(store, Agents::new().with(Arc::clone(&self.agent)), options)
    }
}

/// Runs the session until it has ended: in the first process, and once that is dead in the second one.
async fn serve(
    first: &Runtime,
    heir: &Runtime,
    key: &SessionKey,
    dead: &CancellationToken,
) -> Result<RunOutcome, RuntimeError> {
    tokio::select! {
        biased;
        () = dead.cancelled() => {}
        ended = until_over(first, key) => return ended,
    }
    until_over(heir, key).await
}

async fn until_over(runtime: &Runtime, key: &SessionKey) -> Result<RunOutcome, RuntimeError> {
    loop {
        let outcome = runtime.wait(key).await?;
        if matches!(outcome, RunOutcome::Ended(_)) {
            return Ok(outcome);
        }
        let changed = runtime.store().wait_for_change(Watch::Session(key.clone()), LOOK_MAX);
        // Whatever it says, the session is looked at again.
        drop(timeout(LOOK_MAX, changed).await);
    }
}

/// Returns true if the session waits for people or signals, and for no instant.
async fn is_stuck(runtime: &Runtime, key: &SessionKey) -> Result<bool, RuntimeError> {
    let Some(session) = runtime.session(key).await? else { return Ok(true) };
    let waits = session.status == SessionStatus::Suspended && session.alarm.is_none();
    Ok(waits && session.lease.is_none() && session.unread == 0)
}
