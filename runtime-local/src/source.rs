//! Where the agent of a claimed session comes from.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;

use crate::agent::Agent;

/// Finds, or builds again, the agent of a session that this process did not start.
#[async_trait]
pub trait AgentSource: Send + Sync + 'static {
    /// The agent of the sessions that wait under `queue` with `definition`. An error leaves the session to
    /// another process.
    async fn agent(&self, queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo>;
}

/// The agents of an embedding service, found by their queue label.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    agents: BTreeMap<QueueLabel, Arc<Agent>>,
}

impl Agents {
    /// No agents yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent; one with the same queue label is replaced.
    #[must_use]
    pub fn with(mut self, agent: Arc<Agent>) -> Self {
        self.agents.insert(agent.queue().clone(), agent);
        self
    }

    /// The agent under this label.
    pub fn get(&self, queue: &str) -> Option<&Arc<Agent>> {
        self.agents.iter().find(|(label, _)| label.as_str() == queue).map(|(_, agent)| agent)
    }

    /// The labels of all of them.
    pub fn queues(&self) -> impl Iterator<Item = &QueueLabel> {
        self.agents.keys()
    }
}

impl FromIterator<Arc<Agent>> for Agents {
    fn from_iter<I: IntoIterator<Item = Arc<Agent>>>(agents: I) -> Self {
        agents.into_iter().fold(Self::new(), Self::with)
    }
}

#[async_trait]
impl AgentSource for Agents {
    async fn agent(&self, queue: &QueueLabel, _definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        self.agents
            .get(queue)
            .cloned()
            .ok_or_else(|| ErrorInfo::new("agent.unknown", format!("no agent {queue} here")))
    }
}
