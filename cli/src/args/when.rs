//! Instants on the command line.

use std::fmt;
use std::str::FromStr;
use std::time::{Duration, UNIX_EPOCH};

use holdover_core::time::Timestamp;

/// The smallest number that is read as milliseconds since 1970; it lies in 1973.
const MS_MIN: i64 = 100_000_000_000;

/// An instant, or how long ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    Ago(Duration),
    At(Timestamp),
}

impl When {
    /// Returns the instant, given the present one. It is never before 1970.
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

/// Written so that it can be parsed again.
impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ago(ago) => humantime::format_duration(*ago).fmt(f),
            Self::At(at) if at.as_ms() >= MS_MIN => at.as_ms().fmt(f),
            Self::At(at) => {
                let since = Duration::from_millis(u64::try_from(at.as_ms()).unwrap_or_default());
                humantime::format_rfc3339_millis(UNIX_EPOCH + since).fmt(f)
            }
        }
    }
}

impl FromStr for When {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // A shorter number is no instant that anybody means: a date without its dashes, or a length without its unit.
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

/// Parses RFC 3339. A date alone means its first instant; without an offset, UTC is assumed.
fn instant(text: &str) -> Option<Timestamp> {
    let (date, time) = text.split_at_checked("2024-05-01".len())?;
    let (time, offset_ms) = offset(time)?;
    let time = if time.is_empty() { "T00:00:00" } else { time };
    let at = humantime::parse_rfc3339_weak(&format!("{date}{}Z", time.replace('t', "T"))).ok()?;
    let ms = i64::try_from(at.duration_since(UNIX_EPOCH).ok()?.as_millis()).ok()?;
    Some(Timestamp::from_ms(ms.checked_sub(offset_ms)?))
}

/// Splits off the offset of a time. Returns the rest, and how many milliseconds the offset is ahead of UTC.
fn offset(time: &str) -> Option<(&str, i64)> {
    if let Some(time) = time.strip_suffix(['Z', 'z']) {
        return (!time.is_empty()).then_some((time, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else { return Some((time, 0)) };
    let (time, offset) = time.split_at_checked(at)?;
    let (hours, minutes) = offset.get(1..)?.split_once(':')?;
    let number = |text: &str, most: i64| {
        let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number: &i64| digits && *number <= most)
    };
    let ms = (number(hours, 23)? * 60 + number(minutes, 59)?) * 60_000;
    (!time.is_empty()).then_some((time, if offset.starts_with('-') { -ms } else { ms }))
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
            "20240501",
            "é024-05-01T12:00:00Z",
        ] {
            assert!(text.parse::<When>().is_err(), "{text}");
        }
    }
}
