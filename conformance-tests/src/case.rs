//! The description of a test case: data and an async function.

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::failure::CaseResult;
use crate::gap::Claim;

/// A level of the suite that a store can claim. Every store claims `core`; the other levels are optional.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// The rules for one handle at a time.
    Core,
    /// Data outlives the process.
    Durable,
    /// Several handles at a time: ownership and races.
    Distributed,
}

impl Level {
    /// Every level, lowest first.
    pub const ALL: [Self; 3] = [Self::Core, Self::Durable, Self::Distributed];

    /// Returns the name of the level in reports.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Durable => "durable",
            Self::Distributed => "distributed",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A feature that only some stores, or only some harnesses, have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// `wait_for_change` returns early when a peer changes something.
    ChangeHints,
    /// The store can fork a session.
    Forks,
    /// The store can remove sessions and checkpoints by age.
    Retention,
    /// `claim_due` and `purge` keep their order, and tenants take turns, over all sessions, not only within a
    /// partition.
    DueOrder,
    /// The harness can start a program that opens the same data, for cases that kill the program.
    ChildProcess,
    /// The harness can reach the backend through a [`Proxy`](crate::Proxy), for cases that cut the connection.
    WireFaults,
    /// The harness has unopened places for data and can change the data in them: [`Place`](crate::Place).
    RawData,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 7] = [
        Self::ChangeHints,
        Self::Forks,
        Self::Retention,
        Self::DueOrder,
        Self::ChildProcess,
        Self::WireFaults,
        Self::RawData,
    ];

    /// Returns true if a store can pass a level without the capability. `ChildProcess` is not optional: only a killed
    /// process shows what an unclosed store has kept. `WireFaults` and `RawData` are optional: some stores have no
    /// wire, and some harnesses cannot reach the raw data.
    pub(crate) fn is_optional(self) -> bool {
        match self {
            Self::ChangeHints
            | Self::Forks
            | Self::Retention
            | Self::DueOrder
            | Self::WireFaults
            | Self::RawData => true,
            Self::ChildProcess => false,
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ChangeHints => "change_hints",
            Self::Forks => "forks",
            Self::Retention => "retention",
            Self::DueOrder => "due_order",
            Self::ChildProcess => "child_process",
            Self::WireFaults => "wire_faults",
            Self::RawData => "raw_data",
        })
    }
}

/// The way in which a case tests a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// One operation after another.
    Sequential,
    /// Several handles at once.
    Concurrent,
    /// An operation, a process or a connection ends in the middle.
    Crash,
    /// Time passes on the store's clock.
    Time,
    /// Every row of a generated table, or a number of random scripts or histories.
    Property,
}

/// The future of a running case.
pub(crate) type CaseFuture = Pin<Box<dyn Future<Output = CaseResult> + Send>>;

/// A rule that a store must keep, and the function that tests it.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// The id, `category.name`. It never changes.
    pub id: &'static str,
    /// The behaviour that the case requires.
    pub title: &'static str,
    /// The harm that a store does if it fails the case.
    pub why: &'static str,
    /// The level that the case belongs to.
    pub level: Level,
    /// The capability that the case tests, if only some stores have it.
    pub needs: Option<Capability>,
    /// The way in which the case tests the store.
    pub kind: Kind,
    /// The sentence of the contract that the case checks.
    pub clause: &'static str,
    /// Runs the case.
    pub(crate) run: fn(Bench) -> CaseFuture,
}

impl Case {
    /// Returns the part of the id before the dot.
    pub fn category(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(category, _)| category)
    }

    /// Returns the claim that decides whether the macro `conformance_tests!` runs this case: the case's capability, or
    /// its level if it needs no capability. A [`Suite`](crate::Suite) run needs both.
    pub fn claim(&self) -> Claim {
        self.needs.map_or(Claim::Level(self.level), Claim::Capability)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("id", &self.id).finish_non_exhaustive()
    }
}

/// Defines a table of cases. The name after the dot of each id is also the name of the function that runs the case.
macro_rules! cases {
    ($($category:ident.$name:ident: $level:ident $kind:ident $(needs $needs:ident)?,
       $title:literal, $why:literal, $clause:literal;)*) => {
        pub(super) const CASES: &[crate::case::Case] = &[$(crate::case::Case {
            id: concat!(stringify!($category), ".", stringify!($name)),
            title: $title,
            why: $why,
            level: crate::case::Level::$level,
            needs: cases!(@needs $($needs)?),
            kind: crate::case::Kind::$kind,
            clause: $clause,
            run: |bench| Box::pin($name(bench)),
        }),*];
    };
    (@needs) => { None };
    (@needs $needs:ident) => { Some(crate::case::Capability::$needs) };
}

pub(crate) use cases;
