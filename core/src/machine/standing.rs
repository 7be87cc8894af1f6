//! What a person approved for the rest of a session.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// The most tools that a session remembers as approved for good.
pub const STANDING_APPROVALS_MAX: usize = 64;

/// The tools whose calls need no approval any more in this session: a person said so once. Such a word
/// satisfies a policy that asks for approval; it never lifts a denial, and it ends with the session.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StandingApprovals {
    tools: BTreeSet<String>,
}

impl StandingApprovals {
    /// Whether nothing is approved for good.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// The tools, by name.
    pub fn tools(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(String::as_str)
    }

    /// Whether calls of `tool` need no approval any more.
    pub fn covers(&self, tool: &str) -> bool {
        self.tools.contains(tool)
    }

    /// Whether `tool` is remembered already, or could be.
    pub fn has_room_for(&self, tool: &str) -> bool {
        self.covers(tool) || self.tools.len() < STANDING_APPROVALS_MAX
    }

    /// Remembers `tool`, if there is room.
    pub(super) fn add(&mut self, tool: &str) {
        if self.has_room_for(tool) {
            self.tools.insert(tool.to_owned());
        }
    }
}
