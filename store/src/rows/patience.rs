//! The time limit of an operation: for its turn and all its exchanges with the backend together.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::{Retry, StoreError, StoreErrorKind};

/// One tenth of the limit. When less than that is left, the operation starts no further exchange. The
/// operation waits for an answer one tenth longer than the limit, because an error of the backend says more
/// than a time-out.
const MARGIN: u32 = 10;

/// The time limit of one operation.
pub(super) struct Patience {
    began: Instant,
    most: Option<Duration>,
}

impl Patience {
    /// A limit of `most` from now on; none: no limit.
    pub(super) fn of(most: Option<Duration>) -> Self {
        Self { began: Instant::now(), most }
    }

    /// Waits until other writes of this handle have given up the turn for the session.
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

    /// Whether no further exchange may start.
    pub(super) fn is_over(&self) -> bool {
        self.most.is_some_and(|most| self.left(most) < most / MARGIN)
    }

    /// The time that is left; none: no limit.
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

    /// The error of a time-out before anything was changed.
    fn over(&self) -> StoreError {
        self.error("others were writing the session")
    }

    fn error(&self, what: &str) -> StoreError {
        let detail = format!("{what}, after {:.1} s", self.began.elapsed().as_secs_f64());
        StoreError::new(StoreErrorKind::Unavailable, "", detail)
    }
}
