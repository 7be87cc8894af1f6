//! Schedules: an agent or a flow starts at the times of a cron line in a time zone, or at an interval.
//!
//! A schedule is a flow in a session of its own. It records its next instant, sleeps until then, starts its target under a
//! key of the instant, and carries on. So a schedule survives what sessions survive, each of its instants starts its target at
//! most once, and any worker on the store runs it: there is no table of schedules, and no process that leads.
//!
//! [`Schedules`] adds, lists, pauses and removes schedules, and has the [agent](Schedules::agent) that runs them.

mod cron;
mod error;
mod flow;
mod name;
mod place;
mod rules;
mod schedules;
mod sessions;
mod starting;
mod times;
mod view;

pub use error::{InvalidSchedule, ScheduleError};
pub use name::ScheduleName;
pub use rules::{CATCH_UP_MAX, CatchUp, Overlap, Schedule, Target};
pub use schedules::{AGENT, Added, SCHEDULE_LABEL, Schedules};
pub use starting::Outcome;
pub use times::{EVERY_MAX, EVERY_MIN, Times};
pub use view::{Counts, Entry, LastStart, LastTick, Standing};
