//! Growing waits between attempts.

use std::time::Duration;

/// Growing waits between attempts.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Creates waits that begin with `first` and double up to `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// Returns the waits after a store error.
    pub(crate) fn store() -> Self {
        Self::new(Duration::from_millis(20), Duration::from_secs(1))
    }

    /// Returns the wait before the next attempt, and lengthens the one after it.
    pub(crate) fn take(&mut self) -> Duration {
        let now = self.next;
        self.next = (self.next * 2).min(self.longest);
        now
    }
}
