//! What a run needs of its runtime.

use std::sync::Arc;

use tokio::sync::Notify;

use crate::breaker::Breakers;
use crate::host::Host;
use crate::source::KnownAgents;

/// What a run needs of its runtime. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RunContext {
    pub(crate) host: Host,
    /// Where the agent is found of a session that is ended without it.
    pub(crate) agents: Arc<KnownAgents>,
    /// Behind which models are asked.
    pub(crate) breakers: Arc<Breakers>,
    /// Notified when the session is found with open children, and whenever it gets one.
    pub(crate) children: Arc<Notify>,
}
