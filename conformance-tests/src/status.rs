//! The status of a case after its run.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The status of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[non_exhaustive]
pub enum Status {
    /// The store does what the case asks for.
    Passed,
    /// The store does not do what the case asks for. If the case was repeated, it did not pass the second time either.
    Failed,
    /// The case failed, but passed when it was repeated. Counts as failed.
    Flaky,
    /// The case was not run, does not apply to the store, or came to no decision. The report says why.
    Skipped,
    /// The store answered `Unsupported` to an operation that it claims to support. Counts as failed.
    NotImplemented,
}

impl Status {
    /// Returns the name of the status in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Failed => "FAILED",
            Self::Flaky => "FLAKY",
            Self::Skipped => "SKIPPED",
            Self::NotImplemented => "NOT_IMPLEMENTED",
        }
    }

    /// Returns true if the status counts as a failure.
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
