//! The context of a run, and the place where runs report their children.

use std::sync::{Arc, Mutex, PoisonError};

use holdover_core::ids::SessionKey;

use tokio::sync::Notify;

use crate::breaker::Breakers;
use crate::host::Host;
use crate::source::KnownAgents;

/// The parts of the runtime that a run needs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RunContext {
    pub(crate) host: Host,
    /// The known agents. A session that is ended without its agent looks for it here.
    pub(crate) agents: Arc<KnownAgents>,
    /// The breakers behind which models are asked.
    pub(crate) breakers: Arc<Breakers>,
    /// The place where the run reports its session's children.
    pub(crate) offspring: Arc<Offspring>,
}

/// A place where runs report the children of their sessions. A caller that waits for the tree reads it.
#[derive(Debug, Default)]
pub(crate) struct Offspring {
    changed: Notify,
    stopped: Mutex<Vec<SessionKey>>,
}

impl Offspring {
    /// Reports that a session has open children, or has got a new child.
    pub(crate) fn tell_open(&self) {
        self.changed.notify_one();
    }

    /// Reports that a child was asked to stop and no longer belongs to the tree.
    pub(crate) fn tell_stopped(&self, child: SessionKey) {
        self.stopped.lock().unwrap_or_else(PoisonError::into_inner).push(child);
        self.changed.notify_one();
    }

    /// Waits until something is reported.
    pub(crate) async fn told(&self) {
        self.changed.notified().await;
    }

    /// Takes the children that were asked to stop.
    pub(crate) fn take_stopped(&self) -> Vec<SessionKey> {
        std::mem::take(&mut *self.stopped.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
