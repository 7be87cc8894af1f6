//! Watches the suite from outside: shows its progress, and stops it between cases.

use std::convert::Infallible;
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use holdover_conformance_tests::{
    ClockControl, Gap, Instance, Place, Progress, Proxy, StoreHarness, StoreInfo,
};
use tokio::time::MissedTickBehavior;

use crate::follow::REDRAW_EVERY;
use crate::print::Out;

/// The interval between two checks for running cases.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// The state of the suite while it runs.
pub(super) struct Watch {
    began: Instant,
    made: AtomicUsize,
    running: AtomicUsize,
    stopped: AtomicBool,
    /// The last line that was shown.
    told: Mutex<String>,
}

impl Watch {
    pub(super) fn new() -> Arc<Self> {
        let (made, running, told) =
            (AtomicUsize::new(0), AtomicUsize::new(0), Mutex::new("begins".to_owned()));
        Arc::new(Self { began: Instant::now(), made, running, stopped: AtomicBool::new(false), told })
    }

    /// Notes that a case has ended.
    pub(super) fn tell(&self, progress: &Progress<'_>) {
        let line = format!("{} of {} · {}", progress.ended, progress.of, progress.case.id);
        *self.told.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }

    /// Makes a harness for the next case. Never returns once the suite is stopped: the threads of the suite end with
    /// the process.
    pub(super) fn harness<H>(self: &Arc<Self>, make: impl FnOnce() -> H) -> Watched<H> {
        self.running.fetch_add(1, Ordering::SeqCst);
        if self.stopped.load(Ordering::SeqCst) {
            self.running.fetch_sub(1, Ordering::SeqCst);
            loop {
                std::thread::park();
            }
        }
        self.made.fetch_add(1, Ordering::SeqCst);
        Watched { harness: make(), watch: Arc::clone(self) }
    }

    /// Returns the number of cases that have begun; repeated cases count again. The first harness does not count: the
    /// suite only reads its info.
    pub(super) fn begun(&self) -> usize {
        self.made.load(Ordering::SeqCst).saturating_sub(1)
    }

    /// Stops the suite: no more cases begin. Returns once the running cases have ended.
    pub(super) async fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        while self.running.load(Ordering::SeqCst) > 0 {
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Draws the progress. Never returns.
    pub(super) async fn draw(&self, out: &Out) -> Infallible {
        let mut redraw = tokio::time::interval(REDRAW_EVERY);
        redraw.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            redraw.tick().await;
            let seconds = self.began.elapsed().as_secs();
            let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).clone();
            out.draw(&[format!("◦ {told} · {seconds} s")]);
        }
    }
}

/// A harness that counts as running until it is dropped, at the end of its case.
pub(super) struct Watched<H> {
    harness: H,
    watch: Arc<Watch>,
}

impl<H> Drop for Watched<H> {
    fn drop(&mut self) {
        self.watch.running.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl<H: StoreHarness> StoreHarness for Watched<H> {
    type Store = H::Store;

    fn info(&self) -> StoreInfo {
        self.harness.info()
    }

    async fn fresh(&self) -> Instance<H::Store> {
        self.harness.fresh().await
    }

    async fn peer(&self, of: &Instance<H::Store>) -> H::Store {
        self.harness.peer(of).await
    }

    async fn reopen(&self, of: Instance<H::Store>) -> Instance<H::Store> {
        self.harness.reopen(of).await
    }

    async fn dispose(&self, of: Instance<H::Store>) {
        self.harness.dispose(of).await;
    }

    fn clock(&self) -> ClockControl {
        self.harness.clock()
    }

    fn case_time_max(&self) -> Duration {
        self.harness.case_time_max()
    }

    fn peers_max(&self) -> usize {
        self.harness.peers_max()
    }

    fn in_layer(&self) -> bool {
        self.harness.in_layer()
    }

    fn child(&self, of: &Instance<H::Store>) -> Option<Command> {
        self.harness.child(of)
    }

    async fn peer_through(&self, of: &Instance<H::Store>, proxy: &Proxy) -> Option<H::Store> {
        self.harness.peer_through(of, proxy).await
    }

    async fn place(&self) -> Option<Arc<dyn Place>> {
        self.harness.place().await
    }

    fn gaps(&self) -> Vec<Gap> {
        self.harness.gaps()
    }
}
