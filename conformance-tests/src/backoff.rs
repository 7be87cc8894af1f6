//! Growing pauses between polls.

use std::time::Duration;

/// The pauses between polls of a slow condition. Each pause is twice as long as the one before, up to one second, so
/// that a quick store is not kept waiting and a slow store is not polled too often.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(1);
    const MAX: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Self { next: Self::FIRST }
    }

    /// Sleeps for the next pause, and doubles it.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(Self::MAX);
    }
}
