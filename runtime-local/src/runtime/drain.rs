//! Draining: tells all runs of a runtime to leave their sessions to others, for programs that stop.

use std::time::Duration;

use holdover_core::engine::Drain;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Runtime;

/// The runs that a runtime has open, and what they are told.
#[derive(Debug, Default)]
pub(super) struct OpenRuns {
    told: watch::Sender<Option<Drain>>,
    open: watch::Sender<usize>,
    /// How often those that were open were dropped.
    cuts: watch::Sender<u64>,
}

/// A run is open for as long as this is there.
pub(crate) struct OpenRun {
    runtime: Runtime,
    cuts: watch::Receiver<u64>,
}

impl OpenRun {
    /// Returns when the run is to be dropped where it is.
    pub(crate) async fn cut(&mut self) {
        if self.cuts.changed().await.is_err() {
            std::future::pending().await
        }
    }
}

impl Drop for OpenRun {
    fn drop(&mut self) {
        self.runtime.shared.runs.open.send_modify(|open| *open -= 1);
    }
}

impl Runtime {
    /// Tells all runs of this runtime to leave their sessions to others, suspended and due at once, and waits
    /// until that is done. These are runs that were [begun](Self::execute) or [resumed](Self::resume) here,
    /// those of callers that [wait](Self::wait) here, and those of its [workers](crate::Worker), which end.
    /// `drain` says how far each goes on, as in [`WorkerOptions::drain`](crate::WorkerOptions::drain). If it
    /// is called again, runs leave at the nearer place.
    ///
    /// Runs that are still open after `grace` are dropped where they are, and taken over once their leases
    /// have ended. An at-most-once call that was out is then in doubt. Returns the number of dropped runs.
    ///
    /// From then on this runtime runs nothing more. Deliveries are accepted and left to others, and callers
    /// that wait here are told at once how the session stands.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use holdover_core::engine::Drain;
    /// # async fn stop(runtime: holdover_runtime_local::Runtime) {
    ///
    /// // The program was told to stop: nothing more starts, and what is out may take half a minute.
    /// let dropped = runtime.drain(Drain::Calls, Duration::from_secs(30)).await;
    /// if dropped > 0 {
    ///     eprintln!("{dropped} runs did not end in time; others take their sessions over");
    /// }
    /// # }
    /// ```
    pub async fn drain(&self, drain: Drain, grace: Duration) -> usize {
        let OpenRuns { told, open, cuts } = &self.shared.runs;
        told.send_modify(|told| *told = Some(told.map_or(drain, |before| before.min(drain))));
        let mut open = open.subscribe();
        if timeout(grace, open.wait_for(|open| *open == 0)).await.is_ok() {
            return 0;
        }
        let left = *open.borrow();
        tracing::warn!(runs = left, "dropped, to be taken over");
        cuts.send_modify(|cuts| *cuts += 1);
        // It cannot fail: the sender is ours.
        let _ = open.wait_for(|open| *open == 0).await;
        left
    }

    /// Whether it runs nothing more.
    pub(crate) fn is_draining(&self) -> bool {
        self.shared.runs.told.borrow().is_some()
    }

    /// What its runs are told.
    pub(crate) fn told_to_drain(&self) -> watch::Receiver<Option<Drain>> {
        self.shared.runs.told.subscribe()
    }

    /// Returns once it runs nothing more.
    pub(crate) async fn drains(&self) {
        // It cannot fail: the sender is ours.
        let _ = self.told_to_drain().wait_for(Option::is_some).await;
    }

    pub(crate) fn open_run(&self) -> OpenRun {
        let runs = &self.shared.runs;
        runs.open.send_modify(|open| *open += 1);
        OpenRun { runtime: self.clone(), cuts: runs.cuts.subscribe() }
    }
}
