//! The store's clock and a lease, as far as this process knows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::machine::Facts;
use holdover_core::store::Receipt;
use holdover_core::time::Timestamp;
use tokio::time::Instant;

/// The possible error of whole milliseconds: one where the store reads its clock, and one where this process
/// adds to it.
const RESOLUTION: Duration = Duration::from_millis(2);

/// The store's clock as far as this process knows it, from the store's last answer and the time since. It is
/// never ahead of the store. It is behind by at most the time that the answer took, plus less than a
/// millisecond.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreClock {
    said: Timestamp,
    asked: Instant,
    heard: Instant,
}

impl StoreClock {
    /// The store said just now that it is `now`, asked at `asked`.
    pub(crate) fn heard(asked: Instant, now: Timestamp) -> Self {
        Self { said: now, asked, heard: Instant::now() }
    }

    /// Returns how long to wait by this clock so that at least `wait` passes, because this clock may be
    /// behind the store's.
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

/// When a lease ends, on our own monotonic clock, counted from before the request that granted it: never
/// later than the store believes.
#[derive(Debug, Clone)]
pub(crate) struct Lease {
    ends: Arc<Mutex<Instant>>,
}

impl Lease {
    /// A lease asked for at `asked`, which by the store's clock ran from `now` to `ends`.
    pub(crate) fn granted(asked: Instant, now: Timestamp, ends: Timestamp) -> Self {
        Self { ends: Arc::new(Mutex::new(far(asked, now.until(ends)))) }
    }

    /// A receipt says how long it runs now. `asked`: before the request, the first one if it was repeated.
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

/// `by` after `from`, at most thirty years: further than any clock here can count.
pub(crate) fn far(from: Instant, by: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);
    from + by.min(LONGEST)
}
