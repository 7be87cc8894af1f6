//! Tells a run when to leave its session to another run.

use std::future::pending;

use holdover_core::engine::Drain;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::host::Host;

/// The sources that tell a run to leave its session to another run, and how far the run still goes.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// The token of the worker. `None` if there is no worker, or once the token was read.
    by_worker: Option<(CancellationToken, Drain)>,
    /// The orders of the runtime. A second order may tell the run to leave earlier.
    by_runtime: Option<watch::Receiver<Option<Drain>>>,
}

impl Leaving {
    /// Creates the sources for a run that leaves once `told` is cancelled. `drain` says how far it still goes.
    pub(crate) fn when(told: CancellationToken, drain: Drain) -> Self {
        Self { by_worker: Some((told, drain)), by_runtime: None }
    }

    /// Creates sources that never tell the run to leave, unless the orders of the runtime are added.
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// Adds the orders of the runtime.
    pub(super) fn or_with(self, host: &Host) -> Self {
        let mut told = host.told_to_drain();
        told.mark_changed();
        Self { by_runtime: Some(told), ..self }
    }

    /// Returns true if the run was already told to leave.
    pub(crate) fn is_told(&self) -> bool {
        self.by_worker.as_ref().is_some_and(|(told, _)| told.is_cancelled())
            || self.by_runtime.as_ref().is_some_and(|told| told.borrow().is_some())
    }

    /// Waits for the next order, and returns how far the run still goes.
    pub(super) async fn heard(&mut self) -> Drain {
        tokio::select! {
            biased;
            drain = of_worker(&self.by_worker) => {
                self.by_worker = None;
                drain
            }
            drain = of_runtime(&mut self.by_runtime) => drain,
        }
    }
}

async fn of_worker(by_worker: &Option<(CancellationToken, Drain)>) -> Drain {
    let Some((told, drain)) = by_worker else { return pending().await };
    told.cancelled().await;
    *drain
}

async fn of_runtime(by_runtime: &mut Option<watch::Receiver<Option<Drain>>>) -> Drain {
    let Some(told) = by_runtime else { return pending().await };
    while told.changed().await.is_ok() {
        if let Some(drain) = *told.borrow_and_update() {
            return drain;
        }
    }
    pending().await
}
