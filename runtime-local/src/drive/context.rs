//! What a run needs of its runtime.

use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::ids::SessionKey;

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
    /// Where it tells of its children.
    pub(crate) offspring: Arc<Offspring>,
}

/// A place where runs tell of the children of their sessions. Whoever waits for the tree reads it.
#[derive(Debug, Default)]
pub(crate) struct Offspring {
    changed: Notify,
    stopped: Mutex<Vec<SessionKey>>,
}

impl Offspring {
    /// Tells that a session is found with open children, or has got one.
    pub(crate) fn tell_open(&self) {
        self.changed.notify_one();
    }

    /// Tells that a child was asked to stop, and is no member of the tree any more.
    pub(crate) fn tell_stopped(&self, child: SessionKey) {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        self.changed.notify_one();
    }

    /// Waits until something is told.
    pub(crate) async fn told(&self) {
        self.changed.notified().await;
    }

    /// Takes the children that were asked to stop.
    pub(crate) fn take_stopped(&self) -> Vec<SessionKey> {
        std::mem::take(&mut *self.stopped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
