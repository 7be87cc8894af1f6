//! A case: data plus an async function.

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::bench::Bench;
use crate::failure::CaseResult;

/// What a store claims to be. A store claims core and whatever else it keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Core => "core",
            Self::Durable => "durable",
            Self::Distributed => "distributed",
        })
    }
}

/// What only some stores can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Capability {
    /// `wait_for_change` returns early when a peer changes something.
    ChangeHints,
    /// It can fork a session.
    Forks,
    /// It can remove by age.
    Retention,
    /// `claim_due` and `purge` keep their order over all sessions, not within each partition alone.
    DueOrder,
    /// The harness can start a program that opens the same data, to be killed.
    ChildProcess,
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ChangeHints => "change_hints",
            Self::Forks => "forks",
            Self::Retention => "retention",
            Self::DueOrder => "due_order",
            Self::ChildProcess => "child_process",
        })
    }
}

/// How a case goes about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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
pub type CaseFuture = Pin<Box<dyn Future<Output = CaseResult> + Send>>;

/// One thing that a store must do, and the function that finds out.
#[derive(Clone, Copy)]
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
    pub run: fn(Bench) -> CaseFuture,
}

impl Case {
    /// What comes before the dot of the id.
    pub fn category(&self) -> &'static str {
        self.id.split_once('.').map_or(self.id, |(category, _)| category)
    }

    /// What a store must claim for this case to be run.
    pub fn claim(&self) -> String {
        match self.needs {
            Some(capability) => capability.to_string(),
            None => self.level.to_string(),
        }
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
