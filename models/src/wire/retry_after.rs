//! The wait that a server asks for before a retry.

use std::time::{Duration, SystemTime};

/// Returns the wait from the headers `retry-after-ms` and `retry-after`: the milliseconds of the first if it holds a
/// number that is a length of time, otherwise the seconds of the second, otherwise the time from `now` to the date in
/// the second. Returns `None` if no wait can be read, or if the wait is zero or has passed.
pub(crate) fn retry_after(ms: Option<&str>, after: Option<&str>, now: SystemTime) -> Option<Duration> {
    let number = |text: &str, units: f64| {
        let seconds = text.trim().parse::<f64>().ok()? / units;
        Duration::try_from_secs_f64(seconds).ok()
    };
    let date = |text: &str| httpdate::parse_http_date(text.trim()).ok()?.duration_since(now).ok();
    let wait = ms
        .and_then(|text| number(text, 1000.0))
        .or_else(|| after.and_then(|text| number(text, 1.0).or_else(|| date(text))))?;
    (!wait.is_zero()).then_some(wait)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_read_from_either_header() {
        // 1994-11-06 08:49:30 GMT
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_770);
        let ms = |ms| Some(Duration::from_millis(ms));
        for (ms_header, header, wait) in [
            (None, Some("7"), ms(7000)),
            (Some("250"), Some("7"), ms(250)),
            (None, Some(" 0.5 "), ms(500)),
            (None, Some("Sun, 06 Nov 1994 08:49:37 GMT"), ms(7000)),
            (None, Some("Sunday, 06-Nov-94 08:49:37 GMT"), ms(7000)),
            (Some("soon"), Some("Sun, 06 Nov 1994 08:49:37 GMT"), ms(7000)),
            (None, Some("Wed, 21 Oct 1992 07:28:00 GMT"), None),
            (None, Some("0"), None),
            (Some("0"), None, None),
            (Some("-1"), Some("7"), ms(7000)),
            (Some("NaN"), Some("7"), ms(7000)),
            (None, None, None),
        ] {
            assert_eq!(retry_after(ms_header, header, now), wait, "{ms_header:?} {header:?}");
        }
        for bad in ["-1", "soon", "NaN", "1e300", "", "Sun, 06 Nov 1994 08:49:37 MEZ"] {
            assert_eq!(retry_after(None, Some(bad), now), None, "{bad}");
        }
    }
}
