//! When a failed model call is tried again (requirements B34, B39).

use std::time::Duration;

use crate::model::ModelError;

/// Attempts after the first. From then on the error ends the turn.
pub const RETRIES_MAX: u32 = 5;

/// Waits of up to this long are slept through; longer ones suspend the run.
pub const SLEEP_MAX: Duration = Duration::from_secs(1);

/// The longest wait that a provider may ask for.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(24 * 60 * 60);

const FIRST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

/// How long to wait after attempt `attempt` (from 0) failed: min(5 · 2ᵃ, 60) seconds. None: give up.
pub fn delay(attempt: u32) -> Option<Duration> {
    (attempt < RETRIES_MAX).then(|| FIRST.saturating_mul(1 << attempt).min(LONGEST))
}

/// How long to wait after attempt `attempt` failed with `error`. What the provider asks for wins over the
/// schedule, but not over its end. That a short wait is enough it is believed once: from the second failure on
/// the schedule, one step behind, is the least. To ask for no wait at all is to ask for nothing.
pub fn delay_after(error: &ModelError, attempt: u32) -> Option<Duration> {
    if !error.kind.is_retryable() {
        return None;
    }
    let scheduled = delay(attempt)?;
    let least = attempt.checked_sub(1).and_then(delay).unwrap_or_default();
    let asked = error.retry_after.filter(|asked| !asked.is_zero());
    Some(asked.map_or(scheduled, |asked| asked.clamp(least, RETRY_AFTER_MAX)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ModelErrorKind;

    #[test]
    fn waits_double_up_to_a_minute_and_end_after_the_fifth() {
        let seconds: Vec<_> = (0..7).map(|attempt| delay(attempt).map(|wait| wait.as_secs())).collect();
        assert_eq!(seconds, [Some(5), Some(10), Some(20), Some(40), Some(60), None, None]);
    }

    #[test]
    fn what_the_provider_asks_for_wins_and_a_refused_key_is_not_tried_again() {
        let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
        error.retry_after = Some(Duration::from_millis(300));
        assert_eq!(delay_after(&error, 0), Some(Duration::from_millis(300)));
        assert_eq!(delay_after(&error, RETRIES_MAX), None);
        error.retry_after = Some(Duration::from_secs(90));
        assert_eq!(delay_after(&error, 2), Some(Duration::from_secs(90)));
        error.retry_after = Some(Duration::MAX);
        assert_eq!(delay_after(&error, 4), Some(RETRY_AFTER_MAX));
        assert_eq!(delay_after(&ModelError::new(ModelErrorKind::Auth, ""), 0), None);
    }

    #[test]
    fn a_provider_that_always_asks_for_nothing_or_next_to_it_does_not_spend_the_retries_at_once() {
        let waits = |asked| {
            let mut error = ModelError::new(ModelErrorKind::RateLimited, "slow down");
            error.retry_after = Some(asked);
            (0..RETRIES_MAX).map(|attempt| delay_after(&error, attempt).unwrap()).collect::<Vec<_>>()
        };
        let seconds = |seconds: [u64; 5]| seconds.map(Duration::from_secs).to_vec();
        assert_eq!(waits(Duration::ZERO), seconds([5, 10, 20, 40, 60]));
        assert_eq!(waits(Duration::from_secs(1)), seconds([1, 5, 10, 20, 40]));
    }
}
