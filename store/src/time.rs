//! Instants on the store's clock. The core is told the time and never asks for it.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// An instant on the store's clock: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// Milliseconds, because every backend keeps them exactly (a Redis score is a double: exact to 2⁵³).
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// The instant `ms` milliseconds after [`Timestamp::EPOCH`].
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Milliseconds since [`Timestamp::EPOCH`].
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// The instant `by` later, rounded down to a millisecond, or the last possible instant if that is beyond
    /// it.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// The time from `self` until `later`; zero if `later` has passed.
    pub fn until(self, later: Self) -> Duration {
        let ms = later.0.saturating_sub(self.0);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

const MS_A_DAY: i64 = 24 * 60 * 60 * 1000;

/// Year, month and day of the day that comes `days` after 1970-01-01, by the Gregorian calendar. Years are counted from
/// March on: then the day that leap years add is the last one of a year.
fn date(days: i64) -> (i64, i64, i64) {
    const DAYS_IN_400_YEARS: i64 = 146_097;
    // From 0000-03-01.
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(DAYS_IN_400_YEARS), days.rem_euclid(DAYS_IN_400_YEARS));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

/// As RFC 3339 has it: `2024-05-01T12:00:00Z`, with milliseconds if there are any. An instant after the year 9999 is shown
/// in milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, ms) = (self.0.div_euclid(MS_A_DAY), self.0.rem_euclid(MS_A_DAY));
        let (year, month, day) = date(days);
        if !(0..=9999).contains(&year) {
            return write!(f, "{} ms", self.0);
        }
        let (hours, minutes, seconds, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
        write!(f, "{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}")?;
        if ms > 0 {
            write!(f, ".{ms:03}")?;
        }
        f.write_str("Z")
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// The clock that a store reads. The core reads none. A store gets its clock when it is opened; a test passes
/// one that it moves by hand.
pub trait Clock: Send + Sync + 'static {
    /// The present instant.
    fn now(&self) -> Timestamp;
}

impl<C: Clock + ?Sized> Clock for std::sync::Arc<C> {
    fn now(&self) -> Timestamp {
        (**self).now()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_shown_as_rfc_3339_has_it() {
        for (ms, shown) in [
            (0, "1970-01-01T00:00:00Z"),
            (1_795_470_120_997, "2026-11-23T21:42:00.997Z"),
            (951_782_400_000, "2000-02-29T00:00:00Z"),
            (951_868_799_001, "2000-02-29T23:59:59.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "253402300800000 ms"),
            (i64::MAX, "9223372036854775807 ms"),
            (i64::MIN, "-9223372036854775808 ms"),
        ] {
            assert_eq!(Timestamp::from_ms(ms).to_string(), shown);
        }
    }
}
