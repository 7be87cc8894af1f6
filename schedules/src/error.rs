//! The errors of schedules.

use std::time::Duration;

use holdover_core::ids::InvalidId;
use holdover_runtime_local::RuntimeError;

use crate::name::ScheduleName;

/// The reason why a schedule is invalid. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchedule {
    /// The cron line cannot be read.
    #[error("cron {cron:?}: {why}")]
    Cron {
        /// The line.
        cron: String,
        /// The first fault.
        why: String,
    },
    /// No instant to come fits the cron line, such as the 30th of February.
    #[error("cron {cron:?}: no instant to come fits it")]
    Never {
        /// The line.
        cron: String,
    },
    /// The time zone is not in the tables of this program. Names are those of the IANA, such as `Europe/Berlin`.
    #[error("zone {zone:?}: unknown; write an IANA name such as Europe/Berlin or UTC")]
    Zone {
        /// The name.
        zone: String,
    },
    /// The interval is out of its bounds.
    #[error("every {every:?}: an interval takes from {min:?} to {max:?}")]
    Every {
        /// The interval.
        every: Duration,
        /// The shortest interval.
        min: Duration,
        /// The longest interval.
        max: Duration,
    },
    /// The number of instants to catch up is out of its bounds.
    #[error("catch-up of {count}: from 1 to {max} instants are caught up")]
    CatchUp {
        /// The number.
        count: u32,
        /// The largest number.
        max: u32,
    },
    /// The target has too many labels: its sessions have the label of the schedule, too.
    #[error("labels: {count}, at most {max} besides that of the schedule")]
    Labels {
        /// The number of labels.
        count: usize,
        /// The largest number.
        max: usize,
    },
    /// The jitter is longer than the longest interval.
    #[error("jitter {jitter:?}: at most {max:?}")]
    Jitter {
        /// The jitter.
        jitter: Duration,
        /// The longest jitter.
        max: Duration,
    },
}

/// The reason why an operation on a schedule failed. Unless the error is that of a store, nothing was changed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScheduleError {
    /// The schedule is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidSchedule),
    /// Another schedule has this name. Remove it first.
    #[error("schedule {name}: another schedule has this name")]
    Exists {
        /// The name.
        name: ScheduleName,
    },
    /// There is no schedule of this name.
    #[error("schedule {name}: there is no such schedule")]
    NotFound {
        /// The name.
        name: ScheduleName,
    },
    /// The session of this name cannot be read as a schedule.
    #[error("schedule {name}: its session cannot be read: {why}")]
    Unreadable {
        /// The name.
        name: ScheduleName,
        /// The first fault.
        why: String,
    },
    /// The target could not be started.
    #[error("schedule {name}: not started: {why}")]
    NotStarted {
        /// The name.
        name: ScheduleName,
        /// The reason.
        why: String,
    },
    /// The schedule kept changing, or its run did not end in time. Try again.
    #[error("schedule {name}: it kept changing; try again")]
    Contended {
        /// The name.
        name: ScheduleName,
    },
    /// The runtime or the store failed.
    #[error(transparent)]
    Runtime(#[from] RuntimeError),
}

impl From<InvalidId> for ScheduleError {
    fn from(error: InvalidId) -> Self {
        Self::Runtime(error.into())
    }
}
