//! The store's clock and the lease, as this process knows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::machine::Facts;
use holdover_core::store::Receipt;
use holdover_core::time::Timestamp;
use tokio::time::Instant;

/// The maximum rounding error of whole milliseconds: one millisecond where the store reads its clock, and one where
/// this process adds to it.
const RESOLUTION: Duration = Duration::from_millis(2);

/// The store's clock as this process knows it, from the store's last answer and the time since then. It is never
/// ahead of the store. It is behind by at most the time that the answer took, plus the rounding error of at most two
/// milliseconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreClock {
    said: Timestamp,
    asked: Instant,
    heard: Instant,
}

impl StoreClock {
    /// Creates a clock from an answer of the store: asked at `asked`, the store has just returned the time `now`.
    pub(crate) fn heard(asked: Instant, now: Timestamp) -> Self {
        Self { said: now, asked, heard: Instant::now() }
    }

    /// Returns how long to wait by this clock so that at least `wait` passes by the store's clock, which may be
    /// ahead.
    pub(crate) fn at_least(&self, wait: Duration) -> Duration {
        let behind = self.heard.saturating_duration_since(self.asked) + RESOLUTION;
        wait.saturating_add(behind)
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.said.after(self.heard.elapsed())
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts { now: self.now() }
    }

    /// Converts `at` to this process's clock.
    pub(crate) fn instant(&self, at: Timestamp) -> Instant {
        far(Instant::now(), self.now().until(at))
    }
}

/// The end of a lease on the monotonic clock of this process. It is counted from before the request that granted the
/// lease, so it is never later than the store's.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    ends: Arc<Mutex<Instant>>,
}

impl Lease {
    /// Creates a lease that was requested at `asked` and ran from `now` to `ends` by the store's clock.
    pub(crate) fn granted(asked: Instant, now: Timestamp, ends: Timestamp) -> Self {
        Self { ends: Arc::new(Mutex::new(far(asked, now.until(ends)))) }
    }

    /// Extends the lease to the end that a receipt names. `asked` is the time before the first request for it.
    pub(crate) fn extend(&self, asked: Instant, receipt: &Receipt) {
        let until = far(asked, receipt.now.until(receipt.lease_ends));
        let mut ends = self.ends.lock().unwrap_or_else(PoisonError::into_inner);
        *ends = until.max(*ends);
    }

    pub(crate) fn ends(&self) -> Instant {
        *self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn runs(&self) -> bool {
        Instant::now() < self.ends()
    }
}

/// Returns `by` after `from`, at most thirty years after it, so that the sum does not overflow.
pub(crate) fn far(from: Instant, by: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    from + by.min(LONGEST)
}
