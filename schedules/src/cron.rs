//! Instants of a cron line in a time zone, with the rules for clocks that go forward or back.

use std::str::FromStr;

use chrono::{DateTime, Duration, LocalResult, NaiveDateTime, TimeZone, Utc};
use chrono_tz::Tz;

use crate::error::InvalidSchedule;

/// The longest time that a clock is put forward, with some room: a day, where the date line was moved.
const GAP_MINUTES_MAX: i64 = 26 * 60;

/// A cron line in a time zone.
#[derive(Debug, Clone)]
pub(crate) struct CronLine {
    cron: croner::Cron,
    zone: Tz,
    /// True if the line names its hours and minutes, and has no `*` among them. Such a line has each of its times on each
    /// day, also on a day on which a clock is changed.
    fixed: bool,
}

impl CronLine {
    pub(crate) fn parse(cron: &str, zone: &str) -> Result<Self, InvalidSchedule> {
        let zone = Tz::from_str(zone).map_err(|_| InvalidSchedule::Zone { zone: zone.to_owned() })?;
        let parsed = croner::Cron::from_str(cron).map_err(|error| InvalidSchedule::Cron {
            cron: cron.to_owned(),
            why: error.to_string().trim_end_matches('.').to_owned(),
        })?;
        Ok(Self { cron: parsed, zone, fixed: is_fixed(cron) })
    }

    /// Returns the first instant after `after`. `None`: there is none.
    pub(crate) fn after(&self, after: DateTime<Utc>) -> Option<DateTime<Utc>> {
        let local = after.with_timezone(&self.zone);
        if !self.fixed {
            return self.cron.find_next_occurrence(&local, false).ok().map(|at| at.to_utc());
        }
        // No time that the clock has shown already comes later: a time that comes twice counts once.
        let mut time = local.naive_local().and_utc();
        loop {
            time = self.cron.find_next_occurrence(&time, false).ok()?;
            let at = self.first_instant(time.naive_utc())?;
            if at > after {
                return Some(at);
            }
        }
    }

    /// Returns the first instant at which the clock shows this time or a later one.
    fn first_instant(&self, time: NaiveDateTime) -> Option<DateTime<Utc>> {
        let minute = time.and_utc().timestamp().div_euclid(60) * 60;
        let minute = DateTime::from_timestamp(minute, 0)?.naive_utc();
        let later =
            (1..=GAP_MINUTES_MAX).map(|minutes| minute.checked_add_signed(Duration::minutes(minutes)));
        std::iter::once(Some(time)).chain(later).find_map(|time| {
            match self.zone.from_local_datetime(&time?) {
                LocalResult::Single(at) => Some(at.to_utc()),
                LocalResult::Ambiguous(one, other) => Some(one.to_utc().min(other.to_utc())),
                LocalResult::None => None,
            }
        })
    }
}

/// Returns true if the fields of seconds, minutes and hours have no `*`.
fn is_fixed(line: &str) -> bool {
    if let Some(nickname) = line.trim().strip_prefix('@') {
        return !nickname.eq_ignore_ascii_case("hourly");
    }
    let fields: Vec<&str> = line.split_whitespace().collect();
    let of_the_clock = if fields.len() == 5 { 2 } else { 3 };
    !fields.iter().take(of_the_clock).any(|field| field.contains(['*', '?']))
}
