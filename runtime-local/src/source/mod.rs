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

/// Finds, or builds again, the agent of a session that this process did not start.
#[async_trait]
pub trait AgentSource: Send + Sync + 'static {
    /// Returns the agent of the sessions that wait under `queue` with `definition`. An error leaves the
    /// session to another process. Asked once for each definition while the runtime remembers the answer.
    async fn agent(&self, queue: &QueueLabel, definition: &Payload) -> Result<Arc<Agent>, ErrorInfo>;

    /// Checks whether sessions of this agent would be run here; if not, says why. Asked before a session
    /// begins. By default the agent is looked for. A source that builds agents may know without building one.
    async fn serves(&self, queue: &QueueLabel, definition: &Payload) -> Result<(), ErrorInfo> {
        self.agent(queue, definition).await.map(drop)
    }

    /// The queues of all agents that may be found here. A worker serves them by default.
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

/// The treatment of a session whose agent was changed since it began, under the same name and version: its
/// instructions, its tools with their effect classes, or its limits. Model and gate are code, so a change of
/// them is not seen.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Changed {
    /// The session goes on with the agent as it is now, and a warning is logged.
    #[default]
    GoesOn,
    /// The session is not run, here or by any process with this agent, until a process has the agent that it
    /// began with. It can be stopped and deleted.
    IsRefused,
}

/// The agents of an embedding service, found by their queue label: name and version.
///
/// A session stays with the agent that it began with, for weeks if it must. So a deployment that changes an
/// agent has two ways:
///
/// - Under the same name and version, sessions that wait go on with the agent as it is now; see [`Changed`].
///   This is right for better instructions. Keep a tool that sessions may have open calls of.
/// - With another [version](crate::AgentBuilder::version), new sessions begin with the new version. Keep the
///   old one beside it: **a session whose version is not here is served by nobody**, although it still takes
///   answers. [`Runtime::list`](crate::Runtime::list) by the old queue tells when none is left.
#[derive(Debug, Clone, Default)]
pub struct Agents {
    agents: BTreeMap<QueueLabel, Arc<Agent>>,
    changed: Changed,
}

impl Agents {
    /// A set without agents.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an agent, and its sub-agents. It replaces one with the same name and version.
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

    /// The agent of this name and version; without a version, the one that was built without.
    pub fn get<'v>(&self, name: &str, version: impl Into<Option<&'v str>>) -> Option<&Arc<Agent>> {
        let version = version.into();
        self.named(name).find(|agent| agent.version() == version)
    }

    /// The newest version of this agent: the one to begin new sessions with. Numbers within versions count by their
    /// value: `10` is newer than `9`, and `2.0` than `2.0-rc.1`. An agent without a version is older than all with one.
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
