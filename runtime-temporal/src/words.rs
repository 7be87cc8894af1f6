//! The values that Temporal stores: key, queue and status of a session, and nothing of its conversation.
//!
//! Histories contain them, so a field is only added with a default, and none changes its meaning.

use std::time::Duration;

use holdover_core::ids::{QueueLabel, SessionKey};
use holdover_core::store::SessionStatus;
use holdover_runtime_local::{Next, Served};
use serde::{Deserialize, Serialize};

use crate::options::EVENTS_MAX;

/// The input of a workflow.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) key: SessionKey,
    /// The queue of the session. The workflow is on its task queue.
    pub(crate) queue: QueueLabel,
    /// True if the namespace has the search attribute for the status.
    #[serde(default)]
    pub(crate) shows: bool,
    /// The number of events after which the workflow continues as a new one. It is part of the input, because each replay
    /// must decide the same, whatever the limit of the worker's version is.
    #[serde(default = "events_max")]
    pub(crate) events_max: u32,
    /// True once the workflow was cancelled and has called the activity `interrupt`. It is part of the input, so that an
    /// execution that continues this one does not interrupt again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) interrupted: bool,
}

impl Order {
    pub(crate) fn new(key: SessionKey, queue: QueueLabel, shows: bool, events_max: u32) -> Self {
        Self { key, queue, shows, events_max, interrupted: false }
    }
}

fn events_max() -> u32 {
    EVENTS_MAX
}

/// The result of the activity `serve`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Answer {
    pub(crate) then: Then,
    /// The status of the session; none if there is no such session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<SessionStatus>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) queue: Option<QueueLabel>,
}

/// The next step of a workflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Then {
    /// The session rests, or it does not exist: the workflow ends.
    End,
    /// Only a signal brings more work.
    Wait,
    /// Serve again after so many milliseconds, or after a signal.
    AfterMs(u64),
    /// The session could not be run: the process cannot run it, or Temporal has given the activity up.
    TryAgain,
}

impl From<Served> for Answer {
    fn from(served: Served) -> Self {
        let then = match served.next {
            Next::Rests | Next::Gone => Then::End,
            Next::Waits => Then::Wait,
            Next::At(after) => Then::AfterMs(whole_ms(after)),
            Next::NotHere => Then::TryAgain,
        };
        let (status, queue) = served.session.map(|known| (known.status, known.queue)).unzip();
        Self { then, status, queue }
    }
}

/// Returns the duration in milliseconds, rounded up, so that the alarm is due when the time is over.
fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX)
}
