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
    pub(crate) agents: Agents,
    pub(crate) served_elsewhere: bool,
    pub(crate) streams: Streams,
    pub(crate) stop: CancellationToken,
}

impl Desk {
    pub(crate) fn new(runtime: Runtime, options: FrontOptions) -> Self {
        let FrontOptions { access, agents, served_elsewhere, streams_max, stop, body_bytes_max: _ } = options;
        Self { runtime, access, agents, served_elsewhere, streams: Streams::new(streams_max), stop }
    }

    /// Returns the agent with this name, or the only agent that is offered.
    pub(crate) fn agent_or_only(&self, name: Option<&str>) -> Result<&Arc<Agent>, Problem> {
        if let Some(name) = name {
            return self.agent(name, None);
        }
        let mut names = self.agents.all().map(|agent| agent.spec().name.as_str());
        let first = names.next();
        match first.filter(|first| names.all(|name| name == *first)) {
            Some(only) => self.agent(only, None),
            None => Err(Problem::invalid("agent: is missing, and more or less than one agent is offered here")),
        }
    }

    /// Returns the agent with this name and, if one is given, this version.
    pub(crate) fn agent(&self, name: &str, version: Option<&str>) -> Result<&Arc<Agent>, Problem> {
        let found = match version {
            Some(version) => self.agents.get(name, version),
            None => self.agents.newest(name),
        };
        found.ok_or_else(|| {
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
