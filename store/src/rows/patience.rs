//! How long an operation waits in total: for its turn, and for all its exchanges with the backend.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{Retry, StoreError, StoreErrorKind};

/// When less than this part of its time is left, an operation asks the backend nothing more. An answer is waited for by this
/// part longer, since the backend ends by itself and says more.
const MARGIN: u32 = 10;

/// The time of one operation.
pub(super) struct Patience {
    began: Instant,
    most: Option<Duration>,
}

impl Patience {
    /// From now on so long; none: however long it takes.
    pub(super) fn of(most: Option<Duration>) -> Self {
        Self { began: Instant::now(), most }
    }

    /// Waits for the turn to write a session, which others of this handle have.
    pub(super) async fn turn<T>(&self, turn: impl Future<Output = T>) -> Result<T, StoreError> {
        self.within(Duration::ZERO, turn).await.ok_or_else(|| self.over())
    }

    /// Waits for the answer of a backend. If none comes, a write may have landed.
    pub(super) async fn exchange<T>(&self, answer: impl Future<Output = T>) -> Result<T, StoreError> {
        if self.is_over() {
            return Err(self.over());
        }
        let margin = self.most.map_or(Duration::ZERO, |most| most / MARGIN);
        let silent = || self.error("no answer").retry(Retry::OutcomeUnknown);
        self.within(margin, answer).await.ok_or_else(silent)
    }

    /// Whether the backend is asked nothing more.
    pub(super) fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.left(most) < most / MARGIN)
    }

    /// What is left of it; none: however long it takes.
    pub(super) fn rest(&self) -> Option<Duration> {
        self.most.map(|most| self.left(most))
    }

    async fn within<T>(&self, more: Duration, what: impl Future<Output = T>) -> Option<T> {
        match self.most {
            None => Some(what.await),
            Some(most) => timeout(self.left(most) + more, what).await.ok(),
        }
    }

    fn left(&self, most: Duration) -> Duration {
        most.saturating_sub(self.began.elapsed())
    }

    /// Nothing was changed, and there is no time to ask.
    fn over(&self) -> StoreError {
        self.error("others were writing the session")
    }

    fn error(&self, what: &str) -> StoreError {
        let detail = format!("{what}, after {:.1} s", self.began.elapsed().as_secs_f64());
        StoreError::new(StoreErrorKind::Unavailable, "", detail)
    }
}
