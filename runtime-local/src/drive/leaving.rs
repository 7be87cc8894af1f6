//! Tells a run when to leave its session to another run.

use std::future::pending;

use holdover_core::engine::Drain;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::host::Host;

/// What tells a run to leave its session to another, and how far it goes on then.
#[derive(Debug, Default)]
pub(crate) struct Leaving {
    /// None: no worker tells it, or one did.
    by_worker: Option<(CancellationToken, Drain)>,
    /// Told again, it may leave at a nearer place.
    by_runtime: Option<watch::Receiver<Option<Drain>>>,
}

impl Leaving {
    /// The run is told once `told` is cancelled.
    pub(crate) fn when(told: CancellationToken, drain: Drain) -> Self {
        Self { by_worker: Some((told, drain)), by_runtime: None }
    }

    /// A run that nobody tells.
    pub(crate) fn never() -> Self {
        Self::default()
    }

    /// It is told by its runtime, too.
    pub(super) fn or_with(self, host: &Host) -> Self {
        let mut told = host.told_to_drain();
        told.mark_changed();
        Self { by_runtime: Some(told), ..self }
    }

    /// Whether it is to leave already.
    pub(crate) fn is_told(&self) -> bool {
        self.by_worker.as_ref().is_some_and(|(told, _)| told.is_cancelled())
            || self.by_runtime.as_ref().is_some_and(|told| told.borrow().is_some())
    }

    /// How far it goes on, each time that it is told.
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
