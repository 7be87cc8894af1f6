//! The place of a schedule among its instants.

use std::collections::VecDeque;
use std::time::Duration;

use holdover_core::ids::Incarnation;
use holdover_core::time::Timestamp;
use serde::{Deserialize, Serialize};

use crate::rules::{CatchUp, Overlap, Rules};
use crate::starting::Outcome;
use crate::times::{Due, Ticks};
use crate::view::{Counts, LastTick};

/// The time for which the newest instant counts as on time.
const ON_TIME: Duration = Duration::from_secs(60);

/// The time for which each instant counts as on time, so that a look that finds several of them due leaves none out.
const TOGETHER: Duration = Duration::from_secs(5);
/// The most instants of one look that count as on time.
const TOGETHER_MAX: usize = 16;

/// The shortest and the longest time between two looks at a session that must end first.
const LOOK_MIN: Duration = Duration::from_secs(1);
const LOOK_MAX: Duration = Duration::from_secs(60);
/// The part of the time waited so far after which the schedule looks again.
const LOOK_PART: u32 = 8;

/// The beginning of a schedule: its session's life, and the instant at which it was added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Born {
    pub(crate) life: Incarnation,
    pub(crate) at: Timestamp,
}

/// The place of a schedule among its instants. It is recorded, because the tables of time zones change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) born: Born,
    /// The next instant. `None`: there are no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<Timestamp>,
    /// The instant at which the next one is due. `None`: a record of an older version, for which it is computed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) due: Option<Timestamp>,
    /// The instant that waits for the end of the earlier session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) waits: Option<Waits>,
    /// The instant since which earlier sessions may work: those that were created before have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) since: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) last: Option<LastTick>,
    #[serde(default)]
    pub(crate) counts: Counts,
}

/// An instant that waits for the end of the earlier session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Waits {
    pub(crate) instant: Timestamp,
    /// The instant from which on it waits.
    pub(crate) since: Timestamp,
    /// The instant of the next look.
    pub(crate) look: Timestamp,
}

/// An instant whose target is to be started now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Tick {
    pub(crate) instant: Timestamp,
    /// The instant from which on it has waited for the end of the earlier session.
    pub(crate) since: Option<Timestamp>,
}

impl Place {
    pub(crate) fn begin(ticks: &Ticks, after: Timestamp) -> Self {
        let born = Born { life: ticks.life, at: ticks.added };
        let (last, counts) = (None, Counts::default());
        let mut place = Self { born, next: None, due: None, waits: None, since: None, last, counts };
        place.go_behind(ticks, after);
        place
    }

    /// Makes the first instant after `after` the next one.
    fn go_behind(&mut self, ticks: &Ticks, after: Timestamp) {
        let next = ticks.after(after).map(|next| ticks.due(next));
        self.next = next.map(|next| next.instant);
        self.due = next.map(|next| next.at);
    }

    /// Returns the next instant, as it was recorded. `None`: there are no more.
    pub(crate) fn next_due(&self, ticks: &Ticks) -> Option<Due> {
        let next = ticks.due(self.next?);
        Some(Due { at: self.due.unwrap_or(next.at), ..next })
    }

    /// Returns the instant at which the schedule has something to do. `None`: never again.
    pub(crate) fn wakes(&self, ticks: &Ticks) -> Option<Timestamp> {
        let next = self.next_due(ticks).map(|next| next.at);
        next.into_iter().chain(self.waits.map(|waits| waits.look)).min()
    }

    /// Takes the instants whose targets are to be started at `now`, the oldest first, and moves on behind them.
    pub(crate) fn take_due(&mut self, ticks: &Ticks, now: Timestamp, catch_up: CatchUp) -> VecDeque<Tick> {
        let mut due = VecDeque::new();
        if let Some(waits) = self.waits.take_if(|waits| waits.look <= now) {
            due.push_back(Tick { instant: waits.instant, since: Some(waits.since) });
        }
        let most = catch_up.most().max(TOGETHER_MAX);
        let next = self.next_due(ticks);
        let mut found = next.map(|first| ticks.newest_due(first, now, most)).unwrap_or_default();
        if let Some(newest) = found.back() {
            self.go_behind(ticks, newest.instant);
            let left_out = found.len() - kept(&found, now, catch_up);
            due.extend(found.drain(left_out..).map(|tick| Tick { instant: tick.instant, since: None }));
        }
        due
    }

    /// Leaves the tick out, or lets it take the place of the one that waits, if there is one.
    pub(crate) fn gives_way(&mut self, tick: Tick, rules: &Rules) -> bool {
        let Some(waits) = &mut self.waits else { return false };
        let left_out = match rules.overlap {
            Overlap::Replace => std::mem::replace(&mut waits.instant, tick.instant),
            Overlap::Skip | Overlap::Queue | Overlap::Allow => tick.instant,
        };
        self.counts.left_out += 1;
        self.last = Some(LastTick { instant: left_out, outcome: Outcome::Busy });
        true
    }

    /// Notes what became of a tick.
    pub(crate) fn note(&mut self, tick: Tick, outcome: Outcome, now: Timestamp, rules: &Rules) {
        match (&outcome, rules.overlap) {
            (Outcome::Started { .. }, _) => self.counts.started += 1,
            (Outcome::Failed { .. }, _) => self.counts.failed += 1,
            (Outcome::Busy, Overlap::Skip | Overlap::Allow) => self.counts.left_out += 1,
            (Outcome::Busy, Overlap::Queue | Overlap::Replace) => {
                let since = tick.since.unwrap_or(now);
                let pause = (since.until(now) / LOOK_PART).clamp(LOOK_MIN, LOOK_MAX);
                self.waits = Some(Waits { instant: tick.instant, since, look: now.after(pause) });
                return;
            }
        }
        self.last = Some(LastTick { instant: tick.instant, outcome });
    }
}

/// Returns how many of the newest instants that are due at `now` start their targets: those that are on time, or as many as the
/// rule of catch-up says if that is more.
fn kept(found: &VecDeque<Due>, now: Timestamp, catch_up: CatchUp) -> usize {
    let is_late = found.back().is_some_and(|newest| newest.at.after(ON_TIME) < now);
    let made_up = if is_late && catch_up == CatchUp::None { 0 } else { catch_up.most() };
    let together = found.iter().rev().take(TOGETHER_MAX).take_while(|due| due.at.after(TOGETHER) >= now);
    made_up.max(together.count()).min(found.len())
}
