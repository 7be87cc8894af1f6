//! Polls again and again, with growing pauses.

use std::time::Duration;

/// The pauses between looks at what takes its time: each twice as long as the one before, so that neither a
/// quick store waits long nor a slow one is asked too often.
pub(crate) struct Backoff {
    next: Duration,
}

impl Backoff {
    const FIRST: Duration = Duration::from_millis(1);
    const MAX: Duration = Duration::from_secs(1);

    pub(crate) fn new() -> Self {
        Self { next: Self::FIRST }
    }

    /// Backoff.
    pub(crate) async fn pause(&mut self) {
        tokio::time::sleep(self.next).await;
        self.next = (self.next * 2).min(Self::MAX);
    }
}
