//! Rules for the circuit breaker of a model: when it opens, and for how long.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::retries::WAIT_MAX;

/// The rules for when a breaker opens, and for how long.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct BreakerRules {
    /// The number of failures in a row that opens the breaker. Each must come before
    /// [`open_ms_max`](Self::open_ms_max) has passed since the one before, or the count begins anew.
    pub failures: u32,
    /// How long the breaker is open the first time, in milliseconds. Each probe that fails doubles the time.
    /// Zero is a fault; other numbers below 100 count as 100.
    pub open_ms: u64,
    /// The longest time for which the breaker is open before somebody tries again, in milliseconds.
    pub open_ms_max: u64,
    /// How long the others wait for a probe that is out, in milliseconds. Then the next caller may try. A
    /// probe that died is followed by another within [`open_ms`](Self::open_ms).
    pub probe_ms: u64,
}

setters! { BreakerRules {
    failures: u32,
    open_ms: u64,
    open_ms_max: u64,
    probe_ms: u64,
} }

/// The shortest time for which a breaker opens, in milliseconds. A caller that is held looks again no more
/// often than that.
pub(crate) const OPEN_MS_MIN: u64 = 100;

impl Default for BreakerRules {
    fn default() -> Self {
        Self { failures: 5, open_ms: 30_000, open_ms_max: 300_000, probe_ms: 60_000 }
    }
}

impl BreakerRules {
    /// Returns the field of the agent that is wrong, and why, if these rules are wrong.
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

    /// How long the breaker opens the first time. A caller that is held looks again after this time at the
    /// latest.
    pub fn open_for(&self) -> Duration {
        Duration::from_millis(self.open_ms.max(OPEN_MS_MIN))
    }

    /// How long the breaker opens after this many probes have failed in a row.
    pub(crate) fn open_after(&self, failed: u32) -> Duration {
        let most = Duration::from_millis(self.open_ms_max).max(self.open_for());
        1_u32.checked_shl(failed).map_or(most, |times| self.open_for().saturating_mul(times).min(most))
    }

    /// How soon a probe renews its hold: after a third of the time for which it holds the others, at least 10
    /// ms.
    pub fn renewal(&self) -> Duration {
        (self.open_for() / 3).max(Duration::from_millis(10))
    }
}
