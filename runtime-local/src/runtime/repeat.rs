//! Repeating a request to the store: each carries an id of its own, so a repeat changes nothing.

use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::store::{Retry, StoreError};
use tokio::time::sleep;

use crate::outage::{Patience, Waiting};

/// How often a request from outside is tried before its error is handed on.
const TRIES_MAX: u32 = 6;

/// Growing waits between tries.
#[derive(Debug)]
pub(crate) struct Backoff {
    next: Duration,
    longest: Duration,
}

impl Backoff {
    /// Waits from `first`, doubling up to `longest`.
    pub(crate) fn new(first: Duration, longest: Duration) -> Self {
        Self { next: first, longest }
    }

    /// For a store that stumbled.
    pub(crate) fn store() -> Self {
        Self::new(Duration::from_millis(20), Duration::from_secs(1))
    }

    /// How long to wait now.
    pub(crate) fn take(&mut self) -> Duration {
        let now = self.next;
        self.next = (self.next * 2).min(self.longest);
        now
    }
}

/// Repeats `request` a few times while its error says that this makes sense.
pub(crate) async fn repeated<'a, T>(
    mut request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let mut backoff = Backoff::store();
    let mut tries = 1;
    loop {
        match request().await {
            Err(error) if error.retry != Retry::Never && tries < TRIES_MAX => {
                tracing::debug!(%error, "asking the store again");
                sleep(backoff.take()).await;
                tries += 1;
            }
            answer => return answer,
        }
    }
}

/// Why a request under a fence was given up.
#[derive(Debug)]
pub(crate) enum GivenUp {
    /// The lease has ended, and it cannot be told what became of the request.
    LeaseEnded,
    /// The same request fails again; nothing was changed.
    Final(StoreError),
}

/// Repeats `request` until it is answered or the lease has ended, and tells that it waits. The answer says whether it was
/// repeated.
pub(crate) async fn until_answered<'a, T>(
    patience: &Patience,
    mut request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
) -> Result<(T, bool), GivenUp> {
    let mut backoff = Backoff::store();
    let (mut waiting, mut unknown): (Option<Waiting>, bool) = (None, false);
    loop {
        let error = match request().await {
            Ok(answer) => {
                let Some(waiting) = waiting else { return Ok((answer, false)) };
                waiting.answered();
                return Ok((answer, true));
            }
            Err(error) => error,
        };
        match error.retry {
            Retry::Never if unknown => return Err(GivenUp::LeaseEnded),
            Retry::Never => return Err(GivenUp::Final(error)),
            Retry::OutcomeUnknown => unknown = true,
            Retry::Later => {}
        }
        if !patience.lease.runs() {
            tracing::warn!(%error, "the lease ended while the store did not answer");
            return Err(GivenUp::LeaseEnded);
        }
        match &waiting {
            None => waiting = Some(patience.outages.begin(&error)),
            Some(waiting) => waiting.failed(&error),
        }
        sleep(backoff.take()).await;
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use holdover_core::ids::{Epoch, Fence, Incarnation, SessionId, SessionKey, TenantId};
    use holdover_core::store::StoreErrorKind;
    use holdover_core::time::Timestamp;
    use tokio::time::Instant;
    use uuid::Uuid;

    use super::*;
    use crate::clock::{Lease, StoreClock};
    use crate::outage::Outages;

    /// What a request comes to whose errors say this, one after the other.
    async fn ends_with(said: &[Retry]) -> GivenUp {
        let now = Timestamp::from_ms(0);
        let lease = Lease::granted(Instant::now(), now, now.after(Duration::from_secs(30)));
        let key = SessionKey::new(TenantId::new("t").unwrap(), SessionId::new("s").unwrap());
        let run = Fence { key, incarnation: Incarnation(Uuid::nil()), epoch: Epoch(1) };
        let outages = Outages::of(run, StoreClock::heard(Instant::now(), now), None);
        let patience = Patience { lease, outages };
        let mut said = said.iter();
        let ended = until_answered::<()>(&patience, || {
            let retry = *said.next().expect("it is not asked again");
            let error = StoreError::new(StoreErrorKind::Unavailable, "test", "").retry(retry);
            async move { Err(error) }.boxed()
        });
        ended.await.expect_err("nothing was answered")
    }

    #[tokio::test(start_paused = true)]
    async fn a_refusal_says_what_became_of_a_request_only_if_no_answer_was_lost_before() {
        let refused = ends_with(&[Retry::Later, Retry::Never]).await;
        assert!(matches!(refused, GivenUp::Final(_)), "{refused:?}");
        let unknown = ends_with(&[Retry::OutcomeUnknown, Retry::Later, Retry::Never]).await;
        assert!(matches!(unknown, GivenUp::LeaseEnded), "{unknown:?}");
    }
}
