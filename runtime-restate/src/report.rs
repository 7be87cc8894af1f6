//! The journaled result of serving a session once.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use holdover_core::ids::QueueLabel;
use holdover_core::store::SessionStatus;
use holdover_runtime_local::{Next, Served};
use serde::{Deserialize, Serialize};

/// The pause after a session could not be served. It grows from `PAUSE` to `PAUSE_MAX`.
const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(60);

/// The result of serving a session once, as the journal of Restate keeps it. It contains no word of the conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Report {
    pub(crate) then: Then,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<QueueLabel>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<SessionStatus>,
    /// The time of the report by the clock of this process, in milliseconds since 1970. All that follows is computed from
    /// it, because a handler that is repeated must do the same. Older journals do not have it.
    #[serde(default = "now_ms")]
    pub(crate) now_ms: u64,
}

/// The next step of the handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    /// The session rests.
    Rests,
    /// The session waits for somebody, without a deadline. Only a wake-up brings more work.
    Waits,
    /// The session is served again at this time, in milliseconds since 1970. An instant and not a duration, because the
    /// journal may be read long after it was written.
    At(u64),
    /// The session could not be served: the store did not answer, or this process cannot run the session.
    Later,
    /// There is no such session.
    Gone,
}

impl Report {
    /// The session could not be served.
    pub(crate) fn later(now_ms: u64) -> Self {
        Self { then: Then::Later, queue: None, status: None, now_ms }
    }

    pub(crate) fn of(served: Served, now_ms: u64) -> Self {
        let then = match served.next {
            Next::Rests => Then::Rests,
            Next::Waits => Then::Waits,
            Next::At(after) => Then::At(now_ms.saturating_add(millis(after))),
            Next::NotHere => Then::Later,
            Next::Gone => Then::Gone,
        };
        let (queue, status) = served.session.map(|known| (known.queue, known.status)).unzip();
        Self { then, queue, status, now_ms }
    }

    /// Returns the time of the next call of the handler, in milliseconds since 1970, or `None` if only a wake-up brings
    /// more work. `failures` is the number of earlier reports in a row by which the session could not be served.
    pub(crate) fn next_ms(&self, failures: u32) -> Option<u64> {
        match self.then {
            Then::At(at_ms) => Some(at_ms),
            Then::Later => Some(self.now_ms.saturating_add(millis(pause(failures)))),
            Then::Rests | Then::Waits | Then::Gone => None,
        }
    }
}

/// Returns the pause before a session that could not be served `failures` times in a row is served again.
pub(crate) fn pause(failures: u32) -> Duration {
    PAUSE.saturating_mul(2u32.saturating_pow(failures)).min(PAUSE_MAX)
}

/// Returns the time of this machine, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, millis)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test may panic")]

    use super::*;

    #[test]
    fn the_pause_grows_up_to_a_minute() {
        let seconds = [0, 1, 2, 5, 6, 31, u32::MAX].map(|failures| pause(failures).as_secs());
        assert_eq!(seconds, [1, 2, 4, 32, 60, 60, 60]);
    }

    /// Restate may repeat a handler long after it journaled the report. Then the same must follow, or Restate refuses it.
    #[test]
    fn what_follows_from_a_report_does_not_depend_on_the_time_at_which_it_is_read() {
        let journaled = serde_json::to_string(&Report::later(10_000)).unwrap();
        let report: Report = serde_json::from_str(&journaled).unwrap();
        assert_eq!([0, 2, 9].map(|failures| report.next_ms(failures)), [11_000, 14_000, 70_000].map(Some));
        let at = Report { then: Then::At(12_345), ..report };
        assert_eq!(at.next_ms(3), Some(12_345));
    }

    #[test]
    fn a_report_of_an_older_journal_is_read() {
        let older = r#"{"then":{"at":12345},"queue":"clerk","status":"suspended"}"#;
        let report: Report = serde_json::from_str(older).unwrap();
        assert_eq!(report.next_ms(0), Some(12_345));
        assert!(report.now_ms > 12_345);
    }
}
