//! Sources of agents for claimed sessions.

mod known;
mod version;

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use holdover_core::error::ErrorInfo;
use holdover_core::ids::QueueLabel;
use holdover_core::payload::Payload;
use holdover_core::store::Queues;

pub(crate) use known::KnownAgents;

use crate::agent::Agent;

/// A source of agents. It finds the agent of a session that this process did not start, or builds it again.
#[async_trait]
pub trait AgentSource: Send + Sync + 'static {
    /// Returns the agent of the sessions that wait under `queue` with `definition`. After an error, the session is
    /// left to another process. For some time, the runtime remembers the agents that it has found; it does not
    /// remember errors.
    async fn agent(&self, queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo>;

    /// Checks whether sessions of this agent would be run here. The error says why not. Called before a session
    /// begins, unless the runtime knows the agent already. By default, this calls `agent`. A source that builds
    /// agents can often tell without building one.
    async fn serves(&self, queue: &QueueLabel, definition: &Payload) -> Result<(), ErrorInfo> {
        self.agent(queue, definition).await.map(drop)
    }

    /// Returns the queues of all agents that may be found here. By default, a worker serves these queues. The default
    /// is all queues.
    fn queues(&self) -> Queues {
        Queues::All
    }
}

#[async_trait]
impl<S: AgentSource + ?Sized> AgentSource for Arc<S> {
    async fn agent(&self, queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        (**self).agent(queue, definition).await
    }

    async fn serves(&self, queue: &QueueLabel, definition: &Payload) -> Result<(), ErrorInfo> {
        (**self).serves(queue, definition).await
    }

    fn queues(&self) -> Queues {
        (**self).queues()
    }
}

/// The effect of a changed agent on its sessions. An agent has changed if its [`Definition`](crate::Definition)
/// differs under the same name and version, for example in the instructions, the tools with their effect classes, or
/// the limits. The code of models, tools, gates and hooks is not part of the definition, so a change of code is not
/// noticed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Changed {
    /// The session goes on with the agent as it is now, and a warning is logged.
    #[default]
    GoesOn,
    /// The session is run only by a process that has the agent as it was when the session began. It can still be
    /// stopped and deleted.
    IsRefused,
}

/// The agents of an embedding service. They are found by their queue label, by default the name and version.
///
/// A session keeps the agent that it began with, even for weeks. A deployment that changes an agent has two
/// ways:
///
/// - Under the same name and version, waiting sessions continue with the changed agent; see [`Changed`]. This
///   is right for better instructions. Do not remove a tool that may have open calls in a session.
/// - With another [version](crate::AgentBuilder::version), new sessions begin with the new version. Keep the old
///   version, too: **no worker serves a session whose version is missing**, although the session still takes
///   answers. To find out whether any session is left, call [`Runtime::list`](crate::Runtime::list) with the old
///   queue.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    agents: BTreeMap<QueueLabel, Arc<Agent>>,
    changed: Changed,
}

impl Agents {
    /// Creates a set without agents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent and its sub-agents. It replaces an agent with the same queue, by default the same name
    /// and version.
    #[must_use]
    pub fn with(mut self, agent: Arc<Agent>) -> Self {
        self = agent.sub_agents().cloned().fold(self, Self::with);
        self.agents.insert(agent.queue().clone(), agent);
        self
    }

    /// Sets what happens to sessions whose agent was changed since they began.
    #[must_use]
    pub fn changed(self, changed: Changed) -> Self {
        Self { changed, ..self }
    }

    /// Returns the agent with this name and version. Without a version, returns the agent that was built
    /// without one.
    pub fn get<'v>(&self, name: &str, version: impl Into<Option<&'v str>>) -> Option<&Arc<Agent>> {
        let version = version.into();
        self.named(name).find(|agent| agent.version() == version)
    }

    /// Returns the newest version of this agent, for new sessions. Numbers within versions are compared by
    /// value: `10` is newer than `9`. A pre-release is older than its release: `2.0` is newer than
    /// `2.0-rc.1`. An agent without a version is older than every agent with one.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use holdover_runtime_local::{Agent, Agents};
    /// # use holdover_core::model::{Model, ModelAnswer, ModelError, ModelRequest, ModelStream};
    /// # struct Silent;
    /// # #[async_trait::async_trait]
    /// # impl Model for Silent {
    /// #     fn name(&self) -> &str { "silent" }
    /// #     async fn stream(&self, _: ModelRequest) -> Result<ModelStream, ModelError> {
    /// #         Ok(ModelAnswer::text("").into_stream())
    /// #     }
    /// # }
    ///
    /// let clerk = |version: &str| Agent::builder("clerk").version(version).model(Silent).build().map(Arc::new);
    /// let agents = Agents::new().with(clerk("10")?).with(clerk("9")?);
    /// assert_eq!(agents.newest("clerk").and_then(|clerk| clerk.version()), Some("10"));
    /// assert!(agents.get("clerk", "9").is_some());
    /// # Ok::<(), holdover_runtime_local::AgentError>(())
    /// ```
    pub fn newest(&self, name: &str) -> Option<&Arc<Agent>> {
        self.named(name).max_by(|one, other| match (one.version(), other.version()) {
            (Some(one), Some(other)) => version::compare(one, other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        })
    }

    /// Returns all agents, in the order of their queues.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.values()
    }

    fn named<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Arc<Agent>> {
        self.agents.values().filter(move |agent| agent.spec().name == name)
    }
}

impl FromIterator<Arc<Agent>> for Agents {
    fn from_iter<I: IntoIterator<Item = Arc<Agent>>>(agents: I) -> Self {
        agents.into_iter().fold(Self::new(), Self::with)
    }
}

#[async_trait]
impl AgentSource for Agents {
    async fn agent(&self, queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo> {
        let unknown = || ErrorInfo::new("agent.unknown", format!("no agent {queue} here"));
        let agent = self.agents.get(queue).ok_or_else(unknown)?;
        let (began, now) = (definition.digest(), agent.definition().digest());
        match self.changed {
            _ if began == now => {}
            Changed::GoesOn => {
                tracing::warn!(agent = %queue, %began, %now, "sessions go on with an agent that was changed since");
            }
            Changed::IsRefused => {
                let why = format!("it was changed since the session began: definition {began}, here {now}");
                return Err(ErrorInfo::new("agent.changed", why));
            }
        }
        Ok(Arc::clone(agent))
    }

    fn queues(&self) -> Queues {
        Queues::Named(self.agents.keys().cloned().collect())
    }
}
