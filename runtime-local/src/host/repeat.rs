//! Repeats requests to the store. Each request carries an id of its own, so a repeat changes nothing.

use std::time::Duration;

use futures::future::BoxFuture;
use holdover_core::store::{Retry, StoreError};
use tokio::time::{Instant, sleep, timeout_at};

use super::Host;
use crate::backoff::Backoff;
use crate::outage::{Patience, Waiting};

/// The maximum number of attempts of a request from outside before its error is returned.
const TRIES_MAX: u32 = 6;

/// The minimum time for a repeat that finds out whether the first attempt changed something. It applies even beyond
/// the time for all attempts.
const FIND_OUT: Duration = Duration::from_secs(1);

impl Host {
    /// Repeats `request` a few times while its error allows it, within
    /// [`operation_timeout`](crate::RuntimeOptions::operation_timeout) in total. Only the store's own limit applies
    /// to the first attempt. A first attempt that may have changed something is repeated once in any case.
    pub(crate) async fn repeated<'a, T>(
        &self,
        request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
    ) -> Result<T, StoreError> {
        repeated_within(self.options().operation_timeout, request).await
    }
}

async fn repeated_within<'a, T>(
    within: Duration,
    mut request: impl FnMut() -> BoxFuture<'a, Result<T, StoreError>> + Send,
) -> Result<T, StoreError> {
    let (began, mut backoff) = (Instant::now(), Backoff::store());
    let (mut tries, mut unknown) = (1, false);
    let mut answer = request().await;
    loop {
        let mut error = match answer {
            Err(error) if error.retry != Retry::Never => error,
            answer => return answer,
        };
        unknown |= error.retry == Retry::OutcomeUnknown;
        let (pause, left) = (backoff.take(), within.saturating_sub(began.elapsed()));
        let in_time = tries < TRIES_MAX && pause < left;
        // The request carries an id, so the answer to a repeat shows the result of the first attempt.
        let finds_out = tries == 1 && unknown && left < FIND_OUT;
        if in_time || finds_out {
            tracing::debug!(%error, "asking the store again");
            sleep(pause).await;
            tries += 1;
            let until = if finds_out { Instant::now() + FIND_OUT } else { began + within };
            match timeout_at(until, request()).await {
                Ok(next) => {
                    answer = next;
                    continue;
                }
                // The repeat may have been applied meanwhile.
                Err(_) => unknown = true,
            }
        }
        if tries > 1 {
            let waited = began.elapsed().as_secs_f64();
            error.detail = format!("{}; asked {tries} times in {waited:.1} s", error.detail);
        }
        return Err(if unknown { error.retry(Retry::OutcomeUnknown) } else { error });
    }
}

/// The reason why a request under a fence was given up.
#[derive(Debug)]
pub(crate) enum GivenUp {
    /// It is not known whether the request was applied: the lease has ended, or a repeat was refused for good after
    /// an attempt that may have been applied.
    LeaseEnded,
    /// The same request would fail again. Nothing was changed.
    Final(StoreError),
}

/// Repeats `request` until it is answered, is refused for good, or the lease has ended, and reports the outage. The
/// second part of the result is true if the request was repeated.
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
    use uuid::Uuid;

    use super::*;
    use crate::clock::{Lease, StoreClock};
    use crate::outage::Outages;

    /// Returns the error of a request whose attempts fail with these errors, one after another.
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

    /// Returns the error of a request whose every attempt takes this long and fails, and the total time.
    async fn fails_after(took: Duration, retry: Retry) -> (StoreError, Duration) {
        let began = Instant::now();
        let ended = repeated_within::<()>(Duration::from_secs(5), || {
            let error = StoreError::new(StoreErrorKind::Unavailable, "create_session", "no connection");
            async move {
                sleep(took).await;
                Err(error.retry(retry))
            }
            .boxed()
        });
        (ended.await.expect_err("nothing was answered"), began.elapsed())
    }

    /// Returns the result of a request whose first attempt takes this long and fails, and whose second is answered
    /// after `then`, with the total time.
    async fn found_out(took: Duration, retry: Retry, then: Duration) -> (Result<u8, StoreError>, Duration) {
        let (began, mut tries) = (Instant::now(), 0);
        let found = repeated_within(Duration::from_secs(5), || {
            tries += 1;
            let first = tries == 1;
            async move {
                sleep(if first { took } else { then }).await;
                let error = StoreError::new(StoreErrorKind::Unavailable, "create_session", "no answer");
                if first { Err(error.retry(retry)) } else { Ok(7) }
            }
            .boxed()
        });
        (found.await, began.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn a_late_first_try_that_may_have_changed_something_is_repeated_once_for_about_a_second() {
        let (ms, late) = (Duration::from_millis, Duration::from_millis(4_950));
        for first in [late, Duration::from_secs(5), Duration::from_secs(10)] {
            let (found, took) = found_out(first, Retry::OutcomeUnknown, ms(900)).await;
            assert_eq!(found.expect("it is known"), 7);
            assert!(took < first + Duration::from_secs(1), "{took:?}");
        }
        let (found, took) = found_out(late, Retry::OutcomeUnknown, Duration::from_secs(3)).await;
        let error = found.expect_err("nobody said what became of it");
        assert_eq!(error.retry, Retry::OutcomeUnknown);
        assert_eq!((error.detail.as_str(), took), ("no answer; asked 2 times in 6.0 s", ms(5_970)));
        // A request that changed nothing is not repeated after its time is over.
        let (_, took) = found_out(Duration::from_secs(5), Retry::Later, ms(900)).await;
        assert_eq!(took, Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn all_tries_of_a_request_share_one_deadline_and_the_error_says_how_long_it_took() {
        let (error, took) = fails_after(Duration::from_secs(5), Retry::Later).await;
        assert_eq!(
            (took, error.detail.as_str()),
            (Duration::from_secs(5), "no connection"),
            "the first took all"
        );
        let (error, took) = fails_after(Duration::from_secs(3), Retry::Later).await;
        assert_eq!(took, Duration::from_secs(5), "the second is cut off");
        assert_eq!(error.detail, "no connection; asked 2 times in 5.0 s");
        assert_eq!(error.retry, Retry::OutcomeUnknown, "the one that was cut off may have been applied");
        let (error, took) = fails_after(Duration::ZERO, Retry::Later).await;
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_eq!(
            (error.retry, error.detail.as_str()),
            (Retry::Later, "no connection; asked 6 times in 0.6 s")
        );
    }
}
