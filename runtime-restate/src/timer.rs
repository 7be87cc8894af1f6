//! The timer of a session.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The time by which a timer may be early and still be kept. The session is then served early, and sets its timer again.
const EARLY_MS: u64 = 1000;
/// The time by which a timer may be late and still be kept. The time of a deadline differs by some milliseconds each time it
/// is computed.
const LATE_MS: u64 = 50;

/// The timer of a session: a delayed call of its own handler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Timer {
    /// The invocation that sent the call. A call of an older invocation is outdated.
    pub(crate) by: String,
    /// The time of the call by the clock of the worker, in milliseconds since 1970.
    pub(crate) at_ms: u64,
    /// The time by which the clock of Restate is ahead, as far as it was known when the call was sent.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) ahead_ms: u64,
}

impl Timer {
    /// Returns the delay after `now_ms` with which the call is sent. Restate calls at a time by its own clock.
    pub(crate) fn delay(&self, now_ms: u64) -> Duration {
        Duration::from_millis(self.by_restate().saturating_sub(now_ms))
    }

    /// Returns true if this timer can replace a call at `at_ms`: it is still to come, at almost the same time.
    fn covers(&self, at_ms: u64, now_ms: u64) -> bool {
        self.at_ms > now_ms
            && self.at_ms <= at_ms.saturating_add(LATE_MS)
            && at_ms <= self.at_ms.saturating_add(EARLY_MS)
    }

    /// Returns the time of the call by the clock of Restate.
    fn by_restate(&self) -> u64 {
        self.at_ms.saturating_add(self.ahead_ms)
    }
}

/// The knowledge of a call of the handler about timers.
#[derive(Debug)]
pub(crate) struct Timers {
    /// The timer that is still to come.
    pending: Option<Timer>,
    /// The time by which the clock of Restate is ahead, as far as it is known.
    ahead_ms: u64,
}

impl Timers {
    /// `stored` is the timer in the state of the object. If it `calls`, it is spent; and if its time has not come at
    /// `now_ms`, the clock of Restate is ahead.
    pub(crate) fn new(stored: Option<Timer>, calls: bool, now_ms: u64) -> Self {
        match stored {
            Some(spent) if calls => {
                Self { pending: None, ahead_ms: spent.by_restate().saturating_sub(now_ms) }
            }
            Some(pending) => Self { ahead_ms: pending.ahead_ms, pending: Some(pending) },
            None => Self { pending: None, ahead_ms: 0 },
        }
    }

    /// Returns the timer that the invocation `by` sets for `at_ms`, or `None` if the pending one is kept.
    pub(crate) fn next(self, by: &str, at_ms: u64, now_ms: u64) -> Option<Timer> {
        if self.pending.is_some_and(|timer| timer.covers(at_ms, now_ms)) {
            return None;
        }
        Some(Timer { by: by.to_owned(), at_ms, ahead_ms: self.ahead_ms })
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    fn at(at_ms: u64) -> Timer {
        Timer { by: "one".into(), at_ms, ahead_ms: 0 }
    }

    #[test]
    fn a_timer_covers_only_a_call_at_almost_the_same_time() {
        let timer = at(10_000);
        assert!(timer.covers(10_000, 9_999) && timer.covers(11_000, 0) && timer.covers(9_950, 0));
        assert!(!timer.covers(9_949, 0), "it would be late");
        assert!(!timer.covers(11_001, 0), "it would be much too early");
        assert!(!timer.covers(10_000, 10_000), "it may have been called already");
    }

    #[test]
    fn the_timer_of_a_wake_up_in_between_is_kept() {
        let next = |at_ms| Timers::new(Some(at(10_000)), false, 5_000).next("two", at_ms, 5_000);
        assert_eq!(next(9_999), None);
        assert_eq!(next(9_000), Some(Timer { by: "two".into(), ..at(9_000) }));
        assert_eq!(Timers::new(None, false, 5_000).next("two", 9_000, 5_000), next(9_000));
    }

    /// Restate's clock is 200 ms ahead: it calls at 9,800 by the clock of the worker.
    #[test]
    fn a_timer_that_calls_early_is_set_again_by_the_clock_of_restate() {
        for at_ms in [9_999, 10_000, 10_001] {
            let next = Timers::new(Some(at(10_000)), true, 9_800).next("two", at_ms, 9_800).unwrap();
            assert_eq!(next, Timer { by: "two".into(), at_ms, ahead_ms: 200 });
            assert_eq!(next.delay(9_800), Duration::from_millis(at_ms + 200 - 9_800));
            // The second call is in time, and the difference stays known.
            let then = Timers::new(Some(next.clone()), true, at_ms).next("three", 20_000, at_ms).unwrap();
            assert_eq!((then.at_ms, then.ahead_ms), (20_000, 200));
            let woken = Timers::new(Some(next), false, 9_900).next("three", 9_000, 9_900).unwrap();
            assert_eq!((woken.at_ms, woken.ahead_ms), (9_000, 200));
        }
        let late = Timers::new(Some(at(10_000)), true, 10_300).next("two", 20_000, 10_300).unwrap();
        assert_eq!(late.ahead_ms, 0);
    }

    #[test]
    fn a_timer_that_was_stored_without_a_difference_is_read_and_written_as_it_was() {
        let stored = r#"{"by":"one","at_ms":10000}"#;
        assert_eq!(serde_json::from_str::<Timer>(stored).unwrap(), at(10_000));
        assert_eq!(serde_json::to_string(&at(10_000)).unwrap(), stored);
    }
}
