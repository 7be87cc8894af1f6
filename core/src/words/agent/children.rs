//! The rules for the calls of a sub-agent.

use serde::{Deserialize, Serialize};

/// The most children of one call that a model may ask for.
pub const FAN_OUT_MAX: u32 = 5;

/// The most children of one call that a program may allow.
pub const CHILDREN_MAX: u32 = 1_000;

/// The rules for the calls of one sub-agent. Stored with the session's definition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChildRules {
    /// The most children that one call may ask for, from 1 to [`CHILDREN_MAX`].
    pub fan_out_max: u32,
}

impl Default for ChildRules {
    fn default() -> Self {
        Self { fan_out_max: FAN_OUT_MAX }
    }
}
