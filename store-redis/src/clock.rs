//! The clocks of the servers, as far as this process knows them without asking.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdover_store::time::Timestamp;

/// The longest exchange whose answer may begin an estimate of a clock or move it forward.
const HEARD_WITHIN: Duration = Duration::from_millis(100);

/// The divisor of the greatest drift: two clocks are assumed to drift apart by less than one part in this number.
const DRIFT: i64 = 1_000;

/// The last reading of each clock. An estimate is ahead of a clock only if that clock was set back; the next answer
/// then corrects it.
pub(crate) struct Clocks {
    /// One reading for each partition of a cluster, because partitions lie on different servers; otherwise a single
    /// one. None if the clock must always be asked.
    heard: Option<Mutex<Vec<Option<Heard>>>>,
}

/// A reading of a clock: at the instant `when` of this process, the clock showed at least `at`, in milliseconds.
#[derive(Clone, Copy)]
struct Heard {
    at: i64,
    when: Instant,
}

impl Heard {
    /// Returns the earliest time, in milliseconds, that the clock may show at `when`.
    fn at(&self, when: Instant) -> i64 {
        let since = i64::try_from(when.saturating_duration_since(self.when).as_millis()).unwrap_or(i64::MAX);
        self.at.saturating_add(since - (since + DRIFT - 1) / DRIFT)
    }
}

impl Clocks {
    /// Creates this number of clocks, without readings.
    pub(crate) fn new(clocks: usize) -> Self {
        Self { heard: Some(Mutex::new(vec![None; clocks])) }
    }

    /// Creates a clock that is always asked, because a test moves it.
    #[cfg(feature = "test-access")]
    pub(crate) fn always_asked() -> Self {
        Self { heard: None }
    }

    /// Notes an answer to a request that was sent at `sent`. The clock showed `at` at some time since then.
    pub(crate) fn heard(&self, clock: usize, sent: Instant, at: Timestamp) {
        let Some(heard) = &self.heard else { return };
        let (when, at) = (Instant::now(), at.as_ms());
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        let clock = clock.min(heard.len().saturating_sub(1));
        let Some(known) = heard.get_mut(clock) else { return };
        let is_late = when.duration_since(sent) > HEARD_WITHIN;
        match known {
            // The clock was set back, or is another server's.
            Some(before) if at < before.at(sent) => *known = Some(Heard { at, when }),
            Some(before) if is_late || before.at(when) >= at => {}
            Some(_) => *known = Some(Heard { at, when }),
            None if is_late => {}
            None => *known = Some(Heard { at, when }),
        }
    }

    /// Returns the earliest of the estimates of all clocks. Returns none if there is no reading.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let heard = self.heard.as_ref()?.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        heard.iter().flatten().map(|heard| heard.at(now)).min().map(Timestamp::from_ms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: i64) -> Timestamp {
        Timestamp::from_ms(ms)
    }

    #[test]
    fn the_clock_that_is_behind_counts_and_one_that_was_set_back_is_believed() {
        let clocks = Clocks::new(2);
        assert_eq!(clocks.now(), None);
        clocks.heard(0, Instant::now(), ms(5_000_000));
        clocks.heard(1, Instant::now(), ms(9_000_000));
        let now = clocks.now().unwrap();
        assert!(ms(5_000_000) <= now && now < ms(5_060_000), "{now}");
        clocks.heard(0, Instant::now(), ms(1_000_000));
        assert!(clocks.now().unwrap() < ms(1_060_000));
        clocks.heard(0, Instant::now(), ms(20_000_000));
        assert!(clocks.now().unwrap() >= ms(9_000_000));
    }
}
