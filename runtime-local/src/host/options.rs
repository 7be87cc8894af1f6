//! Options of a runtime.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::WorkerId;

use crate::observer::RunObserver;

/// A shorter lease would be over before it was granted.
const LEASE_MIN: Duration = Duration::from_secs(1);
/// So long the session of a process that died stays untouched at most.
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Options of a [`Runtime`](crate::Runtime).
#[derive(Clone)]
#[non_exhaustive]
pub struct RuntimeOptions {
    /// The name of this worker in leases and run records; drawn if none.
    pub worker: Option<WorkerId>,
    /// How long a claim holds before others may try: at least a second, at most a day. A value outside is
    /// moved to the nearer limit. Renewed while a run lives.
    pub lease: Duration,
    /// The longest silence of a model before it is given up
    /// ([`Stalled`](holdover_core::model::ModelErrorKind::Stalled)), unless it has a limit of its own
    /// ([`stall_timeout`](holdover_core::model::Model::stall_timeout)).
    pub model_stall: Duration,
    /// The longest time of a model call before it is given up (`Stalled`), whatever comes meanwhile.
    pub model_timeout: Duration,
    /// How long the model's text is gathered before it is written for those who follow the session from
    /// elsewhere. An answer that comes faster is written once, as a message. None: only as a message.
    pub delta_interval: Option<Duration>,
    /// The longest time for preparing a turn's surroundings, or freeing them.
    pub provision_timeout: Duration,
    /// The longest time for a request from outside, such as a new session or a message, with all its repeats,
    /// while a store does not answer. The first try has the store's own limit, `operation_timeout` in its
    /// options.
    pub operation_timeout: Duration,
    /// The name of a store, as its capabilities give it (`memory`), on which effects are accepted although
    /// its commits do not survive a killed process. Effects may then happen twice, or be forgotten.
    pub effects_override: Option<String>,
    /// The name of this program. The sessions that it creates are labelled with it
    /// ([`PROGRAM`](holdover_core::store::Labels::PROGRAM)), so that others can say which program has their
    /// agent. None: the name of the executable. Longer names are cut to
    /// [`TEXT_BYTES_MAX`](holdover_core::store::Labels::TEXT_BYTES_MAX) bytes.
    pub program: Option<String>,
    /// An observer of the models' words before they are durable.
    pub observer: Option<Arc<dyn RunObserver>>,
}

holdover_core::setters! { RuntimeOptions {
    lease: Duration,
    model_stall: Duration,
    model_timeout: Duration,
    provision_timeout: Duration,
    operation_timeout: Duration,
    observer: Option<Arc<dyn RunObserver>>,
} into {
    worker: Option<WorkerId>,
    delta_interval: Option<Duration>,
    effects_override: Option<String>,
    program: Option<String>,
} }

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            worker: None,
            lease: Duration::from_secs(30),
            model_stall: Duration::from_secs(120),
            model_timeout: Duration::from_secs(60 * 60),
            delta_interval: Some(Duration::from_millis(150)),
            provision_timeout: Duration::from_secs(600),
            operation_timeout: Duration::from_secs(5),
            effects_override: None,
            program: None,
            observer: None,
        }
    }
}

impl RuntimeOptions {
    /// The same, with a lease within its limits.
    pub(super) fn bounded(mut self) -> Self {
        self.lease = self.lease.clamp(LEASE_MIN, LEASE_MAX);
        self
    }
}
