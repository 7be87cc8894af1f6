//! Options of a runtime.

use std::sync::Arc;
use std::time::Duration;

use holdover_core::ids::WorkerId;

use crate::elsewhere::Elsewhere;
use crate::engine::Engine;
use crate::observer::RunObserver;

/// The minimum lease. A shorter lease could end before it is granted.
const LEASE_MIN: Duration = Duration::from_secs(1);
/// The maximum lease. The session of a process that died stays untouched for at most this time.
const LEASE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Options of a [`Runtime`](crate::Runtime).
#[derive(Clone)]
#[non_exhaustive]
pub struct RuntimeOptions {
    /// The name of this worker in leases and run records. `None` stands for a random name.
    pub worker: Option<WorkerId>,
    /// The lease: the time for which a claim holds before others may claim the session. It is at least 1 second and
    /// at most 1 day; a value outside these limits is moved to the nearer one. The lease is renewed while a run goes
    /// on.
    pub lease: Duration,
    /// The maximum silence of a model. After this time, the model call ends with
    /// [`Stalled`](holdover_core::model::ModelErrorKind::Stalled). A model may have its own limit
    /// ([`stall_timeout`](holdover_core::model::Model::stall_timeout)).
    pub model_stall: Duration,
    /// The maximum time of a model call, even if text keeps coming. After it, the call ends with `Stalled`.
    pub model_timeout: Duration,
    /// The time for which the model's text is collected before it is written for readers that follow the session. An
    /// answer that is complete sooner is written only once, as a message. A tool call that takes longer than this
    /// time is shown to these readers, too. With `None`, text is only written as a message, and running calls are not
    /// shown.
    pub delta_interval: Option<Duration>,
    /// The maximum time that each [provisioner](crate::AgentBuilder::provisioner) may take to prepare a turn's
    /// environment, and again to free it.
    pub provision_timeout: Duration,
    /// The maximum time for a request from outside, such as a new session or a message, with all its repeats while a
    /// store does not answer. Only the store's own limit, `operation_timeout` in the store's options, applies to the
    /// first attempt. If the first attempt may have changed something, one repeat may take a second more.
    pub operation_timeout: Duration,
    /// The name of a store, as in its capabilities (for example `memory`). On this store, tools with effects
    /// are accepted although its commits do not survive a killed process. Effects may then happen twice, or
    /// be forgotten.
    pub effects_override: Option<String>,
    /// The name of this program. The sessions that it creates get the name as a label
    /// ([`PROGRAM`](holdover_core::store::Labels::PROGRAM)), which shows other processes which program has the
    /// agent. `None` stands for the name of the executable. Longer names are cut to
    /// [`TEXT_BYTES_MAX`](holdover_core::store::Labels::TEXT_BYTES_MAX) bytes.
    pub program: Option<String>,
    /// The wire to agents and callers in other programs. With `None`, tasks for agents elsewhere fail, and outcomes
    /// are not sent.
    pub elsewhere: Option<Arc<dyn Elsewhere>>,
    /// The durable engine that decides when sessions are served. It is woken after every write of this runtime that may
    /// give a session work. With `None`, workers find the work.
    pub engine: Option<Arc<dyn Engine>>,
    /// True if [`execute`](crate::Runtime::execute), [`resume`](crate::Runtime::resume),
    /// [`retry`](crate::Runtime::retry), [`compact`](crate::Runtime::compact) and [`wait`](crate::Runtime::wait) run
    /// sessions in this process. Otherwise they store the request, leave the runs to workers or to the engine, and watch the
    /// session.
    pub run_here: bool,
    /// An observer of runs in this process.
    pub observer: Option<Arc<dyn RunObserver>>,
}

holdover_core::setters! { RuntimeOptions {
    lease: Duration,
    model_stall: Duration,
    model_timeout: Duration,
    provision_timeout: Duration,
    operation_timeout: Duration,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    engine: Option<Arc<dyn Engine>>,
    run_here: bool,
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
            elsewhere: None,
            engine: None,
            run_here: true,
            observer: None,
        }
    }
}

impl RuntimeOptions {
    /// Moves the lease into its limits.
    pub(super) fn bounded(mut self) -> Self {
        self.lease = self.lease.clamp(LEASE_MIN, LEASE_MAX);
        self
    }
}
