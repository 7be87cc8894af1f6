//! Instants on the store's clock. The core never reads a clock; callers pass the time to it.

use std::fmt;
use std::time::Duration;

use chrono::{DateTime, Datelike, Utc};
use serde::{Deserialize, Serialize};

/// An instant on the store's clock: whole milliseconds since 1970-01-01T00:00:00Z.
///
/// The unit is the millisecond, because every backend stores milliseconds exactly. (A Redis score is a
/// double, which is exact up to 2⁵³.)
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00Z.
    pub const EPOCH: Self = Self(0);

    /// Returns the instant `ms` milliseconds after [`Timestamp::EPOCH`].
    pub const fn from_ms(ms: i64) -> Self {
        Self(ms)
    }

    /// Returns the milliseconds since [`Timestamp::EPOCH`].
    pub const fn as_ms(self) -> i64 {
        self.0
    }

    /// Returns the instant that is `by` later, with `by` rounded down to a millisecond. Returns the last
    /// possible instant if the result would be after it.
    #[must_use]
    pub fn after(self, by: Duration) -> Self {
        Self(self.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX)))
    }

    /// Returns the same instant as a `chrono` type. An instant beyond the range of `chrono` becomes its first
    /// or last instant.
    pub fn to_utc(self) -> DateTime<Utc> {
        self.into()
    }

    /// Returns the time from `self` until `later`; zero if `later` has passed.
    pub fn until(self, later: Self) -> Duration {
        let ms = later.0.saturating_sub(self.0);
        Duration::from_millis(u64::try_from(ms).unwrap_or(0))
    }
}

/// Writes the instant as in RFC 3339, such as `2024-05-01T12:00:00Z`, with milliseconds if they are not 0. An
/// instant outside the years 0 to 9999 is written in milliseconds since 1970.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match DateTime::from_timestamp_millis(self.0).filter(|at| (0..=9999).contains(&at.year())) {
            Some(at) if self.0.rem_euclid(1_000) == 0 => at.format("%Y-%m-%dT%H:%M:%SZ").fmt(f),
            Some(at) => at.format("%Y-%m-%dT%H:%M:%S%.3fZ").fmt(f),
            None => write!(f, "{} ms", self.0),
        }
    }
}

/// Rounds down to a millisecond.
impl From<DateTime<Utc>> for Timestamp {
    fn from(at: DateTime<Utc>) -> Self {
        Self(at.timestamp_millis())
    }
}

/// Converts exactly. An instant beyond the range of `chrono`, about 262,000 years away, becomes its first or
/// last instant.
impl From<Timestamp> for DateTime<Utc> {
    fn from(at: Timestamp) -> Self {
        let beyond = if at.0 < 0 { Self::MIN_UTC } else { Self::MAX_UTC };
        Self::from_timestamp_millis(at.0).unwrap_or(beyond)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "@{}", self.0)
    }
}

/// A clock for a store to read. A store gets its clock when it is opened. A test can pass a clock that it advances by
/// hand.
pub trait Clock: Send + Sync + 'static {
    /// Returns the present instant.
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

    #[test]
    fn an_instant_becomes_a_date_and_back_as_far_as_dates_go() {
        for ms in [0, 1_795_470_120_997, -1, -62_135_596_800_000, 1 << 50] {
            let at = Timestamp::from_ms(ms);
            assert_eq!(Timestamp::from(at.to_utc()), at);
        }
        let half = DateTime::from_timestamp_nanos(-1_500_000);
        assert_eq!(Timestamp::from(half), Timestamp::from_ms(-2), "the millisecond that it lies in");
        assert_eq!(Timestamp::from_ms(i64::MAX).to_utc(), DateTime::<Utc>::MAX_UTC);
        assert_eq!(Timestamp::from_ms(i64::MIN).to_utc(), DateTime::<Utc>::MIN_UTC);
    }
}
