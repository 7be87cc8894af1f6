//! The interface for an embedding service: execute, deliver, resume, stop, follow, wait.

mod answered;
mod claim;
mod custom;
mod deciders;
mod deliver;
mod drain;
mod events;
mod execute;
mod fitting;
mod fork;
mod glance;
mod handle;
mod handoff;
mod history;
mod keys;
mod mailbox;
mod named;
mod pending;
mod probe;
mod read;
mod repeat;
mod replay;
mod response;
mod resume;
mod retention;
mod runs;
mod sessions;
mod snapshot;
mod standing;
mod stop;
mod tail;
mod unbuilt;
mod upgrade;
mod wait;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdover_core::ids::{QueueLabel, RunId, SessionKey, WorkerId};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::{CommitSurvives, Queues, StateStore};
use holdover_core::time::Timestamp;
use holdover_core::tool::{EffectClass, RunsOn};
use tokio::sync::OnceCell;
use tokio::time::Instant;
use uuid::Uuid;

pub use answered::Answered;
pub use claim::GIVE_BACK_FOR;
pub use deciders::{Deciders, Later};
pub use deliver::{Approval, Deliver, Delivered, Denial, EDIT_BYTES_MAX};
pub use events::{DeltaEntry, EventEntry, Follow, Shown};
pub use execute::{Execute, Started};
pub use fork::{CheckpointEntry, Fork, Forked};
pub use glance::glance_of;
pub use handle::RunHandle;
pub use handoff::{HandOff, HandedOff};
pub use history::Move;
pub use mailbox::QueuedMessage;
pub use named::agent_label;
pub use pending::{PendingEntry, PendingPage, UnreadablePending};
pub use read::MessageEntry;
pub use replay::Replay;
pub use response::Response;
pub use retention::Retention;
pub use runs::RunReport;
pub use snapshot::Snapshot;
pub use standing::{Standing, machine_of, outcome_of};
pub use upgrade::{Breaking, Breaks};

pub(crate) use claim::Claimed;
use drain::OpenRuns;
pub(crate) use repeat::{Backoff, GivenUp, until_answered};
use unbuilt::Unbuilt;

use crate::agent::Agent;
use crate::breaker::Breakers;
use crate::clock::StoreClock;
use crate::error::RuntimeError;
use crate::observer::RunObserver;
use crate::source::AgentSource;

/// A shorter lease would be over before it was granted.
const LEASE_MIN: Duration = Duration::from_secs(1);
/// So long the session of a process that died stays untouched at most.
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// How many agents are remembered by definition, so that their schemas are compiled once.
const AGENTS_KEPT: usize = 256;

/// Options of a [`Runtime`].
#[derive(Clone)]
pub struct RuntimeOptions {
    /// The name of this worker in leases and run records; drawn if none.
    pub worker: Option<WorkerId>,
    /// How long a claim holds before others may try: at least a second, at most a day. A value outside is
    /// moved to the nearer limit. Renewed while a run lives.
    pub lease: Duration,
    /// The longest silence of a model before it is given up
    /// ([`Stalled`](holdover_core::model::ModelErrorKind::Stalled)), unless it has a limit of its own
    /// ([`stall_timeout`](holdover_core::model::Model::stall_timeout)).
    pub model_stall: Duration,
    /// The longest time of a model call before it is given up (`Stalled`), whatever comes meanwhile.
    pub model_timeout: Duration,
    /// How long the model's text is gathered before it is written for those who follow the session from
    /// elsewhere. An answer that comes faster is written once, as a message. None: only as a message.
    pub delta_interval: Option<Duration>,
    /// The longest time for preparing a turn's surroundings, or freeing them.
    pub provision_timeout: Duration,
    /// The longest time for a request from outside, such as a new session or a message, with all its repeats,
    /// while a store does not answer. The first try has the store's own limit, `operation_timeout` in its
    /// options.
    pub operation_timeout: Duration,
    /// The name of a store, as its capabilities give it (`memory`), on which effects are accepted although
    /// its commits do not survive a killed process. Effects may then happen twice, or be forgotten.
    pub effects_override: Option<String>,
    /// The name of this program. The sessions that it creates are labelled with it
    /// ([`PROGRAM`](holdover_core::store::Labels::PROGRAM)), so that others can say which program has their
    /// agent. None: the name of the executable. Longer names are cut to
    /// [`TEXT_BYTES_MAX`](holdover_core::store::Labels::TEXT_BYTES_MAX) bytes.
    pub program: Option<String>,
    /// An observer of the models' words before they are durable.
    pub observer: Option<Arc<dyn RunObserver>>,
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            worker: None,
            lease: Duration::from_secs(30),
            model_stall: Duration::from_secs(120),
            model_timeout: Duration::from_secs(60 * 60),
            delta_interval: Some(Duration::from_millis(150)),
            provision_timeout: Duration::from_secs(600),
            operation_timeout: Duration::from_secs(5),
            effects_override: None,
            program: None,
            observer: None,
        }
    }
}

/// An agent that was asked for: however many sessions ask at once, it is made once.
type Known = Arc<OnceCell<Arc<Agent>>>;

/// The runtime: a store, a source of agents, and the operations on sessions. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<dyn StateStore>,
    source: Arc<dyn AgentSource>,
    options: RuntimeOptions,
    worker: WorkerId,
    program: String,
    unbuilt: Unbuilt,
    runs: OpenRuns,
    agents: Mutex<HashMap<(QueueLabel, Digest), Known>>,
    clock: Mutex<Option<StoreClock>>,
    breakers: Breakers,
}

impl Runtime {
    /// A runtime on `store`, with the agents of `source`. Either may be shared by an `Arc`.
    pub fn new(store: impl StateStore, source: impl AgentSource, mut options: RuntimeOptions) -> Self {
        options.lease = options.lease.clamp(LEASE_MIN, LEASE_MAX);
        let worker = options.worker.clone().unwrap_or_else(draw_worker);
        let program = options.program.clone().map_or_else(named::own_program, named::fitting);
        let shared = Shared {
            store: Arc::new(store),
            source: Arc::new(source),
            options,
            worker,
            program,
            unbuilt: Unbuilt::default(),
            runs: OpenRuns::default(),
            agents: Mutex::new(HashMap::new()),
            clock: Mutex::new(None),
            breakers: Breakers::default(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn StateStore> {
        &self.shared.store
    }

    /// The name of this worker in leases and run records.
    pub fn worker_id(&self) -> &WorkerId {
        &self.shared.worker
    }

    pub(crate) fn breakers(&self) -> &Breakers {
        &self.shared.breakers
    }

    pub(crate) fn queues(&self) -> Queues {
        self.shared.source.queues()
    }

    /// The options of the runtime.
    pub fn options(&self) -> &RuntimeOptions {
        &self.shared.options
    }

    /// The name of this program in the labels of the sessions that it creates.
    pub fn program(&self) -> &str {
        &self.shared.program
    }

    /// The store's clock, as far as it is known here; before the store's first answer, this machine's clock.
    pub fn now(&self) -> Timestamp {
        match *self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(clock) => clock.now(),
            None => Timestamp::EPOCH.after(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()),
        }
    }

    pub(crate) fn hear(&self, now: Timestamp) {
        *self.shared.clock.lock().unwrap_or_else(PoisonError::into_inner) =
            Some(StoreClock::heard(Instant::now(), now));
    }

    /// The store's clock was there already.
    pub(crate) fn hear_at_least(&self, then: Timestamp) {
        if self.now() < then {
            self.hear(then);
        }
    }

    /// The agent of a session of another's making.
    pub(crate) async fn agent_of(
        &self,
        key: &SessionKey,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<Arc<Agent>, RuntimeError> {
        let known = self.known((queue.clone(), definition.digest()));
        let found = known.get_or_try_init(|| self.shared.source.agent(queue, definition)).await;
        let unknown = |why| RuntimeError::AgentUnknown { key: key.clone(), queue: queue.clone(), why };
        found.cloned().map_err(unknown)
    }

    /// The agent of a session of another's making, if this store can protect its effects.
    pub(crate) async fn agent_to_run(
        &self,
        key: &SessionKey,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<Arc<Agent>, RuntimeError> {
        let agent = self.agent_of(key, queue, definition).await?;
        self.check_effects(&agent)?;
        Ok(agent)
    }

    /// Refuses to begin a session of an agent that nobody in this program would find again.
    pub(crate) async fn check_served(&self, key: &SessionKey, agent: &Agent) -> Result<(), RuntimeError> {
        let (queue, definition) = (agent.queue(), agent.definition());
        if self.known((queue.clone(), definition.digest())).initialized() {
            return Ok(());
        }
        let served = self.shared.source.serves(queue, definition).await;
        served.map_err(|why| RuntimeError::NotServed { key: key.clone(), queue: queue.clone(), why })
    }

    pub(crate) fn remember_own(&self, agent: &Arc<Agent>) {
        let id = (agent.queue().clone(), agent.definition().digest());
        self.agents().insert(id, Arc::new(OnceCell::new_with(Some(Arc::clone(agent)))));
    }

    fn known(&self, id: (QueueLabel, Digest)) -> Known {
        Arc::clone(self.agents().entry(id).or_default())
    }

    fn agents(&self) -> MutexGuard<'_, HashMap<(QueueLabel, Digest), Known>> {
        let mut agents = self.shared.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() >= AGENTS_KEPT {
            agents.clear();
        }
        agents
    }

    /// Refuses an agent whose effects this store cannot protect: the start mark of a call must survive the
    /// death of the process that sends it (INV-15).
    fn check_effects(&self, agent: &Agent) -> Result<(), RuntimeError> {
        let capabilities = self.shared.store.capabilities();
        if capabilities.commit_survives >= CommitSurvives::ProcessKill {
            return Ok(());
        }
        let name = capabilities.backend.split_whitespace().next().unwrap_or_default();
        if self.shared.options.effects_override.as_deref().is_some_and(|by| by.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let acts = |tool: &&holdover_core::tool::ToolSpec| {
            tool.runs_on == RunsOn::Server && (tool.effect == EffectClass::AtMostOnce || tool.dangerous)
        };
        match agent.spec().tools.iter().find(acts) {
            Some(tool) => Err(RuntimeError::EffectsRefused {
                agent: agent.label().clone(),
                tool: tool.name.clone(),
                backend: capabilities.backend,
                survives: capabilities.commit_survives,
            }),
            None => Ok(()),
        }
    }
}

impl std::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Runtime").field("worker", &self.shared.worker).finish_non_exhaustive()
    }
}

fn draw_worker() -> WorkerId {
    let id = format!("holdover-{}-{}", std::process::id(), &draw()[..8]);
    WorkerId::new(id).unwrap_or_else(|_| unreachable!("made of letters, digits and dashes"))
}

/// A random id as text.
pub(crate) fn draw() -> String {
    Uuid::new_v4().simple().to_string()
}

/// A random id of any kind.
pub(crate) fn draw_id<T: std::str::FromStr<Err = holdover_core::ids::InvalidId>>() -> T {
    draw().parse().unwrap_or_else(|_| unreachable!("32 hexadecimal digits are an id"))
}

pub(crate) fn draw_run() -> RunId {
    draw_id()
}
