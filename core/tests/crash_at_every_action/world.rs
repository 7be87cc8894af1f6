//! The world outside: a clock that is moved by hand, and a record of every call that was sent.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use holdover_core::ids::CallId;
use holdover_core::time::{Clock, Timestamp};
use holdover_core::tool::EffectClass;

/// A clock that stands still until it is moved.
#[derive(Debug, Clone)]
pub(crate) struct VirtualClock(Arc<AtomicI64>);

impl Default for VirtualClock {
    fn default() -> Self {
        Self(Arc::new(AtomicI64::new(1_000_000)))
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_ms(self.0.load(Ordering::SeqCst))
    }
}

impl VirtualClock {
    /// Moves on to `at`, never back.
    pub(crate) fn move_to(&self, at: Timestamp) {
        self.0.fetch_max(at.as_ms(), Ordering::SeqCst);
    }
}

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
