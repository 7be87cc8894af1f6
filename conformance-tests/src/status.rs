//! The status of a case after its run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How a case went.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Status {
    /// The store does what the case asks for.
    Passed,
    /// It does not: the case failed twice.
    Failed,
    /// The case failed, and passed when it was run again. Counts as failed.
    Flaky,
    /// The case was not run, and the report says why.
    Skipped,
    /// The store answered `Unsupported` to something that it claims. Counts as failed.
    NotImplemented,
}

impl Status {
    /// As reports have it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Flaky => "FLAKY",
            Self::Skipped => "SKIPPED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
        }
    }

    /// Whether the case was run and the store did not do what it should.
    pub fn is_failure(self) -> bool {
        match self {
            Self::Failed | Self::Flaky | Self::NotImplemented => true,
            Self::Passed | Self::Skipped => false,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
