//! The settings of the front.

use std::sync::Arc;

use holdover_runtime_local::{Agent, Agents, CancellationToken};

use crate::access::Access;

/// The settings of [`router`](crate::router).
#[derive(Debug, Clone)]
pub struct FrontOptions {
    pub(crate) access: Access,
    pub(crate) agents: Agents,
    pub(crate) others: Vec<Arc<Agent>>,
    pub(crate) served_elsewhere: bool,
    pub(crate) requests_max: usize,
    pub(crate) streams_max: usize,
    pub(crate) body_bytes_max: usize,
    pub(crate) leaves: CancellationToken,
    pub(crate) stop: CancellationToken,
}

impl FrontOptions {
    /// The largest body of a request, in bytes, unless the options say otherwise: pictures in full number and size, or an
    /// edit of a call's arguments in full size.
    pub const BODY_BYTES_MAX: usize = 12 << 20;

    /// The most requests of one caller at once, unless the options say otherwise. A stream is a request until it begins.
    pub const REQUESTS_MAX: usize = 1_000;

    /// The most open streams of one caller, unless the options say otherwise.
    pub const STREAMS_MAX: usize = 1_000;

    /// Creates settings for callers who are known in this way. Without [agents](Self::agents), no session can be started.
    pub fn new(access: Access) -> Self {
        Self {
            access,
            agents: Agents::new(),
            others: Vec::new(),
            served_elsewhere: false,
            requests_max: Self::REQUESTS_MAX,
            streams_max: Self::STREAMS_MAX,
            body_bytes_max: Self::BODY_BYTES_MAX,
            leaves: CancellationToken::new(),
            stop: CancellationToken::new(),
        }
    }

    /// Sets the agents with which callers may start sessions.
    #[must_use]
    pub fn agents(self, agents: Agents) -> Self {
        Self { agents, ..self }
    }

    /// Adds an agent with which callers may start sessions. Unlike those of [`agents`](Self::agents), it may have the queue
    /// of another one, if its name differs.
    #[must_use]
    pub fn agent(mut self, agent: Arc<Agent>) -> Self {
        self.others.push(agent);
        self
    }

    /// Allows agents that only other programs serve. Otherwise, a session of an agent that the runtime does not find is
    /// refused.
    #[must_use]
    pub fn served_elsewhere(self) -> Self {
        Self { served_elsewhere: true, ..self }
    }

    /// Sets the most requests that one caller may have in this process at once. Further ones are refused with 429.
    #[must_use]
    pub fn requests_max(self, requests_max: usize) -> Self {
        Self { requests_max, ..self }
    }

    /// Sets the most streams that one caller may have open in this process.
    #[must_use]
    pub fn streams_max(self, streams_max: usize) -> Self {
        Self { streams_max, ..self }
    }

    /// Sets the largest body of a request, in bytes.
    #[must_use]
    pub fn body_bytes_max(self, body_bytes_max: usize) -> Self {
        Self { body_bytes_max, ..self }
    }

    /// Sets the token that is cancelled when this process is about to stop. From then on, `/v1/ready` answers 503, so that
    /// load balancers send requests elsewhere. Everything else goes on.
    #[must_use]
    pub fn leaves(self, leaves: CancellationToken) -> Self {
        Self { leaves, ..self }
    }

    /// Sets the token that ends all streams when it is cancelled. Each stream ends with the cursor from which its reader
    /// can go on elsewhere.
    #[must_use]
    pub fn stop(self, stop: CancellationToken) -> Self {
        Self { stop, ..self }
    }
}
