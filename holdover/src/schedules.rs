//! Schedules: an agent or a flow starts at the times of a cron line in a time zone, or at an interval. See [the
//! guide](https://docs.rs/holdover) page *Schedules*.
//!
//! [`Schedules`] adds, lists, pauses, resumes, triggers and removes the schedules of a store. Its [agent](Schedules::agent) is
//! registered like any agent, and the workers of the program run the schedules.

pub use holdover_schedules::{
    AGENT, Added, CATCH_UP_MAX, CatchUp, Counts, EVERY_MAX, EVERY_MIN, Entry, InvalidSchedule, LastStart,
    LastTick, Outcome, Overlap, SCHEDULE_LABEL, Schedule, ScheduleError, ScheduleName, Schedules, Standing,
    Target, Times,
};
