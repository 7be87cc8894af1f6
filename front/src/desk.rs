//! The state that the routes share.

use std::collections::BTreeSet;
use std::sync::Arc;

use holdover_core::ids::{PendingId, SessionId, SessionKey};
use holdover_core::payload::Digest;
use holdover_runtime_local::{Agent, Agents, Runtime};
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Caller};
use crate::options::FrontOptions;
use crate::problem::Problem;
use crate::seats::{Kind, Seats};
use crate::tails::Tails;

pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) access: Access,
    agents: Agents,
    others: Vec<Arc<Agent>>,
    pub(crate) served_elsewhere: bool,
    pub(crate) requests: Seats,
    pub(crate) streams: Seats,
    pub(crate) tails: Tails,
    pub(crate) leaves: CancellationToken,
    pub(crate) stop: CancellationToken,
    #[cfg(feature = "mcp")]
    pub(crate) body_bytes_max: usize,
}

impl Desk {
    pub(crate) fn new(runtime: Runtime, options: FrontOptions) -> Self {
        let FrontOptions {
            access,
            agents,
            others,
            served_elsewhere,
            requests_max,
            streams_max,
            leaves,
            stop,
            #[cfg(feature = "mcp")]
            body_bytes_max,
            ..
        } = options;
        Self {
            tails: Tails::new(runtime.clone()),
            runtime,
            access,
            agents,
            others,
            served_elsewhere,
            requests: Seats::new(Kind::Requests, requests_max),
            streams: Seats::new(Kind::Streams, streams_max),
            leaves,
            stop,
            #[cfg(feature = "mcp")]
            body_bytes_max,
        }
    }

    /// Returns the agents with which sessions can be started.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.all().chain(&self.others)
    }

    /// Returns the agent with this name, or the only agent that is offered.
    pub(crate) fn agent_or_only(&self, name: Option<&str>) -> Result<&Arc<Agent>, Problem> {
        if let Some(name) = name {
            return self.agent(name, None);
        }
        // Sub-agents are offered, too, but nobody means them.
        let subs: BTreeSet<&str> = self
            .offered()
            .flat_map(|agent| agent.sub_agents())
            .map(|agent| agent.spec().name.as_str())
            .collect();
        let names = self.offered().map(|agent| agent.spec().name.as_str());
        let mut names = names.filter(|name| !subs.contains(name));
        let first = names.next();
        match first.filter(|first| names.all(|name| name == *first)) {
            Some(only) => self.agent(only, None),
            None => {
                Err(Problem::invalid("agent: is missing, and more or less than one agent is offered here"))
            }
        }
    }

    /// Returns the agent with this name and, if one is given, this version.
    pub(crate) fn agent(&self, name: &str, version: Option<&str>) -> Result<&Arc<Agent>, Problem> {
        let found = match version {
            Some(version) => self.agents.get(name, version),
            None => self.agents.newest(name),
        };
        let named = |agent: &&Arc<Agent>| {
            agent.spec().name == name && (version.is_none() || agent.version() == version)
        };
        found.or_else(|| self.others.iter().find(named)).ok_or_else(|| {
            let which = version.map(|version| format!(" version {version:?}")).unwrap_or_default();
            Problem::not_found("agent_unknown", format!("agent {name:?}{which}: it is not offered here"))
        })
    }

    /// Refuses an answer to other arguments than those that the call has. A call that is closed passes: the engine says
    /// whether the answer is a repeat.
    pub(crate) async fn refuse_unseen(
        &self,
        key: &SessionKey,
        pending: &PendingId,
        seen: Digest,
    ) -> Result<(), Problem> {
        match self.runtime.pending_call(key, pending).await? {
            Some(asked) if asked.body.digest != seen => {
                let detail =
                    format!("call {pending}: digest: these are not the arguments that wait for an answer");
                Err(Problem::conflict("not_seen", detail))
            }
            Some(_) | None => Ok(()),
        }
    }
}

impl Caller {
    /// Returns the key of a session of the caller's tenant.
    pub(crate) fn key(&self, session: SessionId) -> SessionKey {
        SessionKey::new(self.tenant().clone(), session)
    }
}
