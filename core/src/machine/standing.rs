//! Approvals that a person gave for the rest of a session.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::words::gate::ArgumentPatterns;

/// The most standing approvals that a session remembers.
pub const STANDING_APPROVALS_MAX: usize = 64;

/// The calls that need no approval any more in this session, because a person approved them for the rest of it. A
/// standing approval satisfies a policy that asks for one approval by anyone. It never lifts a denial, and it ends
/// with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StandingApprovals {
    approved: BTreeSet<StandingApproval>,
}

/// A standing approval: the calls that it covers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged)]
pub enum StandingApproval {
    /// All calls of this tool.
    Tool(String),
    /// The calls of this tool whose arguments fit.
    Some {
        /// The tool.
        tool: String,
        /// The patterns for the arguments.
        arguments: ArgumentPatterns,
    },
}

impl StandingApproval {
    /// Creates the approval of the calls of `tool` whose arguments fit. An empty `arguments` covers all calls.
    pub fn of(tool: &str, arguments: &ArgumentPatterns) -> Self {
        let tool = tool.to_owned();
        if arguments.is_empty() {
            Self::Tool(tool)
        } else {
            Self::Some { tool, arguments: arguments.clone() }
        }
    }

    fn covers(&self, asked: &str, with: &str) -> bool {
        match self {
            Self::Tool(tool) => tool == asked,
            Self::Some { tool, arguments } => tool == asked && arguments.let_through(with),
        }
    }
}

impl std::fmt::Display for StandingApproval {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tool(tool) => f.write_str(tool),
            Self::Some { tool, arguments } => write!(f, "{tool} where {arguments}"),
        }
    }
}

impl StandingApprovals {
    /// Returns true if there are no standing approvals.
    pub fn is_empty(&self) -> bool {
        self.approved.is_empty()
    }

    /// Iterates over the standing approvals, in order.
    pub fn iter(&self) -> impl Iterator<Item = &StandingApproval> {
        self.approved.iter()
    }

    /// Returns true if a standing approval covers a call of `tool` with these JSON arguments.
    pub fn cover(&self, tool: &str, arguments: &str) -> bool {
        self.approved.iter().any(|approval| approval.covers(tool, arguments))
    }

    /// Returns true if the approval is remembered already, or there is room for it.
    pub(crate) fn have_room_for(&self, approval: &StandingApproval) -> bool {
        self.approved.contains(approval) || self.approved.len() < STANDING_APPROVALS_MAX
    }

    /// Remembers the approval, if there is room.
    pub(super) fn add(&mut self, approval: StandingApproval) {
        if self.have_room_for(&approval) {
            self.approved.insert(approval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn u06_some_arguments_or_all_of_them() {
        let notes: ArgumentPatterns = [("path", "notes/*")].into_iter().collect();
        let mut standing = StandingApprovals::default();
        standing.add(StandingApproval::of("read", &ArgumentPatterns::default()));
        standing.add(StandingApproval::of("write", &notes));
        assert!(standing.cover("read", "{}"));
        assert!(standing.cover("write", r#"{"path": "notes/a"}"#));
        assert!(!standing.cover("write", r#"{"path": "other"}"#));
        assert!(!standing.cover("write", r#"{"path": "notes/../other"}"#));
        let stored = serde_json::to_string(&standing).unwrap();
        assert_eq!(stored, r#"["read",{"tool":"write","arguments":{"path":"notes/*"}}]"#);
        assert_eq!(serde_json::from_str::<StandingApprovals>(&stored).unwrap(), standing);
    }
}
