//! The durable engine that `--engine` names, of any kind.

#![cfg_attr(
    not(any(feature = "restate", feature = "temporal")),
    allow(dead_code, reason = "a build without an engine only says so")
)]

#[cfg(feature = "restate")]
mod restate;
#[cfg(feature = "temporal")]
mod temporal;
mod url;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use holdover_core::engine::Drain;
use holdover_runtime_local::{CancellationToken, Engine, Runtime};

use crate::exit::Failure;
#[cfg(not(feature = "restate"))]
use crate::left_out::restate;
#[cfg(not(feature = "temporal"))]
use crate::left_out::temporal;

use url::Kind;
pub(crate) use url::{EngineUrl, VARIABLE};

/// A durable engine of one kind.
#[async_trait]
pub(crate) trait Scheduler: Send + Sync {
    /// Returns the engine that a runtime wakes.
    fn engine(&self) -> Arc<dyn Engine>;

    /// Serves sessions when the engine asks for it, until `stop` is cancelled. Returns the number of runs that were
    /// dropped.
    async fn work(
        &self,
        runtime: Runtime,
        how: &HowToWork,
        stop: CancellationToken,
    ) -> Result<usize, Failure>;
}

/// The way in which a worker of an engine serves.
#[derive(Debug, Clone)]
pub(crate) struct HowToWork {
    /// The maximum number of sessions that run at once. On Temporal, it holds for each queue.
    pub(crate) max_running: NonZeroUsize,
    /// The point up to which runs go on after a stop.
    pub(crate) drain: Drain,
    /// The time limit for the runs to leave.
    pub(crate) grace: Duration,
}

/// Prepares the engine that `url` names. Connects to nothing yet.
pub(crate) fn prepare(url: &EngineUrl) -> Result<Arc<dyn Scheduler>, Failure> {
    match url.kind()? {
        Kind::Temporal => temporal::prepare(url),
        Kind::Restate => restate::prepare(url),
    }
}
