//! Instants on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use chrono::{DateTime, NaiveDate, NaiveDateTime, NaiveTime};
use holdover_core::time::Timestamp;

/// The smallest number that is read as milliseconds since 1970. It is an instant in 1973.
const MS_MIN: i64 = 100_000_000_000;

/// An instant, or a time before now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Ago(Duration),
    At(Timestamp),
}

impl When {
    /// Returns the instant, given the current time. The result is never before 1970.
    pub(crate) fn instant(self, now: Timestamp) -> Timestamp {
        match self {
            Self::At(at) => at,
            Self::Ago(ago) => {
                let ms = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
                Timestamp::from_ms(now.as_ms().saturating_sub(ms).max(0))
            }
        }
    }
}

/// An instant, or a time after now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Due {
    In(Duration),
    At(Timestamp),
}

impl Due {
    /// Returns the instant, given the current time.
    pub(crate) fn instant(self, now: Timestamp) -> Timestamp {
        match self {
            Self::In(time) => now.after(time),
            Self::At(at) => at,
        }
    }
}

impl FromStr for Due {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(ms) = text.parse().ok().filter(|ms| *ms >= MS_MIN) {
            return Ok(Self::At(Timestamp::from_ms(ms)));
        }
        let (time, from_now) = text.strip_prefix('+').map_or((text, false), |time| (time, true));
        if let Ok(time) = humantime::parse_duration(time) {
            return Ok(Self::In(time));
        }
        let at = instant(text)
            .filter(|_| !from_now)
            .ok_or("write how long from now, as +2h, or an instant, as 2050-05-01T12:00:00Z")?;
        Ok(Self::At(at))
    }
}

/// The displayed text can be parsed again.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(ago) => humantime::format_duration(*ago).fmt(f),
            Self::At(at) if at.as_ms() >= MS_MIN => at.as_ms().fmt(f),
            Self::At(at) => at.fmt(f),
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A smaller number is a typing error: a date without dashes, or a length of time without a unit.
        if let Some(ms) = text.parse().ok().filter(|ms| *ms >= MS_MIN) {
            return Ok(Self::At(Timestamp::from_ms(ms)));
        }
        if let Ok(ago) = humantime::parse_duration(text) {
            return Ok(Self::Ago(ago));
        }
        let at = instant(text).ok_or("write how long ago, as 2h, or an instant, as 2024-05-01T12:00:00Z")?;
        Ok(Self::At(at))
    }
}

/// Parses an RFC 3339 instant. A date alone means its first instant. Without an offset, UTC is assumed. Returns `None`
/// for other text, and for instants before 1970.
fn instant(text: &str) -> Option<Timestamp> {
    let without_offset = || {
        let times = ["%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f"];
        let date = || text.parse::<NaiveDate>().ok().map(|date| date.and_time(NaiveTime::MIN));
        times.iter().find_map(|form| NaiveDateTime::parse_from_str(text, form).ok()).or_else(date)
    };
    let at = match DateTime::parse_from_rfc3339(text) {
        Ok(at) => at.to_utc(),
        Err(_) => without_offset()?.and_utc(),
    };
    Some(Timestamp::from(at)).filter(|at| *at >= Timestamp::EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(text: &str) -> Option<i64> {
        match text.parse() {
            Ok(When::At(at)) => Some(at.as_ms()),
            Ok(When::Ago(_)) | Err(_) => None,
        }
    }

    #[test]
    fn an_instant_is_written_in_many_ways() {
        let noon = 1_714_564_800_000;
        for text in [
            "2024-05-01T12:00:00Z",
            "2024-05-01t12:00:00z",
            "2024-05-01 12:00:00",
            "2024-05-01T14:00:00+02:00",
            "2024-05-01T06:30:00-05:30",
            "1714564800000",
        ] {
            assert_eq!(ms(text), Some(noon), "{text}");
        }
        assert_eq!(ms("2024-05-01T12:00:00.5Z"), Some(noon + 500));
        assert_eq!(ms("2024-05-01"), Some(noon - 12 * 3_600_000));
        let now = Timestamp::from_ms(noon);
        let ago: When = "2h 30m".parse().unwrap();
        assert_eq!(ago.instant(now), Timestamp::from_ms(noon - 150 * 60_000));
        assert_eq!(When::Ago(Duration::MAX).instant(now), Timestamp::EPOCH);
    }

    #[test]
    fn an_instant_is_printed_as_it_is_read_back() {
        for ms in [0, 1, 500, MS_MIN - 1, MS_MIN, 1_714_564_800_123, i64::MAX] {
            let at = When::At(Timestamp::from_ms(ms));
            assert_eq!(at.to_string().parse(), Ok(at));
        }
        let ago = When::Ago(Duration::from_millis(9_000_500));
        assert_eq!(ago.to_string().parse(), Ok(ago));
    }

    #[test]
    fn an_instant_to_come_is_a_time_from_now_or_an_instant() {
        let now = Timestamp::from_ms(1_714_564_800_000);
        for text in ["+2h 30m", "2h30m", "2024-05-01T14:30:00Z", "2024-05-01T16:30:00+02:00", "1714573800000"]
        {
            let due: Due = text.parse().unwrap();
            assert_eq!(due.instant(now).as_ms(), 1_714_573_800_000, "{text}");
        }
        for text in ["", "+", "tomorrow", "-2h", "++2h", "20240501", "+2024-05-01"] {
            assert!(text.parse::<Due>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_instant_is_refused() {
        for text in [
            "",
            "yesterday",
            "2024-13-01",
            "2024-05-01Z",
            "2024-05-01+02:00",
            "2024-05-01T12:00:00+2:00",
            "2024-05-01T12:00:00+02",
            "2024-05-01T12:00:00+24:00",
            "2024-05-01T12",
            "2024-05-01T12:00",
            "24-05-01",
            "1969-12-31T23:59:59Z",
            "20240501",
            "é024-05-01T12:00:00Z",
        ] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
