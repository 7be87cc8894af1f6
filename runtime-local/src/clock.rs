//! The store's clock and a lease, as this process knows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use holdover_core::machine::Facts;
use holdover_core::store::Receipt;
use holdover_core::time::Timestamp;
use tokio::time::Instant;

/// The store's clock as far as this process knows it: what the store said last, and how long ago.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StoreClock {
    said: Timestamp,
    heard: Instant,
}

impl StoreClock {
    /// The store said just now that it is `now`.
    pub(crate) fn heard(now: Timestamp) -> Self {
        Self { said: now, heard: Instant::now() }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.said.after(self.heard.elapsed())
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts { now: self.now() }
    }

    /// The instant on our own clock that `at` is.
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
