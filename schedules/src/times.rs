//! The instants of a schedule.

use std::collections::VecDeque;
use std::time::Duration;

use holdover_core::ids::Incarnation;
use holdover_core::payload::Digest;
use holdover_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cron::CronLine;
use crate::error::InvalidSchedule;

/// The shortest interval.
pub const EVERY_MIN: Duration = Duration::from_secs(1);
/// The longest interval, and the longest jitter: ten years.
pub const EVERY_MAX: Duration = Duration::from_secs(3_652 * 24 * 60 * 60);

/// The instants of a schedule, as it records them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Times {
    /// The times of a cron line.
    Cron {
        /// The line, with five fields, or with seconds as the first of six.
        line: String,
        /// The IANA name of the time zone whose clock shows the times.
        zone: String,
    },
    /// A fixed interval, counted from the second in which the schedule was added. No change of a clock moves it.
    Every {
        /// The interval in milliseconds.
        every_ms: u64,
    },
}

impl Times {
    /// Returns the times of a cron line on the clock of a time zone.
    ///
    /// On a day on which the clock goes forward, a time that does not exist comes at the first instant after the gap. On a
    /// day on which it goes back, a time that comes twice counts once, the first time. A line with `*` in its minutes or hours
    /// follows the clock instead: its times in a gap are left out, and those of a repeated hour come twice.
    ///
    /// # Errors
    /// The line cannot be read, or the zone is unknown.
    pub fn cron(line: impl Into<String>, zone: impl Into<String>) -> Result<Self, InvalidSchedule> {
        let times = Self::Cron { line: line.into(), zone: zone.into() };
        times.clock().map(|_| times)
    }

    /// Returns the times of an interval, from [`EVERY_MIN`] to [`EVERY_MAX`]. Parts of a millisecond are dropped.
    ///
    /// # Errors
    /// The interval is out of its bounds.
    pub fn every(interval: Duration) -> Result<Self, InvalidSchedule> {
        let every_ms = u64::try_from(interval.as_millis()).unwrap_or(u64::MAX);
        let times = Self::Every { every_ms };
        times.clock().map(|_| times)
    }

    /// Checks the times.
    pub(crate) fn clock(&self) -> Result<Clock, InvalidSchedule> {
        match self {
            Self::Cron { line, zone } => CronLine::parse(line, zone).map(|line| Clock::Cron(Box::new(line))),
            Self::Every { every_ms } => {
                let every = Duration::from_millis(*every_ms);
                if !(EVERY_MIN..=EVERY_MAX).contains(&every) {
                    return Err(InvalidSchedule::Every { every, min: EVERY_MIN, max: EVERY_MAX });
                }
                Ok(Clock::Every(i64::try_from(*every_ms).unwrap_or(i64::MAX)))
            }
        }
    }
}

/// Times that were checked.
#[derive(Debug, Clone)]
pub(crate) enum Clock {
    Cron(Box<CronLine>),
    /// The interval in milliseconds.
    Every(i64),
}

/// An instant, and the instant at which it is due: later by its part of the jitter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Due {
    pub(crate) instant: Timestamp,
    pub(crate) at: Timestamp,
}

/// The instants of one schedule, with its jitter.
#[derive(Debug, Clone)]
pub(crate) struct Ticks {
    pub(crate) clock: Clock,
    pub(crate) jitter_ms: u64,
    pub(crate) life: Incarnation,
    /// The instant at which the schedule was added.
    pub(crate) added: Timestamp,
}

impl Ticks {
    /// Returns the first instant after `after`. `None`: there is none.
    pub(crate) fn after(&self, after: Timestamp) -> Option<Timestamp> {
        match &self.clock {
            Clock::Cron(line) => line.after(after.to_utc()).map(Timestamp::from),
            Clock::Every(every) => {
                let begin = self.added.as_ms().div_euclid(1_000) * 1_000;
                let count = after.as_ms().saturating_sub(begin).div_euclid(*every).max(0).saturating_add(1);
                Some(Timestamp::from_ms(begin.saturating_add(every.saturating_mul(count))))
            }
        }
    }

    /// Returns the instant at which the tick of `at` is due: later than `at` by less than the jitter, and before the next
    /// instant. It is the same in every process.
    fn due_at(&self, at: Timestamp) -> Timestamp {
        if self.jitter_ms == 0 {
            return at;
        }
        let gap = self.after(at).map_or(u64::MAX, |next| {
            u64::try_from(next.as_ms().saturating_sub(at.as_ms())).unwrap_or(u64::MAX)
        });
        let bound = self.jitter_ms.min(gap).max(1);
        let drawn = Digest::of(format!("holdover schedule\0{}\0{}", self.life, at.as_ms()).as_bytes());
        let drawn = drawn.0.iter().take(8).fold(0, |drawn: u64, byte| drawn << 8 | u64::from(*byte));
        at.after(Duration::from_millis(drawn % bound))
    }

    /// Returns the instant with the instant at which it is due.
    pub(crate) fn due(&self, instant: Timestamp) -> Due {
        Due { instant, at: self.due_at(instant) }
    }

    /// Returns the newest `most` instants from `first` on that are due at `now`, the oldest first. `first` is taken as it is,
    /// because it was recorded: by the tables of time zones of today it may be no instant, or due at another time.
    pub(crate) fn newest_due(&self, first: Due, now: Timestamp, most: usize) -> VecDeque<Due> {
        const SPAN: Duration = Duration::from_secs(60);
        let mut span_ms = i64::try_from(SPAN.as_millis()).unwrap_or(i64::MAX);
        loop {
            // Looks back in growing steps, so that a long outage costs no more than the instants that count.
            let begin = Timestamp::from_ms(now.as_ms().saturating_sub(span_ms));
            let is_whole = begin <= first.instant;
            let before = Timestamp::from_ms(begin.as_ms().saturating_sub(1));
            let mut found = VecDeque::new();
            let mut next =
                if is_whole { Some(first) } else { self.after(before).map(|instant| self.due(instant)) };
            while let Some(due) = next.filter(|due| due.at <= now) {
                found.push_back(due);
                if found.len() > most {
                    found.pop_front();
                }
                next = self.after(due.instant).map(|instant| self.due(instant));
            }
            if found.len() >= most || is_whole {
                return found;
            }
            span_ms = span_ms.saturating_mul(4);
        }
    }
}
