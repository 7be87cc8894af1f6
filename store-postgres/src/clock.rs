//! The server's clock, as far as this process knows it without asking.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use holdover_store::time::Timestamp;

/// The time after which any newer reading replaces the known one, because clocks drift and servers are replaced.
const TRUSTED: Duration = Duration::from_secs(1);

/// The last instant that the server named, and when this process heard it.
#[derive(Debug)]
pub(crate) struct Heard {
    last: Mutex<Option<(Timestamp, Instant)>>,
    /// True if the clock runs by itself, as a test's clock does not.
    runs: bool,
}

impl Heard {
    pub(crate) fn new(runs: bool) -> Self {
        Self { last: Mutex::default(), runs }
    }

    /// Notes a reading of the server's clock from some moment before now.
    pub(crate) fn hear(&self, now: Timestamp) {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last.filter(|(_, heard)| heard.elapsed() < TRUSTED);
        // Of two readings, the one that yields the later time took less time to arrive.
        if known.is_none_or(|(then, heard)| then.after(heard.elapsed()) < now) {
            *last = Some((now, Instant::now()));
        }
    }

    /// Returns an estimate that is not ahead of the server's clock: a reading is older than the moment at which it is
    /// heard, and is rounded down to milliseconds. Returns none before the first reading, and if the clock is a
    /// test's.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.filter(|_| self.runs).map(|(then, heard)| then.after(heard.elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_on_from_what_was_heard_and_takes_what_is_later() {
        let heard = Heard::new(true);
        assert_eq!(heard.now(), None);
        let then = Timestamp::from_ms(1_000_000);
        heard.hear(then);
        assert!(heard.now().is_some_and(|now| now >= then && then.until(now) < Duration::from_secs(60)));
        heard.hear(then.after(Duration::from_secs(3600)));
        assert!(heard.now().is_some_and(|now| now >= then.after(Duration::from_secs(3600))));
        // This reading took longer to arrive.
        heard.hear(then);
        assert!(heard.now().is_some_and(|now| now >= then.after(Duration::from_secs(3600))));
    }

    #[test]
    fn the_clock_of_a_test_is_never_guessed() {
        let heard = Heard::new(false);
        heard.hear(Timestamp::from_ms(1));
        assert_eq!(heard.now(), None);
    }
}
