//! The runs that are open in this process, and the order to them when the program stops.

use std::time::Duration;

use holdover_core::engine::Drain;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Host;

/// The open runs of a runtime, and the order to them.
#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    told: watch::Sender<Option<Drain>>,
    open: watch::Sender<usize>,
    /// The number of times that the open runs were dropped.
    cuts: watch::Sender<u64>,
}

/// A guard that counts a run as open until it is dropped.
pub(crate) struct OpenRun {
    host: Host,
    cuts: watch::Receiver<u64>,
}

impl OpenRun {
    /// Waits until the run must be dropped.
    pub(crate) async fn cut(&mut self) {
        if self.cuts.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.host.inner.runs.open.send_modify(|open| *open -= 1);
    }
}

impl Host {
    /// Tells all runs to leave their sessions to others. Drops the runs that are still open after `grace`, and
    /// returns their number.
    pub(crate) async fn drain(&self, drain: Drain, grace: Duration) -> usize {
        let OpenRuns { told, open, cuts } = &self.inner.runs;
        told.send_modify(|told| *told = Some(told.map_or(drain, |before| before.min(drain))));
        let mut open = open.subscribe();
        if timeout(grace, open.wait_for(|open| *open == 0)).await.is_ok() {
            return 0;
        }
        let left = *open.borrow();
        tracing::warn!(runs = left, "dropped, to be taken over");
        cuts.send_modify(|cuts| *cuts += 1);
        // This cannot fail, because `self` owns the sender.
        let _ = open.wait_for(|open| *open == 0).await;
        left
    }

    /// Returns true if the runtime drains and starts nothing more.
    pub(crate) fn is_draining(&self) -> bool {
        self.inner.runs.told.borrow().is_some()
    }

    /// Returns a receiver of the order to the runs.
    pub(crate) fn told_to_drain(&self) -> watch::Receiver<Option<Drain>> {
        self.inner.runs.told.subscribe()
    }

    /// Waits until the runtime begins to drain.
    pub(crate) async fn drains(&self) {
        // This cannot fail, because `self` owns the sender.
        let _ = self.told_to_drain().wait_for(Option::is_some).await;
    }

    pub(crate) fn open_run(&self) -> OpenRun {
        let runs = &self.inner.runs;
        runs.open.send_modify(|open| *open += 1);
        OpenRun { host: self.clone(), cuts: runs.cuts.subscribe() }
    }
}
