//! The state that the routes share.

use std::sync::Arc;

use holdover_core::ids::{SessionId, SessionKey};
use holdover_runtime_local::{Agent, Agents, Runtime};
use tokio_util::sync::CancellationToken;

use crate::access::{Access, Caller};
use crate::options::FrontOptions;
use crate::problem::Problem;
use crate::streams::Streams;

pub(crate) struct Desk {
    pub(crate) runtime: Runtime,
    pub(crate) access: Access,
    agents: Agents,
    others: Vec<Arc<Agent>>,
    pub(crate) served_elsewhere: bool,
    pub(crate) streams: Streams,
    pub(crate) leaves: CancellationToken,
    pub(crate) stop: CancellationToken,
}

impl Desk {
    pub(crate) fn new(runtime: Runtime, options: FrontOptions) -> Self {
        let FrontOptions {
            access,
            agents,
            others,
            served_elsewhere,
            streams_max,
            leaves,
            stop,
            body_bytes_max: _,
        } = options;
        Self {
            runtime,
            access,
            agents,
            others,
            served_elsewhere,
            streams: Streams::new(streams_max),
            leaves,
            stop,
        }
    }

    /// Returns the agents with which sessions can be started.
    pub(crate) fn offered(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.all().chain(&self.others)
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
}

impl Caller {
    /// Returns the key of a session of the caller's tenant.
    pub(crate) fn key(&self, session: SessionId) -> SessionKey {
        SessionKey::new(self.tenant().clone(), session)
    }
}
