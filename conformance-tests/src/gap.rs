//! The claims of a store, and the gaps between them and the suite.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::case::{Capability, Case, Level};

/// Something that a store can claim: a level or a capability. Each is serialized as one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
#[non_exhaustive]
pub enum Claim {
    /// A level.
    Level(Level),
    /// A capability.
    Capability(Capability),
}

impl Claim {
    /// Returns everything that a store can claim.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let levels = Level::ALL.into_iter().map(Self::Level);
        levels.chain(Capability::ALL.into_iter().map(Self::Capability))
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => level.fmt(f),
            Self::Capability(capability) => capability.fmt(f),
        }
    }
}

/// A level or capability that the store does not claim, with the reason. Its cases are skipped, and the report shows
/// the reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Gap {
    /// The level or capability that is not claimed.
    pub claim: Claim,
    /// The reason why the store does not claim it.
    pub reason: String,
}

impl Gap {
    /// Creates the gap of a level that the store does not claim.
    pub fn level(level: Level, reason: impl Into<String>) -> Self {
        Self { claim: Claim::Level(level), reason: reason.into() }
    }

    /// Creates the gap of a capability that the store does not claim.
    pub fn capability(capability: Capability, reason: impl Into<String>) -> Self {
        Self { claim: Claim::Capability(capability), reason: reason.into() }
    }

    /// Returns true if the case needs the missing level or capability, and so cannot be run.
    pub(crate) fn is_needed_by(&self, case: &Case) -> bool {
        match self.claim {
            Claim::Level(level) => level == case.level,
            Claim::Capability(capability) => case.needs == Some(capability),
        }
    }
}
