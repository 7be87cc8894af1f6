//! A case: data, and an async function.

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::failure::CaseResult;
use crate::gap::Claim;

/// What a store claims to be. A store claims core and whatever else it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Level {
    /// One handle at a time.
    Core,
    /// Data outlives the process.
    Durable,
    /// Many handles at a time: ownership, races.
    Distributed,
}

impl Level {
    /// Every level, each with those before it.
    pub const ALL: [Self; 3] = [Self::Core, Self::Durable, Self::Distributed];

    /// Its name in reports.
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

/// What only some stores can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Capability {
    /// `wait_for_change` returns early when a peer changes something.
    ChangeHints,
    /// It can fork a session.
    Forks,
    /// It can remove by age.
    Retention,
    /// `claim_due` and `purge` keep their order over all sessions, and tenants their turns, not within each partition alone.
    DueOrder,
    /// The harness can start a program that opens the same data, to be killed.
    ChildProcess,
    /// The harness can reach the backend through a [`Proxy`](crate::Proxy), to be cut.
    WireFaults,
    /// The harness has places that nobody has opened, and can change what lies there: [`Place`](crate::Place).
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

    /// Whether a level can be passed without it. A process that is killed cannot be left out: nothing else
    /// would show what a store that is never closed has kept. A wire can, and what lies behind a store: not every
    /// store has one, nor every harness a way to it.
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

/// How a case goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Kind {
    /// One thing after another.
    Sequential,
    /// Several handles at once.
    Concurrent,
    /// Something ends in the middle.
    Crash,
    /// Time passes.
    Time,
    /// Every row of a generated table.
    Property,
}

/// The future of a running case.
pub(crate) type CaseFuture = Pin<Box<dyn Future<Output = CaseResult> + Send>>;

/// One thing that a store must do, and the function that finds out.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub struct Case {
    /// `category.name`, for ever.
    pub id: &'static str,
    /// What a store does that passes.
    pub title: &'static str,
    /// What goes wrong with a store that does not.
    pub why: &'static str,
    /// The level that needs it.
    pub level: Level,
    /// The capability that it is about, if only some stores can do it.
    pub needs: Option<Capability>,
    /// How it goes about it.
    pub kind: Kind,
    /// The sentence of the contract that it checks.
    pub clause: &'static str,
    /// Finds out.
    pub(crate) run: fn(Bench) -> CaseFuture,
}

impl Case {
    /// What comes before the dot of the id.
    pub fn category(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(category, _)| category)
    }

    /// What a store must claim for this case to be run.
    pub fn claim(&self) -> Claim {
        self.needs.map_or(Claim::Level(self.level), Claim::Capability)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Case").field("id", &self.id).finish_non_exhaustive()
    }
}

/// A table of cases. Each names the function of the same name that finds out.
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
