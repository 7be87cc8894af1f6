//! The effects that were logged, and the calls that a kill may have hit.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::support::Fixture;

/// The tool whose calls are never repeated.
pub(crate) const SEND: &str = "send";
/// The tool whose calls may be repeated.
pub(crate) const PUT: &str = "put";

/// A call of a session that runs effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    pub(crate) session: usize,
    pub(crate) step: usize,
    /// True for `send`, false for `put`.
    pub(crate) sends: bool,
}

impl Call {
    /// Returns the two calls of a step, in their order.
    pub(crate) fn of_step(session: usize, step: usize) -> [Self; 2] {
        let first = step % 2 == 1;
        [first, !first].map(|sends| Self { session, step, sends })
    }

    fn first(session: usize) -> Self {
        let [first, _] = Self::of_step(session, 1);
        first
    }

    /// Returns the call that runs after this one. Calls of a session never run in parallel.
    fn next(self) -> Self {
        let [first, second] = Self::of_step(self.session, self.step);
        let [next, _] = Self::of_step(self.session, self.step + 1);
        if self == first { second } else { next }
    }

    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split('-');
        let (session, step, tool) = (words.next()?.strip_prefix('s')?, words.next()?, words.next()?);
        Some(Self { session: session.parse().ok()?, step: step.parse().ok()?, sends: tool == SEND })
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let tool = if self.sends { SEND } else { PUT };
        write!(f, "s{:02}-{:03}-{tool}", self.session, self.step)
    }
}

/// The effects that began and ended, with their workers, and the last one that began in each session.
#[derive(Debug, Default)]
pub(crate) struct World {
    starts: BTreeMap<Call, Vec<u32>>,
    ends: BTreeMap<Call, Vec<u32>>,
    last: BTreeMap<usize, (Call, u32)>,
}

impl World {
    pub(crate) fn read(fixture: &Fixture) -> Self {
        let mut world = Self::default();
        for line in std::fs::read_to_string(fixture.path("files/world.log")).unwrap_or_default().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let [what, call, worker] = words.as_slice() else { panic!("{line:?}") };
            let (call, worker) = (Call::parse(call).unwrap(), worker.parse().unwrap());
            let seen = if *what == "start" { &mut world.starts } else { &mut world.ends };
            seen.entry(call).or_default().push(worker);
            if *what == "start" {
                world.last.insert(call.session, (call, worker));
            }
        }
        world
    }

    /// Describes all effects of a session, for a failure message.
    pub(crate) fn told_of(&self, session: usize) -> String {
        let of = |seen: &BTreeMap<Call, Vec<u32>>| {
            let seen = seen.iter().filter(|(call, _)| call.session == session);
            seen.map(|(call, by)| format!("{call} {by:?}")).collect::<Vec<_>>().join(", ")
        };
        format!("starts: {}\nends: {}", of(&self.starts), of(&self.ends))
    }

    pub(crate) fn starts(&self, call: Call) -> usize {
        self.starts.get(&call).map_or(0, Vec::len)
    }

    pub(crate) fn ends(&self, call: Call) -> usize {
        self.ends.get(&call).map_or(0, Vec::len)
    }

    pub(crate) fn has_acted(&self, worker: u32) -> bool {
        self.starts.values().any(|by| by.contains(&worker))
    }

    /// Returns the calls that the death of `worker` hit, after these earlier hits. The world must have been read right
    /// after the death.
    pub(crate) fn hit(&self, worker: u32, survivor: u32, at_ms: i64, earlier: &[Hit]) -> Hit {
        let began = self.starts.iter().filter(|(_, by)| by.contains(&worker));
        let inside = began.map(|(call, _)| *call).filter(|call| self.ends(*call) == 0).collect();
        let maybe = (0..crate::scene::SESSIONS)
            .flat_map(|session| self.maybe_out(session, survivor, earlier))
            .collect();
        Hit { worker, at_ms, inside, maybe, acted: self.has_acted(worker) }
    }

    /// Returns the calls of a session that may have been running in a worker other than `survivor`. The last
    /// call that began counts, as its result may not be durable. If it has ended, the next call counts too,
    /// as it may have been sent. If an earlier kill may have hit that call before it began, the call after it counts
    /// too, as the earlier one may be over.
    fn maybe_out(&self, session: usize, survivor: u32, earlier: &[Hit]) -> Vec<Call> {
        let mut calls = match self.last.get(&session) {
            None => vec![Call::first(session)],
            Some((_, by)) if *by == survivor => return vec![],
            Some((last, _)) if self.ends(*last) >= self.starts(*last) => vec![*last, last.next()],
            Some((last, _)) => vec![*last],
        };
        let was_hit = |call: &Call| earlier.iter().any(|hit| hit.maybe.contains(call));
        while let Some(last) = calls.last().copied()
            && self.starts(last) == 0
            && was_hit(&last)
        {
            calls.push(last.next());
        }
        calls
    }
}

/// The calls that one kill hit.
#[derive(Debug)]
pub(crate) struct Hit {
    pub(crate) worker: u32,
    /// The time at which the worker was dead, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// The calls that had begun in the worker and had not ended.
    pub(crate) inside: BTreeSet<Call>,
    /// The calls that may have been running in the worker: all of `inside`, and more.
    pub(crate) maybe: BTreeSet<Call>,
    acted: bool,
}

impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.inside.is_empty(), self.acted) {
            (false, _) => {
                let inside: Vec<String> = self.inside.iter().map(Call::to_string).collect();
                write!(f, "inside {}", inside.join(", "))
            }
            (true, true) => f.write_str("between effects"),
            (true, false) => f.write_str("before its first effect"),
        }
    }
}
