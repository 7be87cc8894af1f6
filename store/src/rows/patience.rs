//! The time limit of an operation. It covers the wait for a turn and all exchanges with the backend together.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{Retry, StoreError, StoreErrorKind};

/// The divisor of the limit that gives the margin, one tenth of the limit. When less than the margin is left,
/// the operation starts no further exchange. The operation waits for an answer until one margin after the
/// limit, because an error of the backend says more than a time-out.
const MARGIN: u32 = 10;

/// The time limit of one operation.
pub(super) struct Patience {
    began: Instant,
    most: Option<Duration>,
}

impl Patience {
    /// Starts a limit of `most` from now on. If none, there is no limit.
    pub(super) fn of(most: Option<Duration>) -> Self {
        Self { began: Instant::now(), most }
    }

    /// Waits for the turn to write a session. Fails when the limit has passed.
    pub(super) async fn turn<T>(&self, turn: impl Future<Output = T>) -> Result<T, StoreError> {
        self.within(Duration::ZERO, turn).await.ok_or_else(|| self.over())
    }

    /// Waits for the answer of the backend. If less time than the margin is left, fails without an exchange. If no
    /// answer comes in time, fails with an unknown outcome, because a write may have been applied.
    pub(super) async fn exchange<T>(&self, answer: impl Future<Output = T>) -> Result<T, StoreError> {
        if self.is_over() {
            return Err(self.over());
        }
        let margin = self.most.map_or(Duration::ZERO, |most| most / MARGIN);
        let silent = || self.error("no answer").retry(Retry::OutcomeUnknown);
        self.within(margin, answer).await.ok_or_else(silent)
    }

    /// Returns true if no further exchange may start.
    pub(super) fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.left(most) < most / MARGIN)
    }

    /// Returns the time that is left; none if there is no limit.
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

    /// Returns the error for a time-out before anything was changed.
    fn over(&self) -> StoreError {
        self.error("others were writing the session")
    }

    fn error(&self, what: &str) -> StoreError {
        let detail = format!("{what}, after {:.1} s", self.began.elapsed().as_secs_f64());
        StoreError::new(StoreErrorKind::Unavailable, "", detail)
    }
}
