//! The agents that were requested from a source. Each is built once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use holdover_core::error::ErrorInfo;
use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::payload::{Digest, Payload};
use holdover_core::store::Queues;
use tokio::sync::OnceCell;

use super::AgentSource;
use crate::agent::Agent;
use crate::error::RuntimeError;

/// The maximum number of remembered agents. If there are more, all are forgotten. Remembering them avoids compiling
/// their schemas again.
const AGENTS_KEPT: usize = 256;

/// An agent that was requested. It is built once, even if several sessions request it at the same time.
type Known = Arc<OnceCell<Arc<Agent>>>;

/// A source, and the agents that were requested from it.
pub(crate) struct KnownAgents {
    source: Arc<dyn AgentSource>,
    agents: Mutex<HashMap<(QueueLabel, Digest), Known>>,
}

impl KnownAgents {
    pub(crate) fn of(source: Arc<dyn AgentSource>) -> Self {
        Self { source, agents: Mutex::new(HashMap::new()) }
    }

    pub(crate) fn queues(&self) -> Queues {
        self.source.queues()
    }

    /// Asks the source, even if the agent is remembered.
    pub(crate) async fn ask(
        &self,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<Arc<Agent>, ErrorInfo> {
        self.source.agent(queue, definition).await
    }

    /// Returns the agent of an existing session, and remembers it.
    pub(crate) async fn find(
        &self,
        key: &SessionKey,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<Arc<Agent>, RuntimeError> {
        let known = self.known((queue.clone(), definition.digest()));
        let found = known.get_or_try_init(|| self.source.agent(queue, definition)).await;
        let unknown = |why| RuntimeError::AgentUnknown { key: key.clone(), queue: queue.clone(), why };
        found.cloned().map_err(unknown)
    }

    /// Refuses a new session of an agent that this program could not find again.
    pub(crate) async fn check_served(
        &self,
        key: &SessionKey,
        queue: &QueueLabel,
        definition: &Payload,
    ) -> Result<(), RuntimeError> {
        if self.known((queue.clone(), definition.digest())).initialized() {
            return Ok(());
        }
        let served = self.source.serves(queue, definition).await;
        served.map_err(|why| RuntimeError::NotServed { key: key.clone(), queue: queue.clone(), why })
    }

    /// Remembers an agent that this program has built itself.
    pub(crate) fn remember(&self, agent: &Arc<Agent>) {
        agent.sub_agents().for_each(|sub_agent| self.remember(sub_agent));
        let id = (agent.queue().clone(), agent.definition().digest());
        self.kept().insert(id, Arc::new(OnceCell::new_with(Some(Arc::clone(agent)))));
    }

    fn known(&self, id: (QueueLabel, Digest)) -> Known {
        Arc::clone(self.kept().entry(id).or_default())
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<(QueueLabel, Digest), Known>> {
        let mut agents = self.agents.lock().unwrap_or_else(PoisonError::into_inner);
        if agents.len() >= AGENTS_KEPT {
            agents.clear();
        }
        agents
    }
}
