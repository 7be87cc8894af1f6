//! The places in which sessions are kept: in memory and in a SQLite file, on virtual time, and on servers, on true time.

use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, mpsc};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use holdover_core::ids::QueueLabel;
use holdover_core::store::{Answer, Layer, Layered, Request, StateStore, StoreError};
use holdover_core::time::{Clock, Timestamp};
use holdover_flow::FlowBuilder;
use holdover_launcher::shared;
use holdover_runtime_local::{Agent, Agents, Runtime, RuntimeOptions};
use holdover_store_memory::MemoryStore;
use holdover_store_postgres::{PostgresOptions, PostgresStore};
use holdover_store_redis::{RedisOptions, RedisStore};
use holdover_store_sqlite::{SqliteOptions, SqliteStore, Synchronous};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::runtime::Builder;
use tokio::time::timeout;

use crate::bench::{self, Process, Virtual};

/// A place in which sessions are kept.
pub(crate) enum Place {
    Memory(MemoryStore),
    /// A SQLite file in a folder of its own.
    File {
        folder: tempfile::TempDir,
        time: StandStill,
    },
    /// Queues of a server, whose names begin with this one. The server has a clock of its own.
    Queues(String, Arc<dyn StateStore>),
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory(bench::store())
    }

    pub(crate) fn file() -> Self {
        let time = StandStill { clock: Virtual::new(), noted: Noted::default() };
        Self::File { folder: tempfile::tempdir().unwrap(), time }
    }

    /// Returns a place in this store whose queues nobody else serves.
    pub(crate) fn on(store: &Arc<dyn StateStore>) -> Self {
        Self::Queues(new_name(), Arc::clone(store))
    }

    /// Lets the sessions of this flow wait in a queue of the place.
    pub(crate) fn keeps<I, O>(&self, name: &str, flow: FlowBuilder<I, O>) -> FlowBuilder<I, O>
    where
        I: Serialize + DeserializeOwned + Send + 'static,
        O: Serialize + DeserializeOwned + Send + 'static,
    {
        match self {
            Self::Memory(_) | Self::File { .. } => flow,
            Self::Queues(of, _) => flow.queue(QueueLabel::new(format!("{of}-{name}")).unwrap()),
        }
    }

    /// Returns a runtime of a process on this store of the place. On true time, others take over soon.
    pub(crate) fn runtime(&self, store: impl StateStore, agent: &Arc<Agent>) -> Runtime {
        let options = RuntimeOptions::default().effects_override(Some("memory".into()));
        let options = match self {
            Self::Memory(_) | Self::File { .. } => options,
            Self::Queues(..) => options.lease(Duration::from_secs(15)),
        };
        Runtime::new(store, Agents::new().with(Arc::clone(agent)), options)
    }

    /// Opens the place as a new process does.
    pub(crate) async fn open(&self) -> Arc<dyn StateStore> {
        match self {
            Self::Memory(store) => Arc::new(store.clone()),
            Self::Queues(_, store) => Arc::clone(store),
            Self::File { folder, time } => {
                let options = SqliteOptions::new(folder.path().join("store.db"));
                let options = options.synchronous(Synchronous::Normal).clock(Arc::new(time.noted.clone()));
                let store = stand_still(SqliteStore::open(options)).unwrap();
                Arc::new(Layered::<_, StandStill>::new(store, time.clone()))
            }
        }
    }
}

/// Returns a name that no other place has.
pub(crate) fn new_name() -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("flow_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::SeqCst))
}

pub(crate) async fn postgres() -> Arc<dyn StateStore> {
    let options = PostgresOptions::from_url(shared::postgres_url()).unwrap().schema(&new_name()).unwrap();
    let options = options.connections_max(8).operation_timeout(Duration::from_secs(60));
    Arc::new(PostgresStore::open(options).await.unwrap())
}

pub(crate) async fn redis() -> Arc<dyn StateStore> {
    let options = RedisOptions::from_url(shared::redis_url()).unwrap().namespace(new_name()).unwrap();
    Arc::new(RedisStore::open(options).await.unwrap())
}

/// Plays a story of fewer writes than this on a server, with a death before and after each write. All are played at the same
/// time, because each waits for the end of a lease. The story returns what is to be told of it, and whether the process died.
pub(crate) async fn dies_on_a_server<T, Fut>(
    writes_max: usize,
    store: &Arc<dyn StateStore>,
    story: impl Fn(Place, Arc<Process>) -> Fut,
) -> Vec<T>
where
    Fut: Future<Output = (T, bool)>,
{
    let mut deaths: Vec<_> = (1..=writes_max).map(|at| Process::dying(at, false)).collect();
    deaths.extend((1..=writes_max).map(|at| Process::dying(at, true)));
    let stories = join_all(deaths.into_iter().map(|process| story(Place::on(store), process)));
    let ends = timeout(Duration::from_secs(300), stories).await.unwrap();
    let died: Vec<bool> = ends.iter().map(|(_, died)| *died).collect();
    assert!(died[4] && !died[writes_max - 1] && !died[2 * writes_max - 1], "{died:?}");
    ends.into_iter().filter(|(_, died)| *died).map(|(told, _)| told).collect()
}

/// The instant of the last request, for the threads of the database. They do not know virtual time.
#[derive(Clone, Default)]
pub(crate) struct Noted(Arc<AtomicI64>);

impl Clock for Noted {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

/// Lets nothing else happen while the database works: no virtual time passes. So a file behaves like the memory.
#[derive(Clone)]
pub(crate) struct StandStill {
    clock: Virtual,
    noted: Noted,
}

/// Runs the future in true time, and blocks this thread meanwhile.
fn stand_still<T: Send + 'static>(works: impl Future<Output = T> + Send + 'static) -> T {
    static TRUE_TIME: LazyLock<tokio::runtime::Runtime> =
        LazyLock::new(|| Builder::new_multi_thread().worker_threads(1).enable_time().build().unwrap());
    let (done, is_done) = mpsc::channel();
    TRUE_TIME.spawn(async move { done.send(works.await) });
    is_done.recv().unwrap()
}

#[async_trait]
impl Layer for StandStill {
    async fn around(&self, request: Request, store: Arc<dyn StateStore>) -> Result<Answer, StoreError> {
        if let Request::Wait(_, at_most) = request {
            // Hints only make others quick, and virtual time is in no hurry.
            tokio::time::sleep(at_most).await;
            return Ok(().into());
        }
        self.noted.0.store(self.clock.now().as_ms(), Ordering::SeqCst);
        stand_still(async move { request.perform(&store).await })
    }
}
