//! Draining: all runs of a runtime leave their sessions to others, so that the program can stop.

use std::time::Duration;

use holdover_core::engine::Drain;

use super::Runtime;

impl Runtime {
    /// Tells all runs of this runtime to leave their sessions to others, and waits until they have left. The
    /// sessions are suspended and due at once. The runs are those that were [begun](Self::execute) or
    /// [resumed](Self::resume) here, those of callers that [wait](Self::wait) here, and those of the runtime's
    /// [workers](crate::Worker), which stop. `drain` says how far each run goes on, as in
    /// [`WorkerOptions::drain`](crate::WorkerOptions::drain). A second call can only make the runs leave earlier.
    ///
    /// Runs that are still open after `grace` are dropped, and the method returns their number. Other processes
    /// take their sessions over once the leases have ended. An at-most-once call that was in flight is then in doubt.
    ///
    /// From then on, this runtime runs nothing more. Deliveries are accepted and left to other processes. Callers
    /// that wait here get the session's present outcome once their own runs have left.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use holdover_core::engine::Drain;
    /// # async fn stop(runtime: holdover_runtime_local::Runtime) {
    ///
    /// // The program was told to stop: nothing more starts, and calls in flight may take half a minute.
    /// let dropped = runtime.drain(Drain::Calls, Duration::from_secs(30)).await;
    /// if dropped > 0 {
    ///     eprintln!("{dropped} runs did not end in time; others take their sessions over");
    /// }
    /// # }
    /// ```
    pub async fn drain(&self, drain: Drain, grace: Duration) -> usize {
        self.host.drain(drain, grace).await
    }
}
