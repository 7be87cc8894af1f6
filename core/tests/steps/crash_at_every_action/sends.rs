//! The world outside: a record of every call that was sent.

use std::sync::{Arc, Mutex};

use holdover_core::ids::CallId;
use holdover_core::tool::EffectClass;

/// A call that reached the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) effect: EffectClass,
    pub(crate) key: String,
    pub(crate) arguments: String,
    /// Whether the store held an `allow` and, where its class asks for it, a start mark for this call when
    /// it was sent.
    pub(crate) intent_was_durable: bool,
}

/// Every call that reached the world, over all runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct WorldLog(Arc<Mutex<Vec<Send>>>);

impl WorldLog {
    pub(crate) fn note(&self, send: Send) {
        self.0.lock().unwrap().push(send);
    }

    pub(crate) fn all(&self) -> Vec<Send> {
        self.0.lock().unwrap().clone()
    }
}
