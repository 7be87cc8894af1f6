//! A record of all calls that were sent, as the outside world sees them.

use std::sync::{Arc, Mutex};

use holdover_core::ids::CallId;
use holdover_core::tool::EffectClass;

/// A call that was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Send {
    pub(crate) call: CallId,
    pub(crate) tool: String,
    pub(crate) effect: EffectClass,
    pub(crate) key: String,
    pub(crate) arguments: String,
    /// True if the store held a start mark for this call when it was sent.
    pub(crate) intent_was_durable: bool,
}

/// All calls that were sent, over all runs.
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
