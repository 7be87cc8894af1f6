//! Rules for the circuit breaker of a model.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::retries::WAIT_MAX;

/// The rules of a circuit breaker: when it opens, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BreakerRules {
    /// The number of failures in a row that opens the breaker. The count restarts if more than
    /// [`open_ms_max`](Self::open_ms_max) passes between two failures.
    pub failures: u32,
    /// The time for which the breaker stays open at first, in milliseconds. Each failed probe doubles the time, up
    /// to [`open_ms_max`](Self::open_ms_max). Zero is invalid; other values below 100 count as 100.
    pub open_ms: u64,
    /// The longest time for which the breaker stays open before the next probe, in milliseconds.
    pub open_ms_max: u64,
    /// The maximum time for which other callers wait for a running probe, in milliseconds. Then the next
    /// caller may probe. If the process of a probe dies, another probe follows within
    /// [`open_ms`](Self::open_ms).
    pub probe_ms: u64,
}

setters! { BreakerRules {
    failures: u32,
    open_ms: u64,
    open_ms_max: u64,
    probe_ms: u64,
} }

/// The shortest time for which a breaker stays open, in milliseconds. It limits how often waiting callers check the
/// breaker.
pub(crate) const OPEN_MS_MIN: u64 = 100;

impl Default for BreakerRules {
    fn default() -> Self {
        Self { failures: 5, open_ms: 30_000, open_ms_max: 300_000, probe_ms: 60_000 }
    }
}

impl BreakerRules {
    /// Returns the name of the first invalid field and the reason, if a field is invalid.
    pub fn fault(&self) -> Option<(&'static str, String)> {
        let times = [
            ("breaker.open_ms", self.open_ms),
            ("breaker.open_ms_max", self.open_ms_max),
            ("breaker.probe_ms", self.probe_ms),
        ];
        let too_long = times.into_iter().find(|(_, ms)| Duration::from_millis(*ms) > WAIT_MAX);
        let zero = times
            .into_iter()
            .chain([("breaker.failures", self.failures.into())])
            .find(|(_, number)| *number == 0);
        match (zero, too_long) {
            (Some((field, _)), _) => Some((field, "is zero".to_owned())),
            (None, Some((field, ms))) => Some((field, format!("is {ms} ms, longer than a day"))),
            (None, None) if self.open_ms > self.open_ms_max => {
                let why = format!("is {}, less than open_ms, {}", self.open_ms_max, self.open_ms);
                Some(("breaker.open_ms_max", why))
            }
            (None, None) => None,
        }
    }

    /// Returns the time for which the breaker stays open at first. A waiting caller checks the breaker again
    /// after at most this time.
    pub fn open_for(&self) -> Duration {
        Duration::from_millis(self.open_ms.max(OPEN_MS_MIN))
    }

    /// Returns the time for which the breaker stays open after this many failed probes in a row.
    pub(crate) fn open_after(&self, failed: u32) -> Duration {
        let most = Duration::from_millis(self.open_ms_max).max(self.open_for());
        1_u32.checked_shl(failed).map_or(most, |times| self.open_for().saturating_mul(times).min(most))
    }

    /// Returns the interval at which a running probe renews its hold on other callers: a third of
    /// [`open_for`](Self::open_for), but at least 10 ms.
    pub fn renewal(&self) -> Duration {
        (self.open_for() / 3).max(Duration::from_millis(10))
    }
}
