//! What a store does not claim.

use serde::{Deserialize, Serialize};

use crate::case::{Capability, Case, Level};

/// Something that the suite knows and the store does not claim, with the reason. Its cases are skipped, and
/// the report says why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// The level or capability.
    pub claim: String,
    /// Why the store does not claim it.
    pub reason: String,
}

impl Gap {
    /// A level that the store does not claim.
    pub fn level(level: Level, reason: impl Into<String>) -> Self {
        Self { claim: level.to_string(), reason: reason.into() }
    }

    /// A capability that the store does not claim.
    pub fn capability(capability: Capability, reason: impl Into<String>) -> Self {
        Self { claim: capability.to_string(), reason: reason.into() }
    }

    /// Whether it is the reason why the case cannot be run: the case needs what is missing.
    pub(crate) fn is_needed_by(&self, case: &Case) -> bool {
        self.claim == case.level.to_string()
            || case.needs.is_some_and(|capability| self.claim == capability.to_string())
    }
}
