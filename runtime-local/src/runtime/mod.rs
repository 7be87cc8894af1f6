//! The runtime's interface for an embedding service: methods that execute, deliver, resume, stop, follow and wait.

mod answered;
mod answering;
mod children;
mod custom;
mod deciders;
mod deliver;
mod delivery;
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
mod letters;
mod mailbox;
mod mentions;
mod named;
mod pending;
mod probe;
mod read;
mod recorded;
mod replay;
mod response;
mod resume;
mod retention;
mod runs;
mod serve;
mod sessions;
mod settling;
mod signals;
mod snapshot;
mod standing;
mod start;
mod stop;
mod tail;
mod tasks;
mod tree;
mod upgrade;
mod wait;

use std::sync::Arc;

use holdover_core::agent::AgentSpec;
use holdover_core::ids::{QueueLabel, SessionKey, WorkerId};
use holdover_core::payload::Payload;
use holdover_core::store::{CommitSurvives, StateStore};
use holdover_core::time::Timestamp;
use holdover_core::tool::{EffectClass, RunsOn};

pub use answered::Answered;
pub use answering::{Approval, Denial};
pub use children::{BeginChild, ChildEntry};
pub use deciders::{Deciders, Later};
pub use deliver::{Deliver, Delivered, EDIT_BYTES_MAX};
pub use delivery::{DeliveredItem, Taken};
pub use events::{DeltaEntry, EventEntry, Follow, Shown};
pub use execute::Execute;
pub use fork::{CheckpointEntry, Fork, Forked};
pub use glance::glance_of;
pub use handle::RunHandle;
pub use handoff::{HandOff, HandedOff};
pub use history::Move;
pub use letters::{DeadLetter, DeadLetterPage};
pub use mailbox::QueuedMessage;
pub use named::agent_label;
pub use pending::{PendingEntry, PendingPage, UnreadablePending};
pub use read::{MessageEntry, MessagesPage};
pub use recorded::{AgentRecord, StartRecorded};
pub use replay::Replay;
pub use response::Response;
pub use retention::Retention;
pub use runs::RunReport;
pub use serve::{Next, Served};
pub use signals::{HeldSignal, Signal};
pub use snapshot::Snapshot;
pub use standing::{Standing, is_due, machine_of, only_looks, outcome_of};
pub use start::Started;
pub use tree::cursor::TreeCursor;
pub use tree::events::{TreeMember, TreeShown};
pub use tree::view::{ChildPlace, Tree, TreeEntry};
pub use upgrade::{Breaking, Breaks};

use crate::agent::Agent;
use crate::breaker::Breakers;
pub use crate::drive::ChildStanding;
use crate::drive::{Offspring, RunContext};
use crate::error::RuntimeError;
use crate::host::Host;
pub use crate::host::{GIVE_BACK_FOR, RuntimeOptions};
use crate::source::{AgentSource, KnownAgents};

/// The runtime: a store, a source of agents, and the operations on sessions. Cheap to clone.
#[derive(Clone)]
pub struct Runtime {
    host: Host,
    shared: Arc<Shared>,
}

struct Shared {
    program: String,
    agents: Arc<KnownAgents>,
    breakers: Arc<Breakers>,
}

impl Runtime {
    /// Creates a runtime on `store` with the agents of `source`. Both may be shared in an `Arc`.
    pub fn new(store: impl StateStore, source: impl AgentSource, options: RuntimeOptions) -> Self {
        let program = options.program.clone().map_or_else(named::own_program, named::fitting);
        let shared = Shared {
            program,
            agents: Arc::new(KnownAgents::of(Arc::new(source))),
            breakers: Arc::new(Breakers::default()),
        };
        Self { host: Host::new(store, options), shared: Arc::new(shared) }
    }

    /// Returns the part that the runtime shares with its workers and runs.
    pub(crate) fn host(&self) -> &Host {
        &self.host
    }

    /// Returns the context that a run needs.
    pub(crate) fn run_context(&self) -> RunContext {
        self.run_context_in(Arc::default())
    }

    /// Returns the context that a run needs. The run reports its children to `offspring`.
    pub(crate) fn run_context_in(&self, offspring: Arc<Offspring>) -> RunContext {
        RunContext {
            host: self.host.clone(),
            agents: Arc::clone(&self.shared.agents),
            breakers: Arc::clone(&self.shared.breakers),
            offspring,
        }
    }

    /// Returns the store.
    pub fn store(&self) -> &Arc<dyn StateStore> {
        self.host.store()
    }

    /// Returns the name of this worker in leases and run records.
    pub fn worker_id(&self) -> &WorkerId {
        self.host.worker()
    }

    /// Returns the agents that sessions here may have.
    pub(crate) fn agents(&self) -> &KnownAgents {
        &self.shared.agents
    }

    /// Returns the options of the runtime.
    pub fn options(&self) -> &RuntimeOptions {
        self.host.options()
    }

    /// Returns the name of this program in the labels of the sessions that it creates.
    pub fn program(&self) -> &str {
        &self.shared.program
    }

    /// Returns the time by the store's clock, as this process knows it. Before the store's first answer, it is this
    /// machine's time.
    pub fn now(&self) -> Timestamp {
        self.host.now()
    }

    /// Returns the agent of an existing session. Fails if the agent is not found, or if this store cannot protect its
    /// effects.
    pub(crate) async fn agent_to_run(
        &self,
        key: &SessionKey,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<Arc<Agent>, RuntimeError> {
        let agent = self.shared.agents.find(key, queue, definition).await?;
        self.check_effects(&agent)?;
        Ok(agent)
    }

    /// Refuses an agent whose effects this store cannot protect: the start mark of a call must survive the
    /// death of the process that sends it (INV-15).
    fn check_effects(&self, agent: &Agent) -> Result<(), RuntimeError> {
        self.check_effects_of(agent.spec(), agent.label())
    }

    fn check_effects_of(&self, spec: &AgentSpec, label: &QueueLabel) -> Result<(), RuntimeError> {
        let capabilities = self.host.store().capabilities();
        if capabilities.commit_survives >= CommitSurvives::ProcessKill {
            return Ok(());
        }
        let name = capabilities.backend.split_whitespace().next().unwrap_or_default();
        if self.host.options().effects_override.as_deref().is_some_and(|by| by.eq_ignore_ascii_case(name)) {
            return Ok(());
        }
        let acts = |tool: &&holdover_core::tool::ToolSpec| {
            tool.runs_on == RunsOn::Server && (tool.effect == EffectClass::AtMostOnce || tool.dangerous)
        };
        match spec.tools.iter().find(acts) {
            Some(tool) => Err(RuntimeError::EffectsRefused {
                agent: label.clone(),
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
        f.debug_struct("Runtime").field("worker", self.host.worker()).finish_non_exhaustive()
    }
}
